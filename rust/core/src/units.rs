//! Instants, spans, watts and joules as types, so that no `f64` is ever confused with another.
//!
//! All four are whole numbers. Time is counted in microseconds, power in picowatts; their product is counted in 10⁻¹⁸ J
//! and held in 128 bits. Sums of whole numbers do not depend on their order, which is why the energy balance of a run
//! is exact and why a run has the same bytes on every machine. `docs/background/energy.md` states the promise.

use std::iter::Sum;
use std::ops::{Add, AddAssign, Mul, Sub, SubAssign};

const MICROS_PER_SECOND: f64 = 1e6;
const PICOWATTS_PER_WATT: i128 = 1_000_000_000_000;
const PICOWATTS_PER_MICROWATT: i64 = 1_000_000;
const UNITS_PER_JOULE: i128 = 1_000_000_000_000_000_000;

/// An instant: whole microseconds on the trace's own clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct SimTime(i64);

/// A span of time: whole microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct SimDuration(i64);

/// A draw: whole picowatts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Watts(i128);

/// An energy: whole picowatt-microseconds, 10⁻¹⁸ J each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Joules(i128);

/// The largest number of seconds that is accepted, 30,000 years: sums of such spans stay far inside 64 bits.
pub const MAX_SECONDS: f64 = 1e12;

/// The largest draw of one node that is accepted, in watts.
pub const MAX_NODE_WATTS: f64 = 1e6;

/// The largest budget of a machine that is accepted, in watts.
pub const MAX_SYSTEM_WATTS: f64 = 1e15;

fn whole_micros(seconds: f64) -> Option<i64> {
    let micros = (seconds * MICROS_PER_SECOND).round();
    #[expect(clippy::cast_possible_truncation, reason = "the range check keeps it inside i64")]
    (seconds.abs() <= MAX_SECONDS).then_some(micros as i64)
}

/// A number of parts as a number of units: whole units stay exact, however many parts there are.
pub(crate) fn in_units(parts: i128, per_unit: i128) -> f64 {
    // Most numbers fit into 64 bits, where division costs a fraction.
    if let (Ok(parts), Ok(per_unit)) = (i64::try_from(parts), i64::try_from(per_unit)) {
        return (parts / per_unit) as f64 + (parts % per_unit) as f64 / per_unit as f64;
    }
    let whole = parts / per_unit;
    to_f64(whole) + to_f64(parts - whole * per_unit) / to_f64(per_unit)
}

/// The nearest number: the same as `as`, which is slow for 128 bits.
fn to_f64(whole: i128) -> f64 {
    i64::try_from(whole).map_or_else(|_| far_to_f64(whole), |whole| whole as f64)
}

// Apart and cold: joined, the compiler sees that both ways give the same and leaves the slow one.
#[cold]
#[inline(never)]
fn far_to_f64(whole: i128) -> f64 {
    whole as f64
}

/// The whole part: the same as `as`, which is slow for 128 bits.
#[expect(clippy::cast_possible_truncation, reason = "`as` saturates, and no machine draws that much")]
fn to_whole(number: f64) -> i128 {
    if number.abs() < 9e18 { i128::from(number as i64) } else { number as i128 }
}

impl SimTime {
    /// The latest instant a job may end: 30,000 years from the trace's zero.
    pub const LATEST: Self = Self(1_000_000_000_000_000_000);

    /// Later than every event.
    pub const NEVER: Self = Self(i64::MAX);

    /// The instant `seconds` after the trace's zero, to the nearest microsecond; `None` for NaN and beyond [`MAX_SECONDS`].
    #[must_use]
    pub fn from_seconds(seconds: f64) -> Option<Self> {
        whole_micros(seconds).map(Self)
    }

    /// The instant in whole microseconds.
    #[must_use]
    pub const fn from_micros(micros: i64) -> Self {
        Self(micros)
    }

    /// Whole microseconds.
    #[must_use]
    pub const fn micros(self) -> i64 {
        self.0
    }

    /// Seconds, for people and frames.
    #[must_use]
    pub fn seconds(self) -> f64 {
        self.0 as f64 / MICROS_PER_SECOND
    }

    /// The instant `span` later, or [`SimTime::NEVER`] where that would overflow.
    #[must_use]
    pub const fn saturating_add(self, span: SimDuration) -> Self {
        Self(self.0.saturating_add(span.0))
    }
}

/// The earliest of the instants that there may be.
///
/// ```
/// use hetsched_core::units::{SimTime, soonest};
///
/// let at = SimTime::from_micros;
/// assert_eq!(soonest([Some(at(5)), None, Some(at(3))]), Some(at(3)));
/// assert_eq!(soonest([None, None]), None);
/// ```
#[must_use]
#[inline]
pub fn soonest<const COUNT: usize>(times: [Option<SimTime>; COUNT]) -> Option<SimTime> {
    let mut earliest = SimTime::NEVER;
    for time in &times {
        earliest = earliest.min(time.unwrap_or(SimTime::NEVER));
    }
    (earliest < SimTime::NEVER).then_some(earliest)
}

impl SimDuration {
    /// Zero.
    pub const ZERO: Self = Self(0);

    /// Least span above zero. A job of length zero needs its nodes all the same: plans hold them for so long.
    pub const TICK: Self = Self(1);

    /// Longer than any run.
    pub const FOREVER: Self = Self(i64::MAX);

    /// A span of `seconds`, to the nearest microsecond; `None` for NaN and beyond [`MAX_SECONDS`].
    #[must_use]
    pub fn from_seconds(seconds: f64) -> Option<Self> {
        whole_micros(seconds).map(Self)
    }

    /// A span in whole microseconds.
    #[must_use]
    pub const fn from_micros(micros: i64) -> Self {
        Self(micros)
    }

    /// Whole microseconds.
    #[must_use]
    pub const fn micros(self) -> i64 {
        self.0
    }

    /// Seconds, for people and frames.
    #[must_use]
    pub fn seconds(self) -> f64 {
        self.0 as f64 / MICROS_PER_SECOND
    }

    /// This span stretched by `ratio` and rounded up to a whole microsecond: one `f64` product, as the rules demand.
    #[must_use]
    pub fn stretched(self, ratio: f64) -> Self {
        if ratio == 1.0 {
            return self;
        }
        #[expect(clippy::cast_possible_truncation, reason = "`as` saturates, and no run is that long")]
        Self((self.0 as f64 * ratio).ceil() as i64)
    }

    /// Sum of both spans; [`SimDuration::FOREVER`] if that would overflow.
    #[must_use]
    pub const fn saturating_add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl Watts {
    /// No draw.
    pub const ZERO: Self = Self(0);

    /// `watts` to the nearest picowatt; `None` for NaN, below zero and beyond [`MAX_NODE_WATTS`].
    #[must_use]
    pub fn from_watts(watts: f64) -> Option<Self> {
        let is_valid = (0.0..=MAX_NODE_WATTS).contains(&watts);
        is_valid.then(|| Self(to_whole((watts * PICOWATTS_PER_WATT as f64).round())))
    }

    /// Draw of a whole machine, to the nearest picowatt: not bounded like [`Watts::from_watts`].
    #[must_use]
    pub fn of_system(watts: f64) -> Self {
        Self(to_whole((watts * PICOWATTS_PER_WATT as f64).round()))
    }

    /// This draw in picowatts, if these fit into 64 bits: below 9.2 MW.
    #[must_use]
    pub fn picowatts(self) -> Option<i64> {
        i64::try_from(self.0).ok()
    }

    /// A draw in picowatts.
    #[must_use]
    pub fn of_picowatts(picowatts: i64) -> Self {
        Self(i128::from(picowatts))
    }

    /// Draw of `microwatts`.
    #[must_use]
    pub fn of_microwatts(microwatts: i64) -> Self {
        Self(i128::from(microwatts) * i128::from(PICOWATTS_PER_MICROWATT))
    }

    /// Whole microwatts, rounded up.
    #[must_use]
    pub fn microwatts_up(self) -> i64 {
        -Self(-self.0).microwatts_down()
    }

    /// Whole microwatts, rounded down.
    #[must_use]
    pub fn microwatts_down(self) -> i64 {
        if let Ok(picowatts) = i64::try_from(self.0) {
            return picowatts.div_euclid(PICOWATTS_PER_MICROWATT);
        }
        let beyond = if self.0 > 0 { i64::MAX } else { -i64::MAX };
        i64::try_from(self.0.div_euclid(i128::from(PICOWATTS_PER_MICROWATT))).unwrap_or(beyond)
    }

    /// Watts, for people and frames.
    #[must_use]
    pub fn watts(self) -> f64 {
        in_units(self.0, PICOWATTS_PER_WATT)
    }

    /// This draw times `ratio`, to the nearest picowatt.
    #[must_use]
    pub fn scaled(self, ratio: f64) -> Self {
        Self(to_whole((to_f64(self.0) * ratio).round()))
    }

    /// This draw, `count` times.
    #[must_use]
    pub fn times(self, count: u32) -> Self {
        Self(self.0 * i128::from(count))
    }

    /// This draw as a ceiling with a tolerance for rounding: a billionth higher.
    #[must_use]
    pub fn as_ceiling(self) -> Self {
        self.scaled(1.0 + 1e-9).max(self)
    }

    /// The share `part` of `whole` of this draw, rounded down to a picowatt.
    #[must_use]
    pub fn share(self, part: u32, whole: u32) -> Self {
        if part == whole {
            return self;
        }
        Self(self.0 * i128::from(part) / i128::from(whole))
    }
}

impl Joules {
    /// No energy.
    pub const ZERO: Self = Self(0);

    /// Energy of `joules`, to the nearest unit.
    #[must_use]
    pub fn from_joules(joules: f64) -> Self {
        #[expect(clippy::cast_possible_truncation, reason = "energies of a run are far below 1e20 J")]
        Self((joules * UNITS_PER_JOULE as f64).round() as i128)
    }

    /// Joules, for people and frames.
    #[must_use]
    pub fn joules(self) -> f64 {
        in_units(self.0, UNITS_PER_JOULE)
    }

    /// Time for which this energy lasts at a draw above zero, rounded up; zero if it is not above zero.
    #[must_use]
    pub fn lasts_at(self, draw: Watts) -> SimDuration {
        let whole = -(-self.0).div_euclid(draw.0);
        SimDuration(i64::try_from(whole.max(0)).unwrap_or(i64::MAX))
    }

    /// Sum of this energy and that of `draw` over `span`; `None` beyond 1.7·10²⁰ J.
    #[must_use]
    pub fn checked_add(self, draw: Watts, span: SimDuration) -> Option<Self> {
        // A product of two numbers of 64 bits fits, where a check of one of 128 bits costs several multiplications.
        let more = match draw.picowatts() {
            Some(draw) => i128::from(draw) * i128::from(span.0),
            None => draw.0.checked_mul(i128::from(span.0))?,
        };
        self.0.checked_add(more).map(Self)
    }

    /// `|self - other|` relative to the larger of the two; 0 when both are zero.
    #[must_use]
    pub fn relative_error(self, other: Self) -> f64 {
        let scale = self.0.abs().max(other.0.abs());
        if scale == 0 { 0.0 } else { (self.0 - other.0).abs() as f64 / scale as f64 }
    }
}

impl Sub for SimTime {
    type Output = SimDuration;
    fn sub(self, earlier: Self) -> SimDuration {
        SimDuration(self.0 - earlier.0)
    }
}

impl Add<SimDuration> for SimTime {
    type Output = Self;
    fn add(self, span: SimDuration) -> Self {
        Self(self.0 + span.0)
    }
}

impl Sub for SimDuration {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0 - other.0)
    }
}

impl Add for SimDuration {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

impl AddAssign for SimDuration {
    fn add_assign(&mut self, other: Self) {
        self.0 += other.0;
    }
}

impl Add for Watts {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

impl Sub for Watts {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0 - other.0)
    }
}

impl AddAssign for Watts {
    fn add_assign(&mut self, other: Self) {
        self.0 += other.0;
    }
}

impl SubAssign for Watts {
    fn sub_assign(&mut self, other: Self) {
        self.0 -= other.0;
    }
}

impl Sum for Watts {
    fn sum<I: Iterator<Item = Self>>(draws: I) -> Self {
        draws.fold(Self::ZERO, Add::add)
    }
}

impl Mul<SimDuration> for Watts {
    type Output = Joules;
    fn mul(self, span: SimDuration) -> Joules {
        Joules(self.0 * i128::from(span.0))
    }
}

impl Add for Joules {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

impl Sub for Joules {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0 - other.0)
    }
}

impl AddAssign for Joules {
    fn add_assign(&mut self, other: Self) {
        self.0 += other.0;
    }
}

impl Sum for Joules {
    fn sum<I: Iterator<Item = Self>>(parts: I) -> Self {
        parts.fold(Self::ZERO, Add::add)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn microwatts_round_to_the_side_that_is_asked_for() {
        let watts = Watts(1_500_000);
        assert_eq!((watts.microwatts_down(), watts.microwatts_up()), (1, 2));
        let negative = Watts(-1_500_000);
        assert_eq!((negative.microwatts_down(), negative.microwatts_up()), (-2, -1));
        assert_eq!((Watts(2_000_000).microwatts_down(), Watts(2_000_000).microwatts_up()), (2, 2));
    }

    #[test]
    fn a_watt_for_a_second_is_a_joule() {
        let energy = Watts::from_watts(1.0).unwrap() * SimDuration::from_seconds(1.0).unwrap();
        assert_eq!(energy.joules(), 1.0);
    }

    #[test]
    fn what_is_no_number_of_seconds_is_refused() {
        for seconds in [f64::NAN, f64::INFINITY, 1e300, -1e13] {
            assert_eq!(SimTime::from_seconds(seconds), None, "{seconds}");
        }
    }

    #[test]
    fn watts_are_finite_and_not_negative() {
        for watts in [f64::NAN, -1.0, f64::INFINITY, 1e7] {
            assert_eq!(Watts::from_watts(watts), None, "{watts}");
        }
    }

    #[test]
    fn a_stretched_run_is_rounded_up_once() {
        let runtime = SimDuration::from_micros(10);
        assert_eq!(runtime.stretched(1.0), runtime);
        assert_eq!(runtime.stretched(1.01).micros(), 11);
        assert_eq!(SimDuration::ZERO.stretched(3.0), SimDuration::ZERO);
    }
}
