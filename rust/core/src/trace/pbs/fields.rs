//! Values of a record, each read by its key's type.

use crate::trace::fault::quoted;
use crate::trace::sacct::value::{decimal, whole};

use super::record::Record;
use super::value::{Chunks, gigabytes, span};

/// The largest count of nodes, processors and so on.
const MOST: i64 = i32::MAX as i64;

const MOST_SECONDS: f64 = 1e12;

/// Joules per kWh.
const KWH_J: f64 = 3.6e6;

/// Kind of a job's dependency on another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum How {
    Any,
    Ok,
    NotOk,
}

impl How {
    /// The word for it in hetsched.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Any => "any",
            Self::Ok => "ok",
            Self::NotOk => "not_ok",
        }
    }
}

/// A dependency on a job; None: one on something that is not simulated.
pub(super) type Wait<'a> = Option<(How, &'a [u8])>;

/// Values of one record; None where it does not have them.
#[derive(Clone, Debug, Default)]
pub(super) struct Fields<'a> {
    pub(super) ctime: Option<f64>,
    pub(super) qtime: Option<f64>,
    pub(super) etime: Option<f64>,
    pub(super) start: Option<f64>,
    pub(super) end: Option<f64>,
    pub(super) user: Option<&'a [u8]>,
    pub(super) queue: Option<&'a [u8]>,
    pub(super) app: Option<&'a [u8]>,
    pub(super) account: Option<&'a [u8]>,
    pub(super) project: Option<&'a [u8]>,
    pub(super) exec_host: Option<&'a [u8]>,
    pub(super) nodect: Option<i64>,
    pub(super) ncpus: Option<i64>,
    pub(super) ngpus: Option<i64>,
    pub(super) memory_gb: Option<f64>,
    pub(super) walltime_s: Option<f64>,
    pub(super) select: Option<Chunks<'a>>,
    pub(super) nodes: Option<Chunks<'a>>,
    pub(super) exit_status: Option<i64>,
    pub(super) energy_j: Option<f64>,
    pub(super) wait: Option<Wait<'a>>,
}

/// A value that cannot be parsed: its key, the text found, and what is valid.
#[derive(Debug)]
pub(super) struct Unread {
    pub(super) key: String,
    pub(super) found: String,
    pub(super) expected: &'static str,
}

impl<'a> Fields<'a> {
    pub(super) fn read(record: &Record<'a>) -> Result<Self, Unread> {
        let mut fields = Self::default();
        for (key, value) in record.pairs() {
            fields.take(key, value).map_err(|expected| Unread {
                key: String::from_utf8_lossy(key).into_owned(),
                found: quoted(value),
                expected,
            })?;
        }
        Ok(fields)
    }

    fn take(&mut self, key: &[u8], value: &'a [u8]) -> Result<(), &'static str> {
        if value.is_empty() {
            return Ok(());
        }
        match key {
            b"ctime" => self.ctime = Some(instant(value)?),
            b"qtime" => self.qtime = Some(instant(value)?),
            b"etime" => self.etime = Some(instant(value)?),
            b"start" => self.start = Some(instant(value)?),
            b"end" => self.end = Some(instant(value)?),
            b"user" => self.user = Some(value),
            b"queue" => self.queue = Some(value),
            b"jobname" => self.app = Some(value),
            b"account" => self.account = Some(value),
            b"project" => self.project = Some(value).filter(|name| *name != b"_pbs_project_default"),
            b"exec_host" => self.exec_host = Some(value),
            b"Exit_status" => self.exit_status = Some(signed(value).ok_or("a whole number")?),
            b"depend" => self.wait = Some(wait(value)),
            b"resources_used.energy" => {
                let energy = decimal(value).filter(|energy| energy.is_finite());
                self.energy_j = Some(energy.ok_or("kWh, a number from 0")? * KWH_J);
            }
            _ => {
                if let Some(resource) = key.strip_prefix(b"Resource_List.") {
                    self.take_resource(resource, value)?;
                }
            }
        }
        Ok(())
    }

    fn take_resource(&mut self, key: &[u8], value: &'a [u8]) -> Result<(), &'static str> {
        const CHUNKS: &str = "chunks such as 2:ncpus=4+1:ncpus=8";
        match key {
            b"walltime" => self.walltime_s = Some(span(value).ok_or("seconds, or a time such as 1:30:00")?),
            b"mem" => self.memory_gb = Some(gigabytes(value).ok_or("memory such as 4gb")?),
            b"nodect" => self.nodect = Some(count(value)?),
            b"ncpus" => self.ncpus = Some(count(value)?),
            b"ngpus" => self.ngpus = Some(count(value)?),
            b"select" => self.select = Some(Chunks::read(value).ok_or(CHUNKS)?),
            b"nodes" => self.nodes = Some(Chunks::read(value).ok_or(CHUNKS)?),
            _ => {}
        }
        Ok(())
    }
}

fn instant(text: &[u8]) -> Result<f64, &'static str> {
    decimal(text).filter(|seconds| *seconds <= MOST_SECONDS).ok_or("seconds since 1970")
}

fn count(text: &[u8]) -> Result<i64, &'static str> {
    whole(text).filter(|count| *count <= MOST).ok_or("a whole number from 0")
}

fn signed(text: &[u8]) -> Option<i64> {
    match text.split_first()? {
        (b'-', digits) => whole(digits).map(|number| -number),
        _ => whole(text),
    }
}

/// The one job of `afterok:12.srv`, `afternotok:…` or `afterany:…`.
fn wait(text: &[u8]) -> Wait<'_> {
    let at = text.iter().position(|byte| *byte == b':')?;
    let how = match &text[..at] {
        b"afterok" => How::Ok,
        b"afternotok" => How::NotOk,
        b"afterany" => How::Any,
        _ => return None,
    };
    let rest = &text[at + 1..];
    // A job may be followed by the server that it is on.
    let id = &rest[..rest.iter().position(|byte| *byte == b'@').unwrap_or(rest.len())];
    let is_one = !id.is_empty() && !rest.iter().any(|byte| matches!(byte, b':' | b','));
    is_one.then_some((how, id))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(message: &'static str) -> Result<Fields<'static>, Unread> {
        let record = Record { stamp: *b"2024-05-01T12:00:00", kind: b'E', id: b"1", message: message.as_bytes() };
        Fields::read(&record)
    }

    #[test]
    fn values_are_read_by_their_keys() {
        let fields =
            read("ctime=5 end=9.5 Resource_List.walltime=01:00:00 resources_used.energy=0.5 Exit_status=-29").unwrap();
        assert_eq!((fields.ctime, fields.end, fields.walltime_s), (Some(5.0), Some(9.5), Some(3600.0)));
        assert_eq!((fields.energy_j, fields.exit_status), (Some(1.8e6), Some(-29)));
        assert_eq!(read("project=_pbs_project_default").unwrap().project, None);
        for message in ["ctime=x", "Exit_status=1.5", "Resource_List.mem=x", "Resource_List.nodect=-1"] {
            let unread = read(message).unwrap_err();
            assert!(message.starts_with(&unread.key), "{message}");
        }
    }

    #[test]
    fn a_job_waits_for_one_other() {
        let of = |message| read(message).unwrap().wait.unwrap();
        assert_eq!(of("depend=afterok:12.srv@srv"), Some((How::Ok, &b"12.srv"[..])));
        assert_eq!(of("depend=afterany:12"), Some((How::Any, &b"12"[..])));
        assert_eq!(of("depend=\"afternotok:1[2].srv\""), Some((How::NotOk, &b"1[2].srv"[..])));
        for message in
            ["depend=beforeok:1", "depend=afterok:1:2", "depend=afterok:", "depend=x", "depend=afterok:1,afterany:2"]
        {
            assert_eq!(of(message), None, "{message}");
        }
    }
}
