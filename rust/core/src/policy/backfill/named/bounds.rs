//! Lower bounds on the starts of jobs, from jobs planned earlier in the pass.

use crate::algo::fit_list::Waiting;
use crate::policy::View;
use crate::policy::backfill::named::needs::likeness;
use crate::policy::budget::price::OnNodes;
use crate::units::{SimDuration, SimTime, Watts};
use crate::workload::JobId;

/// Request of a job, and its group: jobs of one group may take the same nodes.
#[derive(Clone, Copy, Debug)]
pub(in crate::policy::backfill) struct Like {
    group: usize,
    /// Slots, or another amount of which less is no harder to get.
    amount: i64,
    nodes: u32,
    length: SimDuration,
    takes: Takes,
}

/// Watts that a job takes, where they count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Takes {
    /// Class of jobs that take the same on each node; none: it is like no other.
    class: Option<usize>,
    /// On the nodes where it takes least, of as many as it needs.
    least: Watts,
    /// On those where it takes most.
    most: Watts,
}

impl Takes {
    /// True if so many nodes that have the watts for the other job have them for this one, too.
    fn is_within(&self, other: &Self) -> bool {
        self.most <= other.least || self.class.is_some() && self.class == other.class
    }
}

/// Lower bounds on the starts of jobs. A plan only fills up, so a job that dominates another in every need fits no
/// earlier than that one did.
#[derive(Clone, Debug, Default)]
pub(in crate::policy::backfill) struct Bounds(Vec<(usize, Vec<(Like, SimTime)>)>);

impl Like {
    pub(in crate::policy::backfill) fn new(group: usize, amount: i64, nodes: u32, length: SimDuration) -> Self {
        Self { group, amount, nodes, length, takes: Takes::default() }
    }

    pub(super) fn of(view: &View<'_>, waiting: &Waiting, on: Option<&OnNodes<'_>>) -> Self {
        let job = JobId(waiting.key.row);
        let (group, slots) = likeness(view, job);
        let of = |on: &OnNodes<'_>| Takes { class: waiting.class.index(), least: on.least(), most: on.most() };
        let takes = on.map(of).unwrap_or_default();
        Self {
            takes,
            ..Self::new(group, i64::from(slots), view.jobs.node_count(job), waiting.length.max(SimDuration::TICK))
        }
    }

    fn is_within(&self, other: &Self) -> bool {
        self.amount <= other.amount
            && self.nodes <= other.nodes
            && self.length <= other.length
            && self.takes.is_within(&other.takes)
    }
}

impl Bounds {
    pub(in crate::policy::backfill) fn of(&self, like: &Like) -> SimTime {
        let known = self.place(like.group).ok().map(|place| &self.0[place].1);
        let smaller = known.into_iter().flatten().filter(|(other, _)| other.is_within(like));
        smaller.map(|(_, at)| *at).max().unwrap_or(SimTime::from_micros(i64::MIN))
    }

    pub(in crate::policy::backfill) fn note(&mut self, like: Like, at: SimTime) {
        let place = self.place(like.group).unwrap_or_else(|place| {
            self.0.insert(place, (like.group, Vec::new()));
            place
        });
        let known = &mut self.0[place].1;
        known.retain(|(other, earlier)| !(like.is_within(other) && *earlier <= at));
        known.push((like, at));
    }

    /// Forgets the bounds, but keeps the groups.
    pub(in crate::policy::backfill) fn forget(&mut self) {
        self.0.iter_mut().for_each(|(_, known)| known.clear());
    }

    fn place(&self, group: usize) -> Result<usize, usize> {
        self.0.binary_search_by_key(&group, |(other, _)| *other)
    }
}
