//! Whole seconds of absolute time, and the beats of loops (rules 1, 3 and 4).

use std::sync::Arc;

use crate::units::SimTime;

const SECOND: i64 = 1_000_000;

/// Clock of the controller: the log's clock, moved to Unix time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    epoch: i64,
}

impl Clock {
    pub(super) fn new(epoch: i64) -> Self {
        Self { epoch }
    }

    /// Whole second of absolute time in which an instant lies.
    pub(super) fn second(self, at: SimTime) -> i64 {
        (at.micros().saturating_add(self.epoch)).div_euclid(SECOND)
    }

    /// First instant of a second.
    pub(super) fn instant(self, second: i64) -> SimTime {
        SimTime::from_micros(second.saturating_mul(SECOND).saturating_sub(self.epoch))
    }

    /// The first whole second at or after an instant.
    pub(super) fn next_whole(self, at: SimTime) -> SimTime {
        let second = self.second(at);
        if self.instant(second) == at { at } else { self.instant(second + 1) }
    }
}

/// The instant one microsecond later.
pub(super) fn just_after(at: SimTime) -> SimTime {
    SimTime::from_micros(at.micros().saturating_add(1))
}

/// Beats of a loop: listed ones, then periodic ones.
#[derive(Clone, Debug)]
pub(super) struct Beats {
    listed: Arc<[SimTime]>,
    first: i64,
    period: i64,
}

impl Beats {
    /// Periodic beats from `first` on, microseconds apart.
    pub(super) fn periodic(first: SimTime, period: i64) -> Self {
        Self { listed: Arc::default(), first: first.micros(), period: period.max(1) }
    }

    /// Listed beats alone; none if the list is empty.
    pub(super) fn listed(listed: &[SimTime]) -> Option<Self> {
        (!listed.is_empty()).then(|| Self::periodic(SimTime::NEVER, i64::MAX).unless_listed(listed))
    }

    /// Listed beats; after the last one, periodic ones follow. An empty list leaves these beats as they are.
    pub(super) fn unless_listed(self, listed: &[SimTime]) -> Self {
        let Some(last) = listed.last() else { return self };
        Self { first: last.micros().saturating_add(self.period), listed: listed.into(), ..self }
    }

    /// True if the beats are listed.
    pub(super) fn are_listed(&self) -> bool {
        !self.listed.is_empty()
    }

    /// First beat at or after an instant.
    pub(super) fn at_or_after(&self, at: SimTime) -> SimTime {
        if let Some(&beat) = self.listed.get(self.listed.partition_point(|beat| *beat < at)) {
            return beat;
        }
        let late = at.micros().saturating_sub(self.first);
        if late <= 0 {
            return SimTime::from_micros(self.first);
        }
        let count = late.div_euclid(self.period) + i64::from(late.rem_euclid(self.period) > 0);
        SimTime::from_micros(self.first.saturating_add(count.saturating_mul(self.period)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_are_those_of_absolute_time() {
        let clock = Clock::new(1_500_000);
        let seconds = [-1_500_001, -1_500_000, -1, 499_999, 500_000].map(|at| clock.second(SimTime::from_micros(at)));
        assert_eq!(seconds, [-1, 0, 1, 1, 2]);
        assert_eq!(clock.instant(2).micros(), 500_000);
        assert_eq!(clock.next_whole(SimTime::from_micros(0)).micros(), 500_000);
        assert_eq!(clock.next_whole(SimTime::from_micros(500_000)).micros(), 500_000);
    }

    #[test]
    fn listed_beats_are_followed_by_periodic_ones() {
        let at = SimTime::from_micros;
        let beats = Beats::periodic(at(5), 10).unless_listed(&[at(7), at(9)]);
        let found = [0, 7, 8, 10, 19, 20].map(|from| beats.at_or_after(at(from)).micros());
        assert_eq!(found, [7, 7, 9, 19, 19, 29]);
        assert_eq!(Beats::periodic(at(5), 10).at_or_after(at(16)).micros(), 25);
    }
}
