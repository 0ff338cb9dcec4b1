//! The jobs of a log as columns.

use std::collections::TryReserveError;

use super::job::Job;

/// The kept jobs of a log, one per row, by submit time; rows with equal submits stand as in the file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SwfColumns {
    /// The log's job numbers, each once.
    pub job_id: Vec<i64>,
    /// Submit times in seconds, >= 0.
    pub submit_s: Vec<f64>,
    /// Run times in seconds, >= 0.
    pub runtime_s: Vec<f64>,
    /// Whole nodes, >= 1.
    pub node_count: Vec<i32>,
    /// Requested times in seconds, > 0; NaN = none.
    pub walltime_s: Vec<f64>,
    /// User numbers; -1 = unknown.
    pub user: Vec<i64>,
    /// Queue numbers; -1 = unknown.
    pub queue: Vec<i64>,
    /// Application numbers; -1 = unknown.
    pub app: Vec<i64>,
    /// Number of the job that must end first; -1 = none. Empty if no job has one.
    pub depends_on: Vec<i64>,
    /// Time after that job's end, in seconds; -1 = unknown, or no such job. Empty if it is known of none.
    pub think_s: Vec<f64>,
    /// The log's status codes; -1 = unknown.
    pub trace_status: Vec<i32>,
    /// Observed start on the real machine, in seconds; NaN = unknown. Empty if it is known of none.
    pub observed_start_s: Vec<f64>,
}

impl SwfColumns {
    /// Number of jobs.
    #[must_use]
    pub fn len(&self) -> usize {
        self.job_id.len()
    }

    /// True if there is no job.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.job_id.is_empty()
    }

    /// Makes room for `rows` rows.
    ///
    /// # Errors
    ///
    /// Memory cannot hold them.
    pub(super) fn try_reserve(&mut self, rows: usize) -> Result<(), TryReserveError> {
        self.job_id.try_reserve_exact(rows)?;
        self.submit_s.try_reserve_exact(rows)?;
        self.runtime_s.try_reserve_exact(rows)?;
        self.node_count.try_reserve_exact(rows)?;
        self.walltime_s.try_reserve_exact(rows)?;
        self.user.try_reserve_exact(rows)?;
        self.queue.try_reserve_exact(rows)?;
        self.app.try_reserve_exact(rows)?;
        self.depends_on.try_reserve_exact(rows)?;
        self.think_s.try_reserve_exact(rows)?;
        self.trace_status.try_reserve_exact(rows)?;
        self.observed_start_s.try_reserve_exact(rows)
    }

    pub(super) fn push(&mut self, job: &Job, node_count: i32) {
        let row = self.len();
        self.job_id.push(job.id);
        self.submit_s.push(job.submit_s);
        self.runtime_s.push(job.runtime_s);
        self.node_count.push(node_count);
        self.walltime_s.push(job.walltime_s().unwrap_or(f64::NAN));
        self.user.push(job.user);
        self.queue.push(job.queue);
        self.app.push(job.app);
        self.trace_status.push(job.status);
        push_known(&mut self.depends_on, row, (job.depends_on >= 0).then_some(job.depends_on), -1);
        push_known(&mut self.think_s, row, (job.think_s >= 0.0).then_some(job.think_s), -1.0);
        let observed_start_s = (job.wait_s >= 0.0).then_some(job.submit_s + job.wait_s);
        push_known(&mut self.observed_start_s, row, observed_start_s, f64::NAN);
    }

    /// Sorts the rows by submit time, stably.
    pub(super) fn sort_by_submit(&mut self) {
        if self.submit_s.is_sorted() {
            return;
        }
        let mut order: Vec<usize> = (0..self.len()).collect();
        order.sort_by(|left, right| self.submit_s[*left].total_cmp(&self.submit_s[*right]));
        for column in [&mut self.job_id, &mut self.user, &mut self.queue, &mut self.app, &mut self.depends_on] {
            rearrange(column, &order);
        }
        let [submit, runtime, walltime] = [&mut self.submit_s, &mut self.runtime_s, &mut self.walltime_s];
        for column in [submit, runtime, walltime, &mut self.observed_start_s, &mut self.think_s] {
            rearrange(column, &order);
        }
        for column in [&mut self.node_count, &mut self.trace_status] {
            rearrange(column, &order);
        }
    }
}

fn rearrange<T: Copy>(column: &mut Vec<T>, order: &[usize]) {
    if !column.is_empty() {
        *column = order.iter().map(|row| column[*row]).collect();
    }
}

/// Adds a row to a column that takes no memory as long as nothing is known of any job.
fn push_known<T: Copy>(column: &mut Vec<T>, row: usize, value: Option<T>, unknown: T) {
    if value.is_some() || !column.is_empty() {
        column.resize(row, unknown);
        column.push(value.unwrap_or(unknown));
    }
}
