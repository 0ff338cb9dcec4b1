//! Tests of the engine as a whole, linked once. `added_parts.rs` needs a separate process, as the parts it adds are
//! visible to all tests.

mod agents;
mod arrows;
mod circles;
mod determinism;
mod english;
mod events;
mod laws;
mod names;
mod prices;
mod refusals;
mod setup;
mod slurm;
mod stages;
mod support;
mod trace_sacct;
mod trace_swf;
