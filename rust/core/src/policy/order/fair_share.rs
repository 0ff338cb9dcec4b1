//! Fair share with a half-life: jobs of the group that has used least of the machine recently go first.
//!
//! Use by a group at t is ∫ units in use(s) × 2^(-(t - s) / half-life) ds over all s before t. All groups decay alike,
//! so the common factor 2^(-t / half-life) is left out: the order compares the integrals of units × 2^(s / half-life),
//! which do not change while nothing runs.

use std::collections::BTreeMap;
use std::f64::consts::LN_2;
use std::sync::Arc;

use crate::error::Result;
use crate::policy::analyzer::Ask;
use crate::policy::order::{Changes, Order, rank_of};
use crate::policy::recollection::{Recollection, bits, number};
use crate::policy::usage::Use;
use crate::units::{SimDuration, SimTime};
use crate::workload::JobId;

/// Jobs of the group that has used least first.
#[derive(Clone, Debug)]
pub struct FairShare {
    decay: Decay,
    /// Group of each job, by row; jobs beyond the end are of group 0.
    groups: Arc<[u32]>,
    /// Use by each group.
    ledger: Vec<Account>,
    /// Ranks of groups as last given to jobs that wait. They stay in use as long as no group overtakes another.
    ranked: BTreeMap<u32, i64>,
}

/// Decay of past use over time.
#[derive(Clone, Copy, Debug)]
struct Decay {
    /// Microseconds; none: no decay.
    half_life: Option<i64>,
}

/// Half-lives per epoch. Weights are relative to the start of an epoch, as no float holds 2^(s / half-life) for all s.
const EPOCH: i64 = 512;

/// Use by a group, past and present.
///
/// Consecutive stretches of equal use are merged, whichever runs end and start meanwhile: so groups with the same use
/// at all times have used exactly the same, bit by bit.
#[derive(Clone, Copy, Debug)]
struct Account {
    /// Weighted use until `since`, relative to `epoch`.
    used: f64,
    epoch: i64,
    /// Units from `since` until `at`.
    before: i64,
    since: SimTime,
    /// Units from `at` on.
    units: i64,
    at: SimTime,
}

impl Decay {
    fn epoch_length(half_life: i64) -> i64 {
        half_life.saturating_mul(EPOCH)
    }

    fn epoch(self, at: SimTime) -> i64 {
        self.half_life.map_or(0, |half_life| at.micros().div_euclid(Self::epoch_length(half_life)))
    }

    /// Weighs the use of `units` throughout a stretch, relative to the epoch of its end.
    fn weigh(self, units: i64, from: SimTime, to: SimTime) -> f64 {
        let (units, length) = (units as f64, (to - from).micros() as f64);
        let Some(half_life) = self.half_life else { return units * length };
        let place = (to.micros() - self.epoch(to) * Self::epoch_length(half_life)) as f64 / half_life as f64;
        let lasting = -(-LN_2 * length / half_life as f64).exp_m1();
        units * (half_life as f64 / LN_2) * lasting * place.exp2()
    }
}

/// Converts weighted use from one epoch to a later one.
fn in_epoch(weighed: f64, old: i64, new: i64) -> f64 {
    // Five epochs later even the largest float has become zero.
    let back = (new - old).clamp(0, 5);
    (0..back).fold(weighed, |weighed, _| weighed * 2_f64.powi(-512))
}

impl Default for Account {
    fn default() -> Self {
        let ever = SimTime::from_micros(i64::MIN);
        Self { used: 0.0, epoch: 0, before: 0, since: ever, units: 0, at: ever }
    }
}

/// Rounds a number that is not negative to nine digits: smaller differences are rounding errors.
fn told_apart(used: f64) -> f64 {
    const FINER: u64 = 1 << 20;
    f64::from_bits((used.to_bits() + FINER / 2) & !(FINER - 1))
}

impl Account {
    fn add(&mut self, decay: Decay, units: i64, from: SimTime, to: SimTime) {
        if units == 0 || to <= from {
            return;
        }
        let epoch = decay.epoch(to);
        self.used = in_epoch(self.used, self.epoch, epoch) + decay.weigh(units, from, to);
        self.epoch = epoch;
    }

    /// Changes the use by `units` from an instant on.
    fn change(&mut self, decay: Decay, at: SimTime, units: i64) {
        if at > self.at {
            if self.units != self.before {
                self.add(decay, self.before, self.since, self.at);
                (self.before, self.since) = (self.units, self.at);
            }
            self.at = at;
        }
        self.units += units;
    }

    /// Its numbers, after that of its group.
    fn row(&self, group: i64) -> [i64; 7] {
        let (since, at) = (self.since.micros(), self.at.micros());
        [group, bits(self.used), self.epoch, self.before, since, self.units, at]
    }

    fn of_row([_, used, epoch, before, since, units, at]: [i64; 7]) -> Self {
        let (since, at) = (SimTime::from_micros(since), SimTime::from_micros(at));
        Self { used: number(used), epoch, before, since, units, at }
    }

    /// Use until `now`, weighted relative to the epoch of that instant.
    fn until(mut self, decay: Decay, now: SimTime) -> f64 {
        self.change(decay, now, 0);
        self.add(decay, self.before, self.since, self.at);
        in_epoch(self.used, self.epoch, decay.epoch(now))
    }
}

impl FairShare {
    /// An order by use that counts half after `half_life`; if that is for ever, all use counts alike.
    #[must_use]
    pub fn new(half_life: SimDuration) -> Self {
        let half_life = Some(half_life.micros()).filter(|_| half_life != SimDuration::FOREVER);
        Self { decay: Decay { half_life }, groups: Arc::new([]), ledger: Vec::new(), ranked: BTreeMap::new() }
    }

    fn group_of(&self, job: JobId) -> u32 {
        self.groups.get(job.0 as usize).copied().unwrap_or(0)
    }

    /// Rank of a group at an instant.
    fn rank_of_group(&self, group: u32, now: SimTime) -> i64 {
        let account = self.ledger.get(group as usize).copied().unwrap_or_default();
        rank_of(told_apart(account.until(self.decay, now)))
    }

    /// Appends the ranks of some jobs, computing that of each group once.
    fn rank_by(&self, known: &mut BTreeMap<u32, i64>, now: SimTime, jobs: &[JobId], ranks: &mut Vec<i64>) {
        ranks.extend(jobs.iter().map(|&job| {
            let group = self.group_of(job);
            *known.entry(group).or_insert_with(|| self.rank_of_group(group, now))
        }));
    }

    /// True if the groups stand to each other at this instant as their ranks say, ties included.
    fn is_as_ranked(&self, now: SimTime) -> bool {
        let mut both: Vec<_> =
            self.ranked.iter().map(|(&group, &rank)| (rank, self.rank_of_group(group, now))).collect();
        both.sort_unstable();
        both.is_sorted_by(|one, next| one.0.cmp(&next.0) == one.1.cmp(&next.1))
    }
}

/// Name under which the use by groups is kept.
const USED: &str = "used";

impl Order for FairShare {
    fn rank(&mut self, ask: &Ask<'_>, jobs: &[JobId], ranks: &mut Vec<i64>) -> Result<()> {
        self.rank_by(&mut BTreeMap::new(), ask.view.now, jobs, ranks);
        Ok(())
    }

    fn rank_queued(&mut self, ask: &Ask<'_>, jobs: &[JobId], ranks: &mut Vec<i64>) -> Result<()> {
        let mut ranked = std::mem::take(&mut self.ranked);
        self.rank_by(&mut ranked, ask.view.now, jobs, ranks);
        self.ranked = ranked;
        Ok(())
    }

    fn holds(&mut self, ask: &Ask<'_>, joining: &[JobId]) -> bool {
        let is_known = joining.iter().all(|&job| self.ranked.contains_key(&self.group_of(job)));
        let holds = is_known && self.is_as_ranked(ask.view.now);
        if !holds {
            self.ranked.clear();
        }
        holds
    }

    fn changes(&self) -> Changes {
        Changes::EachPass
    }

    fn follows(&self) -> bool {
        true
    }

    /// A row a group that has used anything.
    fn remember(&self, kept: &mut Recollection) {
        let used = (0..).zip(&self.ledger).filter(|(_, own)| own.at != Account::default().at);
        kept.keep(USED, used.flat_map(|(group, own)| own.row(group)).collect());
    }

    /// Runs under way are reported once more.
    fn recall(&mut self, now: SimTime, kept: &Recollection) {
        for row in kept.rows(USED) {
            let Ok(group) = usize::try_from(row[0]) else { continue };
            if self.ledger.len() <= group {
                self.ledger.resize(group + 1, Account::default());
            }
            let mut own = Account::of_row(row);
            own.change(self.decay, now, -own.units);
            self.ledger[group] = own;
        }
    }

    fn group(&mut self, groups: &Arc<[u32]>) {
        self.groups = Arc::clone(groups);
    }

    fn follow(&mut self, uses: &[Use]) {
        for &Use { at, job, units } in uses {
            let group = self.group_of(job) as usize;
            if self.ledger.len() <= group {
                self.ledger.resize(group + 1, Account::default());
            }
            self.ledger[group].change(self.decay, at, units);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SECOND: i64 = 1_000_000;

    fn at(micros: i64) -> SimTime {
        SimTime::from_micros(micros)
    }

    /// Decay with a half-life in seconds; none: infinite.
    fn decay(half_life: Option<i64>) -> Decay {
        Decay { half_life: half_life.map(|seconds| seconds * SECOND) }
    }

    /// Use by changes of units, decayed at `now`: unit-seconds.
    fn used(half_life: Option<i64>, changes: &[(i64, i64)], now: i64) -> f64 {
        let (decay, mut account) = (decay(half_life), Account::default());
        for &(second, units) in changes {
            account.change(decay, at(second * SECOND), units);
        }
        let now = at(now * SECOND);
        let place =
            |half_life| (now.micros() - decay.epoch(now) * Decay::epoch_length(half_life)) as f64 / half_life as f64;
        account.until(decay, now) / SECOND as f64 / decay.half_life.map_or(1.0, |half_life| place(half_life).exp2())
    }

    #[test]
    fn what_was_used_is_halved_in_a_half_life() {
        // An hour on two nodes, all at once as seen from far off: by hand, 2 × h / ln 2 × (2^(-(t - b) / h) - 2^(-(t - a) / h)).
        let hour = [(0, 2), (3600, -2)];
        let by_hand = |h: f64, t: f64| 2.0 * h / LN_2 * ((-(t - 3600.0) / h).exp2() - (-t / h).exp2());
        for (half_life, now) in [(3600, 3600), (3600, 7200), (86_400, 100_000), (60, 3700)] {
            let expected = by_hand(f64::from(half_life), f64::from(now));
            let found = used(Some(i64::from(half_life)), &hour, i64::from(now));
            assert!((found / expected - 1.0).abs() < 1e-12, "{found}, by hand {expected}");
        }
        let near = |found: f64, expected: f64| assert!((found / expected - 1.0).abs() < 1e-12, "{found} {expected}");
        near(used(Some(3600), &hour, 7200), used(Some(3600), &hour, 3600) / 2.0);
        near(used(None, &hour, 1_000_000), 7200.0);
    }

    #[test]
    fn who_used_the_same_at_all_times_has_used_exactly_the_same() {
        for half_life in [None, Some(7), Some(604_800)] {
            let whole = used(half_life, &[(5, 3), (905, -3)], 2000);
            let parts = [(5, 1), (5, 2), (300, -1), (300, 1), (411, -2), (411, 2), (905, -2), (905, -1), (910, 0)];
            assert_eq!(whole.to_bits(), used(half_life, &parts, 2000).to_bits());
        }
    }

    #[test]
    fn roundings_make_no_difference() {
        // Two units until 1 s and one from 3 s to 4 s count the same with a half-life of 3 s: 2 x 2^(1/3) = 2^(4/3).
        for start in 0..50 {
            let both = [&[(start, 2), (start + 1, -2)], &[(start + 3, 1), (start + 4, -1)]];
            let [one, other] = both.map(|changes| told_apart(used(Some(3), changes, 60)));
            assert_eq!(one.to_bits(), other.to_bits());
        }
        assert_eq!(told_apart(0.0), 0.0);
        assert!(told_apart(1.0) < told_apart(1.0 + 1e-9));
    }

    #[test]
    fn no_time_is_too_long_for_a_short_half_life() {
        let long = used(Some(1), &[(0, 1), (1_000_000, -1), (2_000_000, 1)], 2_000_100);
        assert!((long * LN_2 - 1.0).abs() < 1e-9, "of one node for ever there are 1 / ln 2 half-lives: {long}");
        assert_eq!(used(Some(1), &[(0, 1), (10, -1)], 1_000_000), 0.0);
    }

    proptest! {
        /// Twin: the integral as a sum over whole seconds.
        #[test]
        fn an_account_is_the_integral_of_what_is_used(
            spans in prop::collection::vec((0..50_i64, 1..60_i64, 1..5_i64), 1..12),
            half_life in prop_oneof![Just(None), (1..200_i64).prop_map(Some)],
            later in 0..100_i64,
        ) {
            let mut changes: Vec<_> =
                spans.iter().flat_map(|&(from, length, units)| [(from, units), (from + length, -units)]).collect();
            changes.sort_unstable();
            let now = 110 + later;
            let second = |s: i64| -> f64 {
                let units: i64 = spans.iter().filter(|(from, length, _)| (*from..from + length).contains(&s)).map(|span| span.2).sum();
                let weight = half_life.map_or(1.0, |h| {
                    let h = h as f64;
                    h / LN_2 * ((-((now - s - 1) as f64) / h).exp2() - (-((now - s) as f64) / h).exp2())
                });
                units as f64 * weight
            };
            let expected: f64 = (0..110).map(second).sum();
            let found = used(half_life, &changes, now);
            prop_assert!((found - expected).abs() <= 1e-9 * expected, "{} {}", found, expected);
        }
    }
}
