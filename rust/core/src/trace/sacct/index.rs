//! A hash table of positions in some other table; the entries there show whether they are meant.

/// Positions by hash, four bytes each; without any order.
#[derive(Clone, Debug)]
pub(in crate::trace) struct Index {
    slots: Vec<u32>,
    used: usize,
}

const FREE: u32 = u32::MAX;

fn spread(hash: u64) -> u64 {
    let mixed = (hash ^ (hash >> 32)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed ^ (mixed >> 29)
}

/// A hash of bytes.
pub(in crate::trace) fn hash_of(bytes: &[u8]) -> u64 {
    let mut hash = bytes.len() as u64;
    let (words, rest) = bytes.as_chunks::<8>();
    for word in words {
        hash = (hash.rotate_left(5) ^ u64::from_le_bytes(*word)).wrapping_mul(0x517c_c1b7_2722_0a95);
    }
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    (hash.rotate_left(5) ^ u64::from_le_bytes(last)).wrapping_mul(0x517c_c1b7_2722_0a95)
}

impl Default for Index {
    fn default() -> Self {
        Self { slots: vec![FREE; 16], used: 0 }
    }
}

impl Index {
    /// The position under `hash` that `is_meant` accepts.
    #[inline]
    pub(in crate::trace) fn find(&self, hash: u64, is_meant: impl Fn(u32) -> bool) -> Option<u32> {
        let slot = self.slots[self.slot(hash, is_meant)];
        (slot != FREE).then_some(slot)
    }

    /// Puts `position` under `hash`, in place of the one that `is_meant` accepts, which it returns.
    #[inline]
    pub(in crate::trace) fn put(
        &mut self,
        hash: u64,
        position: u32,
        is_meant: impl Fn(u32) -> bool,
        hash_at: impl Fn(u32) -> u64,
    ) -> Option<u32> {
        if 2 * (self.used + 1) > self.slots.len() {
            self.grow(hash_at);
        }
        let at = self.slot(hash, is_meant);
        let old = std::mem::replace(&mut self.slots[at], position);
        self.used += usize::from(old == FREE);
        (old != FREE).then_some(old)
    }

    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "the mask cuts it anyway")]
    fn slot(&self, hash: u64, is_meant: impl Fn(u32) -> bool) -> usize {
        let mask = self.slots.len() - 1;
        let mut at = spread(hash) as usize & mask;
        while self.slots[at] != FREE && !is_meant(self.slots[at]) {
            at = (at + 1) & mask;
        }
        at
    }

    fn grow(&mut self, hash_at: impl Fn(u32) -> u64) {
        let old = std::mem::take(&mut self.slots);
        self.slots = vec![FREE; old.len() * 2];
        for position in old.into_iter().filter(|position| *position != FREE) {
            let at = self.slot(hash_at(position), |_| false);
            self.slots[at] = position;
        }
    }
}

/// Hashes, each kept once.
#[derive(Clone, Debug, Default)]
pub(in crate::trace) struct Hashes {
    all: Vec<u64>,
    index: Index,
}

impl Hashes {
    /// Inserts a hash; false if it was there.
    #[inline]
    pub(in crate::trace) fn insert(&mut self, hash: u64) -> bool {
        let all = &self.all;
        if self.index.find(hash, |place| all[place as usize] == hash).is_some() {
            return false;
        }
        let place = u32::try_from(all.len()).expect("fewer than 2^32 hashes");
        self.all.push(hash);
        let all = &self.all;
        self.index.put(hash, place, |_| false, |place| all[place as usize]);
        true
    }
}

/// Texts, each kept once; the first is the empty one.
#[derive(Clone, Debug)]
pub(in crate::trace) struct Texts {
    bytes: Vec<u8>,
    ends: Vec<usize>,
    index: Index,
}

impl Default for Texts {
    fn default() -> Self {
        let mut texts = Self { bytes: Vec::new(), ends: Vec::new(), index: Index::default() };
        texts.code(b"");
        texts
    }
}

impl Texts {
    /// The number of a text.
    #[inline]
    pub(in crate::trace) fn code(&mut self, text: &[u8]) -> u32 {
        let hash = hash_of(text);
        if let Some(code) = self.index.find(hash, |code| self.get(code) == text) {
            return code;
        }
        let code = u32::try_from(self.ends.len()).expect("fewer than 2^32 texts");
        self.bytes.extend_from_slice(text);
        self.ends.push(self.bytes.len());
        let (bytes, ends) = (&self.bytes, &self.ends);
        self.index.put(hash, code, |_| false, |code| hash_of(get(bytes, ends, code)));
        code
    }

    pub(in crate::trace) fn get(&self, code: u32) -> &[u8] {
        get(&self.bytes, &self.ends, code)
    }

    pub(in crate::trace) fn len(&self) -> usize {
        self.ends.len()
    }

    /// All texts by number, with U+FFFD in place of what is not UTF-8.
    pub(in crate::trace) fn into_strings(self) -> Vec<String> {
        let codes = 0..u32::try_from(self.len()).expect("counted so");
        codes.map(|code| String::from_utf8_lossy(self.get(code)).into_owned()).collect()
    }
}

fn get<'a>(bytes: &'a [u8], ends: &[usize], code: u32) -> &'a [u8] {
    let code = code as usize;
    let start = code.checked_sub(1).map_or(0, |before| ends[before]);
    &bytes[start..ends[code]]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_has_one_number() {
        let mut texts = Texts::default();
        let names: Vec<String> = (0..2000).map(|number| format!("name {}", number % 700)).collect();
        let codes: Vec<u32> = names.iter().map(|name| texts.code(name.as_bytes())).collect();
        assert_eq!(texts.len(), 701);
        for (name, code) in names.iter().zip(codes) {
            assert_eq!(texts.get(code), name.as_bytes());
        }
        assert_eq!(texts.code(b""), 0);
    }
}
