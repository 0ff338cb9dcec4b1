//! Fields of one job line, checked against the format's definition.
//!
//! A used field must hold what its meaning allows; the others may hold any number. The choice of the jobs to keep is
//! left to `swf`.

use crate::units::MAX_SECONDS;

use super::line::{Fields, field};

/// Value that a log has for unknown.
const UNKNOWN: i64 = -1;
const UNKNOWN_STATUS: i32 = -1;

/// The largest code of the format: 0 failed, 1 completed, 2 to 4 parts of a job, 5 cancelled.
const LAST_STATUS: i32 = 5;

/// The shortest time that the engine's clock can distinguish from zero.
const SHORTEST_S: f64 = 1e-6;

/// An invalid field.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Refusal {
    /// Index of the field.
    pub(super) field: usize,
    /// Description of a valid value.
    pub(super) expected: &'static str,
}

impl Refusal {
    /// Refusal of a field that does not hold what the format demands.
    pub(super) fn of(field: usize) -> Self {
        let expected = match field {
            field::JOB => "a whole number of at least 0",
            field::SUBMIT | field::WAIT | field::REQUESTED_TIME => "seconds, at most 1e12",
            field::RUNTIME | field::THINK_TIME => "seconds from 0 to 1e12, or -1 for unknown",
            field::ALLOCATED_PROCS | field::REQUESTED_PROCS => "a whole number of processors",
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
    /// True if the log's code is none of the format's.
    pub(super) is_odd_status: bool,
    /// -1 where unknown, as the next three.
    pub(super) user: i64,
    pub(super) app: i64,
    pub(super) queue: i64,
    pub(super) depends_on: i64,
    /// Time after that job's end; below zero where unknown, or where there is no such job.
    pub(super) think_s: f64,
}

impl Job {
    /// The job of one line, or the first of its invalid fields.
    pub(super) fn check(fields: &Fields) -> Result<Self, Refusal> {
        let status = status(fields);
        let depends_on = at_least(UNKNOWN, fields, field::PRECEDING_JOB)?;
        Ok(Self {
            id: at_least(0, fields, field::JOB)?,
            submit_s: seconds(fields, field::SUBMIT)?,
            wait_s: seconds(fields, field::WAIT)?,
            runtime_s: span(fields, field::RUNTIME)?,
            allocated_procs: whole(fields, field::ALLOCATED_PROCS)?,
            requested_procs: whole(fields, field::REQUESTED_PROCS)?,
            requested_s: seconds(fields, field::REQUESTED_TIME)?,
            status: status.unwrap_or(UNKNOWN_STATUS),
            is_odd_status: status.is_none(),
            user: at_least(UNKNOWN, fields, field::USER)?,
            app: at_least(UNKNOWN, fields, field::APPLICATION)?,
            queue: at_least(UNKNOWN, fields, field::QUEUE)?,
            depends_on,
            think_s: if depends_on >= 0 { span(fields, field::THINK_TIME)? } else { -1.0 },
        })
    }

    /// The requested time in seconds, at least a microsecond; `None` if there is none.
    pub(super) fn walltime_s(&self) -> Option<f64> {
        (self.requested_s > 0.0).then(|| self.requested_s.max(SHORTEST_S))
    }

    /// True if [`Self::walltime_s`] is longer than what was requested.
    pub(super) fn is_walltime_raised(&self) -> bool {
        self.walltime_s().is_some_and(|walltime_s| walltime_s > self.requested_s)
    }

    /// Number of processors, and the field that it is from: requested ones before allocated ones.
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

/// The status code, if it is one of the format's.
fn status(fields: &Fields) -> Option<i32> {
    let code = i32::try_from(fields[field::STATUS].whole()?).ok()?;
    (UNKNOWN_STATUS..=LAST_STATUS).contains(&code).then_some(code)
}

fn seconds(fields: &Fields, field: usize) -> Result<f64, Refusal> {
    let seconds = fields[field].float();
    if seconds.abs() <= MAX_SECONDS { Ok(seconds) } else { Err(Refusal::of(field)) }
}

/// Seconds from 0, or -1 where unknown.
fn span(fields: &Fields, field: usize) -> Result<f64, Refusal> {
    let span_s = seconds(fields, field)?;
    let unknown = fields[field].whole() == Some(UNKNOWN);
    if span_s >= 0.0 || unknown { Ok(span_s) } else { Err(Refusal::of(field)) }
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
    fn a_think_time_is_read_where_there_is_a_preceding_job() {
        assert_eq!(with(field::THINK_TIME, "-7").map(|job| job.think_s), Ok(-1.0));
        let mut line = LINE;
        line[field::PRECEDING_JOB] = "4";
        for (token, think_s) in [("2.5", Some(2.5)), ("-1", Some(-1.0)), ("-7", None), ("1e13", None)] {
            line[field::THINK_TIME] = token;
            let mut fields = [Number::Whole(0); 18];
            scan(line.join(" ").as_bytes(), 0, &mut fields).expect("18 numbers");
            assert_eq!(Job::check(&fields).ok().map(|job| job.think_s), think_s, "{token}");
        }
    }

    #[test]
    fn counts_and_names_are_whole() {
        let whole = [field::JOB, field::ALLOCATED_PROCS, field::REQUESTED_PROCS, field::USER];
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
        for index in [field::USER, field::APPLICATION, field::QUEUE, field::PRECEDING_JOB] {
            assert!(with(index, "-1").is_ok(), "{index}");
            assert_eq!(with(index, "-2").unwrap_err().field, index);
        }
        assert_eq!(with(field::JOB, "-1").unwrap_err().field, field::JOB);
    }

    #[test]
    fn a_status_that_the_format_does_not_know_is_unknown() {
        for code in -1..=5 {
            let job = with(field::STATUS, &code.to_string()).unwrap();
            assert_eq!((job.status, job.is_odd_status), (code, false));
        }
        for token in ["-2", "6", "11", "1.5", "2147483649", "1e300"] {
            let job = with(field::STATUS, token).unwrap();
            assert_eq!((job.status, job.is_odd_status), (-1, true), "{token}");
        }
    }

    #[test]
    fn a_requested_time_is_a_microsecond_at_least() {
        let walltime = |token| {
            let job = with(field::REQUESTED_TIME, token).unwrap();
            (job.walltime_s(), job.is_walltime_raised())
        };
        assert_eq!(walltime("4e-7"), (Some(1e-6), true));
        assert_eq!(walltime("0.000001"), (Some(1e-6), false));
        assert_eq!(walltime("0"), (None, false));
        assert_eq!(walltime("-1"), (None, false));
    }

    #[test]
    fn requested_processors_come_before_allocated_ones() {
        assert_eq!(with(field::REQUESTED_PROCS, "8").unwrap().procs(), Some((8, field::REQUESTED_PROCS)));
        assert_eq!(with(field::REQUESTED_PROCS, "0").unwrap().procs(), Some((4, field::ALLOCATED_PROCS)));
    }
}
