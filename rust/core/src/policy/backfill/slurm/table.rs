//! Table of a backfill cycle: nodes and licences that no reservation has, over time (rules 30 to 37).

use crate::algo::node_set::NodeSet;

/// A stretch of seconds with the nodes and licences that are not reserved in it.
#[derive(Clone, Debug, PartialEq)]
struct Record {
    begin: i64,
    end: i64,
    nodes: NodeSet,
    licences: Vec<i64>,
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
        let record = Record { begin: cut(begin, resolution), end: cut(end, resolution), nodes, licences };
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
        let mut window = Window { nodes: usable.clone(), later: None, is_short: false };
        let (mut until, mut short_until) = (self.until, None);
        for (place, record) in self.records.iter().enumerate() {
            // The end of the last one moves with the present.
            if record.end > now && place + 1 < self.records.len() {
                until = until.min(record.end);
            }
            if let Some(next) = self.records.get(place + 1)
                && record.end > from
                && window.later.is_none()
                && comes_back(usable, next, record, &window.nodes)
            {
                window.later = Some(record.end);
            }
            if record.end <= from {
                continue;
            }
            if record.begin > end {
                if from <= now {
                    until = until.min(record.begin - length);
                }
                break;
            }
            window.nodes.keep_common(&record.nodes);
            if licences.iter().any(|&(kind, count)| record.licences[usize::from(kind)] < count) {
                short_until = Some(record.end);
            }
        }
        self.until = until;
        window.is_short = short_until.is_some();
        window.later = short_until.or(window.later);
        window
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
        let (mut place, mut after) = (found + 1, None);
        while place < self.records.len() {
            if end < self.records[place].end {
                self.split(place, end);
            }
            let record = &mut self.records[place];
            record.nodes.remove_all(nodes);
            for &(kind, count) in licences {
                record.licences[usize::from(kind)] -= count;
            }
            if record.end == end {
                after = (place + 1 < self.records.len()).then_some(place + 1);
                break;
            }
            place += 1;
        }
        self.merge(before, after);
    }

    /// Ends a record at a second; another one like it follows up to its former end.
    fn split(&mut self, place: usize, at: i64) {
        let rest = Record { begin: at, ..self.records[place].clone() };
        self.records[place].end = at;
        self.records.insert(place + 1, rest);
        self.made += 1;
    }

    /// Merges the first pair of equal neighbours from `place` up to `until`.
    fn merge(&mut self, mut place: usize, until: Option<usize>) {
        while Some(place) != until && place + 1 < self.records.len() {
            let (one, next) = (&self.records[place], &self.records[place + 1]);
            if one.licences == next.licences && one.nodes == next.nodes {
                self.records[place].end = next.end;
                self.records.remove(place + 1);
                return;
            }
            place += 1;
        }
    }
}

/// True if the next record holds nodes that a window does not hold within this one.
fn comes_back(usable: &NodeSet, next: &Record, record: &Record, held: &NodeSet) -> bool {
    let words = usable.words().iter().zip(next.nodes.words()).zip(record.nodes.words().iter().zip(held.words()));
    words.into_iter().any(|((usable, next), (own, held))| usable & next & !(own & held) != 0)
}

/// A second cut down to a multiple of the resolution.
pub(super) fn cut(second: i64, resolution: i64) -> i64 {
    second.div_euclid(resolution) * resolution
}

#[cfg(test)]
mod tests {
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
}
