//! One row, as the dump has it: each field read by its column's type.

use super::header::{Header, Kind};
use super::hosts;
use super::name::{self, Written};
use super::tres::Tres;
use super::value::{MOST_SECONDS, Per, count, is_null, joules, limit, limit_minutes, memory, span, whole};
use super::zone::{Clock, Instant, NoTime};

/// One row. Unknown texts are empty; unknown numbers are NaN, or -1 for counts.
#[derive(Clone, Debug)]
pub(super) struct Row<'a> {
    pub(super) line: u64,
    pub(super) name: Option<Written<'a>>,
    pub(super) raw: i64,
    pub(super) submit: Instant,
    pub(super) eligible: Instant,
    pub(super) start: Instant,
    pub(super) end: Instant,
    pub(super) elapsed_s: f64,
    pub(super) suspended_s: f64,
    pub(super) walltime_s: f64,
    pub(super) n_nodes: i64,
    pub(super) alloc_nodes: i64,
    pub(super) req_nodes: i64,
    pub(super) hosts: &'a [u8],
    pub(super) allocated: Tres,
    pub(super) requested: Tres,
    pub(super) alloc_cpus: i64,
    pub(super) n_cpus: i64,
    pub(super) req_cpus: i64,
    pub(super) memory: Option<(f64, Per)>,
    pub(super) constraint: &'a [u8],
    pub(super) licences: &'a [u8],
    pub(super) user: &'a [u8],
    pub(super) account: &'a [u8],
    pub(super) queue: &'a [u8],
    pub(super) qos: &'a [u8],
    pub(super) reservation: &'a [u8],
    pub(super) priority: i64,
    pub(super) state: &'a [u8],
    pub(super) job_name: &'a [u8],
    pub(super) app: &'a [u8],
    pub(super) energy_j: f64,
    pub(super) restarts: i64,
    /// Limit on how many tasks of its array may run at once.
    pub(super) array_limit: u32,
    pub(super) has: Has,
}

/// Columns whose presence matters even where they are empty.
#[derive(Clone, Copy, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "one a column")]
pub(super) struct Has {
    pub(super) start: bool,
    pub(super) end: bool,
    pub(super) hosts: bool,
    pub(super) alloc_nodes: bool,
    pub(super) allocated: bool,
    pub(super) memory: bool,
    pub(super) user: bool,
    pub(super) job_name: bool,
}

impl Has {
    pub(super) fn of(header: &Header) -> Self {
        Self {
            start: header.has(Kind::Start),
            end: header.has(Kind::End),
            hosts: header.has(Kind::NodeList),
            alloc_nodes: header.has(Kind::AllocNodes),
            allocated: header.has(Kind::AllocTres),
            memory: header.has(Kind::ReqMem),
            user: header.has(Kind::User) || header.has(Kind::Uid),
            job_name: header.has(Kind::JobName),
        }
    }
}

impl Default for Row<'_> {
    fn default() -> Self {
        Self {
            line: 0,
            name: None,
            raw: -1,
            submit: Instant::NONE,
            eligible: Instant::NONE,
            start: Instant::NONE,
            end: Instant::NONE,
            elapsed_s: f64::NAN,
            suspended_s: f64::NAN,
            walltime_s: f64::NAN,
            n_nodes: -1,
            alloc_nodes: -1,
            req_nodes: -1,
            hosts: b"",
            allocated: Tres::default(),
            requested: Tres::default(),
            alloc_cpus: -1,
            n_cpus: -1,
            req_cpus: -1,
            memory: None,
            constraint: b"",
            licences: b"",
            user: b"",
            account: b"",
            queue: b"",
            qos: b"",
            reservation: b"",
            priority: -1,
            state: b"",
            job_name: b"",
            app: b"",
            energy_j: f64::NAN,
            restarts: -1,
            array_limit: 0,
            has: Has::default(),
        }
    }
}

/// A field that cannot be parsed: its column, and what is valid.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Unread {
    pub(super) column: usize,
    pub(super) expected: &'static str,
}

const A_NAME: &str = "a job's number, such as 123, 123_4, 123_[5-9], 123+0 or 123.batch";
const A_TIME: &str = "a time such as 2024-05-01T12:00:00, or seconds since 1970";
const NO_SUCH_TIME: &str = "a time that the clocks of the time zone show: time_zone= is another one's";
const A_SPAN: &str = "a span such as 1-02:03:04";
const A_LIMIT: &str = "a limit such as 1-02:03:04, 90 or UNLIMITED";
const MINUTES: &str = "minutes, or UNLIMITED";
const A_COUNT: &str = "a whole number";
const MEMORY: &str = "memory such as 4000M, 2Gc or 1.5Gn";
const RESOURCES: &str = "resources such as cpu=4,mem=4G,node=1";
const HOSTS: &str = "a host list such as n[1-3,07]";
const JOULES: &str = "joules, such as 1.5K";
const A_STATE: &str = "a state such as COMPLETED";
const AN_EXIT: &str = "two numbers such as 0:15";

fn instant(clock: &mut Clock, text: &[u8]) -> Result<Instant, &'static str> {
    clock.read(text).map_err(|why| if why == NoTime::Skipped { NO_SUCH_TIME } else { A_TIME })
}

fn is_state(text: &[u8]) -> bool {
    text.iter().take_while(|byte| **byte != b' ').all(|byte| byte.is_ascii_alphabetic() || matches!(byte, b'_' | b'+'))
}

fn is_exit(text: &[u8]) -> bool {
    let mut parts = text.split(|byte| *byte == b':');
    parts.by_ref().take(2).all(|part| whole(part).is_some()) && parts.next().is_none()
}

impl<'a> Row<'a> {
    /// Reads `text` by its column's type into the row.
    #[inline]
    pub(super) fn take(&mut self, kind: Kind, text: &'a [u8], clock: &mut Clock) -> Result<(), &'static str> {
        if is_null(text) {
            return Ok(());
        }
        let is_text = matches!(
            kind,
            Kind::JobName
                | Kind::Account
                | Kind::User
                | Kind::Qos
                | Kind::Reservation
                | Kind::Constraints
                | Kind::Other
                | Kind::Free
        );
        let text = if is_text { text } else { text.trim_ascii() };
        match kind {
            Kind::JobId => self.name = Some(name::read(text).ok_or(A_NAME)?),
            Kind::JobIdRaw => self.take_raw(text)?,
            Kind::Submit => self.submit = instant(clock, text)?,
            Kind::Eligible => self.eligible = instant(clock, text)?,
            Kind::Start => self.start = instant(clock, text)?,
            Kind::End => self.end = instant(clock, text)?,
            Kind::ElapsedRaw => {
                let seconds = whole(text).ok_or(A_COUNT)? as f64;
                self.elapsed_s = Some(seconds).filter(|seconds| *seconds <= MOST_SECONDS).ok_or(A_COUNT)?;
            }
            Kind::Elapsed => {
                let seconds = span(text).ok_or(A_SPAN)?;
                if self.elapsed_s.is_nan() {
                    self.elapsed_s = seconds;
                }
            }
            Kind::Suspended => self.suspended_s = span(text).ok_or(A_SPAN)?,
            Kind::TimelimitRaw => self.walltime_s = limit_minutes(text).ok_or(MINUTES)?,
            Kind::Timelimit => {
                let seconds = limit(text).ok_or(A_LIMIT)?;
                if self.walltime_s.is_nan() {
                    self.walltime_s = seconds;
                }
            }
            Kind::NNodes => self.n_nodes = count(text).ok_or(A_COUNT)?,
            Kind::AllocNodes => self.alloc_nodes = count(text).ok_or(A_COUNT)?,
            Kind::ReqNodes => self.req_nodes = count(text).ok_or(A_COUNT)?,
            Kind::AllocCpus => self.alloc_cpus = count(text).ok_or(A_COUNT)?,
            Kind::NCpus => self.n_cpus = count(text).ok_or(A_COUNT)?,
            Kind::ReqCpus => self.req_cpus = count(text).ok_or(A_COUNT)?,
            Kind::Restarts => self.restarts = count(text).ok_or(A_COUNT)?,
            Kind::Priority => self.priority = whole(text).ok_or(A_COUNT)?,
            Kind::AllocTres => self.allocated.read(text).ok_or(RESOURCES)?,
            Kind::ReqTres => self.requested.read(text).ok_or(RESOURCES)?,
            Kind::ReqMem => self.memory = Some(memory(text).ok_or(MEMORY)?),
            Kind::EnergyRaw => self.energy_j = joules(text).ok_or(JOULES)?,
            Kind::Energy => {
                let energy_j = joules(text).ok_or(JOULES)?;
                if self.energy_j.is_nan() {
                    self.energy_j = energy_j;
                }
            }
            Kind::NodeList if text.eq_ignore_ascii_case(b"None assigned") => {}
            Kind::NodeList if hosts::count(text).is_none() => return Err(HOSTS),
            Kind::NodeList => self.hosts = text,
            Kind::State if !is_state(text) => return Err(A_STATE),
            Kind::State => self.state = text,
            Kind::Uid if whole(text).is_none() => return Err(A_COUNT),
            Kind::Uid if self.user.is_empty() => self.user = text,
            Kind::User => self.user = text,
            Kind::Account => self.account = text,
            Kind::Partition => self.queue = text,
            Kind::Qos => self.qos = text,
            Kind::Reservation => self.reservation = text,
            Kind::Constraints => self.constraint = text,
            Kind::Licenses => self.licences = text,
            Kind::JobName => self.job_name = text,
            Kind::ExitCode if !is_exit(text) => return Err(AN_EXIT),
            Kind::Uid | Kind::ExitCode | Kind::Free | Kind::Other => {}
        }
        Ok(())
    }

    fn take_raw(&mut self, text: &'a [u8]) -> Result<(), &'static str> {
        let written = name::read(text).ok_or(A_NAME)?;
        self.raw = written.number;
        if self.name.is_none() {
            self.name = Some(written);
        }
        Ok(())
    }

    /// Reads a whole row; of two columns for the same thing the raw one counts, whatever their order.
    pub(super) fn fill(
        &mut self,
        fields: &mut impl Iterator<Item = &'a [u8]>,
        header: &Header,
        clock: &mut Clock,
    ) -> Result<(), Unread> {
        for (column, text) in fields.enumerate() {
            let kind = header.kinds[column];
            if header.app == Some(column) && !is_null(text) {
                self.app = text;
            }
            self.take(kind, text, clock).map_err(|expected| Unread { column, expected })?;
        }
        if self.name.is_none() {
            return Err(Unread { column: header.place().unwrap_or(0), expected: A_NAME });
        }
        Ok(())
    }
}

/// True if a field can be parsed by its column's type.
pub(super) fn reads(kind: Kind, text: &[u8], clock: &mut Clock) -> bool {
    let is_place = matches!(kind, Kind::JobId);
    Row::default().take(kind, text, clock).is_ok() && !(is_place && is_null(text))
}
