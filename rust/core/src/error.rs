//! Errors of a run, each with the thing, the value and the rule.

use std::error::Error as StdError;
use std::fmt;

/// Error that stopped a read, a configuration or a run.
#[derive(Debug)]
pub enum Error {
    /// A trace is invalid.
    Trace(TraceError),
    /// A platform, table, policy or option is invalid.
    Config(ConfigError),
    /// A run could not go on.
    Simulation(SimulationError),
    /// A policy failed by itself; the error that it raised is kept whole.
    Policy(PolicyError),
    /// A report of a live machine cannot be true.
    Live(String),
    /// The host asked the run to stop.
    Interrupted,
}

/// Shorthand for results of the core.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// One fault of a trace: where it is, what was found there and what was expected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceError {
    /// Name of the file, or of whatever the trace came from.
    pub file: String,
    /// Line (of a text file, from 1) or row (of a table, from 0).
    pub line: Option<u64>,
    /// The field's number and name, such as `field 4 (run time)`, or the column's name.
    pub field: Option<String>,
    /// Text or value that was found.
    pub found: String,
    /// Description of a valid value.
    pub expected: String,
}

/// One or more faults of a configuration, all of them at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError {
    /// The faults, at least one.
    pub faults: Vec<Fault>,
}

/// One fault of a configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Path of the parameter, such as `policy.backfill.depth`.
    pub parameter: String,
    /// The value that was given.
    pub value: String,
    /// Description of the valid values.
    pub expected: String,
}

/// A run that cannot go on: a decision that cannot be carried out, or an impossible state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SimulationError(pub String);

/// Error raised by a policy, boxed so that a host can find its own exception in it.
#[derive(Debug)]
pub struct PolicyError(pub Box<dyn StdError + Send + Sync>);

impl ConfigError {
    /// A single fault.
    #[must_use]
    pub fn one(parameter: impl Into<String>, value: impl Into<String>, expected: impl Into<String>) -> Self {
        Self { faults: vec![Fault { parameter: parameter.into(), value: value.into(), expected: expected.into() }] }
    }
}

/// Shorthand for an [`Error`] with a single configuration fault.
#[must_use]
pub fn config(parameter: impl Into<String>, value: impl Into<String>, expected: impl Into<String>) -> Error {
    Error::Config(ConfigError::one(parameter, value, expected))
}

impl fmt::Display for TraceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if let Some(line) = self.line {
            write!(f, ", line {line}")?;
        }
        if let Some(field) = &self.field {
            write!(f, ", {field}")?;
        }
        write!(f, ": found {}, expected {}", self.found, self.expected)
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: found {}, expected {}", self.parameter, self.value, self.expected)
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, fault) in self.faults.iter().enumerate() {
            let separator = if position == 0 { "" } else { "\n" };
            write!(f, "{separator}{fault}")?;
        }
        Ok(())
    }
}

impl fmt::Display for SimulationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for PolicyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the policy failed: {}", self.0)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Trace(error) => error.fmt(f),
            Self::Config(error) => error.fmt(f),
            Self::Simulation(error) => error.fmt(f),
            Self::Policy(error) => error.fmt(f),
            Self::Live(what) => f.write_str(what),
            Self::Interrupted => f.write_str("interrupted"),
        }
    }
}

impl StdError for TraceError {}
impl StdError for ConfigError {}
impl StdError for SimulationError {}
impl StdError for PolicyError {}
impl StdError for Error {}

impl From<TraceError> for Error {
    fn from(error: TraceError) -> Self {
        Self::Trace(error)
    }
}

impl From<ConfigError> for Error {
    fn from(error: ConfigError) -> Self {
        Self::Config(error)
    }
}

impl From<SimulationError> for Error {
    fn from(error: SimulationError) -> Self {
        Self::Simulation(error)
    }
}

impl From<PolicyError> for Error {
    fn from(error: PolicyError) -> Self {
        Self::Policy(error)
    }
}
