//! Base of every plan on heterogeneous nodes: releases over time, by cell.
//!
//! Like [`base`](super::base) it is kept from pass to pass and follows the list of releases.

use std::collections::BTreeMap;

use crate::algo::horizon::{CellProfile, NodesByCell};
use crate::algo::releases::{Change, Release, ReleasedBy};
use crate::algo::sorted_blocks::Keyed;
use crate::cluster::shares::Shares;
use crate::policy::View;
use crate::units::SimTime;

/// Capacity given back up to each instant, by cell and licence, and in watts if they count.
#[derive(Clone, Debug, Default)]
pub(in crate::policy) struct CellBase {
    back: CellProfile,
    /// Parts to be released, by planned end and source.
    splits: BTreeMap<(SimTime, ReleasedBy), NodesByCell>,
    /// Instant of the last call, and the number of changes of the releases followed by then.
    seen: Option<(SimTime, u64)>,
}

impl CellBase {
    /// Returns the base as of now. If `width` exceeds the number of cells and licences, the last column holds
    /// microwatts.
    fn of(&mut self, view: &View<'_>, shares: &Shares, width: usize) -> &CellProfile {
        let seen = self.seen.filter(|&(then, _)| then <= view.now && self.back.width() == width);
        let (news, all) = view.releases.changes(seen.map_or(u64::MAX, |(_, seen)| seen));
        if let Some(news) = news.filter(|news| news.len() <= view.releases.len()) {
            self.back.advance(view.now);
            for change in news {
                match change {
                    Change::Came(release) => self.come(shares, release),
                    Change::Went(release) => self.go(release),
                }
            }
        } else {
            self.back.reset(view.now, width);
            self.splits.clear();
            view.releases.iter().for_each(|release| self.come(shares, release));
        }
        self.seen = Some((view.now, all));
        &self.back
    }

    /// Writes what is free over time into `profile`, if `free` is free now besides overdue runs, which count as over.
    pub(in crate::policy) fn copy(
        &mut self,
        view: &View<'_>,
        shares: &Shares,
        free: &[i64],
        profile: &mut CellProfile,
    ) {
        profile.copy(self.of(view, shares, free.len()), free);
        let mut overdue = vec![0; free.len()];
        self.add_overdue(view, &mut overdue);
        profile.lift(&overdue);
    }

    /// Adds the parts of overdue runs to what is free.
    fn add_overdue(&self, view: &View<'_>, free: &mut [i64]) {
        for release in view.releases.iter().take_while(|release| release.at <= view.now) {
            for &(thing, amount) in self.splits.get(&release.key()).into_iter().flatten() {
                free[usize::from(thing)] += amount;
            }
        }
    }

    fn come(&mut self, shares: &Shares, release: &Release) {
        // The split of a run that has ended by now is no longer known: its removal follows later in the list.
        let Some(mut split) = shares.of_release(release) else { return };
        let cells = shares.cells().width();
        if self.back.width() > cells {
            split.push((u16::try_from(cells).unwrap_or(u16::MAX), release.claim.microwatts));
        }
        self.back.add_from(release.at, &split, 1);
        self.splits.insert(release.key(), split);
    }

    fn go(&mut self, release: &Release) {
        if let Some(split) = self.splits.remove(&release.key()) {
            self.back.add_from(release.at, &split, -1);
        }
    }
}
