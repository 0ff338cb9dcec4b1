//! Tests of the engine as a whole, linked once. `added_parts.rs` needs a process of its own: what it adds is there for all.

mod agents;
mod arrows;
mod determinism;
mod english;
mod events;
mod laws;
mod prices;
mod setup;
mod support;
mod trace_sacct;
mod trace_swf;
