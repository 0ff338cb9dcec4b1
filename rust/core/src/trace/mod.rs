//! Job traces: bytes in, columns out, every fault with its line.
//!
//! A format that comes in lines or in JSON has a file here; formats in columns are read on the other side of the
//! boundary. Nothing here opens a file; the meaning of the columns to a run is left to `workload`.

pub mod batsim;
mod columns;
pub mod decompress;
mod fault;
mod header;
mod job;
mod line;
mod number;
pub mod pbs;
mod report;
pub mod sacct;
pub mod swf;
mod unique;
mod utf8;
