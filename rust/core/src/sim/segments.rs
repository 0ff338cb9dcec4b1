//! Stretches of attempts in which nothing changed, kept small: there may be a thousand for each job.

use std::ops::Range;

use crate::policy::runs::Run;
use crate::units::{Joules, SimTime, Watts};
use crate::workload::JobId;

/// What holds of a run for a while.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stretch {
    /// Mean of the caps in force on its nodes, W; infinity if one has none.
    pub cap_w: f64,
    /// F: how much longer than nominal the run takes.
    pub factor: f64,
    /// What its nodes draw; nothing while it stands still.
    pub draw: Watts,
    /// Whether it stands still.
    pub is_suspended: bool,
}

/// A stretch of an attempt in which neither its caps nor its speed nor its draw change.
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
    /// Stretches that it was in before, and where they stand.
    known: Vec<(Stretch, u32)>,
}

/// How many stretches of an attempt are remembered: caps go up and down again.
const REMEMBERED: usize = 8;

impl Segments {
    /// An attempt begins.
    pub(super) fn begin(&mut self, run: &Run) -> Place {
        let attempt = index(self.attempts.len());
        let Run { job, attempt: number, started: start, .. } = *run;
        self.attempts.push(Attempt { job, number, start, places: run.places.clone() });
        Place { attempt, known: Vec::new() }
    }

    /// A stretch of an attempt is over, in which so much was drawn if nodes are shared.
    pub(super) fn push(&mut self, place: &mut Place, stretch: Stretch, end: SimTime, drawn: Option<Joules>) {
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
