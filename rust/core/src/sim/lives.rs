//! Lives of runs whose speed may change: when each ends, what it has drawn, and the stretches in which nothing changed.

use crate::cluster::retimed;
use crate::sim::segments::{Held, Place, Stretch};
use crate::units::{Joules, SimDuration, SimTime};

/// A run as it really goes.
#[derive(Clone, Debug)]
pub(super) struct Life {
    /// When it ends by itself, as far as is settled.
    end: SimTime,
    /// When it is killed, grace apart, if it is.
    kill: Option<SimTime>,
    /// Until when it makes no progress, for its nodes have changed; in the past: it does.
    paused: SimTime,
    /// What was left of all three when it was suspended.
    left: Option<Left>,
    /// The F of these.
    factor: f64,
    /// Whether it has begun in this instant.
    is_new: bool,
    /// What its nodes drew for it in intervals that are closed.
    energy: Joules,
    held: Held,
    /// What it had drawn on shared nodes when its last stretch ended.
    charged: Joules,
    /// Its place among the segments.
    pub(super) place: Place,
    /// The lowest cap that was in force on any of its nodes, W.
    lowest_cap_w: f64,
    /// How long it has stood still.
    stood: SimDuration,
    /// What was settled before the instant in which its nodes last changed.
    before: Option<Box<Before>>,
}

/// What is left of a run that stands still, by the clock of its own.
#[derive(Clone, Copy, Debug)]
struct Left {
    end: SimDuration,
    kill: Option<SimDuration>,
    pause: SimDuration,
}

/// What was settled before an instant.
#[derive(Clone, Copy, Debug)]
struct Before {
    at: SimTime,
    end: SimTime,
    kill: Option<SimTime>,
    paused: SimTime,
    left: Option<Left>,
    factor: f64,
}

/// What has become of a run by the end of an instant.
#[derive(Clone, Copy, Debug)]
pub(super) struct Settled {
    /// The F now in force.
    pub(super) factor: f64,
    /// How many times longer what is left of its plan takes.
    pub(super) by: f64,
    /// How long it makes no progress; none if its nodes have not been changed in this instant.
    pub(super) pause: Option<SimDuration>,
}

impl Life {
    /// Of a run that begins and would go on like this.
    pub(super) fn new(start: SimTime, end: SimTime, kill: Option<SimTime>, stretch: Stretch, place: Place) -> Self {
        Self {
            end,
            kill,
            paused: start,
            left: None,
            before: None,
            factor: stretch.factor,
            is_new: true,
            energy: Joules::ZERO,
            held: Held { since: start, stretch, still_until: start },
            charged: Joules::ZERO,
            place,
            lowest_cap_w: f64::INFINITY,
            stood: SimDuration::ZERO,
        }
    }

    /// The same of one that has begun before this instant, under such a cap.
    pub(super) fn under_way(self, lowest_cap_w: f64) -> Self {
        Self { is_new: false, lowest_cap_w, ..self }
    }

    pub(super) fn end(&self) -> SimTime {
        self.end
    }

    pub(super) fn kill(&self) -> Option<SimTime> {
        self.kill
    }

    pub(super) fn energy(&self) -> Joules {
        self.energy
    }

    pub(super) fn is_suspended(&self) -> bool {
        self.left.is_some()
    }

    pub(super) fn lowest_cap_w(&self) -> f64 {
        self.lowest_cap_w
    }

    /// How long it has stood still by now.
    pub(super) fn stood(&self, now: SimTime) -> SimDuration {
        if self.held.stretch.is_suspended { self.stood + (now - self.held.since) } else { self.stood }
    }

    /// What is left of its run at the speed that is settled.
    pub(super) fn left(&self, now: SimTime) -> SimDuration {
        self.left.map_or(self.end - now, |left| left.end)
    }

    /// What is left of its work then: without the pause that it makes.
    pub(super) fn work_left(&self, now: SimTime) -> SimDuration {
        self.left(now) - self.left.map_or_else(|| until(now, self.paused), |left| left.pause)
    }

    /// It begins in this instant, on other nodes than it did.
    pub(super) fn begin_anew(&mut self, kill: Option<SimTime>) {
        self.is_new = true;
        self.kill = kill;
    }

    pub(super) fn factor(&self) -> f64 {
        self.factor
    }

    pub(super) fn draw(&mut self, energy: Joules) {
        self.energy += energy;
    }

    /// A stretch on shared nodes is over, and it has drawn so much in all by now: returns what it drew in the stretch.
    pub(super) fn charge(&mut self, all: Joules) -> Joules {
        let before = std::mem::replace(&mut self.charged, all);
        all - before
    }

    /// It stands still from now on.
    pub(super) fn suspend(&mut self, now: SimTime) {
        let kill = self.kill.map(|kill| until(now, kill));
        self.left = Some(Left { end: self.end - now, kill, pause: until(now, self.paused) });
    }

    /// It goes on.
    pub(super) fn resume(&mut self, now: SimTime) {
        if let Some(left) = self.left.take() {
            self.end = now.saturating_add(left.end);
            self.kill = left.kill.map(|kill| now.saturating_add(kill));
            self.paused = now.saturating_add(left.pause);
        }
    }

    /// Its speed is settled for now: what is left takes `factor`, and by plan `by` times what it did, and the pause that
    /// it makes on other nodes comes on top. `anew` says when a run ends that begins like this (operations page, rules 4
    /// to 7).
    pub(super) fn settle(&mut self, now: SimTime, mut to: Settled, anew: impl FnOnce() -> SimTime) {
        if to.pause.is_some() && !self.go_back(now) {
            (to.by, to.pause) = (1.0, None);
        }
        let (pause, ratio) = (to.pause.unwrap_or(SimDuration::ZERO), to.factor / self.factor);
        if let Some(left) = &mut self.left {
            // What began in this instant did so under the caps now in force, even if it stands still by now.
            if std::mem::take(&mut self.is_new) {
                left.end = anew() - now;
                left.kill = left.kill.map(|kill| kill.stretched(to.by));
                self.factor = to.factor;
            } else if to.pause.is_some() {
                left.end = left.end.stretched(ratio) + pause;
                left.kill = left.kill.map(|kill| kill.stretched(to.by) + pause);
                left.pause = left.pause.stretched(ratio) + pause;
                self.factor = to.factor;
            }
            return;
        }
        self.end = if self.is_new { anew() } else { retimed(self.end, now, ratio).saturating_add(pause) };
        self.kill = self.kill.map(|kill| retimed(kill, now, to.by).saturating_add(pause));
        if pause > SimDuration::ZERO || self.paused > now {
            self.paused = retimed(self.paused, now, ratio).max(now).saturating_add(pause);
        }
        self.factor = to.factor;
        self.is_new = false;
    }

    /// Its nodes have changed in this instant: what was settled in it before counts no more, unless it has begun or
    /// ceased to stand still since then.
    fn go_back(&mut self, now: SimTime) -> bool {
        let Self { end, kill, paused, left, factor, .. } = *self;
        let known = self.before.as_deref().copied().filter(|before| before.at == now);
        let before = known.unwrap_or(Before { at: now, end, kill, paused, left, factor });
        if before.left.is_some() != left.is_some() {
            return false;
        }
        (self.end, self.kill, self.paused) = (before.end, before.kill, before.paused);
        (self.left, self.factor) = (before.left, before.factor);
        self.before = Some(Box::new(before));
        true
    }

    /// Something may have changed: what held until now, if it held for any time and does no longer.
    /// `is_moved` says whether its nodes have changed.
    pub(super) fn turn(&mut self, now: SimTime, new: Stretch, lowest_cap_w: f64, is_moved: bool) -> Option<Held> {
        self.lowest_cap_w = self.lowest_cap_w.min(lowest_cap_w);
        if new == self.held.stretch && !is_moved {
            return None;
        }
        self.stood = self.stood(now);
        let still_until = if new.is_suspended { now } else { self.paused };
        let old = std::mem::replace(&mut self.held, Held { since: now, stretch: new, still_until });
        (old.since < now).then_some(old)
    }

    /// What held until it was over.
    pub(super) fn last(&self) -> Held {
        self.held
    }
}

/// How long it is until then; nothing if that is past.
fn until(now: SimTime, then: SimTime) -> SimDuration {
    if then > now { then - now } else { SimDuration::ZERO }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::runs::{Run, Runs};
    use crate::sim::segments::Segments;

    fn at(micros: i64) -> SimTime {
        SimTime::from_micros(micros)
    }

    fn stretch(factor: f64) -> Stretch {
        Stretch { cap_w: f64::INFINITY, factor, draw: crate::units::Watts::ZERO, is_suspended: false }
    }

    /// A run from 0 to 100, killed at 110.
    fn life() -> Life {
        let mut segments = Segments::default();
        let run = Run::test(Runs::default().write(crate::workload::JobId(0), false, &[0]));
        let mut life = Life::new(at(0), at(100), Some(at(110)), stretch(1.0), segments.begin(&run));
        life.settle(at(0), Settled { factor: 1.0, by: 1.0, pause: None }, || at(100));
        life
    }

    fn to(ratio: f64, pause: i64) -> Settled {
        Settled { factor: ratio, by: ratio, pause: Some(SimDuration::from_micros(pause)) }
    }

    #[test]
    fn a_pause_comes_on_top_of_what_is_left() {
        let mut life = life();
        life.settle(at(40), to(1.5, 5), || at(0));
        assert_eq!((life.end(), life.kill()), (at(40 + 90 + 5), Some(at(40 + 105 + 5))));
        assert_eq!([life.left(at(42)), life.work_left(at(42))], [93, 90].map(SimDuration::from_micros));
        assert_eq!([life.left(at(50)), life.work_left(at(50))], [85, 85].map(SimDuration::from_micros));
    }

    #[test]
    fn of_several_changes_in_an_instant_the_last_counts() {
        let mut life = life();
        life.settle(at(40), to(1.5, 5), || at(0));
        life.settle(at(40), to(0.5, 5), || at(0));
        assert_eq!((life.end(), life.kill()), (at(40 + 30 + 5), Some(at(40 + 35 + 5))));
        life.settle(at(40), to(1.0, 0), || at(0));
        assert_eq!((life.end(), life.kill()), (at(100), Some(at(110))));
    }

    #[test]
    fn what_stands_still_in_a_pause_goes_on_with_it() {
        let mut life = life();
        life.settle(at(40), to(1.0, 10), || at(0));
        life.suspend(at(44));
        assert_eq!([life.left(at(60)), life.work_left(at(60))], [66, 60].map(SimDuration::from_micros));
        life.resume(at(60));
        assert_eq!((life.end(), life.work_left(at(60))), (at(126), SimDuration::from_micros(60)));
    }

    #[test]
    fn what_is_resized_and_stands_still_in_one_instant_has_its_pause_left() {
        let mut life = life();
        life.suspend(at(40));
        life.settle(at(40), to(2.0, 7), || at(0));
        assert_eq!([life.left(at(50)), life.work_left(at(50))], [127, 120].map(SimDuration::from_micros));
        life.resume(at(50));
        assert_eq!((life.end(), life.kill()), (at(177), Some(at(50 + 140 + 7))));
    }
}
