//! Segments: stretches of attempts in which nothing changed. Stored compactly, as there may be a thousand for each job.

use std::ops::Range;

use crate::cluster::runs::Run;
use crate::units::{Joules, SimTime, Watts};
use crate::workload::JobId;

/// Constant state of a run over a stretch of time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stretch {
    /// Mean of the caps in force on its nodes, W; infinity if one has none.
    pub cap_w: f64,
    /// Time factor F, relative to nominal; infinity while the run makes no progress though its nodes draw as working.
    pub factor: f64,
    /// Draw of its nodes; zero while it is suspended.
    pub draw: Watts,
    /// True while the run is suspended.
    pub is_suspended: bool,
}

/// Present stretch of a run, which is still open, and its start.
#[derive(Clone, Copy, Debug)]
pub(super) struct Held {
    pub(super) since: SimTime,
    pub(super) stretch: Stretch,
    /// Instant until which the run made no progress because its nodes had changed.
    pub(super) still_until: SimTime,
}

/// A stretch of an attempt in which neither its nodes nor its caps, speed or draw change.
#[derive(Clone, Debug, PartialEq)]
pub struct Segment {
    /// Its job.
    pub job: JobId,
    /// Number of the attempt among those of the job, from 1.
    pub attempt: u32,
    /// Start of the stretch.
    pub start: SimTime,
    /// End of the stretch.
    pub end: SimTime,
    /// Range of its nodes in the list of the nodes of all runs.
    pub places: Range<usize>,
    /// State of the run in it.
    pub state: Stretch,
    /// Energy that its nodes drew for the run.
    pub energy: Joules,
}

/// All segments so far. Those of an attempt follow one another without gaps, so that only their ends are kept.
#[derive(Clone, Debug, Default)]
pub struct Segments {
    attempts: Vec<Attempt>,
    stretches: Vec<Stretch>,
    /// Attempt, stretch (both as indices) and end of each segment.
    rows: Vec<(u32, u32, SimTime)>,
    /// Energy of each segment, if nodes are shared; otherwise it follows from the stretch's draw.
    drawn: Vec<Joules>,
}

/// An attempt, or the rest of one from a change of its nodes on.
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
    /// Range of its nodes in the list of the nodes of all runs.
    pub(super) places: Range<usize>,
    /// Recent distinct stretches of the attempt, and their indices in `stretches`, so that a repeated one is stored
    /// once.
    known: Vec<(Stretch, u32)>,
}

/// Number of stretches of an attempt that are remembered for reuse, as caps go up and down again.
const REMEMBERED: usize = 8;

impl Segments {
    /// Begins an attempt.
    pub(super) fn begin(&mut self, run: &Run) -> Place {
        self.begin_one(run.job, run.attempt, run.started, run.places.clone())
    }

    /// Begins the attempt with this number.
    pub(super) fn begin_one(&mut self, job: JobId, number: u32, start: SimTime, places: Range<usize>) -> Place {
        let attempt = index(self.attempts.len());
        self.attempts.push(Attempt { job, number, start, places: places.clone() });
        Place { attempt, places, known: Vec::new() }
    }

    /// Continues an attempt on other nodes from `now` on.
    pub(super) fn go_on(&mut self, place: &mut Place, run: &Run, now: SimTime) {
        let own = &mut self.attempts[place.attempt as usize];
        if own.start == now {
            own.places = run.places.clone();
            place.places = run.places.clone();
        } else {
            *place = self.begin(&Run { started: now, ..run.clone() });
        }
    }

    /// Adds a stretch of an attempt that is over: `drawn` is its energy if nodes are shared. If they are not, the run
    /// may have made no progress in the first part, which then becomes a separate segment.
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

    /// All segments, by job and time.
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

/// An index as `u32`.
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
