//! A sorted list in blocks, each with a summary that lets a search pass it over.
//!
//! Both lists a pass walks are of this kind: the queue in policy order (a block knows the smallest job in it) and the
//! running jobs by planned end (a block knows how much it releases). Blocks are short enough that an insertion moves a
//! few cache lines and long enough that a walk over their summaries is a walk over an array.

use std::collections::VecDeque;

use crate::algo::guide::{Guide, Summary};

/// An element with its place in the order; no two elements of a list may have equal keys.
pub trait Keyed: Copy {
    /// Key by which the list is sorted.
    type Key: Ord + Copy;
    /// The element's place.
    fn key(&self) -> Self::Key;
}

#[derive(Clone, Debug)]
struct Block<T, S> {
    items: Vec<T>,
    summary: S,
}

/// A sorted list of `T` in blocks of at most `BLOCK` elements, each with a summary `S`. No block is empty but the only
/// one, which stays for the next element.
#[derive(Clone, Debug)]
pub struct SortedBlocks<T, S: Summary<T>, const BLOCK: usize = 64> {
    blocks: VecDeque<Block<T, S>>,
    guide: Guide<S::Wide, BLOCK>,
    len: usize,
    /// Memory of a block that is gone, for the next one.
    spare: Vec<T>,
}

/// A place in a list, valid until the list changes. Places of elements are equal if and only if the elements are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct BlockPlace {
    block: usize,
    item: usize,
}

impl BlockPlace {
    /// The list's first place.
    pub const FRONT: Self = Self { block: 0, item: 0 };

    /// Place behind all elements.
    const END: Self = Self { block: usize::MAX, item: 0 };

    /// Number of elements of a block that may come before this place, if it is in this block or behind it.
    fn within(self, block: usize) -> usize {
        if block == self.block { self.item } else { usize::MAX }
    }
}

impl<T, S: Summary<T>, const BLOCK: usize> Default for SortedBlocks<T, S, BLOCK> {
    fn default() -> Self {
        Self { blocks: VecDeque::new(), guide: Guide::default(), len: 0, spare: Vec::new() }
    }
}

impl<T: Keyed, S: Summary<T>> Block<T, S> {
    fn new(items: Vec<T>) -> Self {
        let mut block = Self { items, summary: S::EMPTY };
        block.summarize();
        block
    }

    fn summarize(&mut self) {
        self.summary = self.items.iter().fold(S::EMPTY, S::with);
    }

    /// The first element from one on, and before another, that passes `wanted`.
    fn find(&self, from: usize, end: usize, wanted: impl FnMut(&T) -> bool) -> Option<usize> {
        let rest = self.items.get(from..end.min(self.items.len()))?;
        Some(from + rest.iter().position(wanted)?)
    }
}

impl<T: Keyed, S: Summary<T>, const BLOCK: usize> SortedBlocks<T, S, BLOCK> {
    /// Number of elements.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// True if there is no element.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// All elements in order.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.blocks.iter().flat_map(|block| &block.items)
    }

    /// The element at `place`, if the list reaches that far.
    #[must_use]
    pub fn get(&self, place: BlockPlace) -> Option<&T> {
        self.blocks.get(place.block)?.items.get(place.item)
    }

    /// The first element, if there is one.
    #[must_use]
    pub fn first(&self) -> Option<&T> {
        self.blocks.front().and_then(|block| block.items.first())
    }

    /// The last element, if there is one.
    #[must_use]
    pub fn last(&self) -> Option<&T> {
        self.blocks.back().and_then(|block| block.items.last())
    }

    /// The blocks' elements and summaries in order.
    pub fn blocks(&self) -> impl Iterator<Item = (&[T], S)> {
        self.blocks.iter().map(|block| (block.items.as_slice(), block.summary))
    }

    /// Adds an element at its place.
    pub fn insert(&mut self, item: T) {
        self.len += 1;
        let last = self.blocks.back().and_then(|block| block.items.last());
        if last.is_none_or(|last| last.key() < item.key()) {
            return self.append(item);
        }
        let index = self.block_of(item.key());
        let block = &mut self.blocks[index];
        let at = block.items.partition_point(|other| other.key() < item.key());
        block.items.insert(at, item);
        block.summary = block.summary.with(&item);
        self.guide.add::<T, S>(index, &item);
        if block.items.len() > BLOCK {
            self.split(index);
        }
    }

    fn append(&mut self, item: T) {
        match self.blocks.back_mut() {
            Some(block) if block.items.len() < BLOCK => {
                block.items.push(item);
                block.summary = block.summary.with(&item);
                self.guide.add::<T, S>(self.blocks.len() - 1, &item);
            }
            _ => {
                let mut items = std::mem::take(&mut self.spare);
                items.reserve_exact(BLOCK + 1);
                items.push(item);
                self.insert_block(self.blocks.len(), items);
            }
        }
    }

    fn split(&mut self, index: usize) {
        let upper = self.blocks[index].items.split_off(BLOCK / 2);
        self.summarize(index);
        let mut items = Vec::with_capacity(BLOCK + 1);
        items.extend_from_slice(&upper);
        self.insert_block(index + 1, items);
    }

    fn insert_block(&mut self, index: usize, items: Vec<T>) {
        self.guide.insert::<T, S>(index, &items);
        self.blocks.insert(index, Block::new(items));
        self.keep_guide();
    }

    fn remove_block(&mut self, index: usize) -> Vec<T> {
        let items = self.blocks.remove(index).map_or_else(Vec::new, |block| block.items);
        self.guide.remove::<T, S>(index);
        self.keep_guide();
        items
    }

    /// Starts to keep wider summaries once the list is long, and gives them up when it is short.
    fn keep_guide(&mut self) {
        if self.guide.is_out_of_step(self.blocks.len()) {
            self.guide.rebuild::<T, S>(self.blocks.iter().map(|block| block.items.as_slice()));
        }
    }

    fn summarize(&mut self, index: usize) {
        let block = &mut self.blocks[index];
        block.summarize();
        self.guide.change::<T, S>(index, &block.items);
    }

    /// Place of the element with this key.
    #[must_use]
    pub fn place_of(&self, key: T::Key) -> Option<BlockPlace> {
        let place = self.place_from(key);
        self.get(place).is_some_and(|found| found.key() == key).then_some(place)
    }

    /// The first element with this key or a later one.
    #[must_use]
    pub fn first_from(&self, key: T::Key) -> Option<&T> {
        self.get(self.place_from(key))
    }

    /// Place of the first element that does not come before this key.
    #[must_use]
    pub fn place_from(&self, key: T::Key) -> BlockPlace {
        let block = self.block_of(key);
        let items = self.blocks.get(block).map_or(&[][..], |block| &block.items);
        BlockPlace { block, item: items.partition_point(|other| other.key() < key) }
    }

    /// Place of the first element after this key.
    #[must_use]
    pub fn place_after(&self, key: T::Key) -> BlockPlace {
        let block = self.blocks.partition_point(|block| block.items.last().is_some_and(|last| last.key() <= key));
        let items = self.blocks.get(block).map_or(&[][..], |block| &block.items);
        BlockPlace { block, item: items.partition_point(|other| other.key() <= key) }
    }

    /// Number of elements after this key.
    #[must_use]
    pub fn count_after(&self, key: T::Key) -> usize {
        let BlockPlace { block, item } = self.place_after(key);
        self.blocks.range(block..).map(|block| block.items.len()).sum::<usize>() - item
    }

    /// Removes the element with this key.
    pub fn remove(&mut self, key: T::Key) -> Option<T> {
        self.place_of(key).map(|place| self.remove_at(place).0)
    }

    /// Removes the element at `place`; returns it and the place of the element that came after it.
    ///
    /// # Panics
    /// If there is no element at `place`.
    pub fn remove_at(&mut self, place: BlockPlace) -> (T, BlockPlace) {
        self.len -= 1;
        let block = &mut self.blocks[place.block];
        let item = block.items.remove(place.item);
        let left = block.items.len();
        if left == 0 {
            self.leave(place.block);
            return (item, place);
        }
        block.summary = block.summary.without(&item, &block.items);
        self.guide.take::<T, S>(place.block, &item, &block.items);
        let is_last = !self.merge(place.block) && place.item == left;
        (item, if is_last { BlockPlace { block: place.block + 1, item: 0 } } else { place })
    }

    /// Notes that a block is empty.
    fn leave(&mut self, index: usize) {
        if self.blocks.len() > 1 {
            self.spare = self.remove_block(index);
        } else {
            self.blocks[index].summary = S::EMPTY;
        }
    }

    /// Merges a block with the next if both are small, so that a list that has shrunk is not mostly blocks; true if it
    /// did.
    fn merge(&mut self, index: usize) -> bool {
        let small = |block: &Block<T, S>| block.items.len() <= BLOCK / 4;
        let are_small = self.blocks.get(index + 1).is_some_and(small) && small(&self.blocks[index]);
        if are_small {
            let next = self.remove_block(index + 1);
            // They may move into another group of blocks.
            for item in &next {
                self.guide.add::<T, S>(index, item);
            }
            self.blocks[index].items.extend(next);
            self.blocks[index].summarize();
        }
        are_small
    }

    /// The first place at or after `from` whose element passes `wanted`; blocks whose summary fails `may_hold`, or
    /// whose wider one fails `may`, are skipped.
    pub fn find(
        &self,
        from: BlockPlace,
        may: impl Fn(&S::Wide) -> bool,
        may_hold: impl Fn(S) -> bool,
        wanted: impl FnMut(&T) -> bool,
    ) -> Option<BlockPlace> {
        self.find_before(from, None, may, may_hold, wanted)
    }

    /// The same among the places before `to`.
    pub fn find_before(
        &self,
        from: BlockPlace,
        to: Option<BlockPlace>,
        may: impl Fn(&S::Wide) -> bool,
        may_hold: impl Fn(S) -> bool,
        mut wanted: impl FnMut(&T) -> bool,
    ) -> Option<BlockPlace> {
        let end = to.unwrap_or(BlockPlace::END);
        let first = self.blocks.get(from.block).filter(|_| from.block <= end.block)?;
        if may_hold(first.summary)
            && let Some(item) = first.find(from.item, end.within(from.block), &mut wanted)
        {
            return Some(BlockPlace { item, ..from });
        }
        let is_last = from.block + 1 >= self.blocks.len();
        if is_last { None } else { self.find_behind((from.block, end), may, may_hold, wanted) }
    }

    /// The same behind a block. A short list is spared the preparation for a long search.
    #[inline(never)]
    fn find_behind(
        &self,
        (before, end): (usize, BlockPlace),
        may: impl Fn(&S::Wide) -> bool,
        may_hold: impl Fn(S) -> bool,
        mut wanted: impl FnMut(&T) -> bool,
    ) -> Option<BlockPlace> {
        let mut block = self.guide.next(before + 1, &may);
        while let Some(content) = self.blocks.get(block).filter(|_| block <= end.block) {
            if may_hold(content.summary)
                && let Some(item) = content.find(0, end.within(block), &mut wanted)
            {
                return Some(BlockPlace { block, item });
            }
            block = self.guide.next(block + 1, &may);
        }
        None
    }

    /// The place after `place`.
    #[must_use]
    pub fn after(&self, place: BlockPlace) -> BlockPlace {
        match self.blocks.get(place.block) {
            Some(block) if place.item + 1 >= block.items.len() => BlockPlace { block: place.block + 1, item: 0 },
            _ => BlockPlace { block: place.block, item: place.item + 1 },
        }
    }

    /// Gives every element a new key, and sorts the list by the new keys.
    pub fn rekey(&mut self, mut change: impl FnMut(&mut T)) {
        let mut last = None;
        let mut sorted = true;
        for item in self.blocks.iter_mut().flat_map(|block| &mut block.items) {
            change(item);
            sorted &= last.is_none_or(|last| last < item.key());
            last = Some(item.key());
        }
        if sorted {
            self.blocks.iter_mut().for_each(Block::summarize);
            return self.rebuild_guide();
        }
        let mut items: Vec<_> = self.iter().copied().collect();
        // Few elements change places from one time to the next: a sort that exploits existing order is the fastest.
        items.sort_by_key(Keyed::key);
        self.blocks.truncate(items.len().div_ceil(BLOCK));
        for (block, items) in self.blocks.iter_mut().zip(items.chunks(BLOCK)) {
            block.items.clear();
            block.items.extend_from_slice(items);
            block.summarize();
        }
        self.rebuild_guide();
    }

    fn rebuild_guide(&mut self) {
        if self.guide.is_kept() {
            self.guide.rebuild::<T, S>(self.blocks.iter().map(|block| block.items.as_slice()));
        }
    }

    /// Empties the list.
    pub fn clear(&mut self) {
        self.blocks.clear();
        self.guide = Guide::default();
        self.len = 0;
    }

    /// The block that holds `key` or would take it; one past the last if `key` comes after every element.
    fn block_of(&self, key: T::Key) -> usize {
        self.blocks.partition_point(|block| block.items.last().is_some_and(|last| last.key() < key))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[derive(Clone, Copy, Debug, PartialEq)]
    struct Item(u32);

    #[derive(Clone, Copy, Debug, PartialEq)]
    struct Least(u32);

    impl Keyed for Item {
        type Key = u32;
        fn key(&self) -> u32 {
            self.0
        }
    }

    impl Summary<Item> for Least {
        const EMPTY: Self = Self(u32::MAX);
        fn with(self, item: &Item) -> Self {
            Self(self.0.min(item.0 % 97))
        }

        type Wide = u32;
        const NOTHING: u32 = u32::MAX;
        fn widen(wide: u32, item: &Item) -> u32 {
            wide.min(item.0 % 97)
        }
        fn join(one: u32, other: u32) -> u32 {
            one.min(other)
        }
    }

    proptest! {
        /// Twin: a set of the standard library. A list that is mostly short comes to be empty often.
        #[test]
        fn finds_what_is_there_while_it_is_often_empty(
            steps in prop::collection::vec((0..5_u8, 0..40_u32, 0..97_u32), 0..300),
            keys in 3..40_u32,
        ) {
            let mut list = SortedBlocks::<Item, Least, 4>::default();
            let mut twin = std::collections::BTreeSet::new();
            for (what, key, bound) in steps {
                let key = key % keys * 31;
                match what {
                    0 | 1 if twin.insert(key) => list.insert(Item(key)),
                    2 => prop_assert_eq!(list.remove(key).is_some(), twin.remove(&key)),
                    3 => {
                        let first = list.first().map(|item| item.0);
                        prop_assert_eq!(first, twin.pop_first());
                        first.map(|first| list.remove(first));
                    }
                    _ => {}
                }
                prop_assert_eq!(list.last().map(|item| item.0), twin.last().copied());
                for (items, summary) in list.blocks() {
                    prop_assert_eq!(summary, items.iter().fold(Least::EMPTY, Least::with));
                    prop_assert!(!items.is_empty() || twin.is_empty());
                }
                let from = list.place_from(key);
                let holds = |least: Least| least.0 <= bound;
                let is_wanted = |key: u32| key % 97 <= bound;
                let found = list.find(from, |&least| least <= bound, holds, |item| is_wanted(item.0));
                let expected = twin.range(key..).find(|key| is_wanted(**key));
                prop_assert_eq!(found.and_then(|place| list.get(place)).map(|item| item.0), expected.copied());
                let to = list.place_from(key + 31 * (bound % 9));
                let found = list.find_before(from, Some(to), |&least| least <= bound, holds, |item| is_wanted(item.0));
                let expected = twin.range(key..key + 31 * (bound % 9)).find(|key| is_wanted(**key));
                prop_assert_eq!(found.and_then(|place| list.get(place)).map(|item| item.0), expected.copied());
            }
        }

        #[test]
        fn behaves_like_a_sorted_vector(steps in prop::collection::vec((any::<bool>(), 0..600_u32), 0..900)) {
            let mut list = SortedBlocks::<Item, Least, 4>::default();
            let mut twin = std::collections::BTreeSet::new();
            for (add, key) in steps {
                if add && twin.insert(key) {
                    list.insert(Item(key));
                } else if !add {
                    prop_assert_eq!(list.remove(key).is_some(), twin.remove(&key));
                }
            }
            prop_assert_eq!(list.iter().map(|item| item.0).collect::<Vec<_>>(), twin.iter().copied().collect::<Vec<_>>());
            prop_assert_eq!(list.len(), twin.len());
            for key in [0, 63, 300, 600] {
                prop_assert_eq!(list.first_from(key).map(|item| item.0), twin.range(key..).next().copied());
                prop_assert_eq!(list.get(list.place_after(key)).map(|item| item.0), twin.range(key + 1..).next().copied());
                prop_assert_eq!(list.count_after(key), twin.range(key + 1..).count());
            }
            for bound in [0, 1, 5, 50] {
                let found = list.find(BlockPlace::FRONT, |&least| least <= bound, |_| true, |item| item.0 % 97 <= bound);
                let expected = twin.iter().find(|key| **key % 97 <= bound);
                prop_assert_eq!(found.and_then(|place| list.get(place)).map(|item| item.0), expected.copied());
            }
        }
    }

    proptest! {
        #[test]
        fn takes_the_order_of_new_keys(keys in prop::collection::btree_set(0..600_u32, 0..90), turn in 0..600_u32) {
            let mut list = SortedBlocks::<Item, Least, 4>::default();
            for &key in &keys {
                list.insert(Item(key));
            }
            let turned = |key: u32| (key + turn) % 600;
            list.rekey(|item| item.0 = turned(item.0));
            let mut twin: Vec<_> = keys.into_iter().map(turned).collect();
            twin.sort_unstable();
            prop_assert_eq!(list.iter().map(|item| item.0).collect::<Vec<_>>(), twin);
            for (items, summary) in list.blocks() {
                prop_assert_eq!(summary, items.iter().fold(Least::EMPTY, Least::with));
            }
        }

        /// Twin: look at everyone.
        #[test]
        fn finds_what_is_there_while_a_list_of_many_blocks_grows_shorter(
            keys in prop::collection::btree_set(0..600_u32, 100..300),
            removals in prop::collection::vec(any::<prop::sample::Index>(), 1..300),
        ) {
            let mut list = SortedBlocks::<Item, Least, 4>::default();
            for &key in &keys {
                list.insert(Item(key));
            }
            let mut twin: Vec<_> = keys.into_iter().collect();
            for removal in removals.into_iter().take(twin.len()) {
                list.remove(twin.remove(removal.index(twin.len())));
                for bound in [0, 1, 2, 5, 20] {
                    let is_wanted = |key: u32| key % 97 <= bound;
                    let found = list.find(BlockPlace::FRONT, |&least| least <= bound, |_| true, |item| is_wanted(item.0));
                    let expected = twin.iter().find(|&&key| is_wanted(key));
                    prop_assert_eq!(found.and_then(|place| list.get(place)).map(|item| item.0), expected.copied());
                }
            }
        }

        #[test]
        fn after_a_removal_the_place_is_the_next_element_s(
            keys in prop::collection::btree_set(0..200_u32, 1..120),
            removals in prop::collection::vec(any::<prop::sample::Index>(), 1..100),
        ) {
            let mut list = SortedBlocks::<Item, Least, 4>::default();
            for &key in &keys {
                list.insert(Item(key));
            }
            let mut twin: Vec<_> = keys.into_iter().collect();
            for removal in removals.into_iter().take(twin.len()) {
                let at = removal.index(twin.len());
                let place = list.place_of(twin[at]).unwrap();
                let (removed, next) = list.remove_at(place);
                prop_assert_eq!(removed.0, twin.remove(at));
                prop_assert_eq!(list.get(next).map(|item| item.0), twin.get(at).copied());
                if let Some(&key) = twin.get(at) {
                    prop_assert_eq!(list.place_of(key), Some(next), "one element, one place");
                }
                for (items, summary) in list.blocks() {
                    prop_assert_eq!(summary, items.iter().fold(Least::EMPTY, Least::with));
                }
            }
        }
    }
}
