//! Classes of equal rows of a matrix.
//!
//! Found in the pass that checks the numbers: a row equal to an earlier one is read once, alongside that one, and needs
//! no check. A few of its numbers say which earlier row it could be equal to. If it is not, a fingerprint of the whole
//! row decides with which further one it is compared, so that every row is read a fixed number of times at most.

use std::collections::BTreeMap;

use crate::error::{Result, config};

/// Number of sampled entries by which a row is compared before it is read as a whole.
const SAMPLES: usize = 8;

/// Largest absolute cost that is accepted: sums of a path's costs, and duals, must stay finite.
const MOST: f64 = 1e300;

/// The rows of a matrix in classes of equal ones, numbered as they first occur.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Distinct {
    of_rows: Vec<u32>,
    first_rows: Vec<u32>,
}

/// Classes whose rows agree in the sampled numbers.
#[derive(Default)]
struct Alike {
    /// The class that a row was found to belong to most recently.
    latest: u32,
    /// Classes by the fingerprint of the whole row, from the second class on.
    by_fingerprint: BTreeMap<u64, u32>,
}

impl Distinct {
    /// Checks all numbers and finds the classes.
    ///
    /// # Errors
    /// For the first number that is NaN or -inf.
    pub(crate) fn find(rows: usize, columns: usize, values: &[f64]) -> Result<Self> {
        let mut found = Self { of_rows: Vec::with_capacity(rows), first_rows: Vec::new() };
        let mut alike: BTreeMap<u64, Alike> = BTreeMap::new();
        let row_of = |row: u32| &values[row as usize * columns..][..columns];
        for row in 0..rows {
            let numbers = &values[row * columns..][..columns];
            let sample = fingerprint(numbers.iter().step_by(columns.div_ceil(SAMPLES).max(1)));
            let class = match alike.get_mut(&sample) {
                None => {
                    let class = found.open(row, numbers)?;
                    alike.insert(sample, Alike { latest: class, by_fingerprint: BTreeMap::new() });
                    class
                }
                Some(known) => {
                    let first = row_of(found.first_rows[known.latest as usize]);
                    if first != numbers {
                        known.latest = found.further(known, row, numbers, row_of)?;
                    }
                    known.latest
                }
            };
            found.of_rows.push(class);
        }
        Ok(found)
    }

    /// Class of a row that differs from the latest of those with the same sample.
    fn further<'v>(
        &mut self,
        known: &mut Alike,
        row: usize,
        numbers: &[f64],
        row_of: impl Fn(u32) -> &'v [f64],
    ) -> Result<u32> {
        if known.by_fingerprint.is_empty() {
            let latest = row_of(self.first_rows[known.latest as usize]);
            known.by_fingerprint.insert(fingerprint(latest), known.latest);
        }
        let whole = fingerprint(numbers);
        if let Some(&class) = known.by_fingerprint.get(&whole)
            && row_of(self.first_rows[class as usize]) == numbers
        {
            return Ok(class);
        }
        // Of unequal rows with one fingerprint only the latest is found again: the result is an extra class, never a
        // wrong one.
        let class = self.open(row, numbers)?;
        known.by_fingerprint.insert(whole, class);
        Ok(class)
    }

    fn open(&mut self, row: usize, numbers: &[f64]) -> Result<u32> {
        check(row, numbers)?;
        self.first_rows.push(u32::try_from(row).unwrap_or(u32::MAX));
        Ok(u32::try_from(self.first_rows.len() - 1).unwrap_or(u32::MAX))
    }

    /// Number of classes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.first_rows.len()
    }

    /// True if there is no row.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.first_rows.is_empty()
    }

    /// The class of each row.
    #[must_use]
    pub fn of_rows(&self) -> &[u32] {
        &self.of_rows
    }

    /// The first row of each class.
    #[must_use]
    pub fn first_rows(&self) -> &[u32] {
        &self.first_rows
    }

    /// Number of rows of each class.
    #[must_use]
    pub fn counts(&self) -> Vec<u32> {
        let mut counts = vec![0; self.len()];
        self.of_rows.iter().for_each(|&class| counts[class as usize] += 1);
        counts
    }
}

/// Hash of some numbers, equal for equal numbers (0 and -0 count as equal).
fn fingerprint<'v>(numbers: impl IntoIterator<Item = &'v f64>) -> u64 {
    numbers.into_iter().fold(0xcbf2_9ce4_8422_2325, |sum: u64, &number| {
        let mixed = (sum ^ (number + 0.0).to_bits()).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        mixed ^ (mixed >> 29)
    })
}

fn check(row: usize, numbers: &[f64]) -> Result<()> {
    // Branch-free inside, so that a row is checked as fast as it is read; the place is searched only for an error.
    let wrong = numbers.iter().map(|&number| u64::from(!is_cost(number))).sum::<u64>();
    if wrong == 0 {
        return Ok(());
    }
    let column = numbers.iter().position(|&number| !is_cost(number)).unwrap_or(0);
    let found = match numbers[column] {
        number if number.is_nan() => "NaN".to_owned(),
        f64::NEG_INFINITY => "-inf".to_owned(),
        number => format!("{number:e}"),
    };
    let expected = "numbers of at most 1e300 in size, or +inf where a pair is forbidden";
    Err(config("cost", format!("{found} in row {row}, column {column}"), expected))
}

/// True if the pair is forbidden, or if sums of such costs stay finite.
fn is_cost(number: f64) -> bool {
    number.abs() <= MOST || number == f64::INFINITY
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn classes_are_those_of_pairwise_comparison(
            (columns, values) in (1..12_usize).prop_flat_map(|columns| {
                let row = prop::collection::vec(prop::sample::select(vec![0.0, -0.0, 1.0, f64::INFINITY]), columns);
                (Just(columns), prop::collection::vec(row, 0..40).prop_map(|rows| rows.concat()))
            })
        ) {
            let rows: Vec<&[f64]> = values.chunks(columns).collect();
            let found = Distinct::find(rows.len(), columns, &values).unwrap();
            for (a, &first) in rows.iter().enumerate() {
                for (b, &second) in rows.iter().enumerate() {
                    prop_assert_eq!(found.of_rows()[a] == found.of_rows()[b], first == second);
                }
                prop_assert!(found.first_rows()[found.of_rows()[a] as usize] as usize <= a);
            }
            prop_assert_eq!(found.counts().iter().sum::<u32>() as usize, rows.len());
        }
    }

    #[test]
    fn rows_that_differ_in_one_number_only_are_told_apart_wherever_it_is() {
        let columns = 100;
        let mut values = vec![1.0; 300 * columns];
        (0..300).for_each(|row| values[row * columns + row % columns] = 2.0);
        let found = Distinct::find(300, columns, &values).unwrap();
        assert_eq!(found.len(), columns);
        assert!(found.of_rows().iter().enumerate().all(|(row, &class)| class as usize == row % columns));
    }

    #[test]
    fn the_first_number_that_is_none_is_named() {
        let mut values = vec![1.0; 12];
        (values[7], values[10]) = (f64::NAN, f64::NEG_INFINITY);
        let error = Distinct::find(3, 4, &values).unwrap_err().to_string();
        assert_eq!(
            error,
            "cost: found NaN in row 1, column 3, expected numbers of at most 1e300 in size, or +inf where a pair is forbidden"
        );
    }
}
