//! A job as it stands in the file, and its times and size.

use std::fmt;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

use crate::units::MAX_SECONDS;

use super::value::{Misfit, name, number, shown, shown_member};

const MOST_NODES: f64 = i32::MAX as f64;

/// The members of a job that are read.
#[derive(Clone, Debug, Default)]
pub(super) struct Job {
    pub(super) id: Option<Value>,
    subtime: Option<Value>,
    res: Option<Value>,
    walltime: Option<Value>,
    profile: Option<Value>,
    user: Option<Value>,
    queue: Option<Value>,
}

/// An element of the list of jobs.
#[derive(Clone, Debug)]
pub(super) enum Element {
    Job(Job),
    Other(Value),
}

/// Times and size of a job.
#[derive(Clone, Copy, Debug)]
pub(super) struct Said {
    pub(super) submit_s: f64,
    pub(super) node_count: i32,
    /// NaN where there is none.
    pub(super) walltime_s: f64,
}

impl Job {
    /// A member's name; `field` is for the fault if it is not one.
    fn text(value: Option<&Value>, field: &'static str) -> Result<String, Misfit> {
        let own = value.and_then(name).map(std::borrow::Cow::into_owned);
        own.ok_or_else(|| Misfit::new(field, shown_member(value), "a name or a number"))
    }

    pub(super) fn id(&self) -> Result<String, Misfit> {
        Self::text(self.id.as_ref(), "id")
    }

    pub(super) fn profile(&self) -> Result<String, Misfit> {
        Self::text(self.profile.as_ref(), "profile")
    }

    /// User and queue; null is none.
    pub(super) fn people(&self) -> Result<[Option<String>; 2], Misfit> {
        let own = |value: &Option<Value>, field| match value {
            None | Some(Value::Null) => Ok(None),
            value => Self::text(value.as_ref(), field).map(Some),
        };
        Ok([own(&self.user, "user")?, own(&self.queue, "queue")?])
    }

    pub(super) fn said(&self) -> Result<Said, Misfit> {
        let subtime = self.subtime.as_ref();
        let submit_s = subtime.and_then(number).filter(|seconds| (0.0..=MAX_SECONDS).contains(seconds));
        let submit_s = submit_s.ok_or_else(|| {
            Misfit::new("subtime", shown_member(subtime), format!("seconds from 0 to {MAX_SECONDS:e}"))
        })?;
        let res = self.res.as_ref();
        let nodes = res.and_then(number).filter(|nodes| nodes.fract() == 0.0 && (1.0..=MOST_NODES).contains(nodes));
        let nodes = nodes
            .ok_or_else(|| Misfit::new("res", shown_member(res), format!("a whole number from 1 to {MOST_NODES}")))?;
        let walltime_s = match &self.walltime {
            None | Some(Value::Null) => f64::NAN,
            Some(value) => number(value).filter(|seconds| *seconds <= MAX_SECONDS).ok_or_else(|| {
                let expected = format!("seconds up to {MAX_SECONDS:e}; 0 or less is none");
                Misfit::new("walltime", shown(value), expected)
            })?,
        };
        #[expect(clippy::cast_possible_truncation, reason = "whole and small")]
        Ok(Said { submit_s, node_count: nodes as i32, walltime_s })
    }
}

impl<'de> Deserialize<'de> for Element {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(OneElement)
    }
}

struct OneElement;

impl<'de> Visitor<'de> for OneElement {
    type Value = Element;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a job")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Element, A::Error> {
        let mut job = Job::default();
        while let Some(Key(place)) = map.next_key()? {
            let slot = match place {
                0 => &mut job.id,
                1 => &mut job.subtime,
                2 => &mut job.res,
                3 => &mut job.walltime,
                4 => &mut job.profile,
                5 => &mut job.user,
                6 => &mut job.queue,
                _ => {
                    map.next_value::<IgnoredAny>()?;
                    continue;
                }
            };
            *slot = Some(map.next_value()?);
        }
        Ok(Element::Job(job))
    }

    fn visit_bool<E>(self, value: bool) -> Result<Element, E> {
        Ok(Element::Other(value.into()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Element, E> {
        Ok(Element::Other(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Element, E> {
        Ok(Element::Other(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Element, E> {
        Ok(Element::Other(value.into()))
    }

    fn visit_str<E>(self, value: &str) -> Result<Element, E> {
        Ok(Element::Other(value.into()))
    }

    fn visit_unit<E>(self) -> Result<Element, E> {
        Ok(Element::Other(Value::Null))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Element, A::Error> {
        let mut all = Vec::new();
        while let Some(one) = seq.next_element()? {
            all.push(one);
        }
        Ok(Element::Other(Value::Array(all)))
    }
}

/// A member's key, by its place in [`KEYS`].
struct Key(usize);

const KEYS: [&str; 7] = ["id", "subtime", "res", "walltime", "profile", "user", "queue"];

impl<'de> Deserialize<'de> for Key {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_identifier(OneKey)
    }
}

struct OneKey;

impl Visitor<'_> for OneKey {
    type Value = Key;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a key")
    }

    fn visit_str<E>(self, key: &str) -> Result<Key, E> {
        Ok(Key(KEYS.iter().position(|known| *known == key).unwrap_or(KEYS.len())))
    }
}
