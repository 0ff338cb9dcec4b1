//! One line of an accounting log: `MM/DD/YYYY HH:MM:SS;T;ID;key=value …`.

use memchr::memchr;

use crate::trace::sacct::value::whole;

/// A record, cut into its parts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Record<'a> {
    /// The stamp as sacct writes them, `YYYY-MM-DDTHH:MM:SS`.
    pub(super) stamp: [u8; 19],
    pub(super) kind: u8,
    pub(super) id: &'a [u8],
    pub(super) message: &'a [u8],
}

impl<'a> Record<'a> {
    /// Cuts a line; None if it is not a record.
    #[inline]
    pub(super) fn read(line: &'a [u8]) -> Option<Self> {
        let (stamp, rest) = line.split_first_chunk::<19>()?;
        let [b';', kind, b';', rest @ ..] = rest else { return None };
        let end = memchr(b';', rest)?;
        let is_date = stamp[2] == b'/' && stamp[5] == b'/' && stamp[10] == b' ';
        let stamp = stamp_of(stamp);
        (is_date && kind.is_ascii_alphabetic()).then_some(Self {
            stamp,
            kind: *kind,
            id: &rest[..end],
            message: &rest[end + 1..],
        })
    }

    /// Keys and values of the message; words without `=` are skipped.
    pub(super) fn pairs(&self) -> Pairs<'a> {
        Pairs { rest: self.message }
    }
}

fn stamp_of(stamp: &[u8; 19]) -> [u8; 19] {
    let mut own = *b"YYYY-MM-DDTHH:MM:SS";
    own[..4].copy_from_slice(&stamp[6..10]);
    own[5..7].copy_from_slice(&stamp[..2]);
    own[8..10].copy_from_slice(&stamp[3..5]);
    own[11..].copy_from_slice(&stamp[11..]);
    own
}

/// Pairs of a message; values in double quotes may hold blanks.
pub(super) struct Pairs<'a> {
    rest: &'a [u8],
}

impl<'a> Iterator for Pairs<'a> {
    type Item = (&'a [u8], &'a [u8]);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        while !self.rest.is_empty() {
            let end = memchr(b' ', self.rest).unwrap_or(self.rest.len());
            let (word, rest) = (&self.rest[..end], self.rest.get(end + 1..).unwrap_or_default());
            let Some(at) = memchr(b'=', word) else {
                self.rest = rest;
                continue;
            };
            let key = &word[..at];
            if let Some(quoted) = self.rest[at + 1..].strip_prefix(b"\"")
                && let Some(close) = memchr(b'"', quoted)
            {
                self.rest = &quoted[close + 1..];
                return Some((key, &quoted[..close]));
            }
            self.rest = rest;
            return Some((key, &word[at + 1..]));
        }
        None
    }
}

/// A job's id, cut into its numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Name {
    /// `12.srv`
    Job(i64),
    /// `12[3].srv` and `12-3.srv`
    Task(i64, i64),
    /// `12[].srv`
    Array(i64),
}

impl Name {
    /// Reads an id; None if it is not one.
    pub(super) fn read(id: &[u8]) -> Option<Self> {
        let end = id.iter().position(|byte| *byte == b'.').unwrap_or(id.len());
        if id.get(end) == Some(&b'.') && id.len() == end + 1 {
            return None;
        }
        let own = &id[..end];
        let digits = own.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(own.len());
        let number = whole(&own[..digits])?;
        match &own[digits..] {
            [] => Some(Self::Job(number)),
            [b'[', b']'] => Some(Self::Array(number)),
            [b'[', task @ .., b']'] | [b'-', task @ ..] => Some(Self::Task(number, whole(task)?)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_a_stamp_a_kind_an_id_and_pairs() {
        let record = Record::read(b"05/01/2024 12:00:09;E;7.srv;user=ann jobname=\"a b\" x y=1=2 z=").unwrap();
        assert_eq!((&record.stamp, record.kind, record.id), (b"2024-05-01T12:00:09", b'E', &b"7.srv"[..]));
        let pairs: Vec<_> = record.pairs().collect();
        let expected: [(&[u8], &[u8]); 4] = [(b"user", b"ann"), (b"jobname", b"a b"), (b"y", b"1=2"), (b"z", b"")];
        assert_eq!(pairs, expected);
        for line in
            ["", "05/01/2024 12:00:09", "05/01/2024 12:00:09;E;7", "05/01/2024;E;7;", "05-01-2024 12:00:09;E;7;"]
        {
            assert_eq!(Record::read(line.as_bytes()), None, "{line}");
        }
    }

    #[test]
    fn ids_have_numbers() {
        let of = |id: &str| Name::read(id.as_bytes());
        assert_eq!(
            (of("7"), of("7.srv.site"), of("7[].srv")),
            (Some(Name::Job(7)), Some(Name::Job(7)), Some(Name::Array(7)))
        );
        assert_eq!((of("7[3].srv"), of("7-3.srv")), (Some(Name::Task(7, 3)), Some(Name::Task(7, 3))));
        assert!(["", "x", "7x", "7[x]", "7[3", "7-", "7.", "S12"].iter().all(|id| of(id).is_none()));
    }
}
