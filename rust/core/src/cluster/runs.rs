//! What runs: each start is a run with an identity of its own, so that nothing said of an earlier one is taken for it.

use std::ops::Range;
use std::sync::Arc;

use crate::algo::releases::Claim;
use crate::cluster::decisions::Basis;
use crate::power::in_force::CapsInForce;
use crate::units::{SimDuration, SimTime, Watts};
use crate::workload::JobId;

/// A run: a place that is used again, and how often it has been.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RunId {
    slot: u32,
    life: u32,
}

/// A job on its nodes.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// Which job.
    pub job: JobId,
    /// Since when.
    pub started: SimTime,
    /// How many times the job has started, this time included.
    pub attempt: u32,
    /// When it is planned to end; of one that is suspended, when it was.
    pub planned_end: SimTime,
    /// What it holds until then.
    pub claim: Claim,
    /// The least watts beyond idle that its policy counts for it, exactly.
    pub watts: Watts,
    /// What it counts with.
    pub basis: Basis,
    /// The caps in force on it.
    pub caps: CapsInForce,
    /// What it is predicted to draw beyond idle under these, where that is looked after.
    pub predicted: Watts,
    /// How much longer than nominal it was predicted to take when its planned end was last set, and would under its least
    /// caps; 1 where nothing is capped.
    pub pace: f64,
    /// The same under its least caps.
    pub least_pace: f64,
    /// How many times as long it takes on its nodes as on as many as it asks for.
    pub size_time: f64,
    /// How long it stood still before.
    pub stood: SimDuration,
    /// Since when it stands still, if it does.
    pub suspension: Option<Suspension>,
    /// How many times longer it takes because it is profiled, if it is.
    pub profiling_ratio: Option<f64>,
    /// Where its nodes stand among those of all runs.
    pub places: Range<usize>,
    /// The instant in which its size was last changed, if it was.
    pub resize: Option<Box<Resized>>,
}

/// A run whose size changes, as it was before the instant in which it does: however often it does, that counts once.
#[derive(Clone, Debug, PartialEq)]
pub struct Resized {
    /// The instant.
    pub at: SimTime,
    /// Where its nodes stood.
    pub places: Range<usize>,
    /// When it was planned to end.
    pub planned_end: SimTime,
    /// How much longer than nominal it was predicted to take.
    pub pace: f64,
}

/// A run that stands still.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Suspension {
    /// Since when.
    pub since: SimTime,
    /// What was left of its planned length.
    pub left: SimDuration,
    /// The watts beyond idle that its nodes were measured to draw then: what it asks for to go on.
    pub asks: Watts,
}

#[derive(Clone, Debug)]
struct Slot {
    life: u32,
    run: Option<Run>,
}

/// All runs under way, and the nodes of all there ever were.
#[derive(Clone, Debug, Default)]
pub struct Runs {
    slots: Vec<Slot>,
    vacant: Vec<u32>,
    /// Nodes of all runs, each run's ascending: first the first runs of all jobs, in places of their own, then all others
    /// in order of start.
    nodes: Vec<u32>,
    homes: Homes,
}

/// Where in the list of all nodes the first run of each job has its own, in the order of the jobs.
#[derive(Clone, Debug, Default)]
pub struct Homes(Arc<[u64]>);

impl Homes {
    /// For jobs that take so many nodes each.
    pub fn new(counts: impl Iterator<Item = u32>) -> Self {
        let mut next = 0;
        let begins = counts.map(|count| {
            next += u64::from(count);
            next
        });
        Self(std::iter::once(0).chain(begins).collect())
    }

    /// Where the first run of the job has its nodes, if it was told of.
    #[must_use]
    pub fn of(&self, job: JobId) -> Option<usize> {
        let row = job.0 as usize;
        self.0.get(row + 1).and_then(|_| usize::try_from(self.0[row]).ok())
    }

    fn end(&self) -> usize {
        self.0.last().map_or(0, |&end| usize::try_from(end).unwrap_or(usize::MAX))
    }
}

impl Run {
    /// How long it has run by now, but for the time in which it stood still.
    #[must_use]
    pub fn ran(&self, now: SimTime) -> SimDuration {
        self.suspension.map_or(now, |suspension| suspension.since) - self.started - self.stood
    }
}

impl RunId {
    /// A small number that no other run under way has.
    #[must_use]
    pub fn slot(self) -> u32 {
        self.slot
    }
}

impl Runs {
    /// None yet, of jobs that have these places.
    #[must_use]
    pub fn new(homes: Homes) -> Self {
        Self { homes, ..Self::default() }
    }

    /// A run begins.
    ///
    /// # Panics
    /// If 2^32 runs are under way: there are fewer jobs.
    pub fn begin(&mut self, run: Run) -> RunId {
        if let Some(slot) = self.vacant.pop() {
            let place = &mut self.slots[slot as usize];
            place.run = Some(run);
            return RunId { slot, life: place.life };
        }
        let slot = u32::try_from(self.slots.len()).expect("there are fewer than 2^32 jobs");
        self.slots.push(Slot { life: 0, run: Some(run) });
        RunId { slot, life: 0 }
    }

    /// A run is over; none if it was already.
    pub fn end(&mut self, id: RunId) -> Option<Run> {
        let slot = self.slots.get_mut(id.slot as usize).filter(|slot| slot.life == id.life)?;
        let run = slot.run.take()?;
        slot.life = slot.life.wrapping_add(1);
        self.vacant.push(id.slot);
        Some(run)
    }

    /// The run, while it is under way.
    #[must_use]
    pub fn get(&self, id: RunId) -> Option<&Run> {
        self.slots.get(id.slot as usize).filter(|slot| slot.life == id.life)?.run.as_ref()
    }

    /// The run under way in a slot.
    #[must_use]
    pub fn in_slot(&self, slot: u32) -> Option<RunId> {
        let place = self.slots.get(slot as usize)?;
        place.run.as_ref().map(|_| RunId { slot, life: place.life })
    }

    /// The run, to be changed.
    pub fn get_mut(&mut self, id: RunId) -> Option<&mut Run> {
        self.slots.get_mut(id.slot as usize).filter(|slot| slot.life == id.life)?.run.as_mut()
    }

    /// All runs under way.
    pub fn iter(&self) -> impl Iterator<Item = (RunId, &Run)> {
        (0..).zip(&self.slots).filter_map(|(slot, place): (u32, &Slot)| {
            let id = RunId { slot, life: place.life };
            place.run.as_ref().map(|run| (id, run))
        })
    }

    /// The nodes of a run, ascending.
    #[must_use]
    pub fn nodes(&self, run: &Run) -> &[u32] {
        &self.nodes[run.places.clone()]
    }

    /// Writes down the nodes of a run to come, sorted; returns where.
    pub fn write(&mut self, job: JobId, is_first: bool, nodes: &[u32]) -> Range<usize> {
        let home = self.homes.of(job).filter(|_| is_first);
        let first = home.unwrap_or_else(|| self.nodes.len().max(self.homes.end()));
        let places = first..first + nodes.len();
        if self.nodes.len() < places.end {
            self.nodes.resize(places.end, 0);
        }
        let own = &mut self.nodes[places.clone()];
        own.copy_from_slice(nodes);
        own.sort_unstable();
        places
    }

    /// How long a run makes no progress because its nodes have changed at `now`, if they have: of one that begins in
    /// this instant nothing changes, nor of one that has its old nodes again.
    #[must_use]
    pub fn pause(&self, run: &Run, now: SimTime, pause: SimDuration) -> SimDuration {
        let before = run.resize.as_ref().filter(|before| before.at == now && run.started < now);
        let is_changed = before.is_some_and(|before| self.nodes[before.places.clone()] != *self.nodes(run));
        if is_changed { pause } else { SimDuration::ZERO }
    }

    /// Nodes that were written down.
    #[must_use]
    pub fn written(&self, places: Range<usize>) -> &[u32] {
        &self.nodes[places]
    }

    /// Start of the nodes of a job's first run among all that are written down, if it has a place of its own.
    #[must_use]
    pub fn home(&self, job: JobId) -> Option<usize> {
        self.homes.of(job)
    }

    /// Whether nothing has ever run.
    #[must_use]
    pub fn is_unused(&self) -> bool {
        self.slots.is_empty()
    }

    /// The nodes of all runs there ever were, and where those of jobs' first runs are.
    #[must_use]
    pub fn into_nodes(self) -> (Vec<u32>, Homes) {
        (self.nodes, self.homes)
    }
}

#[cfg(test)]
impl Run {
    /// Of the first job, from the beginning of time on.
    pub(crate) fn test(places: Range<usize>) -> Self {
        Self {
            job: JobId(0),
            started: SimTime::from_micros(0),
            planned_end: SimTime::from_micros(5),
            attempt: 1,
            claim: Claim::default(),
            watts: Watts::ZERO,
            basis: Basis::default(),
            caps: CapsInForce::own(f64::INFINITY),
            predicted: Watts::ZERO,
            pace: 1.0,
            least_pace: 1.0,
            size_time: 1.0,
            stood: SimDuration::ZERO,
            suspension: None,
            profiling_ratio: None,
            places,
            resize: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(job: u32) -> Run {
        Run { job: JobId(job), ..Run::test(0..0) }
    }

    #[test]
    fn a_run_that_is_over_is_not_the_next_one_in_its_place() {
        let mut runs = Runs::default();
        let (first, other) = (runs.begin(run(1)), runs.begin(run(2)));
        assert_eq!(runs.end(first), Some(run(1)));
        let next = runs.begin(run(3));
        assert_eq!((next.slot(), runs.in_slot(next.slot())), (first.slot(), Some(next)));
        assert_eq!(runs.end(first), None);
        assert_eq!(runs.get(first), None);
        assert_eq!(runs.iter().map(|(id, run)| (id, run.job.0)).collect::<Vec<_>>(), [(next, 3), (other, 2)]);
    }

    #[test]
    fn a_run_pauses_if_it_has_other_nodes_than_before_the_instant() {
        let (mut runs, pause) = (Runs::default(), SimDuration::from_micros(7));
        let [before, other, same] = [&[1, 2][..], &[1], &[1, 2]].map(|nodes| runs.write(JobId(0), false, nodes));
        let at = SimTime::from_micros(9);
        let resized = |places: Range<usize>, started| {
            let resize = Resized { at, places: before.clone(), planned_end: at, pace: 1.0 };
            Run { started, resize: Some(Box::new(resize)), ..Run::test(places) }
        };
        let early = SimTime::from_micros(0);
        assert_eq!(runs.pause(&resized(other.clone(), early), at, pause), pause);
        assert_eq!(runs.pause(&resized(same, early), at, pause), SimDuration::ZERO);
        assert_eq!(runs.pause(&resized(other.clone(), at), at, pause), SimDuration::ZERO, "it begins so");
        assert_eq!(runs.pause(&resized(other, early), SimTime::from_micros(10), pause), SimDuration::ZERO);
    }

    #[test]
    fn nodes_are_written_down_in_ascending_order() {
        let mut runs = Runs::new(Homes::new([2, 3, 1].into_iter()));
        assert_eq!(runs.write(JobId(1), true, &[7, 3, 5]), 2..5);
        assert_eq!(runs.written(2..5), [3, 5, 7]);
        assert_eq!((runs.write(JobId(1), false, &[4, 2, 6]), runs.write(JobId(0), true, &[4, 1])), (6..9, 0..2));
        assert_eq!(runs.into_nodes().0, [1, 4, 3, 5, 7, 0, 2, 4, 6]);
    }
}
