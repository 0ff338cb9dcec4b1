//! Declaration of a parameter: one value has its name, its default and the valid values, reads a given one, and says
//! what would be right.

use std::fmt;

use crate::params::Value;
use crate::units::{MAX_SECONDS, SimDuration, SimTime};

/// A parameter that reads as a `T`.
///
/// ```
/// use hetsched_core::params::{Param, Params, Value};
///
/// const WINDOW: Param<u32> = Param::count("window", "ranks", 10, 1, "ranks in the window");
///
/// let mut params = Params::new("policy.placement", [("window".to_owned(), Value::Int(0))].into());
/// assert_eq!(params.take(&WINDOW), 10);
/// let message = params.finish().unwrap_err().to_string();
/// assert_eq!(message, "policy.placement.window: found 0, expected a whole number from 1");
/// ```
#[derive(Clone, Copy)]
pub struct Param<T: 'static> {
    name: &'static str,
    unit: &'static str,
    default: DefaultValue,
    range: Range<T>,
    /// Word that is valid, too; empty: there is none.
    word: &'static str,
    read: fn(&Self, &Value) -> Option<T>,
    doc: &'static str,
}

/// Default of a parameter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum DefaultValue {
    /// A whole number.
    Int(i64),
    /// Any other number.
    Float(f64),
    /// A word.
    Text(&'static str),
    /// Yes or no.
    Bool(bool),
    /// An empty list.
    Empty,
}

/// Description of a parameter for users.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Name, with the unit as suffix where it has one.
    pub name: &'static str,
    /// Unit, or `""`.
    pub unit: &'static str,
    /// Default, as it would be written.
    pub default: String,
    /// Description of the valid values.
    pub range: String,
    /// Description of its effect, in one line.
    pub doc: &'static str,
}

/// Valid values.
#[derive(Clone, Copy)]
enum Range<T: 'static> {
    /// True or false.
    Flag,
    /// A whole number from this up.
    Whole(i64),
    /// Numbers of a kind within bounds.
    Numbers(&'static str, f64, f64),
    /// One of these words.
    Words(&'static [(&'static str, T)]),
    /// Values as described.
    Described(&'static str),
}

impl<T> Param<T> {
    /// A parameter whose values are `expected`, and read by `read`: none for those that are not valid.
    #[must_use]
    pub const fn read_by(
        name: &'static str,
        unit: &'static str,
        default: DefaultValue,
        expected: &'static str,
        read: fn(&Self, &Value) -> Option<T>,
        doc: &'static str,
    ) -> Self {
        Self { name, unit, default, range: Range::Described(expected), word: "", read, doc }
    }

    /// The same with another default.
    #[must_use]
    pub const fn defaulting(mut self, default: DefaultValue) -> Self {
        self.default = default;
        self
    }

    /// Its name.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// Its description.
    #[must_use]
    pub fn shown(&self) -> Parameter {
        let default = match self.default {
            DefaultValue::Text(word) => format!("\"{word}\""),
            other => other.value().to_string(),
        };
        Parameter { name: self.name, unit: self.unit, default, range: self.to_string(), doc: self.doc }
    }

    /// Its default.
    #[must_use]
    pub fn default(&self) -> Value {
        self.default.value()
    }

    /// Reads a value; none if it is not valid.
    #[must_use]
    pub fn read(&self, value: &Value) -> Option<T> {
        (self.read)(self, value)
    }

    /// True if the value is the word that stands for something else.
    fn is_word(&self, value: &Value) -> bool {
        matches!(value, Value::Text(word) if word == self.word)
    }

    /// A whole number within the range.
    fn whole(&self, value: &Value) -> Option<i64> {
        match (value, &self.range) {
            (&Value::Int(number), &Range::Whole(least)) => Some(number).filter(|&number| number >= least),
            _ => None,
        }
    }

    /// A number within the range.
    fn in_range(&self, value: &Value) -> Option<f64> {
        let Range::Numbers(_, least, most) = self.range else { return None };
        value.number().filter(|number| (least..=most).contains(number))
    }

    fn span(&self, value: &Value) -> Option<SimDuration> {
        self.in_range(value).and_then(SimDuration::from_seconds)
    }
}

/// The valid values, in words.
impl<T> fmt::Display for Param<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.range {
            Range::Flag => f.write_str("true or false")?,
            Range::Whole(least) => write!(f, "a whole number from {least}")?,
            Range::Numbers(kind, least, most) => write!(f, "{kind} from {} to {}", short(least), short(most))?,
            Range::Words(words) => {
                let names: Vec<_> = words.iter().map(|(name, _)| *name).collect();
                write!(f, "one of {}", names.join(", "))?;
            }
            Range::Described(expected) => f.write_str(expected)?,
        }
        if self.word.is_empty() { Ok(()) } else { write!(f, ", or \"{}\"", self.word) }
    }
}

/// A bound, by its power of ten if it is large or small.
fn short(bound: f64) -> String {
    let size = bound.abs();
    if size >= 1e6 || (size > 0.0 && size < 1e-3) { format!("{bound:e}") } else { bound.to_string() }
}

impl<T: Copy> Param<T> {
    /// One of several words, the first of which is the default.
    #[must_use]
    pub const fn words(name: &'static str, words: &'static [(&'static str, T)], doc: &'static str) -> Self {
        let read = |own: &Self, value: &Value| match (own.range, value) {
            (Range::Words(words), Value::Text(given)) => {
                words.iter().find(|(name, _)| name == given).map(|&(_, meaning)| meaning)
            }
            _ => None,
        };
        Self {
            name,
            unit: "",
            default: DefaultValue::Text(words[0].0),
            range: Range::Words(words),
            word: "",
            read,
            doc,
        }
    }
}

impl Param<bool> {
    /// Yes or no.
    #[must_use]
    pub const fn flag(name: &'static str, default: bool, doc: &'static str) -> Self {
        let read = |_: &Self, value: &Value| if let Value::Bool(truth) = *value { Some(truth) } else { None };
        Self { name, unit: "", default: DefaultValue::Bool(default), range: Range::Flag, word: "", read, doc }
    }
}

impl Param<u32> {
    /// A whole number from `least` up.
    #[must_use]
    pub const fn count(name: &'static str, unit: &'static str, default: u32, least: u32, doc: &'static str) -> Self {
        let read = |own: &Self, value: &Value| own.whole(value).and_then(|number| u32::try_from(number).ok());
        let (default, range) = (DefaultValue::Int(default as i64), Range::Whole(least as i64));
        Self { name, unit, default, range, word: "", read, doc }
    }
}

impl Param<Option<u32>> {
    /// A whole number from `least` up; none for the word.
    #[must_use]
    pub const fn count_or(
        word: &'static str,
        name: &'static str,
        unit: &'static str,
        default: DefaultValue,
        least: u32,
        doc: &'static str,
    ) -> Self {
        let read = |own: &Self, value: &Value| {
            if own.is_word(value) {
                return Some(None);
            }
            own.whole(value).and_then(|number| u32::try_from(number).ok()).map(Some)
        };
        Self { name, unit, default, range: Range::Whole(least as i64), word, read, doc }
    }
}

impl Param<f64> {
    /// A number from `least` to `most`, whole or not; `kind` is its noun, such as "a factor".
    #[must_use]
    pub const fn number(
        name: &'static str,
        kind: &'static str,
        default: f64,
        (least, most): (f64, f64),
        doc: &'static str,
    ) -> Self {
        let (default, range) = (DefaultValue::Float(default), Range::Numbers(kind, least, most));
        Self { name, unit: "", default, range, word: "", read: Self::in_range, doc }
    }
}

impl Param<SimDuration> {
    /// A span of at least 0 seconds.
    #[must_use]
    pub const fn seconds(name: &'static str, default: DefaultValue, doc: &'static str) -> Self {
        let range = Range::Numbers("seconds", 0.0, MAX_SECONDS);
        Self { name, unit: "s", default, range, word: "", read: Self::span, doc }
    }

    /// A span of at least a microsecond, or 0, which is the default.
    #[must_use]
    pub const fn interval(name: &'static str, doc: &'static str) -> Self {
        let read = |_: &Self, value: &Value| {
            let seconds = value.number().filter(|&seconds| seconds >= 0.0)?;
            SimDuration::from_seconds(seconds).filter(|&span| seconds == 0.0 || span > SimDuration::ZERO)
        };
        Self::read_by(name, "s", DefaultValue::Int(0), "0, or seconds from 1e-6 to 1e12", read, doc)
    }
}

impl Param<Option<SimDuration>> {
    /// A span of at least `least` seconds; none for the word.
    #[must_use]
    pub const fn seconds_or(
        word: &'static str,
        name: &'static str,
        default: DefaultValue,
        least: f64,
        doc: &'static str,
    ) -> Self {
        let read = |own: &Self, value: &Value| if own.is_word(value) { Some(None) } else { own.span(value).map(Some) };
        let range = Range::Numbers("seconds", least, MAX_SECONDS);
        Self { name, unit: "s", default, range, word, read, doc }
    }
}

impl Param<Option<SimTime>> {
    /// An instant in seconds; none for the word, which is the default.
    #[must_use]
    pub const fn instant_or(word: &'static str, name: &'static str, doc: &'static str) -> Self {
        let read = |own: &Self, value: &Value| {
            if own.is_word(value) { Some(None) } else { own.in_range(value).and_then(SimTime::from_seconds).map(Some) }
        };
        let range = Range::Numbers("seconds", -MAX_SECONDS, MAX_SECONDS);
        Self { name, unit: "s", default: DefaultValue::Text(word), range, word, read, doc }
    }
}

impl DefaultValue {
    fn value(self) -> Value {
        match self {
            Self::Int(number) => Value::Int(number),
            Self::Float(number) => Value::Float(number),
            Self::Text(word) => Value::Text(word.to_owned()),
            Self::Bool(truth) => Value::Bool(truth),
            Self::Empty => Value::List(Vec::new()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: Param<Option<SimDuration>> =
        Param::seconds_or("none", "limit_s", DefaultValue::Int(60), 0.0, "how long it may take");

    #[test]
    fn one_value_says_what_is_valid_and_reads_it() {
        assert_eq!(LIMIT.to_string(), "seconds from 0 to 1e12, or \"none\"");
        assert_eq!(LIMIT.read(&Value::Text("none".into())), Some(None));
        assert_eq!(LIMIT.read(&Value::Float(0.5)), Some(SimDuration::from_seconds(0.5)));
        for wrong in [Value::Int(-1), Value::Float(f64::NAN), Value::Bool(true), Value::Text("all".into())] {
            assert_eq!(LIMIT.read(&wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_parameter_is_shown_as_it_would_be_written() {
        let shown = Param::words("rank", &[("power", 1), ("time", 2)], "means").shown();
        assert_eq!((shown.default.as_str(), shown.range.as_str()), ("\"power\"", "one of power, time"));
        assert_eq!(Param::number("share", "a share", 1.0, (0.0, 1e9), "").shown().default, "1.0");
        assert_eq!(Param::number("share", "a share", 1.0, (0.0, 1e9), "").to_string(), "a share from 0 to 1e9");
        assert_eq!(LIMIT.defaulting(DefaultValue::Text("none")).shown().default, "\"none\"");
    }
}
