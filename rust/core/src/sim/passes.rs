//! Which passes are made, and which wait for a multiple of an interval.

use crate::policy::timing::Timing;
use crate::units::{SimDuration, SimTime};

/// The pass that is owed to those who wait for one.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Passes {
    /// When it is made.
    owed: Option<SimTime>,
    /// When there is one whatever happens until then, as the last one said.
    alarm: Option<SimTime>,
    /// Whether nothing but submissions happened in the round under way.
    submits_only: bool,
}

/// What is to be done at the end of a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Due {
    /// A pass is made.
    Now,
    /// A pass must be seen to, at that instant.
    At(SimTime),
    /// That has been done.
    Later,
}

impl Passes {
    /// One is owed at `at`, and nothing else is known.
    pub(super) fn owing(at: SimTime) -> Self {
        Self { owed: Some(at), ..Self::default() }
    }

    /// In the round under way nothing else happened, or something did.
    pub(super) fn note_round(&mut self, submits_only: bool) {
        self.submits_only = submits_only;
    }

    /// A pass is over: what it says is all that holds of when there has to be another.
    pub(super) fn set_alarm(&mut self, alarm: Option<SimTime>) {
        self.alarm = alarm;
    }

    /// When there has to be another pass.
    pub(super) fn alarm(&self) -> Option<SimTime> {
        self.alarm
    }

    /// Whether there has to be one now, by the alarm: it rings once.
    pub(super) fn ring(&mut self, now: SimTime) -> bool {
        self.alarm.take_if(|at| *at <= now).is_some()
    }

    /// Whether the pass that was to be made now is still owed.
    pub(super) fn is_owed(&self, now: SimTime) -> bool {
        self.owed == Some(now)
    }

    /// Whether a pass is made now, at the end of a round in which something happened.
    pub(super) fn due(&mut self, now: SimTime, timing: Timing) -> Due {
        let interval = timing.interval(self.submits_only);
        let late = if interval > SimDuration::ZERO { now.micros().rem_euclid(interval.micros()) } else { 0 };
        if late == 0 {
            // A pass is for all that wait: those that were gathered wait for no other.
            if let Timing::Gathering(_) = timing {
                self.owed = None;
            }
            return Due::Now;
        }
        let due = SimTime::from_micros(now.micros() - late).saturating_add(interval);
        if self.owed.replace(due) == Some(due) { Due::Later } else { Due::At(due) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn submissions_wait_and_anything_else_serves_them_at_once() {
        let (at, timing) = (SimTime::from_micros, Timing::gathering(SimDuration::from_micros(10)));
        let mut passes = Passes::default();
        passes.note_round(true);
        assert_eq!(
            [at(10), at(11), at(12)].map(|now| passes.due(now, timing)),
            [Due::Now, Due::At(at(20)), Due::Later]
        );
        assert!(passes.is_owed(at(20)));
        passes.note_round(false);
        assert_eq!(passes.due(at(13), timing), Due::Now);
        assert!(!passes.is_owed(at(20)));
    }
}
