//! Registry of parts: the only place that announces a part, with its name, description, parameters and constructor.

mod added;
mod backfills;
mod budgets;
mod orders;
mod placements;
pub mod refused;
mod row;
mod sleeps;
mod slurm;

use std::collections::BTreeMap;

use crate::error::{ConfigError, Error, Result, config};
use crate::params::{Params, Value};
use crate::policy::analyzer::{Analyzer, first_runs::FirstRuns, tables::AsPredicted};
use crate::policy::backfill::{Backfill, starving::Starving};
use crate::policy::budget::system_budget::SystemBudget;
use crate::policy::compose::{Parts, features};
use crate::policy::gate::UntilProfiled;
use crate::policy::order::Order;
use crate::policy::placement::{Placement, first_runs::FirstRunsByLot};
use crate::policy::registry::refused::{Feature, Features};
use crate::policy::registry::row::Beside;
use crate::policy::sleep::rules::Rules;
use crate::policy::timing::Timing;

pub use added::{Rows, add, added, backfills, budgets, orders, placements};
pub use backfills::BACKFILLS;
pub use budgets::BUDGETS;
pub use orders::ORDERS;
pub use placements::PLACEMENTS;
pub use row::{Need, ReadsDraws, Row};
pub use sleeps::SLEEPS;

/// A part as a user names it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PartSpec {
    /// Its name in the registry.
    pub name: String,
    /// Parameters that differ from their defaults.
    pub params: BTreeMap<String, Value>,
}

/// A composition as a user names it.
#[derive(Clone, Debug, PartialEq)]
pub struct PolicySpec {
    /// Name in messages.
    pub name: String,
    /// Order: which job is next.
    pub order: PartSpec,
    /// Backfill: which jobs may overtake.
    pub backfill: PartSpec,
    /// Placement: which nodes jobs get.
    pub placement: PartSpec,
    /// Budget: the ceiling on the machine's draw; none: there is none.
    pub power: Option<PartSpec>,
    /// Sleep part, which switches idle nodes off; none: no node is.
    pub sleep: Option<PartSpec>,
}

/// True if the backfill of this name names the nodes of jobs: then no placement but the default has a say.
#[must_use]
pub fn chooses_nodes(backfill: &str) -> bool {
    backfills().any(|row| row.name == backfill && row.chooses_nodes)
}

/// A part that was made.
struct Made<T: ?Sized> {
    part: Box<T>,
    beside: Beside,
    /// All its parameters.
    params: BTreeMap<String, Value>,
}

fn make<T: ?Sized + 'static>(
    role: &str,
    mut rows: impl Iterator<Item = &'static Row<T>> + Clone,
    spec: &PartSpec,
    seed: u64,
) -> Result<Made<T>> {
    let path = format!("policy.{role}");
    let known = rows.clone();
    let Some(row) = rows.find(|row| row.name == spec.name) else {
        let known: Vec<_> = known.map(|row| row.name).collect();
        return Err(config(path, format!("`{}`", spec.name), format!("one of {}", known.join(", "))));
    };
    let mut params = Params::new(path, spec.params.clone());
    let (part, beside) = row.make(&mut params, seed);
    Ok(Made { part, beside, params: params.finish()? })
}

/// Composes the parts with what their parameters ask for in other roles.
fn together(
    order: Made<dyn Order>,
    backfill: Made<dyn Backfill>,
    placement: Made<dyn Placement>,
    power: Option<Box<SystemBudget>>,
    sleep: Option<Rules>,
    seed: u64,
) -> Parts {
    let Beside { starvation_limit, profiling_ratio, .. } = order.beside;
    // Where the backfill chooses nodes, the placement has no timing.
    let timing =
        if backfill.beside.timing == Timing::AtOnce { placement.beside.timing } else { backfill.beside.timing };
    let mut backfill = backfill.part;
    if let Some(limit) = starvation_limit.filter(|&limit| !backfill.serve_first(limit)) {
        backfill = Box::new(Starving::new(limit, backfill));
    }
    let (analyzer, placement): (Box<dyn Analyzer>, Box<dyn Placement>) = match profiling_ratio {
        Some(ratio) => (Box::new(FirstRuns::new(ratio)), Box::new(FirstRunsByLot::new(placement.part, seed))),
        None => (Box::new(AsPredicted), placement.part),
    };
    // Without a budget every job fits, first run or not.
    let holds = profiling_ratio.is_some() && power.is_some();
    let gate = holds.then(UntilProfiled::default);
    Parts {
        analyzer,
        forecast: None,
        gate,
        order: order.part,
        backfill,
        placement,
        power,
        allocator: None,
        sizing: None,
        sleep,
        gauge: None,
        timing,
        learners: Vec::new(),
    }
}

impl PolicySpec {
    /// Makes the parts, and says with which parameters, defaults filled in.
    ///
    /// # Errors
    /// A [`ConfigError`](crate::error::ConfigError) with a fault for each part or parameter that is unknown or invalid.
    pub fn build(&self, seed: u64) -> Result<(Parts, Self)> {
        let order = make("order", orders(), &self.order, seed);
        let backfill = make("backfill", backfills(), &self.backfill, seed);
        let placement = make("placement", placements(), &self.placement, seed);
        let power = self.power.as_ref().map(|part| make("power", budgets(), part, seed)).transpose();
        let sleep = self.sleep.as_ref().map(|part| make("sleep", SLEEPS.iter(), part, seed)).transpose();
        match (order, backfill, placement, power, sleep) {
            (Ok(order), Ok(mut backfill), Ok(placement), Ok(power), Ok(sleep)) => {
                self.check(&order.beside)?;
                if self.placement.name != "lowest-id" {
                    backfill.part.let_place();
                }
                let full =
                    |spec: &PartSpec, params: &BTreeMap<_, _>| PartSpec { params: params.clone(), ..spec.clone() };
                let spec = Self {
                    name: self.name.clone(),
                    order: full(&self.order, &order.params),
                    backfill: full(&self.backfill, &backfill.params),
                    placement: full(&self.placement, &placement.params),
                    power: self.power.as_ref().zip(power.as_ref()).map(|(spec, made)| full(spec, &made.params)),
                    sleep: self.sleep.as_ref().zip(sleep.as_ref()).map(|(spec, made)| full(spec, &made.params)),
                };
                let (power, sleep) = (power.map(|power| power.part), sleep.map(|sleep| *sleep.part));
                let mut parts = together(order, backfill, placement, power, sleep, seed);
                features::of_parts(&mut parts).check()?;
                Ok((parts, spec))
            }
            (order, backfill, placement, power, sleep) => {
                let faults = [order.err(), backfill.err(), placement.err(), power.err(), sleep.err()];
                Err(all_faults(faults.into_iter().flatten()))
            }
        }
    }

    /// Checks that the parts go together, as far as their names and parameters say.
    fn check(&self, order: &Beside) -> Result<()> {
        let Self { backfill, placement, power, .. } = self;
        let row = backfills().find(|row| row.name == backfill.name);
        let is = |fact: fn(&Row<dyn Backfill>) -> bool| row.is_some_and(fact);
        let names = is(|row| row.chooses_nodes);
        let waits = placement.params.get("on_miss") == Some(&Value::Text("wait".to_owned()));
        let features = Features::default()
            .with(Feature::Sleep, self.sleep.is_some())
            .with(Feature::Budget, power.is_some())
            .with(Feature::NamesNodes, names)
            .with(Feature::PlansNoWatts, names && !is(|row| row.plans_watts))
            .with(Feature::PlacesItself, names && !is(|row| row.lets_place))
            .with(Feature::OtherPlacement, placement.name != "lowest-id")
            .with(Feature::PlacementWaits, waits)
            .with(Feature::FirstRuns, order.profiling_ratio.is_some());
        let power = power.as_ref().map_or("", |power| &power.name);
        features.check_naming(&[("backfill", &backfill.name), ("placement", &placement.name), ("power", power)])
    }
}

/// All faults of several parts as one error.
fn all_faults(errors: impl Iterator<Item = Error>) -> Error {
    let mut faults = Vec::new();
    for error in errors {
        match error {
            Error::Config(config) => faults.extend(config.faults),
            other => return other,
        }
    }
    ConfigError { faults }.into()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::params::Parameter;

    fn part(name: &str) -> PartSpec {
        PartSpec { name: name.into(), params: BTreeMap::new() }
    }

    fn named(parameters: &[Parameter]) -> BTreeSet<String> {
        parameters.iter().map(|parameter| parameter.name.to_owned()).collect()
    }

    fn names(params: BTreeMap<String, Value>) -> BTreeSet<String> {
        params.into_keys().collect()
    }

    #[test]
    fn every_part_can_be_made_with_its_defaults() {
        for order in ORDERS {
            for backfill in BACKFILLS {
                for placement in
                    PLACEMENTS.iter().filter(|row| !chooses_nodes(backfill.name) || row.name == "lowest-id")
                {
                    let spec = PolicySpec {
                        name: "test".into(),
                        order: part(order.name),
                        backfill: part(backfill.name),
                        placement: part(placement.name),
                        power: None,
                        sleep: None,
                    };
                    let (_, full) = spec.build(0).unwrap();
                    assert_eq!(names(full.backfill.params), named(&backfill.parameters()));
                    assert_eq!(names(full.placement.params), named(&placement.parameters()));
                }
            }
        }
    }

    #[test]
    fn pools_must_not_end_before_they_begin() {
        let params = BTreeMap::from([("u_l".into(), Value::Float(0.9)), ("u_h".into(), Value::Float(0.5))]);
        let spec = PolicySpec {
            name: "test".into(),
            order: part("fcfs"),
            backfill: part("none"),
            placement: PartSpec { params, ..part("pools") },
            power: None,
            sleep: None,
        };
        let message = spec.build(0).err().unwrap().to_string();
        assert_eq!(message, "policy.placement.u_l: found 0.9, expected at most u_h, which is 0.5");
    }

    #[test]
    fn all_faults_come_at_once() {
        let spec = PolicySpec {
            name: "test".into(),
            order: part("fifo"),
            backfill: PartSpec { params: BTreeMap::from([("depth".into(), Value::Int(0))]), ..part("reservations") },
            placement: part("lowest-id"),
            power: None,
            sleep: None,
        };
        let message = spec.build(0).err().unwrap().to_string();
        assert_eq!(
            message,
            "policy.order: found `fifo`, expected one of fcfs, shortest, longest, smallest, largest, smallest-area, wfp3, observed, vahrm, fair-share\n\
             policy.backfill.depth: found 0, expected a whole number from 1, or \"unbounded\""
        );
    }
}
