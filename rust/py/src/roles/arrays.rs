//! Numbers of the core as Python takes them: read-only arrays, and seconds.

use hetsched_core::algo::node_set::NodeSet;
use hetsched_core::units::SimTime;
use numpy::npyffi::flags::NPY_ARRAY_WRITEABLE;
use numpy::{Element, PyArray1, PyArrayMethods, PyUntypedArrayMethods};
use pyo3::prelude::*;

/// Numbers as a read-only array.
pub(crate) fn fixed<'py, T: Element>(py: Python<'py>, values: &[T]) -> Bound<'py, PyArray1<T>> {
    sealed(PyArray1::from_slice(py, values))
}

/// The nodes of a set as an array, ascending.
pub(crate) fn node_numbers<'py>(py: Python<'py>, set: &NodeSet) -> Bound<'py, PyArray1<i64>> {
    // SAFETY: every place is written below, before anything reads one.
    let array = unsafe { PyArray1::<i64>::new(py, set.len() as usize, false) };
    // SAFETY: the array is new, in one piece, and nothing else knows of it yet.
    let mut rest = unsafe { array.as_slice_mut() }.unwrap_or_default();
    for (&word, base) in set.words().iter().zip((0..).step_by(64)) {
        let (own, others) = std::mem::take(&mut rest).split_at_mut(word.count_ones() as usize);
        if word == u64::MAX {
            // Fast path for full words, which are the rule on large machines that are half empty: no bit has to be
            // searched for.
            (base..).zip(own).for_each(|(node, place)| *place = node);
        } else {
            let mut bits = word;
            for place in own {
                *place = base + i64::from(bits.trailing_zeros());
                bits &= bits - 1;
            }
        }
        rest = others;
    }
    sealed(array)
}

fn sealed<T>(array: Bound<'_, PyArray1<T>>) -> Bound<'_, PyArray1<T>> {
    // SAFETY: the array was made here, and nothing else knows of it yet.
    unsafe { (*array.as_array_ptr()).fields.flags &= !NPY_ARRAY_WRITEABLE };
    array
}

/// An instant as Python takes it.
pub(crate) fn seconds(at: SimTime) -> f64 {
    if at == SimTime::NEVER { f64::INFINITY } else { at.seconds() }
}
