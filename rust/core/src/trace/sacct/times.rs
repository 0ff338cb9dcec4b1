//! Local times that occur twice: the choice of the instants that a row means.

use super::row::Row;

/// The instants of a row.
#[derive(Clone, Copy, Debug)]
pub(super) struct Times {
    pub(super) submit: f64,
    pub(super) eligible: f64,
    pub(super) start: f64,
    pub(super) end: f64,
}

impl Times {
    /// The instants of a row, and whether other readings are as good.
    pub(super) fn of(row: &Row<'_>) -> (Self, bool) {
        let all = [row.submit, row.eligible, row.start, row.end];
        let first = Self::from([row.submit.first, row.eligible.first, row.start.first, row.end.first]);
        if !all.iter().any(|instant| instant.is_twofold()) {
            return (first, false);
        }
        let mut every = Vec::with_capacity(16);
        for submit in row.submit.candidates() {
            for eligible in row.eligible.candidates() {
                for start in row.start.candidates() {
                    every.extend(row.end.candidates().map(|end| Self { submit, eligible, start, end }));
                }
            }
        }
        let lasts = |times: &&Self| times.lasts(row);
        let best: Vec<&Self> = every.iter().filter(lasts).filter(|times| times.is_in_order()).collect();
        let best = if best.is_empty() { every.iter().filter(lasts).collect() } else { best };
        match best.first() {
            Some(times) => (**times, best.len() > 1),
            None => (first, true),
        }
    }

    fn from([submit, eligible, start, end]: [f64; 4]) -> Self {
        Self { submit, eligible, start, end }
    }

    /// True if the run is as long as the row states.
    fn lasts(&self, row: &Row<'_>) -> bool {
        let span = self.end - self.start;
        if span.is_nan() || row.elapsed_s.is_nan() {
            return true;
        }
        if row.suspended_s.is_nan() {
            return span >= row.elapsed_s - 1.0;
        }
        (span - row.suspended_s - row.elapsed_s).abs() <= 1.0
    }

    /// True if nothing precedes the submission.
    fn is_in_order(&self) -> bool {
        [self.eligible, self.start, self.end].iter().all(|instant| instant.is_nan() || *instant >= self.submit)
    }
}
