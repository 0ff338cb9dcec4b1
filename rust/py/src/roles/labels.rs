//! Labels of jobs, as objects see them.

use std::sync::{Arc, PoisonError, RwLock};

use hetsched_core::workload::JobId;

/// Labels of jobs besides the core's columns: codes by row, -1 for unknown, and their names. All objects of a run share
/// them, as there may be more jobs later.
#[derive(Clone, Default)]
pub(crate) struct Labels(Arc<RwLock<Arc<LabelColumns>>>);

#[derive(Default)]
pub(crate) struct LabelColumns {
    user: Vec<i64>,
    account: Vec<i64>,
    queue: Vec<i64>,
    pub(crate) apps: Vec<String>,
    pub(crate) users: Vec<String>,
    pub(crate) accounts: Vec<String>,
    pub(crate) queues: Vec<String>,
}

impl Labels {
    /// Users, accounts and queues by job, and the names of applications.
    pub(crate) fn new(
        (user, users): (Vec<i64>, Vec<String>),
        (account, accounts): (Vec<i64>, Vec<String>),
        (queue, queues): (Vec<i64>, Vec<String>),
        apps: &[String],
    ) -> Self {
        Self::of(Arc::new(LabelColumns { user, account, queue, apps: apps.to_vec(), users, accounts, queues }))
    }

    fn of(columns: Arc<LabelColumns>) -> Self {
        Self(Arc::new(RwLock::new(columns)))
    }

    /// Columns as they are now.
    pub(crate) fn columns(&self) -> Arc<LabelColumns> {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Takes over the columns of `other`, which has more jobs.
    pub(crate) fn become_like(&self, other: &Self) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = other.columns();
    }

    /// A separate copy for an independent run.
    pub(crate) fn alone(&self) -> Self {
        Self::of(self.columns())
    }
}

impl LabelColumns {
    pub(crate) fn user(&self, job: JobId) -> i64 {
        self.user.get(job.0 as usize).copied().unwrap_or(-1)
    }

    pub(crate) fn account(&self, job: JobId) -> i64 {
        self.account.get(job.0 as usize).copied().unwrap_or(-1)
    }

    pub(crate) fn queue(&self, job: JobId) -> i64 {
        self.queue.get(job.0 as usize).copied().unwrap_or(-1)
    }
}
