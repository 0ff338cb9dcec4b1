//! Setup of a run from plain values: the tables of the nodes' draws, a policy made of named parts and of a host's own
//! ones, and the machine that this policy is for.

use std::sync::Arc;

use crate::cluster::Cluster;
use crate::cluster::capacity::Sight;
use crate::cluster::growth::Growth;
use crate::control::Controller;
use crate::control::live::Live;
use crate::control::succession::Divisions;
use crate::error::{ConfigError, Result, config};
use crate::platform::Platform;
use crate::platform::cells::Cells;
use crate::platform::lanes;
use crate::platform::queues::Queues;
use crate::platform::scope::Scope;
use crate::policy::Policy;
use crate::policy::agent::choices::Choices;
use crate::policy::allocator::Allocator;
use crate::policy::budget::least::LeastCaps;
use crate::policy::by_lane::ByLane;
use crate::policy::compose::{Composed, Parts};
use crate::policy::registry::refused::{Feature, Features};
use crate::policy::registry::{PolicySpec, chooses_nodes};
use crate::policy::sleep::Sleep;
use crate::policy::sleep::rules::Rules;
use crate::power::budgets::BudgetRow;
use crate::power::caps::{CapsKind, CapsSpec};
use crate::power::known::{KnownDraws, Rule};
use crate::power::pvt::{Actual, OnUnknownApp, Predicted, VariationTable, tables_with_caps};
use crate::sim::options::Walltimes;
use crate::sim::own_parts::OwnParts;
use crate::sim::under_way::UnderWay;
use crate::sim::{Options, Simulation};
use crate::units::SimTime;
use crate::workload::Workload;

/// Ingredients of a run.
pub struct Setup<'a> {
    /// The jobs.
    pub workload: &'a Arc<Workload>,
    /// The machine.
    pub platform: &'a Platform,
    /// Draws and speeds of the nodes.
    pub tables: Tables<'a>,
    /// The policy's parts, by name.
    pub spec: PolicySpec,
    /// Seed of the random numbers.
    pub seed: u64,
    /// Options of the run.
    pub options: Options,
    /// Choices of an agent, if one decides.
    pub agent: Option<Choices>,
    /// Differences of nodes in what jobs ask for, if there are any.
    pub cells: Option<Cells>,
    /// Queues of the jobs, if there are any.
    pub queues: Option<Queues>,
    /// Budgets from outside. If they are given, even an empty list, the run shows the budget in force over time.
    pub budgets: Option<Vec<BudgetRow>>,
    /// Group of each job, for an order that shares the machine between groups.
    pub groups: Option<Arc<[u32]>>,
    /// Instant up to which the log and not the policy decides what starts, if there is one.
    pub from: Option<SimTime>,
    /// Parts that the host brings along.
    pub own: OwnParts,
}

/// Data on draws and speeds.
pub struct Tables<'a> {
    /// Actual table of the nodes.
    pub actual: Option<&'a VariationTable>,
    /// Predicted table, if it differs from the actual one.
    pub predicted: Option<&'a VariationTable>,
    /// Effects of caps.
    pub caps: &'a CapsSpec,
    /// Treatment of applications that no table knows.
    pub unknown: OnUnknownApp,
    /// Rule for what a measured draw counts as before its job has run.
    pub known: Rule,
    /// Forecast of jobs' own draws, W per node, by row.
    pub forecast_w: Option<Vec<f64>>,
}

/// The kind of decision maker, and the nodes that it decides about.
enum Kind {
    /// A whole scheduler of the host's own, about the machine.
    Own(Box<dyn Policy>),
    /// An agent, about the machine.
    Agent(Choices),
    /// Parts that count, about each lane as if it were the machine.
    EachLane,
    /// Parts that count, about the only lane; the other nodes idle for the whole run.
    OnlyLane,
    /// Parts that count, about the machine, by cells that are in the same lanes. Where nodes sleep under a budget there
    /// may be one lane: the others sleep, too, and leave their watts to it.
    ByCell,
    /// Parts, about the machine.
    Whole,
}

impl Kind {
    /// True if it knows lanes.
    fn has_lanes(&self) -> bool {
        matches!(self, Self::EachLane | Self::OnlyLane | Self::ByCell)
    }

    /// Part of the machine that it decides about at a time.
    fn sight(&self) -> Sight {
        match self {
            Self::EachLane => Sight::EachLane,
            Self::OnlyLane => Sight::OnlyLane,
            Self::Own(_) | Self::Agent(_) | Self::ByCell | Self::Whole => Sight::Whole,
        }
    }

    /// Checks that it can begin with jobs under way.
    fn check_under_way(&self) -> Result<()> {
        let features = Features::default().with(Feature::UnderWay, true);
        features.with(Feature::Agent, matches!(self, Self::Agent(_))).check()
    }
}

/// Parts of a run, made from its plain values.
struct Prepared {
    parts: Parts,
    actual: Actual,
    predicted: Predicted,
    kind: Kind,
    queues: Option<Arc<Queues>>,
    cells: Option<Arc<Cells>>,
}

impl Setup<'_> {
    /// Makes the run, in which nothing has happened yet.
    ///
    /// # Errors
    /// If something in the setup is invalid, or two things in it do not go together.
    pub fn simulation(mut self) -> Result<Simulation> {
        let Prepared { parts, actual, predicted, kind, queues, cells } = self.prepared()?;
        let sight = kind.sight();
        let (budgets, from) = (self.budgets.take(), self.from);
        if from.is_some() {
            kind.check_under_way()?;
        }
        let (jobs, platform, options) = (Arc::clone(self.workload), self.platform.clone(), self.options);
        let policy = self.policy(kind, parts, queues.as_ref())?;
        let mut simulation = Simulation::new(jobs, platform, actual, predicted, policy, options);
        if let Some(queues) = &queues {
            simulation.split(queues, sight);
        }
        if let Some(cells) = cells {
            simulation.divide(cells)?;
        }
        if let Some(queues) = queues {
            simulation.line_up(queues)?;
        }
        if let Some(rows) = budgets {
            simulation.add_budgets(rows);
        }
        if let Some(from) = from {
            simulation.world.under_way = Some(UnderWay::new(simulation.workload(), from));
        }
        Ok(simulation)
    }

    /// Gives the group of each job to an order that shares the machine between groups.
    fn group(&self, parts: &mut Parts) {
        if let Some(groups) = &self.groups {
            parts.order.group(groups);
        }
    }

    /// Continues a run from `at` on under the policy of this setup, which is otherwise that of the run.
    ///
    /// # Errors
    /// If something in the setup is invalid, or the policy cannot go on from where the run is.
    pub fn succeeding(mut self, run: Simulation, at: SimTime) -> Result<Simulation> {
        let Prepared { parts, predicted, kind, queues, cells, .. } = self.prepared()?;
        if matches!(kind, Kind::Agent(_)) {
            return Err(config("policy", "an agent", "a policy"));
        }
        let sight = kind.sight();
        let policy = self.policy(kind, parts, queues.as_ref())?;
        run.succeed(policy, predicted, Divisions { cells, queues, sight }, at)
    }

    /// Adds jobs to a run under way. The jobs of this setup are those of the run, in their old rows, and more.
    ///
    /// # Errors
    /// If something in the setup is invalid, or the run was not set up for what the new jobs ask for; the run is
    /// unchanged then.
    pub fn extending(mut self, run: &mut Simulation) -> Result<()> {
        let Prepared { actual, predicted, queues, cells, .. } = self.prepared()?;
        let (workload, predicted) = (Arc::clone(self.workload), Arc::new(predicted));
        run.grow(&Growth { workload, predicted, cells, queues, groups: self.groups.take() }, actual)
    }

    /// Makes everything that is needed for the run from the plain values.
    fn prepared(&mut self) -> Result<Prepared> {
        let (mut parts, _) = self.spec.build(self.seed)?;
        self.own.fill(&mut parts);
        self.group(&mut parts);
        let (actual, predicted) = self.tables(&parts)?;
        self.teach(&mut parts, &actual, &predicted)?;
        if let Some(allocator) = self.own.allocator.take() {
            self.check_allocator(&*allocator, &actual, &predicted)?;
            parts.allocator = Some(allocator);
        }
        let scheduler = self.own.scheduler.take();
        let (mut queues, mut cells) = (self.queues.take().map(Arc::new), self.cells.take());
        let kind = self.kind(scheduler, queues.as_ref(), &parts);
        if let Some(own) = queues.as_mut().filter(|_| kind.has_lanes()) {
            *own = Arc::new(own.in_lanes());
            if matches!(kind, Kind::ByCell) {
                let all = cells.unwrap_or_else(|| Cells::alike(self.workload.len(), self.platform.len()));
                cells = Some(lanes::split(&all, own)?);
            }
        }
        Ok(Prepared { parts, actual, predicted, kind, queues, cells: cells.map(Arc::new) })
    }

    /// Makes the actual table, by which runs are charged, and the predicted one, which policies read.
    fn tables(&mut self, parts: &Parts) -> Result<(Actual, Predicted)> {
        let Tables { actual, predicted, caps, unknown, known, forecast_w } = &mut self.tables;
        let (actual, predicted) = tables_with_caps(self.platform, self.workload, *actual, *predicted, caps, *unknown)?;
        let known = match forecast_w.take() {
            Some(watts) => KnownDraws::forecast(watts, *known, self.workload)?,
            None => KnownDraws::by(*known),
        };
        let predicted = match parts.forecast.as_deref() {
            Some(forecast) => predicted.told_by(forecast, known)?,
            None => predicted.knowing(known),
        };
        Ok((actual, predicted))
    }

    /// Gives a budget the tables, and checks that the caps it sets are possible for all jobs.
    fn teach(&self, parts: &mut Parts, actual: &Actual, predicted: &Predicted) -> Result<()> {
        let Some(power) = &mut parts.power else { return Ok(()) };
        power.learn(predicted)?;
        self.check_levels(actual, "policy.power.caps_w", power.levels())
    }

    /// Checks a host's allocator: it needs known effects of caps, and a lowest cap that is possible for all jobs.
    fn check_allocator(&self, allocator: &dyn Allocator, actual: &Actual, predicted: &Predicted) -> Result<()> {
        let least = match allocator.least() {
            LeastCaps::Watts(watts) => Some(watts),
            LeastCaps::None | LeastCaps::Slowdown(..) => None,
        };
        check_caps(predicted.caps_kind(), least)?;
        let least = least.or(predicted.levels().first().copied());
        self.check_levels(actual, LEAST, least.as_slice())
    }

    fn check_levels(&self, actual: &Actual, parameter: &str, levels: &[f64]) -> Result<()> {
        let faults = actual.check_levels(self.workload, parameter, levels);
        if faults.is_empty() { Ok(()) } else { Err(ConfigError { faults }.into()) }
    }

    /// Finds out what decides. Parts that count cannot tell the nodes of a queue apart: if a queue has only some of the
    /// nodes, they decide about these nodes alone, or count nodes by cell.
    fn kind(&mut self, scheduler: Option<Box<dyn Policy>>, queues: Option<&Arc<Queues>>, parts: &Parts) -> Kind {
        let has_budget = parts.power.is_some();
        if let Some(scheduler) = scheduler {
            return Kind::Own(scheduler);
        }
        if let Some(agent) = self.agent.take() {
            return Kind::Agent(agent);
        }
        match queues {
            Some(queues) if !queues.are_whole() && !chooses_nodes(&self.spec.backfill.name) => {
                let has_one = queues.only_pool().is_some();
                match parts.sleep {
                    None if has_one => Kind::OnlyLane,
                    _ if !has_budget && queues.are_disjoint() => Kind::EachLane,
                    _ => Kind::ByCell,
                }
            }
            _ => Kind::Whole,
        }
    }

    /// Makes what decides about the machine, or about its lanes.
    fn policy(self, kind: Kind, parts: Parts, queues: Option<&Arc<Queues>>) -> Result<Box<dyn Policy>> {
        Ok(match (kind, queues) {
            (Kind::Own(scheduler), _) => scheduler,
            (Kind::Agent(agent), _) => Box::new(agent.policy(self.spec, parts, self.platform, self.seed)?),
            (Kind::EachLane, Some(queues)) => Box::new(self.by_lane(queues, &parts)?),
            (Kind::OnlyLane, Some(queues)) => {
                let own = queues.only_pool().unwrap_or_default();
                Box::new(Composed::within(self.spec.name, parts, Scope::of(self.platform, own))?)
            }
            (Kind::Whole | Kind::ByCell | Kind::EachLane | Kind::OnlyLane, _) => {
                Box::new(Composed::new(self.spec.name, parts, self.platform)?)
            }
        })
    }

    /// Makes a controller for a live machine, to which nothing has happened since `start`.
    ///
    /// # Errors
    /// If something in the setup is invalid, or two things in it do not go together.
    pub fn live(mut self, start: SimTime) -> Result<Live> {
        let Prepared { parts, actual, predicted, kind, queues, cells } = self.prepared()?;
        let (workload, platform, options) = (Arc::clone(self.workload), self.platform, self.options);
        let sight = kind.sight();
        let mut policy = self.policy(kind, parts, queues.as_ref())?;
        if options.kill_at_walltime {
            policy.enforce_limits(options.kill_grace);
        }
        let stretches = options.walltimes == Walltimes::Stretch;
        let cluster = Cluster::new(start, workload, Arc::new(platform.clone()), Arc::new(predicted), stretches);
        let mut controller = Controller::new(cluster, policy);
        if let Some(queues) = &queues {
            controller.split(queues, sight);
        }
        if let Some(cells) = cells {
            controller.divide(cells)?;
        }
        if let Some(queues) = queues {
            controller.line_up(queues)?;
        }
        Ok(Live::new(controller, actual.has_caps()))
    }

    /// Adds jobs to a live machine. The jobs of this setup are those that it has, in their old rows, and more.
    ///
    /// # Errors
    /// If something in the setup is invalid, or the controller was not set up for what the new jobs ask for; it is
    /// unchanged then.
    pub fn growing(mut self, live: &mut Live) -> Result<()> {
        let Prepared { predicted, queues, cells, .. } = self.prepared()?;
        let (workload, predicted) = (Arc::clone(self.workload), Arc::new(predicted));
        live.grow(&Growth { workload, predicted, cells, queues, groups: self.groups.take() })
    }

    /// Makes a policy for each lane, with separate parts; one sleep rule covers the nodes of all lanes.
    fn by_lane(&self, queues: &Arc<Queues>, parts: &Parts) -> Result<ByLane> {
        let all = Scope::all(self.platform);
        let sleep = parts.sleep.as_ref().map(|rules| Sleep::new(rules, all)).transpose()?;
        ByLane::new(queues, sleep, |nodes| {
            let (mut parts, _) = self.spec.build(self.seed)?;
            self.group(&mut parts);
            parts.sleep = parts.sleep.map(Rules::in_lane);
            Composed::within(self.spec.name.clone(), parts, Scope::of(self.platform, nodes))
        })
    }
}

/// Name of an allocator's lowest cap in errors.
const LEAST: &str = "policy.power.allocator.least_cap_w";

fn check_caps(caps: Option<CapsKind>, least: Option<f64>) -> Result<()> {
    let parameter = "policy.power.allocator";
    match caps {
        None => {
            let expected = "a platform with tables by cap or a cap model, which say what a cap does";
            Err(config(parameter, "an allocator on a platform without caps", expected))
        }
        Some(CapsKind::Model) if least.is_none() => Err(config(
            LEAST,
            "nothing",
            "watts a node: the lowest cap that it sets; by a cap model every cap is known",
        )),
        Some(_) => Ok(()),
    }
}
