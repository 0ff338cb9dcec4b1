//! Jobs as records fill them: a column for each known property.

use std::collections::BTreeMap;

use crate::trace::fault::quoted;
use crate::trace::sacct::index::{Texts, hash_of};

use super::fields::{Fields, How, Unread};
use super::record::Name;
use super::value::{Chunks, hosts};

/// Marks the absence of a job, a host or a whole number.
pub(super) const NONE: u32 = u32::MAX;
pub(super) const NO_COUNT: i32 = -1;

macro_rules! columns {
    ($($(#[$doc:meta])* $name:ident: $type:ty = $default:expr,)*) => {
        /// The columns.
        #[derive(Clone, Debug, Default)]
        pub(super) struct Columns {
            $($(#[$doc])* pub(super) $name: Vec<$type>,)*
        }

        impl Columns {
            fn push(&mut self) {
                $(self.$name.push($default);)*
            }

            /// Releases the memory beyond the last job.
            fn shrink(&mut self) {
                $(self.$name.shrink_to_fit();)*
            }
        }
    };
}

columns! {
    /// Number of the id among all ids.
    id: u32 = 0,
    flags: u8 = 0,
    /// Submission; rank 0 unknown, then from a stamp, `qtime`, `ctime`.
    submit: f64 = f64::NAN,
    submit_rank: u8 = 0,
    etime: f64 = f64::NAN,
    start: f64 = f64::NAN,
    end: f64 = f64::NAN,
    /// Stamp of the end's record.
    ended: f64 = f64::NAN,
    exit_status: i32 = NO_STATUS,
    walltime_s: f64 = f64::NAN,
    /// Memory in all; rank 1 from its chunks, 2 from the job.
    memory_gb: f64 = f64::NAN,
    memory_rank: u8 = 0,
    /// Size without hosts; rank 1 from chunks, 2 from `nodect`.
    size: i32 = 0,
    size_rank: u8 = 0,
    /// CPUs; rank 1 from slots of hosts, 2 from its chunks, 3 from `ncpus`.
    cpus: i32 = NO_COUNT,
    cpus_rank: u8 = 0,
    user: u32 = 0,
    queue: u32 = 0,
    app: u32 = 0,
    /// Account; rank 1 from the project, 2 from the account.
    account: u32 = 0,
    account_rank: u8 = 0,
    hosts_hash: u64 = 0,
    hosts_begin: u64 = 0,
    hosts_length: u32 = 0,
}

/// Marks the absence of an exit status.
pub(super) const NO_STATUS: i32 = i32::MIN;

/// Rank of a submission that is known by the stamp of the record only.
pub(super) const BY_STAMP: u8 = 1;

pub(super) mod flag {
    /// Its end is in the log.
    pub(in crate::trace::pbs) const ENDED: u8 = 1;
    /// An earlier job has the same id.
    pub(in crate::trace::pbs) const REUSED: u8 = 2;
    /// It was deleted before it ended, or a second after that.
    pub(in crate::trace::pbs) const DELETED: u8 = 4;
    /// It asks for node properties that no constraint can name.
    pub(in crate::trace::pbs) const UNREAD: u8 = 8;
}

/// Values that few jobs have, by job.
#[derive(Debug, Default)]
pub(super) struct Rare {
    /// Stamp of the first deletion or abort.
    pub(super) gone: BTreeMap<u32, f64>,
    /// Starts and ends of attempts that were not the last.
    pub(super) attempts: BTreeMap<u32, Vec<f64>>,
    pub(super) energy_j: BTreeMap<u32, f64>,
    /// GPUs in all, and the rank: 1 from its chunks, 2 from `ngpus`.
    pub(super) gpus: BTreeMap<u32, (i32, u8)>,
    pub(super) constraint: BTreeMap<u32, u32>,
    /// Number of the id that a job waits for, 0: something that is not simulated; and the kind of dependency.
    pub(super) waits: BTreeMap<u32, (u32, How)>,
}

/// Jobs by id.
#[derive(Debug, Default)]
pub(super) struct Jobs {
    pub(super) columns: Columns,
    pub(super) ids: Texts,
    /// The latest job of each id.
    latest: Vec<u32>,
    pub(super) texts: Texts,
    pub(super) hosts: Texts,
    /// The line that each host was first seen in.
    pub(super) host_lines: Vec<u64>,
    /// The hosts of all jobs.
    pub(super) flat_hosts: Vec<u32>,
    /// Number of the last list that each host was in.
    marks: Vec<u64>,
    lists: u64,
    pub(super) rare: Rare,
    scratch: Vec<u32>,
}

impl Jobs {
    pub(super) fn len(&self) -> usize {
        self.columns.id.len()
    }

    /// The latest job of an id, if there is one.
    #[inline]
    pub(super) fn find(&mut self, id: &[u8]) -> (u32, Option<usize>) {
        let code = self.ids.code(id);
        if code as usize >= self.latest.len() {
            self.latest.resize(code as usize + 1, NONE);
        }
        let job = self.latest[code as usize];
        (code, (job != NONE).then_some(job as usize))
    }

    /// The latest job of an id's number.
    pub(super) fn latest(&self, code: u32) -> Option<usize> {
        self.latest.get(code as usize).filter(|job| **job != NONE).map(|job| *job as usize)
    }

    /// Adds a job.
    pub(super) fn add(&mut self, code: u32) -> usize {
        let job = self.len();
        self.columns.push();
        self.columns.id[job] = code;
        if self.latest[code as usize] != NONE {
            self.columns.flags[job] |= flag::REUSED;
        }
        self.latest[code as usize] = number(job);
        job
    }

    /// Turns all stamps into instants.
    pub(super) fn settle(&mut self, settled: impl Fn(f64) -> f64) {
        let columns = &mut self.columns;
        for column in [&mut columns.submit, &mut columns.start, &mut columns.end] {
            for instant in column.iter_mut() {
                *instant = settled(*instant);
            }
        }
        // No longer needed: no output column is made of them.
        (columns.ended, columns.hosts_hash) = (Vec::new(), Vec::new());
        for ranks in [
            &mut columns.submit_rank,
            &mut columns.memory_rank,
            &mut columns.size_rank,
            &mut columns.cpus_rank,
            &mut columns.account_rank,
        ] {
            *ranks = Vec::new();
        }
        columns.shrink();
        self.rare.gone.values_mut().for_each(|instant| *instant = settled(*instant));
        for ends in self.rare.attempts.values_mut() {
            for attempt in ends.chunks_exact_mut(2) {
                attempt[0] = settled(attempt[0]);
                attempt[1] = settled(attempt[1]).max(attempt[0]);
            }
        }
    }

    /// The numbers in a job's id.
    pub(super) fn name(&self, job: usize) -> Name {
        Name::read(self.ids.get(self.columns.id[job])).expect("read when it was added")
    }

    pub(super) fn is(&self, job: usize, flag: u8) -> bool {
        self.columns.flags[job] & flag != 0
    }

    /// Reads the hosts of a record before anything of it is applied; leaves them in the scratch memory.
    pub(super) fn read_hosts(&mut self, text: &[u8], line: u64) -> Result<i64, Unread> {
        self.lists += 1;
        self.scratch.clear();
        let (names, lines, marks) = (&mut self.hosts, &mut self.host_lines, &mut self.marks);
        let (mut slots, mut last, mut last_code) = (0i64, &b""[..], 0);
        let read = hosts(text, |name, own| {
            slots = slots.saturating_add(own);
            if name == last {
                return;
            }
            last_code = names.code(name);
            last = name;
            let at = last_code as usize;
            if at >= marks.len() {
                marks.resize(at + 1, 0);
                lines.resize(at + 1, line);
            }
            if marks[at] != self.lists {
                marks[at] = self.lists;
                self.scratch.push(last_code);
            }
        });
        read.map(|()| slots).ok_or_else(|| Unread {
            key: "exec_host".to_owned(),
            found: quoted(text),
            expected: "hosts such as n1/0*8+n2/0*8",
        })
    }

    /// True if the hosts of a record are those that its job has already.
    pub(super) fn has_hosts(&self, job: Option<usize>, text: &[u8]) -> bool {
        job.is_some_and(|job| self.columns.hosts_hash[job] == hash_of(text) | 1)
    }

    /// Stores the hosts in the scratch memory as those of a job.
    pub(super) fn keep_hosts(&mut self, job: usize, text: &[u8], slots: i64) {
        let columns = &mut self.columns;
        columns.hosts_hash[job] = hash_of(text) | 1;
        rank(&mut columns.cpus, &mut columns.cpus_rank, job, Some((narrow(slots), 1)));
        columns.hosts_begin[job] = self.flat_hosts.len() as u64;
        columns.hosts_length[job] = u32::try_from(self.scratch.len()).expect("a list of fewer than 2^32");
        self.flat_hosts.extend_from_slice(&self.scratch);
    }

    /// Applies the fields of a record to a job, without its hosts.
    pub(super) fn take(&mut self, job: usize, fields: &Fields<'_>) {
        let columns = &mut self.columns;
        // The first submission and eligibility are kept: a requeued job has later ones.
        for (value, own) in [(fields.ctime, 3), (fields.qtime, 2)] {
            submitted(columns, job, value, own);
        }
        if columns.etime[job].is_nan() {
            set(&mut columns.etime, job, fields.etime);
        }
        set(&mut columns.walltime_s, job, fields.walltime_s);
        set(&mut columns.exit_status, job, fields.exit_status.map(narrow));
        rank(&mut columns.memory_gb, &mut columns.memory_rank, job, fields.memory_gb.map(|own| (own, 2)));
        rank(
            &mut columns.size,
            &mut columns.size_rank,
            job,
            fields.nodect.filter(|own| *own > 0).map(|own| (narrow(own), 2)),
        );
        rank(&mut columns.cpus, &mut columns.cpus_rank, job, fields.ncpus.map(|own| (narrow(own), 3)));
        for (column, value) in
            [(&mut columns.user, fields.user), (&mut columns.queue, fields.queue), (&mut columns.app, fields.app)]
        {
            set(column, job, value.map(|text| self.texts.code(text)));
        }
        for (value, own) in [(fields.project, 1), (fields.account, 2)] {
            let coded = value.map(|text| (self.texts.code(text), own));
            rank(&mut columns.account, &mut columns.account_rank, job, coded);
        }
        self.take_gpus(job, fields.ngpus, 2);
        if let Some(energy_j) = fields.energy_j {
            self.rare.energy_j.insert(number(job), energy_j);
        }
        if let Some(chunks) = fields.select.as_ref().or(fields.nodes.as_ref()) {
            self.take_chunks(job, chunks, fields.select.is_none());
        }
        if let Some(wait) = fields.wait {
            let wait = wait.map_or((0, How::Any), |(how, id)| (self.ids.code(id), how));
            self.rare.waits.insert(number(job), wait);
        }
    }

    fn take_gpus(&mut self, job: usize, gpus: Option<i64>, own: u8) {
        if let Some(gpus) = gpus {
            let known = self.rare.gpus.entry(number(job)).or_default();
            if own >= known.1 {
                *known = (narrow(gpus), own);
            }
        }
    }

    fn take_chunks(&mut self, job: usize, chunks: &Chunks<'_>, is_torque: bool) {
        let columns = &mut self.columns;
        rank(&mut columns.size, &mut columns.size_rank, job, Some((narrow(chunks.count), 1)));
        rank(&mut columns.cpus, &mut columns.cpus_rank, job, chunks.cpus.map(|own| (narrow(own), 2)));
        rank(&mut columns.memory_gb, &mut columns.memory_rank, job, chunks.memory_gb.map(|own| (own, 1)));
        if is_torque && !chunks.properties.is_empty() {
            let is_read = chunks.properties.iter().all(|word| is_feature(word));
            if is_read {
                let words = self.texts.code(&chunks.properties.join(&b'&'));
                self.rare.constraint.insert(number(job), words);
            } else {
                columns.flags[job] |= flag::UNREAD;
            }
        }
        self.take_gpus(job, chunks.gpus, 1);
    }
}

/// A job's number, as key of [`Rare`].
pub(super) fn number(job: usize) -> u32 {
    u32::try_from(job).expect("fewer than 2^32 jobs")
}

/// Sets a submission if it is known better than the one before.
pub(super) fn submitted(columns: &mut Columns, job: usize, value: Option<f64>, own: u8) {
    if let Some(value) = value
        && own > columns.submit_rank[job]
    {
        (columns.submit[job], columns.submit_rank[job]) = (value, own);
    }
}

/// Sets a value if it is known no worse than the one before.
fn rank<T: Copy>(column: &mut [T], ranks: &mut [u8], job: usize, value: Option<(T, u8)>) {
    if let Some((value, own)) = value
        && own >= ranks[job]
    {
        (column[job], ranks[job]) = (value, own);
    }
}

fn set<T: Copy>(column: &mut [T], job: usize, value: Option<T>) {
    if let Some(value) = value {
        column[job] = value;
    }
}

fn narrow(count: i64) -> i32 {
    i32::try_from(count).unwrap_or(i32::MAX)
}

fn is_feature(word: &[u8]) -> bool {
    !word.is_empty() && word.iter().all(|byte| byte.is_ascii_alphanumeric() || b"_.+-".contains(byte))
}
