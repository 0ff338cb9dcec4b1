//! A plan of a queue, each job at its earliest fit alongside those ahead of it, made lazily: only as far as is asked
//! for.
//!
//! Mostly only the jobs that start soon matter, and they are few. A job that fits late alongside some of those ahead of
//! it fits no earlier alongside all of them, so that most of a long queue need not be planned to know that it starts
//! late. A job that fits soon is planned as in a whole plan once all jobs ahead of it are planned that may start before
//! it would end, since none of the others can be in its way. Each of these is planned in the same manner first.

use crate::algo::fit_list::{FitList, Place, Waiting};
use crate::algo::floors::Floors;
use crate::algo::horizon::Profile;
use crate::algo::staircase::Staircase;
use crate::units::{SimDuration, SimTime};

/// Minimum time for which a job needs its units.
const TICK: SimDuration = SimDuration::from_micros(1);

/// Plan of some jobs of a queue, and the jobs that are about to be planned.
#[derive(Clone, Debug, Default)]
pub struct PartialPlan {
    /// Lower bounds on earliest fits, by size and length.
    floors: Floors,
    planned: Rows,
    /// Search for all jobs that start in time.
    aim: Search,
    /// Stack of jobs to be planned: one that may start in time, one that may be in its way, and so on.
    steps: Vec<Step>,
}

/// A job and its start in the plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlannedStart {
    /// Its place in the queue.
    pub place: Place,
    /// Its needs.
    pub waiting: Waiting,
    /// Time at which it starts.
    pub at: SimTime,
}

/// A search for jobs that may start before an instant.
#[derive(Clone, Debug)]
struct Search {
    before: SimTime,
    /// Jobs ahead of this one are planned, or start no earlier than `before`.
    from: Place,
    /// No job from here on matters.
    to: Option<Place>,
    /// Needs that do not fit before `before`.
    refused: Staircase,
}

/// A job that is to be planned once those are that may be in its way.
#[derive(Clone, Debug)]
struct Step {
    start: PlannedStart,
    /// Number of jobs that were planned when this start was found.
    seen: usize,
    search: Search,
}

/// A set of rows that remembers its rows, so that clearing it takes time only for these.
#[derive(Clone, Debug, Default)]
struct Rows {
    bits: Vec<u64>,
    all: Vec<u32>,
}

impl Rows {
    fn contains(&self, row: u32) -> bool {
        self.bits.get(row as usize / 64).is_some_and(|word| word >> (row % 64) & 1 == 1)
    }

    fn insert(&mut self, row: u32) {
        let word = row as usize / 64;
        if word >= self.bits.len() {
            self.bits.resize(word + 1, 0);
        }
        self.bits[word] |= 1 << (row % 64);
        self.all.push(row);
    }

    fn clear(&mut self) {
        self.all.drain(..).for_each(|row| self.bits[row as usize / 64] = 0);
    }
}

impl Default for Search {
    fn default() -> Self {
        Self { before: SimTime::NEVER, from: Place::FRONT, to: None, refused: Staircase::default() }
    }
}

impl PlannedStart {
    /// Time for which it holds its units.
    fn length(&self) -> SimDuration {
        self.waiting.length.max(TICK)
    }

    fn end(&self) -> SimTime {
        self.at.saturating_add(self.length())
    }
}

impl PartialPlan {
    /// Starts with no job planned; no job will need more than `most` units.
    pub fn begin(&mut self, now: SimTime, most: i64) {
        self.floors.reset(now, most);
        self.planned.clear();
        self.steps.clear();
    }

    /// Number of jobs that are planned.
    #[must_use]
    pub fn count(&self) -> usize {
        self.planned.all.len()
    }

    /// Sets the goal: the jobs that start before an instant.
    pub fn ask(&mut self, before: SimTime) {
        self.aim = Search { before, ..Search::default() };
    }

    /// The next job in the queue's order that starts in time and is not planned yet. It stays so until it is
    /// [taken](Self::take).
    pub fn next(&mut self, free: &mut Profile<i64>, queue: &FitList) -> Option<PlannedStart> {
        loop {
            self.put_off(free);
            if let Some(step) = self.in_the_way(free, queue) {
                self.steps.push(step);
                continue;
            }
            let start = self.steps.pop()?.start;
            if self.steps.is_empty() {
                return Some(start);
            }
            self.take(free, &start);
        }
    }

    /// Plans a job where it starts.
    pub fn take(&mut self, free: &mut Profile<i64>, start: &PlannedStart) {
        free.reserve(start.at, start.length(), start.waiting.units);
        self.planned.insert(start.waiting.key.row);
    }

    /// Notes that the last job asked for has left the queue; the one behind it stands at `place`.
    pub fn go_on_from(&mut self, place: Place) {
        self.aim.from = place;
    }

    /// Recomputes the start of the last step if jobs were planned since, and drops the step if it starts too late to
    /// matter.
    fn put_off(&mut self, free: &Profile<i64>) {
        while let Some(step) = self.steps.last().filter(|step| step.seen != self.planned.all.len()) {
            let (start, before) = (step.start, self.search_before(1).before);
            let at = free.fit_before(start.at, before, start.waiting.units, start.length());
            self.floors.raise(start.waiting.units, start.length(), at.unwrap_or(before));
            let seen = self.planned.all.len();
            match (at, self.steps.last_mut()) {
                (Some(at), Some(step)) if at == start.at => step.seen = seen,
                (Some(at), Some(step)) => {
                    step.start.at = at;
                    step.seen = seen;
                    let to = step.search.to;
                    step.search = Search { before: step.start.end(), to, ..Search::default() };
                }
                _ => _ = self.steps.pop(),
            }
        }
    }

    /// The search of the last step but `steps`.
    fn search_before(&self, steps: usize) -> &Search {
        let place = self.steps.len().checked_sub(steps + 1);
        place.map_or(&self.aim, |place| &self.steps[place].search)
    }

    /// The first job ahead of the last step that may start before it ends.
    fn in_the_way(&mut self, free: &Profile<i64>, queue: &FitList) -> Option<Step> {
        let Self { floors, planned, aim, steps } = self;
        let search = steps.last_mut().map_or(aim, |step| &mut step.search);
        let Search { before, from, to, refused } = search;
        loop {
            let may = |units, length| floors.of(units, length) < *before && !refused.holds(units, length);
            let is_open = |waiting: &Waiting| !planned.contains(waiting.key.row) && may(waiting.units, waiting.length);
            let place = queue.first_where((*from, *to), may, is_open)?;
            let waiting = *queue.get(place)?;
            *from = queue.after(place);
            let (units, length) = (waiting.units, waiting.length.max(TICK));
            let at = free.fit_before(floors.of(units, length), *before, units, length);
            floors.raise(units, length, at.unwrap_or(*before));
            let Some(at) = at else {
                refused.refuse(units, length);
                continue;
            };
            let start = PlannedStart { place, waiting, at };
            // All ahead of it start late enough if they start no earlier than it ends.
            let from = if start.end() <= *before { place } else { Place::FRONT };
            let search = Search { before: start.end(), from, to: Some(place), refused: Staircase::default() };
            return Some(Step { start, seen: planned.all.len(), search });
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::algo::fit_list::{ClassId, QueueKey};

    fn at(micros: i64) -> SimTime {
        SimTime::from_micros(micros)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(400))]

        /// Twin: every job in turn at its earliest fit.
        #[test]
        fn what_starts_in_time_is_what_does_in_a_whole_plan(
            releases in prop::collection::vec((0..120_i64, 1..4_i64), 0..20),
            jobs in prop::collection::vec((1..14_i64, 0..40_i64), 1..260),
            asked in prop::collection::vec(prop::option::weighted(0.9, 0..200_i64), 1..4),
        ) {
            let mut queue = FitList::default();
            let mut ends: Vec<_> = releases.iter().map(|&(end, units)| (at(end), units)).collect();
            ends.sort_unstable();
            let (mut free, mut whole) = (Profile::default(), Profile::default());
            free.reset(at(0), 4_i64, ends.iter().copied());
            whole.reset(at(0), 4_i64, ends.iter().copied());
            let mut starts = Vec::new();
            for (row, &(units, length)) in (0..).zip(&jobs) {
                let key = QueueKey { tier: 0, rank: 0, submit: at(0), row };
                let length = SimDuration::from_micros(length);
                queue.insert(Waiting { key, units, length, watts: 0, class: ClassId::OTHER });
                let start = whole.earliest_fit(units, length.max(TICK));
                if start != SimTime::NEVER {
                    whole.reserve(start, length.max(TICK), units);
                    starts.push((row, start));
                }
            }
            let mut plan = PartialPlan::default();
            plan.begin(at(0), 14);
            let mut before = at(0);
            let mut found = Vec::new();
            for asked in asked {
                before = before.max(asked.map_or(SimTime::NEVER, at));
                plan.ask(before);
                while let Some(start) = plan.next(&mut free, &queue) {
                    plan.take(&mut free, &start);
                    found.push((start.waiting.key.row, start.at));
                    prop_assert!(start.at < before);
                }
                let in_time: Vec<_> = starts.iter().copied().filter(|start| start.1 < before).collect();
                for &(row, start) in &found {
                    prop_assert!(starts.contains(&(row, start)), "{} at {:?}", row, start);
                }
                prop_assert!(in_time.iter().all(|start| plan.planned.contains(start.0)));
                let level = |profile: &Profile<i64>, instant: i64| profile.least_between(at(instant), TICK);
                for instant in (0..300).take_while(|&instant| at(instant) < before) {
                    prop_assert_eq!(level(&free, instant), level(&whole, instant), "at {}", instant);
                }
            }
        }
    }
}
