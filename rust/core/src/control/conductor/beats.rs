//! Beats: periodic instants while a job runs, at multiples of the intervals of allocator and monitor.

use crate::policy::Stages;
use crate::units::{SimDuration, SimTime};

/// Intervals of the allocator and the monitor.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Beats {
    /// Interval of the allocator; zero: it looks at every pass.
    allot: SimDuration,
    /// Interval of the monitor; zero: it looks after every instant; `None`: never.
    monitor: Option<SimDuration>,
}

impl Beats {
    pub(super) fn of(Stages { allot, monitor, .. }: Stages) -> Self {
        Self { allot: allot.unwrap_or_default(), monitor }
    }

    /// The next multiple after `now`.
    pub(super) fn next_after(self, now: SimTime) -> Option<SimTime> {
        [Some(self.allot), self.monitor].into_iter().flatten().filter_map(|every| multiple_after(now, every)).min()
    }

    /// True if the allocator's interval makes a pass at this instant.
    pub(super) fn allots_at(self, now: SimTime) -> bool {
        is_multiple(now, self.allot)
    }

    /// True if the monitor looks at the end of this instant.
    pub(super) fn looks_at(self, now: SimTime) -> bool {
        self.monitor.is_some_and(|every| every == SimDuration::ZERO || is_multiple(now, every))
    }

    /// True if the monitor ever looks.
    pub(super) fn monitors(self) -> bool {
        self.monitor.is_some()
    }
}

fn is_multiple(now: SimTime, every: SimDuration) -> bool {
    every > SimDuration::ZERO && now.micros().rem_euclid(every.micros()) == 0
}

fn multiple_after(now: SimTime, every: SimDuration) -> Option<SimTime> {
    if every <= SimDuration::ZERO {
        return None;
    }
    let past = now.micros().rem_euclid(every.micros());
    Some(SimTime::from_micros(now.micros() - past).saturating_add(every))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn multiples_are_counted_from_the_zero_of_the_clock() {
        let (at, every) = (SimTime::from_micros, SimDuration::from_micros(10));
        let beats = Beats { allot: every, monitor: Some(SimDuration::from_micros(4)) };
        assert_eq!([-3, 0, 8, 9].map(|now| beats.next_after(at(now)).map(SimTime::micros)), [0, 4, 10, 10].map(Some));
        assert!(
            beats.allots_at(at(-10)) && !beats.allots_at(at(4)) && beats.looks_at(at(4)) && !beats.looks_at(at(10))
        );
        let none = Beats { allot: SimDuration::ZERO, monitor: Some(SimDuration::ZERO) };
        assert!(none.next_after(at(3)).is_none() && none.looks_at(at(3)) && !none.allots_at(at(0)));
    }
}
