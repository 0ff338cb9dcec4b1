//! Rows of jobs as they are kept while a dump is read: a column per value, few bytes per row.

use super::energy::Counted;
use super::name::Name;

/// Flags of a row.
pub(super) mod flag {
    pub(in crate::trace::sacct) const RAN: u16 = 1;
    pub(in crate::trace::sacct) const PENDING: u16 = 2;
    pub(in crate::trace::sacct) const RUNNING: u16 = 4;
    pub(in crate::trace::sacct) const INCONSISTENT: u16 = 8;
    pub(in crate::trace::sacct) const ROUNDED_GPUS: u16 = 16;
    pub(in crate::trace::sacct) const ALL_MEMORY: u16 = 32;
    pub(in crate::trace::sacct) const UNKNOWN_STATE: u16 = 64;
    /// One of the tasks of a list.
    pub(in crate::trace::sacct) const EXPANDED: u16 = 128;
    /// Another row of its name comes after it.
    pub(in crate::trace::sacct) const SUPERSEDED: u16 = 256;
    /// It was resized while it ran.
    pub(in crate::trace::sacct) const RESIZED: u16 = 512;
    /// A job with the number of another one.
    pub(in crate::trace::sacct) const REUSED: u16 = 1024;
    /// Submitted after its start.
    pub(in crate::trace::sacct) const LATE_SUBMIT: u16 = 2048;
    /// The dump has columns of the user and of the name of the job.
    pub(in crate::trace::sacct) const HAS_USER: u16 = 4096;
    pub(in crate::trace::sacct) const HAS_JOB_NAME: u16 = 8192;
    /// A job of several attempts.
    pub(in crate::trace::sacct) const REQUEUED: u16 = 16384;
}

macro_rules! kept {
    ($($(#[$doc:meta])* $name:ident: $type:ty,)*) => {
        /// One row; NaN, -1 and text 0 are unknown.
        #[derive(Clone, Copy, Debug)]
        pub(super) struct Entry {
            $($(#[$doc])* pub(super) $name: $type,)*
        }

        /// All rows.
        #[derive(Clone, Debug, Default)]
        pub(super) struct Kept {
            $(pub(super) $name: Vec<$type>,)*
        }

        impl Kept {
            pub(super) fn push(&mut self, entry: Entry) {
                $(self.$name.push(entry.$name);)*
            }
        }
    };
}

kept! {
    name: Name,
    raw: i64,
    submit_s: f64,
    start_at_s: f64,
    start_s: f64,
    end_s: f64,
    runtime_s: f64,
    suspended_s: f64,
    walltime_s: f64,
    node_count: i32,
    cpus: u32,
    /// GPUs in each node.
    gpus: i16,
    memory_gb: f64,
    /// Energy by the row itself.
    energy_j: f64,
    /// Kind of the steps whose energy counts, that energy, and their node-seconds.
    step_rank: u8,
    step_j: f64,
    step_node_s: f64,
    hosts: u32,
    constraint: u32,
    licences: u32,
    user: u32,
    account: u32,
    queue: u32,
    qos: u32,
    reservation: u32,
    job_name: u32,
    app: u32,
    state: u32,
    priority: i64,
    restarts: i32,
    status: i8,
    flags: u16,
}

impl Kept {
    pub(super) fn len(&self) -> usize {
        self.name.len()
    }

    pub(super) fn steps(&self, row: u32) -> Counted {
        let row = row as usize;
        Counted { rank: self.step_rank[row], energy_j: self.step_j[row], node_s: self.step_node_s[row] }
    }

    pub(super) fn set_steps(&mut self, row: u32, steps: Counted) {
        let row = row as usize;
        (self.step_rank[row], self.step_j[row], self.step_node_s[row]) = (steps.rank, steps.energy_j, steps.node_s);
    }

    pub(super) fn is(&self, row: u32, flag: u16) -> bool {
        self.flags[row as usize] & flag != 0
    }
}
