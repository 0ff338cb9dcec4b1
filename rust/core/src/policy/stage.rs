//! Stages of a pass: what a policy is asked for, in this order.

use std::ops::Range;

use crate::units::SimDuration;

/// Stage of a pass, or of an emergency.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// Gives back what an emergency took, as far as there is room. If something is left to give back, the policy
    /// [holds](crate::policy::Decisions::hold) the starts of the pass (operations page, rules 20 to 22).
    Recover,
    /// Changes sizes of running jobs. Asked again until nothing more is decided.
    Resize,
    /// Starts jobs. Asked again once the sizes of waiting jobs that it has set are in force.
    Start,
    /// Wakes nodes, then puts others to sleep, once the starts are carried out.
    Rest,
    /// Sets the caps of all that runs (rules 23 to 26).
    Allot,
    /// Begins an emergency: the machine draws more than the budget. Nothing is decided yet.
    Alert,
    /// Takes the next step of the emergency; nothing, if none is left (rules 29 to 33).
    Relieve,
}

impl Stage {
    /// Stages of a pass, in order.
    const PASS: [Self; 5] = [Self::Recover, Self::Resize, Self::Start, Self::Rest, Self::Allot];
}

/// Stages of a pass that a policy has, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PassStages {
    all: Vec<Stage>,
    /// Number of those before the starts.
    first: usize,
}

impl PassStages {
    /// Stages before the starts.
    #[must_use]
    pub fn before_starts(&self) -> Range<usize> {
        0..self.first
    }

    /// The starts, and the stages after them.
    #[must_use]
    pub fn from_starts(&self) -> Range<usize> {
        self.first..self.all.len()
    }

    /// Stages after the starts.
    #[must_use]
    pub fn after_starts(&self) -> Range<usize> {
        self.first + 1..self.all.len()
    }

    /// True if there are none but the starts.
    #[must_use]
    pub fn are_starts_only(&self) -> bool {
        self.all.len() == 1
    }

    /// The stage of this number.
    #[must_use]
    #[inline]
    pub fn get(&self, number: usize) -> Option<Stage> {
        self.all.get(number).copied()
    }
}

/// Stages that a policy has besides the starts, and data that it wants to be informed of. Asked for once.
#[expect(clippy::struct_excessive_bools, reason = "they are facts that do not depend on each other")]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stages {
    /// Interval at whose multiples the measured draw is compared with the budget, if it handles emergencies; zero:
    /// after every instant.
    pub monitor: Option<SimDuration>,
    /// Interval at whose multiples it sets the caps of running jobs, if it does outside of emergencies; zero: in every
    /// pass.
    pub allot: Option<SimDuration>,
    /// True if it changes sizes of running jobs.
    pub resizes: bool,
    /// True if it switches idle nodes off and on.
    pub rests: bool,
    /// True if it follows what jobs use.
    pub follows: bool,
    /// True if it learns from runs that are over.
    pub learns: bool,
}

impl Stages {
    /// True if it has this stage.
    #[must_use]
    pub fn has(self, stage: Stage) -> bool {
        match stage {
            Stage::Start => true,
            Stage::Resize => self.resizes,
            Stage::Rest => self.rests,
            Stage::Allot => self.allot.is_some(),
            Stage::Recover | Stage::Alert | Stage::Relieve => self.monitor.is_some(),
        }
    }

    /// The stages of a pass that it has.
    #[must_use]
    pub fn of_pass(self) -> PassStages {
        let all: Vec<_> = Stage::PASS.into_iter().filter(|&stage| self.has(stage)).collect();
        PassStages { first: all.partition_point(|&stage| stage < Stage::Start), all }
    }

    /// True if it governs the power of what runs: sets caps, or handles emergencies.
    #[must_use]
    pub fn governs(self) -> bool {
        self.monitor.is_some() || self.allot.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pass_has_the_stages_of_its_policy_in_their_order() {
        let plain = Stages::default().of_pass();
        assert_eq!((plain.before_starts(), plain.from_starts(), plain.get(0)), (0..0, 0..1, Some(Stage::Start)));
        let sleeps = Stages { rests: true, resizes: true, allot: Some(SimDuration::ZERO), ..Stages::default() };
        let stages = sleeps.of_pass();
        let of = |numbers: Range<usize>| numbers.filter_map(|number| stages.get(number)).collect::<Vec<_>>();
        assert!(plain.are_starts_only() && !stages.are_starts_only());
        assert_eq!(of(stages.before_starts()), [Stage::Resize]);
        assert_eq!(of(stages.from_starts()), [Stage::Start, Stage::Rest, Stage::Allot]);
        assert_eq!(of(stages.after_starts()), [Stage::Rest, Stage::Allot]);
        assert!(Stage::PASS.is_sorted() && sleeps.governs() && !Stages { rests: true, ..Stages::default() }.governs());
    }
}
