//! Workloads of Batsim: JSON with jobs, read one by one, and the profiles that give their lengths.
//!
//! Jobs become columns as they come (`reading`, with `job`), and each profile becomes a length (`profile`); both meet
//! when the file is over, as profiles may stand behind the jobs.

mod job;
mod profile;
mod reading;
mod value;

use std::io::{BufRead, BufReader};

use serde::de::DeserializeSeed;
use serde_json::Value;

use crate::error::{Error, Result, TraceError};
use crate::units::MAX_SECONDS;

use super::decompress::{self, ReadWatch};
use super::fault::{file_fault, quoted};
use super::sacct::index::Texts;
use super::sacct::text::unread;
use super::utf8::Utf8;
use profile::Profiles;
use reading::{Columns, FAULTS_KEPT, Reading, Root};
use value::{Misfit, number, shown};

const EXPECTED: &str = "a workload of Batsim's: JSON with `jobs` and `profiles`";

/// Options of reading a workload.
#[derive(Clone, Copy, Debug)]
pub struct BatsimOptions<'a> {
    /// Name for messages.
    pub file: &'a str,
    /// Speed of a node, for profiles of work.
    pub flops_per_s: Option<f64>,
    /// True if invalid jobs are left out and counted.
    pub skip_bad_lines: bool,
}

/// The jobs of a workload as columns, in the order of the file; texts by number, 0 = none.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// Ids, as in the file.
    pub log_id: Vec<u32>,
    /// Seconds.
    pub submit_s: Vec<f64>,
    /// Seconds.
    pub runtime_s: Vec<f64>,
    /// Nodes.
    pub node_count: Vec<i32>,
    /// Seconds; NaN = none.
    pub walltime_s: Vec<f64>,
    /// Names of profiles.
    pub profile: Vec<u32>,
    /// Users.
    pub user: Vec<u32>,
    /// Queues.
    pub queue: Vec<u32>,
    ids: Texts,
    names: Texts,
    people: Texts,
    /// Nodes of the machine, if the file has them.
    pub nodes: Option<i64>,
    /// Jobs whose profiles communicate; the communication is not simulated.
    pub comm_ignored: u64,
    /// Invalid jobs.
    pub bad_lines: u64,
    /// Faults of the first of them.
    pub first_bad_lines: Vec<TraceError>,
}

impl Loaded {
    /// The text of an id.
    #[must_use]
    pub fn id(&self, code: u32) -> Option<&str> {
        text(&self.ids, code)
    }

    /// The name of a profile.
    #[must_use]
    pub fn name(&self, code: u32) -> Option<&str> {
        text(&self.names, code)
    }

    /// The name of a user or a queue.
    #[must_use]
    pub fn person(&self, code: u32) -> Option<&str> {
        text(&self.people, code)
    }
}

fn text(texts: &Texts, code: u32) -> Option<&str> {
    if code == 0 { None } else { std::str::from_utf8(texts.get(code)).ok() }
}

/// Reads a workload, packed or not, as it comes.
///
/// # Errors
///
/// If the JSON is of another kind; for the first job that is invalid or has an invalid profile, by its place in the
/// list; if there is no job at all, or the data is cut short or damaged.
///
/// # Examples
///
/// ```
/// use std::ops::ControlFlow;
/// use hetsched_core::trace::batsim::{BatsimOptions, read_batsim};
///
/// let text = br#"{"jobs": [{"id": "w0!7", "subtime": 5, "res": 2, "profile": "p"}],
///     "profiles": {"p": {"type": "delay", "delay": 60}}}"#;
/// let options = BatsimOptions { file: "load.json", flops_per_s: None, skip_bad_lines: false };
/// let loaded = read_batsim(Box::new(&text[..]), &options, &mut |_, _| ControlFlow::Continue(()))?;
/// assert_eq!((loaded.runtime_s, loaded.node_count), (vec![60.0], vec![2]));
/// # Ok::<(), hetsched_core::error::Error>(())
/// ```
pub fn read_batsim(
    source: Box<dyn BufRead + '_>,
    options: &BatsimOptions<'_>,
    watch: &mut ReadWatch<'_>,
) -> Result<Loaded> {
    let mut source = decompress::stream(source, options.file)?;
    let head = source.fill_buf().map_err(|error| unread(options.file, &error))?;
    if matches!(head, [0xff, 0xfe, ..] | [0xfe, 0xff, ..] | [0, _, ..] | [_, 0, ..]) {
        return Err(file_fault(options.file, "UTF-16", "UTF-8; convert it first, such as by iconv -f UTF-16"));
    }
    let mut seen = 0;
    let mut look = |step: usize| {
        seen += step;
        decompress::look(watch, seen, 0)
    };
    let mut reading = Reading {
        speed: options.flops_per_s,
        watch: &mut look,
        columns: Columns::default(),
        ids: Texts::default(),
        names: Texts::default(),
        people: Texts::default(),
        profiles: Profiles::default(),
        has_jobs: false,
        has_profiles: false,
        is_object: false,
        nb_res: Value::Null,
        jobs: 0,
        bad: 0,
        faults: Vec::new(),
        stop: None,
    };
    let mut parser = serde_json::Deserializer::from_reader(BufReader::new(Utf8::new(source)));
    let outcome = Root(&mut reading).deserialize(&mut parser).and_then(|()| parser.end());
    if let Some(stop) = reading.stop.take() {
        return Err(stop);
    }
    if let Err(error) = outcome {
        return Err(damaged(options.file, &error));
    }
    let missing = [(reading.is_object, ""), (reading.has_jobs, "`jobs`"), (reading.has_profiles, "`profiles`")];
    if let Some((_, key)) = missing.iter().find(|(is_there, _)| !is_there) {
        let found = if key.is_empty() { "JSON that is no object".to_owned() } else { format!("JSON without {key}") };
        return Err(file_fault(options.file, found, EXPECTED));
    }
    settled(reading, options)
}

fn damaged(file: &str, error: &serde_json::Error) -> Error {
    if error.is_io() {
        let error = std::io::Error::new(error.io_error_kind().unwrap_or(std::io::ErrorKind::Other), error.to_string());
        return unread(file, &error);
    }
    let text = error.to_string();
    let reason = text.split(" at line ").next().unwrap_or_default();
    let found = format!("JSON that is cut or damaged ({reason}, column {})", error.column());
    let line = Some(error.line() as u64);
    TraceError { file: file.to_owned(), line, field: None, found, expected: EXPECTED.to_owned() }.into()
}

/// Final steps: lengths, repeated ids, and the faults of all jobs, in the order of the file.
fn settled(reading: Reading<'_>, options: &BatsimOptions<'_>) -> Result<Loaded> {
    let Reading { columns, ids, names, people, mut profiles, nb_res, jobs, bad, mut faults, .. } = reading;
    let rows = columns.place.len();
    let mut is_taken = vec![false; ids.len()];
    let (mut kept, mut runtime_s) = (Vec::with_capacity(rows), Vec::with_capacity(rows));
    let (mut comm_ignored, mut late) = (0, 0);
    for row in 0..rows {
        match check(row, &columns, &mut profiles, &names, &ids, &mut is_taken, &mut comm_ignored) {
            Ok(seconds) => {
                kept.push(row);
                runtime_s.push(seconds);
            }
            Err(misfit) => {
                late += 1;
                if late <= FAULTS_KEPT {
                    faults.push((columns.place[row], misfit));
                }
            }
        }
    }
    faults.sort_by_key(|(place, _)| *place);
    faults.truncate(FAULTS_KEPT);
    let first_bad_lines: Vec<TraceError> =
        faults.into_iter().map(|(place, misfit)| fault(options.file, place, misfit)).collect();
    if let Some(first) = first_bad_lines.first()
        && (!options.skip_bad_lines || kept.is_empty())
    {
        return Err(first.clone().into());
    }
    if jobs == 0 {
        return Err(file_fault(options.file, "no job", "at least one job in `jobs`"));
    }
    let nodes = machine(&nb_res, options.file)?;
    let Columns { id, submit_s, node_count, walltime_s, profile, user, queue, .. } = columns;
    Ok(Loaded {
        log_id: at(id, &kept),
        submit_s: at(submit_s, &kept),
        runtime_s,
        node_count: at(node_count, &kept),
        walltime_s: at(walltime_s, &kept),
        profile: at(profile, &kept),
        user: at(user, &kept),
        queue: at(queue, &kept),
        ids,
        names,
        people,
        nodes,
        comm_ignored,
        bad_lines: bad + late as u64,
        first_bad_lines,
    })
}

/// The length of a row's job, or its fault.
fn check(
    row: usize,
    columns: &Columns,
    profiles: &mut Profiles,
    names: &Texts,
    ids: &Texts,
    is_taken: &mut [bool],
    comm_ignored: &mut u64,
) -> std::result::Result<f64, Misfit> {
    let name = columns.profile[row];
    let length = profiles.length(name, names).map_err(Clone::clone)?;
    let seconds = length.fixed_s + length.shared_s / f64::from(columns.node_count[row]);
    if seconds.is_nan() || seconds > MAX_SECONDS {
        let found = format!("{} of {seconds:e} s", quoted(names.get(name)));
        return Err(Misfit::new("profile", found, format!("a length up to {MAX_SECONDS:e} s")));
    }
    let id = columns.id[row];
    if std::mem::replace(&mut is_taken[id as usize], true) {
        return Err(Misfit::new("id", format!("{} again", quoted(ids.get(id))), "an id of its own"));
    }
    if let Some(misfit) = columns.late.get(&row) {
        return Err(misfit.clone());
    }
    *comm_ignored += u64::from(length.has_comm);
    Ok(seconds)
}

fn fault(file: &str, place: u64, misfit: Misfit) -> TraceError {
    let Misfit { field, found, expected } = misfit;
    let field = if field.is_empty() { format!("jobs[{place}]") } else { format!("jobs[{place}], {field}") };
    TraceError { file: file.to_owned(), line: None, field: Some(field), found, expected: expected.into_owned() }
}

fn machine(nb_res: &Value, file: &str) -> Result<Option<i64>> {
    if nb_res.is_null() {
        return Ok(None);
    }
    let is_some = |nodes: &f64| nodes.fract() == 0.0 && (1.0..=f64::from(i32::MAX)).contains(nodes);
    #[expect(clippy::cast_possible_truncation, reason = "whole and small")]
    match number(nb_res).filter(is_some) {
        Some(nodes) => Ok(Some(nodes as i64)),
        None => Err(TraceError {
            file: file.to_owned(),
            line: None,
            field: Some("nb_res".to_owned()),
            found: shown(nb_res),
            expected: "how many nodes the machine has".to_owned(),
        }
        .into()),
    }
}

/// The values of these rows.
fn at<T: Copy>(own: Vec<T>, rows: &[usize]) -> Vec<T> {
    if rows.len() == own.len() { own } else { rows.iter().map(|row| own[*row]).collect() }
}
