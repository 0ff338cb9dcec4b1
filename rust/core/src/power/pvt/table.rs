//! Tables of draws and speeds as a caller has them, and their checks.

use std::fmt;

use crate::error::{Fault, Result, config};
use crate::units::MAX_NODE_WATTS;

/// Form in which a table gives its watts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableKind {
    /// Watts.
    Watts,
    /// Factors on the job's nominal draw.
    Ratio,
}

/// A table as a caller has it: rows are applications, columns nodes.
#[derive(Clone, Debug)]
pub struct VariationTable {
    /// Names of the rows; `"*"` serves every named application that has none.
    pub apps: Vec<String>,
    /// Contents of `power`.
    pub kind: TableKind,
    /// Watts or factors, row after row.
    pub power: Vec<f64>,
    /// Time factors, row after row; 1 = nominal. Empty = all nominal.
    pub time_ratio: Vec<f64>,
    /// Name of the table in errors.
    pub name: String,
}

/// Treatment of a named application that no table holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnUnknownApp {
    /// It is an error.
    Error,
    /// It draws nominal watts.
    Nominal,
}

/// Maximum number of applications without a row that a message names.
pub(super) const MOST_FAULTS: usize = 20;
/// Maximum number of names of applications that a message lists.
const MOST_NAMES: usize = 10;

/// The largest factor a table may hold.
const MAX_RATIO: f64 = 1000.0;

/// The name of the row that serves every application without one.
pub const ANY_APP: &str = "*";

impl OnUnknownApp {
    /// Treatment by the option's name.
    ///
    /// # Errors
    /// If there is no such option.
    pub fn from_name(name: &str) -> Result<Self> {
        match name {
            "error" => Ok(Self::Error),
            "nominal" => Ok(Self::Nominal),
            other => Err(config("on_unknown_app", format!("`{other}`"), "one of error, nominal")),
        }
    }
}

impl VariationTable {
    pub(super) fn check(&self, nodes: usize, faults: &mut Vec<Fault>) {
        let cells = self.apps.len() * nodes;
        let expected = format!("{} applications × {nodes} nodes = {cells} values", self.apps.len());
        for (column, len) in [(self.power_column(), self.power.len()), ("time_ratio", self.time_ratio.len())] {
            if len != cells && !(column == "time_ratio" && len == 0) {
                faults.push(self.fault(column, len, &expected));
            }
        }
        if faults.is_empty() {
            self.check_cells(nodes, faults);
        }
    }

    fn check_cells(&self, nodes: usize, faults: &mut Vec<Fault>) {
        let (most, rule) = match self.kind {
            TableKind::Watts => (MAX_NODE_WATTS, "watts from 0 to 1e6"),
            TableKind::Ratio => (MAX_RATIO, "a factor from 0 to 1000"),
        };
        let wrong_power = self.power.iter().position(|value| !(0.0..=most).contains(value));
        let wrong_time = self.time_ratio.iter().position(|&value| !(value > 0.0 && value <= MAX_RATIO));
        let checks = [
            (self.power_column(), &self.power, wrong_power, rule),
            ("time_ratio", &self.time_ratio, wrong_time, "a factor above 0, up to 1000"),
        ];
        for (column, values, wrong, rule) in checks {
            faults.extend(wrong.map(|cell| {
                let place = format!("{column}[{}, node {}]", self.apps[cell / nodes], cell % nodes);
                self.fault(&place, values[cell], rule)
            }));
        }
    }

    fn power_column(&self) -> &'static str {
        match self.kind {
            TableKind::Watts => "power_w",
            TableKind::Ratio => "power_ratio",
        }
    }

    fn fault<T: fmt::Display>(&self, place: &str, value: T, expected: &str) -> Fault {
        Fault { parameter: format!("{}.{place}", self.name), value: value.to_string(), expected: expected.to_owned() }
    }

    pub(super) fn row_of(&self, app: &str) -> Option<usize> {
        let find = |name: &str| self.apps.iter().position(|row| row == name);
        find(app).or_else(|| find(ANY_APP))
    }
}

/// Names as a message lists them: the first few, and the number of the others.
pub(super) fn few(names: &[String]) -> String {
    let first = names.iter().take(MOST_NAMES).map(String::as_str).collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(MOST_NAMES) {
        0 => first,
        more => format!("{first} and {more} more"),
    }
}
