//! Host lists: `c[1-3,07],r[1-2]n[01-02]`, each distinct one expanded once.

use super::index::Texts;

/// Maximum number of hosts of one list.
const MOST: usize = 10_000_000;

/// Lists of hosts by number, and the names of all hosts; the first list is the empty one.
#[derive(Clone, Debug)]
pub(super) struct Hosts {
    lists: Texts,
    /// Offsets of each list's hosts in `flat`.
    offsets: Vec<u32>,
    /// Hosts of all lists, by the numbers of their names.
    flat: Vec<u32>,
    is_read: Vec<bool>,
    /// The line in which each list was first seen.
    first_line: Vec<u64>,
    names: Texts,
}

impl Default for Hosts {
    fn default() -> Self {
        let (lists, names) = (Texts::default(), Texts::default());
        Self { lists, offsets: vec![0], flat: Vec::new(), is_read: vec![true], first_line: vec![0], names }
    }
}

impl Hosts {
    /// The number of a list; None if it cannot be parsed.
    pub(super) fn code(&mut self, text: &[u8], line: u64) -> Option<u32> {
        let code = self.lists.code(text);
        if code as usize == self.offsets.len() {
            let begin = self.flat.len();
            self.offsets.push(u32::try_from(begin).ok()?);
            self.first_line.push(line);
            let (flat, names) = (&mut self.flat, &mut self.names);
            self.is_read.push(expand(text, &mut |name| flat.push(names.code(name))).is_some());
            keep_first(flat, begin);
        }
        self.is_read[code as usize].then_some(code)
    }

    fn range(&self, code: u32) -> std::ops::Range<usize> {
        let code = code as usize;
        let end = self.offsets.get(code + 1).map_or(self.flat.len(), |end| *end as usize);
        self.offsets.get(code).map_or(0..0, |begin| *begin as usize..end)
    }

    /// Number of hosts of a list.
    pub(super) fn count(&self, code: u32) -> usize {
        self.range(code).len()
    }

    /// The hosts of a list, in its order, by the numbers of their names.
    pub(super) fn list(&self, code: u32) -> &[u32] {
        &self.flat[self.range(code)]
    }

    /// All names by number (the first is empty), and the line in which each was first seen.
    pub(super) fn names(&self) -> (Vec<String>, Vec<u64>) {
        let mut lines = vec![0; self.names.len()];
        for code in (0..u32::try_from(self.offsets.len()).expect("counted so")).rev() {
            for host in self.list(code) {
                lines[*host as usize] = self.first_line[code as usize];
            }
        }
        (self.names.clone().into_strings(), lines)
    }
}

/// Removes repeats among the numbers from `begin` on: of each, the first stays.
fn keep_first(hosts: &mut Vec<u32>, begin: usize) {
    let rising = hosts[begin..].windows(2).all(|pair| pair[0] < pair[1]);
    if rising {
        return;
    }
    let mut seen = std::collections::BTreeSet::new();
    let mut at = begin;
    for from in begin..hosts.len() {
        if seen.insert(hosts[from]) {
            hosts[at] = hosts[from];
            at += 1;
        }
    }
    hosts.truncate(at);
}

/// Calls `give` for every host of a list in order; None if the list cannot be parsed.
pub(super) fn expand(text: &[u8], give: &mut dyn FnMut(&[u8])) -> Option<()> {
    if count(text)? > MOST {
        return None;
    }
    let mut name = Vec::with_capacity(32);
    for word in words(text) {
        expand_word(word, &mut name, give)?;
    }
    Some(())
}

/// Number of hosts of a list, with repeats; None if the list cannot be parsed.
pub(super) fn count(text: &[u8]) -> Option<usize> {
    let mut all = 0usize;
    for word in words(text) {
        all = all.checked_add(count_word(word)?)?;
    }
    Some(all)
}

/// The parts of a list between commas outside of brackets.
fn words(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut depth = 0i32;
    let words = text.split(move |byte| {
        depth += i32::from(*byte == b'[') - i32::from(*byte == b']');
        *byte == b',' && depth == 0
    });
    words.filter(|word| !word.is_empty())
}

fn is_host(byte: u8) -> bool {
    byte > b' ' && !matches!(byte, b'[' | b']' | 0x7f)
}

/// A word's text before its first bracket, and the list within with what follows, if there is one.
type Parts<'a> = (&'a [u8], Option<(&'a [u8], &'a [u8])>);

/// The parts of a word; None if it is not valid.
fn parts(word: &[u8]) -> Option<Parts<'_>> {
    let open = word.iter().position(|byte| *byte == b'[').unwrap_or(word.len());
    let (before, rest) = word.split_at(open);
    if !before.iter().all(|byte| is_host(*byte)) {
        return None;
    }
    if rest.is_empty() {
        return Some((before, None));
    }
    let close = rest.iter().position(|byte| *byte == b']')?;
    Some((before, Some((&rest[1..close], &rest[close + 1..]))))
}

/// First and last number of a piece such as `07` or `01-12`, and their width.
fn piece(text: &[u8]) -> Option<(u64, u64, usize)> {
    let (low, high) = match text.iter().position(|byte| *byte == b'-') {
        Some(at) => (&text[..at], &text[at + 1..]),
        None => (text, text),
    };
    let read = |digits| super::value::whole(digits).map(i64::cast_unsigned);
    let (first, last) = (read(low)?, read(high)?);
    (first <= last).then_some((first, last, low.len()))
}

fn count_word(word: &[u8]) -> Option<usize> {
    let mut rest = word;
    let mut all = 1usize;
    while let (_, Some((list, after))) = parts(rest)? {
        let mut here = 0usize;
        for one in list.split(|byte| *byte == b',') {
            let (first, last, _) = piece(one)?;
            here = here.checked_add(usize::try_from(last - first).ok()?.checked_add(1)?)?;
        }
        all = all.checked_mul(here)?;
        rest = after;
    }
    Some(all)
}

fn expand_word(word: &[u8], name: &mut Vec<u8>, give: &mut dyn FnMut(&[u8])) -> Option<()> {
    let kept = name.len();
    let (before, bracket) = parts(word)?;
    name.extend_from_slice(before);
    let Some((numbers, after)) = bracket else {
        give(name);
        name.truncate(kept);
        return Some(());
    };
    let begin = name.len();
    for one in numbers.split(|byte| *byte == b',') {
        let (first, last, width) = piece(one)?;
        for number in first..=last {
            push_number(name, number, width);
            expand_word(after, name, give)?;
            name.truncate(begin);
        }
    }
    name.truncate(kept);
    Some(())
}

/// Writes a number with leading zeros up to a width.
fn push_number(name: &mut Vec<u8>, number: u64, width: usize) {
    let begin = name.len();
    let mut rest = number;
    loop {
        name.push(b'0' + u8::try_from(rest % 10).expect("a digit"));
        rest /= 10;
        if rest == 0 && name.len() - begin >= width {
            break;
        }
    }
    name[begin..].reverse();
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expanded(text: &str) -> Option<Vec<String>> {
        let mut names = Vec::new();
        expand(text.as_bytes(), &mut |name| names.push(String::from_utf8_lossy(name).into_owned()))?;
        Some(names)
    }

    #[test]
    fn lists_are_expanded_in_order() {
        assert_eq!(expanded("c[1-3,07]").unwrap(), ["c1", "c2", "c3", "c07"]);
        assert_eq!(expanded("r[1-2]n[01-02]").unwrap(), ["r1n01", "r1n02", "r2n01", "r2n02"]);
        assert_eq!(expanded("a,b").unwrap(), ["a", "b"]);
        assert_eq!(expanded("n[098-101]x").unwrap(), ["n098x", "n099x", "n100x", "n101x"]);
        assert_eq!(expanded("a,,b,").unwrap(), ["a", "b"]);
        for text in ["c[1-3", "c1]", "c[]", "c[3-1]", "c[a]", "c d", "c[1-99999999999]"] {
            assert_eq!(expanded(text), None, "{text}");
        }
    }

    #[test]
    fn a_host_counts_once_in_its_list() {
        let mut hosts = Hosts::default();
        let twice = hosts.code(b"n2,n[1-2]", 7).unwrap();
        let other = hosts.code(b"n1,n3", 9).unwrap();
        assert_eq!((hosts.count(twice), hosts.count(other)), (2, 2));
        assert_eq!(hosts.code(b"n2,n[1-2]", 11), Some(twice));
        let (names, lines) = hosts.names();
        assert_eq!(names[1..], ["n2", "n1", "n3"]);
        assert_eq!(lines[1..], [7, 7, 9]);
        assert_eq!(hosts.list(other), [2, 3]);
    }
}
