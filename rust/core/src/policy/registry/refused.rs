//! Pairs of features that refuse each other: the only place that lists them, with the reason for each.
//!
//! A policy and its setting have [`Features`], which are known bit by bit: those of the parts by their names, those of
//! the parts on a platform, those of unlike nodes and of queues. Each time [`Features::check`] looks them up here.

use std::collections::BTreeSet;
use std::fmt;

use crate::error::{ConfigError, Error, Fault, Result};

/// A feature of a policy, or of the machine, the queues and the run that it is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Feature {
    /// A sleep part.
    Sleep,
    /// A sleep part that wakes nodes by counts.
    SleepByCount,
    /// A sleep part that wakes nodes by a plan.
    SleepByPlan,
    /// A sleep part under a budget.
    SleepUnderBudget,
    /// A budget.
    Budget,
    /// An allocator of watts, or steps that are taken if the draw exceeds the budget.
    Governance,
    /// A backfill that names the nodes of jobs.
    NamesNodes,
    /// A backfill that leaves nothing to a placement.
    PlacesItself,
    /// A backfill that counts nodes.
    CountsNodes,
    /// A backfill that counts slots of shared nodes, wherever they are.
    CountsAlike,
    /// A backfill that does not count the watts of nodes that boot.
    CountsNoBoots,
    /// A backfill that names the nodes of jobs, and plans no watts there.
    PlansNoWatts,
    /// Slurm's scheduler.
    SlurmLoops,
    /// A placement that is not the default.
    OtherPlacement,
    /// A placement that may refuse a job.
    PlacementWaits,
    /// An order of the backfill's own.
    OwnCandidates,
    /// A limit after which jobs go before all others.
    StarvationLimit,
    /// First runs that are profiled.
    FirstRuns,
    /// A sizing that resizes running jobs.
    Resizing,
    /// An agent that decides.
    Agent,
    /// Nodes that jobs share.
    SharedNodes,
    /// Nodes that differ in what jobs ask for.
    UnlikeNodes,
    /// Jobs that share more than slots: nodes differ in what they ask for, or there is a budget.
    BeyondSlots,
    /// A queue that preempts others.
    Preemption,
    /// Queues of several sets of nodes, which overlap or are under one budget, and are counted by set.
    SeveralSets,
    /// A run that begins with jobs under way.
    UnderWay,
}

/// Two features that do not go together.
#[derive(Clone, Copy, Debug)]
pub struct RefusedPair {
    /// One feature.
    pub one: Feature,
    /// The other feature.
    pub other: Feature,
    /// Parameter that the error names.
    pub parameter: &'static str,
    /// Value that is found there; `{}` stands for a detail of the run.
    pub found: &'static str,
    /// Valid value, and the reason.
    pub expected: &'static str,
}

const fn pair(
    one: Feature,
    other: Feature,
    parameter: &'static str,
    found: &'static str,
    expected: &'static str,
) -> RefusedPair {
    RefusedPair { one, other, parameter, found, expected }
}

/// The pairs.
pub const REFUSED: &[RefusedPair] = &[
    pair(
        Feature::Sleep,
        Feature::PlacementWaits,
        "policy.placement.on_miss",
        "`wait`",
        "`narrowest` with a sleep part: nodes are not woken for a job that the placement refuses",
    ),
    pair(
        Feature::Sleep,
        Feature::OwnCandidates,
        "policy.sleep",
        "a part",
        "none with backfill.order: nodes are woken for jobs in policy order",
    ),
    pair(
        Feature::SleepByCount,
        Feature::SharedNodes,
        "policy.sleep",
        "a part",
        "none, or backfill `plan`: on shared nodes counts of slots do not say which nodes a job needs",
    ),
    pair(
        Feature::SleepByPlan,
        Feature::StarvationLimit,
        "policy.order.starvation_limit_s",
        "a limit",
        "\"none\" with backfill `plan` and a sleep part: a job that starves is in no plan that wakes nodes",
    ),
    pair(
        Feature::SleepUnderBudget,
        Feature::Governance,
        "policy.sleep",
        "a part",
        "none with an allocator or steps in on_excess: no rule says yet who gives up watts for a node to boot",
    ),
    pair(
        Feature::SleepUnderBudget,
        Feature::CountsNoBoots,
        "policy.sleep",
        "a part",
        "none, first-fit or reservations with a power part: others do not plan with the watts to wake nodes",
    ),
    pair(
        Feature::PlacesItself,
        Feature::OtherPlacement,
        "policy.placement",
        "`{placement}`",
        "lowest-id, the default: backfill `{backfill}` chooses the nodes",
    ),
    pair(
        Feature::PlansNoWatts,
        Feature::Budget,
        "policy.power",
        "`{power}`",
        "none: backfill `{backfill}` counts no watts; plan and reservations do",
    ),
    pair(
        Feature::NamesNodes,
        Feature::FirstRuns,
        "policy.order.first_run",
        "true",
        "false: backfill `{backfill}` chooses the nodes, also of first runs",
    ),
    pair(
        Feature::SlurmLoops,
        Feature::SharedNodes,
        "policy.backfill",
        "`slurm` on shared nodes",
        "whole nodes (exclusive=True): Slurm's scheduler is known for jobs of whole nodes",
    ),
    pair(
        Feature::CountsAlike,
        Feature::UnlikeNodes,
        "policy.backfill",
        "a part that counts slots, wherever they are",
        "plan, which names nodes: jobs share them, and they differ in what jobs ask for",
    ),
    pair(
        Feature::Resizing,
        Feature::UnlikeNodes,
        "policy.backfill.sizing",
        "an object with a method `resizes`",
        "one without it: where nodes differ in what jobs ask for, a job keeps the size it starts with",
    ),
    pair(
        Feature::Preemption,
        Feature::BeyondSlots,
        "queues.preempts",
        "queues that make way",
        "nothing: it is not known yet how suspended jobs share watts, or what nodes differ in",
    ),
    pair(
        Feature::Preemption,
        Feature::CountsNodes,
        "policy.backfill",
        "a part that counts nodes",
        "plan, which says on which nodes jobs make way: a queue preempts others",
    ),
    pair(
        Feature::Preemption,
        Feature::StarvationLimit,
        "policy.order.starvation_limit_s",
        "a limit",
        "\"none\" where a queue preempts others: its jobs go before those that starve",
    ),
    pair(
        Feature::SeveralSets,
        Feature::OwnCandidates,
        "policy.backfill.order",
        "an order",
        "\"policy\" where nodes of several queues are counted by set: the jobs behind the last reservation of one set may \
         stand among those of another that still reserve",
    ),
    pair(Feature::UnderWay, Feature::Agent, "policy", "an agent", "a policy: it begins with jobs under way"),
];

/// The features of a policy and its setting, as far as they are known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Features(BTreeSet<Feature>);

impl Features {
    /// The same with a feature, if it is there.
    #[must_use]
    pub fn with(mut self, feature: Feature, is_there: bool) -> Self {
        if is_there {
            self.0.insert(feature);
        }
        self
    }

    /// Checks that no two of them refuse each other.
    ///
    /// # Errors
    /// A [`ConfigError`] with a fault for each pair that does.
    pub fn check(&self) -> Result<()> {
        self.check_naming(&[])
    }

    /// The same, with names for what stands in braces.
    ///
    /// # Errors
    /// Same as for [`Features::check`].
    pub fn check_naming(&self, names: &[(&str, &str)]) -> Result<()> {
        let refused = REFUSED.iter().filter(|pair| self.0.contains(&pair.one) && self.0.contains(&pair.other));
        let faults: Vec<_> = refused.map(|pair| pair.fault(names)).collect();
        if faults.is_empty() { Ok(()) } else { Err(ConfigError { faults }.into()) }
    }
}

impl RefusedPair {
    fn fault(&self, names: &[(&str, &str)]) -> Fault {
        let filled = |text: &str| {
            names.iter().fold(text.to_owned(), |text, (role, name)| text.replace(&format!("{{{role}}}"), name))
        };
        Fault { parameter: self.parameter.to_owned(), value: filled(self.found), expected: filled(self.expected) }
    }
}

/// Error of two features that refuse each other, where a part finds that out by itself; `detail` is what the sentence
/// leaves open.
///
/// # Panics
/// If they do not refuse each other.
#[must_use]
pub fn refusal(one: Feature, other: Feature, detail: impl fmt::Display) -> Error {
    let pair = REFUSED.iter().find(|pair| (pair.one, pair.other) == (one, other)).expect("a row of the table");
    ConfigError { faults: vec![pair.fault(&[("", &detail.to_string())])] }.into()
}

impl Feature {
    /// The feature, in words.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            Self::Sleep => "a sleep part",
            Self::SleepByCount => "a sleep part with any backfill but `plan`",
            Self::SleepByPlan => "a sleep part with `plan`",
            Self::SleepUnderBudget => "a sleep part with a power part",
            Self::Budget => "a power part",
            Self::Governance => "an allocator, or steps in `on_excess`",
            Self::NamesNodes => "`plan` or `slurm`",
            Self::PlacesItself => "`plan`",
            Self::CountsNodes => "a backfill that counts nodes",
            Self::CountsAlike => "any backfill but `plan` on nodes that jobs share",
            Self::CountsNoBoots => "`observed`, `patience` or `plan`",
            Self::PlansNoWatts | Self::SlurmLoops => "`slurm`",
            Self::OtherPlacement => "a placement other than `lowest-id`",
            Self::PlacementWaits => "`on_miss=wait`",
            Self::OwnCandidates => "a backfill's `order`",
            Self::StarvationLimit => "`starvation_limit_s`",
            Self::FirstRuns => "`first_run`",
            Self::Resizing => "a sizing with `resizes`",
            Self::Agent => "an agent",
            Self::SharedNodes => "nodes that jobs share",
            Self::UnlikeNodes => "nodes that differ in what jobs ask for",
            Self::BeyondSlots => "nodes that differ in what jobs ask for, or a power part",
            Self::Preemption => "a queue that preempts others",
            Self::SeveralSets => "queues of several sets of nodes that overlap, or under a budget",
            Self::UnderWay => "a run that begins with jobs under way",
        }
    }
}
