//! Stretches of attempts in which nothing changed, kept small: there may be a thousand for each job.

use std::ops::Range;

use crate::cluster::runs::Run;
use crate::units::{Joules, SimTime, Watts};
use crate::workload::JobId;

/// What holds of a run for a while.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stretch {
    /// Mean of the caps in force on its nodes, W; infinity if one has none.
    pub cap_w: f64,
    /// F: how much longer than nominal the run takes; infinity while it makes no progress though it works.
    pub factor: f64,
    /// What its nodes draw; nothing while it stands still.
    pub draw: Watts,
    /// Whether it stands still.
    pub is_suspended: bool,
}

/// What has held of a run since when.
#[derive(Clone, Copy, Debug)]
pub(super) struct Held {
    pub(super) since: SimTime,
    pub(super) stretch: Stretch,
    /// Until when the run made no progress, for its nodes had changed.
    pub(super) still_until: SimTime,
}

/// A stretch of an attempt in which neither its nodes nor its caps nor its speed nor its draw change.
#[derive(Clone, Debug, PartialEq)]
pub struct Segment {
    /// Which job.
    pub job: JobId,
    /// Which of its attempts, from 1.
    pub attempt: u32,
    /// From when.
    pub start: SimTime,
    /// Until when.
    pub end: SimTime,
    /// Where its nodes stand among those of all runs.
    pub places: Range<usize>,
    /// What holds in it.
    pub state: Stretch,
    /// What its nodes drew for it.
    pub energy: Joules,
}

/// All stretches so far. Those of an attempt follow one another, so that only their ends are kept.
#[derive(Clone, Debug, Default)]
pub struct Segments {
    attempts: Vec<Attempt>,
    stretches: Vec<Stretch>,
    /// Of each segment: its attempt, its end and its stretch.
    rows: Vec<(u32, u32, SimTime)>,
    /// Of each segment, where nodes are shared, what was drawn in it; otherwise the stretch tells.
    drawn: Vec<Joules>,
}

/// An attempt, or what is left of one from a change of its nodes on.
#[derive(Clone, Debug)]
struct Attempt {
    job: JobId,
    number: u32,
    start: SimTime,
    places: Range<usize>,
}

/// An attempt under way, as the segments know it.
#[derive(Clone, Debug)]
pub(super) struct Place {
    attempt: u32,
    /// Where its nodes stand.
    pub(super) places: Range<usize>,
    /// Stretches that it was in before, and where they stand.
    known: Vec<(Stretch, u32)>,
}

/// How many stretches of an attempt are remembered: caps go up and down again.
const REMEMBERED: usize = 8;

impl Segments {
    /// An attempt begins.
    pub(super) fn begin(&mut self, run: &Run) -> Place {
        self.begin_one(run.job, run.attempt, run.started, run.places.clone())
    }

    /// The same of the attempt of this number.
    pub(super) fn begin_one(&mut self, job: JobId, number: u32, start: SimTime, places: Range<usize>) -> Place {
        let attempt = index(self.attempts.len());
        self.attempts.push(Attempt { job, number, start, places: places.clone() });
        Place { attempt, places, known: Vec::new() }
    }

    /// An attempt goes on on other nodes from `now` on.
    pub(super) fn go_on(&mut self, place: &mut Place, run: &Run, now: SimTime) {
        let own = &mut self.attempts[place.attempt as usize];
        if own.start == now {
            own.places = run.places.clone();
            place.places = run.places.clone();
        } else {
            *place = self.begin(&Run { started: now, ..run.clone() });
        }
    }

    /// A stretch of an attempt is over, in which so much was drawn if nodes are shared; where they are not, the run may
    /// have made no progress in its first part.
    pub(super) fn push(&mut self, place: &mut Place, held: Held, end: SimTime, drawn: Option<Joules>) {
        let moves_on = held.still_until.min(end);
        if moves_on > held.since {
            self.note(place, Stretch { factor: f64::INFINITY, ..held.stretch }, moves_on, None);
        }
        if end > moves_on || end == held.since {
            self.note(place, held.stretch, end, drawn);
        }
    }

    fn note(&mut self, place: &mut Place, stretch: Stretch, end: SimTime, drawn: Option<Joules>) {
        let known = place.known.iter().find(|(known, _)| *known == stretch).map(|known| known.1);
        let at = known.unwrap_or_else(|| {
            let new = index(self.stretches.len());
            self.stretches.push(stretch);
            if place.known.len() < REMEMBERED {
                place.known.push((stretch, new));
            }
            new
        });
        self.rows.push((place.attempt, at, end));
        self.drawn.extend(drawn);
    }

    /// All of them, by job and time.
    #[must_use]
    pub fn sorted(&self) -> Vec<Segment> {
        let mut order: Vec<u32> = (0..index(self.rows.len())).collect();
        let of = |row: u32| &self.attempts[self.rows[row as usize].0 as usize];
        order.sort_by_key(|&row| (of(row).job, of(row).number));
        let mut last: Option<(u32, SimTime)> = None;
        let rows = order.into_iter().map(|row| {
            let (attempt, stretch, end) = self.rows[row as usize];
            let of = of(row);
            let start = last.filter(|last| last.0 == attempt).map_or(of.start, |last| last.1);
            last = Some((attempt, end));
            let state = self.stretches[stretch as usize];
            let energy = self.drawn.get(row as usize).copied().unwrap_or_else(|| state.draw * (end - start));
            Segment { job: of.job, attempt: of.number, start, end, places: of.places.clone(), state, energy }
        });
        rows.collect()
    }
}

/// A place among fewer than 2^32.
fn index(place: usize) -> u32 {
    u32::try_from(place).expect("fewer than 2^32 segments fit into memory")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_that_goes_on_on_other_nodes_has_a_stretch_of_each_and_one_of_its_pause() {
        let mut segments = Segments::default();
        let at = SimTime::from_micros;
        let (first, later) = (Run::test(0..4), Run::test(4..6));
        let mut place = segments.begin(&first);
        let stretch = Stretch { cap_w: f64::INFINITY, factor: 1.0, draw: Watts::ZERO, is_suspended: false };
        segments.push(&mut place, Held { since: at(0), stretch, still_until: at(0) }, at(40), None);
        segments.go_on(&mut place, &later, at(40));
        segments.push(&mut place, Held { since: at(40), stretch, still_until: at(45) }, at(60), None);
        let told: Vec<_> =
            segments.sorted().into_iter().map(|one| (one.start, one.end, one.places, one.state.factor)).collect();
        let rests = (at(40), at(45), 4..6, f64::INFINITY);
        assert_eq!(told, [(at(0), at(40), 0..4, 1.0), rests, (at(45), at(60), 4..6, 1.0)]);
    }
}
