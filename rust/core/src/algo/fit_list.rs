//! The queue in policy order, with a fast search for the first job that fits.

mod lanes;

pub use self::lanes::{FitList, Place};

use crate::algo::front::Front;
use crate::algo::guide::Summary;
use crate::algo::sorted_blocks::{self as blocks, Keyed, SortedBlocks};
use crate::algo::staircase::Refused;
use crate::units::{SimDuration, SimTime, Watts};

/// Place in the order: the queue's priority first, then the policy's rank, then the earlier submit, then the earlier
/// row. Never equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct QueueKey {
    /// Lower goes first, whatever the rank: 0 where there are no queues.
    pub tier: i32,
    /// Lower goes first.
    pub rank: i64,
    /// Earlier goes first among equal ranks.
    pub submit: SimTime,
    /// Row in the trace: breaks the last ties.
    pub row: u32,
}

impl QueueKey {
    /// Before all others.
    pub const FIRST: Self = Self { tier: i32::MIN, rank: i64::MIN, submit: SimTime::from_micros(i64::MIN), row: 0 };
    /// After all others.
    pub const LAST: Self = Self { tier: i32::MAX, rank: i64::MAX, submit: SimTime::NEVER, row: u32::MAX };
}

/// A waiting job: what it needs, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// Its place in the order.
    pub key: QueueKey,
    /// Nodes, or slots where nodes are shared, that it needs in all.
    pub units: i64,
    /// Planned length of its run.
    pub length: SimDuration,
    /// Microwatts that it adds to the idle machine at least; 0 where they are not counted.
    pub watts: i64,
    /// Class of jobs that differ only in size.
    pub class: ClassId,
}

/// Class of waiting jobs that differ only in size, as a dense number.
///
/// The first classes have slots in the summaries of a queue. There, of two jobs of a slot, the larger does not fit where
/// the smaller does not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClassId {
    /// 0 if the class has none.
    slot: u8,
    /// Its number from 1 on; 0 for jobs that are like no other.
    number: u16,
}

/// A number of units by class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ByClass([u32; ClassId::SLOTS]);

impl ClassId {
    /// Number of slots, the one of the classes without one included.
    pub const SLOTS: usize = 8;

    /// Class of the jobs that are like no other.
    pub const OTHER: Self = Self { slot: 0, number: 0 };

    /// The class that was met as number `index`, without a slot.
    #[must_use]
    pub fn numbered(index: usize) -> Self {
        Self { number: u16::try_from(index + 1).unwrap_or(0), ..Self::OTHER }
    }

    /// The same class in the slot that was given out as number `index`; only the first few exist.
    #[must_use]
    pub fn in_slot(self, index: usize) -> Self {
        Self { slot: u8::try_from(index + 1).ok().filter(|&slot| usize::from(slot) < Self::SLOTS).unwrap_or(0), ..self }
    }

    /// Its number among the classes; none for jobs that are like no other.
    #[must_use]
    pub fn index(self) -> Option<usize> {
        usize::from(self.number).checked_sub(1)
    }

    /// Its slot in the summaries of a queue; 0 if it has none.
    #[must_use]
    pub fn slot(self) -> usize {
        usize::from(self.slot)
    }
}

impl ByClass {
    /// Nothing of any class.
    pub const NONE: Self = Self([u32::MAX; ClassId::SLOTS]);

    /// Notes a number of units for a class.
    pub fn lower(&mut self, class: ClassId, units: i64) {
        let least = &mut self.0[class.slot()];
        *least = (*least).min(Self::told(units));
    }

    fn told(units: i64) -> u32 {
        u32::try_from(units).unwrap_or(u32::MAX).min(u32::MAX - 1)
    }

    fn with(mut self, class: ClassId, units: i64) -> Self {
        self.lower(class, units);
        self
    }

    fn without(mut self, class: ClassId, units: i64, rest: impl Iterator<Item = i64>) -> Self {
        let least = &mut self.0[class.slot()];
        *least = least_left(*least, Self::told(units), u32::MAX, rest.map(Self::told));
        self
    }

    /// Minimum of both for each class.
    #[must_use]
    pub fn join(self, other: Self) -> Self {
        Self(std::array::from_fn(|slot| self.0[slot].min(other.0[slot])))
    }

    /// True if there is a class with fewer units than `refused` has for it.
    fn passes(&self, refused: &Self) -> bool {
        self.0.iter().zip(refused.0).any(|(&least, refused)| least < refused)
    }

    fn lets_pass(&self, class: ClassId, units: i64) -> bool {
        Self::told(units) < self.0[class.slot()]
    }
}

/// The smallest need, the smallest length, the fewest watts and the earliest submit in a block, not necessarily of one
/// element.
#[derive(Clone, Copy, Debug)]
pub struct LeastNeeds {
    units: i64,
    length: SimDuration,
    watts: i64,
    submit: SimTime,
    classes: ByClass,
}

impl Keyed for Waiting {
    type Key = QueueKey;
    fn key(&self) -> QueueKey {
        self.key
    }
}

impl Summary<Waiting> for LeastNeeds {
    const EMPTY: Self = Self {
        units: i64::MAX,
        length: SimDuration::FOREVER,
        watts: i64::MAX,
        submit: SimTime::NEVER,
        classes: ByClass::NONE,
    };
    fn with(self, item: &Waiting) -> Self {
        Self {
            units: self.units.min(item.units),
            length: self.length.min(item.length),
            watts: self.watts.min(item.watts),
            submit: self.submit.min(item.key.submit),
            classes: self.classes.with(item.class, item.units),
        }
    }

    fn without(self, item: &Waiting, rest: &[Waiting]) -> Self {
        let alike = rest.iter().filter(|other| other.class.slot() == item.class.slot());
        Self {
            units: least_left(self.units, item.units, i64::MAX, rest.iter().map(|other| other.units)),
            length: least_left(self.length, item.length, SimDuration::FOREVER, rest.iter().map(|other| other.length)),
            watts: least_left(self.watts, item.watts, i64::MAX, rest.iter().map(|other| other.watts)),
            submit: least_left(self.submit, item.key.submit, SimTime::NEVER, rest.iter().map(|other| other.key.submit)),
            classes: self.classes.without(item.class, item.units, alike.map(|other| other.units)),
        }
    }

    type Wide = Least;
    const NOTHING: Least = Least {
        units: i64::MAX,
        watts: i64::MAX,
        shortest: SimDuration::FOREVER,
        classes: ByClass::NONE,
        front: Front::EMPTY,
    };

    fn widen(mut wide: Least, item: &Waiting) -> Least {
        wide.units = wide.units.min(item.units);
        wide.watts = wide.watts.min(item.watts);
        wide.shortest = wide.shortest.min(item.length);
        wide.front.note(item.units, item.length);
        wide.classes.lower(item.class, item.units);
        wide
    }

    fn narrow(wide: &Least, item: &Waiting, rest: &[Waiting]) -> Option<Least> {
        if wide.front.rests_on(item.units, item.length) {
            return Some(rest.iter().fold(Self::NOTHING, Self::widen));
        }
        let alike = rest.iter().filter(|other| other.class.slot() == item.class.slot());
        let watts = least_left(wide.watts, item.watts, i64::MAX, rest.iter().map(|other| other.watts));
        let classes = wide.classes.without(item.class, item.units, alike.map(|other| other.units));
        ((watts, classes) != (wide.watts, wide.classes)).then_some(Least { watts, classes, ..*wide })
    }

    fn join(mut one: Least, other: Least) -> Least {
        one.units = one.units.min(other.units);
        one.watts = one.watts.min(other.watts);
        one.shortest = one.shortest.min(other.shortest);
        one.front.join(&other.front);
        one.classes = one.classes.join(other.classes);
        one
    }
}

/// Minimum of the elements that are left when one with the value `own` has left: they are searched only if it was the
/// minimum, and no further than to another one with that value. `none` is the minimum of no elements.
fn least_left<N: Copy + Ord>(least: N, own: N, none: N, rest: impl Iterator<Item = N>) -> N {
    if own > least {
        return least;
    }
    let mut left = none;
    for other in rest {
        if other <= least {
            return least;
        }
        left = left.min(other);
    }
    left
}

/// The smallest need, the fewest watts and the shortest length of many blocks, with the Pareto front of needs and
/// lengths. A search reads one after the other and rarely needs the front: the rest is in one line of the cache.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub struct Least {
    units: i64,
    watts: i64,
    shortest: SimDuration,
    classes: ByClass,
    front: Front<12>,
}

/// Room in which jobs may start: those within `units` and `watts`, and of these the ones beyond the extra amounts only
/// if they last no longer than `slack`.
#[derive(Clone, Copy, Debug)]
pub struct Room {
    /// Free now.
    pub units: i64,
    /// Microwatts that may be added.
    pub watts: i64,
    /// Time until the head's start.
    pub slack: SimDuration,
    /// Units free now and not needed by the head when its time comes.
    pub extra: i64,
    /// Microwatts free now and not needed by the head when its time comes.
    pub extra_watts: i64,
    /// Fewest units of each class that are known not to fit; more of them do not fit either.
    pub refused: ByClass,
    /// The same for jobs that last longer than `slack`.
    pub refused_beside: ByClass,
}

impl Room {
    /// Room in which only the number of units counts.
    #[must_use]
    pub fn of(units: i64) -> Self {
        let (watts, slack) = (i64::MAX, SimDuration::FOREVER);
        let (refused, refused_beside) = (ByClass::NONE, ByClass::NONE);
        Self { units, watts, slack, extra: units, extra_watts: watts, refused, refused_beside }
    }

    /// The same room with at most so many watts left.
    #[must_use]
    pub fn within(self, watts: Option<Watts>) -> Self {
        Self { watts: watts.map_or(i64::MAX, Watts::microwatts_up), ..self }
    }

    fn may_hold(&self, least: &Least) -> bool {
        let extra = if least.watts <= self.extra_watts { self.extra } else { i64::MIN };
        least.units <= self.units
            && least.watts <= self.watts
            && (least.units <= extra
                || least.shortest <= self.slack && least.front.may_fit(self.units, self.slack, extra))
            && least.classes.passes(&self.refused)
    }

    fn holds(&self, units: i64, length: SimDuration, watts: i64) -> bool {
        let is_beside = || units <= self.extra && watts <= self.extra_watts;
        units <= self.units && watts <= self.watts && (length <= self.slack || is_beside())
    }

    /// True if some class of a block is not known to be refused.
    fn lets_block_pass(&self, block: &LeastNeeds) -> bool {
        block.classes.passes(&self.refused)
            && (block.length <= self.slack || block.classes.passes(&self.refused_beside))
    }

    fn lets_pass(&self, waiting: &Waiting) -> bool {
        self.refused.lets_pass(waiting.class, waiting.units)
            && (waiting.length <= self.slack || self.refused_beside.lets_pass(waiting.class, waiting.units))
    }
}

/// Waiting jobs in policy order.
pub type Line = SortedBlocks<Waiting, LeastNeeds>;

impl Line {
    /// The first place at or after `from` whose element fits into `room` and is let pass by `refused`.
    fn first_fit_unless(&self, from: blocks::BlockPlace, room: &Room, refused: &Refused) -> Option<blocks::BlockPlace> {
        let may_fit = |units, length, watts| room.holds(units, length, watts) && !refused.holds(units, watts, length);
        self.find(
            from,
            |least| room.may_hold(least) && least.front.passes(&refused.units),
            |block| may_fit(block.units, block.length, block.watts) && room.lets_block_pass(&block),
            |waiting| may_fit(waiting.units, waiting.length, waiting.watts) && room.lets_pass(waiting),
        )
    }

    fn shortest(&self) -> SimDuration {
        self.blocks().map(|(_, block)| block.length).min().unwrap_or(SimDuration::FOREVER)
    }

    /// The first place at or after `from`, and before `to`, whose element passes `wanted`. If `may` refuses a need,
    /// `wanted` must refuse all elements that dominate it (no fewer units, no shorter).
    fn first_where(
        &self,
        (from, to): (blocks::BlockPlace, Option<blocks::BlockPlace>),
        may: impl Fn(i64, SimDuration) -> bool,
        wanted: impl Fn(&Waiting) -> bool,
    ) -> Option<blocks::BlockPlace> {
        let wide = |least: &Least| least.front.iter().any(|(units, length)| may(units, length));
        self.find_before(from, to, wide, |block| may(block.units, block.length), wanted)
    }

    /// Key of the first submitted job of those submitted after `(instant, row)` that stand no later than `until`.
    fn oldest_after(&self, after: (SimTime, u32), until: QueueKey) -> Option<QueueKey> {
        let mut oldest: Option<QueueKey> = None;
        for (block, earliest) in self.blocks() {
            if oldest.is_some_and(|found| earliest.submit > found.submit) {
                continue;
            }
            let keys = block.iter().map(|waiting| waiting.key).take_while(|&key| key <= until);
            for key in keys.filter(|key| (key.submit, key.row) > after) {
                if oldest.is_none_or(|found| (key.submit, key.row) < (found.submit, found.row)) {
                    oldest = Some(key);
                }
            }
        }
        oldest
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]

        /// A queue so long that it is searched by groups of blocks, as it grows shorter. Twin: look at everyone.
        #[test]
        fn finds_the_first_that_fits_in_a_long_queue(
            count in 8_400..9_500_usize,
            seed in any::<u32>(),
            rooms in prop::collection::vec((0..3_000_i64, 0..3_000_i64, 0..900_i64, 0..2_000_i64), 1..60),
        ) {
            let mut state = u64::from(seed) | 1;
            let mut random = |below: u64| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                i64::try_from((state >> 33) % below).unwrap()
            };
            let mut list = FitList::default();
            let mut all: Vec<Waiting> = (0..).take(count).map(|row| {
                let key = QueueKey { tier: 0, rank: random(500), submit: SimTime::from_micros(0), row };
                let units = 1 + random(2_500) / (1 + random(40));
                let length = SimDuration::from_micros(random(90_000));
                let class = ClassId::OTHER.in_slot(usize::try_from(random(9)).unwrap());
                Waiting { key, units, length, watts: units * random(900), class }
            }).collect();
            for &waiting in &all {
                list.insert(waiting);
            }
            all.sort_by_key(|waiting| waiting.key);
            for (units, extra, slack, watts) in rooms {
                let slack = SimDuration::from_micros(slack);
                let mut refused = [ByClass::NONE; 2];
                for by_class in &mut refused {
                    for index in 0..usize::try_from(random(9)).unwrap() {
                        by_class.lower(ClassId::OTHER.in_slot(index), random(900));
                    }
                }
                let [refused, refused_beside] = refused;
                let room =
                    Room { units, watts: watts * 40, slack, extra, extra_watts: watts, refused, refused_beside };
                let mut from = Place::FRONT;
                for _ in 0..40 {
                    let found = list.first_fit(from, room);
                    let place = list.get(from).map(|first| all.partition_point(|waiting| waiting.key < first.key));
                    let fits = |waiting: &&Waiting| {
                        let fewest = |of: ByClass| i64::from(of.0[waiting.class.slot()]);
                        let is_refused = waiting.units >= fewest(refused)
                            || waiting.length > slack && waiting.units >= fewest(refused_beside);
                        room.holds(waiting.units, waiting.length, waiting.watts) && !is_refused
                    };
                    let twin = all[place.unwrap_or(all.len())..].iter().find(fits).copied();
                    prop_assert_eq!(found.and_then(|place| list.get(place)).copied(), twin);
                    let (Some(found), Some(twin)) = (found, twin) else { break };
                    all.remove(all.partition_point(|waiting| waiting.key < twin.key));
                    from = list.remove_at(found).1;
                }
            }
        }
    }

    proptest! {
        /// Twins: look at everyone.
        #[test]
        fn finds_the_first_that_fits_and_the_oldest(
            jobs in prop::collection::vec((0..50_i64, 0..40_i64, 1..20_i64, 0..30_i64, 0..25_i64), 0..300),
            (units, extra, slack) in (0..22_i64, 0..22_i64, 0..32_i64),
            (watts, extra_watts) in (0..26_i64, 0..26_i64),
            after in (-1..41_i64, 0..300_u32),
        ) {
            let mut list = FitList::default();
            let mut all = Vec::new();
            for (row, &(rank, submit, units, length, watts)) in (0..).zip(&jobs) {
                let key = QueueKey { tier: 0, rank, submit: SimTime::from_micros(submit), row };
                all.push(Waiting { key, units, length: SimDuration::from_micros(length), watts, class: ClassId::OTHER });
                list.insert(all[all.len() - 1]);
            }
            all.sort_by_key(|waiting| waiting.key);
            let slack = SimDuration::from_micros(slack);
            let room = Room { watts, slack, extra, extra_watts, ..Room::of(units) };
            let fits = |waiting: &&Waiting| {
                let beside = waiting.units <= room.extra && waiting.watts <= room.extra_watts;
                let fits_now = waiting.units <= room.units && waiting.watts <= room.watts;
                fits_now && (waiting.length <= room.slack || beside)
            };
            let found = list.first_fit(Place::FRONT, room).and_then(|place| list.get(place));
            prop_assert_eq!(found, all.iter().find(fits));
            let after = (SimTime::from_micros(after.0), after.1);
            let age = |key: &QueueKey| (key.submit, key.row);
            let oldest = all.iter().map(|waiting| waiting.key).filter(|key| age(key) > after).min_by_key(age);
            prop_assert_eq!(list.oldest_after(after), oldest);
        }
    }
}
