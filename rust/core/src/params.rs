//! Named parameters, checked strictly: what is missing, malformed or unknown is an error that states what is accepted.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::RangeInclusive;

use crate::error::{Fault, Result, config};

/// A parameter's value as a user wrote it.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A whole number.
    Int(i64),
    /// Any other number.
    Float(f64),
    /// A word.
    Text(String),
    /// Yes or no.
    Bool(bool),
    /// Several of these.
    List(Vec<Value>),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Int(value) => value.fmt(f),
            // With its point: 2.0 is no whole number, and a message must not read as if it were.
            Self::Float(value) => write!(f, "{value:?}"),
            Self::Text(value) => write!(f, "`{value}`"),
            Self::Bool(value) => value.fmt(f),
            Self::List(values) => {
                let values: Vec<_> = values.iter().map(Self::to_string).collect();
                write!(f, "[{}]", values.join(", "))
            }
        }
    }
}

/// Declaration of one parameter of a part; shown by `hetsched policies` and checked by the part alone.
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    /// Name, with the unit as suffix where it has one.
    pub name: &'static str,
    /// Unit, or `""`.
    pub unit: &'static str,
    /// Default, as it would be written.
    pub default: &'static str,
    /// Description of the valid values.
    pub range: &'static str,
    /// Description of its effect, in one line.
    pub doc: &'static str,
}

/// Parameters of one part, each to be taken once; one that is left over at the end is an error.
#[derive(Clone, Debug, Default)]
pub struct Params {
    path: String,
    given: BTreeMap<String, Value>,
    taken: BTreeMap<String, Value>,
}

impl Params {
    /// Parameters `given` to the part at `path`, such as `policy.backfill`.
    #[must_use]
    pub fn new(path: impl Into<String>, given: BTreeMap<String, Value>) -> Self {
        Self { path: path.into(), given, taken: BTreeMap::new() }
    }

    /// The path of a parameter of this part.
    #[must_use]
    pub fn path_of(&self, name: &str) -> String {
        format!("{}.{name}", self.path)
    }

    /// Takes a parameter as it was given, or its default, and remembers what was taken for [`Params::finish`].
    pub fn take(&mut self, name: &str, default: Value) -> Value {
        let value = self.given.remove(name).unwrap_or(default);
        self.taken.insert(name.to_owned(), value.clone());
        value
    }

    /// Takes one of several words.
    ///
    /// # Errors
    /// If another word, or no word, was given.
    pub fn take_choice(&mut self, name: &str, default: &str, allowed: &[&str]) -> Result<String> {
        match self.take(name, Value::Text(default.to_owned())) {
            Value::Text(word) if allowed.contains(&word.as_str()) => Ok(word),
            other => Err(config(self.path_of(name), other.to_string(), format!("one of {}", allowed.join(", ")))),
        }
    }

    /// Takes a number from `range`, whole or not.
    ///
    /// # Errors
    /// If another number, or no number, was given; `expected` describes the valid ones.
    pub fn take_number(
        &mut self,
        name: &str,
        default: Value,
        range: &RangeInclusive<f64>,
        expected: &str,
    ) -> Result<f64> {
        let value = self.take(name, default);
        #[expect(clippy::cast_precision_loss, reason = "a parameter beyond 2^53 is as good rounded")]
        let number = match value {
            Value::Int(number) => number as f64,
            Value::Float(number) => number,
            Value::Text(_) | Value::Bool(_) | Value::List(_) => f64::NAN,
        };
        if range.contains(&number) { Ok(number) } else { Err(config(self.path_of(name), value.to_string(), expected)) }
    }

    /// Takes a whole number from `least` up.
    ///
    /// # Errors
    /// If another number, or no whole number, was given.
    pub fn take_count(&mut self, name: &str, default: u32, least: u32) -> Result<u32> {
        let value = self.take(name, Value::Int(default.into()));
        let count = if let Value::Int(count) = value { u32::try_from(count).ok() } else { None };
        let expected = || config(self.path_of(name), value.to_string(), format!("a whole number from {least}"));
        count.filter(|&count| count >= least).ok_or_else(expected)
    }

    /// Takes yes or no.
    ///
    /// # Errors
    /// If neither was given.
    pub fn take_flag(&mut self, name: &str, default: bool) -> Result<bool> {
        match self.take(name, Value::Bool(default)) {
            Value::Bool(truth) => Ok(truth),
            other => Err(config(self.path_of(name), other.to_string(), "true or false")),
        }
    }

    /// Ends the taking, and returns all parameters with their values.
    ///
    /// # Errors
    /// If a parameter was given that no part took.
    pub fn finish(self) -> Result<BTreeMap<String, Value>> {
        let known = self.taken.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
        let expected = if known.is_empty() { "no parameters".to_owned() } else { format!("one of {known}") };
        let faults: Vec<_> = self
            .given
            .iter()
            .map(|(name, value)| Fault {
                parameter: self.path_of(name),
                value: value.to_string(),
                expected: expected.clone(),
            })
            .collect();
        if faults.is_empty() { Ok(self.taken) } else { Err(crate::error::ConfigError { faults }.into()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelt_parameter_is_an_error_that_names_the_known_ones() {
        let mut params = Params::new("policy.backfill", BTreeMap::from([("dept".into(), Value::Int(2))]));
        params.take("depth", Value::Int(1));
        let message = params.finish().unwrap_err().to_string();
        assert_eq!(message, "policy.backfill.dept: found 2, expected one of depth");
    }

    #[test]
    fn a_number_with_a_point_is_told_with_its_point() {
        let mut params = Params::new("policy.placement", BTreeMap::from([("window".into(), Value::Float(2.0))]));
        let message = params.take_count("window", 10, 1).unwrap_err().to_string();
        assert_eq!(message, "policy.placement.window: found 2.0, expected a whole number from 1");
    }

    #[test]
    fn a_default_is_taken_and_remembered() {
        let mut params = Params::new("policy.placement", BTreeMap::new());
        assert_eq!(params.take_choice("rank", "power", &["power", "time"]).unwrap(), "power");
        assert_eq!(params.finish().unwrap()["rank"], Value::Text("power".into()));
    }
}
