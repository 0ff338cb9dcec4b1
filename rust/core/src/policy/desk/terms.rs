//! Making of an offer: where the job would go, and whether the watts that it takes there are left.

use crate::algo::fit_list::Waiting;
use crate::algo::horizon::NodesByCell;
use crate::cluster::counted::Estimate;
use crate::cluster::shares::Shares;
use crate::error::Result;
use crate::policy::budget::draw::take_cheapest;
use crate::policy::budget::price::Price;
use crate::policy::desk::refusals::{Lasts, Likeness, Refusal};
use crate::policy::desk::{Desk, Terms};
use crate::policy::placement::Choice;
use crate::policy::together::{Host, Joining, Together};
use crate::units::Watts;
use crate::workload::JobId;

/// Way of choosing a job's nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum How {
    /// The nodes that the placement chooses.
    WhereItGoes,
    /// The nodes where it adds the fewest watts.
    WhereItAddsLeast,
}

fn told(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

impl Desk<'_> {
    /// Room left after the jobs placed so far.
    pub(in crate::policy) fn left(&self) -> Option<Watts> {
        self.room.map(|room| room - self.draft.granted())
    }

    /// List of jobs to be placed together, and the host that answers its questions.
    pub(super) fn host(&mut self) -> Option<(&mut Together, Host<'_>)> {
        let Self { placement, together, ask, draft, is_joint: true, .. } = self else { return None };
        Some((together, Host { ask: *ask, placement: &mut **placement, free: draft.free() }))
    }

    /// True if the job starts on an idle machine: no end is to come for which it could wait.
    pub(super) fn nothing_runs(&self) -> bool {
        self.view.releases.is_empty() && self.added().is_empty()
    }

    /// Terms to join the list that is placed at the end, if that stays within the room with one more job. On an idle
    /// machine the job is placed by itself where it adds the fewest watts, if that is the only way. `split`: its nodes of
    /// each cell, and its licences, where nodes differ.
    pub(super) fn terms_together(&mut self, waiting: &Waiting, split: Option<&NodesByCell>) -> Result<Option<Terms>> {
        let (job, split) = (JobId(waiting.key.row), split.cloned());
        let (Some(room), Some(power)) = (self.left(), &mut self.power) else {
            return Ok(Some(Terms::Joining(Box::new(Joining::new(job, Price::default(), split)))));
        };
        let price = power.prices.in_class(&self.ask, job, waiting.class);
        let mut joining = Joining::new(job, price, split);
        if let Some((together, mut host)) = self.host()
            && together.fits(&mut joining, room, &mut host)?
        {
            return Ok(Some(Terms::Joining(Box::new(joining))));
        }
        if !self.nothing_runs() || price.least > room {
            return Ok(None);
        }
        let placed = match self.view.shares.map(Shares::cells) {
            Some(cells) => self.place_where_it_adds_least(waiting, cells)?,
            None => self.place(waiting, How::WhereItAddsLeast, i64::MAX)?,
        };
        Ok(placed.ok().map(Terms::Placed))
    }

    /// Places a job; where watts are counted, only if they are within the room and at most `most` microwatts.
    pub(super) fn terms_alone(&mut self, waiting: &Waiting, most: i64) -> Result<Option<Terms>> {
        let job = JobId(waiting.key.row);
        let Some(room) = self.left() else {
            return Ok(self.place(waiting, How::WhereItGoes, most)?.ok().map(Terms::Placed));
        };
        let like = (waiting.class, self.view.jobs.need(job, self.view.platform));
        let count = self.view.jobs.node_count(job);
        if self.refusals.hold(like, count, most < i64::MAX) || self.least_watts(waiting) > room {
            return Ok(None);
        }
        let alone = self.nothing_runs();
        let refused = match self.on_first(waiting, (room, most)) {
            Some(Ok(watts)) => return Ok(Some(Terms::OnFirst(watts))),
            Some(Err(refused)) => refused,
            None => match self.too_much_in_order(waiting, (room, most)) {
                Some(refused) => refused,
                None => match self.place(waiting, How::WhereItGoes, most)? {
                    Ok(watts) => return Ok(Some(Terms::Placed(watts))),
                    Err(refused) => refused,
                },
            },
        };
        // Where nothing runs, nothing will end: a job that fits somewhere must not wait.
        if alone
            && refused.for_the_room()
            && let Ok(watts) = self.place(waiting, How::WhereItAddsLeast, most)?
        {
            return Ok(Some(Terms::Placed(watts)));
        }
        self.note_refusal(waiting, like, refused);
        Ok(None)
    }

    /// Watts of a job on the first free nodes, or why it does not start there, without giving it these nodes. None where
    /// jobs get other nodes, or where the watts of this one are not those of a class.
    fn on_first(
        &mut self,
        waiting: &Waiting,
        (left, most): (Watts, i64),
    ) -> Option<std::result::Result<Watts, Refusal>> {
        let (count, most) = (self.view.jobs.node_count(JobId(waiting.key.row)), bound(left, most));
        let edition = self.edition();
        let prices = &mut self.power.as_mut().filter(|_| self.gives_first)?.prices;
        let watts = prices.on_first(waiting.class, (self.draft.free(), edition), count as usize, most)?;
        Some(watts.ok_or(if most < left { Refusal::Beside } else { Refusal::There }))
    }

    /// Reason to refuse a job, if the nodes that it would be given are known to take too much without being taken.
    fn too_much_in_order(&mut self, waiting: &Waiting, (left, most): (Watts, i64)) -> Option<Refusal> {
        let (ask, job) = (self.ask, JobId(waiting.key.row));
        let count = self.view.jobs.node_count(job) as usize;
        let on = self.power.as_ref()?.prices.of_nodes(waiting.class)?;
        let (mut whole, mut fitting, least) = (Watts::ZERO, 0, bound(left, most));
        let mut look = |node: u32| {
            whole += on[node as usize];
            let fits = ask.view.held(job, whole) <= least;
            fitting += usize::from(fits);
            fits && fitting < count
        };
        let shown = self.placement.show(&ask, job, self.draft.serving(job), &mut look);
        (shown && fitting < count).then_some(Refusal::in_order(fitting, least < left))
    }

    /// Places a job and returns its watts there, unless these exceed what is left, or `most` microwatts.
    fn place(&mut self, waiting: &Waiting, how: How, most: i64) -> Result<std::result::Result<Watts, Refusal>> {
        let job = JobId(waiting.key.row);
        let (ask, left) = (self.ask, self.left());
        let (placement, power) = (&mut *self.placement, &mut self.power);
        let mut refused = Refusal::There;
        let placed = self.draft.put(waiting, |free, nodes| {
            let first = nodes.len();
            let choice = match how {
                How::WhereItGoes => placement.choose(&ask, job, free, nodes)?,
                How::WhereItAddsLeast => {
                    take_cheapest(&ask, job, free, nodes);
                    Choice::Chosen
                }
            };
            let own = &nodes[first..];
            let watts = power.as_mut().map_or(Watts::ZERO, |power| power.prices.on(&ask, job, waiting.class, own));
            refused = match choice {
                Choice::Refused => Refusal::Refused,
                _ if left.is_none_or(|left| watts <= left) => {
                    if left.is_none() || watts.microwatts_up() <= most {
                        return Ok(Some(watts));
                    }
                    Refusal::Beside
                }
                Choice::FewestWatts => Refusal::Anywhere,
                Choice::Chosen => Refusal::There,
            };
            free.insert_all(own);
            nodes.truncate(first);
            Ok(None)
        })?;
        *self.is_choosy |= placed.is_none() && refused == Refusal::Refused;
        Ok(placed.ok_or(refused))
    }

    pub(super) fn least_watts(&mut self, waiting: &Waiting) -> Watts {
        self.price(waiting).map_or(Watts::ZERO, |price| price.least)
    }

    /// Price of a queued job, if watts count.
    pub(super) fn price(&mut self, waiting: &Waiting) -> Option<Price> {
        let power = self.power.as_mut()?;
        Some(power.prices.in_class(&self.ask, JobId(waiting.key.row), waiting.class))
    }

    /// Notes a job that was refused for its watts, as far as that holds for other jobs.
    fn note_refusal(&mut self, waiting: &Waiting, like: Likeness, refused: Refusal) {
        if self.view.predicted.has_caps() {
            return;
        }
        let idles_alike = self.power.as_ref().is_some_and(|power| power.ceiling.idles_alike());
        let (lasts, count) = match refused {
            // Only where nodes idle alike are the fewest watts also the fewest beyond idle: then the refusal holds for
            // larger jobs, and for later ones.
            Refusal::Anywhere if idles_alike && self.ask.estimate(JobId(waiting.key.row)) == Estimate::Predicted => {
                (Lasts::ForThePass, self.view.jobs.node_count(JobId(waiting.key.row)))
            }
            Refusal::InOrder(fitting) => (Lasts::UntilAStart, told(fitting + 1)),
            Refusal::InOrderBeside(fitting) => (Lasts::UntilAStartBeside, told(fitting + 1)),
            _ => return,
        };
        self.refusals.note(lasts, like, count);
    }
}

/// Most watts that a job may take, of those left.
fn bound(left: Watts, most: i64) -> Watts {
    if most < i64::MAX { left.min(Watts::of_microwatts(most)) } else { left }
}
