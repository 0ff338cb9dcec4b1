//! What one line says about its job, held against the format's definition.
//!
//! A used field must hold what its meaning allows; the others may hold any number. Which jobs are kept is `swf`'s
//! business.

use crate::units::MAX_SECONDS;

use super::line::{Fields, field};

/// What a log writes where it does not know.
const UNKNOWN: i64 = -1;

/// A field that cannot be what it is.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Refusal {
    /// Index of the field.
    pub(super) field: usize,
    /// What would have been right.
    pub(super) expected: &'static str,
}

impl Refusal {
    /// Of a field that does not hold what the format says.
    pub(super) fn of(field: usize) -> Self {
        let expected = match field {
            field::JOB => "a whole number of at least 0",
            field::SUBMIT | field::WAIT | field::REQUESTED_TIME => "seconds, at most 1e12",
            field::RUNTIME => "seconds from 0 to 1e12, or -1 for unknown",
            field::ALLOCATED_PROCS | field::REQUESTED_PROCS => "a whole number of processors",
            field::STATUS => "a status code such as 1 (completed), or -1 for unknown",
            field::USER | field::APPLICATION | field::QUEUE | field::PRECEDING_JOB => {
                "a whole number of at least 0, or -1 for unknown"
            }
            _ => "a number",
        };
        Self { field, expected }
    }
}

/// The used fields of one job line.
#[derive(Clone, Copy, Debug)]
pub(super) struct Job {
    pub(super) id: i64,
    pub(super) submit_s: f64,
    /// Below zero where unknown.
    pub(super) wait_s: f64,
    /// Below zero where unknown.
    pub(super) runtime_s: f64,
    /// Zero or less where there was no such number.
    pub(super) requested_procs: i64,
    /// Zero or less where there was no such number.
    pub(super) allocated_procs: i64,
    /// Zero or less where nothing was requested.
    pub(super) requested_s: f64,
    /// The log's code; -1 where unknown.
    pub(super) status: i32,
    /// -1 where unknown, as the next three.
    pub(super) user: i64,
    pub(super) app: i64,
    pub(super) queue: i64,
    pub(super) depends_on: i64,
}

impl Job {
    /// The job of one line, or the first of its fields that cannot be.
    pub(super) fn check(fields: &Fields) -> Result<Self, Refusal> {
        Ok(Self {
            id: at_least(0, fields, field::JOB)?,
            submit_s: seconds(fields, field::SUBMIT)?,
            wait_s: seconds(fields, field::WAIT)?,
            runtime_s: runtime(fields)?,
            allocated_procs: whole(fields, field::ALLOCATED_PROCS)?,
            requested_procs: whole(fields, field::REQUESTED_PROCS)?,
            requested_s: seconds(fields, field::REQUESTED_TIME)?,
            status: status(fields)?,
            user: at_least(UNKNOWN, fields, field::USER)?,
            app: at_least(UNKNOWN, fields, field::APPLICATION)?,
            queue: at_least(UNKNOWN, fields, field::QUEUE)?,
            depends_on: at_least(UNKNOWN, fields, field::PRECEDING_JOB)?,
        })
    }

    /// How many processors, and the field that says so: requested ones before allocated ones.
    pub(super) fn procs(&self) -> Option<(u64, usize)> {
        let sizes = [(self.requested_procs, field::REQUESTED_PROCS), (self.allocated_procs, field::ALLOCATED_PROCS)];
        let (procs, field) = sizes.into_iter().find(|(procs, _)| *procs > 0)?;
        Some((procs.unsigned_abs(), field))
    }
}

fn whole(fields: &Fields, field: usize) -> Result<i64, Refusal> {
    fields[field].whole().ok_or_else(|| Refusal::of(field))
}

fn at_least(least: i64, fields: &Fields, field: usize) -> Result<i64, Refusal> {
    let number = whole(fields, field)?;
    if number < least { Err(Refusal::of(field)) } else { Ok(number) }
}

fn status(fields: &Fields) -> Result<i32, Refusal> {
    let code = at_least(UNKNOWN, fields, field::STATUS)?;
    i32::try_from(code).map_err(|_| Refusal::of(field::STATUS))
}

fn seconds(fields: &Fields, field: usize) -> Result<f64, Refusal> {
    let seconds = fields[field].float();
    if seconds.abs() <= MAX_SECONDS { Ok(seconds) } else { Err(Refusal::of(field)) }
}

fn runtime(fields: &Fields) -> Result<f64, Refusal> {
    let runtime_s = seconds(fields, field::RUNTIME)?;
    let unknown = fields[field::RUNTIME].whole() == Some(UNKNOWN);
    if runtime_s >= 0.0 || unknown { Ok(runtime_s) } else { Err(Refusal::of(field::RUNTIME)) }
}

#[cfg(test)]
mod tests {
    use super::super::line::scan;
    use super::super::number::Number;
    use super::*;

    const LINE: [&str; 18] =
        ["1", "0", "5", "60", "4", "-1", "-1", "4", "100", "-1", "1", "3", "-1", "7", "2", "-1", "-1", "-1"];

    fn with(field: usize, token: &str) -> Result<Job, Refusal> {
        let mut line = LINE;
        line[field] = token;
        let mut fields = [Number::Whole(0); 18];
        scan(line.join(" ").as_bytes(), 0, &mut fields).expect("18 numbers");
        Job::check(&fields)
    }

    #[test]
    fn seconds_may_be_fractional() {
        for index in [field::SUBMIT, field::WAIT, field::RUNTIME, field::REQUESTED_TIME] {
            assert!(with(index, "9.56").is_ok(), "{index}");
        }
    }

    #[test]
    fn counts_and_names_are_whole() {
        let whole = [field::JOB, field::ALLOCATED_PROCS, field::REQUESTED_PROCS, field::STATUS, field::USER];
        for index in whole.into_iter().chain([field::APPLICATION, field::QUEUE, field::PRECEDING_JOB]) {
            assert!(with(index, "3.00").is_ok(), "{index}");
            assert_eq!(with(index, "3.5").unwrap_err().field, index);
            assert_eq!(with(index, "1e300").unwrap_err().field, index);
        }
    }

    #[test]
    fn seconds_are_bounded() {
        for index in [field::SUBMIT, field::WAIT, field::RUNTIME, field::REQUESTED_TIME] {
            for token in ["1e300", "-1e300", "1e999", "1000000000001"] {
                let refusal = with(index, token).unwrap_err();
                assert_eq!(refusal.field, index);
                assert!(refusal.expected.contains("1e12"), "{}", refusal.expected);
            }
        }
    }

    #[test]
    fn unused_fields_hold_any_number() {
        for index in [5, 6, 9, 12, 15, 17] {
            for token in ["-2", "0.5", "1e300", "1e999", "123456789012345678901234567890"] {
                assert!(with(index, token).is_ok(), "{index} {token}");
            }
        }
    }

    #[test]
    fn an_unknown_runtime_is_minus_one_and_nothing_else() {
        assert!(with(field::RUNTIME, "-1").is_ok());
        assert!(with(field::RUNTIME, "-1.0").is_ok());
        for token in ["-2", "-0.5", "-1.5"] {
            assert_eq!(with(field::RUNTIME, token).unwrap_err().field, field::RUNTIME);
        }
    }

    #[test]
    fn names_below_unknown_are_refused() {
        for index in [field::STATUS, field::USER, field::APPLICATION, field::QUEUE, field::PRECEDING_JOB] {
            assert!(with(index, "-1").is_ok(), "{index}");
            assert_eq!(with(index, "-2").unwrap_err().field, index);
        }
        assert_eq!(with(field::JOB, "-1").unwrap_err().field, field::JOB);
        assert_eq!(with(field::STATUS, "2147483648").unwrap_err().field, field::STATUS);
    }

    #[test]
    fn requested_processors_come_before_allocated_ones() {
        assert_eq!(with(field::REQUESTED_PROCS, "8").unwrap().procs(), Some((8, field::REQUESTED_PROCS)));
        assert_eq!(with(field::REQUESTED_PROCS, "0").unwrap().procs(), Some((4, field::ALLOCATED_PROCS)));
    }
}
