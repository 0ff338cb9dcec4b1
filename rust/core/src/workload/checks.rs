//! Checks of columns, value by value.

use std::fmt;

use crate::error::{Error, Result, TraceError};
use crate::units::SimDuration;

/// Table whose columns are checked.
#[derive(Clone, Copy, Debug)]
pub(super) struct CheckedTable<'a> {
    /// Its name in errors.
    pub(super) source: &'a str,
}

impl CheckedTable<'_> {
    /// Fault of the table as a whole.
    pub(super) fn whole_table(&self, field: &str, found: impl fmt::Display, expected: &str) -> TraceError {
        TraceError {
            file: self.source.to_owned(),
            line: None,
            field: Some(field.to_owned()),
            found: found.to_string(),
            expected: expected.to_owned(),
        }
    }

    /// The values of a column, each as `take` reads it; a fault names the first that it cannot read.
    pub(super) fn column<T: Copy + fmt::Display, U>(
        &self,
        field: &str,
        values: &[T],
        expected: &str,
        mut take: impl FnMut(T) -> Option<U>,
    ) -> Result<Vec<U>> {
        let mut taken = Vec::with_capacity(values.len());
        for (row, &value) in values.iter().enumerate() {
            let Some(good) = take(value) else {
                let fault = self.whole_table(field, format!("`{value}`"), expected);
                return Err(Error::Trace(TraceError { line: Some(row as u64), ..fault }));
            };
            taken.push(good);
        }
        Ok(taken)
    }

    /// The same of a column that is used up, in its own memory where values are of one size.
    pub(super) fn taken<T: Copy + fmt::Display, U>(
        &self,
        field: &str,
        values: Vec<T>,
        expected: &str,
        mut take: impl FnMut(T) -> Option<U>,
    ) -> Result<Vec<U>> {
        let taken = |(row, value): (usize, T)| take(value).ok_or((row, value));
        values.into_iter().enumerate().map(taken).collect::<Result<_, _>>().map_err(|(row, value)| {
            let fault = self.whole_table(field, format!("`{value}`"), expected);
            Error::Trace(TraceError { line: Some(row as u64), ..fault })
        })
    }
}

/// A span that is not negative.
pub(super) fn span(seconds: f64) -> Option<SimDuration> {
    if seconds < 0.0 { None } else { SimDuration::from_seconds(seconds) }
}

/// The same; zero where it is unknown.
pub(super) fn added(seconds: f64) -> Option<SimDuration> {
    if seconds.is_nan() { Some(SimDuration::ZERO) } else { span(seconds) }
}

/// A yes or no.
pub(super) fn flag(code: i64) -> Option<bool> {
    match code {
        0 => Some(false),
        1 => Some(true),
        _ => None,
    }
}
