//! One line of a log, cut into its fields.
//!
//! Lines end with a line feed, a carriage return or both; fields stand between blanks. The checks of what a field may
//! hold are left to `job`.

use super::number::{Number, leading_whole};

/// Fields of a job line, as the format defines them.
pub(super) const FIELDS: usize = 18;

/// The numbers of one job line, field 1 first.
pub(super) type Fields = [Number; FIELDS];

/// Positions in [`Fields`], one less than the field's number in the format.
pub(super) mod field {
    pub(in crate::trace) const JOB: usize = 0;
    pub(in crate::trace) const SUBMIT: usize = 1;
    pub(in crate::trace) const WAIT: usize = 2;
    pub(in crate::trace) const RUNTIME: usize = 3;
    pub(in crate::trace) const ALLOCATED_PROCS: usize = 4;
    pub(in crate::trace) const REQUESTED_PROCS: usize = 7;
    pub(in crate::trace) const REQUESTED_TIME: usize = 8;
    pub(in crate::trace) const STATUS: usize = 10;
    pub(in crate::trace) const USER: usize = 11;
    pub(in crate::trace) const APPLICATION: usize = 13;
    pub(in crate::trace) const QUEUE: usize = 14;
    pub(in crate::trace) const PRECEDING_JOB: usize = 16;
    pub(in crate::trace) const THINK_TIME: usize = 17;
}

const NAMES: [&str; FIELDS] = [
    "job number",
    "submit time",
    "wait time",
    "run time",
    "allocated processors",
    "average CPU time",
    "used memory",
    "requested processors",
    "requested time",
    "requested memory",
    "status",
    "user",
    "group",
    "application",
    "queue",
    "partition",
    "preceding job",
    "think time",
];

/// Field `index` by number and name, such as `field 4 (run time)`.
pub(super) fn name(index: usize) -> String {
    format!("field {} ({})", index + 1, NAMES[index])
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | 0x0b | 0x0c)
}

fn is_line_end(byte: u8) -> bool {
    matches!(byte, b'\n' | b'\r')
}

/// The first position from `at` on at which `stops` is true, or the end of the text.
#[inline]
fn find(text: &[u8], at: usize, stops: impl Fn(u8) -> bool) -> usize {
    text[at..].iter().position(|byte| stops(*byte)).map_or(text.len(), |offset| at + offset)
}

/// The first byte from `at` on that is not blank.
#[inline]
pub(super) fn skip_blanks(text: &[u8], at: usize) -> usize {
    find(text, at, |byte| !is_blank(byte))
}

/// End of the line around `at`.
pub(super) fn line_end(text: &[u8], at: usize) -> usize {
    find(text, at, is_line_end)
}

/// Start of the line after the one that ends at `end`.
#[inline]
pub(super) fn next_line(text: &[u8], end: usize) -> usize {
    let ending = if text[end..].starts_with(b"\r\n") { 2 } else { 1 };
    text.len().min(end + ending)
}

/// The fields of `line` as text, however many there are.
pub(super) fn tokens(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(|byte| is_blank(*byte)).filter(|token| !token.is_empty())
}

/// Reads the 18 numbers of the line that starts at `at`; returns the position of what follows them.
///
/// The error is the index of the first field that is missing or not a number.
pub(super) fn scan(text: &[u8], at: usize, fields: &mut Fields) -> Result<usize, usize> {
    let mut at = at;
    for (index, field) in fields.iter_mut().enumerate() {
        (*field, at) = number(text, skip_blanks(text, at)).ok_or(index)?;
    }
    Ok(skip_blanks(text, at))
}

#[inline]
fn number(text: &[u8], at: usize) -> Option<(Number, usize)> {
    if let Some((value, end)) = leading_whole(text, at)
        && text.get(end).is_none_or(|byte| is_blank(*byte) || is_line_end(*byte))
    {
        return Some((Number::Whole(value), end));
    }
    any_number(text, at)
}

/// The slow path of [`leading_whole`], for decimals, long numbers and tokens that are not numbers.
#[cold]
fn any_number(text: &[u8], at: usize) -> Option<(Number, usize)> {
    let end = find(text, at, |byte| is_blank(byte) || is_line_end(byte));
    Number::parse(&text[at..end]).map(|number| (number, end))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(line: &str) -> Result<(Fields, usize), usize> {
        let mut fields = [Number::Whole(0); FIELDS];
        scan(line.as_bytes(), 0, &mut fields).map(|end| (fields, end))
    }

    #[test]
    fn eighteen_numbers_are_read_in_order() {
        let line = " 1\t2 3  4.5 5 6 7 8 9 10 11 12 13 14 15 16 17 -18 \n1";
        let (fields, end) = numbers(line).unwrap();
        assert_eq!(fields[3], Number::Decimal(4.5));
        assert_eq!(fields[17], Number::Whole(-18));
        assert_eq!(&line[end..], "\n1");
    }

    #[test]
    fn the_first_field_that_is_no_number_is_named() {
        assert_eq!(numbers("1 2 three 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18"), Err(2));
        assert_eq!(numbers("1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17\n18"), Err(17));
        assert_eq!(numbers(""), Err(0));
    }

    #[test]
    fn both_paths_read_the_same_numbers() {
        for token in ["0", "-1", "123456789012345678", "-999999999999999999", "007"] {
            let fast = number(token.as_bytes(), 0);
            assert_eq!(fast, any_number(token.as_bytes(), 0), "{token}");
            assert!(fast.is_some(), "{token}");
        }
    }

    #[test]
    fn every_line_ending_ends_a_line() {
        for text in ["a\nb", "a\r\nb", "a\rb"] {
            let start = next_line(text.as_bytes(), line_end(text.as_bytes(), 0));
            assert_eq!(&text[start..], "b", "{text:?}");
        }
        assert_eq!(next_line(b"a", 1), 1);
    }

    #[test]
    fn a_field_has_a_number_and_a_name() {
        assert_eq!(name(field::RUNTIME), "field 4 (run time)");
        assert_eq!(name(field::PRECEDING_JOB), "field 17 (preceding job)");
    }
}
