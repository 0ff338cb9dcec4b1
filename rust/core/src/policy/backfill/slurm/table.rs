//! Table of a backfill cycle: nodes and licences that no reservation has, over time (rules 30 to 37).

use crate::algo::node_set::NodeSet;

/// A stretch of seconds with the nodes and licences that are not reserved in it.
#[derive(Clone, Debug, PartialEq)]
struct Record {
    begin: i64,
    end: i64,
    nodes: NodeSet,
    licences: Vec<i64>,
    /// Nodes that come back at its end: the next record has them, and this one does not.
    back: NodeSet,
    /// Number of nodes that are lost at its end.
    lost: u32,
}

/// Licences that a job asks for: kinds and numbers.
pub(super) type Licences<'a> = &'a [(u16, i64)];

/// Records in order of time.
#[derive(Clone, Debug)]
pub(super) struct Table {
    records: Vec<Record>,
    resolution: i64,
    /// Seconds from the present to the end, before it is cut down.
    window: i64,
    /// Number of records made so far, those merged since included.
    pub(super) made: u32,
    /// The first second from which a comparison with the present would turn out otherwise.
    pub(super) until: i64,
}

/// Nodes that a job could use throughout a window.
#[derive(Clone, Debug)]
pub(super) struct Window {
    pub(super) nodes: NodeSet,
    /// Second at which another try may find more.
    pub(super) later: Option<i64>,
    /// True if licences are short somewhere in the window.
    pub(super) is_short: bool,
}

impl Table {
    /// A table from `begin` to `end` with these nodes and licences, both edges cut down to the resolution.
    pub(super) fn new((begin, end): (i64, i64), resolution: i64, nodes: NodeSet, licences: Vec<i64>) -> Self {
        let (begin_cut, end_cut, back) =
            (cut(begin, resolution), cut(end, resolution), NodeSet::empty(nodes.capacity()));
        let record = Record { begin: begin_cut, end: end_cut, nodes, licences, back, lost: 0 };
        Self { records: vec![record], resolution, window: end - begin, made: 1, until: i64::MAX }
    }

    /// Notes a second after which a comparison with the present would turn out otherwise.
    pub(super) fn note(&mut self, second: i64) {
        self.until = self.until.min(second);
    }

    /// End of the table.
    fn end(&self) -> i64 {
        self.records.last().map_or(i64::MAX, |record| record.end)
    }

    /// Notes the second in which the table's end moves on.
    fn note_growth(&mut self, now: i64) {
        let ahead = self.end() + self.resolution - self.window;
        self.note(ahead.max(now + 1));
    }

    /// Nodes of `usable` that are reserved nowhere from `from` on for `length` seconds, as seen at `now`. Records that
    /// merely touch the window count.
    pub(super) fn window(
        &mut self,
        (from, length, now): (i64, i64, i64),
        usable: &NodeSet,
        licences: Licences<'_>,
    ) -> Window {
        let end = length.saturating_add(from.max(now));
        if from >= self.end() {
            self.note_growth(now);
        }
        // The end of the last one moves with the present.
        let ended = self.records.partition_point(|record| record.end <= now);
        if ended + 1 < self.records.len() {
            self.note(self.records[ended].end);
        }
        let (within, beyond) = self.overlap(from, end);
        let mut nodes = usable.clone();
        nodes.keep_common_to_all(within.iter().map(|record| &record.nodes));
        let is_short =
            |record: &&Record| licences.iter().any(|&(kind, count)| record.licences[usize::from(kind)] < count);
        let short = within.iter().rfind(is_short).map(|record| record.end);
        let later = short.or_else(|| next_try(within, beyond, usable));
        if let Some(until) = beyond.filter(|_| from <= now).map(|record| record.begin - length) {
            self.note(until);
        }
        Window { nodes, later, is_short: short.is_some() }
    }

    /// Records from `from` to `end`, those included that merely touch the end, and the one that follows.
    fn overlap(&self, from: i64, end: i64) -> (&[Record], Option<&Record>) {
        let rest = &self.records[self.records.partition_point(|record| record.end <= from)..];
        let count = rest.partition_point(|record| record.begin <= end);
        (&rest[..count], rest.get(count))
    }

    /// Seconds of the next try after one at `from`, later than the present, if the window from there on surely holds
    /// `need` nodes of `usable`, fewer than `need` of which are free at that next try.
    pub(super) fn put_off<'a>(
        &self,
        (from, length): (i64, i64),
        (usable, need): (&NodeSet, u32),
        free_by: impl FnOnce(i64) -> &'a NodeSet,
    ) -> Option<i64> {
        let (within, beyond) = self.overlap(from, from.saturating_add(length));
        let first = within.first()?;
        let at = next_try(within, beyond, usable)?;
        // At least so many nodes are common to both sets, and to all records.
        let common = (first.nodes.len() + usable.len()).saturating_sub(usable.capacity());
        let lost: u32 = within[..within.len() - 1].iter().map(|record| record.lost).sum();
        (common >= need.saturating_add(lost) && free_by(at).common_of_three(&first.nodes, usable) < need).then_some(at)
    }

    /// True if a record between these seconds, cut down, lacks one of the nodes or licences.
    pub(super) fn is_taken(&self, (start, end): (i64, i64), nodes: &[u32], licences: Licences<'_>) -> bool {
        let (start, end) = (cut(start, self.resolution), cut(end, self.resolution));
        let lacks = |record: &Record| {
            nodes.iter().any(|&node| !record.nodes.contains(node))
                || licences.iter().any(|&(kind, count)| record.licences[usize::from(kind)] < count)
        };
        self.records.iter().any(|record| record.end > start && record.begin < end && lacks(record))
    }

    /// Notes when a reservation up to a second looks otherwise, as the table's end cuts it and moves on.
    pub(super) fn note_cut(&mut self, (start, end): (i64, i64), now: i64) {
        let last = self.end();
        if cut(start, self.resolution) >= last {
            self.note_growth(now);
        } else if cut(end, self.resolution) >= last {
            self.note((end - self.window).max(now + 1));
        }
    }

    /// Reserves nodes and licences between these seconds, cut down, for one step of the resolution at least; `start` is
    /// none for the begin of the table.
    pub(super) fn reserve(&mut self, (start, end): (Option<i64>, i64), nodes: &[u32], licences: Licences<'_>) {
        let first = self.records[0].begin;
        let start = start.map_or(first, |start| cut(start, self.resolution).max(first));
        let end = cut(end, self.resolution).max(start + self.resolution);
        let Some(found) = self.records.iter().position(|record| record.end >= start) else { return };
        let before = found.saturating_sub(1);
        if self.records[found].end > start {
            self.split(found, start);
        }
        let (mut place, mut after, mut were_all_there) = (found + 1, None, true);
        while place < self.records.len() {
            if end < self.records[place].end {
                self.split(place, end);
            }
            let record = &mut self.records[place];
            were_all_there &= record.nodes.remove_all(nodes).is_none();
            for &(kind, count) in licences {
                record.licences[usize::from(kind)] -= count;
            }
            if record.end == end {
                after = (place + 1 < self.records.len()).then_some(place + 1);
                break;
            }
            place += 1;
        }
        // Nodes that every record loses come and go at the outer edges only.
        self.set_edge(found);
        let last = place.min(self.records.len() - 1);
        (if were_all_there { last } else { found + 1 }..=last).for_each(|place| self.set_edge(place));
        self.merge(before, after);
    }

    /// Ends a record at a second; another one like it follows up to its former end.
    fn split(&mut self, place: usize, at: i64) {
        let record = &mut self.records[place];
        let rest = Record { begin: at, ..record.clone() };
        (record.end, record.lost) = (at, 0);
        record.back.clear(rest.back.capacity());
        self.records.insert(place + 1, rest);
        self.made += 1;
    }

    /// Finds the nodes that come and go at the end of a record.
    fn set_edge(&mut self, place: usize) {
        if let [record, next, ..] = &mut self.records[place..] {
            record.back.copy_from(&next.nodes);
            record.back.remove_set(&record.nodes);
            record.lost = record.nodes.len() - record.nodes.common(&next.nodes);
        }
    }

    /// Merges the first pair of equal neighbours from `place` up to `until`.
    fn merge(&mut self, mut place: usize, until: Option<usize>) {
        while Some(place) != until && place + 1 < self.records.len() {
            let (one, next) = (&self.records[place], &self.records[place + 1]);
            if one.lost == 0 && one.back.is_empty() && one.licences == next.licences {
                let next = self.records.remove(place + 1);
                let one = &mut self.records[place];
                (one.end, one.back, one.lost) = (next.end, next.back, next.lost);
                return;
            }
            place += 1;
        }
    }
}

/// Second at which nodes come back that a window lacks. The first ones do where a record has fewer than the next one.
fn next_try(within: &[Record], beyond: Option<&Record>, usable: &NodeSet) -> Option<i64> {
    within.iter().chain(beyond).find(|record| !record.back.is_apart(usable)).map(|record| record.end)
}

/// A second cut down to a multiple of the resolution.
pub(super) fn cut(second: i64, resolution: i64) -> i64 {
    second.div_euclid(resolution) * resolution
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn edges(table: &Table) -> Vec<(i64, i64, Vec<u32>)> {
        table.records.iter().map(|one| (one.begin, one.end, one.nodes.iter().collect())).collect()
    }

    #[test]
    fn a_reservation_splits_records_at_both_edges_cut_down() {
        let mut table = Table::new((130, 1000), 60, NodeSet::full(3), vec![]);
        table.reserve((Some(250), 399), &[1], &[]);
        let expected = [(120, 240, vec![0, 1, 2]), (240, 360, vec![0, 2]), (360, 960, vec![0, 1, 2])];
        assert_eq!((edges(&table), table.made), (expected.to_vec(), 3));
    }

    #[test]
    fn touching_records_count_and_nodes_that_come_back_give_a_later_try() {
        let mut table = Table::new((0, 1000), 1, NodeSet::full(2), vec![]);
        table.reserve((Some(60), 120), &[0], &[]);
        let all = NodeSet::full(2);
        let touching = table.window((0, 60, 0), &all, &[]);
        assert_eq!((touching.nodes.iter().collect::<Vec<_>>(), touching.later), (vec![1], Some(120)));
        let before = table.window((0, 59, 0), &all, &[]);
        assert_eq!((before.nodes.len(), table.until), (2, 1));
        assert_eq!(table.window((120, 60, 0), &all, &[]).nodes.len(), 2);
    }

    #[test]
    fn short_licences_put_a_try_off_to_the_end_of_the_record() {
        let mut table = Table::new((0, 1000), 1, NodeSet::full(2), vec![3]);
        table.reserve((None, 60), &[0], &[(0, 2)]);
        let window = table.window((0, 10, 0), &NodeSet::full(2), &[(0, 2)]);
        assert_eq!((window.is_short, window.later), (true, Some(60)));
        assert!(table.is_taken((50, 70), &[], &[(0, 2)]) && !table.is_taken((60, 70), &[0], &[(0, 3)]));
    }

    #[test]
    fn a_reservation_lasts_one_step_at_least() {
        let mut table = Table::new((0, 600), 60, NodeSet::full(1), vec![]);
        table.reserve((None, 10), &[0], &[]);
        assert_eq!(edges(&table), [(0, 0, vec![0]), (0, 60, vec![]), (60, 600, vec![0])]);
    }

    fn set(nodes: &[u32]) -> NodeSet {
        let mut set = NodeSet::empty(6);
        set.insert_all(nodes);
        set
    }

    /// The next try as the rule says it: nodes are back that the window has lost so far.
    fn later(table: &Table, (from, end): (i64, i64), usable: &NodeSet) -> Option<i64> {
        let mut held = usable.clone();
        for pair in table.records.windows(2).filter(|pair| pair[0].end > from) {
            let mut own = held.clone();
            own.keep_common(&pair[0].nodes);
            if usable.iter().any(|node| pair[1].nodes.contains(node) && !own.contains(node)) {
                return Some(pair[0].end);
            }
            if pair[0].begin > end {
                return None;
            }
            held = own;
        }
        None
    }

    proptest! {
        #[test]
        fn a_try_that_is_put_off_has_nodes_enough_but_not_in_time(
            plans in prop::collection::vec((prop::option::of(0..30_i64), 1..20_i64, prop::sample::subsequence((0..6).collect::<Vec<u32>>(), 1..4)), 0..8),
            (from, length, need) in (1..40_i64, 1..30_i64, 1..6_u32),
            usable in prop::sample::subsequence((0..6).collect::<Vec<u32>>(), 1..=6),
            free in prop::sample::subsequence((0..6).collect::<Vec<u32>>(), 0..6),
        ) {
            let mut table = Table::new((0, 60), 2, NodeSet::full(6), vec![]);
            for (start, length, nodes) in plans {
                table.reserve((start, start.unwrap_or(0) + length), &nodes, &[]);
            }
            for pair in table.records.windows(2) {
                let back = pair[1].nodes.iter().filter(|&node| !pair[0].nodes.contains(node));
                prop_assert_eq!(pair[0].back.iter().collect::<Vec<_>>(), back.collect::<Vec<_>>());
                prop_assert_eq!(pair[0].lost, pair[0].nodes.len() - pair[0].nodes.common(&pair[1].nodes));
            }
            let (usable, free) = (set(&usable), set(&free));
            let window = table.window((from, length, 0), &usable, &[]);
            prop_assert_eq!(window.later, later(&table, (from, from + length), &usable));
            if let Some(at) = table.put_off((from, length), (&usable, need), |_| &free) {
                prop_assert_eq!(window.later, Some(at));
                prop_assert!(window.nodes.len() >= need && window.nodes.common(&free) < need);
            }
        }
    }
}
