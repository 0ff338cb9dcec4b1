//! Loan of a view to an object: it can be read in the call only that it is lent for.

use std::sync::{Mutex, PoisonError};
use std::thread::{self, ThreadId};

use hetsched_core::policy;
use hetsched_core::policy::backfill::ahead::Ahead;
use hetsched_core::workload::JobId;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

/// A view of the core, while it is lent.
#[derive(Clone, Copy)]
pub(crate) struct Lent<'a> {
    pub(crate) view: policy::View<'a>,
    /// Waiting jobs in order, if the object may see them.
    pub(crate) queue: Option<&'a [JobId]>,
    /// Free nodes and watts from now on, if more is known about them than the view says.
    pub(crate) ahead: Option<&'a Ahead>,
    thread: ThreadId,
}

// SAFETY: it is read by the thread only that it was lent to, which `Loan::lent` sees to.
unsafe impl Send for Lent<'_> {}

/// Cell that holds a view while it is lent.
#[derive(Default)]
pub(crate) struct Loan(Mutex<Option<Lent<'static>>>);

/// Guard that takes a view back, even in a panic.
struct Return<'a>(&'a Loan);

impl Drop for Return<'_> {
    fn drop(&mut self) {
        self.0.put(None);
    }
}

impl Loan {
    /// Reads the view that is lent; an error once the call is over, or in another thread.
    pub(crate) fn read(&self) -> PyResult<policy::View<'_>> {
        self.lent().map(|lent| lent.view)
    }

    /// Reads all that is lent; an error as for [`Loan::read`].
    pub(crate) fn lent(&self) -> PyResult<Lent<'_>> {
        let lent = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        lent.filter(|lent| lent.thread == thread::current().id()).ok_or_else(|| {
            PyRuntimeError::new_err(
                "a view and its jobs can be read in the call only that they were given to, and by its thread; \
                 arrays taken from them last",
            )
        })
    }

    /// Lends a view for the length of a call, with the waiting jobs and the free nodes from now on if the object may see
    /// them.
    pub(crate) fn during<T>(
        &self,
        view: &policy::View<'_>,
        queue: Option<&[JobId]>,
        ahead: Option<&Ahead>,
        call: impl FnOnce() -> T,
    ) -> T {
        let lent = Lent { view: *view, queue, ahead, thread: thread::current().id() };
        // SAFETY: what is borrowed here outlives `call`; when that is left, `Return` takes it back, and until then only
        // this thread can read it, from within `call`.
        let lent = unsafe { std::mem::transmute::<Lent<'_>, Lent<'static>>(lent) };
        self.put(Some(&lent));
        let _return = Return(self);
        call()
    }

    fn put(&self, lent: Option<&Lent<'static>>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = lent.copied();
    }
}
