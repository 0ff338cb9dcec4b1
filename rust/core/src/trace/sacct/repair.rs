//! Repair of rows with more fields than columns, because of separators in a text, which sacct does not escape.

use std::ops::Range;

use super::header::Header;
use super::row::reads;
use super::zone::Clock;

/// Maximum number of surplus fields with which a repair is tried.
const MOST: usize = 256;

/// The fields of a row, if the surplus fits into its free texts in exactly one way.
///
/// `fields` are parts of `line`, with one separator between any two.
pub(super) fn repaired(
    line: &[u8],
    fields: &[Range<usize>],
    header: &Header,
    clock: &mut Clock,
) -> Option<Vec<Range<usize>>> {
    let columns = header.len();
    let surplus = fields.len().checked_sub(columns).filter(|surplus| *surplus <= MOST)?;
    // Dynamic program: the number of ways (up to two) in which the first columns take so many surplus fields, and how
    // many the last of them took.
    let mut ways = vec![vec![(0u8, 0usize); surplus + 1]; columns + 1];
    ways[0][0].0 = 1;
    for column in 0..columns {
        let kind = header.kinds[column];
        for before in 0..=surplus {
            let (count, _) = ways[column][before];
            if count == 0 {
                continue;
            }
            let most = if kind.is_free() { surplus - before } else { 0 };
            if !kind.is_free() && !reads(kind, &line[fields[column + before].clone()], clock) {
                continue;
            }
            for taken in 0..=most {
                let way = &mut ways[column + 1][before + taken];
                *way = (way.0.saturating_add(count).min(2), taken);
            }
        }
    }
    if ways[columns][surplus].0 != 1 {
        return None;
    }
    let mut found = Vec::with_capacity(columns);
    let mut used = surplus;
    for column in (0..columns).rev() {
        let (_, taken) = ways[column + 1][used];
        used -= taken;
        found.push(fields[column + used].start..fields[column + used + taken].end);
    }
    found.reverse();
    Some(found)
}
