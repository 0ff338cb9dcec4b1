//! The jobs of a log that is over: selected, sorted, and with their outcomes.

use std::collections::{BTreeMap, BTreeSet};

use super::Report;
use super::jobs::{Columns, Jobs, NO_COUNT, NONE, flag, number};
use super::log::Log;
use super::outcome::Outcome;
use super::record::Name;

/// Mean watts of a node above this are not plausible.
const MOST_WATTS: f64 = 1e6;

/// Columns of texts, by number.
#[derive(Clone, Copy, Debug)]
pub enum PbsTextColumn {
    /// User who submitted the job.
    User,
    /// Queue that it was submitted to.
    Queue,
    /// Its name.
    App,
    /// The account, else the project.
    Account,
    /// Features of its nodes.
    Constraint,
}

/// Columns of numbers; NaN = unknown.
#[derive(Clone, Copy, Debug)]
pub enum PbsNumberColumn {
    /// Submission.
    Submit,
    /// Length of the last attempt.
    Runtime,
    /// Requested time.
    Walltime,
    /// Instant at which it became eligible, if later than its submission.
    StartAt,
    /// Instant at which it was withdrawn, if before it ran.
    Cancel,
    /// Start of the last attempt.
    Start,
    /// End of the last attempt.
    End,
    /// Memory in each node.
    Memory,
    /// Energy.
    Energy,
    /// Mean draw of each node.
    Power,
}

/// Columns of whole numbers; -1 = unknown.
#[derive(Clone, Copy, Debug)]
pub enum PbsWholeColumn {
    /// Number of the job.
    JobId,
    /// Number of its array.
    Array,
    /// Number of the job that it waits for.
    DependsOn,
}

/// Columns of counts; -1 = unknown.
#[derive(Clone, Copy, Debug)]
pub enum PbsCountColumn {
    /// Nodes.
    Nodes,
    /// CPUs in all.
    Cpus,
    /// GPUs of each node.
    Gpus,
    /// Status, by the code of the Standard Workload Format.
    Status,
    /// Attempts before the last.
    Restarts,
}

/// The jobs of a log, by submission.
#[derive(Debug)]
pub struct Done {
    jobs: Jobs,
    /// Counts of what was kept and dropped.
    pub report: Report,
    /// Kept jobs.
    order: Vec<u32>,
    job_id: Vec<i64>,
    outcome: Vec<Outcome>,
    node_count: Vec<i32>,
    depends_on: Vec<i64>,
    last_s: f64,
}

impl Done {
    pub(super) fn new(log: Log, drops_never_ran: bool) -> Self {
        let Log { jobs, mut report, largest, last_s } = log;
        let (mut order, mut outcome) = (Vec::new(), Vec::new());
        for job in 0..jobs.len() {
            let own = Outcome::of(&jobs, job);
            if keeps(&jobs.columns, job, own, drops_never_ran, &mut report) {
                order.push(number(job));
                outcome.push(own);
            }
        }
        let job_id = numbered(&jobs, &order, largest, &mut report);
        let mut done = Self {
            node_count: order.iter().map(|job| size(&jobs.columns, *job as usize)).collect(),
            jobs,
            report,
            order,
            job_id,
            outcome,
            depends_on: Vec::new(),
            last_s,
        };
        done.sort();
        done.resolve_waits();
        done.count();
        done
    }

    /// Number of kept jobs.
    #[must_use]
    pub fn len(&self) -> usize {
        self.order.len()
    }

    /// True if no job is kept.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    /// The id of the job in a row, as in the log.
    #[must_use]
    pub fn log_id(&self, row: usize) -> String {
        let id = self.jobs.columns.id[self.order[row] as usize];
        String::from_utf8_lossy(self.jobs.ids.get(id)).into_owned()
    }

    /// Words for the outcome of each job; empty where it is unknown.
    #[must_use]
    pub fn states(&self) -> Vec<&'static str> {
        self.outcome.iter().map(|outcome| outcome.word()).collect()
    }

    /// Kind of each job's dependency, as a word; empty without one.
    #[must_use]
    pub fn depends_how(&self) -> Vec<&'static str> {
        self.each(|row, job| match self.jobs.rare.waits.get(&number(job)) {
            Some((_, how)) if self.depends_on[row] >= 0 => how.word(),
            _ => "",
        })
    }

    /// Names of all nodes (the first is empty), and the line in which each is first seen.
    pub fn take_node_names(&mut self) -> (Vec<String>, Vec<u64>) {
        let lines = std::mem::take(&mut self.jobs.host_lines);
        (std::mem::take(&mut self.jobs.hosts).into_strings(), lines)
    }

    /// All texts by number; the first is empty.
    pub fn take_texts(&mut self) -> Vec<String> {
        std::mem::take(&mut self.jobs.texts).into_strings()
    }

    fn sort(&mut self) {
        let columns = &self.jobs.columns;
        let submit_s = |job: u32| columns.submit[job as usize];
        if self.order.is_sorted_by(|job, next| submit_s(*job) <= submit_s(*next)) {
            return;
        }
        let mut places: Vec<usize> = (0..self.order.len()).collect();
        places.sort_by(|one, other| submit_s(self.order[*one]).total_cmp(&submit_s(self.order[*other])));
        self.job_id = places.iter().map(|place| self.job_id[*place]).collect();
        self.outcome = places.iter().map(|place| self.outcome[*place]).collect();
        self.node_count = places.iter().map(|place| self.node_count[*place]).collect();
        self.order = places.iter().map(|place| self.order[*place]).collect();
    }

    /// Resolves dependencies: sets the numbers of the jobs that others wait for, where they are kept.
    fn resolve_waits(&mut self) {
        self.depends_on = vec![-1; self.order.len()];
        if self.jobs.rare.waits.is_empty() {
            return;
        }
        let mut kept = vec![NONE; self.jobs.len()];
        let mut by_number = BTreeMap::new();
        for (row, job) in self.order.iter().enumerate() {
            kept[*job as usize] = number(row);
            if let Name::Job(own) = self.jobs.name(*job as usize) {
                by_number.entry(own).or_insert(number(row));
            }
        }
        let row_of = |id: u32| {
            let exact = self.jobs.latest(id).map(|job| kept[job]).filter(|row| *row != NONE);
            // The id may lack the server's name.
            let plain = || crate::trace::sacct::value::whole(self.jobs.ids.get(id));
            exact.or_else(|| plain().and_then(|number| by_number.get(&number).copied()))
        };
        for (row, job) in self.order.iter().enumerate() {
            let Some((id, _)) = self.jobs.rare.waits.get(job) else { continue };
            let before = Some(*id).filter(|id| *id != 0).and_then(row_of).filter(|other| *other as usize != row);
            match before {
                Some(other) => self.depends_on[row] = self.job_id[other as usize],
                None => self.report.depends_cleared += 1,
            }
        }
    }

    fn count(&mut self) {
        let jobs = &self.jobs;
        let of = |is: &dyn Fn(usize) -> bool| self.order.iter().filter(|job| is(**job as usize)).count() as u64;
        let ended = |outcomes: &[Outcome]| self.outcome.iter().filter(|own| outcomes.contains(own)).count() as u64;
        let rounded = self
            .order
            .iter()
            .zip(&self.node_count)
            .filter(|(job, nodes)| jobs.rare.gpus.get(job).is_some_and(|(gpus, _)| gpus % **nodes != 0));
        let counts = [
            self.order.len() as u64,
            of(&|job| matches!(jobs.name(job), Name::Task(..))),
            of(&|job| jobs.rare.attempts.contains_key(&number(job))),
            of(&|job| jobs.is(job, flag::UNREAD)),
            ended(&[Outcome::NeverRan]),
            ended(&[Outcome::Running]),
            ended(&[Outcome::Timeout, Outcome::Failed, Outcome::Cancelled]),
            rounded.count() as u64,
        ];
        let report = &mut self.report;
        [
            report.jobs,
            report.array_tasks,
            report.requeued,
            report.constraint_unread,
            report.never_ran,
            report.cut_by_end,
            report.kept_cancelled_or_failed,
            report.rounded_up_gpus,
        ] = counts;
    }

    fn each<T>(&self, value: impl Fn(usize, usize) -> T) -> Vec<T> {
        self.order.iter().enumerate().map(|(row, job)| value(row, *job as usize)).collect()
    }

    fn at<T: Copy>(&self, column: &[T]) -> Vec<T> {
        self.order.iter().map(|job| column[*job as usize]).collect()
    }

    /// Takes a column of texts.
    pub fn take_texts_of(&mut self, column: PbsTextColumn) -> Vec<u32> {
        let columns = &mut self.jobs.columns;
        let own = std::mem::take(match column {
            PbsTextColumn::User => &mut columns.user,
            PbsTextColumn::Queue => &mut columns.queue,
            PbsTextColumn::App => &mut columns.app,
            PbsTextColumn::Account => &mut columns.account,
            PbsTextColumn::Constraint => {
                return self.order.iter().map(|job| self.jobs.rare.constraint.get(job).copied().unwrap_or(0)).collect();
            }
        });
        self.at(&own)
    }

    /// Takes a column of numbers. Its source is moved out, so that derived columns must be taken before those they are
    /// derived from: submission and start last.
    pub fn take_numbers(&mut self, column: PbsNumberColumn) -> Vec<f64> {
        match column {
            PbsNumberColumn::Submit => {
                let own = std::mem::take(&mut self.jobs.columns.submit);
                self.at(&own)
            }
            PbsNumberColumn::Start => {
                let own = std::mem::take(&mut self.jobs.columns.start);
                self.each(|row, job| self.only(row, false, own[job]))
            }
            PbsNumberColumn::End => {
                let own = std::mem::take(&mut self.jobs.columns.end);
                self.each(|row, job| self.only(row, false, own[job]))
            }
            PbsNumberColumn::StartAt => {
                let own = std::mem::take(&mut self.jobs.columns.etime);
                self.each(|row, job| self.start_at(row, job, own[job]))
            }
            PbsNumberColumn::Walltime => {
                let own = std::mem::take(&mut self.jobs.columns.walltime_s);
                self.at(&own)
            }
            PbsNumberColumn::Memory => {
                let own = std::mem::take(&mut self.jobs.columns.memory_gb);
                self.each(|row, job| own[job] / f64::from(self.node_count[row]))
            }
            PbsNumberColumn::Runtime => self.each(|row, job| self.runtime(row, job)),
            PbsNumberColumn::Cancel => self.each(|row, job| self.only(row, true, self.cancelled(job))),
            PbsNumberColumn::Energy => self.each(|row, job| self.energy(row, job)),
            PbsNumberColumn::Power => self.each(|row, job| {
                let watts = self.energy(row, job) / (self.runtime(row, job) * f64::from(self.node_count[row]));
                if watts > 0.0 && watts <= MOST_WATTS { watts } else { f64::NAN }
            }),
        }
    }

    /// The value for jobs that never ran, or for all others; NaN otherwise.
    fn only(&self, row: usize, never_ran: bool, value: f64) -> f64 {
        if (self.outcome[row] == Outcome::NeverRan) == never_ran { value } else { f64::NAN }
    }

    fn energy(&self, row: usize, job: usize) -> f64 {
        self.only(row, false, self.jobs.rare.energy_j.get(&number(job)).copied().unwrap_or(f64::NAN))
    }

    /// Instant at which a job that never ran was withdrawn.
    fn cancelled(&self, job: usize) -> f64 {
        self.jobs.rare.gone.get(&number(job)).copied().unwrap_or(self.jobs.columns.end[job])
    }

    fn runtime(&self, row: usize, job: usize) -> f64 {
        let columns = &self.jobs.columns;
        match self.outcome[row] {
            Outcome::NeverRan => 0.0,
            Outcome::Running => (self.last_s - columns.start[job]).max(0.0),
            _ => (columns.end[job] - columns.start[job]).max(0.0),
        }
    }

    fn start_at(&self, row: usize, job: usize, etime: f64) -> f64 {
        let columns = &self.jobs.columns;
        let first = self.jobs.rare.attempts.get(&number(job)).map_or(columns.start[job], |ends| ends[0]);
        let is_later = etime > columns.submit[job] && (first.is_nan() || etime <= first) && self.depends_on[row] < 0;
        if is_later { etime } else { f64::NAN }
    }

    /// A column of whole numbers.
    #[must_use]
    pub fn take_wholes(&mut self, column: PbsWholeColumn) -> Vec<i64> {
        match column {
            PbsWholeColumn::JobId => std::mem::take(&mut self.job_id),
            PbsWholeColumn::DependsOn => self.depends_on.clone(),
            PbsWholeColumn::Array => self.each(|_, job| match self.jobs.name(job) {
                Name::Task(own, _) => own,
                _ => -1,
            }),
        }
    }

    /// A column of counts.
    #[must_use]
    pub fn take_counts(&mut self, column: PbsCountColumn) -> Vec<i32> {
        match column {
            PbsCountColumn::Nodes => self.node_count.clone(),
            PbsCountColumn::Cpus => {
                let own = std::mem::take(&mut self.jobs.columns.cpus);
                self.at(&own)
            }
            PbsCountColumn::Gpus => self.each(|row, job| match self.jobs.rare.gpus.get(&number(job)) {
                Some((gpus, _)) => gpus / self.node_count[row] + i32::from(gpus % self.node_count[row] != 0),
                None => NO_COUNT,
            }),
            PbsCountColumn::Status => self.outcome.iter().map(|outcome| outcome.status()).collect(),
            PbsCountColumn::Restarts => self.each(|_, job| {
                let ends = self.jobs.rare.attempts.get(&number(job)).map_or(0, Vec::len);
                i32::try_from(ends / 2).unwrap_or(i32::MAX)
            }),
        }
    }

    /// The nodes that each job ran on, by offsets, and whether they are known; `rank` numbers the names.
    ///
    /// # Panics
    ///
    /// If `rank` is shorter than the names.
    #[must_use]
    pub fn take_nodes(&mut self, rank: &[u32]) -> (Vec<i64>, Vec<u32>, Vec<bool>) {
        let flat = std::mem::take(&mut self.jobs.flat_hosts);
        let columns = &self.jobs.columns;
        let (mut offsets, mut nodes) = (vec![0], Vec::new());
        let known = self.each(|row, job| self.outcome[row] != Outcome::NeverRan && columns.hosts_length[job] > 0);
        for (job, is_known) in self.order.iter().zip(&known) {
            if *is_known {
                let begin = usize::try_from(columns.hosts_begin[*job as usize]).expect("held in memory");
                let own = &flat[begin..begin + columns.hosts_length[*job as usize] as usize];
                nodes.extend(own.iter().map(|host| rank[*host as usize]));
            }
            offsets.push(i64::try_from(nodes.len()).expect("fewer than 2^63 nodes"));
        }
        (offsets, nodes, known)
    }

    /// Starts and ends of jobs of which several attempts ran, by offsets; NaN = not yet. None where there is no such
    /// job. To be called before starts and ends are taken.
    ///
    /// # Panics
    ///
    /// If there are 2^63 ends.
    #[must_use]
    pub fn segments(&self) -> Option<(Vec<i64>, Vec<f64>, Vec<bool>)> {
        let columns = &self.jobs.columns;
        let (mut offsets, mut flat, mut known) = (vec![0], Vec::new(), Vec::new());
        for (job, outcome) in self.order.iter().zip(&self.outcome) {
            let mut ends = self.jobs.rare.attempts.get(job).cloned().unwrap_or_default();
            if *outcome != Outcome::NeverRan && !ends.is_empty() {
                ends.extend([columns.start[*job as usize], columns.end[*job as usize]]);
            }
            let is_several = ends.len() > 2;
            known.push(is_several);
            flat.extend(ends.into_iter().filter(|_| is_several));
            offsets.push(i64::try_from(flat.len()).expect("fewer than 2^63 ends"));
        }
        known.contains(&true).then_some((offsets, flat, known))
    }
}

/// Number of nodes of a job; 0 if it is unknown.
fn size(columns: &Columns, job: usize) -> i32 {
    let hosts = i32::try_from(columns.hosts_length[job]).unwrap_or(i32::MAX);
    if hosts > 0 { hosts } else { columns.size[job] }
}

/// True if a job is kept; counts it otherwise.
fn keeps(columns: &Columns, job: usize, outcome: Outcome, drops_never_ran: bool, report: &mut Report) -> bool {
    let count = if outcome == Outcome::Pending {
        &mut report.dropped_pending
    } else if outcome == Outcome::NeverRan && drops_never_ran {
        &mut report.dropped_never_ran
    } else if columns.submit[job].is_nan() || columns.submit[job] < 0.0 {
        &mut report.dropped_no_submit
    } else if size(columns, job) == 0 {
        &mut report.dropped_no_size
    } else {
        return true;
    };
    *count += 1;
    false
}

/// Job numbers of the kept jobs, in their order.
fn numbered(jobs: &Jobs, order: &[u32], largest: i64, report: &mut Report) -> Vec<i64> {
    let mut owned = BTreeSet::new();
    let mut next = largest;
    let mut number_of = |job: usize| {
        if let Name::Job(own) = jobs.name(job) {
            if owned.insert(own) {
                return own;
            }
            report.reused_ids += 1;
        } else if jobs.is(job, flag::REUSED) {
            report.reused_ids += 1;
        }
        next += 1;
        next
    };
    order.iter().map(|job| number_of(*job as usize)).collect()
}
