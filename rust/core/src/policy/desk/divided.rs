//! Offers on heterogeneous nodes: a number of nodes of each cell, chosen by the placement within it.

use crate::algo::fit_list::Waiting;
use crate::algo::horizon::NodesByCell;
use crate::algo::node_set::NodeSet;
use crate::cluster::shares::Shares;
use crate::error::Result;
use crate::platform::cells::Cells;
use crate::policy::View;
use crate::policy::analyzer::Ask;
use crate::policy::budget::draw::take_cheapest;
use crate::policy::desk::refusals::Refusal;
use crate::policy::desk::{Desk, Offer, Terms};
use crate::policy::placement::Choice;
use crate::units::{SimTime, Watts};
use crate::workload::JobId;

/// Nodes that a job of some cells is tried on.
enum Where<'a> {
    /// A number of nodes of each cell, as the placement chooses.
    In(&'a NodesByCell),
    /// The nodes where it adds the fewest watts.
    WhereItAddsLeast,
}

impl Desk<'_> {
    /// Capacity free now of each cell and licence, after the starts of this pass.
    #[must_use]
    pub fn free_parts(&self) -> &[i64] {
        self.draft.free_parts()
    }

    /// Starts of this pass: planned end, split over cells and licences, and microwatts, as of the last call of
    /// [`Desk::free`] for those that are placed together.
    pub fn started(&self) -> impl Iterator<Item = (SimTime, &NodesByCell, i64)> {
        self.draft.started()
    }

    /// Split of the last offer's job over cells and licences.
    #[must_use]
    pub fn offered(&self, offer: &Offer) -> NodesByCell {
        match &offer.terms {
            Terms::Joining(joining) => joining.split.as_ref(),
            Terms::Placed(_) | Terms::OnFirst(_) => self.draft.last_split(),
        }
        .cloned()
        .unwrap_or_default()
    }

    /// Offer to start a waiting job now on any free nodes that can serve it; none if these are too few.
    pub(super) fn offer_anywhere(&mut self, waiting: &Waiting) -> Result<Option<Offer>> {
        let (job, view) = (JobId(waiting.key.row), self.view);
        let wish = view.shares.map(|shares| shares.cells().wish(job, view.jobs.node_count(job)));
        match wish.and_then(|wish| wish.split(self.draft.free_parts())) {
            Some(split) => self.offer_in(waiting, &split),
            None => Ok(None),
        }
    }

    /// Offer to start a waiting job now on a number of nodes of each cell, which are free; none if the placement
    /// refuses, or too few watts are left. Where nothing runs, it goes where watts suffice, if they do anywhere. A joint
    /// placement gives it these numbers of nodes at the end of the pass.
    ///
    /// # Errors
    /// If the placement fails or the host interrupts.
    pub fn offer_in(&mut self, waiting: &Waiting, split: &NodesByCell) -> Result<Option<Offer>> {
        let Some(cells) = self.view.shares.map(Shares::cells) else { return Ok(None) };
        if self.is_closed(waiting) || self.left().is_some_and(|left| self.least_watts(waiting) > left) {
            return Ok(None);
        }
        let mark = self.draft.mark();
        let terms = if self.is_joint {
            self.terms_together(waiting, Some(split))?
        } else {
            self.terms_in(waiting, cells, split)?
        };
        self.offers += 1;
        let Some(terms) = terms else { return Ok(None) };
        let offer = Offer { waiting: *waiting, number: self.offers, mark, terms };
        if self.watch.is_some() { self.unless_too_long(offer) } else { Ok(Some(offer)) }
    }

    /// Places a job by itself, on a number of nodes of each cell.
    fn terms_in(&mut self, waiting: &Waiting, cells: &Cells, split: &NodesByCell) -> Result<Option<Terms>> {
        let alone = self.nothing_runs();
        let mut placed = self.place_in(waiting, cells, &Where::In(split))?;
        *self.is_choosy |= placed == Err(Refusal::Refused);
        if placed == Err(Refusal::There) && alone {
            placed = self.place_in(waiting, cells, &Where::WhereItAddsLeast)?;
        }
        Ok(placed.ok().map(Terms::Placed))
    }

    /// Places a job by itself on the nodes that can serve it where it adds the fewest watts, of whatever cells.
    pub(super) fn place_where_it_adds_least(
        &mut self,
        waiting: &Waiting,
        cells: &Cells,
    ) -> Result<std::result::Result<Watts, Refusal>> {
        self.place_in(waiting, cells, &Where::WhereItAddsLeast)
    }

    /// Places a job and returns its watts there.
    fn place_in(
        &mut self,
        waiting: &Waiting,
        cells: &Cells,
        to: &Where<'_>,
    ) -> Result<std::result::Result<Watts, Refusal>> {
        let (ask, left, job) = (self.ask, self.left(), JobId(waiting.key.row));
        let (placement, power) = (&mut *self.placement, &mut self.power);
        let mut refused = Refusal::There;
        let placed = self.draft.put(waiting, |free, nodes| {
            let first = nodes.len();
            match to {
                Where::WhereItAddsLeast => {
                    take_cheapest(&ask, job, &mut cells.serving(job, free), nodes);
                    free.remove_all(&nodes[first..]);
                }
                Where::In(split) => {
                    let mut own = NodeSet::empty(free.capacity());
                    for &(cell, count) in *split {
                        let Some(all) = cells.nodes(cell) else { break };
                        own.copy_common(free, all);
                        let (part, count) = (nodes.len(), u32::try_from(count).unwrap_or(u32::MAX));
                        let view = View { jobs: ask.view.jobs.in_part(job, count), ..*ask.view };
                        let choice = placement.choose(&Ask { view: &view, ..ask }, job, &mut own, nodes)?;
                        free.remove_all(&nodes[part..]);
                        if choice == Choice::Refused {
                            refused = Refusal::Refused;
                        }
                    }
                }
            }
            let watts =
                power.as_mut().map_or(Watts::ZERO, |power| power.prices.on(&ask, job, waiting.class, &nodes[first..]));
            if refused != Refusal::Refused && left.is_none_or(|left| watts <= left) {
                return Ok(Some(watts));
            }
            free.insert_all(&nodes[first..]);
            nodes.truncate(first);
            Ok(None)
        })?;
        if placed.is_some() {
            self.draft.divide(cells, waiting);
        }
        Ok(placed.ok_or(refused))
    }
}
