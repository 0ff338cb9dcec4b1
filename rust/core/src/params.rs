//! Named parameters, checked strictly: what is missing, malformed or unknown is an error that states what is accepted.

mod param;

use std::collections::BTreeMap;
use std::fmt;

use crate::error::{ConfigError, Fault, Result};

pub use param::{DefaultValue, Param, Parameter};

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

impl Value {
    /// The number that it is, whole or not; none if it is none.
    #[must_use]
    pub fn number(&self) -> Option<f64> {
        match *self {
            Self::Int(number) => Some(number as f64),
            Self::Float(number) => Some(number),
            Self::Text(_) | Self::Bool(_) | Self::List(_) => None,
        }
    }
}

/// Parameters of one part, each to be taken once. All faults are gathered until the end; one of them is a parameter
/// that is left over.
#[derive(Clone, Debug, Default)]
pub struct Params {
    path: String,
    given: BTreeMap<String, Value>,
    taken: BTreeMap<String, Value>,
    declared: Vec<Parameter>,
    faults: Vec<Fault>,
}

impl Params {
    /// Parameters `given` to the part at `path`, such as `policy.backfill`.
    #[must_use]
    pub fn new(path: impl Into<String>, given: BTreeMap<String, Value>) -> Self {
        Self { path: path.into(), given, ..Self::default() }
    }

    /// Takes a parameter as it was given, or its default. What is not valid is a fault, and counts as the default.
    ///
    /// # Panics
    /// If the default of the parameter is not valid.
    pub fn take<T>(&mut self, param: &Param<T>) -> T {
        self.declared.push(param.shown());
        let value = self.given.remove(param.name()).unwrap_or_else(|| param.default());
        let read = param.read(&value);
        if read.is_none() {
            self.refuse(param, &short(&value), param.to_string());
        }
        self.taken.insert(param.name().to_owned(), value);
        read.or_else(|| param.read(&param.default())).expect("defaults are valid")
    }

    /// Adds a fault: a parameter has this value, which does not go with those of others.
    pub fn refuse<T>(&mut self, param: &Param<T>, value: &dyn fmt::Display, expected: impl Into<String>) {
        let (parameter, value) = (self.path_of(param.name()), value.to_string());
        self.faults.push(Fault { parameter, value, expected: expected.into() });
    }

    /// True if there is no fault so far.
    #[must_use]
    pub fn are_valid(&self) -> bool {
        self.faults.is_empty()
    }

    /// The parameters taken so far, in this order.
    #[must_use]
    pub fn into_declared(self) -> Vec<Parameter> {
        self.declared
    }

    fn path_of(&self, name: &str) -> String {
        format!("{}.{name}", self.path)
    }

    /// Ends the taking, and returns all parameters with their values.
    ///
    /// # Errors
    /// A [`ConfigError`] with a fault for each value that is not valid, and for each parameter that no part took.
    pub fn finish(mut self) -> Result<BTreeMap<String, Value>> {
        let known = self.taken.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
        let expected = if known.is_empty() { "no parameters".to_owned() } else { format!("one of {known}") };
        for (name, value) in &self.given {
            let (parameter, value) = (self.path_of(name), value.to_string());
            self.faults.push(Fault { parameter, value, expected: expected.clone() });
        }
        if self.faults.is_empty() { Ok(self.taken) } else { Err(ConfigError { faults: self.faults }.into()) }
    }
}

/// A value as faults show it: of a long list the length.
fn short(value: &Value) -> String {
    match value {
        Value::List(values) if values.len() > 9 => format!("a list of {} values", values.len()),
        _ => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given(name: &str, value: Value) -> Params {
        Params::new("policy.backfill", BTreeMap::from([(name.into(), value)]))
    }

    #[test]
    fn a_misspelt_parameter_is_an_error_that_names_the_known_ones() {
        let mut params = given("dept", Value::Int(2));
        params.take(&Param::count("depth", "jobs", 1, 1, ""));
        let message = params.finish().unwrap_err().to_string();
        assert_eq!(message, "policy.backfill.dept: found 2, expected one of depth");
    }

    #[test]
    fn a_number_with_a_point_is_shown_with_its_point() {
        let mut params = given("window", Value::Float(2.0));
        assert_eq!(params.take(&Param::count("window", "", 10, 1, "")), 10);
        let message = params.finish().unwrap_err().to_string();
        assert_eq!(message, "policy.backfill.window: found 2.0, expected a whole number from 1");
    }

    #[test]
    fn a_default_is_taken_and_remembered() {
        let mut params = Params::new("policy.placement", BTreeMap::new());
        assert_eq!(params.take(&Param::words("rank", &[("power", 1), ("time", 2)], "")), 1);
        assert_eq!(params.finish().unwrap()["rank"], Value::Text("power".into()));
    }

    #[test]
    fn all_faults_are_gathered() {
        let wrong = [("depth", Value::Int(0)), ("defer", Value::Int(1)), ("other", Value::Int(2))];
        let wrong = wrong.map(|(name, value)| (name.to_owned(), value));
        let mut params = Params::new("policy.backfill", BTreeMap::from(wrong));
        params.take(&Param::count("depth", "jobs", 1, 1, ""));
        params.take(&Param::flag("defer", false, ""));
        assert!(!params.are_valid());
        let message = params.finish().unwrap_err().to_string();
        let expected = [
            "policy.backfill.depth: found 0, expected a whole number from 1",
            "policy.backfill.defer: found 1, expected true or false",
            "policy.backfill.other: found 2, expected one of defer, depth",
        ];
        assert_eq!(message, expected.join("\n"));
    }
}
