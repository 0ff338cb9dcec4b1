//! Nodes that are free over time without waking any, beyond those that a wake plan holds (operations page on machines,
//! rule 20): a(t) - h(t).

use crate::policy::sleep::answers::Leave;
use crate::policy::sleep::node_rule::NodeRule;
use crate::units::{SimDuration, SimTime};

/// Levels step by step, for repeated questions.
#[derive(Clone, Debug, Default)]
pub(super) struct Levels {
    /// Each holds until the next.
    steps: Vec<(SimTime, i64)>,
    /// Prefix minima of the steps.
    least: Vec<i64>,
}

impl Levels {
    pub(super) fn of(steps: impl Iterator<Item = (SimTime, i64)>) -> Self {
        let steps: Vec<_> = steps.collect();
        let least = steps.iter().scan(i64::MAX, |least, step| {
            *least = step.1.min(*least);
            Some(*least)
        });
        Self { least: least.collect(), steps }
    }

    /// [`lack`] of these levels.
    pub(super) fn lack(&self, soon: SimTime) -> (i64, Option<SimTime>) {
        lack(self.steps.iter().copied(), soon)
    }

    /// Least level up to an instant, and before another.
    pub(super) fn least_until(&self, by: SimTime, before: SimTime) -> i64 {
        let within = self.steps.partition_point(|step| step.0 <= by || step.0 < before);
        self.least[within - 1]
    }

    /// Time at which a node is lacking, if `above` others go to sleep.
    pub(super) fn lacking(&self, above: usize) -> SimTime {
        let above = i64::try_from(above).unwrap_or(i64::MAX);
        let first = self.least.partition_point(|&least| least > above);
        self.steps.get(first).map_or(SimTime::NEVER, |step| step.0)
    }

    /// Answer to whether a node may go to sleep, if `asleep` others did before it.
    pub(super) fn leave(&self, now: SimTime, rule: &NodeRule, asleep: u32) -> Leave {
        let Some(far) = rule.far else { return Leave::Denied };
        let (by, before) = horizon(now, rule, far);
        if i64::from(asleep) < self.least_until(by, before) { Leave::Given } else { Leave::DeniedToAllAlike }
    }
}

/// Time up to which, and time before which, no node may be lacking such that one can sleep by these rules.
pub(super) fn horizon(now: SimTime, rule: &NodeRule, far: SimDuration) -> (SimTime, SimTime) {
    (now.saturating_add(rule.stop.saturating_add(rule.start)), now.saturating_add(far))
}

/// Levels of what is free over time, less the nodes that would have to be woken: these come back at steps, and are
/// subtracted there. `woken` are their numbers by instant.
pub(super) fn awake(
    free: impl Iterator<Item = (SimTime, i64)>,
    woken: &[(SimTime, i64)],
) -> impl Iterator<Item = (SimTime, i64)> {
    let (mut woken, mut count) = (woken.iter().peekable(), 0);
    free.map(move |(at, free)| {
        while let Some((_, nodes)) = woken.next_if(|one| one.0 <= at) {
            count += nodes;
        }
        (at, free - count)
    })
}

/// Highest number of nodes lacking by `soon`, and the first time after it at which more are lacking.
pub(super) fn lack(mut levels: impl Iterator<Item = (SimTime, i64)>, soon: SimTime) -> (i64, Option<SimTime>) {
    let mut lack = 0;
    let larger = levels.find(|&(at, level)| {
        let is_larger = -level > lack;
        lack = if at <= soon { lack.max(-level) } else { lack };
        is_larger && at > soon
    });
    (lack, larger.map(|step| step.0))
}
