//! Random numbers, from the run's seed and by name.
//!
//! Every part that needs random numbers gets a separate stream, so that switching one on does not shift another's
//! draws.

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

/// A stream of random numbers that belongs to one part of one run.
#[derive(Clone, Debug)]
pub struct Stream(Pcg64);

impl Stream {
    /// The stream called `name` of the run with this `seed`.
    #[must_use]
    pub fn new(seed: u64, name: &str) -> Self {
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&seed.to_le_bytes());
        bytes[8..16].copy_from_slice(&fnv1a(name).to_le_bytes());
        bytes[16..24].copy_from_slice(&fnv1a("hetsched").to_le_bytes());
        Self(Pcg64::from_seed(bytes))
    }

    /// A whole number below `bound`, each equally likely.
    ///
    /// # Panics
    /// If `bound` is zero.
    pub fn below(&mut self, bound: u32) -> u32 {
        self.0.random_range(0..bound)
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
    fn streams_repeat_and_differ_by_name_and_seed() {
        assert_eq!(draws(1, "placement"), draws(1, "placement"));
        assert_ne!(draws(1, "placement"), draws(1, "failures"));
        assert_ne!(draws(1, "placement"), draws(2, "placement"));
    }
}
