//! Budgets of limited duration: a series of rows, each known from some instant on.
//!
//! Of the rows that hold at an instant, the one that began last is in force, and of several that began at one instant,
//! the later row. Where none holds, the policy's own budget is in force (operations page, rule 9).

use std::collections::BTreeSet;

use crate::units::{SimDuration, SimTime, Watts};

/// A budget with the interval in which it holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BudgetRow {
    /// Instant from which on the budget holds.
    pub from: SimTime,
    /// End of the budget; [`SimTime::NEVER`]: it holds for good.
    pub until: SimTime,
    /// Instant from which on a policy knows the budget; not after `from`.
    pub announced: SimTime,
    /// Limit on the draw of the machine.
    pub watts: Watts,
}

/// All rows there are, known or not.
#[derive(Clone, Debug, Default)]
pub struct Budgets {
    rows: Vec<BudgetRow>,
    steps: Steps,
    /// For each step, whether the policy's own budget is ever in force from it on, and the highest row from it on.
    highest: Vec<(bool, Option<Watts>)>,
    /// Instants at which rows become known, ascending.
    announced: Vec<SimTime>,
    /// True if more rows like these follow: watts that the budgets leave at times will be left again.
    go_on: bool,
}

/// Budget in force from each instant on; none is the policy's own budget.
type Steps = Vec<(SimTime, Option<Watts>)>;

/// Times for which something fits between budgets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stretches {
    /// The longest stretch that begins before the last change of the budget.
    pub longest: SimDuration,
    /// True if it fits from the last change to the end of the run.
    pub is_free_at_last: bool,
}

/// Horizon within which a policy knows the budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Foresight {
    /// A fixed time ahead.
    For(SimDuration),
    /// No limit.
    All,
}

impl Default for Foresight {
    fn default() -> Self {
        Self::For(SimDuration::ZERO)
    }
}

impl Budgets {
    /// Series of these rows, in the order in which they were given.
    #[must_use]
    pub fn new(rows: Vec<BudgetRow>) -> Self {
        let mut budgets = Self { rows, ..Self::default() };
        budgets.arrange();
        budgets
    }

    /// Adds rows, which come after the present ones.
    pub fn extend(&mut self, rows: impl IntoIterator<Item = BudgetRow>) {
        self.rows.extend(rows);
        self.arrange();
    }

    /// States that more rows like these follow beyond the last.
    pub fn go_on(&mut self) {
        self.go_on = true;
    }

    /// True if more rows like these follow beyond the last.
    #[must_use]
    pub fn have_no_end(&self) -> bool {
        self.go_on
    }

    /// True if there is no row.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The rows.
    #[must_use]
    pub fn rows(&self) -> &[BudgetRow] {
        &self.rows
    }

    /// Budget in force at `at`, where the policy's own budget is `own`; none: there is no budget.
    #[must_use]
    pub fn in_force(&self, at: SimTime, own: Option<Watts>) -> Option<Watts> {
        row_at(&self.steps, at).or(own)
    }

    /// Highest budget in force at any time from `now` on, where the policy's own budget is `own`.
    #[must_use]
    pub fn highest_from(&self, now: SimTime, own: Watts) -> Watts {
        let Some(&(has_own, most)) = self.highest.get(step_at(&self.steps, now).unwrap_or(0)) else { return own };
        let own = (has_own || step_at(&self.steps, now).is_none()).then_some(own);
        own.max(most).unwrap_or_default()
    }

    /// Stretches from `now` on in which watts stay free, where `leaves` is true of a budget that leaves them free.
    ///
    /// `own` is the policy's own budget; rows count whether they are known or not. The search ends at a stretch of
    /// `enough`.
    #[must_use]
    pub fn stretches(
        &self,
        now: SimTime,
        own: Watts,
        enough: SimDuration,
        leaves: impl Fn(Watts) -> bool,
    ) -> Stretches {
        let mut found = Stretches { longest: SimDuration::ZERO, is_free_at_last: true };
        let ahead = &self.steps[self.steps.partition_point(|&(from, _)| from <= now)..];
        let mut since = self.in_force(now, Some(own)).is_some_and(&leaves).then_some(now);
        for &(at, budget) in ahead {
            if let Some(begun) = since {
                found.longest = found.longest.max(at - begun);
                if found.longest >= enough {
                    return found;
                }
            }
            since = leaves(budget.unwrap_or(own)).then(|| since.unwrap_or(at));
        }
        let last = ahead.last().map_or(now, |step| step.0);
        found.is_free_at_last = since.is_some();
        // A stretch that begins before the last change, and lasts to the end.
        if since.is_some_and(|begun| begun < last || ahead.is_empty()) {
            found.longest = SimDuration::FOREVER;
        }
        found
    }

    /// Lowest budget that is ever in force, where the policy's own budget is `own`.
    #[must_use]
    pub fn lowest(&self, own: Watts) -> Watts {
        self.rows.iter().map(|row| row.watts).chain([own]).min().unwrap_or(own)
    }

    /// Number of rows known at `now`: what these say changes only when there are more.
    #[must_use]
    pub fn known_by(&self, now: SimTime) -> usize {
        self.announced.partition_point(|&from| from <= now)
    }

    /// Budget in force from each instant on by the rows that are known at `now`, where the policy's own budget is `own`.
    #[must_use]
    pub fn known_steps(&self, now: SimTime, own: Watts) -> Vec<(SimTime, Watts)> {
        let steps = steps_of(self.rows.iter().filter(|row| row.announced <= now));
        steps.into_iter().map(|(at, budget)| (at, budget.unwrap_or(own))).collect()
    }

    fn arrange(&mut self) {
        self.steps = steps_of(self.rows.iter());
        let (mut own, mut most) = (false, None);
        let backwards = self.steps.iter().rev().map(|&(_, watts)| {
            own |= watts.is_none();
            most = most.max(watts);
            (own, most)
        });
        self.highest = backwards.collect();
        self.highest.reverse();
        self.announced = self.rows.iter().map(|row| row.announced).collect();
        self.announced.sort_unstable();
    }
}

impl Foresight {
    /// The last instant of which a policy knows the budget at `now`.
    #[must_use]
    pub fn until(self, now: SimTime) -> SimTime {
        match self {
            Self::For(span) => now.saturating_add(span),
            Self::All => SimTime::NEVER,
        }
    }
}

/// Budget in force by these rows, step by step; neighbouring steps differ.
fn steps_of<'a>(rows: impl Iterator<Item = &'a BudgetRow>) -> Steps {
    let mut rows: Vec<_> = rows.filter(|row| row.from < row.until).collect();
    rows.sort_by_key(|row| row.from);
    let instants: BTreeSet<_> = rows.iter().flat_map(|row| [row.from, row.until]).collect();
    // The rows that have begun, the last on top; those that are over are dropped once they come to the top.
    let (mut begun, mut next, mut steps): (Vec<&BudgetRow>, _, Steps) =
        (Vec::new(), rows.iter().peekable(), Vec::new());
    for at in instants.into_iter().filter(|&at| at != SimTime::NEVER) {
        while let Some(row) = next.next_if(|row| row.from <= at) {
            begun.push(row);
        }
        while begun.last().is_some_and(|row| row.until <= at) {
            begun.pop();
        }
        let watts = begun.last().map(|row| row.watts);
        if steps.last().is_none_or(|last| last.1 != watts) {
            steps.push((at, watts));
        }
    }
    steps
}

fn step_at(steps: &[(SimTime, Option<Watts>)], at: SimTime) -> Option<usize> {
    steps.partition_point(|&(from, _)| from <= at).checked_sub(1)
}

fn row_at(steps: &[(SimTime, Option<Watts>)], at: SimTime) -> Option<Watts> {
    steps[step_at(steps, at)?].1
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn at(micros: i64) -> SimTime {
        SimTime::from_micros(micros)
    }

    /// The rule in so many words.
    fn by_definition(rows: &[BudgetRow], known_at: SimTime, when: SimTime) -> Option<Watts> {
        let holds = |row: &&BudgetRow| row.announced <= known_at && row.from <= when && when < row.until;
        rows.iter()
            .filter(holds)
            .fold(
                None,
                |best: Option<&BudgetRow>, row| {
                    if best.is_some_and(|best| best.from > row.from) { best } else { Some(row) }
                },
            )
            .map(|row| row.watts)
    }

    proptest! {
        #[test]
        fn a_stretch_is_as_long_as_what_is_in_force_stays_high_enough(
            given in prop::collection::vec((0..20_i64, 1..15_i64, 1..5_i64), 0..6),
            now in 0..25_i64,
            need in 1..5_i64,
        ) {
            let watts = |n: i64| Watts::of_system(n as f64);
            let row = |&(from, length, w): &(i64, i64, i64)| BudgetRow {
                from: at(from),
                until: at(from + length),
                announced: at(from),
                watts: watts(w),
            };
            let rows: Vec<_> = given.iter().map(row).collect();
            let budgets = Budgets::new(rows.clone());
            let own = watts(3);
            let is_left = |when: i64| by_definition(&rows, SimTime::NEVER, at(when)).unwrap_or(own) >= watts(need);
            // The last instant at which what rows say changes, be it to the same watts.
            let said = |when: i64| by_definition(&rows, SimTime::NEVER, at(when));
            let last = (now + 1..60).rev().find(|&when| said(when) != said(when - 1)).unwrap_or(now);
            let lengths = (now..60).filter(|&begin| begin < last || last == now).map(|begin| {
                (begin..1000).find(|&when| !is_left(when)).unwrap_or(1000) - begin
            });
            let longest = lengths.max().unwrap_or(0);
            let found = budgets.stretches(at(now), own, SimDuration::FOREVER, |budget| budget >= watts(need));
            prop_assert_eq!(found.is_free_at_last, is_left(999));
            if longest > 900 {
                prop_assert_eq!(found.longest, SimDuration::FOREVER);
            } else {
                prop_assert_eq!(found.longest, SimDuration::from_micros(longest));
            }
        }

        #[test]
        fn the_row_that_began_last_is_in_force_and_the_future_is_what_is_known_of_it(
            given in prop::collection::vec((0..20_i64, 1..15_i64, 0..8_i64, 1..5_i64, any::<bool>()), 0..8),
            now in 0..25_i64,
            foresight in 0..20_i64,
            own in 1..5_i64,
        ) {
            let row = |&(from, length, ahead, watts, for_good): &(i64, i64, i64, i64, bool)| BudgetRow {
                from: at(from),
                until: if for_good { SimTime::NEVER } else { at(from + length) },
                announced: at(from - ahead),
                watts: Watts::of_system(watts as f64),
            };
            let rows: Vec<_> = given.iter().map(row).collect();
            let (first, last) = rows.split_at(rows.len() / 2);
            let mut budgets = Budgets::new(first.to_vec());
            budgets.extend(last.iter().copied());
            let own = Watts::of_system(own as f64);
            let mut highest = Watts::ZERO;
            for when in now..60 {
                let here = by_definition(&rows, SimTime::NEVER, at(when));
                prop_assert_eq!(budgets.in_force(at(when), None), here);
                prop_assert_eq!(budgets.in_force(at(when), Some(own)), Some(here.unwrap_or(own)));
                highest = highest.max(here.unwrap_or(own));
            }
            prop_assert_eq!(budgets.highest_from(at(now), own), highest);
            for (span, ahead) in [(foresight, Foresight::For(SimDuration::from_micros(foresight))), (99, Foresight::All)] {
                let known = budgets.known_steps(at(now), own);
                let steps: Vec<_> = known.iter().filter(|step| step.0 <= ahead.until(at(now))).collect();
                for when in now..60 {
                    let seen = steps.iter().rev().find(|step| step.0 <= at(when)).map(|step| step.1);
                    let expected = by_definition(&rows, at(now), at(when.min(now + span)));
                    prop_assert_eq!(seen.unwrap_or(own), expected.unwrap_or(own));
                }
            }
        }
    }
}
