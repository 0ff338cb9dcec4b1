//! Faults of a trace as messages: where they are, what was found, and what is valid.

use crate::error::{Error, TraceError};

/// Characters of a found text that are shown.
const SHOWN: usize = 40;

/// Description of a valid file, for files that turn out not to be text.
pub(super) const TEXT: &str = "text in Standard Workload Format, plain or packed by gzip or zstd";

/// An [`Error`] about the file as a whole.
pub(super) fn file_fault(file: &str, found: impl Into<String>, expected: impl Into<String>) -> Error {
    TraceError { file: file.to_owned(), line: None, field: None, found: found.into(), expected: expected.into() }.into()
}

/// Fault of one line, and of one field of it where that is known.
pub(super) fn line_fault(file: &str, line: u64, field: Option<String>, found: String, expected: &str) -> TraceError {
    TraceError { file: file.to_owned(), line: Some(line), field, found, expected: expected.to_owned() }
}

/// `bytes` between backquotes, on one line and of limited length: unprintable ones are escaped, the end is cut.
pub(super) fn quoted(bytes: &[u8]) -> String {
    let mut shown = String::from("`");
    for (count, part) in printable(bytes).enumerate() {
        if count == SHOWN {
            shown.push('…');
            break;
        }
        shown.push_str(&part);
    }
    shown.push('`');
    shown
}

fn printable(bytes: &[u8]) -> impl Iterator<Item = String> {
    bytes.utf8_chunks().flat_map(|chunk| {
        let valid = chunk.valid().chars().map(|character| match character {
            ' '..='~' => character.to_string(),
            _ => character.escape_debug().to_string(),
        });
        valid.chain(chunk.invalid().iter().map(|byte| format!("\\x{byte:02x}")))
    })
}

/// True if `bytes` cannot be text: they hold control characters other than blanks and line ends.
pub(super) fn is_binary(bytes: &[u8]) -> bool {
    bytes.iter().any(|byte| matches!(byte, 0..=8 | 14..=31 | 127))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_found_fits_on_a_line() {
        assert_eq!(quoted(b"12:30"), "`12:30`");
        assert_eq!(quoted(b"a\x1b[31m\nb\xff"), "`a\\u{1b}[31m\\nb\\xff`");
        assert_eq!(quoted("é".as_bytes()), "`é`");
        assert_eq!(quoted(&[b'x'; 41]), format!("`{}…`", "x".repeat(40)));
        assert_eq!(quoted(&[b'x'; 40]), format!("`{}`", "x".repeat(40)));
    }

    #[test]
    fn text_is_not_binary() {
        assert!(!is_binary("; Höhe\t1\r\n\x0b\x0c".as_bytes()));
        assert!(is_binary(b"1 2\0"));
        assert!(is_binary(b"\x89PNG\r\n\x1a\n"));
    }
}
