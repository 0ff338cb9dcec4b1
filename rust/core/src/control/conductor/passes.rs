//! Timing of passes: made at once, or put off to a multiple of an interval or to the end of a hold.

use crate::policy::sleep::Alarm;
use crate::policy::timing::Timing;
use crate::units::{SimDuration, SimTime};

/// Passes to come: the one that was put off, and the next alarm.
#[derive(Clone, Debug, Default)]
pub(super) struct Passes {
    /// Instant to which a pass was put off.
    owed: Option<SimTime>,
    /// Next pass that is made even if nothing happens, as set by the last pass.
    alarm: Option<Alarm>,
    /// True if nothing but submissions happened in the present round.
    submits_only: bool,
    /// Holds: disjoint intervals without passes, in order.
    holds: Vec<(SimTime, SimTime)>,
}

/// Decision about a pass at the end of a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Due {
    /// A pass is made now.
    Now,
    /// A pass must be scheduled for that instant.
    At(SimTime),
    /// A pass has been scheduled already.
    Later,
}

impl Passes {
    /// State in which one pass is due at `at`; of the old state only the holds are kept.
    pub(super) fn owing(self, at: SimTime) -> Self {
        Self { owed: Some(at), holds: self.holds, ..Self::default() }
    }

    /// Notes whether only submissions happened in the present round.
    pub(super) fn note_round(&mut self, submits_only: bool) {
        self.submits_only = submits_only;
    }

    /// Replaces the alarm at the end of a pass.
    pub(super) fn set_alarm(&mut self, alarm: Option<Alarm>) {
        self.alarm = alarm;
    }

    /// Next alarm: the instant of another pass, or a lower bound on it.
    pub(super) fn alarm(&self) -> Option<Alarm> {
        self.alarm
    }

    /// True if the alarm rings now; it does so once.
    pub(super) fn ring(&mut self, now: SimTime) -> bool {
        self.alarm.take_if(|alarm| alarm.at <= now).is_some()
    }

    /// True if the pass that was put off to now is still due.
    pub(super) fn is_owed(&self, now: SimTime) -> bool {
        self.owed == Some(now)
    }

    /// Adds a hold: no pass is made from one instant until another. Holds that meet become one.
    pub(super) fn hold(&mut self, from: SimTime, until: SimTime) {
        let first = self.holds.partition_point(|hold| hold.1 < from);
        let last = self.holds.partition_point(|hold| hold.0 <= until);
        let own = self.holds[first..last].iter().fold((from, until), |(a, b), hold| (a.min(hold.0), b.max(hold.1)));
        self.holds.splice(first..last, [own]);
    }

    /// End of the present hold, if there is one.
    fn held_until(&self, now: SimTime) -> Option<SimTime> {
        let place = self.holds.partition_point(|hold| hold.1 <= now);
        self.holds.get(place).filter(|hold| hold.0 <= now).map(|hold| hold.1)
    }

    /// Decides whether a pass is made now, at the end of a round in which something happened.
    pub(super) fn due(&mut self, now: SimTime, timing: Timing) -> Due {
        if let Some(until) = self.held_until(now) {
            return if self.owed.replace(until) == Some(until) { Due::Later } else { Due::At(until) };
        }
        let interval = timing.interval(self.submits_only);
        let late = if interval > SimDuration::ZERO { now.micros().rem_euclid(interval.micros()) } else { 0 };
        if late == 0 {
            // A pass serves all waiting jobs: those gathered so far do not need another one.
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
