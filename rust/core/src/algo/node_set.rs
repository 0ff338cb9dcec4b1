//! Sets of nodes as bits, with nodes taken in the order of their ids.

use std::ops::Range;

use crate::algo::span::Span;

/// A set of nodes out of `0..capacity`, with its size stored.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeSet {
    words: Vec<u64>,
    len: u32,
    capacity: u32,
}

const BITS: u32 = u64::BITS;
/// Number of words that are looked at together.
const TOGETHER: usize = 8;

impl NodeSet {
    /// The empty set over `0..capacity`.
    #[must_use]
    pub fn empty(capacity: u32) -> Self {
        Self { words: vec![0; capacity.div_ceil(BITS) as usize], len: 0, capacity }
    }

    /// The set of all nodes `0..capacity`.
    #[must_use]
    pub fn full(capacity: u32) -> Self {
        let mut set = Self::default();
        set.fill(capacity);
        set
    }

    /// Number of nodes in the set.
    #[must_use]
    pub fn len(&self) -> u32 {
        self.len
    }

    /// True if the set is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Number of nodes there could be.
    #[must_use]
    pub fn capacity(&self) -> u32 {
        self.capacity
    }

    /// True if `node` is in the set.
    #[must_use]
    pub fn contains(&self, node: u32) -> bool {
        self.words[(node / BITS) as usize] >> (node % BITS) & 1 == 1
    }

    /// Adds `node`; returns whether it was new.
    // Not `self.len += u32::from(new)`: where the caller branches on the answer, too, rustc 1.95 (LLVM 22) loses the sum in
    // builds without overflow checks.
    pub fn insert(&mut self, node: u32) -> bool {
        let (word, bit) = (&mut self.words[(node / BITS) as usize], 1 << (node % BITS));
        if *word & bit != 0 {
            return false;
        }
        *word |= bit;
        self.len += 1;
        true
    }

    /// Adds all of `nodes`.
    pub fn insert_all(&mut self, nodes: &[u32]) {
        let mut new = 0;
        for_words(nodes, |place, bits| {
            let word = &mut self.words[place];
            new += (bits & !*word).count_ones();
            *word |= bits;
        });
        self.len += new;
    }

    /// Removes all of `nodes`; returns one that was not there, if there is one.
    pub fn remove_all(&mut self, nodes: &[u32]) -> Option<u32> {
        let (mut old, mut missing) = (0, None);
        for_words(nodes, |place, bits| {
            let word = &mut self.words[place];
            let lacks = bits & !*word;
            if lacks != 0 {
                missing = u32::try_from(place).ok().map(|place| place * BITS + lacks.ilog2());
            }
            old += (bits & *word).count_ones();
            *word &= !bits;
        });
        self.len -= old;
        missing
    }

    /// Adds neighbouring nodes.
    pub fn insert_span(&mut self, nodes: Span) {
        for (place, bits) in masks(nodes) {
            self.len += (bits & !self.words[place]).count_ones();
            self.words[place] |= bits;
        }
    }

    /// Removes neighbouring nodes.
    pub fn remove_span(&mut self, nodes: Span) {
        for (place, bits) in masks(nodes) {
            self.len -= (self.words[place] & bits).count_ones();
            self.words[place] &= !bits;
        }
    }

    /// True if all of `nodes` are in the set.
    #[must_use]
    pub fn has_each(&self, nodes: &[u32]) -> bool {
        let mut lacking = 0;
        for_words(nodes, |place, bits| lacking |= bits & !self.words[place]);
        lacking == 0
    }

    /// True if all of these neighbouring nodes are in the set.
    #[must_use]
    pub fn has_all(&self, nodes: Span) -> bool {
        masks(nodes).all(|(place, bits)| self.words[place] & bits == bits)
    }

    /// Those of these neighbouring nodes that are in both sets, ascending.
    pub fn both_within(&self, other: &Self, nodes: Span) -> impl Iterator<Item = u32> {
        let low = nodes.first().min(nodes.last());
        let bases = (low - low % BITS..).step_by(BITS as usize);
        let words = masks(nodes).map(|(place, mask)| self.words[place] & other.words[place] & mask);
        words.zip(bases).flat_map(|(word, base)| bits(word, base))
    }

    /// True if none of them is.
    #[must_use]
    pub fn has_none(&self, nodes: Span) -> bool {
        masks(nodes).all(|(place, bits)| self.words[place] & bits == 0)
    }

    /// Removes `node`; returns whether it was there.
    pub fn remove(&mut self, node: u32) -> bool {
        let (word, bit) = (&mut self.words[(node / BITS) as usize], 1 << (node % BITS));
        if *word & bit == 0 {
            return false;
        }
        *word &= !bit;
        self.len -= 1;
        true
    }

    /// Makes this set equal to `other`, keeping its memory.
    pub fn copy_from(&mut self, other: &Self) {
        self.words.clone_from(&other.words);
        (self.len, self.capacity) = (other.len, other.capacity);
    }

    /// Makes this set the intersection of two sets of one capacity, keeping its memory.
    pub fn copy_common(&mut self, one: &Self, other: &Self) {
        self.words.clear();
        self.words.extend(one.words.iter().zip(&other.words).map(|(one, other)| one & other));
        self.len = self.words.iter().map(|word| word.count_ones()).sum();
        self.capacity = one.capacity;
    }

    /// Intersects this set with `other`, of the same capacity.
    pub fn keep_common(&mut self, other: &Self) {
        let mut lost = 0;
        for (word, other) in self.words.iter_mut().zip(&other.words) {
            lost |= *word & !other;
            *word &= other;
        }
        if lost != 0 {
            self.len = self.words.iter().map(|word| word.count_ones()).sum();
        }
    }

    /// Intersects this set with others, of the same capacity.
    pub fn keep_common_to_all<'a>(&mut self, others: impl Iterator<Item = &'a Self>) {
        for other in others {
            self.words.iter_mut().zip(&other.words).for_each(|(word, other)| *word &= other);
        }
        self.len = self.words.iter().map(|word| word.count_ones()).sum();
    }

    /// Keeps only the nodes whose bit is set in `here`, which gives 64 nodes a word, the lowest first.
    pub fn keep(&mut self, here: impl Fn(usize) -> u64) {
        let mut lost = 0;
        for (place, word) in self.words.iter_mut().enumerate().filter(|(_, word)| **word != 0) {
            let kept = *word & here(place);
            lost |= *word ^ kept;
            *word = kept;
        }
        if lost != 0 {
            self.len = self.words.iter().map(|word| word.count_ones()).sum();
        }
    }

    /// Keeps only the nodes for which `holds` is true.
    pub fn retain(&mut self, holds: impl Fn(u32) -> bool) {
        for (word, base) in self.words.iter_mut().zip((0..).step_by(BITS as usize)) {
            for node in bits(*word, base).filter(|&node| !holds(node)) {
                *word &= !(1 << (node % BITS));
                self.len -= 1;
            }
        }
    }

    /// Makes this the empty set over `0..capacity`, keeping its memory.
    pub fn clear(&mut self, capacity: u32) {
        self.words.clear();
        self.words.resize(capacity.div_ceil(BITS) as usize, 0);
        (self.len, self.capacity) = (0, capacity);
    }

    /// Makes this the set of all nodes `0..capacity`, keeping its memory.
    pub fn fill(&mut self, capacity: u32) {
        self.words.clear();
        self.words.resize(capacity.div_ceil(BITS) as usize, u64::MAX);
        if let (Some(last), rest @ 1..) = (self.words.last_mut(), capacity % BITS) {
            *last = (1 << rest) - 1;
        }
        (self.len, self.capacity) = (capacity, capacity);
    }

    /// Number of nodes in common with another set of the same capacity.
    #[must_use]
    pub fn common(&self, other: &Self) -> u32 {
        self.words.iter().zip(&other.words).map(|(word, other)| (word & other).count_ones()).sum()
    }

    /// Number of nodes in common with two other sets of the same capacity.
    #[must_use]
    pub fn common_of_three(&self, one: &Self, other: &Self) -> u32 {
        let others = one.words.iter().zip(&other.words);
        self.words.iter().zip(others).map(|(word, (one, other))| (word & one & other).count_ones()).sum()
    }

    /// True if no node is in this set and in another one of the same capacity.
    #[must_use]
    pub fn is_apart(&self, other: &Self) -> bool {
        self.len == 0 || self.words.iter().zip(&other.words).all(|(word, other)| word & other == 0)
    }

    /// True if all nodes of another set of the same capacity are in this one.
    #[must_use]
    pub fn has_all_of(&self, other: &Self) -> bool {
        self.words.iter().zip(&other.words).fold(0, |lacking, (word, other)| lacking | other & !word) == 0
    }

    /// Adds to `counts` the number of nodes in common with each of some sets of the same capacity.
    pub fn count_by_set(&self, sets: &[Self], counts: &mut [u32]) {
        for (place, &word) in self.words.iter().enumerate().filter(|(_, word)| **word != 0) {
            let all = word.count_ones();
            for (count, set) in counts.iter_mut().zip(sets) {
                // Sets are mostly spans of nodes: few words are partly in one.
                *count += match word & set.words[place] {
                    0 => 0,
                    both if both == word => all,
                    both => both.count_ones(),
                };
            }
        }
    }

    /// Removes all nodes of another set of the same capacity; returns whether all of them were there.
    pub fn remove_set(&mut self, other: &Self) -> bool {
        self.remove_set_in((other, 0..other.words.len()))
    }

    /// The same if its nodes are in the words of these places.
    pub fn remove_set_in(&mut self, (other, places): (&Self, Range<usize>)) -> bool {
        let (mut missing, others) = (0, &other.words[places.clone()]);
        for (word, other) in self.words[places].iter_mut().zip(others) {
            missing |= other & !*word;
            *word &= !other;
        }
        self.settle(missing == 0, self.len.wrapping_sub(other.len))
    }

    /// Adds all nodes of another set of the same capacity; returns whether none of them was there.
    pub fn insert_set(&mut self, other: &Self) -> bool {
        self.insert_set_in((other, 0..other.words.len()))
    }

    /// The same if its nodes are in the words of these places.
    pub fn insert_set_in(&mut self, (other, places): (&Self, Range<usize>)) -> bool {
        let (mut twice, others) = (0, &other.words[places.clone()]);
        for (word, other) in self.words[places].iter_mut().zip(others) {
            twice |= other & *word;
            *word |= other;
        }
        self.settle(twice == 0, self.len + other.len)
    }

    /// Words in which nodes of the set are, from the first to the last.
    #[must_use]
    pub fn places(&self) -> Range<usize> {
        let first = self.words.iter().position(|&word| word != 0).unwrap_or(0);
        first..self.words.iter().rposition(|&word| word != 0).map_or(first, |last| last + 1)
    }

    /// Adds the nodes that two sets of the same capacity have in common; returns the number of those that are new. The
    /// nodes of the second set are in the words of these places.
    pub fn insert_common(&mut self, one: &Self, (other, places): (&Self, Range<usize>)) -> u32 {
        let (mut new, others) = (0, &other.words[places.clone()]);
        for ((word, one), other) in self.words[places.clone()].iter_mut().zip(&one.words[places]).zip(others) {
            let both = one & other & !*word;
            new += both.count_ones();
            *word |= both;
        }
        self.len += new;
        new
    }

    /// Sets the size to `len` if `is_plain`, or else counts the nodes; returns `is_plain`.
    fn settle(&mut self, is_plain: bool, len: u32) -> bool {
        self.len = if is_plain { len } else { self.words.iter().map(|word| word.count_ones()).sum() };
        is_plain
    }

    /// The set as bits, 64 nodes a word, the lowest first.
    #[must_use]
    pub fn words(&self) -> &[u64] {
        &self.words
    }

    /// The words in which nodes may be; none for an empty set.
    fn occupied(&self) -> &[u64] {
        if self.len == 0 { &[] } else { &self.words }
    }

    /// The nodes of the set, ascending.
    pub fn iter(&self) -> impl Iterator<Item = u32> + Clone + '_ {
        self.occupied().iter().zip((0..).step_by(BITS as usize)).flat_map(|(&word, base)| bits(word, base))
    }

    /// The nodes that are in this set and in another one of the same capacity, ascending.
    pub fn common_nodes<'a>(&'a self, other: &'a Self) -> impl Iterator<Item = u32> + 'a {
        let both = self.occupied().iter().zip(&other.words).map(|(word, other)| word & other);
        both.zip((0..).step_by(BITS as usize)).flat_map(|(word, base)| bits(word, base))
    }

    /// Maximal stretches of consecutive nodes of the set, ascending.
    pub fn stretches(&self) -> impl Iterator<Item = Range<u32>> + '_ {
        let mut at = 0;
        std::iter::from_fn(move || {
            let first = self.next(at, 0).filter(|_| self.len > 0)?;
            at = self.next(first, u64::MAX).unwrap_or(self.capacity);
            Some(first..at)
        })
    }

    /// The first node from `at` on that is in the set or, if `flip` is all ones, not in it.
    fn next(&self, at: u32, flip: u64) -> Option<u32> {
        let (start, mut mask) = ((at / BITS) as usize, u64::MAX << (at % BITS));
        let bases = (at - at % BITS..).step_by(BITS as usize);
        for (&word, base) in self.words.get(start..)?.iter().zip(bases) {
            let found = (word ^ flip) & mask;
            if found != 0 {
                return Some(base + found.trailing_zeros()).filter(|&node| node < self.capacity);
            }
            mask = u64::MAX;
        }
        None
    }

    /// The nodes of the set, descending.
    pub fn descending(&self) -> impl Iterator<Item = u32> + '_ {
        let places = (0..self.capacity.div_ceil(BITS)).rev();
        self.occupied().iter().rev().zip(places).flat_map(|(&word, place)| bits_down(word, place * BITS))
    }

    /// Copies the `count` lowest nodes of the set to the end of `copied`, ascending; fewer if there are fewer.
    pub fn copy_lowest(&self, count: u32, copied: &mut Vec<u32>) {
        copied.extend(self.iter().take(count as usize));
    }

    /// Keeps only the `count` lowest nodes; all if there are fewer.
    pub fn keep_lowest(&mut self, count: u32) {
        let mut left = count.min(self.len);
        self.len = left;
        for word in &mut self.words {
            if left == 0 {
                *word = 0;
                continue;
            }
            let here = word.count_ones();
            if here > left {
                *word &= (1 << select(*word, left)) - 1;
            }
            left -= here.min(left);
        }
    }

    /// Moves the `count` lowest nodes from the set to the end of `taken`, ascending; fewer if there are fewer.
    pub fn take_lowest(&mut self, count: u32, taken: &mut Vec<u32>) {
        let mut left = count.min(self.len);
        self.len -= left;
        taken.reserve(left as usize);
        // Of a full machine most words are empty, several of which are passed over at once.
        let groups = self.words.chunks_mut(TOGETHER).zip((0..).step_by(TOGETHER * BITS as usize));
        for (words, first) in groups.filter(|(words, _)| words.iter().fold(0, |all, word| all | word) != 0) {
            for (word, base) in words.iter_mut().zip((first..).step_by(BITS as usize)).filter(|(word, _)| **word != 0) {
                let (mut rest, here) = (*word, word.count_ones().min(left));
                taken.extend((0..here).map(|_| {
                    let node = base + rest.trailing_zeros();
                    rest &= rest - 1;
                    node
                }));
                left -= here;
                *word = rest;
                if left == 0 {
                    return;
                }
            }
        }
    }

    /// Moves the nodes of the given ranks from the set to the end of `taken`: rank 0 is the lowest node.
    ///
    /// `ranks` must ascend strictly and stay below the set's size; others are passed over.
    pub fn take_ranks(&mut self, ranks: &[u32], taken: &mut Vec<u32>) {
        let (mut seen, mut next) = (0, ranks.iter().peekable());
        let first = taken.len();
        for (&word, base) in self.words.iter().zip((0..).step_by(BITS as usize)) {
            let here = word.count_ones();
            while let Some(&rank) = next.next_if(|&&rank| rank < seen + here) {
                taken.push(base + select(word, rank - seen));
            }
            seen += here;
            if next.peek().is_none() {
                break;
            }
        }
        self.remove_all(&taken[first..]);
    }
}

/// Words of nodes in any order: those of a word that follow one another together, so that memory is written once for
/// them.
fn for_words(nodes: &[u32], mut act: impl FnMut(usize, u64)) {
    let Some(&first) = nodes.first() else { return };
    let (mut place, mut bits) = (first / BITS, 0);
    for &node in nodes {
        if node / BITS != place {
            act(place as usize, bits);
            (place, bits) = (node / BITS, 0);
        }
        bits |= 1 << (node % BITS);
    }
    act(place as usize, bits);
}

/// Neighbouring nodes as bits: each word that has some of them, with its mask.
fn masks(nodes: Span) -> impl Iterator<Item = (usize, u64)> {
    let (mut low, high) = (nodes.first().min(nodes.last()), nodes.first().max(nodes.last()));
    std::iter::from_fn(move || {
        (low <= high).then(|| {
            let (place, from) = ((low / BITS) as usize, low % BITS);
            let count = (high - low).min(BITS - 1 - from);
            low += count + 1;
            (place, (u64::MAX >> (BITS - 1 - count)) << from)
        })
    })
}

fn bits(mut word: u64, base: u32) -> impl Iterator<Item = u32> + Clone {
    std::iter::from_fn(move || {
        (word != 0).then(|| {
            let node = base + word.trailing_zeros();
            word &= word - 1;
            node
        })
    })
}

fn bits_down(mut word: u64, base: u32) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        let highest = word.checked_ilog2()?;
        word &= !(1 << highest);
        Some(base + highest)
    })
}

/// The position of the set bit with this rank.
fn select(mut word: u64, rank: u32) -> u32 {
    for _ in 0..rank {
        word &= word - 1;
    }
    word.trailing_zeros()
}

#[cfg(test)]
mod tests;
