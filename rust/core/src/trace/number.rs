//! Numbers of a log: whole ones by a fast path, all others by the standard library.

/// The largest magnitude up to which every whole number has an exact `f64`.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// More digits than this may overflow an `i64`.
const SAFE_DIGITS: usize = 18;

/// One number of a log.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Number {
    /// Digits, perhaps after a sign.
    Whole(i64),
    /// Anything else that is a decimal number; infinite where it was too large to hold.
    Decimal(f64),
}

impl Number {
    /// The number that `token` spells; `None` for letters, `nan`, `inf` and everything else that is not a decimal
    /// number.
    pub(super) fn parse(token: &[u8]) -> Option<Self> {
        let spelled = token.iter().all(|byte| matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E'));
        let text = str::from_utf8(token).ok().filter(|_| spelled)?;
        text.parse().map(Self::Whole).or_else(|_| text.parse().map(Self::Decimal)).ok()
    }

    /// The number as a float, without a negative zero.
    pub(super) fn float(self) -> f64 {
        match self {
            Self::Whole(whole) => whole as f64,
            Self::Decimal(decimal) => decimal + 0.0,
        }
    }

    /// The number as a whole one, if it is: `4` and `4.00`, not `4.5`.
    pub(super) fn whole(self) -> Option<i64> {
        match self {
            Self::Whole(whole) => Some(whole),
            #[expect(clippy::cast_possible_truncation, reason = "whole and inside 2^53")]
            Self::Decimal(decimal) => (decimal.fract() == 0.0 && decimal.abs() <= EXACT).then_some(decimal as i64),
        }
    }
}

/// The plain whole number that starts at `at`, and where it ends; `None` if it is too long for the fast path.
///
/// The caller has to look at what follows the digits: `12.5` gives 12 and the position of the point.
#[inline]
pub(super) fn leading_whole(text: &[u8], at: usize) -> Option<(i64, usize)> {
    let negative = text.get(at) == Some(&b'-');
    let start = at + usize::from(negative);
    let (mut value, mut end) = (0_i64, start);
    while let Some(digit) = text.get(end).map(|byte| byte.wrapping_sub(b'0')).filter(|digit| *digit < 10) {
        value = value.wrapping_mul(10).wrapping_add(i64::from(digit));
        end += 1;
    }
    (1..=SAFE_DIGITS).contains(&(end - start)).then_some((if negative { -value } else { value }, end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_may_be_whole() {
        assert_eq!(Number::parse(b"300.00").and_then(Number::whole), Some(300));
        assert_eq!(Number::parse(b"-1.0").and_then(Number::whole), Some(-1));
        assert_eq!(Number::parse(b"9.56").and_then(Number::whole), None);
        assert_eq!(Number::parse(b"1e300").and_then(Number::whole), None);
        assert_eq!(Number::parse(b"1e400").and_then(Number::whole), None);
    }

    #[test]
    fn only_numbers_are_numbers() {
        for token in
            ["", "-", "nan", "NaN", "inf", "-inf", "infinity", "12:30", "0x1F", "1_000", "1,5", "e", "--1", "1e"]
        {
            assert_eq!(Number::parse(token.as_bytes()), None, "{token}");
        }
        for token in ["0", "-1", "+5", "1.", ".5", "1e3", "-2.5E-1", "1e400"] {
            assert!(Number::parse(token.as_bytes()).is_some(), "{token}");
        }
    }

    #[test]
    fn no_zero_is_negative() {
        assert!(Number::parse(b"-0").is_some_and(|zero| zero.float().is_sign_positive()));
        assert!(Number::parse(b"-0.0").is_some_and(|zero| zero.float().is_sign_positive()));
    }

    #[test]
    fn the_longest_whole_number_is_read() {
        assert_eq!(Number::parse(b"9223372036854775807"), Some(Number::Whole(i64::MAX)));
        assert!(matches!(Number::parse(b"9223372036854775808"), Some(Number::Decimal(_))));
    }

    #[test]
    fn the_fast_path_stops_where_it_cannot_be_sure() {
        assert_eq!(leading_whole(b"-17 3", 0), Some((-17, 3)));
        assert_eq!(leading_whole(b"12.5", 0), Some((12, 2)));
        assert_eq!(leading_whole(b"999999999999999999", 0), Some((999_999_999_999_999_999, 18)));
        for text in ["", "-", "x", "1000000000000000000"] {
            assert_eq!(leading_whole(text.as_bytes(), 0), None, "{text}");
        }
    }
}
