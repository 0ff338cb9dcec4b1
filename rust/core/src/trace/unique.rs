//! Check that all job numbers are distinct, and the lines of those that are not.

/// The line of every row, stored as the rows at which line minus row changes.
#[derive(Debug, Default)]
pub(super) struct RowLines {
    /// First row of a stretch, and line minus row along it.
    stretches: Vec<(usize, u64)>,
}

impl RowLines {
    /// Notes that row `row` stands on `line`; rows come in order.
    pub(super) fn push(&mut self, row: usize, line: u64) {
        let distance = line - row as u64;
        if self.stretches.last().is_none_or(|(_, last)| *last != distance) {
            self.stretches.push((row, distance));
        }
    }

    /// The line that `row` stands on.
    pub(super) fn line(&self, row: usize) -> u64 {
        let stretch = self.stretches.partition_point(|(first, _)| *first <= row);
        row as u64 + self.stretches[..stretch].last().map_or(0, |(_, distance)| *distance)
    }
}

/// The first row whose id an earlier row has, preceded by that earlier row.
pub(super) fn first_repeated(ids: &[i64]) -> Option<(usize, usize)> {
    // Logs usually number their jobs in order: one look is enough then, and sorting is for the few others.
    if ids.is_sorted_by(|earlier, later| earlier < later) {
        return None;
    }
    let mut rows: Vec<(i64, usize)> = ids.iter().copied().zip(0..).collect();
    rows.sort_unstable();
    let pairs = rows.windows(2).filter(|pair| pair[0].0 == pair[1].0).map(|pair| (pair[0].1, pair[1].1));
    pairs.min_by_key(|(_, later)| *later)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_repetition_in_the_file_is_found() {
        assert_eq!(first_repeated(&[1, 2, 3]), None);
        assert_eq!(first_repeated(&[3, 1, 2]), None);
        assert_eq!(first_repeated(&[9, 1, 2, 2, 9, 1]), Some((2, 3)));
        assert_eq!(first_repeated(&[5, 5, 5]), Some((0, 1)));
        assert_eq!(first_repeated(&[]), None);
    }

    #[test]
    fn rows_know_their_lines() {
        let lines = [3, 4, 7, 8, 9, 20];
        let mut rows = RowLines::default();
        for (row, line) in lines.into_iter().enumerate() {
            rows.push(row, line);
        }
        for (row, line) in lines.into_iter().enumerate() {
            assert_eq!(rows.line(row), line, "{row}");
        }
    }
}
