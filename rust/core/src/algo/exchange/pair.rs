//! Contents of two nodes, in parts that can be exchanged one by one.

use std::ops::Range;

/// Mark of an entry that is no interval: the node is closed.
pub(super) const CLOSED: u32 = u32::MAX;

/// Share of what an exchange moves that it has to gain, so that roundings never count as gains.
const LEAST_GAIN: f64 = 1e-12;

/// Stretch of a node's time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Entry {
    pub from: i64,
    pub until: i64,
    /// Length times the factor on the costs.
    pub weight: f64,
    pub row: u32,
    /// The interval, or [`CLOSED`].
    pub interval: u32,
}

/// Part of what two nodes hold that overlaps with no other part: it can stay, or change sides as a whole.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Part {
    /// Entries of the one node.
    pub left: Range<usize>,
    /// Entries of the other.
    pub right: Range<usize>,
    pub from: i64,
    pub until: i64,
    /// Cost of changing sides; +inf if it cannot.
    pub change: f64,
    /// Sum of the absolute values of its terms.
    terms: f64,
}

impl Part {
    pub(super) fn gains(&self) -> bool {
        self.change < -LEAST_GAIN * self.terms
    }
}

/// Entries of two nodes by start, and by how much a row costs more on the right than on the left one.
pub(super) struct Pair<'a> {
    pub left: &'a [Entry],
    pub right: &'a [Entry],
    pub more: &'a [f64],
}

impl Pair<'_> {
    /// The parts that touch a window, those that are asked for.
    ///
    /// Two nodes serve no more than one interval each at any instant, so what overlaps has its sides decided by any one
    /// of its entries: a part has two placements.
    pub(super) fn parts(&self, window: (i64, i64), is_asked: impl Fn(&Part) -> bool, found: &mut Vec<Part>) {
        found.clear();
        let (mut left, mut right) = self.first(window.0);
        while let Some(part) = self.next((left, right)).filter(|part| part.from < window.1) {
            (left, right) = (part.left.end, part.right.end);
            if is_asked(&part) {
                found.push(part);
            }
        }
    }

    /// Places in both lists from which on the parts lie that end after an instant.
    fn first(&self, instant: i64) -> (usize, usize) {
        let mut left = self.left.partition_point(|one| one.until <= instant);
        let mut right = self.right.partition_point(|one| one.until <= instant);
        let from = |list: &[Entry], place: usize| list.get(place).map_or(i64::MAX, |one| one.from);
        let mut begin = from(self.left, left).min(from(self.right, right));
        loop {
            if left > 0 && self.left[left - 1].until > begin {
                left -= 1;
                begin = begin.min(self.left[left].from);
            } else if right > 0 && self.right[right - 1].until > begin {
                right -= 1;
                begin = begin.min(self.right[right].from);
            } else {
                return (left, right);
            }
        }
    }

    fn next(&self, (left, right): (usize, usize)) -> Option<Part> {
        let from = [self.left.get(left), self.right.get(right)].into_iter().flatten().map(|one| one.from).min()?;
        let mut part = Part { left: left..left, right: right..right, from, until: from + 1, change: 0.0, terms: 0.0 };
        loop {
            let next = |list: &[Entry], place: usize| list.get(place).filter(|one| one.from < part.until).copied();
            if let Some(entry) = next(self.left, part.left.end) {
                part.left.end += 1;
                part.join(&entry, self.more[entry.row as usize]);
            } else if let Some(entry) = next(self.right, part.right.end) {
                part.right.end += 1;
                part.join(&entry, -self.more[entry.row as usize]);
            } else {
                return Some(part);
            }
        }
    }
}

impl Part {
    fn join(&mut self, entry: &Entry, more: f64) {
        self.until = self.until.max(entry.until);
        let change = if entry.interval == CLOSED { f64::INFINITY } else { more * entry.weight };
        self.change += change;
        self.terms += change.abs();
    }
}
