//! Local stamps as instants: by a given zone, or by the records that show both.

use crate::trace::sacct::Zone;
use crate::trace::sacct::zone::{Clock, NoTime};

const QUARTER_S: f64 = 900.0;

/// The largest offset from UTC that is plausible, in seconds.
const MOST_OFFSET_S: f64 = 15.0 * 3600.0;

/// Added to local seconds while no offset is known; far beyond any instant, and exact to an eighth of a second.
const PENDING_S: f64 = 1e15;

/// Converter of stamps into instants.
pub(super) struct Stamps {
    zone: Option<Clock>,
    local: Clock,
    offset_s: Option<f64>,
    /// The first offset that became known; it holds for all stamps before.
    first_s: f64,
    last_s: f64,
    last_pending_s: f64,
}

/// A stamp: seconds since 1970 on the clock that wrote it, and the instant, which may still have to be settled.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stamp {
    local_s: f64,
    pub(super) instant_s: f64,
}

impl Stamps {
    pub(super) fn new(zone: Option<Zone>) -> Self {
        Self {
            zone: zone.map(Clock::new),
            local: Clock::new(Zone::utc()),
            offset_s: None,
            first_s: 0.0,
            last_s: f64::NEG_INFINITY,
            last_pending_s: f64::NEG_INFINITY,
        }
    }

    /// Reads a stamp.
    #[inline]
    pub(super) fn read(&mut self, text: &[u8; 19]) -> Result<Stamp, NoTime> {
        let local_s = self.local.read(text)?.first;
        let instant_s = match (&mut self.zone, self.offset_s) {
            (Some(clock), _) => clock.read(text)?.first,
            (None, Some(offset_s)) => local_s - offset_s,
            (None, None) => local_s + PENDING_S,
        };
        Ok(Stamp { local_s, instant_s })
    }

    /// Notes the instant at which a stamp was written, if that is known; returns the stamp with what is known now.
    #[inline]
    pub(super) fn show(&mut self, stamp: Stamp, at: Option<f64>) -> Stamp {
        let Some(at) = at.filter(|_| self.zone.is_none()) else { return stamp };
        let offset_s = ((stamp.local_s - at) / QUARTER_S).round() * QUARTER_S;
        if offset_s.abs() > MOST_OFFSET_S {
            return stamp;
        }
        if self.offset_s.is_none() {
            self.first_s = offset_s;
        }
        self.offset_s = Some(offset_s);
        Stamp { instant_s: stamp.local_s - offset_s, ..stamp }
    }

    /// An instant, as far as it is known now.
    #[inline]
    pub(super) fn settled(&self, instant_s: f64) -> f64 {
        if instant_s > PENDING_S / 2.0 { instant_s - PENDING_S - self.first_s } else { instant_s }
    }

    /// Notes that the log was still being written at the stamp.
    #[inline]
    pub(super) fn went_on(&mut self, stamp: Stamp) {
        let is_pending = stamp.instant_s > PENDING_S / 2.0;
        let last_s = if is_pending { &mut self.last_pending_s } else { &mut self.last_s };
        *last_s = last_s.max(stamp.instant_s);
    }

    /// The log's last instant.
    pub(super) fn last_s(&self) -> f64 {
        self.last_s.max(self.settled(self.last_pending_s))
    }
}
