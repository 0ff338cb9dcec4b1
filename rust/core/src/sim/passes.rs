//! Which passes are made, and which wait for a multiple of an interval or for the end of a hold.

use crate::policy::sleep::Alarm;
use crate::policy::timing::Timing;
use crate::units::{SimDuration, SimTime};

/// The pass that is owed to those who wait for one.
#[derive(Clone, Debug, Default)]
pub(super) struct Passes {
    /// When it is made.
    owed: Option<SimTime>,
    /// When there is one whatever happens until then, as the last one said.
    alarm: Option<Alarm>,
    /// Whether nothing but submissions happened in the round under way.
    submits_only: bool,
    /// Times in which no pass is made, from one instant until another: apart from each other, in order.
    holds: Vec<(SimTime, SimTime)>,
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
    /// One is owed at `at`, and nothing else is known but when there is none.
    pub(super) fn owing(self, at: SimTime) -> Self {
        Self { owed: Some(at), holds: self.holds, ..Self::default() }
    }

    /// In the round under way nothing else happened, or something did.
    pub(super) fn note_round(&mut self, submits_only: bool) {
        self.submits_only = submits_only;
    }

    /// A pass is over: what it says is all that holds of when there has to be another.
    pub(super) fn set_alarm(&mut self, alarm: Option<Alarm>) {
        self.alarm = alarm;
    }

    /// When there has to be another pass, or sooner than it has to.
    pub(super) fn alarm(&self) -> Option<Alarm> {
        self.alarm
    }

    /// Whether there has to be one now, by the alarm: it rings once.
    pub(super) fn ring(&mut self, now: SimTime) -> bool {
        self.alarm.take_if(|alarm| alarm.at <= now).is_some()
    }

    /// Whether the pass that was to be made now is still owed.
    pub(super) fn is_owed(&self, now: SimTime) -> bool {
        self.owed == Some(now)
    }

    /// No pass is made from one instant until another.
    pub(super) fn hold(&mut self, from: SimTime, until: SimTime) {
        let first = self.holds.partition_point(|hold| hold.1 < from);
        let last = self.holds.partition_point(|hold| hold.0 <= until);
        let own = self.holds[first..last].iter().fold((from, until), |(a, b), hold| (a.min(hold.0), b.max(hold.1)));
        self.holds.splice(first..last, [own]);
    }

    /// When the hold ends that there is now.
    fn held_until(&self, now: SimTime) -> Option<SimTime> {
        let place = self.holds.partition_point(|hold| hold.1 <= now);
        self.holds.get(place).filter(|hold| hold.0 <= now).map(|hold| hold.1)
    }

    /// Whether a pass is made now, at the end of a round in which something happened.
    pub(super) fn due(&mut self, now: SimTime, timing: Timing) -> Due {
        if let Some(until) = self.held_until(now) {
            return if self.owed.replace(until) == Some(until) { Due::Later } else { Due::At(until) };
        }
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
    fn a_hold_delays_passes_to_its_end_and_holds_that_meet_are_one() {
        let (at, timing) = (SimTime::from_micros, Timing::AtOnce);
        let mut passes = Passes::default();
        passes.hold(at(30), at(40));
        passes.hold(at(10), at(15));
        passes.hold(at(15), at(20));
        assert_eq!(passes.holds, [(at(10), at(20)), (at(30), at(40))]);
        let dues = [at(9), at(10), at(19), at(20), at(30)].map(|now| passes.due(now, timing));
        assert_eq!(dues, [Due::Now, Due::At(at(20)), Due::Later, Due::Now, Due::At(at(40))]);
        passes.hold(at(0), at(100));
        assert_eq!(passes.holds, [(at(0), at(100))]);
    }

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
