//! A queue in lanes: most waiting jobs stand in one line; jobs that may have to be passed over together stand in a
//! separate lane, which is closed and opened without a look at each.
//!
//! The queue reads as one list in policy order, without the jobs that are passed over.

use std::cmp::Ordering;

use crate::algo::fit_list::{Line, QueueKey, Room, Waiting};
use crate::algo::sorted_blocks as blocks;
use crate::algo::staircase::Refused;
use crate::units::{SimDuration, SimTime};

/// A queue in policy order.
#[derive(Clone, Debug, Default)]
pub struct FitList {
    main: Line,
    /// Lanes by number.
    lanes: Vec<Lane>,
}

#[derive(Clone, Debug)]
struct Lane {
    number: usize,
    line: Line,
    /// Jobs behind this key are passed over.
    until: QueueKey,
}

/// A place in a queue: that of the first job at or after it that is not passed over.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    key: QueueKey,
    /// Line of that job (0 is the main one, then the lanes) and its place there, unless the queue has changed since.
    line: usize,
    at: blocks::BlockPlace,
}

impl Place {
    /// The queue's first place. It is equal to no other: [`FitList::settled`] resolves it.
    pub const FRONT: Self = Self::before(QueueKey::FIRST);

    /// Place behind all jobs.
    const END: Self = Self::before(QueueKey::LAST);

    const fn before(key: QueueKey) -> Self {
        Self { key, line: 0, at: blocks::BlockPlace::FRONT }
    }

    /// Place of the first job of a line that is at this place or behind it.
    #[inline]
    fn within(self, line: &Line) -> blocks::BlockPlace {
        if self == Self::FRONT { blocks::BlockPlace::FRONT } else { self.search(line) }
    }

    #[inline(never)]
    fn search(self, line: &Line) -> blocks::BlockPlace {
        line.place_from(self.key)
    }
}

/// A place that is looked for in every line.
#[derive(Clone, Copy)]
struct KnownPlace {
    place: Place,
    /// True if its job stands where it did: no search is needed in that job's own line.
    stands: bool,
}

impl KnownPlace {
    fn in_line(self, number: usize, line: &Line) -> blocks::BlockPlace {
        if self.stands && number == self.place.line { self.place.at } else { self.place.within(line) }
    }
}

impl PartialEq for Place {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
    }
}

impl Eq for Place {}

impl PartialOrd for Place {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Place {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key.cmp(&other.key)
    }
}

impl FitList {
    /// Number of jobs that are not passed over.
    #[must_use]
    pub fn len(&self) -> usize {
        let shown = |lane: &Lane| lane.line.len() - lane.line.count_after(lane.until);
        self.main.len() + self.lanes.iter().map(shown).sum::<usize>()
    }

    /// True if there is no job that is not passed over.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.main.is_empty() && (self.lanes.is_empty() || self.settled(Place::FRONT) == Place::END)
    }

    /// All jobs that are not passed over, in order.
    pub fn iter(&self) -> impl Iterator<Item = &Waiting> {
        let mut sorted: Vec<&Waiting> = Vec::new();
        if !self.lanes.is_empty() {
            sorted.extend(self.main.iter());
            for lane in &self.lanes {
                sorted.extend(lane.line.iter().take_while(|waiting| waiting.key <= lane.until));
            }
            sorted.sort_by_key(|waiting| waiting.key);
        }
        self.main.iter().take(if self.lanes.is_empty() { usize::MAX } else { 0 }).chain(sorted)
    }

    /// The first job, if there is one.
    #[must_use]
    pub fn first(&self) -> Option<&Waiting> {
        if self.lanes.is_empty() { self.main.first() } else { self.get(Place::FRONT) }
    }

    /// Place of the first job, settled.
    #[must_use]
    pub fn front(&self) -> Place {
        if self.lanes.is_empty() { self.in_queue(blocks::BlockPlace::FRONT) } else { self.settled(Place::FRONT) }
    }

    /// The last job, if there is one.
    #[must_use]
    pub fn last(&self) -> Option<&Waiting> {
        if self.lanes.is_empty() { self.main.last() } else { self.iter().last() }
    }

    /// All jobs lane by lane, including those that are passed over.
    pub fn everyone(&self) -> impl Iterator<Item = &Waiting> {
        self.main.iter().chain(self.lanes.iter().flat_map(|lane| lane.line.iter()))
    }

    /// Jobs that stand in no separate lane, in order.
    pub fn main(&self) -> impl Iterator<Item = &Waiting> {
        self.main.iter()
    }

    /// The job at `place`, if the queue reaches that far.
    #[inline]
    #[must_use]
    pub fn get(&self, place: Place) -> Option<&Waiting> {
        self.at(place).or_else(|| self.search(place))
    }

    /// The same, for a settled place.
    #[inline]
    fn at(&self, place: Place) -> Option<&Waiting> {
        if place.line > 0 {
            return self.at_lane(place);
        }
        self.main.get(place.at).filter(|found| found.key == place.key)
    }

    fn at_lane(&self, place: Place) -> Option<&Waiting> {
        let found = self.line(place.line)?.get(place.at).filter(|found| found.key == place.key)?;
        (found.key <= self.until(place.line)).then_some(found)
    }

    /// The same, for a place that is not settled.
    #[inline(never)]
    fn search(&self, place: Place) -> Option<&Waiting> {
        if self.lanes.is_empty() { self.main.get(place.within(&self.main)) } else { self.at(self.settled(place)) }
    }

    /// A place, with the answer to whether its job still stands where it did.
    fn known(&self, place: Place) -> KnownPlace {
        KnownPlace { place, stands: self.at(place).is_some() }
    }

    fn line(&self, line: usize) -> Option<&Line> {
        if line == 0 { Some(&self.main) } else { self.lanes.get(line - 1).map(|lane| &lane.line) }
    }

    fn line_mut(&mut self, line: usize) -> &mut Line {
        if line == 0 { &mut self.main } else { &mut self.lanes[line - 1].line }
    }

    fn until(&self, line: usize) -> QueueKey {
        if line == 0 { QueueKey::LAST } else { self.lanes[line - 1].until }
    }

    /// The first of the places that `find` gives for each line.
    fn first_of(&self, find: impl Fn(usize, &Line) -> Option<blocks::BlockPlace>) -> Place {
        if self.lanes.is_empty() {
            return find(0, &self.main).map_or(Place::END, |at| self.in_queue(at));
        }
        let mut first = Place::END;
        for line in 0..=self.lanes.len() {
            let found = self.line(line).and_then(|own| Some((own, find(line, own)?)));
            let Some((at, waiting)) = found.and_then(|(own, at)| Some((at, own.get(at)?))) else { continue };
            if waiting.key < first.key && waiting.key <= self.until(line) {
                first = Place { key: waiting.key, line, at };
            }
        }
        first
    }

    /// A place of a queue without lanes, by its place in the main line.
    fn in_queue(&self, at: blocks::BlockPlace) -> Place {
        self.main.get(at).map_or(Place::END, |waiting| Place { key: waiting.key, line: 0, at })
    }

    /// Place in the main line of the first job there that is at this place or behind it.
    #[inline]
    fn in_main(&self, place: Place) -> blocks::BlockPlace {
        if place.line == 0 && self.at(place).is_some() { place.at } else { place.within(&self.main) }
    }

    /// The same place in its canonical form, which is equal for all places that lead to the same job.
    #[must_use]
    pub fn settled(&self, place: Place) -> Place {
        if self.lanes.is_empty() {
            return self.in_queue(self.in_main(place));
        }
        self.first_of(|_, own| Some(place.within(own)))
    }

    /// Lower bound of all lengths, including those of jobs that are passed over.
    #[must_use]
    pub fn shortest(&self) -> SimDuration {
        let lines = std::iter::once(&self.main).chain(self.lanes.iter().map(|lane| &lane.line));
        lines.map(Line::shortest).min().unwrap_or(SimDuration::FOREVER)
    }

    /// Adds a job at its place.
    pub fn insert(&mut self, item: Waiting) {
        self.main.insert(item);
    }

    /// Place of the job with this key.
    #[must_use]
    pub fn place_of(&self, key: QueueKey) -> Option<Place> {
        let own = |line: usize| Some(Place { key, line, at: self.line(line)?.place_of(key)? });
        (0..=self.lanes.len()).find_map(own).filter(|place| key <= self.until(place.line))
    }

    /// The first job with this key or a later one.
    #[must_use]
    pub fn first_from(&self, key: QueueKey) -> Option<&Waiting> {
        self.get(Place::before(key))
    }

    /// Place of the first job after this key.
    #[must_use]
    pub fn place_after(&self, key: QueueKey) -> Place {
        self.first_of(|_, own| Some(own.place_after(key)))
    }

    /// Number of jobs after this key.
    #[must_use]
    pub fn count_after(&self, key: QueueKey) -> usize {
        let shown = |lane: &Lane| lane.line.count_after(key).saturating_sub(lane.line.count_after(lane.until));
        self.main.count_after(key) + self.lanes.iter().map(shown).sum::<usize>()
    }

    /// The place after `place`.
    #[must_use]
    pub fn after(&self, place: Place) -> Place {
        if self.at(place).is_none() {
            return self.search(place).map_or(Place::END, |waiting| self.place_after(waiting.key));
        }
        if self.lanes.is_empty() {
            return self.in_queue(self.main.after(place.at));
        }
        self.behind(place, |own| own.after(place.at))
    }

    /// The first place after `place`, with `next` giving the successor within its line.
    fn behind(&self, place: Place, next: impl Fn(&Line) -> blocks::BlockPlace) -> Place {
        self.first_of(|line, own| Some(if line == place.line { next(own) } else { own.place_after(place.key) }))
    }

    /// Removes the job with this key, even if it is passed over.
    pub fn remove(&mut self, key: QueueKey) -> Option<Waiting> {
        let found = (0..=self.lanes.len()).find_map(|line| self.line_mut(line).remove(key));
        self.lanes.retain(|lane| !lane.line.is_empty());
        found
    }

    /// Removes the job at `place`; returns it and the place of the one that came after it.
    ///
    /// # Panics
    /// If there is none at `place`.
    pub fn remove_at(&mut self, place: Place) -> (Waiting, Place) {
        if self.lanes.is_empty() {
            let (item, next) = self.main.remove_at(self.in_main(place));
            return (item, self.in_queue(next));
        }
        let place = if self.at(place).is_some() { place } else { self.settled(place) };
        let (item, next) = self.line_mut(place.line).remove_at(place.at);
        let next = self.behind(Place { key: item.key, ..place }, |_| next);
        if self.line(place.line).is_some_and(|own| place.line > 0 && own.is_empty()) {
            self.lanes.remove(place.line - 1);
        }
        (item, next)
    }

    /// The first place at or after `from` whose element fits into `room`.
    #[must_use]
    pub fn first_fit(&self, from: Place, room: Room) -> Option<Place> {
        self.first_fit_unless(from, &room, Refused::NOTHING)
    }

    /// The same among the jobs that `refused` lets pass.
    #[must_use]
    pub fn first_fit_unless(&self, from: Place, room: &Room, refused: &Refused) -> Option<Place> {
        if from == Place::END {
            return None;
        }
        if self.lanes.is_empty() {
            return self.main.first_fit_unless(self.in_main(from), room, refused).map(|at| self.in_queue(at));
        }
        self.first_fit_in_lanes(from, room, refused)
    }

    #[inline(never)]
    fn first_fit_in_lanes(&self, from: Place, room: &Room, refused: &Refused) -> Option<Place> {
        let from = self.known(from);
        let found = self.first_of(|line, own| own.first_fit_unless(from.in_line(line, own), room, refused));
        (found != Place::END).then_some(found)
    }

    /// The first place at or after `from`, and before `to`, whose element passes `wanted`. If `may` refuses a need,
    /// `wanted` must refuse all elements that dominate it (no fewer units, no shorter).
    #[must_use]
    pub fn first_where(
        &self,
        (from, to): (Place, Option<Place>),
        may: impl Fn(i64, SimDuration) -> bool,
        wanted: impl Fn(&Waiting) -> bool,
    ) -> Option<Place> {
        let (from, to) = (self.known(from), to.map(|to| self.known(to)));
        let found = self.first_of(|line, own| {
            own.first_where((from.in_line(line, own), to.map(|to| to.in_line(line, own))), &may, &wanted)
        });
        (found != Place::END).then_some(found)
    }

    /// Key of the first submitted job of those submitted after `(instant, row)`; equal submits go by row.
    #[must_use]
    pub fn oldest_after(&self, after: (SimTime, u32)) -> Option<QueueKey> {
        let own = |line: usize| self.line(line)?.oldest_after(after, self.until(line));
        (0..=self.lanes.len()).filter_map(own).min_by_key(|key| (key.submit, key.row))
    }

    /// Gives all jobs, in their order, new ranks, and sorts the queue by them. No job may be passed over.
    pub fn rerank(&mut self, ranks: &[i64]) {
        if self.lanes.is_empty() {
            let mut ranks = ranks.iter();
            return self.main.rekey(|waiting| waiting.key.rank = ranks.next().copied().unwrap_or(waiting.key.rank));
        }
        let mut by_row: Vec<_> = self.iter().map(|waiting| waiting.key.row).zip(ranks.iter().copied()).collect();
        by_row.sort_unstable();
        let rank = |waiting: &mut Waiting| {
            if let Ok(place) = by_row.binary_search_by_key(&waiting.key.row, |(row, _)| *row) {
                waiting.key.rank = by_row[place].1;
            }
        };
        self.main.rekey(rank);
        self.lanes.iter_mut().for_each(|lane| lane.line.rekey(rank));
    }

    fn lane(&self, number: usize) -> Result<usize, usize> {
        self.lanes.binary_search_by_key(&number, |lane| lane.number)
    }

    /// True if there is a lane of this number.
    #[must_use]
    pub fn has_lane(&self, number: usize) -> bool {
        self.lane(number).is_ok()
    }

    /// Adds a lane of this number, of which there must be none, with the jobs that wait in it.
    pub fn add_lane(&mut self, number: usize, line: Line) {
        let (Ok(place) | Err(place)) = self.lane(number);
        self.lanes.insert(place, Lane { number, line, until: QueueKey::LAST });
    }

    /// Takes a lane out of the queue.
    pub fn take_lane(&mut self, number: usize) -> Option<Line> {
        let place = self.lane(number).ok()?;
        Some(self.lanes.remove(place).line)
    }

    /// Closes a lane, if it exists: its jobs after `until` are passed over.
    pub fn close_lane(&mut self, number: usize, until: QueueKey) {
        if let Ok(place) = self.lane(number) {
            let lane = &mut self.lanes[place];
            lane.until = lane.until.min(until);
        }
    }

    /// Opens a lane, if it exists: no job of it is passed over any more, and the jobs of `others` join it; otherwise
    /// these are left.
    pub fn open_lane(&mut self, number: usize, others: &mut Line) {
        if let Ok(place) = self.lane(number) {
            let lane = &mut self.lanes[place];
            lane.until = QueueKey::LAST;
            others.iter().for_each(|&waiting| lane.line.insert(waiting));
            others.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::algo::fit_list::ClassId;
    use crate::units::SimDuration;

    fn waiting(row: u32, rank: i64, units: i64) -> Waiting {
        let key = QueueKey { tier: 0, rank, submit: SimTime::from_micros(rank * 7 % 5), row };
        Waiting { key, units, length: SimDuration::from_micros(1), watts: 0, class: ClassId::OTHER }
    }

    /// Jobs, each with the number of its lane, or none.
    type All = Vec<(Option<usize>, Waiting)>;

    fn shown(all: &All, until: &[Option<QueueKey>]) -> Vec<Waiting> {
        let is_shown = |(lane, one): &&(Option<usize>, Waiting)| {
            lane.is_none_or(|lane| until[lane].is_some_and(|until| one.key <= until))
        };
        let mut shown: Vec<_> = all.iter().filter(is_shown).map(|(_, one)| *one).collect();
        shown.sort_by_key(|one| one.key);
        shown
    }

    fn check(list: &FitList, expected: &[Waiting]) -> Result<(), TestCaseError> {
        prop_assert_eq!(list.iter().copied().collect::<Vec<_>>(), expected);
        prop_assert_eq!((list.len(), list.is_empty()), (expected.len(), expected.is_empty()));
        prop_assert_eq!((list.first(), list.get(list.front())), (expected.first(), expected.first()));
        let mut place = Place::FRONT;
        for (index, one) in expected.iter().enumerate() {
            prop_assert_eq!(list.get(place), Some(one));
            let settled = list.settled(place);
            prop_assert_eq!(list.place_of(one.key), Some(settled));
            prop_assert_eq!(list.count_after(one.key), expected.len() - index - 1);
            prop_assert_eq!(list.get(list.place_after(one.key)), expected.get(index + 1));
            for units in [1, 4] {
                let found = list.first_fit(settled, Room::of(units)).and_then(|place| list.get(place));
                prop_assert_eq!(found, expected[index..].iter().find(|one| one.units <= units));
            }
            place = list.after(place);
            prop_assert!(place > settled);
        }
        prop_assert_eq!(list.get(place), None);
        let age = |key: &QueueKey| (key.submit, key.row);
        let oldest = expected.iter().map(|one| one.key).min_by_key(age);
        prop_assert_eq!(list.oldest_after((SimTime::from_micros(-1), 0)), oldest);
        Ok(())
    }

    proptest! {
        /// Twin: all in a list, with the lane of each.
        #[test]
        fn a_queue_in_lanes_is_one_list(
            ranks in prop::collection::vec((0..60_i64, 1..9_i64, prop::option::of(0..3_usize)), 1..150),
            steps in prop::collection::vec((0..4_usize, 0..3_usize, any::<prop::sample::Index>()), 1..12),
            turn in 0..60_i64,
        ) {
            let mut all: All =
                (0..).zip(&ranks).map(|(row, &(rank, units, lane))| (lane, waiting(row, rank, units))).collect();
            let (mut list, mut until, mut out) = (FitList::default(), [None; 3], [const { None }; 3]);
            let mut fresh = 1000;
            for (lane, out) in out.iter_mut().enumerate() {
                let mut line = Line::default();
                all.iter().filter(|(own, _)| *own == Some(lane)).for_each(|(_, one)| line.insert(*one));
                *out = Some(line);
            }
            all.iter().filter(|(lane, _)| lane.is_none()).for_each(|(_, one)| list.insert(*one));
            for (what, lane, which) in steps {
                match (what, list.has_lane(lane)) {
                    (0, false) => {
                        let line = out[lane].take().unwrap_or_default();
                        if !line.is_empty() {
                            until[lane] = Some(QueueKey::LAST);
                            list.add_lane(lane, line);
                        }
                    }
                    (0, true) => (out[lane], until[lane]) = (list.take_lane(lane), None),
                    (1, true) => {
                        let key = all[which.index(all.len())].1.key;
                        until[lane] = until[lane].min(Some(key));
                        list.close_lane(lane, key);
                    }
                    (2, true) => {
                        fresh += 1;
                        let one = waiting(fresh, 30, 3);
                        let mut others = Line::default();
                        others.insert(one);
                        list.open_lane(lane, &mut others);
                        all.push((Some(lane), one));
                        until[lane] = Some(QueueKey::LAST);
                    }
                    _ => {
                        let expected = shown(&all, &until);
                        if !expected.is_empty() {
                            let index = which.index(expected.len());
                            let place = list.place_of(expected[index].key).unwrap();
                            let (gone, next) = list.remove_at(place);
                            prop_assert_eq!(gone, expected[index]);
                            prop_assert_eq!(list.get(next), expected.get(index + 1));
                            all.retain(|(_, one)| one.key != gone.key);
                        }
                    }
                }
                check(&list, &shown(&all, &until))?;
            }
            for until in until.iter_mut().flatten() {
                *until = QueueKey::LAST;
            }
            (0..3).for_each(|lane| list.open_lane(lane, &mut Line::default()));
            let ranks: Vec<_> = list.iter().map(|one| (one.key.rank + turn) % 60).collect();
            let mut expected = shown(&all, &until);
            expected.iter_mut().zip(&ranks).for_each(|(one, &rank)| one.key.rank = rank);
            expected.sort_by_key(|one| one.key);
            list.rerank(&ranks);
            check(&list, &expected)?;
        }
    }
}
