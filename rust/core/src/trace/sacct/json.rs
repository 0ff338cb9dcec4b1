//! A dump in JSON (`sacct --json`): read job by job, steps within them one by one.

use std::fmt;
use std::io::{BufRead, BufReader};

use serde::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

use crate::error::{Error, Result, TraceError};
use crate::trace::fault::file_fault;
use crate::trace::utf8::Utf8;

use super::SacctOptions;
use super::book::{Book, StepEnergy};
use super::energy::Counted;
use super::hosts;
use super::name::{Name, Part, Written, WrittenPart, step_of};
use super::row::{Has, Row};
use super::tres::Tres;
use super::value::is_null;
use super::zone::Instant;

type ReadWatch<'a> = dyn FnMut(usize) -> Result<()> + 'a;

/// The members of a job that are read.
const MEMBERS: [&str; 21] = [
    "account",
    "allocation_nodes",
    "array",
    "association",
    "comment",
    "constraints",
    "het",
    "job_id",
    "job_state",
    "licenses",
    "name",
    "nodes",
    "partition",
    "priority",
    "qos",
    "required",
    "reservation",
    "restart_cnt",
    "state",
    "time",
    "tres",
];

/// Reads a dump in JSON.
pub(super) fn read(
    source: Box<dyn BufRead + '_>,
    options: &SacctOptions<'_>,
    watch: &mut ReadWatch<'_>,
) -> Result<Book> {
    let mut reading = Reading { options, watch, book: Book::default(), jobs: 0, has_jobs: false, stop: None };
    let mut parser = serde_json::Deserializer::from_reader(BufReader::new(Utf8::new(source)));
    let outcome = Root(&mut reading).deserialize(&mut parser).and_then(|()| parser.end());
    let Reading { book, has_jobs, stop, .. } = reading;
    if let Some(stop) = stop {
        return Err(stop);
    }
    if let Err(error) = outcome {
        let what = if error.is_eof() { "JSON that is cut short" } else { "no JSON" };
        return Err(file_fault(options.file, format!("{what} ({error})"), "the output of sacct --json"));
    }
    if !has_jobs {
        return Err(file_fault(options.file, "JSON without `jobs`", "the output of sacct --json"));
    }
    Ok(book)
}

/// State of reading a dump.
struct Reading<'a> {
    options: &'a SacctOptions<'a>,
    watch: &'a mut ReadWatch<'a>,
    book: Book,
    jobs: u64,
    has_jobs: bool,
    /// Cause of an early end of the reading.
    stop: Option<Error>,
}

/// A job as in the file.
#[derive(Default)]
struct Job {
    members: serde_json::Map<String, Value>,
    /// Text of the member that holds the application.
    app: Option<String>,
    user: Option<String>,
    steps: Vec<StepEnergy>,
}

/// An invalid member.
struct Misfit {
    member: &'static str,
    found: String,
    expected: &'static str,
}

impl Reading<'_> {
    /// Adds a job; false ends the reading.
    fn take(&mut self, job: &Job) -> bool {
        if job.members.contains_key("job_state") && !job.members.contains_key("time") {
            let found = "jobs with `job_state`, as squeue --json writes them";
            self.stop = Some(file_fault(self.options.file, found, "the output of sacct --json"));
            return false;
        }
        let outcome = job.add_to(&mut self.book, self.options.app, self.jobs + 1);
        let place = self.jobs;
        self.jobs += 1;
        self.book.report.rows = self.jobs;
        if let Err(Misfit { member, found, expected }) = outcome {
            let field = if member.is_empty() { format!("jobs[{place}]") } else { format!("jobs[{place}], `{member}`") };
            let (file, expected) = (self.options.file.to_owned(), expected.to_owned());
            let fault = TraceError { file, line: None, field: Some(field), found, expected };
            if !self.options.skip_bad_lines {
                self.stop = Some(fault.into());
                return false;
            }
            self.book.report.skip(fault);
        }
        if self.jobs.is_multiple_of(1000)
            && let Err(stop) = (self.watch)(1)
        {
            self.stop = Some(stop);
        }
        self.stop.is_none()
    }
}

// The nesting: the file, its list of jobs, a job, its list of steps, a step.

struct Root<'r, 'a>(&'r mut Reading<'a>);
struct Jobs<'r, 'a>(&'r mut Reading<'a>);
struct OneJob<'r>(Option<&'r str>);
struct Steps<'r>(&'r mut Vec<StepEnergy>);

impl<'de> DeserializeSeed<'de> for Root<'_, '_> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> std::result::Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Root<'_, '_> {
    type Value = ();
    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object with `jobs`")
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> std::result::Result<(), A::Error> {
        while let Some(key) = map.next_key::<String>()? {
            if key == "jobs" {
                map.next_value_seed(Jobs(self.0))?;
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(())
    }
    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> std::result::Result<(), A::Error> {
        Jobs(self.0).visit_seq(seq)
    }
}

impl<'de> DeserializeSeed<'de> for Jobs<'_, '_> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> std::result::Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Jobs<'_, '_> {
    type Value = ();
    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a list of jobs")
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> std::result::Result<(), A::Error> {
        self.0.has_jobs = true;
        while let Some(job) = seq.next_element_seed(OneJob(self.0.options.app))? {
            if !self.0.take(&job) {
                return Err(A::Error::custom("stopped"));
            }
        }
        Ok(())
    }
}

impl<'de> DeserializeSeed<'de> for OneJob<'_> {
    type Value = Job;
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> std::result::Result<Job, D::Error> {
        deserializer.deserialize_map(self)
    }
}

/// The JSON member that corresponds to a text column.
fn member_of(column: &str) -> String {
    match column.to_ascii_lowercase().as_str() {
        "jobname" => "name".to_owned(),
        "workdir" => "working_directory".to_owned(),
        "submitline" => "submit_line".to_owned(),
        lower => lower.to_owned(),
    }
}

impl<'de> Visitor<'de> for OneJob<'_> {
    type Value = Job;
    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a job")
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> std::result::Result<Job, A::Error> {
        let mut job = Job::default();
        let app = self.0.map(member_of);
        while let Some(key) = map.next_key::<String>()? {
            if key == "steps" {
                map.next_value_seed(Steps(&mut job.steps))?;
            } else if MEMBERS.contains(&key.as_str()) || key == "user" || app.as_ref() == Some(&key) {
                let value: Value = map.next_value()?;
                if key == "user" {
                    job.user = text(&value).map(str::to_owned);
                }
                if app.as_ref() == Some(&key) {
                    job.app = text(&value).map(str::to_owned);
                }
                job.members.insert(key, value);
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        if app.as_deref() == Some("user") {
            job.app = job.user().map(str::to_owned);
        }
        Ok(job)
    }
}

impl<'de> DeserializeSeed<'de> for Steps<'_> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> std::result::Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Steps<'_> {
    type Value = ();
    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a list of steps")
    }
    fn visit_unit<E>(self) -> std::result::Result<(), E> {
        Ok(())
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> std::result::Result<(), A::Error> {
        while let Some(step) = seq.next_element::<Value>()? {
            self.0.extend(step_energy(&step));
        }
        Ok(())
    }
}

/// The energy of a step, if it counted any.
fn step_energy(step: &Value) -> Option<StepEnergy> {
    let energy_j = number(&step["statistics"]["energy"]["consumed"])? as f64;
    let id = &step["step"]["id"];
    let id = id.as_str().map_or_else(|| number(id).map(|id| id.to_string()), |id| Some(id.to_owned()))?;
    // `7.batch` in later releases, `7_1.0` of a task.
    let own = id.split_once('.').map_or(&*id, |(_, own)| own);
    let time = &step["time"];
    let known = |value: Option<i64>| value.map_or(f64::NAN, |value| value as f64);
    let start = instant(&time["start"]);
    let full_s = known(number(&time["elapsed"])) + known(number(&time["suspended"])).max(0.0);
    let seconds = if full_s.is_nan() { instant(&time["end"]).first - start.first } else { full_s };
    let nodes = known(number(&step["nodes"]["count"]).filter(|nodes| *nodes > 0));
    Some(StepEnergy { start, counted: Counted::by(step_of(own.as_bytes()), energy_j, nodes * seconds)? })
}

/// A number, plain or `{"set": …, "number": …}`; None if it is not set, -1 for an infinite one.
fn number(value: &Value) -> Option<i64> {
    const NONE: [i64; 3] = [4_294_967_294, 4_294_967_295, i64::MAX];
    let known = match value {
        Value::Number(number) => number
            .as_i64()
            .or_else(|| number.as_f64().filter(|number| number.fract() == 0.0 && number.abs() < 9e15).map(truncated)),
        Value::String(text) => super::value::whole(text.as_bytes()),
        Value::Object(object) if object.get("infinite").and_then(Value::as_bool) == Some(true) => Some(-1),
        Value::Object(object) if object.get("set").and_then(Value::as_bool) == Some(false) => None,
        Value::Object(object) => object.get("number").and_then(Value::as_i64),
        _ => None,
    };
    known.filter(|number| !NONE.contains(number))
}

#[expect(clippy::cast_possible_truncation, reason = "whole and small")]
fn truncated(number: f64) -> i64 {
    number as i64
}

fn text(value: &Value) -> Option<&str> {
    value.as_str().filter(|text| !is_null(text.as_bytes()))
}

/// An instant; 0 means none.
fn instant(value: &Value) -> Instant {
    number(value).filter(|seconds| *seconds > 0).map_or(Instant::NONE, |seconds| Instant::at(seconds as f64))
}

impl Job {
    fn user(&self) -> Option<&str> {
        text(&self.at("association")["user"]).or(self.user.as_deref())
    }

    fn at(&self, member: &str) -> &Value {
        self.members.get(member).unwrap_or(&Value::Null)
    }

    fn text(&self, member: &str) -> &[u8] {
        text(self.at(member)).unwrap_or_default().as_bytes()
    }

    /// A whole number, if the member is there at all; an error if it is something else.
    fn whole(value: &Value, member: &'static str) -> std::result::Result<Option<i64>, Misfit> {
        let is_plain = matches!(value, Value::Null | Value::Object(_));
        let found = number(value);
        let is_bad = match value {
            Value::String(text) => found.is_none() && !is_null(text.as_bytes()),
            Value::Number(number) => number.as_u64().is_none() && found.is_none(),
            _ => !is_plain,
        };
        if is_bad { Err(Misfit { member, found: short(value), expected: "a whole number" }) } else { Ok(found) }
    }

    fn time(&self, of: &str, member: &'static str) -> std::result::Result<Instant, Misfit> {
        Self::whole(&self.at("time")[of], member)?;
        Ok(instant(&self.at("time")[of]))
    }

    fn tres(&self, of: &str) -> Tres {
        let mut tres = Tres::default();
        for one in self.at("tres")[of].as_array().into_iter().flatten() {
            if let (Some(kind), Some(number)) = (one["type"].as_str(), number(&one["count"])) {
                tres.add(kind, one["name"].as_str().unwrap_or_default(), number);
            }
        }
        tres
    }

    /// The state that counts among those that it has.
    fn state(&self) -> &str {
        let state = self.at("state");
        let current = if state.is_object() { &state["current"] } else { state };
        let all: Vec<&str> = match current {
            Value::Array(words) => words.iter().filter_map(Value::as_str).collect(),
            _ => current.as_str().into_iter().collect(),
        };
        let first = ["REQUEUED", "RESIZING"].into_iter().find(|word| all.contains(word));
        first.or(all.first().copied()).unwrap_or_default()
    }

    fn add_to(&self, book: &mut Book, app: Option<&str>, line: u64) -> std::result::Result<(), Misfit> {
        let job_id = Self::whole(self.at("job_id"), "job_id")?.filter(|number| *number >= 0);
        let job_id = job_id.ok_or_else(|| Misfit {
            member: "job_id",
            found: short(self.at("job_id")),
            expected: "the number of a job",
        })?;
        let (array, het) = (self.at("array"), self.at("het"));
        let array_id = number(&array["job_id"]).filter(|number| *number > 0);
        let het_id = number(&het["job_id"]).filter(|number| *number > 0);
        let small = |value: &Value| number(value).and_then(|number| u32::try_from(number).ok());
        let (number, part) = match (array_id, small(&array["task_id"]), text(&array["task"])) {
            (Some(id), Some(task), _) => (id, WrittenPart::Task(task)),
            (Some(id), None, Some(tasks)) => (id, WrittenPart::Tasks(tasks.as_bytes())),
            _ => match (het_id, small(&het["job_offset"])) {
                (Some(id), Some(component)) => (id, WrittenPart::Component(component)),
                _ => (job_id, WrittenPart::Whole),
            },
        };
        let nodes = match self.at("nodes") {
            Value::String(_) => self.text("nodes"),
            _ => b"",
        };
        let nodes: &[u8] = if nodes.eq_ignore_ascii_case(b"None assigned") { b"" } else { nodes };
        if !nodes.is_empty() && hosts::count(nodes).is_none() {
            let expected = "a host list such as n[1-3,07]";
            return Err(Misfit { member: "nodes", found: short(self.at("nodes")), expected });
        }
        let (allocated, requested) = (self.tres("allocated"), self.tres("requested"));
        let time = self.at("time");
        let seconds =
            |of: &str, member| Self::whole(&time[of], member).map(|known| known.map_or(f64::NAN, |known| known as f64));
        let limit = Self::whole(&time["limit"], "time.limit")?.map_or(f64::NAN, |minutes| minutes as f64 * 60.0);
        let licences = text(self.at("licenses")).unwrap_or_default();
        let row = Row {
            line,
            name: Some(Written { number, part, step: None }),
            raw: job_id,
            submit: self.time("submission", "time.submission")?,
            eligible: self.time("eligible", "time.eligible")?,
            start: self.time("start", "time.start")?,
            end: self.time("end", "time.end")?,
            elapsed_s: seconds("elapsed", "time.elapsed")?,
            suspended_s: seconds("suspended", "time.suspended")?,
            walltime_s: limit,
            n_nodes: Self::whole(self.at("allocation_nodes"), "allocation_nodes")?.unwrap_or(-1),
            hosts: nodes,
            alloc_cpus: allocated.cpus,
            allocated,
            requested,
            req_cpus: Self::whole(&self.at("required")["CPUs"], "required.CPUs")?.unwrap_or(-1),
            constraint: self.text("constraints"),
            licences: licences.as_bytes(),
            user: self.user().unwrap_or_default().as_bytes(),
            account: self.text("account"),
            queue: self.text("partition"),
            qos: self.text("qos"),
            reservation: text(&self.at("reservation")["name"]).unwrap_or_default().as_bytes(),
            priority: Self::whole(self.at("priority"), "priority")?.unwrap_or(-1),
            state: self.state().as_bytes(),
            job_name: self.text("name"),
            app: if app.is_some() { self.app.as_deref().unwrap_or_default().as_bytes() } else { b"" },
            restarts: Self::whole(self.at("restart_cnt"), "restart_cnt")?.unwrap_or(-1),
            array_limit: small(&array["limits"]["max"]["running"]["tasks"]).unwrap_or(0),
            has: Has { start: true, end: true, hosts: true, user: true, job_name: true, ..Has::default() },
            ..Row::default()
        };
        let before = book.rows.len();
        book.add(&row).map_err(|(found, expected)| Misfit { member: "", found, expected })?;
        if book.rows.len() == before + 1 {
            let name: Name = book.rows.name[before];
            for step in &self.steps {
                if !matches!(name.part, Part::Waiting(_)) {
                    book.add_step(name, *step);
                }
            }
        }
        Ok(())
    }
}

/// A value on one line.
fn short(value: &Value) -> String {
    let text = value.to_string();
    let cut: String = text.chars().take(40).collect();
    if cut.len() < text.len() { format!("`{cut}…`") } else { format!("`{cut}`") }
}
