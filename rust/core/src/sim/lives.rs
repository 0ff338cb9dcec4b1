//! Lives of runs whose speed may change: when each ends, what it has drawn, and the stretches in which nothing changed.

use crate::cluster::retimed;
use crate::sim::segments::{Place, Stretch};
use crate::units::{Joules, SimDuration, SimTime};

/// A run as it really goes.
#[derive(Clone, Debug)]
pub(super) struct Life {
    /// When it ends by itself, as far as is settled.
    end: SimTime,
    /// When it is killed, grace apart, if it is.
    kill: Option<SimTime>,
    /// What was left of both when it was suspended.
    left: Option<(SimDuration, Option<SimDuration>)>,
    /// The F of these.
    factor: f64,
    /// Whether it has begun in this instant.
    is_new: bool,
    /// What its nodes drew for it in intervals that are closed.
    energy: Joules,
    /// What it had drawn on shared nodes when its last stretch ended.
    charged: Joules,
    since: SimTime,
    stretch: Stretch,
    /// Its place among the segments.
    pub(super) place: Place,
    /// The lowest cap that was in force on any of its nodes, W.
    lowest_cap_w: f64,
    /// How long it has stood still.
    stood: SimDuration,
}

impl Life {
    /// Of a run that begins and would go on like this.
    pub(super) fn new(start: SimTime, end: SimTime, kill: Option<SimTime>, stretch: Stretch, place: Place) -> Self {
        Self {
            end,
            kill,
            left: None,
            factor: stretch.factor,
            is_new: true,
            energy: Joules::ZERO,
            charged: Joules::ZERO,
            since: start,
            stretch,
            place,
            lowest_cap_w: f64::INFINITY,
            stood: SimDuration::ZERO,
        }
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
        if self.stretch.is_suspended { self.stood + (now - self.since) } else { self.stood }
    }

    /// What is left of its run at the speed that is settled.
    pub(super) fn left(&self, now: SimTime) -> SimDuration {
        self.left.map_or(self.end - now, |left| left.0)
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
        let kill = self.kill.map(|kill| if kill > now { kill - now } else { SimDuration::ZERO });
        self.left = Some((self.end - now, kill));
    }

    /// It goes on.
    pub(super) fn resume(&mut self, now: SimTime) {
        if let Some((end, kill)) = self.left.take() {
            self.end = now.saturating_add(end);
            self.kill = kill.map(|kill| now.saturating_add(kill));
        }
    }

    /// Its speed is settled for now: what is left takes `factor`, and by plan `by` times what it did. `anew` says when a run
    /// ends that begins like this (operations page, rules 4 to 7).
    pub(super) fn settle(&mut self, now: SimTime, factor: f64, by: f64, anew: impl FnOnce() -> SimTime) {
        if let Some((end, kill)) = &mut self.left {
            // What began in this instant did so under the caps now in force, even if it stands still by now.
            if std::mem::take(&mut self.is_new) {
                *end = anew() - now;
                *kill = kill.map(|kill| kill.stretched(by));
                self.factor = factor;
            }
            return;
        }
        self.end = if self.is_new { anew() } else { retimed(self.end, now, factor / self.factor) };
        self.kill = self.kill.map(|kill| retimed(kill, now, by));
        self.factor = factor;
        self.is_new = false;
    }

    /// Something may have changed: what held until now, if it held for any time and does no longer.
    pub(super) fn turn(&mut self, now: SimTime, new: Stretch, lowest_cap_w: f64) -> Option<Stretch> {
        self.lowest_cap_w = self.lowest_cap_w.min(lowest_cap_w);
        if new == self.stretch {
            return None;
        }
        self.stood = self.stood(now);
        let old = std::mem::replace(&mut self.stretch, new);
        let since = std::mem::replace(&mut self.since, now);
        (since < now).then_some(old)
    }

    /// What held until it was over.
    pub(super) fn last(&self) -> (SimTime, Stretch) {
        (self.since, self.stretch)
    }
}
