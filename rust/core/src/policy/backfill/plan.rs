//! What is promised to whom and when: nodes and, where a budget may bind, watts.

use crate::algo::availability::Availability;
use crate::algo::fit_list::Waiting;
use crate::algo::releases::{Release, Releases};
use crate::error::Result;
use crate::policy::pass::Pass;
use crate::units::{SimDuration, SimTime};

/// A job of length zero needs its nodes all the same: its reservation holds them for one tick.
const TICK: SimDuration = SimDuration::from_micros(1);

/// A plan of the future, made anew in every pass.
#[derive(Clone, Debug, Default)]
pub(super) struct Plan {
    now: SimTime,
    nodes: Availability,
    /// Microwatts; a need is rounded up, what is free down.
    watts: Option<Availability>,
}

impl Plan {
    /// Forgets all promises: what runs, and what started in this pass, ends as planned.
    pub(super) fn reset(&mut self, pass: &Pass<'_>) {
        self.now = pass.view.now;
        let ends = || Merged::new(pass.view.releases, pass.added());
        let now = self.now;
        self.nodes.reset(now, pass.free_units(), ends().map(|release| (release.at.max(now), release.units)));
        self.watts = pass.room().map(|room| {
            let mut watts = Availability::default();
            let given = ends().map(|release| (release.at.max(now), pass.watts_of(release.row).microwatts_down()));
            watts.reset(now, room.microwatts_down(), given);
            watts
        });
    }

    /// Whether a waiting job can start now beside the promises made so far.
    pub(super) fn fits_now(&self, pass: &mut Pass<'_>, waiting: &Waiting) -> Result<bool> {
        // A job of length zero ends as it starts: it delays nobody.
        let brief = waiting.length == SimDuration::ZERO;
        if !brief && !self.nodes.fits_now(waiting.units, waiting.length) {
            return Ok(false);
        }
        let Some(watts) = &self.watts else { return Ok(true) };
        // Which watts it takes depends on where it would go; what it takes at least does not.
        if !brief && !watts.fits_now(waiting.watts, waiting.length) {
            return Ok(false);
        }
        Ok(pass.fits(waiting)? && (brief || watts.fits_now(pass.tried_watts().microwatts_up(), waiting.length)))
    }

    /// A job starts that has just been found to fit.
    pub(super) fn start(&mut self, pass: &Pass<'_>, waiting: &Waiting) {
        self.nodes.reserve(self.now, waiting.length, waiting.units);
        if let Some(watts) = &mut self.watts {
            watts.reserve(self.now, waiting.length, pass.tried_watts().microwatts_up());
        }
    }

    /// Promises a waiting job the earliest time at which it fits, with its mean watts.
    pub(super) fn reserve(&mut self, pass: &mut Pass<'_>, waiting: &Waiting) {
        let need = self.watts.is_some().then(|| pass.mean_microwatts(waiting));
        let start = self.earliest_fit(waiting, need);
        if start == SimTime::NEVER {
            return;
        }
        let length = waiting.length.max(TICK);
        self.nodes.reserve(start, length, waiting.units);
        if let (Some(watts), Some(need)) = (&mut self.watts, need) {
            watts.reserve(start, length, need);
        }
    }

    fn earliest_fit(&self, waiting: &Waiting, need: Option<i64>) -> SimTime {
        let mut start = self.nodes.earliest_fit(waiting.units, waiting.length);
        let (Some(watts), Some(need)) = (&self.watts, need) else { return start };
        while start != SimTime::NEVER {
            let both = watts.earliest_fit_from(start, need, waiting.length);
            if both == start {
                break;
            }
            start = both;
            if start != SimTime::NEVER {
                start = self.nodes.earliest_fit_from(start, waiting.units, waiting.length);
            }
        }
        start
    }
}

/// Releases of running jobs and of those started in this pass, by time.
struct Merged<'a, I: Iterator<Item = &'a Release>> {
    running: std::iter::Peekable<I>,
    added: &'a [Release],
}

impl<'a> Merged<'a, Box<dyn Iterator<Item = &'a Release> + 'a>> {
    fn new(running: &'a Releases, added: &'a [Release]) -> Self {
        let running: Box<dyn Iterator<Item = &'a Release> + 'a> = Box::new(running.iter());
        Self { running: running.peekable(), added }
    }
}

impl<'a, I: Iterator<Item = &'a Release>> Iterator for Merged<'a, I> {
    type Item = Release;
    fn next(&mut self) -> Option<Release> {
        let (first, rest) = match self.added.split_first() {
            Some((first, rest)) if self.running.peek().is_none_or(|running| first.at <= running.at) => (first, rest),
            _ => return self.running.next().copied(),
        };
        self.added = rest;
        Some(*first)
    }
}
