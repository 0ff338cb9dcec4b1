//! Random numbers, from the run's seed and by name.
//!
//! Every part that needs random numbers gets a separate stream, so that switching one on does not shift another's
//! draws.

use std::convert::Infallible;

use rand::{RngExt, SeedableRng, TryRng};
use rand_pcg::Pcg64;

/// A stream of random numbers that belongs to one part of one run.
#[derive(Clone, Debug)]
pub struct Stream {
    start: Pcg64,
    rest: Pcg64,
    /// Number of words drawn.
    drawn: u64,
}

impl Stream {
    /// The stream called `name` of the run with this `seed`.
    #[must_use]
    pub fn new(seed: u64, name: &str) -> Self {
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&seed.to_le_bytes());
        bytes[8..16].copy_from_slice(&fnv1a(name).to_le_bytes());
        bytes[16..24].copy_from_slice(&fnv1a("hetsched").to_le_bytes());
        let start = Pcg64::from_seed(bytes);
        Self { rest: start.clone(), start, drawn: 0 }
    }

    /// A whole number below `bound`, each equally likely.
    ///
    /// # Panics
    /// If `bound` is zero.
    pub fn below(&mut self, bound: u32) -> u32 {
        let Self { rest, drawn, .. } = self;
        Counted { rest, drawn }.random_range(0..bound)
    }

    /// Number of words that were drawn so far.
    #[must_use]
    pub fn drawn(&self) -> u64 {
        self.drawn
    }

    /// Goes on as if so many words had been drawn.
    pub fn go_to(&mut self, drawn: u64) {
        (self.rest, self.drawn) = (self.start.clone(), drawn);
        self.rest.advance(u128::from(drawn));
    }
}

/// A stream whose words are counted.
struct Counted<'a> {
    rest: &'a mut Pcg64,
    drawn: &'a mut u64,
}

impl TryRng for Counted<'_> {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        *self.drawn += 1;
        self.rest.try_next_u32()
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        *self.drawn += 1;
        self.rest.try_next_u64()
    }

    fn try_fill_bytes(&mut self, dst: &mut [u8]) -> Result<(), Infallible> {
        // As the generator itself does it: a word for each eight bytes begun.
        *self.drawn += dst.len().div_ceil(8) as u64;
        self.rest.try_fill_bytes(dst)
    }
}

/// The 64-bit FNV-1a hash: stable across platforms and releases, as the seed of a named stream must be.
fn fnv1a(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draws(seed: u64, name: &str) -> Vec<u32> {
        let mut stream = Stream::new(seed, name);
        (0..20).map(|_| stream.below(1_000_000)).collect()
    }

    #[test]
    fn a_stream_goes_on_from_where_another_one_was() {
        let (mut one, mut other) = (Stream::new(7, "placement"), Stream::new(7, "placement"));
        // Bounds at which words are thrown away now and then.
        for _ in 0..1000 {
            one.below(u32::MAX - u32::MAX / 3);
        }
        other.go_to(one.drawn());
        assert_eq!(
            (0..20).map(|_| one.below(99)).collect::<Vec<_>>(),
            (0..20).map(|_| other.below(99)).collect::<Vec<_>>()
        );
    }

    #[test]
    fn streams_repeat_and_differ_by_name_and_seed() {
        assert_eq!(draws(1, "placement"), draws(1, "placement"));
        assert_ne!(draws(1, "placement"), draws(1, "failures"));
        assert_ne!(draws(1, "placement"), draws(2, "placement"));
    }
}
