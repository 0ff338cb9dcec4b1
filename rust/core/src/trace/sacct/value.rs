//! Values of one field, as sacct writes them: counts, spans, limits, memory, energy.

/// Words and numbers that stand for an unknown value.
const NOTHING: [&[u8]; 6] = [b"unknown", b"none", b"n/a", b"invalid", b"(null)", b""];
const NO_VALUES: [&[u8]; 4] = [b"4294967294", b"4294967295", b"18446744073709551614", b"18446744073709551615"];

/// The largest number of seconds that is accepted, 30,000 years.
pub(super) const MOST_SECONDS: f64 = 1e12;

/// True if a field holds no value.
#[inline]
pub(super) fn is_null(text: &[u8]) -> bool {
    match text {
        [] => true,
        [b' ' | b'\t', ..] | [.., b' ' | b'\t'] => is_nothing(text.trim_ascii()),
        [b'u' | b'U' | b'n' | b'N' | b'i' | b'I' | b'(' | b'4' | b'1', rest @ ..] => {
            matches!(rest.len(), 2 | 3 | 5 | 6 | 9 | 19) && is_nothing(text)
        }
        _ => false,
    }
}

fn is_nothing(text: &[u8]) -> bool {
    NOTHING.iter().any(|word| text.eq_ignore_ascii_case(word)) || NO_VALUES.contains(&text)
}

/// A text of digits only as a number, up to 18 of them.
#[inline]
pub(in crate::trace) fn whole(text: &[u8]) -> Option<i64> {
    if text.is_empty() || text.len() > 18 {
        return None;
    }
    let mut number = 0;
    for &byte in text {
        if !byte.is_ascii_digit() {
            return None;
        }
        number = number * 10 + i64::from(byte - b'0');
    }
    Some(number)
}

/// A number without a sign, decimals allowed.
pub(in crate::trace) fn decimal(text: &[u8]) -> Option<f64> {
    if let Some(number) = whole(text) {
        return Some(number as f64);
    }
    let is_plain = text.iter().all(|byte| byte.is_ascii_digit() || *byte == b'.') && text != b".";
    str::from_utf8(text).ok().filter(|_| is_plain).and_then(|text| text.parse().ok())
}

/// A number and the power of `base` that its suffix stands for, 0 without one.
fn scaled(text: &[u8], base: f64) -> Option<f64> {
    let (number, power) = unit(text)?;
    Some(decimal(number)? * base.powi(power.unwrap_or(0)))
}

fn unit(text: &[u8]) -> Option<(&[u8], Option<i32>)> {
    let (last, rest) = text.split_last()?;
    let power = match last.to_ascii_uppercase() {
        b'K' => 1,
        b'M' => 2,
        b'G' => 3,
        b'T' => 4,
        b'P' => 5,
        _ => return Some((text, None)),
    };
    Some((rest, Some(power)))
}

/// A count of nodes or processors, `2K` being 2048.
pub(super) fn count(text: &[u8]) -> Option<i64> {
    whole(text).or_else(|| {
        let number = scaled(text, 1024.0)?;
        #[expect(clippy::cast_possible_truncation, reason = "checked")]
        (number < 1e15 && number.fract() == 0.0).then_some(number as i64)
    })
}

/// Joules with a suffix of 1000.
pub(super) fn joules(text: &[u8]) -> Option<f64> {
    scaled(text, 1000.0).filter(|number| number.is_finite())
}

/// Megabytes with a suffix of 1024; plain numbers are megabytes.
pub(super) fn megabytes(text: &[u8]) -> Option<f64> {
    let (number, power) = unit(text)?;
    Some(decimal(number)? * 1024f64.powi(power.unwrap_or(2) - 2))
}

/// Unit that a job's memory is given for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Per {
    Job,
    Node,
    Cpu,
}

/// The memory of `ReqMem`, in megabytes.
pub(super) fn memory(text: &[u8]) -> Option<(f64, Per)> {
    let (last, rest) = text.split_last()?;
    match last {
        b'n' => Some((megabytes(rest)?, Per::Node)),
        b'c' => Some((megabytes(rest)?, Per::Cpu)),
        _ => Some((megabytes(text)?, Per::Job)),
    }
}

/// Seconds of `[D-]HH:MM:SS[.mmm]`.
pub(super) fn span(text: &[u8]) -> Option<f64> {
    let (days, clock) = match text.iter().position(|byte| *byte == b'-') {
        Some(at) => (whole(&text[..at])?, &text[at + 1..]),
        None => (0, text),
    };
    let (clock, fraction) = match clock.iter().position(|byte| *byte == b'.') {
        Some(at) => (&clock[..at], Some(&clock[at + 1..])),
        None => (clock, None),
    };
    let mut parts = clock.split(|byte| *byte == b':');
    let (hours, minutes, seconds) = (parts.next()?, parts.next()?, parts.next()?);
    if parts.next().is_some() || minutes.len() != 2 || seconds.len() != 2 {
        return None;
    }
    let (hours, minutes, seconds) = (whole(hours)?, whole(minutes)?, whole(seconds)?);
    if minutes > 59 || seconds > 59 {
        return None;
    }
    let whole_s = days as f64 * 86400.0 + (hours * 3600 + minutes * 60 + seconds) as f64;
    let fraction = match fraction {
        Some(digits) => whole(digits)? as f64 / 10f64.powi(i32::try_from(digits.len()).ok()?),
        None => 0.0,
    };
    Some(whole_s + fraction).filter(|seconds| *seconds <= MOST_SECONDS)
}

/// Words for an unlimited time.
const NO_LIMIT: [&[u8]; 4] = [b"unlimited", b"infinite", b"partition_limit", b"not_set"];

/// Seconds of a limit in Slurm's grammar, 0 for none.
pub(super) fn limit(text: &[u8]) -> Option<f64> {
    if text == b"-1" || NO_LIMIT.iter().any(|word| text.eq_ignore_ascii_case(word)) {
        return Some(0.0);
    }
    let (days, clock) = match text.iter().position(|byte| *byte == b'-') {
        Some(at) => (Some(whole(&text[..at])?), &text[at + 1..]),
        None => (None, text),
    };
    let mut numbers = [0; 3];
    let mut length = 0;
    for part in clock.split(|byte| *byte == b':') {
        *numbers.get_mut(length)? = whole(part)?;
        length += 1;
    }
    let [first, second, third] = numbers.map(|number| number as f64);
    let seconds = match (days, length) {
        (Some(days), _) => days as f64 * 86400.0 + first * 3600.0 + second * 60.0 + third,
        (None, 1) => first * 60.0,
        (None, 2) => first * 60.0 + second,
        (None, _) => first * 3600.0 + second * 60.0 + third,
    };
    Some(seconds).filter(|seconds| *seconds <= MOST_SECONDS)
}

/// Seconds of a limit in minutes, 0 for none.
pub(super) fn limit_minutes(text: &[u8]) -> Option<f64> {
    match whole(text) {
        Some(minutes) => Some(minutes as f64 * 60.0).filter(|seconds| *seconds <= MOST_SECONDS),
        None => limit(text).filter(|seconds| *seconds == 0.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_says_nothing_is_null() {
        for text in ["", "Unknown", "NONE", "n/a", "INVALID", "(null)", "4294967294", "18446744073709551615", "  "] {
            assert!(is_null(text.as_bytes()), "{text:?}");
        }
        for text in ["none assigned", "4294967293", "nobody", "0", "(nul"] {
            assert!(!is_null(text.as_bytes()), "{text:?}");
        }
    }

    #[test]
    fn limits_follow_slurms_grammar() {
        let cases = [
            ("5", 300.0),
            ("5:30", 330.0),
            ("1:05:30", 3930.0),
            ("2-1", 176_400.0),
            ("2-1:30", 178_200.0),
            ("2-00:00:01", 172_801.0),
            ("UNLIMITED", 0.0),
            ("Partition_Limit", 0.0),
            ("-1", 0.0),
        ];
        for (text, seconds) in cases {
            assert_eq!(limit(text.as_bytes()), Some(seconds), "{text}");
        }
        for text in ["", "1:2:3:4", "1-", "x", "1.5"] {
            assert_eq!(limit(text.as_bytes()), None, "{text}");
        }
        assert_eq!(
            (limit_minutes(b"90"), limit_minutes(b"UNLIMITED"), limit_minutes(b"1:00")),
            (Some(5400.0), Some(0.0), None)
        );
    }

    #[test]
    fn spans_are_days_and_a_clock() {
        assert_eq!(span(b"1-02:03:04"), Some(93_784.0));
        assert_eq!(span(b"00:00:01.250"), Some(1.25));
        assert_eq!(span(b"100:00:00"), Some(360_000.0));
        assert!(
            ["5", "00:60:00", "1:2:3", "-00:00:01", "00:00:00."].iter().all(|text| span(text.as_bytes()).is_none())
        );
    }

    #[test]
    fn memory_has_a_unit_and_a_share() {
        assert_eq!(memory(b"4000"), Some((4000.0, Per::Job)));
        assert_eq!(memory(b"1.5Gn"), Some((1536.0, Per::Node)));
        assert_eq!(memory(b"512Kc"), Some((0.5, Per::Cpu)));
        assert_eq!(memory(b"0n"), Some((0.0, Per::Node)));
        assert!([&b"n"[..], b"G", b"1X", b"", b"-1"].iter().all(|text| memory(text).is_none()));
    }

    #[test]
    fn counts_and_joules_have_suffixes() {
        assert_eq!(
            (count(b"2K"), count(b"12"), count(b"0.5K"), count(b"0.3")),
            (Some(2048), Some(12), Some(512), None)
        );
        assert_eq!((joules(b"1.5K"), joules(b"7")), (Some(1500.0), Some(7.0)));
    }
}
