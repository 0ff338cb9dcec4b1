//! Desk of a pass: it says whether a job can start now, and starts it.
//!
//! Backfill only counts; which nodes a job gets is the placement's choice. A job that is placed by itself gets its
//! nodes with the offer, so that its draw there is known. Jobs that a placement matches jointly get theirs at the end
//! of the pass, and under a budget that may bind their list is judged as a whole (`together`).

mod counts;
mod divided;
mod refusals;
mod steering;
mod terms;

use crate::algo::fit_list::{FitList, QueueKey, Waiting};
use crate::algo::horizon::Profile;
use crate::algo::node_set::NodeSet;
use crate::algo::releases::{Release, merged};
use crate::cluster::runs::RunId;
use crate::cluster::shares::Shares;
use crate::error::{Error, Result, SimulationError};
use crate::policy::analyzer::Ask;
use crate::policy::budget::Power;
use crate::policy::budget::draw::beyond_idle;
use crate::policy::budget::outlook::{Outlook, change};
use crate::policy::desk::refusals::Refusals;
use crate::policy::draft::{self, Draft, Mark};
use crate::policy::order::Order;
use crate::policy::placement::{Choice, Placement, Verdict};
use crate::policy::quotas::Quotas;
use crate::policy::together::{Joining, Together};
use crate::policy::turns::Turns;
use crate::policy::{Decision, Decisions, View};
use crate::units::{SimDuration, SimTime, Watts};
use crate::workload::JobId;

/// Memory that a policy keeps from pass to pass, so that a pass allocates nothing.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    draft: draft::DraftMemory,
    together: Together,
    turns: Turns,
    refusals: Refusals,
    /// True if the placement has ever refused a job.
    is_choosy: bool,
    /// True if the policy changes running jobs.
    governs: bool,
    unrest: Unrest,
    /// Limits on the number of jobs that run at once.
    pub(super) quotas: Quotas,
}

/// Changes of the queue other than submissions and starts.
#[derive(Clone, Copy, Debug, Default)]
struct Unrest {
    /// True if a job has ever been queued again.
    has_returns: bool,
    /// True if jobs have left the queue since the last pass other than by a start.
    is_cut: bool,
}

impl Memory {
    /// Memory of a policy that changes running jobs (`governs`), or of one that only starts jobs.
    #[must_use]
    pub fn of(governs: bool) -> Self {
        Self { governs, ..Self::default() }
    }

    /// Notes that a job is queued again, in its old place.
    pub fn note_return(&mut self) {
        self.unrest.has_returns = true;
    }

    /// Begins a pass; `is_cut` says if jobs have left the queue other than by a start.
    pub fn begin(&mut self, is_cut: bool) {
        self.unrest.is_cut |= is_cut;
    }
}

/// Number of jobs examined between two checks for an interrupt.
const LOOK_EVERY: u32 = 1024;

/// Offer to start a job now: made by [`Desk::offer`], then accepted or declined.
#[must_use = "an offer is accepted or declined"]
#[derive(Debug)]
pub struct Offer {
    waiting: Waiting,
    /// Number among the offers of the pass.
    number: u32,
    /// State of the draft without it.
    mark: Mark,
    terms: Terms,
}

#[derive(Debug)]
enum Terms {
    /// Placed, with its watts beyond idle there.
    Placed(Watts),
    /// Gets the first free nodes if it starts, with its watts beyond idle there.
    OnFirst(Watts),
    /// Joins the list that is placed at the end.
    Joining(Box<Joining>),
}

/// A pass under way, as a backfill sees it.
pub struct Desk<'a> {
    /// Everything that the policy may know.
    pub view: &'a View<'a>,
    ask: Ask<'a>,
    draft: Draft<'a>,
    placement: &'a mut dyn Placement,
    power: Option<&'a mut Power>,
    /// Watts that may be added in this pass, if the budget may bind in it.
    room: Option<Watts>,
    outlook: Option<Box<Outlook>>,
    /// Free microwatts over time, where the budget falls: a start has to fit for all its length.
    watch: Option<Box<Profile<i64>>>,
    together: &'a mut Together,
    turns: &'a mut Turns,
    refusals: &'a mut Refusals,
    is_choosy: &'a mut bool,
    /// True if the policy changes running jobs.
    governs: bool,
    unrest: Unrest,
    quotas: &'a mut Quotas,
    /// Order that ranks jobs outside the queue, if it is known.
    order: Option<&'a mut dyn Order>,
    /// True if jobs are placed together at the end.
    is_joint: bool,
    /// Lanes of which no more jobs may start in this pass.
    closed: Vec<usize>,
    /// True if watts count and jobs get the free nodes with the lowest ids: their watts are known before they are placed.
    gives_first: bool,
    offers: u32,
    examined: u32,
}

impl<'a> Desk<'a> {
    /// Begins a pass.
    pub fn new(
        ask: Ask<'a>,
        placement: &'a mut dyn Placement,
        mut power: Option<&'a mut Power>,
        memory: &'a mut Memory,
        out: &'a mut Decisions,
    ) -> Self {
        let view = ask.view;
        let Memory { draft, together, turns, refusals, is_choosy, governs, unrest, quotas } = memory;
        together.clear();
        turns.clear();
        if power.is_some() {
            refusals.clear();
        }
        let ceiling = power.as_mut().map(|power| &mut power.ceiling);
        let outlook = ceiling.and_then(|ceiling| ceiling.may_bind(view).then(|| Box::new(ceiling.outlook(view))));
        let is_whole = || view.platform.is_exclusive() && view.shares.is_none() && !view.slots.lends();
        Self {
            view,
            ask,
            draft: Draft::new(view, draft, out),
            gives_first: outlook.is_some() && is_whole() && placement.takes_lowest(),
            room: outlook.as_ref().map(|outlook| outlook.now() - view.withheld),
            watch: outlook.as_ref().filter(|outlook| outlook.falls()).map(|outlook| Box::new(watch(view, outlook))),
            outlook,
            is_joint: view.platform.is_exclusive() && placement.is_joint(),
            placement,
            power,
            together,
            turns,
            refusals,
            is_choosy,
            governs: *governs,
            unrest: std::mem::replace(unrest, Unrest { is_cut: false, ..*unrest }),
            quotas,
            order: None,
            closed: Vec::new(),
            offers: 0,
            examined: 0,
        }
    }

    /// Offer to start a waiting job now, alongside the other starts of this pass; none if it does not fit. An offer
    /// must be answered before the next is asked for.
    ///
    /// # Errors
    /// If a placement fails or the host interrupts.
    pub fn offer(&mut self, waiting: &Waiting) -> Result<Option<Offer>> {
        self.offer_within(waiting, i64::MAX)
    }

    /// The same; where the job is placed by itself, none if it would take more than `most` microwatts.
    ///
    /// # Errors
    /// If a placement fails or the host interrupts.
    pub fn offer_within(&mut self, waiting: &Waiting, most: i64) -> Result<Option<Offer>> {
        let job = JobId(waiting.key.row);
        if waiting.units > self.draft.free_units() || self.is_closed(waiting) {
            return Ok(None);
        }
        if self.view.shares.is_some() {
            return self.offer_anywhere(waiting);
        }
        let mark = self.draft.mark();
        let terms = if self.is_joint {
            self.terms_together(waiting, None)?
        } else if self.draft.serving(job).len() < self.view.jobs.node_count(job) {
            None
        } else {
            self.terms_alone(waiting, most)?
        };
        self.offers += 1;
        let offer = terms.map(|terms| Offer { waiting: *waiting, number: self.offers, mark, terms });
        match offer {
            Some(offer) if self.watch.is_some() => self.unless_too_long(offer),
            offer => Ok(offer),
        }
    }

    /// Offer to start a waiting job now on the given nodes, which are free, and whose watts are left where they count.
    ///
    /// # Errors
    /// None; a draft may fail where nodes are chosen.
    pub fn offer_on(&mut self, waiting: &Waiting, nodes: &[u32]) -> Result<Option<Offer>> {
        let (mark, ask, job) = (self.draft.mark(), self.ask, JobId(waiting.key.row));
        let power = self.power.as_ref();
        let watts = power.map_or(Watts::ZERO, |power| power.prices.on(&ask, job, waiting.class, nodes));
        let placed = self.draft.put(waiting, |free, chosen| {
            free.remove_all(nodes);
            chosen.extend_from_slice(nodes);
            Ok(Some(watts))
        })?;
        self.offers += 1;
        let terms = placed.map(Terms::Placed);
        Ok(terms.map(|terms| Offer { waiting: *waiting, number: self.offers, mark, terms }))
    }

    /// Returns the offer, unless the budget falls before the job ends and then leaves too little (operations page, rule
    /// 17).
    fn unless_too_long(&mut self, mut offer: Offer) -> Result<Option<Offer>> {
        let (need, length) = (self.claim(&mut offer)?.microwatts, offer.waiting.length);
        let lasts = |watch: &Profile<i64>| length == SimDuration::ZERO || watch.fits_now(need, length);
        if self.watch.as_deref().is_none_or(lasts) {
            return Ok(Some(offer));
        }
        self.decline(offer);
        Ok(None)
    }

    /// Starts the job in its turn of the policy's order. The caller takes it out of the queue.
    ///
    /// # Errors
    /// If another offer was made since.
    pub fn accept(&mut self, offer: Offer) -> Result<()> {
        self.turns.start(self.lane(&offer.waiting), offer.waiting.key);
        self.carry_out(offer)
    }

    /// Starts the job before all others: only those for which the pass was blocked go ahead of it.
    ///
    /// # Errors
    /// If another offer was made since.
    pub fn accept_first(&mut self, offer: Offer) -> Result<()> {
        self.turns.start_first(self.lane(&offer.waiting), offer.waiting.key);
        self.carry_out(offer)
    }

    /// Leaves the job where it is.
    #[expect(clippy::needless_pass_by_value, reason = "an offer is answered once")]
    pub fn decline(&mut self, offer: Offer) {
        self.draft.rollback(offer.mark);
    }

    /// Notes that a job that goes before all others stays queued: every job of its lane that starts after this overtakes
    /// it.
    pub fn block(&mut self, waiting: &Waiting) {
        self.turns.block(self.lane(waiting));
    }

    /// Lane of a waiting job.
    #[must_use]
    pub fn lane(&self, waiting: &Waiting) -> usize {
        self.view.lane(JobId(waiting.key.row))
    }

    /// Closes the lane of a waiting job: no more of its jobs are offered a start in this pass.
    pub fn close_lane(&mut self, waiting: &Waiting) {
        let lane = self.lane(waiting);
        if !self.closed.contains(&lane) {
            self.closed.push(lane);
        }
    }

    /// Lanes that are closed, each once.
    #[must_use]
    pub fn closed(&self) -> &[usize] {
        &self.closed
    }

    /// True if the lane of a waiting job is closed.
    fn is_closed(&self, waiting: &Waiting) -> bool {
        !self.closed.is_empty() && self.closed.contains(&self.lane(waiting))
    }

    /// True if the free nodes suit a waiting job that fits on them. Nodes that it is offered count as free.
    pub fn suits(&mut self, waiting: &Waiting, offer: Option<&Offer>) -> bool {
        let (ask, job) = (self.ask, JobId(waiting.key.row));
        let mark = offer.map_or_else(|| self.draft.mark(), |offer| offer.mark);
        let (placement, cells) = (&mut *self.placement, self.view.shares.map(Shares::cells));
        self.draft.look_back(mark, job, |free| {
            let own = cells.map(|cells| cells.serving(job, free));
            placement.judge(&ask, job, own.as_ref().unwrap_or(free)) == Verdict::Suits
        })
    }

    /// Lends the desk the order in which jobs stand.
    pub fn stand_in(&mut self, order: &'a mut dyn Order) {
        self.order = Some(order);
    }

    /// Keys, in policy order, of jobs that are not in the queue.
    ///
    /// # Errors
    /// If the order cannot rank them.
    pub fn keys(&mut self, jobs: &[JobId]) -> Result<Vec<QueueKey>> {
        let mut ranks = Vec::with_capacity(jobs.len());
        if let Some(order) = self.order.as_mut().filter(|_| !jobs.is_empty()) {
            order.rank(&self.ask, jobs, &mut ranks)?;
        }
        let view = self.view;
        let key = |(&job, rank): (&JobId, i64)| QueueKey {
            tier: view.tier(job),
            rank,
            submit: view.jobs.eligible(job),
            row: job.0,
        };
        Ok(jobs.iter().zip(ranks).map(key).collect())
    }

    /// Suspends a run.
    pub fn suspend(&mut self, id: RunId) {
        self.draft.push(Decision::Suspend(id));
    }

    /// Resumes a suspended run.
    pub fn resume(&mut self, id: RunId) {
        self.draft.push(Decision::Resume(id));
    }

    /// Ends the run of a job that has passed its limit.
    pub fn time_out(&mut self, job: JobId) {
        if let Some((id, _)) = self.view.runs.iter().find(|(_, run)| run.job == job) {
            self.draft.push(Decision::TimeOut(id));
        }
    }

    /// Switches a node on.
    pub fn wake(&mut self, node: u32) {
        self.draft.wake(node);
    }

    /// Switches an idle node off.
    pub fn sleep(&mut self, node: u32) {
        self.draft.sleep(node);
    }

    /// Nodes of `free`, which holds enough of them, that the placement would give the job; none if it refuses.
    ///
    /// # Errors
    /// If the placement fails or the host interrupts.
    pub fn choose(&mut self, job: JobId, free: &NodeSet) -> Result<Option<Vec<u32>>> {
        let (mut left, mut nodes) = (free.clone(), Vec::new());
        let choice = self.placement.choose(&self.ask, job, &mut left, &mut nodes)?;
        Ok((choice != Choice::Refused).then_some(nodes))
    }

    /// Asks for a pass at `at`, which is after now.
    pub fn timer(&mut self, at: SimTime) {
        self.draft.timer(at);
    }

    /// Counts a job that was looked at, so that a long pass can be interrupted.
    ///
    /// # Errors
    /// If the host wants to stop.
    pub fn examine(&mut self) -> Result<()> {
        self.examined += 1;
        if self.examined.is_multiple_of(LOOK_EVERY) && (self.view.interrupted)() {
            return Err(Error::Interrupted);
        }
        Ok(())
    }

    /// Ends the pass: places the starts that are not placed yet, and notes which of the starts overtake a job that is
    /// left in the queue. Returns the number of units that no running job and no start has taken.
    ///
    /// # Errors
    /// If the placement fails or the host interrupts.
    pub fn finish(&mut self, queue: &FitList) -> Result<i64> {
        let (ask, starts, counts) = (self.ask, self.together.starts(), self.power.is_some());
        if self.placement.is_joint() && !starts.jobs.is_empty() {
            let joint = &mut *self.placement;
            let watts = |job, nodes: &[u32]| if counts { beyond_idle(&ask, job, nodes) } else { Watts::ZERO };
            self.draft.place(starts.jobs, |free, nodes| starts.place(&ask, joint, free, nodes), watts)?;
        }
        if self.turns.finish(self.view, queue) {
            self.draft.note_overtaking(|job| self.turns.overtakes(job));
        }
        Ok(self.draft.free_units())
    }

    fn carry_out(&mut self, mut offer: Offer) -> Result<()> {
        if self.watch.is_some() {
            let claim = self.claim(&mut offer)?;
            if let Some(watch) = &mut self.watch {
                watch.reserve(self.view.now, offer.waiting.length, claim.microwatts);
            }
        }
        if self.power.is_some() {
            self.refusals.note_start();
        }
        let Offer { waiting, number, terms, .. } = offer;
        if number != self.offers {
            let what = format!("row {}: its offer was accepted after another one was made", waiting.key.row);
            return Err(SimulationError(what).into());
        }
        let before = self.edition();
        match terms {
            Terms::Placed(_) => {}
            Terms::OnFirst(watts) => {
                let (ask, job, placement) = (self.ask, JobId(waiting.key.row), &mut *self.placement);
                let choose =
                    |free: &mut _, nodes: &mut _| placement.choose(&ask, job, free, nodes).map(|_| Some(watts));
                let count = self.view.jobs.node_count(job) as usize;
                self.draft.put(&waiting, choose)?;
                let after = self.edition();
                if let Some(power) = &mut self.power {
                    power.prices.take_first(count, (before, after));
                }
            }
            Terms::Joining(joining) => {
                self.together.push(&joining);
                self.draft.count(&waiting, joining.split);
            }
        }
        if !self.quotas.is_empty() {
            self.quotas.start(self.view.jobs, waiting.key);
        }
        Ok(())
    }

    /// True if there are limits on the number of jobs that run at once.
    #[must_use]
    pub fn has_quotas(&self) -> bool {
        !self.quotas.is_empty()
    }

    /// True if a group of this job has as many jobs running as it may.
    #[must_use]
    pub fn is_held(&self, waiting: &Waiting) -> bool {
        self.has_quotas() && self.quotas.is_held(self.view.jobs, JobId(waiting.key.row))
    }

    /// Notes that a job has started. If its array is full, takes those of it that come later, or all of it, out of the
    /// queue. True if it did so: places in the queue have changed.
    pub fn hold_back(&mut self, queue: &mut FitList, started: QueueKey, all: bool) -> bool {
        self.quotas.hold_back(self.view.jobs, queue, started, all)
    }
}

/// Microwatts over time that running jobs, nodes that boot or shut down and the budget leave.
fn watch(view: &View<'_>, outlook: &Outlook) -> Profile<i64> {
    let running = view.releases.iter().map(|release| Release { at: release.at.max(view.now), ..*release });
    let asleep = view.standby.into_iter().flat_map(|standby| standby.asleep().iter());
    let switched = asleep.filter_map(|node| view.settles(node));
    let mut others = outlook.changes().to_vec();
    others.extend(switched.map(|(at, freed)| change(at, freed.microwatts_down())));
    others.sort_by_key(|release| release.at);
    let all = merged(running, &others).map(|release| (release.at, release.claim.microwatts));
    let mut watch = Profile::default();
    watch.reset(view.now, outlook.now().microwatts_down(), all);
    watch
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algo::fit_list::ClassId;
    use crate::algo::releases::Claim;
    use crate::platform::scope::Scope;
    use crate::policy::analyzer::tables::AsPredicted;
    use crate::policy::budget::least::LeastCaps;
    use crate::policy::budget::system_budget::{Limit, SystemBudget};
    use crate::policy::placement::lowest_id::LowestId;
    use crate::policy::testing::World;
    use crate::units::SimDuration;

    fn waiting(row: u32) -> Waiting {
        let key = QueueKey { tier: 0, rank: 0, submit: SimTime::default(), row };
        Waiting {
            key,
            units: i64::from(1 + row % 3),
            length: SimDuration::from_micros(5),
            watts: 0,
            class: ClassId::OTHER,
        }
    }

    /// Four nodes under a budget that lets three of them work.
    fn with_desk(act: impl FnOnce(&mut Desk<'_>)) -> Vec<JobId> {
        let world = World::new(9, 4, 1, true);
        let (view, mut placement) = (world.view(), LowestId);
        let mut power =
            Power::new(&SystemBudget::of(Limit::Watts(1000.0)), Scope::all(world.platform()), false).unwrap();
        let (mut memory, mut out) = (Memory::default(), Decisions::default());
        let ask = Ask { view: &view, analyzer: &AsPredicted, least: &LeastCaps::None };
        let mut desk = Desk::new(ask, &mut placement, Some(&mut power), &mut memory, &mut out);
        act(&mut desk);
        desk.finish(&FitList::default()).unwrap();
        out.starts().map(|start| start.job).collect()
    }

    #[test]
    fn an_accepted_offer_starts_a_job_and_a_declined_one_leaves_everything_as_it_was() {
        let started = with_desk(|desk| {
            let offer = desk.offer(&waiting(1)).unwrap().expect("two nodes and 400 W");
            desk.decline(offer);
            assert_eq!((desk.free_units(), desk.added().len()), (4, 0));
            let mut offer = desk.offer(&waiting(4)).unwrap().expect("as much is left as before");
            assert_eq!(desk.claim(&mut offer).unwrap(), Claim { units: 2, microwatts: 400_000_000 });
            desk.accept(offer).unwrap();
            assert_eq!((desk.free_units(), desk.added().len()), (2, 1));
        });
        assert_eq!(started, [JobId(4)]);
    }

    #[test]
    fn what_does_not_fit_the_nodes_or_the_watts_gets_no_offer() {
        let started = with_desk(|desk| {
            let offer = desk.offer(&waiting(2)).unwrap().expect("three nodes and 600 W");
            desk.accept(offer).unwrap();
            assert!(desk.offer(&waiting(3)).unwrap().is_none(), "a node is free, but no watts are left");
            assert!(desk.offer(&waiting(1)).unwrap().is_none(), "two nodes are not free");
        });
        assert_eq!(started, [JobId(2)]);
    }

    #[test]
    fn only_the_last_offer_can_be_accepted() {
        with_desk(|desk| {
            let first = desk.offer(&waiting(0)).unwrap().expect("it fits");
            let second = desk.offer(&waiting(3)).unwrap().expect("it fits, too");
            assert!(desk.accept(first).is_err());
            desk.accept(second).unwrap();
        });
    }
}
