//! A search in a sorted list that begins where the last one ended.

/// Partition point of a list by galloping search: the number of leading items that pass `test`. All items before the
/// point pass and none after it. Fast if the point is close to `guess`.
pub fn partition_near<T>(items: &[T], guess: usize, mut test: impl FnMut(&T) -> bool) -> usize {
    let guess = guess.min(items.len());
    let (mut low, mut high, mut step) = (guess, guess, 1);
    while high < items.len() && test(&items[high]) {
        low = high + 1;
        high = (high + step).min(items.len());
        step *= 2;
    }
    if low == guess {
        while low > 0 && !test(&items[low - 1]) {
            high = low - 1;
            low = low.saturating_sub(step);
            step *= 2;
        }
    }
    low + items[low..high].partition_point(test)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn finds_what_a_search_from_scratch_finds(
            mut items in prop::collection::vec(0..40_u8, 0..200),
            guess in 0..220_usize,
            most in 0..42_u8,
        ) {
            items.sort_unstable();
            let expected = items.partition_point(|&item| item <= most);
            prop_assert_eq!(partition_near(&items, guess, |&item| item <= most), expected);
        }
    }
}
