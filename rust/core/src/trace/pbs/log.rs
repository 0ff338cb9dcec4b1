//! Reader of a log: its records, one after another, and the jobs that they belong to.

use std::io::BufRead;

use crate::error::Result;
use crate::trace::fault::{line_fault, quoted};
use crate::trace::sacct::index::{Hashes, hash_of};
use crate::trace::sacct::text::{Line, Text};
use crate::trace::sacct::zone::NoTime;

use super::fields::{Fields, Unread};
use super::jobs::{BY_STAMP, Jobs, flag, number, submitted};
use super::record::{Name, Record};
use super::stamps::{Stamp, Stamps};
use super::{PbsOptions, Report};

const A_RECORD: &str = "a record: MM/DD/YYYY HH:MM:SS;T;ID;key=value …";
const KINDS: &[u8] = b"QSEDAR";

/// Bytes between two calls of the watch.
const STEP: usize = 4 << 20;

/// Contents of a log.
pub(super) struct Log {
    pub(super) jobs: Jobs,
    pub(super) report: Report,
    /// The largest number in the name of a job.
    pub(super) largest: i64,
    /// The instant of the last record.
    pub(super) last_s: f64,
}

type ReadWatch<'a> = dyn FnMut(usize) -> Result<()> + 'a;

/// Reads a log.
pub(super) fn read(source: Box<dyn BufRead + '_>, options: &PbsOptions<'_>, watch: &mut ReadWatch<'_>) -> Result<Log> {
    let mut text = Text::new(source, options.file);
    let mut reader = Reader {
        jobs: Jobs::default(),
        stamps: Stamps::new(options.zone.clone()),
        report: Report::default(),
        largest: 0,
        seen: Hashes::default(),
        arrays: Hashes::default(),
    };
    let mut since_look = 0;
    while let Some(line) = text.line_at(0)? {
        if line.begin < line.end {
            reader.report.rows += 1;
            if let Err(fault) = reader.line(text.bytes(line), text.line) {
                reader.refuse(&mut text, line, fault, options)?;
            }
        }
        since_look += line.next;
        if since_look > STEP {
            watch(since_look)?;
            since_look = 0;
        }
        text.skip_to(line.next, 1);
    }
    let Reader { mut jobs, report, largest, stamps, .. } = reader;
    jobs.settle(|instant_s| stamps.settled(instant_s));
    Ok(Log { jobs, report, largest, last_s: stamps.last_s() })
}

struct Reader {
    jobs: Jobs,
    stamps: Stamps,
    report: Report,
    largest: i64,
    /// Hashes of the records that were read.
    seen: Hashes,
    arrays: Hashes,
}

impl Reader {
    /// Skips a line that cannot be parsed, or returns the fault.
    fn refuse(&mut self, text: &mut Text<'_>, line: Line, fault: Unread, options: &PbsOptions<'_>) -> Result<()> {
        let number = text.line;
        let has_fields = memchr::memchr_iter(b';', text.bytes(line)).count() > 2;
        let is_cut = !line.is_whole || !has_fields;
        if is_cut && text.line_at(line.next)?.is_none() {
            self.report.cut_last_line = 1;
            return Ok(());
        }
        let column = (!fault.key.is_empty()).then(|| format!("column {}", fault.key));
        let fault = line_fault(options.file, number, column, fault.found, fault.expected);
        if !options.skip_bad_lines {
            return Err(fault.into());
        }
        self.report.skip(fault);
        Ok(())
    }

    fn line(&mut self, line: &[u8], number: u64) -> Result<(), Unread> {
        let bad = |expected| Unread { key: String::new(), found: quoted(line), expected };
        let record = Record::read(line).ok_or_else(|| bad(A_RECORD))?;
        let stamp = self.stamps.read(&record.stamp).map_err(|error| match error {
            NoTime::Unread => bad(A_RECORD),
            NoTime::Skipped => bad("a time that clocks in this zone show: time_zone= is another"),
        })?;
        if !KINDS.contains(&record.kind) {
            self.stamps.went_on(stamp);
            self.report.other_records += 1;
            return Ok(());
        }
        let name = Name::read(record.id).ok_or_else(|| Unread {
            key: String::new(),
            found: quoted(record.id),
            expected: "a job's id such as 12.server",
        })?;
        // The messages of deletions and aborts are free words, not pairs.
        let is_free = matches!(record.kind, b'D' | b'A');
        let fields = if is_free { Fields::default() } else { Fields::read(&record)? };
        if let (Some(start), Some(end)) = (fields.start, fields.end)
            && end < start
        {
            let expected = "an end that is not before the start";
            return Err(Unread { key: "end".to_owned(), found: format!("`{end}` after start={start}"), expected });
        }
        self.record(&record, name, &fields, stamp, line, number)
    }

    fn record(
        &mut self,
        record: &Record<'_>,
        name: Name,
        fields: &Fields<'_>,
        stamp: Stamp,
        line: &[u8],
        number: u64,
    ) -> Result<(), Unread> {
        let (code, found) = self.jobs.find(record.id);
        let found = found.filter(|job| !self.is_of_another(*job, record.kind));
        let new_hosts = fields.exec_host.filter(|text| !self.jobs.has_hosts(found, text));
        let slots = new_hosts.map(|text| self.jobs.read_hosts(text, number)).transpose()?;
        let shown = match record.kind {
            b'E' => fields.end,
            b'S' => fields.start,
            _ => None,
        };
        let stamp = self.stamps.show(stamp, shown);
        self.stamps.went_on(stamp);
        if !self.seen.insert(hash_of(line)) {
            self.report.dropped_duplicate += 1;
            return Ok(());
        }
        self.largest = self.largest.max(match name {
            Name::Job(own) | Name::Array(own) => own,
            Name::Task(own, task) => own.max(task),
        });
        if matches!(name, Name::Array(_)) {
            self.report.array_parents += u64::from(self.arrays.insert(hash_of(record.id)));
            return Ok(());
        }
        let job = found.unwrap_or_else(|| self.jobs.add(code));
        if let (Some(text), Some(slots)) = (new_hosts, slots) {
            self.jobs.keep_hosts(job, text, slots);
        }
        self.jobs.take(job, fields);
        self.happen(job, record.kind, fields, stamp);
        Ok(())
    }

    /// True if a record belongs to another job, with the id of one that is over.
    fn is_of_another(&self, job: usize, kind: u8) -> bool {
        let is_over = self.jobs.is(job, flag::ENDED);
        let is_gone = self.jobs.rare.gone.contains_key(&number(job)) && self.jobs.columns.start[job].is_nan();
        match kind {
            b'Q' => is_over || is_gone,
            b'S' | b'E' => is_over,
            _ => false,
        }
    }

    fn happen(&mut self, job: usize, kind: u8, fields: &Fields<'_>, stamp: Stamp) {
        let has_ended = self.jobs.is(job, flag::ENDED);
        let has_start = !self.jobs.columns.start[job].is_nan();
        let Jobs { columns, rare, .. } = &mut self.jobs;
        let at = stamp.instant_s;
        match kind {
            b'Q' => submitted(columns, job, Some(at), BY_STAMP),
            b'S' => columns.start[job] = fields.start.unwrap_or(at),
            b'R' if !has_ended => {
                let begun = fields.start.unwrap_or(columns.start[job]);
                if !begun.is_nan() {
                    rare.attempts.entry(number(job)).or_default().extend([begun, fields.end.unwrap_or(at)]);
                    columns.start[job] = f64::NAN;
                }
            }
            b'E' => {
                columns.start[job] = fields.start.unwrap_or(columns.start[job]);
                columns.end[job] = fields.end.unwrap_or(at);
                columns.ended[job] = at;
                columns.flags[job] |= flag::ENDED;
                if rare.gone.get(&number(job)).is_some_and(|gone| self.stamps.settled(*gone) > at + 1.0) {
                    columns.flags[job] &= !flag::DELETED;
                }
            }
            b'D' if has_ended && has_start && at <= self.stamps.settled(columns.ended[job]) + 1.0 => {
                columns.flags[job] |= flag::DELETED;
            }
            b'D' | b'A' if !has_ended || !has_start => {
                if kind == b'D' {
                    columns.flags[job] |= flag::DELETED;
                }
                rare.gone.entry(number(job)).or_insert(at);
            }
            _ => {}
        }
    }
}
