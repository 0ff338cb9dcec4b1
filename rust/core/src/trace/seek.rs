//! A byte sought in a text, eight at a time.

const ONES: u64 = 0x0101_0101_0101_0101;
const TOPS: u64 = 0x8080_8080_8080_8080;

/// The position of the first `byte` in `text`.
#[inline]
pub(super) fn seek(text: &[u8], byte: u8) -> Option<usize> {
    let wanted = u64::from(byte) * ONES;
    let (words, rest) = text.as_chunks::<8>();
    for (place, word) in words.iter().enumerate() {
        let other = u64::from_le_bytes(*word) ^ wanted;
        // The lowest bit that stays is that of the first byte that is wanted.
        let found = other.wrapping_sub(ONES) & !other & TOPS;
        if found != 0 {
            return Some(place * 8 + found.trailing_zeros() as usize / 8);
        }
    }
    rest.iter().position(|own| *own == byte).map(|place| words.len() * 8 + place)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_is_found_wherever_it_is() {
        for length in 0..40 {
            for place in 0..length {
                for (byte, other) in [(b'\n', 0x0b), (0, 0x80), (0xff, 1), (b' ', b'!')] {
                    let mut text = vec![other; length];
                    assert_eq!(seek(&text, byte), None);
                    text[place] = byte;
                    *text.last_mut().expect("not empty") = byte;
                    assert_eq!(seek(&text, byte), Some(place), "{length} {byte}");
                }
            }
        }
    }
}
