//! Lives of runs whose speed may change: their ends, their energy, and the stretches in which nothing changed.

use crate::cluster::retimed;
use crate::sim::segments::{Held, Place, Stretch};
use crate::units::{Joules, SimDuration, SimTime};

/// A run as it really goes.
#[derive(Clone, Debug)]
pub(super) struct Life {
    /// Natural end of the run, as settled so far.
    end: SimTime,
    /// Instant at which it is killed, without the grace; `None` if it never is.
    kill: Option<SimTime>,
    /// End of the pause in which it makes no progress, as its nodes have changed; in the past if there is no pause.
    paused: SimTime,
    /// Position in its profile.
    phase: Phase,
    /// Remaining times of all of these at its suspension; `None` while it runs.
    left: Option<Left>,
    /// Time factor F by which these instants were computed.
    factor: f64,
    /// True if it has begun in this instant.
    is_new: bool,
    /// Energy that its nodes drew for it in closed intervals.
    energy: Joules,
    held: Held,
    /// Energy it had drawn on shared nodes by the end of its last stretch.
    charged: Joules,
    /// Its place among the segments.
    pub(super) place: Place,
    /// Lowest cap that was in force on any of its nodes, W.
    lowest_cap_w: f64,
    /// Time suspended, up to the start of the present stretch.
    stood: SimDuration,
    /// Settled values from before the instant in which its nodes last changed.
    before: Option<Box<Before>>,
}

/// Remaining times of a suspended run.
#[derive(Clone, Copy, Debug)]
struct Left {
    end: SimDuration,
    kill: Option<SimDuration>,
    pause: SimDuration,
    turn: Option<SimDuration>,
}

/// Position of a run in its profile; always the first part if it has none.
#[derive(Clone, Copy, Debug)]
struct Phase {
    part: usize,
    /// End of that part, as settled so far; `None` if it lasts until the end of the run.
    turn: Option<SimTime>,
    /// Offset of that end in the profile, at nominal speed.
    due: SimDuration,
    /// An instant, and the run's offset in the profile then: the base from which later turns are computed.
    since: (SimTime, SimDuration),
}

/// Course of a run that begins: its end, and the end of the first part of its profile, as an instant and as an offset.
#[derive(Clone, Copy, Debug)]
pub(super) struct Course {
    pub(super) end: SimTime,
    pub(super) turn: Option<(SimTime, SimDuration)>,
}

/// Settled values of a run before an instant.
#[derive(Clone, Copy, Debug)]
struct Before {
    at: SimTime,
    end: SimTime,
    kill: Option<SimTime>,
    paused: SimTime,
    phase: Phase,
    left: Option<Left>,
    factor: f64,
}

/// Changes to a run that hold at the end of an instant.
#[derive(Clone, Copy, Debug)]
pub(super) struct Settled {
    /// The F now in force.
    pub(super) factor: f64,
    /// Factor by which the rest of its plan is lengthened.
    pub(super) by: f64,
    /// Pause without progress; `None` if its nodes have not changed in this instant.
    pub(super) pause: Option<SimDuration>,
}

impl Phase {
    /// Phase of a run that begins at `start`.
    fn begin(start: SimTime, turn: Option<(SimTime, SimDuration)>) -> Self {
        let (turn, due) = turn.map_or((None, SimDuration::ZERO), |(turn, due)| (Some(turn), due));
        Self { part: 0, turn, due, since: (start, SimDuration::ZERO) }
    }

    /// Moves the end of the present part; later turns are counted from there.
    fn reset(&mut self, turn: Option<SimTime>) {
        self.turn = turn;
        if let Some(turn) = turn {
            self.since = (turn, self.due);
        }
    }

    /// Enters the next part, which ends at the offset `until` in the profile, in a run that takes `pace` times as long
    /// as nominal.
    fn advance(&mut self, until: SimDuration, pace: f64) {
        self.part += 1;
        self.turn = None;
        if until < SimDuration::FOREVER {
            let (since, from) = self.since;
            self.due = until;
            let rest = SimDuration::from_micros(until.micros() - from.micros());
            self.turn = Some(since.saturating_add(rest.stretched(pace)));
        }
    }
}

impl Life {
    /// Life of a run that begins and would go on like this.
    pub(super) fn new(start: SimTime, to: Course, kill: Option<SimTime>, stretch: Stretch, place: Place) -> Self {
        Self {
            end: to.end,
            kill,
            paused: start,
            phase: Phase::begin(start, to.turn),
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

    /// Marks the run as begun before this instant, with `lowest_cap_w` as its lowest cap.
    pub(super) fn under_way(self, lowest_cap_w: f64) -> Self {
        Self { is_new: false, lowest_cap_w, ..self }
    }

    pub(super) fn end(&self) -> SimTime {
        self.end
    }

    pub(super) fn kill(&self) -> Option<SimTime> {
        self.kill
    }

    /// Index of the part of its profile that it is in.
    pub(super) fn part(&self) -> usize {
        self.phase.part
    }

    /// End of that part, if the run does not end in it.
    pub(super) fn next_turn(&self) -> Option<SimTime> {
        self.phase.turn
    }

    /// Enters the next part, which ends at the offset `until` in the profile.
    pub(super) fn enter_part(&mut self, until: SimDuration, pace: f64) {
        self.phase.advance(until, pace);
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

    /// Time suspended by now.
    pub(super) fn stood(&self, now: SimTime) -> SimDuration {
        if self.held.stretch.is_suspended { self.stood + (now - self.held.since) } else { self.stood }
    }

    /// Remaining time of the run at the settled speed.
    pub(super) fn left(&self, now: SimTime) -> SimDuration {
        self.left.map_or(self.end - now, |left| left.end)
    }

    /// Remaining time without what is left of a pause: that of its work.
    pub(super) fn work_left(&self, now: SimTime) -> SimDuration {
        self.left(now) - self.left.map_or_else(|| until(now, self.paused), |left| left.pause)
    }

    /// Restarts it in this instant, the instant of its start, in which its nodes have changed.
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

    /// Closes a stretch on shared nodes: takes the energy drawn in all by now, and returns that of the stretch.
    pub(super) fn charge(&mut self, all: Joules) -> Joules {
        let before = std::mem::replace(&mut self.charged, all);
        all - before
    }

    /// Suspends it.
    pub(super) fn suspend(&mut self, now: SimTime) {
        let kill = self.kill.map(|kill| until(now, kill));
        let turn = self.phase.turn.map(|turn| until(now, turn));
        self.left = Some(Left { end: self.end - now, kill, pause: until(now, self.paused), turn });
    }

    /// Resumes it.
    pub(super) fn resume(&mut self, now: SimTime) {
        if let Some(left) = self.left.take() {
            self.end = now.saturating_add(left.end);
            self.kill = left.kill.map(|kill| now.saturating_add(kill));
            self.paused = now.saturating_add(left.pause);
            self.phase.reset(left.turn.map(|turn| now.saturating_add(turn)));
        }
    }

    /// Settles its speed at the end of an instant: what is left is rescaled to the time factor `to.factor`, its plan by
    /// `to.by`, and a pause on changed nodes comes on top. `anew` gives the course of a run that begins under these
    /// conditions (operations page, rules 4 to 7).
    pub(super) fn settle(&mut self, now: SimTime, mut to: Settled, anew: impl FnOnce() -> Course) {
        if to.pause.is_some() && !self.go_back(now) {
            (to.by, to.pause) = (1.0, None);
        }
        let (pause, ratio) = (to.pause.unwrap_or(SimDuration::ZERO), to.factor / self.factor);
        if let Some(left) = &mut self.left {
            // A run that began in this instant did so under the caps now in force, even if it is suspended by now.
            if std::mem::take(&mut self.is_new) {
                let to_come = anew();
                left.end = to_come.end - now;
                self.phase = Phase::begin(now, to_come.turn);
                left.turn = self.phase.turn.map(|turn| until(now, turn));
                left.kill = left.kill.map(|kill| kill.stretched(to.by));
                self.factor = to.factor;
            } else if to.pause.is_some() {
                left.end = left.end.stretched(ratio) + pause;
                left.kill = left.kill.map(|kill| kill.stretched(to.by) + pause);
                left.pause = left.pause.stretched(ratio) + pause;
                left.turn = left.turn.map(|turn| turn.stretched(ratio) + pause);
                self.factor = to.factor;
            }
            return;
        }
        if self.is_new {
            let to_come = anew();
            self.end = to_come.end;
            self.phase = Phase::begin(now, to_come.turn);
        } else {
            self.end = retimed(self.end, now, ratio).saturating_add(pause);
            self.retime_turn(now, ratio, pause);
        }
        self.kill = self.kill.map(|kill| retimed(kill, now, to.by).saturating_add(pause));
        if pause > SimDuration::ZERO || self.paused > now {
            self.paused = retimed(self.paused, now, ratio).max(now).saturating_add(pause);
        }
        self.factor = to.factor;
        self.is_new = false;
    }

    fn retime_turn(&mut self, now: SimTime, ratio: f64, pause: SimDuration) {
        if let Some(turn) = self.phase.turn {
            #[expect(clippy::float_cmp, reason = "a quotient of exactly 1 changes nothing")]
            let stays = ratio == 1.0 && pause == SimDuration::ZERO;
            if !stays {
                self.phase.reset(Some(retimed(turn, now, ratio).saturating_add(pause)));
            }
        }
    }

    /// Goes back to what was settled before this instant, as its nodes have changed in it, and several changes in one
    /// instant count once. Returns false, and changes nothing, if the run was suspended or resumed since the last
    /// change.
    fn go_back(&mut self, now: SimTime) -> bool {
        let Self { end, kill, paused, phase, left, factor, .. } = *self;
        let known = self.before.as_deref().copied().filter(|before| before.at == now);
        let before = known.unwrap_or(Before { at: now, end, kill, paused, phase, left, factor });
        if before.left.is_some() != left.is_some() {
            return false;
        }
        (self.end, self.kill, self.paused) = (before.end, before.kill, before.paused);
        (self.phase, self.left, self.factor) = (before.phase, before.left, before.factor);
        self.before = Some(Box::new(before));
        true
    }

    /// Begins a new stretch if anything has changed; `is_moved` says that its nodes have. Returns the old one, if it
    /// lasted for any time.
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

    /// The last stretch.
    pub(super) fn last(&self) -> Held {
        self.held
    }
}

/// Time from `now` until `then`; zero if that is past.
fn until(now: SimTime, then: SimTime) -> SimDuration {
    if then > now { then - now } else { SimDuration::ZERO }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::runs::{Run, Runs};
    use crate::sim::segments::Segments;

    fn at(micros: i64) -> SimTime {
        SimTime::from_micros(micros)
    }

    fn stretch(factor: f64) -> Stretch {
        Stretch { cap_w: f64::INFINITY, factor, draw: crate::units::Watts::ZERO, is_suspended: false }
    }

    /// Its profile turns at 30.
    fn to_end(end: i64) -> Course {
        Course { end: at(end), turn: Some((at(30), SimDuration::from_micros(30))) }
    }

    /// A run from 0 to 100, killed at 110.
    fn life() -> Life {
        let mut segments = Segments::default();
        let run = Run::test(Runs::default().write(crate::workload::JobId(0), false, &[0]).unwrap());
        let mut life = Life::new(at(0), to_end(100), Some(at(110)), stretch(1.0), segments.begin(&run));
        life.settle(at(0), Settled { factor: 1.0, by: 1.0, pause: None }, || to_end(100));
        life
    }

    fn to(ratio: f64, pause: i64) -> Settled {
        Settled { factor: ratio, by: ratio, pause: Some(SimDuration::from_micros(pause)) }
    }

    #[test]
    fn a_pause_comes_on_top_of_what_is_left() {
        let mut life = life();
        life.settle(at(40), to(1.5, 5), || to_end(0));
        assert_eq!((life.end(), life.kill()), (at(40 + 90 + 5), Some(at(40 + 105 + 5))));
        assert_eq!([life.left(at(42)), life.work_left(at(42))], [93, 90].map(SimDuration::from_micros));
        assert_eq!([life.left(at(50)), life.work_left(at(50))], [85, 85].map(SimDuration::from_micros));
    }

    #[test]
    fn of_several_changes_in_an_instant_the_last_counts() {
        let mut life = life();
        life.settle(at(40), to(1.5, 5), || to_end(0));
        life.settle(at(40), to(0.5, 5), || to_end(0));
        assert_eq!((life.end(), life.kill()), (at(40 + 30 + 5), Some(at(40 + 35 + 5))));
        life.settle(at(40), to(1.0, 0), || to_end(0));
        assert_eq!((life.end(), life.kill()), (at(100), Some(at(110))));
    }

    #[test]
    fn what_stands_still_in_a_pause_goes_on_with_it() {
        let mut life = life();
        life.settle(at(40), to(1.0, 10), || to_end(0));
        life.suspend(at(44));
        assert_eq!([life.left(at(60)), life.work_left(at(60))], [66, 60].map(SimDuration::from_micros));
        life.resume(at(60));
        assert_eq!((life.end(), life.work_left(at(60))), (at(126), SimDuration::from_micros(60)));
    }

    #[test]
    fn what_is_resized_and_stands_still_in_one_instant_has_its_pause_left() {
        let mut life = life();
        life.suspend(at(40));
        life.settle(at(40), to(2.0, 7), || to_end(0));
        assert_eq!([life.left(at(50)), life.work_left(at(50))], [127, 120].map(SimDuration::from_micros));
        life.resume(at(50));
        assert_eq!((life.end(), life.kill()), (at(177), Some(at(50 + 140 + 7))));
    }

    #[test]
    fn turns_of_a_profile_follow_the_speed_and_stand_still_with_the_run() {
        let micros = SimDuration::from_micros;
        let mut life = life();
        assert_eq!((life.part(), life.next_turn()), (0, Some(at(30))));
        life.enter_part(micros(50), 1.0);
        assert_eq!((life.part(), life.next_turn()), (1, Some(at(50))));
        life.settle(at(40), to(1.5, 5), || to_end(0));
        // 10 were left, which take 15 now, after a pause of 5; the next part is counted from there.
        assert_eq!(life.next_turn(), Some(at(60)));
        life.suspend(at(44));
        life.resume(at(80));
        assert_eq!(life.next_turn(), Some(at(96)));
        life.enter_part(micros(60), 1.5);
        assert_eq!((life.part(), life.next_turn()), (2, Some(at(111))));
        life.enter_part(SimDuration::FOREVER, 1.5);
        assert_eq!((life.part(), life.next_turn()), (3, None));
    }
}
