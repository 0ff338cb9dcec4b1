//! Making of an offer: where the job would go, and whether the watts that it takes there are left.

use crate::algo::fit_list::Waiting;
use crate::cluster::counted::Estimate;
use crate::error::Result;
use crate::policy::budget::draw::take_cheapest;
use crate::policy::budget::prices::Price;
use crate::policy::class::JobClass;
use crate::policy::desk::refusals::{Lasts, Likeness};
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

/// Reason why a job was not placed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TooMuch {
    /// The placement refused it.
    Refused,
    /// It takes more watts than are left on the nodes it would go to.
    There,
    /// The same, and no other free nodes would take fewer.
    Anywhere,
    /// The same, and it would be given nodes in their order, of which this many would fit.
    InOrder(usize),
    /// It fits what is left, but not what an earlier job leaves.
    Beside,
    /// The same, and this many nodes would fit.
    InOrderBeside(usize),
}

impl TooMuch {
    /// True if it exceeds the room itself.
    fn for_the_room(self) -> bool {
        matches!(self, Self::There | Self::Anywhere | Self::InOrder(_))
    }
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
        let joint = self.placement.jointly().filter(|_| self.is_joint)?;
        Some((self.together, Host { ask: self.ask, joint, free: self.draft.free() }))
    }

    /// True if the job starts on an idle machine: no end is to come for which it could wait.
    pub(super) fn nothing_runs(&self) -> bool {
        self.view.releases.is_empty() && self.added().is_empty()
    }

    /// Terms to join the list that is placed at the end, if that stays within the room with one more job. On an idle
    /// machine the job is placed by itself where it adds the fewest watts, if that is the only way.
    pub(super) fn terms_together(&mut self, waiting: &Waiting) -> Result<Option<Terms>> {
        let job = JobId(waiting.key.row);
        let (Some(room), Some(power)) = (self.left(), &mut self.power) else {
            return Ok(Some(Terms::Joining(Box::new(Joining::new(job, Price::default())))));
        };
        let price = power.prices.of(&self.ask, job);
        let mut joining = Joining::new(job, price);
        if let Some((together, mut host)) = self.host()
            && together.fits(&mut joining, room, &mut host)?
        {
            return Ok(Some(Terms::Joining(Box::new(joining))));
        }
        if !self.nothing_runs() || price.least > room {
            return Ok(None);
        }
        Ok(self.place(waiting, How::WhereItAddsLeast, i64::MAX)?.ok().map(Terms::Placed))
    }

    /// Places a job; where watts are counted, only if they are within the room and at most `most` microwatts.
    pub(super) fn terms_alone(&mut self, waiting: &Waiting, most: i64) -> Result<Option<Terms>> {
        let job = JobId(waiting.key.row);
        let Some(room) = self.left() else {
            return Ok(self.place(waiting, How::WhereItGoes, most)?.ok().map(Terms::Placed));
        };
        let (like, count) = (self.likeness(job), self.view.jobs.node_count(job));
        if self.refusals.hold(&like, count, most < i64::MAX) || self.least_watts(job) > room {
            return Ok(None);
        }
        let alone = self.nothing_runs();
        let refused = match self.too_much_in_order(job, (room, most)) {
            Some(refused) => refused,
            None => match self.place(waiting, How::WhereItGoes, most)? {
                Ok(watts) => return Ok(Some(Terms::Placed(watts))),
                Err(refused) => refused,
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

    /// Reason to refuse a job, if the nodes that it would be given are known to take too much without being taken.
    fn too_much_in_order(&mut self, job: JobId, (left, most): (Watts, i64)) -> Option<TooMuch> {
        let (ask, count) = (self.ask, self.view.jobs.node_count(job) as usize);
        let on = self.power.as_mut()?.prices.of_nodes(&ask, job)?;
        let most = if most < i64::MAX { Watts::of_microwatts(most) } else { left };
        let (mut whole, mut fitting, least) = (Watts::ZERO, 0, left.min(most));
        let mut look = |node: u32| {
            whole += on[node as usize];
            let fits = ask.view.held(job, whole) <= least;
            fitting += usize::from(fits);
            fits && fitting < count
        };
        let shown = self.placement.show(&ask, job, self.draft.serving(job), &mut look);
        let refused = if most < left { TooMuch::InOrderBeside(fitting) } else { TooMuch::InOrder(fitting) };
        (shown && fitting < count).then_some(refused)
    }

    /// Places a job and returns its watts there, unless these exceed what is left, or `most` microwatts.
    fn place(&mut self, waiting: &Waiting, how: How, most: i64) -> Result<std::result::Result<Watts, TooMuch>> {
        let job = JobId(waiting.key.row);
        let (ask, left) = (self.ask, self.left());
        let (placement, power) = (&mut *self.placement, &mut self.power);
        let mut refused = TooMuch::There;
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
            let watts = power.as_mut().map_or(Watts::ZERO, |power| power.prices.on(&ask, job, own));
            refused = match choice {
                Choice::Refused => TooMuch::Refused,
                _ if left.is_none_or(|left| watts <= left) => {
                    if left.is_none() || watts.microwatts_up() <= most {
                        return Ok(Some(watts));
                    }
                    TooMuch::Beside
                }
                Choice::FewestWatts => TooMuch::Anywhere,
                Choice::Chosen => TooMuch::There,
            };
            free.insert_all(own);
            nodes.truncate(first);
            Ok(None)
        })?;
        *self.is_choosy |= placed.is_none() && refused == TooMuch::Refused;
        Ok(placed.ok_or(refused))
    }

    pub(super) fn least_watts(&mut self, job: JobId) -> Watts {
        let ask = self.ask;
        self.power.as_mut().map_or(Watts::ZERO, |power| power.prices.of(&ask, job).least)
    }

    /// Notes a job that was refused for its watts, as far as that holds for other jobs.
    fn note_refusal(&mut self, waiting: &Waiting, like: Likeness, refused: TooMuch) {
        if like.0.follows_own() || self.view.predicted.has_caps() {
            return;
        }
        let idles_alike = self.power.as_ref().is_some_and(|power| power.ceiling.idles_alike());
        let (lasts, count) = match refused {
            // Only where nodes idle alike are the fewest watts also the fewest beyond idle: then the refusal holds for
            // larger jobs, and for later ones.
            TooMuch::Anywhere if idles_alike && like.1 == Estimate::Predicted => {
                (Lasts::ForThePass, self.view.jobs.node_count(JobId(waiting.key.row)))
            }
            TooMuch::InOrder(fitting) => (Lasts::UntilAStart, told(fitting + 1)),
            TooMuch::InOrderBeside(fitting) => (Lasts::UntilAStartBeside, told(fitting + 1)),
            _ => return,
        };
        // A job has a kind only where nodes are not shared: its units are nodes.
        self.refusals.note(lasts, like, count, (waiting.kind, i64::from(count)));
    }

    fn likeness(&self, job: JobId) -> Likeness {
        let need = self.view.jobs.need(job, self.view.platform);
        (JobClass::of(self.view, job), self.ask.estimate(job), need)
    }
}
