//! Reader of the file into columns: its members, its list of jobs, its profiles.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

use crate::error::{Error, Result};
use crate::trace::sacct::index::Texts;

use super::job::{Element, Job};
use super::profile::Profiles;
use super::value::{Misfit, shown};

/// Maximum number of faults that are reported one by one.
pub(super) const FAULTS_KEPT: usize = 3;

/// All that was read; a row is a job that is complete but for its length.
#[derive(Default)]
pub(super) struct Columns {
    /// The job's place in the list.
    pub(super) place: Vec<u64>,
    pub(super) id: Vec<u32>,
    pub(super) submit_s: Vec<f64>,
    pub(super) node_count: Vec<i32>,
    pub(super) walltime_s: Vec<f64>,
    pub(super) profile: Vec<u32>,
    pub(super) user: Vec<u32>,
    pub(super) queue: Vec<u32>,
    /// Faults of users and queues, by row: they are reported only if the row has no other.
    pub(super) late: BTreeMap<usize, Misfit>,
}

pub(super) struct Reading<'a> {
    pub(super) speed: Option<f64>,
    pub(super) watch: &'a mut dyn FnMut(usize) -> Result<()>,
    pub(super) columns: Columns,
    pub(super) ids: Texts,
    pub(super) names: Texts,
    pub(super) people: Texts,
    pub(super) profiles: Profiles,
    pub(super) has_jobs: bool,
    pub(super) has_profiles: bool,
    pub(super) is_object: bool,
    pub(super) nb_res: Value,
    /// Jobs in the list.
    pub(super) jobs: u64,
    /// Incomplete jobs, and faults of the first of them.
    pub(super) bad: u64,
    pub(super) faults: Vec<(u64, Misfit)>,
    /// Cause of an early end.
    pub(super) stop: Option<Error>,
}

impl Reading<'_> {
    fn take(&mut self, element: &Element) -> bool {
        let place = self.jobs;
        self.jobs += 1;
        let outcome = match element {
            Element::Job(job) => self.add(job, place),
            Element::Other(value) => Err(Misfit::new("", shown(value), "an object with id, subtime, res and profile")),
        };
        if let Err(misfit) = outcome {
            self.bad += 1;
            if self.faults.len() < FAULTS_KEPT {
                self.faults.push((place, misfit));
            }
        }
        if self.jobs.is_multiple_of(1000)
            && let Err(stop) = (self.watch)(1)
        {
            self.stop = Some(stop);
        }
        self.stop.is_none()
    }

    fn add(&mut self, job: &Job, place: u64) -> std::result::Result<(), Misfit> {
        let id = job.id()?;
        let said = job.said()?;
        let profile = job.profile()?;
        let columns = &mut self.columns;
        let [user, queue] = job.people().unwrap_or_else(|misfit| {
            columns.late.insert(columns.place.len(), misfit);
            [None, None]
        });
        columns.place.push(place);
        columns.id.push(self.ids.code(id.as_bytes()));
        columns.submit_s.push(said.submit_s);
        columns.node_count.push(said.node_count);
        columns.walltime_s.push(said.walltime_s);
        columns.profile.push(self.names.code(profile.as_bytes()));
        columns.user.push(self.people.code(user.unwrap_or_default().as_bytes()));
        columns.queue.push(self.people.code(queue.unwrap_or_default().as_bytes()));
        Ok(())
    }

    /// Starts a list of jobs; a second one replaces the first.
    fn begin_jobs(&mut self) {
        self.columns = Columns::default();
        self.ids = Texts::default();
        self.faults.clear();
        (self.jobs, self.bad, self.has_jobs) = (0, 0, true);
    }
}

pub(super) struct Root<'r, 'a>(pub(super) &'r mut Reading<'a>);
struct Jobs<'r, 'a>(&'r mut Reading<'a>);
struct AllProfiles<'r, 'a>(&'r mut Reading<'a>);

/// Visitors for values of an unexpected type: they are skipped.
macro_rules! ignoring {
    ($($visit:ident: $kind:ty),*) => {
        $(fn $visit<E>(self, _value: $kind) -> std::result::Result<(), E> {
            Ok(())
        })*
        fn visit_unit<E>(self) -> std::result::Result<(), E> {
            Ok(())
        }
    };
}

macro_rules! seed {
    ($name:ident) => {
        impl<'de> DeserializeSeed<'de> for $name<'_, '_> {
            type Value = ();
            fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> std::result::Result<(), D::Error> {
                deserializer.deserialize_any(self)
            }
        }
    };
}

seed!(Root);
seed!(Jobs);
seed!(AllProfiles);

impl<'de> Visitor<'de> for Root<'_, '_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object with `jobs` and `profiles`")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> std::result::Result<(), A::Error> {
        self.0.is_object = true;
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "jobs" => {
                    self.0.has_jobs = false;
                    map.next_value_seed(Jobs(self.0))?;
                }
                "profiles" => {
                    (self.0.has_profiles, self.0.profiles) = (false, Profiles::default());
                    map.next_value_seed(AllProfiles(self.0))?;
                }
                "nb_res" => self.0.nb_res = map.next_value()?,
                _ => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> std::result::Result<(), A::Error> {
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(())
    }

    ignoring!(visit_bool: bool, visit_i64: i64, visit_u64: u64, visit_f64: f64, visit_str: &str);
}

impl<'de> Visitor<'de> for Jobs<'_, '_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a list of jobs")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> std::result::Result<(), A::Error> {
        self.0.begin_jobs();
        while let Some(element) = seq.next_element::<Element>()? {
            if !self.0.take(&element) {
                return Err(A::Error::custom("stopped"));
            }
        }
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> std::result::Result<(), A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(())
    }

    ignoring!(visit_bool: bool, visit_i64: i64, visit_u64: u64, visit_f64: f64, visit_str: &str);
}

impl<'de> Visitor<'de> for AllProfiles<'_, '_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object of profiles")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> std::result::Result<(), A::Error> {
        self.0.has_profiles = true;
        while let Some((name, profile)) = map.next_entry::<String, Value>()? {
            self.0.profiles.add(&name, &profile, self.0.speed, &mut self.0.names);
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> std::result::Result<(), A::Error> {
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(())
    }

    ignoring!(visit_bool: bool, visit_i64: i64, visit_u64: u64, visit_f64: f64, visit_str: &str);
}
