//! Recollections: the part of a policy's knowledge that no state of a machine shows, such as profiles that it has
//! learned, use by groups, and nodes that were switched off today. A controller that is rebuilt goes on with it.

use std::collections::BTreeMap;

/// Name under which the jobs of the queue are kept, which join it again.
pub(crate) const JOINED: &str = "joined";

/// Name under which it stands that something was not kept.
const GAP: &str = "gap";

/// Knowledge by name, as whole numbers; numbers with a fraction are their bits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recollection(pub BTreeMap<String, Vec<i64>>);

impl Recollection {
    /// Keeps numbers under a name, if there are any.
    pub fn keep(&mut self, name: &str, numbers: Vec<i64>) {
        if !numbers.is_empty() {
            self.0.insert(name.to_owned(), numbers);
        }
    }

    /// The numbers under a name; none if nothing was kept.
    #[must_use]
    pub fn of(&self, name: &str) -> &[i64] {
        self.0.get(name).map_or(&[], Vec::as_slice)
    }

    /// The numbers under a name in rows of `N`.
    pub fn rows<const N: usize>(&self, name: &str) -> impl Iterator<Item = [i64; N]> + '_ {
        self.of(name).chunks_exact(N).filter_map(|row| row.try_into().ok())
    }

    /// Notes that some knowledge is not kept: who goes on with this one may decide otherwise.
    pub fn note_gap(&mut self) {
        self.keep(GAP, vec![1]);
    }

    /// Keeps another recollection, that of a part of the machine.
    pub fn keep_part(&mut self, part: usize, other: Self) {
        self.0.extend(other.0.into_iter().map(|(name, numbers)| (format!("{part}/{name}"), numbers)));
    }

    /// The recollection of a part of the machine.
    #[must_use]
    pub fn part(&self, part: usize) -> Self {
        let before = format!("{part}/");
        let own = self.0.iter().filter_map(|(name, numbers)| Some((name.strip_prefix(&before)?.to_owned(), numbers)));
        Self(own.map(|(name, numbers)| (name, numbers.clone())).collect())
    }
}

/// The bits of a number.
pub(crate) fn bits(number: f64) -> i64 {
    number.to_bits().cast_signed()
}

/// The number of these bits.
pub(crate) fn number(bits: i64) -> f64 {
    f64::from_bits(bits.cast_unsigned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_keep_what_is_theirs() {
        let (mut all, mut own) = (Recollection::default(), Recollection::default());
        own.keep("used", vec![bits(0.1), 2, bits(-3.5), 4]);
        own.keep("nothing", Vec::new());
        all.keep("idle", vec![1]);
        all.keep_part(11, own.clone());
        assert_eq!(all.part(11), own);
        assert_eq!(all.part(1), Recollection::default());
        let rows: Vec<_> = own.rows::<2>("used").map(|[one, two]| (number(one), two)).collect();
        assert_eq!(rows, [(0.1, 2), (-3.5, 4)]);
        assert!(own.of("nothing").is_empty());
    }
}
