//! Copies of objects for forked runs, and notes on exceptions.

use std::cell::RefCell;

use pyo3::prelude::*;
use pyo3::types::PyList;

use crate::roles::labels::Labels;

/// Copies made so far while a run is forked: an object in two roles is copied once.
#[derive(Default)]
struct Forking {
    made: Vec<(Py<PyAny>, Py<PyAny>)>,
    /// Labels of jobs that the objects of the fork know: the same for all.
    labels: Option<Labels>,
    failure: Option<PyErr>,
}

thread_local! {
    static FORKING: RefCell<Option<Forking>> = const { RefCell::new(None) };
}

/// Lets `clone` make its copies of objects; raises the exception of a copy that failed.
pub(crate) fn forking<T>(clone: impl FnOnce() -> T) -> PyResult<T> {
    let before = FORKING.replace(Some(Forking::default()));
    let made = clone();
    let done = FORKING.replace(before).unwrap_or_default();
    done.failure.map_or(Ok(made), Err)
}

/// Labels of the fork under construction, which are a copy of these; these themselves if there is none.
pub(crate) fn labels_of_fork(own: &Labels) -> Labels {
    FORKING.with_borrow_mut(|forking| match forking {
        Some(forking) => forking.labels.get_or_insert_with(|| own.alone()).clone(),
        None => own.clone(),
    })
}

/// Copies an object by its method `fork()`, else by `copy.deepcopy`.
pub(crate) fn copied(py: Python<'_>, role: &str, object: &Py<PyAny>) -> Py<PyAny> {
    let known = FORKING.with_borrow(|forking| {
        let made = &forking.as_ref()?.made;
        made.iter().find(|(own, _)| own.is(object)).map(|(_, copy)| copy.clone_ref(py))
    });
    // No borrow is held here: the object may do anything, even fork another run.
    known.unwrap_or_else(|| {
        let copy = copied_by(py, role, object);
        FORKING.with_borrow_mut(|forking| {
            let Some(forking) = forking else { return };
            match &copy {
                Ok(copy) => forking.made.push((object.clone_ref(py), copy.clone_ref(py))),
                Err(failure) => _ = forking.failure.get_or_insert_with(|| failure.clone_ref(py)),
            }
        });
        copy.unwrap_or_else(|_| object.clone_ref(py))
    })
}

fn copied_by(py: Python<'_>, role: &str, object: &Py<PyAny>) -> PyResult<Py<PyAny>> {
    py.import("hetsched.policy.objects")?.getattr("copied")?.call1((object, role)).map(Bound::unbind)
}

/// Adds a note to an exception, as `BaseException.add_note` does; Python 3.10 has none, and shows none.
pub(crate) fn add_note(py: Python<'_>, raised: &PyErr, note: &str) {
    let value = raised.value(py);
    let added = if value.hasattr("add_note").unwrap_or(false) {
        value.call_method1("add_note", (note,)).map(drop)
    } else {
        PyList::new(py, [note]).and_then(|notes| value.setattr("__notes__", notes))
    };
    // An exception without a place for notes is still the user's own.
    drop(added);
}
