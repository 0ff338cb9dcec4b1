//! Idle nodes by words of 64, each with the start of its longest idle period.
//!
//! A reserve of thousands of idle nodes is looked at in every pass. Most words hold no node that has idled for long
//! enough, which a single comparison shows.

use crate::algo::node_set::NodeSet;
use crate::cluster::standby::Standby;
use crate::units::SimTime;

/// Idle nodes by word, kept from pass to pass.
#[derive(Clone, Debug, Default)]
pub(super) struct Oldest {
    /// The nodes of each word that idle.
    idle: Vec<u64>,
    /// The earliest start of their idle periods.
    since: Vec<SimTime>,
    /// Number of beginnings of idle periods seen so far; none before the first pass.
    seen: Option<u64>,
}

/// Number of words that are compared at a time.
const TOGETHER: usize = 32;

impl Oldest {
    /// Updates the words that have changed: other nodes idle, or one of them worked meanwhile.
    pub(super) fn follow(&mut self, idle: &NodeSet, standby: &Standby) {
        self.idle.resize(idle.words().len(), 0);
        self.since.resize(idle.words().len(), SimTime::default());
        let (new, all) = standby.came_to_idle(self.seen.unwrap_or(0));
        match new.filter(|_| self.seen.is_some()) {
            Some(new) => new.iter().for_each(|(_, nodes)| {
                let (first, last) = (nodes.first() as usize / 64, nodes.last() as usize / 64);
                self.idle[first.min(last)..=first.max(last)].fill(0);
            }),
            None => self.idle.fill(0),
        }
        self.seen = Some(all);
        let known = self.idle.chunks_mut(TOGETHER).zip(self.since.chunks_mut(TOGETHER));
        let changed = known.zip(idle.words().chunks(TOGETHER)).zip((0..).step_by(TOGETHER));
        for (((known, since), words), first) in changed.filter(|((known, words), _)| known.0 != *words) {
            for ((word, since), (&bits, place)) in known.iter_mut().zip(since).zip(words.iter().zip(first..)) {
                if *word != bits {
                    *word = bits;
                    *since = descending(place, bits).map(|node| standby.idle_since(node)).min().unwrap_or_default();
                }
            }
        }
    }

    /// Splits the `count` highest idle nodes: appends those that have idled since `by` to `ripe`, from the highest
    /// down, and returns the earliest start of an idle period among the others.
    pub(super) fn split(&self, count: u32, by: SimTime, standby: &Standby, ripe: &mut Vec<u32>) -> Option<SimTime> {
        let (mut left, mut others) = (count, None::<SimTime>);
        let mut place = u32::try_from(self.idle.len()).unwrap_or(u32::MAX);
        for (&word, &since) in self.idle.iter().zip(&self.since).rev() {
            if left == 0 {
                break;
            }
            place -= 1;
            let idle = word.count_ones();
            if idle == 0 {
                continue;
            }
            if idle <= left && since > by {
                others = others.into_iter().chain([since]).min();
                left -= idle;
                continue;
            }
            for node in descending(place, word).take(left as usize) {
                let since = standby.idle_since(node);
                if since <= by {
                    ripe.push(node);
                } else {
                    others = others.into_iter().chain([since]).min();
                }
            }
            left -= idle.min(left);
        }
        others
    }
}

/// Nodes of a word from the highest down.
fn descending(place: u32, mut bits: u64) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        let bit = 63_u32.checked_sub(bits.leading_zeros())?;
        bits &= !(1 << bit);
        Some(64 * place + bit)
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::algo::span::neighbours;
    use crate::platform::PlatformColumns;

    const NODES: u32 = 200;

    fn at(seconds: i64) -> SimTime {
        SimTime::from_micros(seconds * 1_000_000)
    }

    fn standby() -> Standby {
        let of = |value: f64| vec![value; NODES as usize];
        let columns = PlatformColumns {
            idle_w: of(1.0),
            busy_w: of(2.0),
            tdp_w: of(2.0),
            off_w: of(0.0),
            down_w: of(0.0),
            boot_w: of(1.0),
            boot_s: of(1.0),
            shutdown_w: of(1.0),
            shutdown_s: of(1.0),
            slots: vec![1; NODES as usize],
            exclusive: true,
        };
        Standby::new(at(0), &columns.into_platform().unwrap())
    }

    proptest! {
        /// Twin: a look at each node.
        #[test]
        fn nodes_are_split_as_by_a_look_at_each(
            steps in prop::collection::vec((0..NODES, 1..90_u32, any::<bool>(), 0..NODES, 0..60_i64), 1..60),
        ) {
            let (mut standby, mut idle, mut oldest) = (standby(), NodeSet::full(NODES), Oldest::default());
            for (now, (first, count, ends, most, ago)) in (1..).zip(steps) {
                let nodes = first..(first + count).min(NODES);
                if ends {
                    neighbours(&nodes.clone().collect::<Vec<_>>()).for_each(|span| standby.idle_from(at(now), span));
                    nodes.for_each(|node| _ = idle.insert(node));
                } else {
                    nodes.for_each(|node| _ = idle.remove(node));
                }
                if now % 3 == 0 {
                    continue;
                }
                oldest.follow(&idle, &standby);
                let mut ripe = Vec::new();
                let by = at(now - ago);
                let others = oldest.split(most, by, &standby, &mut ripe);
                let (old, new): (Vec<u32>, Vec<_>) =
                    idle.descending().take(most as usize).partition(|&node| standby.idle_since(node) <= by);
                prop_assert_eq!(ripe, old);
                prop_assert_eq!(others, new.into_iter().map(|node| standby.idle_since(node)).min());
            }
        }
    }
}
