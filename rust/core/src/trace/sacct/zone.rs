//! Instants of a dump: local times of one zone, times with an offset, or seconds since 1970.

use super::value::whole;

const DAY_S: i64 = 86_400;

/// A time zone: its offsets and the instants from which they hold, in seconds east of Greenwich and since 1970.
#[derive(Clone, Debug)]
pub struct Zone {
    since: Vec<i64>,
    offset: Vec<i64>,
}

/// Readings of a field as an instant: one, two where the clocks went back, or none (NaN).
#[derive(Clone, Copy, Debug)]
pub(in crate::trace) struct Instant {
    pub(in crate::trace) first: f64,
    pub(in crate::trace) second: f64,
}

impl Instant {
    pub(in crate::trace) const NONE: Self = Self { first: f64::NAN, second: f64::NAN };

    pub(in crate::trace) fn at(seconds: f64) -> Self {
        Self { first: seconds, second: f64::NAN }
    }

    #[inline]
    pub(in crate::trace) fn is_twofold(self) -> bool {
        !self.second.is_nan()
    }

    /// The instants in order; NaN for none.
    pub(in crate::trace) fn candidates(self) -> impl Iterator<Item = f64> + Clone {
        [Some(self.first), self.is_twofold().then_some(self.second)].into_iter().flatten()
    }
}

impl Zone {
    /// Zone with these offsets: the first holds before `since[0]`, the next from there on, and so on.
    ///
    /// # Panics
    ///
    /// If there is not exactly one offset more than there are instants.
    #[must_use]
    pub fn new(since: Vec<i64>, offset: Vec<i64>) -> Self {
        assert_eq!(since.len() + 1, offset.len(), "an offset before the first change and one after each");
        Self { since, offset }
    }

    /// Universal time.
    #[must_use]
    pub fn utc() -> Self {
        Self::new(Vec::new(), vec![0])
    }

    /// The instants at which clocks show `local` seconds; None if they never do.
    fn instant(&self, local: i64) -> Option<Instant> {
        let near = self.since.partition_point(|since| *since <= local);
        let mut found = Instant::NONE;
        for piece in near.saturating_sub(1)..=(near + 1).min(self.since.len()) {
            let instant = local - self.offset[piece];
            let begins = piece == 0 || self.since[piece - 1] <= instant;
            if begins && self.since.get(piece).is_none_or(|until| instant < *until) {
                if found.first.is_nan() {
                    found.first = instant as f64;
                } else {
                    found.second = instant as f64;
                }
            }
        }
        if found.second < found.first {
            (found.first, found.second) = (found.second, found.first);
        }
        (!found.first.is_nan()).then_some(found)
    }
}

/// Reason why a field is not an instant.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::trace) enum NoTime {
    /// It is in no known notation.
    Unread,
    /// It does not exist in the zone: clocks went forward over it.
    Skipped,
}

/// Reads the times of one dump; remembers the last day and its offset.
#[derive(Clone, Debug)]
pub(in crate::trace) struct Clock {
    zone: Zone,
    day: [u8; 10],
    /// Local seconds of that day's midnight.
    midnight: i64,
    /// The offset, where one holds from a day before that midnight to two days after it.
    steady: Option<i64>,
}

impl Clock {
    pub(in crate::trace) fn new(zone: Zone) -> Self {
        Self { zone, day: [0; 10], midnight: 0, steady: None }
    }

    /// Reads a field as an instant.
    #[inline]
    pub(in crate::trace) fn read(&mut self, text: &[u8]) -> Result<Instant, NoTime> {
        let Some((stamp, rest)) = text.split_at_checked(19) else { return seconds(text) };
        if stamp[4] != b'-' {
            return seconds(text);
        }
        let day: &[u8; 10] = stamp[..10].first_chunk().expect("ten of nineteen");
        if *day != self.day {
            self.turn_to(day)?;
        }
        let local = self.midnight + clock(&stamp[10..]).ok_or(NoTime::Unread)?;
        if !rest.is_empty() {
            return Ok(Instant::at((local - offset(rest).ok_or(NoTime::Unread)?) as f64));
        }
        match self.steady {
            Some(offset) => Ok(Instant::at((local - offset) as f64)),
            None => self.zone.instant(local).ok_or(NoTime::Skipped),
        }
    }

    fn turn_to(&mut self, day: &[u8; 10]) -> Result<(), NoTime> {
        self.midnight = days_since_1970(day).ok_or(NoTime::Unread)? * DAY_S;
        self.day = *day;
        let (before, after) = (self.midnight - DAY_S, self.midnight + 2 * DAY_S);
        let piece = self.zone.since.partition_point(|since| *since <= before);
        let is_steady = self.zone.since.get(piece).is_none_or(|change| *change > after);
        self.steady = is_steady.then(|| self.zone.offset[piece]);
        Ok(())
    }
}

fn seconds(text: &[u8]) -> Result<Instant, NoTime> {
    whole(text)
        .filter(|seconds| *seconds <= 1_000_000_000_000)
        .map(|seconds| Instant::at(seconds as f64))
        .ok_or(NoTime::Unread)
}

/// Seconds of `T12:34:56`.
#[inline]
fn clock(text: &[u8]) -> Option<i64> {
    if !matches!(text[0], b'T' | b' ') || text[3] != b':' || text[6] != b':' {
        return None;
    }
    let (hours, minutes, seconds) = (two(&text[1..3])?, two(&text[4..6])?, two(&text[7..9])?);
    (hours < 24 && minutes < 60 && seconds < 60).then_some(hours * 3600 + minutes * 60 + seconds)
}

#[inline]
fn two(text: &[u8]) -> Option<i64> {
    let (tens, ones) = (text[0].wrapping_sub(b'0'), text[1].wrapping_sub(b'0'));
    (tens < 10 && ones < 10).then_some(i64::from(tens) * 10 + i64::from(ones))
}

/// Seconds east of Greenwich of `Z`, `+0200` or `+02:00`.
fn offset(text: &[u8]) -> Option<i64> {
    let (sign, digits) = text.split_first()?;
    let sign = match sign {
        b'Z' | b'z' => return digits.is_empty().then_some(0),
        b'+' => 1,
        b'-' => -1,
        _ => return None,
    };
    let (hours, minutes) = match digits.len() {
        4 => (two(&digits[..2])?, two(&digits[2..])?),
        5 if digits[2] == b':' => (two(&digits[..2])?, two(&digits[3..])?),
        _ => return None,
    };
    (hours < 24 && minutes < 60).then_some(sign * (hours * 3600 + minutes * 60))
}

/// Days from 1970-01-01 to a date such as `2024-05-01`, by the Gregorian calendar.
fn days_since_1970(day: &[u8; 10]) -> Option<i64> {
    if day[7] != b'-' {
        return None;
    }
    let (year, month, date) = (whole(&day[..4])?, two(&day[5..7])?, two(&day[8..])?);
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let length = match month {
        2 => 28 + i64::from(is_leap),
        4 | 6 | 9 | 11 => 30,
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        _ => return None,
    };
    if year < 1970 || date < 1 || date > length {
        return None;
    }
    // Years that begin in March end with the leap day.
    let year = year - i64::from(month <= 2);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + date - 1;
    Some(year * 365 + year / 4 - year / 100 + year / 400 + day_of_year - 719_468)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Clocks an hour ahead between two instants.
    fn summer() -> Clock {
        Clock::new(Zone::new(vec![1_711_846_800, 1_729_990_800], vec![3600, 7200, 3600]))
    }

    fn instants(clock: &mut Clock, text: &str) -> Result<Vec<f64>, NoTime> {
        clock.read(text.as_bytes()).map(|instant| instant.candidates().collect())
    }

    #[test]
    fn local_times_are_of_the_zone() {
        let clock = &mut summer();
        assert_eq!(instants(clock, "2024-01-15T12:00:00"), Ok(vec![1_705_316_400.0]));
        assert_eq!(instants(clock, "2024-07-15 12:00:00"), Ok(vec![1_721_037_600.0]));
        assert_eq!(instants(clock, "2024-03-31T01:59:59"), Ok(vec![1_711_846_799.0]));
        assert_eq!(instants(clock, "2024-03-31T03:00:00"), Ok(vec![1_711_846_800.0]));
    }

    #[test]
    fn clocks_go_back_and_forth() {
        let clock = &mut summer();
        assert_eq!(instants(clock, "2024-03-31T02:30:00"), Err(NoTime::Skipped));
        assert_eq!(instants(clock, "2024-10-27T02:30:00"), Ok(vec![1_729_989_000.0, 1_729_992_600.0]));
    }

    #[test]
    fn a_time_may_say_its_offset_or_be_seconds() {
        let clock = &mut summer();
        for text in ["2024-05-01T12:00:00Z", "2024-05-01T14:00:00+02:00", "2024-05-01T07:00:00-0500", "1714564800"] {
            assert_eq!(instants(clock, text), Ok(vec![1_714_564_800.0]), "{text}");
        }
    }

    #[test]
    fn others_are_no_times() {
        for text in
            ["", "now", "2024-02-30T00:00:00", "2024-05-01", "2024-05-01T24:00:00", "2024-05-01T12:00:00+2", "12:00"]
        {
            assert_eq!(instants(&mut summer(), text), Err(NoTime::Unread), "{text}");
        }
    }

    #[test]
    fn days_count_leap_years() {
        for (day, days) in
            [(b"1970-01-01", 0), (b"2000-02-29", 11_016), (b"2024-12-31", 20_088), (b"2100-03-01", 47_541)]
        {
            assert_eq!(days_since_1970(day), Some(days));
        }
    }
}
