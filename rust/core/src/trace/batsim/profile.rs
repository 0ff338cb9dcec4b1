//! Profiles: the lengths of the jobs that have them.

use serde_json::{Map, Value};

use crate::trace::fault::quoted;
use crate::trace::sacct::index::Texts;

use super::value::{Misfit, number, shown};

/// Length of a profile: seconds, seconds that all nodes of a job share, and whether it communicates.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Length {
    pub(super) fixed_s: f64,
    pub(super) shared_s: f64,
    pub(super) has_comm: bool,
}

impl Length {
    fn plus(self, other: Self) -> Self {
        Self {
            fixed_s: self.fixed_s + other.fixed_s,
            shared_s: self.shared_s + other.shared_s,
            has_comm: self.has_comm || other.has_comm,
        }
    }

    fn times(self, count: f64) -> Self {
        Self { fixed_s: self.fixed_s * count, shared_s: self.shared_s * count, has_comm: self.has_comm }
    }
}

/// A profile as the file gives it.
#[derive(Clone, Debug)]
enum Given {
    Length(Length),
    /// Other profiles one after another, by the numbers of their names, and the number of repetitions.
    Composed(Vec<u32>, Result<f64, Misfit>),
    Bad(Misfit),
}

#[derive(Clone, Copy, Debug)]
enum Known {
    No,
    Length(Length),
    /// Index of its fault.
    Bad(usize),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Delay,
    Composed,
    /// The same work on each node.
    Each,
    /// Work that the nodes share.
    Total,
    /// Work by node.
    Listed,
}

/// Types of profiles, with their other names.
const KINDS: [(&str, Kind); 13] = [
    ("delay", Kind::Delay),
    ("DelayProfile", Kind::Delay),
    ("composed", Kind::Composed),
    ("SequentialCompositionProfile", Kind::Composed),
    ("parallel_homogeneous", Kind::Each),
    ("ParallelTaskHomogeneousProfile", Kind::Each),
    ("msg_par_hg", Kind::Each),
    ("parallel_homogeneous_total", Kind::Total),
    ("DefinedAmountsSpreadUniformly", Kind::Total),
    ("msg_par_hg_tot", Kind::Total),
    ("parallel", Kind::Listed),
    ("ParallelTaskProfile", Kind::Listed),
    ("msg_par", Kind::Listed),
];

/// All profiles, by the numbers of their names; each is evaluated once.
#[derive(Debug, Default)]
pub(super) struct Profiles {
    given: Vec<Option<Given>>,
    known: Vec<Known>,
    faults: Vec<Misfit>,
}

impl Profiles {
    /// Adds a profile; a later one of the same name replaces it.
    pub(super) fn add(&mut self, name: &str, profile: &Value, speed: Option<f64>, names: &mut Texts) {
        let code = names.code(name.as_bytes()) as usize;
        if self.given.len() <= code {
            self.given.resize_with(code + 1, || None);
        }
        self.given[code] = Some(given(name, profile, speed, names).unwrap_or_else(Given::Bad));
    }

    /// The length of a profile, or the fault of it or of one that it is composed of.
    pub(super) fn length(&mut self, name: u32, names: &Texts) -> Result<Length, &Misfit> {
        if self.known.len() < names.len() {
            self.known.resize(names.len(), Known::No);
        }
        if matches!(self.known[name as usize], Known::No) {
            self.work_out(name, names);
        }
        match self.known[name as usize] {
            Known::Length(length) => Ok(length),
            Known::Bad(fault) => Err(&self.faults[fault]),
            Known::No => unreachable!("worked out above"),
        }
    }

    /// Evaluates a profile and all that it is composed of, the innermost first.
    fn work_out(&mut self, name: u32, names: &Texts) {
        // Each with the place in its sequence up to which all are known.
        let mut path = vec![(name, 0)];
        while let Some((top, at)) = path.last().copied() {
            match self.step(top, at, &path, names) {
                Ok(Step::Done(length)) => {
                    self.known[top as usize] = Known::Length(length);
                    path.pop();
                }
                Ok(Step::Into(inner, place)) => {
                    path.last_mut().expect("it has a top").1 = place;
                    path.push((inner, 0));
                }
                Err(misfit) => {
                    self.faults.push(misfit);
                    for (within, _) in path.drain(..) {
                        self.known[within as usize] = Known::Bad(self.faults.len() - 1);
                    }
                }
            }
        }
    }

    fn step(&self, top: u32, at: usize, path: &[(u32, usize)], names: &Texts) -> Result<Step, Misfit> {
        match self.given.get(top as usize).and_then(Option::as_ref) {
            None => {
                let found = format!("{}, which is not among `profiles`", quoted(names.get(top)));
                Err(Misfit::new("profile", found, "a profile of the file"))
            }
            Some(Given::Bad(misfit)) => Err(misfit.clone()),
            Some(Given::Length(length)) => Ok(Step::Done(*length)),
            Some(Given::Composed(sequence, repeat)) => {
                let is_unknown = |inner: &u32| matches!(self.known[*inner as usize], Known::No);
                if let Some(place) = sequence[at..].iter().position(is_unknown) {
                    let inner = sequence[at + place];
                    if path.iter().any(|(within, _)| *within == inner) {
                        let found = format!("{}, which contains itself", quoted(names.get(inner)));
                        return Err(Misfit::new("profile", found, "profiles that end"));
                    }
                    return Ok(Step::Into(inner, at + place));
                }
                let repeat = repeat.clone()?;
                let mut total = Length::default();
                for inner in sequence {
                    match self.known[*inner as usize] {
                        Known::Length(length) => total = total.plus(length),
                        Known::Bad(fault) => return Err(self.faults[fault].clone()),
                        Known::No => unreachable!("all are known"),
                    }
                }
                Ok(Step::Done(total.times(repeat)))
            }
        }
    }
}

enum Step {
    Done(Length),
    /// A profile that must be evaluated first, and its place in the sequence.
    Into(u32, usize),
}

fn given(name: &str, profile: &Value, speed: Option<f64>, names: &mut Texts) -> Result<Given, Misfit> {
    let own = quoted(name.as_bytes());
    let Value::Object(members) = profile else {
        return Err(Misfit::new("profile", format!("{own}: no object"), "a profile of the file"));
    };
    let kind_name = members.get("type").unwrap_or(&Value::Null);
    let Some((kind_name, kind)) = KINDS.iter().find(|(known, _)| Some(*known) == kind_name.as_str()) else {
        let expected = "delay, composed, parallel, parallel_homogeneous(_total)";
        return Err(Misfit::new("profile", format!("{own} of type {}", shown(kind_name)), expected));
    };
    match (kind, speed) {
        (Kind::Delay, _) => Ok(Given::Length(Length { fixed_s: amount(members, "delay", &own)?, ..Length::default() })),
        (Kind::Composed, _) => composed(members, &own, names),
        (_, None) => {
            let found = format!("{own} of type {kind_name} and no flops_per_s");
            let expected = "flops_per_s or --flops-per-s, a node's speed, to make seconds of its work";
            Err(Misfit::new("profile", found, expected))
        }
        (Kind::Listed, Some(speed)) => {
            let work = listed(members, &own)?;
            Ok(Given::Length(Length { fixed_s: work / speed, has_comm: has_comm(members), ..Length::default() }))
        }
        (_, Some(speed)) => {
            let seconds = amount(members, "cpu", &own)? / speed;
            let (fixed_s, shared_s) = if *kind == Kind::Each { (seconds, 0.0) } else { (0.0, seconds) };
            Ok(Given::Length(Length { fixed_s, shared_s, has_comm: has_comm(members) }))
        }
    }
}

fn composed(members: &Map<String, Value>, own: &str, names: &mut Texts) -> Result<Given, Misfit> {
    let sequence = members.get("seq").unwrap_or(&Value::Null);
    let texts = sequence.as_array().map(|inner| inner.iter().map(Value::as_str).collect::<Option<Vec<_>>>());
    let Some(texts) = texts.flatten() else {
        let found = format!("{own} with `seq` {}", shown(sequence));
        return Err(Misfit::new("profile", found, "`seq`, a list of names of profiles"));
    };
    let codes = texts.iter().map(|text| names.code(text.as_bytes())).collect();
    let repeat = match members.get("repeat") {
        None => Ok(1.0),
        Some(value) => number(value).filter(|repeat| *repeat >= 0.0).ok_or_else(|| {
            Misfit::new("profile", format!("{own} with `repeat` {}", shown(value)), "`repeat`, a number from 0")
        }),
    };
    Ok(Given::Composed(codes, repeat))
}

fn amount(members: &Map<String, Value>, key: &'static str, own: &str) -> Result<f64, Misfit> {
    let value = members.get(key);
    value.and_then(number).filter(|amount| *amount >= 0.0).ok_or_else(|| {
        let found = value.map_or_else(|| "missing".to_owned(), shown);
        Misfit::new("profile", format!("{own} with `{key}` {found}"), format!("`{key}`, a number from 0"))
    })
}

/// The most work of any node.
fn listed(members: &Map<String, Value>, own: &str) -> Result<f64, Misfit> {
    let value = members.get("cpu").unwrap_or(&Value::Null);
    let amounts: Option<Vec<f64>> =
        value.as_array().and_then(|all| all.iter().map(|one| number(one).filter(|one| *one >= 0.0)).collect());
    let most = amounts.as_deref().unwrap_or_default().iter().copied().reduce(f64::max);
    most.ok_or_else(|| {
        let found = format!("{own} with `cpu` {}", shown(value));
        Misfit::new("profile", found, "`cpu`, a list of numbers from 0")
    })
}

fn has_comm(members: &Map<String, Value>) -> bool {
    let is_some = |value: &Value| number(value).is_some_and(|amount| amount > 0.0);
    match members.get("com") {
        Some(Value::Array(amounts)) => amounts.iter().any(is_some),
        Some(value) => is_some(value),
        None => false,
    }
}
