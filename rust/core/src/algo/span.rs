//! Spans of neighbouring nodes: what happens to a node that is switched off or on mostly happens to the next one, too.

/// Consecutive nodes, ascending or descending.
///
/// ```
/// use hetsched_core::algo::span::Span;
///
/// let mut span = Span::of(7);
/// assert!(span.extend(6) && span.extend(5));
/// assert!(!span.extend(6) && !span.extend(3), "neither back nor on beyond a gap");
/// assert_eq!(span.nodes().collect::<Vec<_>>(), [7, 6, 5]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    first: u32,
    /// Below `first` if nodes descend.
    last: u32,
}

impl Span {
    /// One node.
    #[must_use]
    pub fn of(node: u32) -> Self {
        Self { first: node, last: node }
    }

    /// The first of them.
    #[must_use]
    pub fn first(self) -> u32 {
        self.first
    }

    /// The last of them.
    #[must_use]
    pub fn last(self) -> u32 {
        self.last
    }

    /// Number of nodes.
    #[expect(clippy::len_without_is_empty, reason = "never empty")]
    #[must_use]
    pub fn len(self) -> u32 {
        self.first.abs_diff(self.last) + 1
    }

    /// The same nodes, ascending, as a range of indices.
    #[must_use]
    pub fn places(self) -> std::ops::RangeInclusive<usize> {
        self.first.min(self.last) as usize..=self.first.max(self.last) as usize
    }

    /// All of them, in their order.
    pub fn nodes(self) -> impl Iterator<Item = u32> {
        (0..self.len()).map(move |index| self.at(index))
    }

    /// One of them, counted from 0.
    #[must_use]
    pub fn at(self, index: u32) -> u32 {
        if self.last < self.first { self.first - index } else { self.first + index }
    }

    /// All but the first `index` nodes; there must be more.
    #[must_use]
    pub fn from(self, index: u32) -> Self {
        Self { first: self.at(index), last: self.last }
    }

    /// Appends a node if it is the next; returns whether it is.
    pub fn extend(&mut self, node: u32) -> bool {
        let ascends = self.last >= self.first && node.checked_sub(1) == Some(self.last);
        let descends = self.last <= self.first && node.checked_add(1) == Some(self.last);
        if ascends || descends {
            self.last = node;
        }
        ascends || descends
    }

    /// Appends a span if it is the next; returns whether it is.
    pub fn append(&mut self, next: Self) -> bool {
        let mut both = *self;
        let goes_on = both.extend(next.first) && (next.len() == 1 || both.extend(next.at(1)));
        if goes_on {
            self.last = next.last;
        }
        goes_on
    }

    /// The leading nodes that are alike, and the others.
    #[must_use]
    pub fn split<K: PartialEq>(self, like: impl Fn(u32) -> K) -> (Self, Option<Self>) {
        let kind = like(self.first);
        let count = (1..self.len()).take_while(|&index| like(self.at(index)) == kind).count();
        #[expect(clippy::cast_possible_truncation, reason = "fewer than there are")]
        let count = count as u32 + 1;
        let rest = (count < self.len()).then(|| self.from(count));
        (Self { first: self.first, last: self.at(count - 1) }, rest)
    }
}

/// Spans of neighbours in a list of nodes, each as long as its numbers go up by one.
///
/// ```
/// use hetsched_core::algo::span::neighbours;
///
/// let spans = neighbours(&[3, 4, 5, 9, 7]).map(|span| (span.first(), span.last()));
/// assert_eq!(spans.collect::<Vec<_>>(), [(3, 5), (9, 9), (7, 7)]);
/// ```
pub fn neighbours(mut nodes: &[u32]) -> impl Iterator<Item = Span> + Clone {
    std::iter::from_fn(move || {
        let (&first, mut rest) = nodes.split_first()?;
        let mut last = first;
        while let Some((_, others)) = rest.split_first().filter(|&(&next, _)| next == last.wrapping_add(1)) {
            (last, rest) = (rest[0], others);
        }
        nodes = rest;
        Some(Span { first, last })
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Twin: a list.
        #[test]
        fn neighbours_are_kept_together(from in 0..9_u32, ups in prop::collection::vec(-2..3_i64, 0..12), cut in 1..4_u32) {
            let (mut spans, mut twin) = (vec![Span::of(from + 30)], vec![from + 30]);
            for by in ups {
                let node = u32::try_from(i64::from(*twin.last().unwrap()) + by).unwrap();
                twin.push(node);
                if !spans.last_mut().unwrap().extend(node) {
                    spans.push(Span::of(node));
                }
            }
            let all: Vec<u32> = spans.iter().flat_map(|span| span.nodes()).collect();
            prop_assert_eq!(&all, &twin);
            let mut parts = Vec::new();
            for &span in &spans {
                let mut rest = Some(span);
                while let Some(left) = rest {
                    let (part, others) = left.split(|node| node / cut);
                    prop_assert!(part.nodes().all(|node| node / cut == part.first() / cut));
                    parts.push(part);
                    rest = others;
                }
            }
            let all: Vec<u32> = parts.iter().flat_map(|span| span.nodes()).collect();
            prop_assert_eq!(&all, &twin);
            let mut joined: Vec<Span> = Vec::new();
            for part in parts {
                if !joined.last_mut().is_some_and(|last| last.append(part)) {
                    joined.push(part);
                }
            }
            let all: Vec<u32> = joined.iter().flat_map(|span| span.nodes()).collect();
            prop_assert_eq!(all, twin);
        }

        /// Twin: each node and the next.
        #[test]
        fn neighbours_go_up_by_one(first in 0..9_u32, jumps in prop::collection::vec((0..70_u32, 1..30_u32), 0..9)) {
            let (mut nodes, mut twin) = (Vec::new(), Vec::new());
            let mut next = first;
            for (by, count) in jumps {
                next = if by > 60 { by - 60 } else { next + by };
                for node in next..next + count {
                    match twin.last_mut() {
                        Some((_, last)) if *last + 1 == node => *last = node,
                        _ => twin.push((node, node)),
                    }
                    nodes.push(node);
                }
                next += count;
            }
            prop_assert_eq!(neighbours(&nodes).map(|span| (span.first(), span.last())).collect::<Vec<_>>(), twin);
        }
    }

    #[test]
    fn places_ascend() {
        let mut span = Span::of(4);
        assert!(span.extend(3));
        assert_eq!((span.places(), span.len()), (3..=4, 2));
    }
}
