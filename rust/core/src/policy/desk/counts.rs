//! Counts of a pass: what is left, and what a job takes of it.

use crate::algo::fit_list::{ByClass, Room, Waiting};
use crate::algo::releases::{Claim, Release, ReleasedBy, merged};
use crate::algo::sorted_blocks::Keyed;
use crate::error::Result;
use crate::policy::Start;
use crate::policy::budget::outlook::Outlook;
use crate::policy::budget::price::OnNodes;
use crate::policy::budget::prices::Edition;
use crate::policy::desk::{Desk, Offer, Terms};
use crate::policy::sleep::under_budget::wish;
use crate::policy::sleep::wake_fit::Need;
use crate::policy::sleep::wake_plan::WakePlan;
use crate::units::{SimDuration, SimTime, Watts};
use crate::workload::JobId;

impl<'a> Desk<'a> {
    /// Free units that no start of this pass has taken.
    #[must_use]
    pub fn free_units(&self) -> i64 {
        self.draft.free_units()
    }

    /// Room for any job that fits now: free units, and watts where the budget may bind.
    #[must_use]
    pub fn whole_room(&mut self) -> Room {
        let room = Room::of(self.free_units()).within(self.left().map(|room| self.together.left(room)));
        if self.gives_first && !self.nothing_runs() {
            return Room { refused: self.refused_first(None), ..room };
        }
        let Some(power) = self.power.as_mut().filter(|_| room.watts < i64::MAX) else { return room };
        Room { refused: self.refusals.units(room.watts, &mut power.prices), ..room }
    }

    /// Bounds jobs that last longer than a room's slack by its extra watts.
    pub fn bound_beside(&mut self, room: &mut Room) {
        if self.gives_first && room.slack != SimDuration::FOREVER {
            room.refused_beside = self.refused_first(Some(room.extra_watts));
        }
    }

    /// Fewest units, by class, of jobs that take too much where they are given the first free nodes: more than is left,
    /// or more than so many microwatts alongside an earlier job.
    fn refused_first(&mut self, beside: Option<i64>) -> ByClass {
        let edition = self.edition();
        let (Some(left), Some(power)) = (self.left(), &mut self.power) else { return ByClass::NONE };
        let most = beside.map_or(left, |microwatts| left.min(Watts::of_microwatts(microwatts)));
        let (prices, draft) = (&mut power.prices, &mut self.draft);
        let find = || prices.refused_first((draft.free(), edition), most);
        self.refusals.first(beside.is_some(), (edition, most), find)
    }

    /// Edition of the free nodes.
    pub(super) fn edition(&self) -> Edition {
        let classes = self.power.as_ref().map_or(0, |power| power.prices.slots());
        Edition { before: self.view.slots.changes(u64::MAX).1, within: self.draft.version(), classes }
    }

    /// Planned ends of the jobs started in this pass, sorted.
    #[must_use]
    pub fn added(&self) -> &[Release] {
        self.draft.ends()
    }

    /// Releases to come besides those of running jobs: by the jobs started in this pass, and by known changes of the
    /// budget, which may take as well; sorted.
    pub fn to_come(&self) -> impl Iterator<Item = Release> {
        merged(self.added().iter().copied(), self.budget_to_come())
    }

    /// Watts that a plan has after the jobs placed so far, including those withheld from starts of this pass.
    fn planned(&self) -> Option<Watts> {
        self.left().map(|left| left + self.view.withheld)
    }

    /// Known changes of the watts, apart from what jobs take and give back.
    #[must_use]
    pub fn budget_to_come(&self) -> &[Release] {
        self.outlook().map_or(&[], Outlook::changes)
    }

    /// True if the budget is known to fall.
    #[must_use]
    pub fn expects_a_fall(&self) -> bool {
        self.outlook().is_some_and(Outlook::falls)
    }

    /// Outlook on the watts that running jobs leave, where the budget may bind.
    #[must_use]
    pub fn outlook(&self) -> Option<&Outlook> {
        self.outlook.as_deref()
    }

    /// True if as many watts are left in the next pass, but for what starts and ends: no change of the budget is known, and
    /// none are withheld.
    #[must_use]
    pub fn has_steady_watts(&self) -> bool {
        self.outlook().is_none_or(|outlook| outlook.steps().is_empty() && self.view.withheld == Watts::ZERO)
    }

    /// Watts of a waiting job on any nodes, where they count.
    pub fn on_nodes(&mut self, waiting: &Waiting) -> Option<OnNodes<'_>> {
        let power = self.power.as_mut().filter(|_| self.room.is_some())?;
        Some(power.prices.on_nodes(&self.ask, JobId(waiting.key.row), waiting.class))
    }

    /// Starts of this pass on their nodes, each with its watts.
    pub fn begun(&self) -> impl Iterator<Item = (&Start, &[u32])> {
        self.draft.begun()
    }

    /// True if the budget may bind.
    #[must_use]
    pub fn counts_watts(&self) -> bool {
        self.room.is_some()
    }

    /// True if a job is fully described by its number of units and its length.
    #[must_use]
    pub fn only_counts(&self) -> bool {
        self.view.platform.is_exclusive() && self.room.is_none() && !*self.is_choosy && !self.ask.analyzer.learns()
    }

    /// True if the plan of a pass may hold in the next: only starts and ends change what is free, and it does not
    /// matter which jobs are tried.
    #[must_use]
    pub fn may_keep_plans(&self) -> bool {
        if self.unrest.is_cut || !self.quotas.is_empty() || self.view.standby.is_some() {
            return false;
        }
        self.only_counts()
            || self.view.platform.is_exclusive()
                && !*self.is_choosy
                && !self.ask.analyzer.learns()
                && !self.governs
                && !self.view.predicted.has_caps()
                && self.view.budgets.is_empty()
                && self.view.surplus == Watts::ZERO
                && self.placement.is_repeatable()
    }

    /// True if no job joins the queue that was submitted before one that has joined: none is queued again or held back.
    #[must_use]
    pub fn only_later_jobs_join(&self) -> bool {
        !self.governs && !self.unrest.has_returns && !self.ask.analyzer.learns() && self.quotas.is_empty()
    }

    /// True if a waiting job takes exactly what a reservation holds for it, `need`, on whatever nodes.
    pub fn is_certain(&mut self, waiting: &Waiting, need: Claim) -> bool {
        let price = if self.room.is_some() { self.price(waiting) } else { None };
        price.is_none_or(|price| {
            let most = price.most.microwatts_up();
            price.least.microwatts_up() == most && need.microwatts == most
        })
    }

    /// Claim that a start of this pass gives back at its planned end.
    #[must_use]
    pub fn given_back(&self, end: SimTime, row: u32) -> Claim {
        let ends = self.added();
        let key = (end, ReleasedBy::Job(row));
        let index = ends.partition_point(|other| other.key() < key);
        ends.get(index).filter(|end| end.by == key.1).map_or(Claim::default(), |end| end.claim)
    }

    /// Capacity free now: units, and microwatts where the budget may bind. From then on [`Desk::added`] says what the
    /// starts so far give back.
    ///
    /// # Errors
    /// If a placement fails or the host interrupts.
    pub fn free(&mut self) -> Result<Claim> {
        let Some(room) = self.planned() else { return Ok(Claim { units: self.free_units(), microwatts: 0 }) };
        let list = match self.host() {
            Some((together, mut host)) => together.matched(&mut host)?,
            None => Vec::new(),
        };
        for (job, watts) in &list {
            self.draft.note(*job, watts.microwatts_down());
        }
        let taken: Watts = list.iter().map(|(_, watts)| *watts).sum();
        Ok(Claim { units: self.free_units(), microwatts: (room - taken).microwatts_down() })
    }

    /// Least claim of a waiting job.
    #[must_use]
    pub fn least(&self, waiting: &Waiting) -> Claim {
        Claim { units: waiting.units, microwatts: if self.counts_watts() { waiting.watts } else { 0 } }
    }

    /// Most microwatts that a plan beginning with `free` of them has at any instant once all running jobs have ended.
    ///
    /// Each run gives back whole microwatts, rounded down: their sum falls short of what the budget leaves.
    #[must_use]
    pub fn most_planned(&self, free: i64) -> i64 {
        let added: Claim = self.added().iter().map(|release| release.claim).sum();
        free + self.view.releases.total().microwatts + added.microwatts + self.outlook().map_or(0, Outlook::rise)
    }

    /// True if even the job's least watts exceed what the budget will ever leave, as far as is known.
    pub fn can_never_hold(&mut self, waiting: &Waiting) -> bool {
        let Some(most) = self.outlook().map(|outlook| outlook.most() + self.view.claimed) else { return false };
        self.price(waiting).is_some_and(|price| price.least > most)
    }

    /// Average claim of a job over the nodes that can serve it: its units and, of the budget, microwatts rounded up.
    pub fn mean(&mut self, waiting: &Waiting) -> Claim {
        let price = if self.room.is_some() { self.price(waiting) } else { None };
        let microwatts = price.map_or(0, |price| price.mean.microwatts_up());
        Claim { units: waiting.units, microwatts }
    }

    /// Plan of free nodes and watts, and of the nodes that could be woken.
    #[must_use]
    pub(in crate::policy) fn wake_plan(&self) -> WakePlan {
        WakePlan::new(self.view, self.outlook())
    }

    /// Need of a waiting job in such a plan.
    pub(in crate::policy) fn needed(&mut self, waiting: &Waiting) -> Need<'a> {
        let price = if self.room.is_some() { self.price(waiting) } else { None }.unwrap_or_default();
        let (wish, length) = (wish(self.view, waiting), waiting.length);
        Need { wish, mean: price.mean.microwatts_up(), least: price.least, length }
    }

    /// Claim that a reservation holds for a waiting job: its average, capped at `most` microwatts, the most that the
    /// plan ever has (rule 18). A job that fits only on better nodes than most need not wait for more.
    pub fn need(&mut self, waiting: &Waiting, most: i64) -> Claim {
        let mean = self.mean(waiting);
        Claim { microwatts: mean.microwatts.min(most), ..mean }
    }

    /// Claim of the job if the offer is accepted; microwatts are rounded up.
    ///
    /// # Errors
    /// If a placement fails or the host interrupts.
    pub fn claim(&mut self, offer: &mut Offer) -> Result<Claim> {
        let watts = match &mut offer.terms {
            _ if self.room.is_none() => Watts::ZERO,
            Terms::Placed(watts) | Terms::OnFirst(watts) => *watts,
            Terms::Joining(joining) => match self.host() {
                Some((together, mut host)) => together.added(joining, &mut host)?,
                None => Watts::ZERO,
            },
        };
        Ok(Claim { units: offer.waiting.units, microwatts: watts.microwatts_up() })
    }
}
