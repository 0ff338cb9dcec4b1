//! The jobs of a dump as columns, by submission.

use super::attempts::{Jobs, Segments, joined};
use super::book::Book;
use super::hosts::Hosts;
use super::kept::{Kept, flag};
use super::name::{Name, Part};
use super::report::Report;
use super::settle::UNKNOWN_CPUS;

const MOST_WATTS: f64 = 1e6;

/// The jobs of a dump, one per row; texts by number, 0 = none. A column is made when it is taken, and its source is
/// released.
#[derive(Clone, Debug)]
pub struct Dump {
    rows: Kept,
    hosts: Hosts,
    /// Rows of the jobs, by submission.
    order: Vec<u32>,
    job_id: Vec<i64>,
    segments: Segments,
    limits: std::collections::BTreeMap<i64, u32>,
    power_w: Vec<f64>,
    /// True if the dump is JSON, where line numbers are positions in its list of jobs.
    pub is_json: bool,
    /// Names of the columns of a dump in text, in its order.
    pub columns: Vec<String>,
    /// All texts by number.
    pub texts: Vec<String>,
    /// Counts.
    pub report: Report,
}

/// A column of texts by number.
#[derive(Clone, Copy, Debug)]
pub enum SacctTextColumn {
    /// `constraint`, as Slurm writes it.
    Constraint,
    /// `licences`, likewise.
    Licences,
    /// `user`.
    User,
    /// `account`.
    Account,
    /// `queue`.
    Queue,
    /// `qos`.
    Qos,
    /// `reservation`.
    Reservation,
    /// `app`.
    App,
    /// `trace_state`.
    State,
}

/// A column of seconds, or other numbers; NaN = unknown.
#[derive(Clone, Copy, Debug)]
pub enum SacctNumberColumn {
    /// `submit_s`.
    Submit,
    /// `runtime_s`.
    Runtime,
    /// `walltime_s`.
    Walltime,
    /// `start_at_s`.
    StartAt,
    /// `cancel_s`.
    Cancel,
    /// `observed_start_s`.
    Start,
    /// `observed_end_s`.
    End,
    /// `suspended_s`.
    Suspended,
    /// `memory_gb`.
    Memory,
    /// `power_w`.
    Power,
    /// `observed_energy_j`.
    Energy,
}

/// A column of whole numbers; -1 = unknown.
#[derive(Clone, Copy, Debug)]
pub enum SacctWholeColumn {
    /// `job_id`.
    JobId,
    /// `cpus`.
    Cpus,
    /// `priority`.
    Priority,
    /// `array_id`.
    Array,
    /// `het_id`.
    Het,
}

/// A column of small whole numbers; -1 = unknown.
#[derive(Clone, Copy, Debug)]
pub enum SacctCountColumn {
    /// `node_count`.
    Nodes,
    /// `slots`.
    Slots,
    /// `gpus`.
    Gpus,
    /// `array_limit`.
    ArrayLimit,
    /// `trace_status`.
    Status,
    /// `restarts`.
    Restarts,
}

impl Dump {
    /// The jobs of `book`; with `drops_never_ran`, those that never ran are dropped.
    pub(super) fn new(mut book: Book, is_json: bool, drops_never_ran: bool) -> Self {
        book.place_early();
        let Jobs { rows: mut order, segments, first } = joined(&mut book);
        order.retain(|row| keeps(&mut book, *row, drops_never_ran));
        let Book { mut rows, texts, hosts, report, columns, limits, largest, last_s, .. } = book;
        finish_runs(&mut rows, &order, last_s);
        order.sort_by_key(|row| first.get(row).copied().unwrap_or(*row));
        let mut report = report;
        let mut job_id = numbered(&rows, &order, largest, &mut report);
        sort_by_submit(&mut order, &mut job_id, &rows);
        let power_w = charge(&mut rows, &order);
        let mut dump = Self {
            rows,
            hosts,
            order,
            job_id,
            segments,
            limits,
            power_w,
            is_json,
            columns,
            texts: texts.into_strings(),
            report,
        };
        dump.count();
        dump
    }

    /// Number of jobs.
    #[must_use]
    pub fn len(&self) -> usize {
        self.order.len()
    }

    /// True if there is no job.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    /// Name of the job in a row, as the log writes it.
    #[must_use]
    pub fn log_id(&self, row: usize) -> String {
        self.rows.name[self.order[row] as usize].text()
    }

    /// Names of all nodes of the dump (the first is empty), and the line in which each is first seen.
    #[must_use]
    pub fn node_names(&self) -> (Vec<String>, Vec<u64>) {
        self.hosts.names()
    }

    fn count(&mut self) {
        let Self { rows, order, hosts, report, .. } = self;
        report.jobs = order.len() as u64;
        let rows = &*rows;
        let flagged = |flag: u16| order.iter().filter(|row| rows.is(**row, flag)).count() as u64;
        report.never_ran = report.jobs - flagged(flag::RAN);
        report.requeued = flagged(flag::REQUEUED);
        report.cut_by_end = flagged(flag::RUNNING);
        report.inconsistent_times = flagged(flag::INCONSISTENT);
        report.submit_after_start = flagged(flag::LATE_SUBMIT);
        report.rounded_up_gpus = flagged(flag::ROUNDED_GPUS);
        report.all_memory = flagged(flag::ALL_MEMORY);
        report.unknown_states = flagged(flag::UNKNOWN_STATE);
        let of = |is: &dyn Fn(usize) -> bool| order.iter().filter(|row| is(**row as usize)).count() as u64;
        report.array_tasks = of(&|row| matches!(rows.name[row].part, Part::Task(_)));
        report.het_components = of(&|row| matches!(rows.name[row].part, Part::Component(_)));
        report.kept_cancelled_or_failed =
            of(&|row| matches!(rows.status[row], 0 | 5) && rows.flags[row] & flag::RAN != 0);
        report.nodes_disagree = of(&|row| {
            let listed = hosts.count(rows.hosts[row]);
            let is_resized = rows.flags[row] & flag::RESIZED != 0;
            listed > 0 && !is_resized && !is_as_many(listed, rows.node_count[row])
        });
    }

    fn at<T: Copy>(&self, column: &[T]) -> Vec<T> {
        self.order.iter().map(|row| column[*row as usize]).collect()
    }

    fn each<T>(&self, value: impl Fn(usize) -> T) -> Vec<T> {
        self.order.iter().map(|row| value(*row as usize)).collect()
    }

    fn never_ran(&self, row: usize) -> bool {
        self.rows.flags[row] & flag::RAN == 0
    }

    /// Takes a column of texts.
    pub fn take_texts(&mut self, column: SacctTextColumn) -> Vec<u32> {
        let rows = &mut self.rows;
        let own = std::mem::take(match column {
            SacctTextColumn::Constraint => &mut rows.constraint,
            SacctTextColumn::Licences => &mut rows.licences,
            SacctTextColumn::User => &mut rows.user,
            SacctTextColumn::Account => &mut rows.account,
            SacctTextColumn::Queue => &mut rows.queue,
            SacctTextColumn::Qos => &mut rows.qos,
            SacctTextColumn::Reservation => &mut rows.reservation,
            SacctTextColumn::App => &mut rows.app,
            SacctTextColumn::State => &mut rows.state,
        });
        self.at(&own)
    }

    /// Takes a column of numbers. Ends must be taken after cancellations, and starts after both.
    pub fn take_numbers(&mut self, column: SacctNumberColumn) -> Vec<f64> {
        let rows = &mut self.rows;
        let own = match column {
            SacctNumberColumn::Cancel => {
                return self.each(|row| if self.never_ran(row) { self.rows.end_s[row] } else { f64::NAN });
            }
            SacctNumberColumn::End => {
                let own = std::mem::take(&mut rows.end_s);
                return self.each(|row| if self.never_ran(row) { f64::NAN } else { own[row] });
            }
            SacctNumberColumn::StartAt => {
                let own = std::mem::take(&mut rows.start_at_s);
                return self.each(|row| if self.limit(row).is_some() { f64::NAN } else { own[row] });
            }
            SacctNumberColumn::Power => return std::mem::take(&mut self.power_w),
            SacctNumberColumn::Submit => &mut rows.submit_s,
            SacctNumberColumn::Runtime => &mut rows.runtime_s,
            SacctNumberColumn::Walltime => &mut rows.walltime_s,
            SacctNumberColumn::Start => &mut rows.start_s,
            SacctNumberColumn::Suspended => &mut rows.suspended_s,
            SacctNumberColumn::Memory => &mut rows.memory_gb,
            SacctNumberColumn::Energy => &mut rows.energy_j,
        };
        let own = std::mem::take(own);
        self.at(&own)
    }

    fn array(&self, row: usize) -> Option<i64> {
        let Name { number, part } = self.rows.name[row];
        matches!(part, Part::Task(_)).then_some(number)
    }

    fn limit(&self, row: usize) -> Option<u32> {
        self.limits.get(&self.array(row)?).copied()
    }

    /// Takes a column of whole numbers.
    pub fn take_wholes(&mut self, column: SacctWholeColumn) -> Vec<i64> {
        match column {
            SacctWholeColumn::JobId => std::mem::take(&mut self.job_id),
            SacctWholeColumn::Cpus => self.each(|row| known_cpus(self.rows.cpus[row])),
            SacctWholeColumn::Priority => {
                let own = std::mem::take(&mut self.rows.priority);
                self.at(&own)
            }
            SacctWholeColumn::Array => self.each(|row| self.array(row).unwrap_or(-1)),
            SacctWholeColumn::Het => self.each(|row| match self.rows.name[row] {
                Name { number, part: Part::Component(_) } => number,
                _ => -1,
            }),
        }
    }

    /// Takes a column of counts.
    pub fn take_counts(&mut self, column: SacctCountColumn) -> Vec<i32> {
        match column {
            SacctCountColumn::Nodes => self.at(&self.rows.node_count),
            SacctCountColumn::Slots => self.each(|row| {
                let (cpus, nodes) = (known_cpus(self.rows.cpus[row]), i64::from(self.rows.node_count[row]).max(1));
                if cpus < 0 { -1 } else { i32::try_from((cpus + nodes - 1) / nodes).unwrap_or(i32::MAX) }
            }),
            SacctCountColumn::Gpus => self.each(|row| i32::from(self.rows.gpus[row])),
            SacctCountColumn::ArrayLimit => {
                self.each(|row| self.limit(row).map_or(-1, |limit| i32::try_from(limit).unwrap_or(i32::MAX)))
            }
            SacctCountColumn::Status => self.each(|row| i32::from(self.rows.status[row])),
            SacctCountColumn::Restarts => self.each(|row| self.rows.restarts[row].max(0)),
        }
    }

    /// The nodes that each job ran on, by offsets, and whether they are known; `rank` numbers the names.
    ///
    /// # Panics
    ///
    /// If `rank` is shorter than the names.
    #[must_use]
    pub fn nodes(&self, rank: &[u32]) -> (Vec<i64>, Vec<u32>, Vec<bool>) {
        let known = self.each(|row| {
            let listed = self.hosts.count(self.rows.hosts[row]);
            let is_whole = is_as_many(listed, self.rows.node_count[row]);
            listed > 0 && is_whole && self.rows.flags[row] & (flag::RAN | flag::RESIZED) == flag::RAN
        });
        let mut offsets = vec![0];
        let mut nodes = Vec::new();
        for (row, is_known) in self.order.iter().zip(&known) {
            if *is_known {
                let hosts = self.hosts.list(self.rows.hosts[*row as usize]);
                nodes.extend(hosts.iter().map(|host| rank[*host as usize]));
            }
            offsets.push(i64::try_from(nodes.len()).expect("fewer than 2^63 nodes"));
        }
        (offsets, nodes, known)
    }

    /// Starts and ends of jobs of which several attempts ran, by offsets; NaN = not yet. None where there is no such
    /// job.
    ///
    /// # Panics
    ///
    /// If there are more than 2^63 of them.
    #[must_use]
    pub fn take_segments(&mut self) -> Option<(Vec<i64>, Vec<f64>, Vec<bool>)> {
        let mut own: Vec<(u32, Vec<f64>)> = std::mem::take(&mut self.segments);
        own.sort_by_key(|(row, _)| *row);
        let (mut offsets, mut flat, mut known) = (vec![0], Vec::new(), Vec::new());
        for row in &self.order {
            let found = own.binary_search_by_key(row, |(row, _)| *row).ok();
            known.push(found.is_some());
            flat.extend(found.into_iter().flat_map(|at| own[at].1.iter().copied()));
            offsets.push(i64::try_from(flat.len()).expect("fewer than 2^63 ends"));
        }
        known.contains(&true).then_some((offsets, flat, known))
    }
}

/// True if a list has as many nodes as its job.
fn is_as_many(listed: usize, nodes: i32) -> bool {
    usize::try_from(nodes) == Ok(listed)
}

/// Processors, -1 where they are not known.
fn known_cpus(cpus: u32) -> i64 {
    if cpus == UNKNOWN_CPUS { -1 } else { i64::from(cpus) }
}

/// True if a job is kept; counts it otherwise.
fn keeps(book: &mut Book, row: u32, drops_never_ran: bool) -> bool {
    let count = if book.rows.is(row, flag::PENDING) {
        &mut book.report.dropped_pending
    } else if drops_never_ran && !book.rows.is(row, flag::RAN) {
        &mut book.report.dropped_never_ran
    } else if book.rows.node_count[row as usize] == 0 {
        &mut book.report.dropped_no_size
    } else {
        return true;
    };
    *count += 1;
    false
}

/// Sets the length of runs that still go on, where unknown, to the time up to the dump's last instant.
fn finish_runs(rows: &mut Kept, order: &[u32], last_s: f64) {
    for row in order.iter().map(|row| *row as usize) {
        if rows.runtime_s[row].is_nan() {
            let stood_s = rows.suspended_s[row];
            let ran_s = last_s - rows.start_s[row] - if stood_s.is_nan() { 0.0 } else { stood_s };
            rows.runtime_s[row] = ran_s.max(0.0);
        }
    }
}

/// The number of each job, those in `order` by their place in the file.
fn numbered(rows: &Kept, order: &[u32], largest: i64, report: &mut Report) -> Vec<i64> {
    let plain = |row: u32| {
        let (name, raw) = (rows.name[row as usize], rows.raw[row as usize]);
        match name.part {
            _ if rows.is(row, flag::EXPANDED) => None,
            _ if raw >= 0 => Some(raw),
            Part::Whole => Some(name.number),
            _ => None,
        }
    };
    let mut owners: Vec<(i64, u32)> = Vec::with_capacity(order.len());
    owners.extend(order.iter().enumerate().filter_map(|(place, row)| {
        let is_own = !rows.is(*row, flag::REUSED);
        Some((plain(*row).filter(|_| is_own)?, u32::try_from(place).expect("counted so")))
    }));
    owners.sort_unstable();
    owners.dedup_by_key(|(number, _)| *number);
    let mut job_id = vec![-1; order.len()];
    for (number, place) in owners {
        job_id[place as usize] = number;
    }
    let mut next = largest;
    for (place, row) in order.iter().enumerate() {
        if job_id[place] < 0 {
            next += 1;
            job_id[place] = next;
            report.reused_ids += u64::from(plain(*row).is_some());
        }
    }
    job_id
}

fn sort_by_submit(order: &mut Vec<u32>, job_id: &mut Vec<i64>, rows: &Kept) {
    let submit_s = |row: &u32| rows.submit_s[*row as usize];
    if order.is_sorted_by(|row, next| submit_s(row) <= submit_s(next)) {
        return;
    }
    let mut places: Vec<u32> = (0..u32::try_from(order.len()).expect("counted so")).collect();
    places.sort_by(|place, other| submit_s(&order[*place as usize]).total_cmp(&submit_s(&order[*other as usize])));
    *job_id = places.iter().map(|place| job_id[*place as usize]).collect();
    *order = places.iter().map(|place| order[*place as usize]).collect();
}

/// Makes the energy of each row that of its job; returns the mean draw of each job's nodes.
fn charge(rows: &mut Kept, order: &[u32]) -> Vec<f64> {
    let power_of = |row: &u32| {
        let own = rows.steps(*row);
        let row = *row as usize;
        let size = rows.node_count[row];
        let stood_s = rows.suspended_s[row];
        let whole_s = (rows.runtime_s[row] + if stood_s.is_nan() { 0.0 } else { stood_s }) * f64::from(size);
        let (energy_j, node_s) = if rows.flags[row] & flag::RAN == 0 {
            (f64::NAN, whole_s)
        } else if own.is_none() {
            (rows.energy_j[row], whole_s)
        } else if own.is_of_all(size) {
            (own.energy_j, if own.node_s.is_nan() { whole_s } else { own.node_s })
        } else {
            (f64::NAN, whole_s)
        };
        rows.energy_j[row] = energy_j;
        let watts = energy_j / node_s;
        if watts > 0.0 && watts <= MOST_WATTS { watts } else { f64::NAN }
    };
    let power_w = order.iter().map(power_of).collect();
    (rows.step_rank, rows.step_j, rows.step_node_s) = Default::default();
    power_w
}
