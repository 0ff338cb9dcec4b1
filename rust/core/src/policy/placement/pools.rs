//! Three pools of nodes by efficiency: a better pool is emptied first, and nodes within a pool are drawn at random.
//!
//! Hierarchy pool (Li et al., IPSJ SIG Notes 2018-HPC-166, section 4): pool 1 holds the best share `U_L` of the nodes, where
//! `U_L` is the lowest utilization the machine has; pool 2 the next `U_H` − `U_L` up to its highest; pool 3 the rest, which is
//! meant to be left alone.

use crate::algo::node_set::NodeSet;
use crate::error::Result;
use crate::policy::View;
use crate::policy::analyzer::Ask;
use crate::policy::placement::random::{DRAWN, Lots};
use crate::policy::placement::rank_by::RankBy;
use crate::policy::placement::{Choice, Placement};
use crate::policy::recollection::Recollection;
use crate::workload::JobId;

/// Shares of the nodes that make the pools.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Borders {
    /// `U_L`: the best nodes, as a share of all.
    pub low: f64,
    /// `U_H`: the best nodes and those of the second pool.
    pub high: f64,
}

/// Placement pool by pool.
#[derive(Clone, Debug)]
pub struct ByPool {
    borders: Borders,
    lots: Lots,
    /// The nodes of each pool, from the most efficient down; sorted when first asked for.
    sorted: Option<[NodeSet; 3]>,
    /// The free nodes of one pool.
    reach: NodeSet,
}

impl Borders {
    /// Ends of the pools among `nodes` nodes: whole numbers nearest to the shares, halves up.
    #[must_use]
    pub fn ends(self, nodes: u32) -> [u32; 3] {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share of `nodes` fits")]
        let end = |share: f64| (share * f64::from(nodes) + 0.5).floor() as u32;
        [end(self.low), end(self.high), nodes]
    }
}

impl ByPool {
    /// Pools between these borders, in the run with this seed.
    #[must_use]
    pub fn new(borders: Borders, seed: u64) -> Self {
        Self { borders, lots: Lots::new(seed), sorted: None, reach: NodeSet::default() }
    }
}

fn pools(borders: Borders, view: &View<'_>) -> [NodeSet; 3] {
    let ranking = RankBy::Power.for_all(view);
    let mut begin = 0;
    borders.ends(view.node_count()).map(|end| {
        let mut pool = NodeSet::empty(view.platform.len());
        for &node in &ranking.nodes()[begin as usize..end as usize] {
            pool.insert(node);
        }
        begin = end;
        pool
    })
}

impl Placement for ByPool {
    fn choose(&mut self, ask: &Ask<'_>, job: JobId, free: &mut NodeSet, nodes: &mut Vec<u32>) -> Result<Choice> {
        let pools = self.sorted.get_or_insert_with(|| pools(self.borders, ask.view));
        let mut left = ask.view.jobs.node_count(job);
        for pool in pools.iter() {
            let before = nodes.len();
            self.reach.copy_common(free, pool);
            self.lots.take(left, &mut self.reach, nodes);
            for &node in &nodes[before..] {
                free.remove(node);
                left -= 1;
            }
        }
        Ok(Choice::Chosen)
    }

    fn remember(&self, kept: &mut Recollection) {
        self.lots.remember(DRAWN, kept);
    }

    fn recall(&mut self, _view: &View<'_>, kept: &Recollection) {
        self.lots.recall(DRAWN, kept);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn borders_are_rounded_halves_up() {
        assert_eq!(Borders { low: 0.65, high: 0.8 }.ends(10), [7, 8, 10]);
        assert_eq!(Borders { low: 0.0, high: 0.0 }.ends(7), [0, 0, 7]);
        assert_eq!(Borders { low: 1.0, high: 1.0 }.ends(3), [3, 3, 3]);
    }
}
