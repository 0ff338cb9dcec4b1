//! A plan of a queue, each job at its earliest fit alongside those ahead of it, made lazily: only as far as is asked
//! for.
//!
//! Mostly only the jobs that start soon matter, and they are few. A job that fits late alongside some of those ahead of
//! it fits no earlier alongside all of them, so that most of a long queue need not be planned to know that it starts
//! late. A job that fits soon is planned as in a whole plan once all jobs ahead of it are planned that may start before
//! it would end, since none of the others can be in its way. Each of these is planned in the same manner first.
//!
//! If only the first so many jobs that do not start in time are promised a start, it matters which these are: those that
//! never fit do not count. Mostly it is certain that all of the first fit; otherwise these are all planned.

use std::cell::Cell;

use crate::algo::fit_list::{FitList, Place, Waiting};
use crate::algo::floors::Floors;
use crate::algo::horizon::{Amount, Profile};
use crate::algo::shelves::Shelves;
use crate::algo::staircase::Staircase;
use crate::units::{SimDuration, SimTime};

/// Free capacity over time, of which a plan promises each job its share.
pub trait Horizon {
    /// True if all jobs are of one group.
    const IS_ONE: bool;

    /// Group of a job. One that needs no fewer units than another of its group, for no shorter, fits no earlier.
    fn group(&self, waiting: &Waiting) -> usize;

    /// An instant before which no job of so many units and this length fits.
    fn floor_of(&self, units: i64, length: SimDuration) -> SimTime;

    /// An instant before which a job does not fit; no earlier than [`Horizon::floor_of`] its needs.
    fn floor(&self, waiting: &Waiting) -> SimTime {
        self.floor_of(waiting.units, waiting.length)
    }

    /// The earliest fit of a job from an instant on, if it is before another.
    fn fit_before(&mut self, waiting: &Waiting, from: SimTime, before: SimTime) -> Option<SimTime>;

    /// Notes that a job fits no earlier than an instant; of no use where bounds cost more than the searches they spare.
    fn raise(&mut self, waiting: &Waiting, to: SimTime) {
        let _ = (waiting, to);
    }

    /// True if it is certain that each of these jobs fits, one planned after another; see [`Shelves`].
    fn fits_each<'w>(&self, jobs: impl Iterator<Item = &'w Waiting>) -> bool;

    /// Number of units that are free throughout a job's run beyond those that it needs, below zero if it does not fit; none
    /// if only a search tells.
    fn spare(&mut self, start: &PlannedStart) -> Option<i64> {
        let _ = start;
        None
    }

    /// Number of jobs like this one that fit where it starts, all together; 1 if jobs are planned one by one.
    fn together(&self, start: &PlannedStart) -> usize {
        let _ = start;
        1
    }

    /// Promises so many jobs like this one their share from its start on.
    fn hold(&mut self, start: &PlannedStart, count: usize);
}

/// Numbers of free units, with lower bounds on earliest fits by size and length.
pub struct CountedUnits<'a> {
    /// Units that are free over time.
    pub free: &'a mut Profile<i64>,
    /// Lower bounds, reset with the plan.
    pub floors: &'a mut Floors,
}

impl Horizon for CountedUnits<'_> {
    const IS_ONE: bool = true;

    fn group(&self, _waiting: &Waiting) -> usize {
        0
    }

    fn floor_of(&self, units: i64, length: SimDuration) -> SimTime {
        self.floors.of(units, length)
    }

    fn fit_before(&mut self, waiting: &Waiting, from: SimTime, before: SimTime) -> Option<SimTime> {
        self.free.fit_before(from, before, waiting.units, waiting.length.max(SimDuration::TICK))
    }

    fn raise(&mut self, waiting: &Waiting, to: SimTime) {
        self.floors.raise(waiting.units, waiting.length.max(SimDuration::TICK), to);
    }

    fn fits_each<'w>(&self, mut jobs: impl Iterator<Item = &'w Waiting>) -> bool {
        let (begins, last) = self.free.last();
        let mut shelves = Shelves::new(begins);
        jobs.all(|waiting| shelves.latest_start(waiting, last) < SimTime::NEVER)
    }

    fn spare(&mut self, start: &PlannedStart) -> Option<i64> {
        Some(self.free.least_between(start.at, start.length()) - start.waiting.units)
    }

    fn together(&self, start: &PlannedStart) -> usize {
        let fit = self.free.least_between(start.at, start.length()).how_often(start.waiting.units);
        usize::try_from(fit).unwrap_or(0)
    }

    fn hold(&mut self, start: &PlannedStart, count: usize) {
        let units = start.waiting.units.times(i64::try_from(count).unwrap_or(i64::MAX));
        self.free.reserve(start.at, start.length(), units);
    }
}

/// Plan of some jobs of a queue, and the jobs that are about to be planned.
#[derive(Clone, Debug, Default)]
pub struct PartialPlan {
    planned: Rows,
    /// Number of units that these hold, each for its time.
    held: i64,
    /// Search for all jobs that start in time.
    aim: Search,
    /// Number of jobs that do not start in time and are promised a start all the same.
    depth: usize,
    /// Number of jobs ahead of the limit that never fit, as far as is known.
    left_out: usize,
    /// True if that is certain.
    is_settled: bool,
    /// Jobs from here on are promised nothing unless they start in time.
    limit: Option<Place>,
    /// Stack of jobs to be planned: one that may start in time, one that may be in its way, and so on.
    steps: Vec<Step>,
    /// Memory for the searches of steps to come.
    spare: Vec<Vec<Staircase>>,
    cleared: Cleared,
}

/// Stretches of the queue that need no look: the jobs ahead of a place are planned, or start no earlier than an instant.
///
/// Places ascend and instants descend. What was found stays true, as a plan only ever gets fuller.
#[derive(Clone, Debug, Default)]
struct Cleared(Vec<(Place, SimTime)>);

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
    /// Needs that do not fit before `before`, by group.
    refused: Vec<Staircase>,
}

/// A job that is to be planned once those are that may be in its way.
#[derive(Clone, Debug)]
struct Step {
    start: PlannedStart,
    /// Most units that the plan may hold without a change of this start.
    stands_up_to: i64,
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

impl Cleared {
    /// The last place ahead of which no job matters that starts before an instant.
    fn until(&self, before: SimTime) -> Place {
        let known = self.0.partition_point(|&(_, at)| at >= before);
        known.checked_sub(1).map_or(Place::FRONT, |last| self.0[last].0)
    }

    /// Notes that the jobs ahead of a place are planned, or start no earlier than an instant.
    fn note(&mut self, place: Place, at: SimTime) {
        let ahead = self.0.partition_point(|&(other, _)| other < place);
        if self.0.get(ahead).is_some_and(|&(_, later)| later >= at) {
            return;
        }
        let kept = self.0[..ahead].partition_point(|&(_, later)| later > at);
        let behind = ahead + usize::from(self.0.get(ahead).is_some_and(|&(other, _)| other == place));
        self.0.splice(kept..behind, [(place, at)]);
    }
}

impl Default for Search {
    fn default() -> Self {
        Self { before: SimTime::NEVER, from: Place::FRONT, to: None, refused: Vec::new() }
    }
}

impl Search {
    /// Starts again at a place, for jobs that start before another instant.
    fn restart(&mut self, before: SimTime, from: Place) {
        (self.before, self.from) = (before, from);
        self.refused.iter_mut().for_each(Staircase::clear);
    }

    /// Notes that a job, and all of its group that dominate it, do not fit in time.
    fn refuse(&mut self, group: usize, waiting: &Waiting) {
        if self.refused.len() <= group {
            self.refused.resize(group + 1, Staircase::default());
        }
        self.refused[group].refuse(waiting.units, waiting.length);
    }
}

/// True if a need of a group is known to be refused.
fn is_refused(refused: &[Staircase], group: usize, units: i64, length: SimDuration) -> bool {
    refused.get(group).is_some_and(|stairs| stairs.holds(units, length))
}

impl PlannedStart {
    /// Time for which it holds its units.
    fn length(&self) -> SimDuration {
        self.waiting.length.max(SimDuration::TICK)
    }

    fn end(&self) -> SimTime {
        self.at.saturating_add(self.length())
    }
}

impl PartialPlan {
    /// Starts with no job planned; the first `depth` that do not start in time are to be.
    pub fn begin(&mut self, depth: usize) {
        self.planned.clear();
        self.held = 0;
        while self.leave_step().is_some() {}
        self.cleared.0.clear();
        (self.depth, self.left_out, self.is_settled) = (depth, 0, false);
    }

    /// Number of jobs that are planned.
    #[must_use]
    pub fn count(&self) -> usize {
        self.planned.all.len()
    }

    /// True if the job in that row is planned.
    #[must_use]
    pub fn has(&self, row: u32) -> bool {
        self.planned.contains(row)
    }

    /// Sets the goal: the jobs that start before an instant.
    pub fn ask(&mut self, before: SimTime) {
        self.aim.restart(before, Place::FRONT);
        self.aim.to = None;
    }

    /// Sets the goal: the jobs from a place on that start before an instant. Those ahead do not.
    pub fn ask_behind(&mut self, from: Place, before: SimTime) {
        self.ask(before);
        self.aim.from = from;
    }

    /// The next job in the queue's order that starts in time and is not planned yet. It stays so until it is
    /// [taken](Self::take).
    pub fn next<H: Horizon>(&mut self, free: &mut H, queue: &FitList) -> Option<PlannedStart> {
        loop {
            self.limit = self.limit_in(queue);
            let next = self.search(free, queue)?;
            let is_beyond = self.limit.is_some_and(|limit| limit <= next.place);
            self.is_settled |= is_beyond && free.fits_each(queue.iter().take(self.depth));
            if self.is_settled || !is_beyond {
                return Some(next);
            }
            self.settle(free, queue, next.place);
        }
    }

    /// The first job that is promised no start to come.
    fn limit_in(&self, queue: &FitList) -> Option<Place> {
        let ahead = self.depth.saturating_add(self.left_out);
        let first = if ahead < queue.len() { queue.iter().nth(ahead) } else { None };
        first.and_then(|waiting| queue.place_of(waiting.key))
    }

    /// Plans all jobs ahead of the limit, to know how many of them never fit; the goal goes on from a place behind it.
    fn settle<H: Horizon>(&mut self, free: &mut H, queue: &FitList, from: Place) {
        let all = Search { to: self.limit, ..Search::default() };
        let aim = std::mem::replace(&mut self.aim, all);
        while let Some(start) = self.search(free, queue) {
            self.take(free, &start);
        }
        let ahead = queue.iter().take(self.depth.saturating_add(self.left_out));
        let left_out = ahead.filter(|waiting| !self.planned.contains(waiting.key.row)).count();
        self.is_settled = left_out == std::mem::replace(&mut self.left_out, left_out);
        self.aim = Search { from, ..aim };
    }

    /// The next job that starts in time, if its place is before the end of the search.
    fn search<H: Horizon>(&mut self, free: &mut H, queue: &FitList) -> Option<PlannedStart> {
        loop {
            self.put_off(free);
            if let Some(start) = self.in_the_way(free, queue) {
                if self.steps.last().is_some_and(|step| start.end() <= step.search.before) {
                    // What may be in its way would be in the way of the last step, too, and is planned already.
                    self.take_alike(free, queue, &start);
                } else {
                    self.add_step(start);
                }
                continue;
            }
            let start = self.leave_step()?;
            if self.steps.is_empty() {
                self.aim.from = queue.after(start.place);
                return Some(start);
            }
            self.take_alike(free, queue, &start);
        }
    }

    /// Puts a job on the stack that is to be planned once those ahead of it are that may start before it ends.
    fn add_step(&mut self, start: PlannedStart) {
        let mut search = Search { refused: self.spare.pop().unwrap_or_default(), ..Search::default() };
        search.restart(start.end(), self.cleared.until(start.end()));
        search.to = Some(self.limit.map_or(start.place, |limit| limit.min(start.place)));
        self.steps.push(Step { start, stands_up_to: self.held, search });
    }

    /// Takes the last step off the stack; its memory is left for others.
    fn leave_step(&mut self) -> Option<PlannedStart> {
        let Step { start, search, .. } = self.steps.pop()?;
        self.spare.push(search.refused);
        Some(start)
    }

    /// Plans a job where it starts.
    pub fn take<H: Horizon>(&mut self, free: &mut H, start: &PlannedStart) {
        free.hold(start, 1);
        self.note(start);
    }

    /// Plans a job that has its place in the plan but does not start after all, if it is one of those that are promised
    /// a start to come.
    pub fn put_aside<H: Horizon>(&mut self, free: &mut H, start: &PlannedStart) {
        if self.limit.is_none_or(|limit| start.place < limit) {
            self.take(free, start);
        }
    }

    /// Notes that a job has its share already.
    pub fn note(&mut self, start: &PlannedStart) {
        self.planned.insert(start.waiting.key.row);
        self.held = self.held.saturating_add(start.waiting.units);
    }

    /// Plans a job that is in the way of another, and with it the jobs alike that directly follow it and fit there, too:
    /// what may be in their way is planned already.
    fn take_alike<H: Horizon>(&mut self, free: &mut H, queue: &FitList, start: &PlannedStart) {
        let (first, to) = (start.waiting, self.search_before(0).to);
        self.note(start);
        let (mut count, mut together, mut place) = (1, None, queue.after(start.place));
        while to.is_none_or(|to| place < to)
            && let Some(next) = queue.get(place)
            && (next.units, next.length) == (first.units, first.length)
            && !self.planned.contains(next.key.row)
            && count < *together.get_or_insert_with(|| free.together(start))
        {
            self.note(&PlannedStart { waiting: *next, ..*start });
            count += 1;
            place = queue.after(place);
        }
        free.hold(start, count);
    }

    /// Recomputes the start of the last step if jobs were planned since that may be in its way, and drops the step if it
    /// starts too late to matter.
    fn put_off<H: Horizon>(&mut self, free: &mut H) {
        while let Some(step) = self.steps.last_mut().filter(|step| self.held > step.stands_up_to) {
            let start = step.start;
            if let Some(spare) = free.spare(&start).filter(|&spare| spare >= 0) {
                step.stands_up_to = self.held.saturating_add(spare);
                return;
            }
            self.cleared.note(step.search.from, step.search.before);
            let before = self.search_before(1).before;
            let at = free.fit_before(&start.waiting, start.at, before);
            free.raise(&start.waiting, at.unwrap_or(before));
            if let (Some(at), Some(step)) = (at, self.steps.last_mut()) {
                step.stands_up_to = self.held;
                if at != start.at {
                    step.start.at = at;
                    let before = step.start.end();
                    step.search.restart(before, self.cleared.until(before));
                }
            } else {
                self.leave_step();
                let search = self.steps.last_mut().map_or(&mut self.aim, |step| &mut step.search);
                search.refuse(free.group(&start.waiting), &start.waiting);
            }
        }
    }

    /// The search of the last step but `steps`.
    fn search_before(&self, steps: usize) -> &Search {
        let place = self.steps.len().checked_sub(steps + 1);
        place.map_or(&self.aim, |place| &self.steps[place].search)
    }

    /// The first job ahead of the last step that starts before it ends, as far as is known.
    fn in_the_way<H: Horizon>(&mut self, free: &mut H, queue: &FitList) -> Option<PlannedStart> {
        let Self { planned, aim, steps, cleared, .. } = self;
        let search = steps.last_mut().map_or(aim, |step| &mut step.search);
        // A need that starts too late. Jobs alike often stand side by side, so that most needs that follow dominate it.
        let late = Cell::new(None);
        let is_known = |waiting: &Waiting| {
            let dominates = |(units, length)| waiting.units >= units && waiting.length >= length;
            H::IS_ONE && late.get().is_some_and(dominates)
        };
        loop {
            let Search { before, from, to, ref refused } = *search;
            let all: &[Staircase] = if H::IS_ONE { refused } else { &[] };
            let may = |units, length| free.floor_of(units, length) < before && !is_refused(all, 0, units, length);
            let is_open = |waiting: &Waiting| {
                let &Waiting { units, length, .. } = waiting;
                if is_known(waiting) || planned.contains(waiting.key.row) {
                    return false;
                }
                let is_late = is_refused(refused, free.group(waiting), units, length) || free.floor(waiting) >= before;
                if is_late {
                    late.set(Some((units, length)));
                }
                !is_late
            };
            let Some(place) = queue.first_where((from, to), may, is_open) else {
                if let Some(to) = to {
                    cleared.note(to, before);
                }
                return None;
            };
            let waiting = *queue.get(place)?;
            // From here on it is planned or refused, whatever comes of it.
            search.from = place;
            let at = free.fit_before(&waiting, free.floor(&waiting), before);
            free.raise(&waiting, at.unwrap_or(before));
            let Some(at) = at else {
                search.refuse(free.group(&waiting), &waiting);
                continue;
            };
            return Some(PlannedStart { place, waiting, at });
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
        /// Twin: a list of all that was noted.
        #[test]
        fn a_stretch_is_cleared_as_far_as_one_of_a_list_is(
            noted in prop::collection::vec((0..30_i64, 0..30_i64), 0..40),
            asked in 0..32_i64,
        ) {
            let (mut queue, mut cleared) = (FitList::default(), Cleared::default());
            for row in 0..30 {
                let key = QueueKey { tier: 0, rank: i64::from(row), submit: at(0), row };
                queue.insert(Waiting { key, units: 1, length: SimDuration::TICK, watts: 0, class: ClassId::OTHER });
            }
            let places: Vec<_> = queue.iter().filter_map(|waiting| queue.place_of(waiting.key)).collect();
            let mut listed = Vec::new();
            for (place, then) in noted {
                let place = places[usize::try_from(place).unwrap()];
                cleared.note(place, at(then));
                listed.push((place, at(then)));
            }
            let furthest = listed.iter().filter(|known| known.1 >= at(asked)).map(|known| known.0).max();
            prop_assert_eq!(cleared.until(at(asked)), furthest.unwrap_or(Place::FRONT));
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(400))]

        /// Twin: every job in turn at its earliest fit, if that is in time or few enough are promised a later one.
        #[test]
        fn only_the_first_that_fit_later_are_in_the_way(
            releases in prop::collection::vec((0..60_i64, 1..3_i64), 0..8),
            jobs in prop::collection::vec((1..14_i64, 0..40_i64), 1..120),
            (depth, soon) in (prop_oneof![0..4_usize, 0..60_usize], 1..30_i64),
        ) {
            let mut queue = FitList::default();
            let mut ends: Vec<_> = releases.iter().map(|&(end, units)| (at(end), units)).collect();
            ends.sort_unstable();
            let (mut free, mut whole) = (Profile::default(), Profile::default());
            free.reset(at(0), 4_i64, ends.iter().copied());
            whole.reset(at(0), 4_i64, ends.iter().copied());
            let (mut starts, mut held) = (Vec::new(), 0);
            for (row, &(units, length)) in (0..).zip(&jobs) {
                let key = QueueKey { tier: 0, rank: 0, submit: at(0), row };
                let length = SimDuration::from_micros(length);
                queue.insert(Waiting { key, units, length, watts: 0, class: ClassId::OTHER });
                let start = whole.earliest_fit(units, length.max(SimDuration::TICK));
                let is_in_time = start < at(soon);
                if is_in_time || held < depth && start != SimTime::NEVER {
                    whole.reserve(start, length.max(SimDuration::TICK), units);
                    held += usize::from(!is_in_time);
                }
                starts.extend(is_in_time.then_some((row, start)));
            }
            let (mut plan, mut floors, mut found) = (PartialPlan::default(), Floors::default(), Vec::new());
            floors.reset(at(0), 14);
            plan.begin(depth);
            plan.ask(at(soon));
            let mut counts = CountedUnits { free: &mut free, floors: &mut floors };
            while let Some(start) = plan.next(&mut counts, &queue) {
                plan.take(&mut counts, &start);
                queue.remove(start.waiting.key);
                found.push((start.waiting.key.row, start.at));
            }
            prop_assert_eq!(found, starts);
        }
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
                let start = whole.earliest_fit(units, length.max(SimDuration::TICK));
                if start != SimTime::NEVER {
                    whole.reserve(start, length.max(SimDuration::TICK), units);
                    starts.push((row, start));
                }
            }
            let (mut plan, mut floors) = (PartialPlan::default(), Floors::default());
            floors.reset(at(0), 14);
            plan.begin(usize::MAX);
            let mut before = at(0);
            let mut found = Vec::new();
            for asked in asked {
                before = before.max(asked.map_or(SimTime::NEVER, at));
                plan.ask(before);
                let mut counts = CountedUnits { free: &mut free, floors: &mut floors };
                while let Some(start) = plan.next(&mut counts, &queue) {
                    plan.take(&mut counts, &start);
                    found.push((start.waiting.key.row, start.at));
                    prop_assert!(start.at < before);
                }
                let in_time: Vec<_> = starts.iter().copied().filter(|start| start.1 < before).collect();
                for &(row, start) in &found {
                    prop_assert!(starts.contains(&(row, start)), "{} at {:?}", row, start);
                }
                prop_assert!(in_time.iter().all(|start| plan.planned.contains(start.0)));
                let level = |profile: &Profile<i64>, instant: i64| profile.least_between(at(instant), SimDuration::TICK);
                for instant in (0..300).take_while(|&instant| at(instant) < before) {
                    prop_assert_eq!(level(&free, instant), level(&whole, instant), "at {}", instant);
                }
            }
        }
    }
}
