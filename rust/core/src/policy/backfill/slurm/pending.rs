//! Pending jobs in the order in which both loops look at them (rules 2, 13, 14 and 40 to 42).

use crate::algo::fit_list::{QueueKey, Waiting};
use crate::policy::View;
use crate::policy::backfill::slurm::clock::Clock;
use crate::policy::backfill::slurm::nodes::Nodes;
use crate::policy::backfill::slurm::settings::Multifactor;
use crate::units::{SimDuration, SimTime};
use crate::workload::JobId;

/// Microseconds of a minute.
const MINUTE: i64 = 60_000_000;
/// Limit of a job that brings none, in seconds: a year.
const NO_LIMIT: i64 = 365 * 86_400;

/// A pending job.
#[derive(Clone, Debug)]
pub(super) struct Pending {
    /// The job as it stands in the policy's queue.
    pub(super) waiting: Waiting,
    /// Its place among pending jobs: tier, rank, submission, row.
    place: QueueKey,
    /// Nodes that it asks for.
    pub(super) need: u32,
    /// Limit in seconds: whole minutes.
    pub(super) limit: i64,
    /// Number of its partition.
    pub(super) partition: u16,
    /// Number of its set of usable nodes.
    pub(super) usable: usize,
    /// Second from which it may start.
    pub(super) begin: i64,
    pub(super) licences: Vec<(u16, i64)>,
    /// Priority, where the plug-in counts one.
    pub(super) priority: i64,
    /// Second of its submission.
    submit: i64,
    /// Second from which its age counts: its submission, or the begin of a requeued job.
    eligible: i64,
    /// CPUs that it asks for; those of whole nodes once a will-run test has succeeded.
    cpus: u64,
}

/// Jobs in order of priority.
#[derive(Clone, Debug, Default)]
pub(super) struct Line {
    list: Vec<Pending>,
    /// Number of jobs that have ever joined: priorities of `basic` count down.
    joined: i64,
}

/// Highest priority that the plug-in `basic` gives.
const FIRST_PRIORITY: i64 = 4_294_901_760;

impl Line {
    pub(super) fn list(&self) -> &[Pending] {
        &self.list
    }

    pub(super) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// The job in a place.
    pub(super) fn at(&mut self, place: usize) -> &mut Pending {
        &mut self.list[place]
    }

    /// Adds a job, which may start from a second on.
    pub(super) fn join(&mut self, mut job: Pending, by: Option<&Multifactor>, nodes: &Nodes) {
        self.joined += 1;
        match by {
            Some(weights) => job.rank(weights, job.eligible, nodes),
            None => job.priority = FIRST_PRIORITY - self.joined,
        }
        let place = self.list.partition_point(|other| other.place < job.place);
        self.list.insert(place, job);
    }

    /// Removes the job in a place.
    pub(super) fn remove(&mut self, place: usize) -> Pending {
        self.list.remove(place)
    }

    /// Removes the jobs in these rows.
    pub(super) fn leave(&mut self, rows: &[u32]) {
        self.list.retain(|job| !rows.contains(&job.waiting.key.row));
    }

    /// Recomputes all priorities of the plug-in in a second; true if the order of the jobs changes.
    pub(super) fn recompute(&mut self, by: &Multifactor, now: i64, nodes: &Nodes) -> bool {
        for job in &mut self.list {
            job.rank(by, now, nodes);
        }
        self.sort()
    }

    /// Takes the ranks that the policy's order has given to the jobs of its queue.
    pub(super) fn take_keys<'a>(&mut self, queue: impl Iterator<Item = &'a Waiting>) {
        let mut keys: Vec<_> = queue.map(|waiting| waiting.key).collect();
        keys.sort_unstable_by_key(|key| key.row);
        for job in &mut self.list {
            if let Ok(found) = keys.binary_search_by_key(&job.waiting.key.row, |key| key.row) {
                (job.waiting.key, job.place) = (keys[found], keys[found]);
            }
        }
        self.sort();
    }

    /// Puts jobs first that have waited since before an instant, the longest wait first.
    pub(super) fn put_first(&mut self, before: SimTime) {
        let mut first = false;
        for job in self.list.iter_mut().filter(|job| job.waiting.key.submit < before) {
            let place = QueueKey { tier: i32::MIN, rank: 0, ..job.waiting.key };
            first |= std::mem::replace(&mut job.place, place) != place;
        }
        if first {
            self.sort();
        }
    }

    fn sort(&mut self) -> bool {
        let was_sorted = self.list.is_sorted_by_key(|job| job.place);
        self.list.sort_by_key(|job| job.place);
        !was_sorted
    }

    /// The least begin of a job that may not start yet.
    pub(super) fn next_begin(&self, now: i64) -> Option<i64> {
        self.list.iter().map(|job| job.begin).filter(|&begin| begin > now).min()
    }
}

impl Pending {
    /// A job that joins the queue; `usable` is the number of its set of nodes.
    pub(super) fn new(view: &View<'_>, clock: Clock, waiting: Waiting, usable: usize) -> Self {
        let job = JobId(waiting.key.row);
        let micros = view.jobs.walltime(job).map(SimDuration::micros);
        let minutes = |micros: i64| (micros.max(1) + MINUTE - 1).div_euclid(MINUTE);
        let submit = clock.second(view.jobs.eligible(job));
        Self {
            place: waiting.key,
            need: view.jobs.node_count(job),
            limit: micros.map_or(NO_LIMIT, |micros| (60 * minutes(micros)).min(NO_LIMIT)),
            partition: view.queues.map_or(0, |queues| queues.number(job)),
            usable,
            begin: i64::MIN,
            licences: licences_of(view, job),
            priority: 0,
            submit,
            eligible: submit,
            cpus: u64::from(view.jobs.node_count(job)),
            waiting,
        }
    }

    /// Lets the job start only from a second on, as one that was requeued.
    pub(super) fn beginning(self, begin: i64) -> Self {
        Self { begin, eligible: begin, ..self }
    }

    /// Row of the job in the log.
    pub(super) fn row(&self) -> u32 {
        self.waiting.key.row
    }

    /// Seconds since it became eligible.
    pub(super) fn age(&self, now: i64) -> i64 {
        now - self.eligible
    }

    /// CPUs that count for its priority.
    pub(super) fn cpus(&self) -> u64 {
        self.cpus
    }

    /// Notes that a will-run test has found it nodes: from the next recomputation on all their CPUs count (rule 42).
    pub(super) fn note_tested(&mut self, cpus: u64) {
        self.cpus = cpus;
    }

    /// Sets its priority by the plug-in `multifactor`, as computed in a second.
    #[expect(clippy::cast_precision_loss, clippy::cast_possible_truncation, reason = "priorities are 32 bits wide")]
    fn rank(&mut self, by: &Multifactor, now: i64, nodes: &Nodes) {
        let age = self.age(now).clamp(0, by.max_age) as f64 / by.max_age.max(1) as f64;
        let part = |own: f64, all: f64| if by.favor_small { 1.0 - own / all } else { own / all };
        let size = f64::midpoint(
            part(f64::from(self.need), f64::from(nodes.len())),
            part(self.cpus as f64, nodes.all_cpus().max(1) as f64),
        );
        self.priority = ((by.age * age + by.size * size) as i64).max(1);
        let submit = SimTime::from_micros(self.submit);
        self.place = QueueKey { rank: -self.priority, submit, ..self.waiting.key };
    }
}

/// Licences that a job asks for.
fn licences_of(view: &View<'_>, job: JobId) -> Vec<(u16, i64)> {
    let Some(shares) = view.shares else { return Vec::new() };
    // Licences are numbered after all cells.
    let first = u16::try_from(shares.cells().sets().len()).unwrap_or(u16::MAX);
    shares.cells().want(job).licences.iter().map(|&(thing, count)| (thing - first, count)).collect()
}
