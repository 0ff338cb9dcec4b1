//! Runs: each start is a run with a separate identity, so that a statement about an earlier run is never taken for it.

use std::ops::Range;
use std::sync::Arc;

use crate::algo::releases::Claim;
use crate::cluster::counted::Basis;
use crate::power::in_force::CapsInForce;
use crate::units::{SimDuration, SimTime, Watts};
use crate::workload::JobId;

/// Generational id of a run: a slot that is reused, and the number of runs that have used it before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RunId {
    slot: u32,
    life: u32,
}

/// A job on its nodes.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// Its job.
    pub job: JobId,
    /// Instant of its start.
    pub started: SimTime,
    /// Number of starts of the job, this one included.
    pub attempt: u32,
    /// Planned end; for a suspended run, the one from before its suspension.
    pub planned_end: SimTime,
    /// Claim that it holds until then.
    pub claim: Claim,
    /// Least watts beyond idle that its policy counts for it, not rounded.
    pub watts: Watts,
    /// Basis on which its watts are counted.
    pub basis: Basis,
    /// Caps in force on it.
    pub caps: CapsInForce,
    /// Predicted draw beyond idle under these caps, if the policy governs power.
    pub predicted: Watts,
    /// Predicted time factor, relative to nominal, for which its planned end was last set; 1 if nothing is capped.
    pub pace: f64,
    /// Predicted time factor under its least caps.
    pub least_pace: f64,
    /// Factor by which its size lengthens it, relative to the size it asks for.
    pub size_time: f64,
    /// Time suspended, without the present suspension.
    pub stood: SimDuration,
    /// Present suspension, if there is one.
    pub suspension: Option<Suspension>,
    /// Factor by which profiling lengthens it, if it is profiled.
    pub profiling_ratio: Option<f64>,
    /// Range of its nodes in the list of the nodes of all runs.
    pub places: Range<usize>,
    /// Last change of its size, if there was one.
    pub resize: Option<Box<Resized>>,
}

/// State of a run before the instant in which its size last changed: several changes in one instant count once.
#[derive(Clone, Debug, PartialEq)]
pub struct Resized {
    /// Instant of the change.
    pub at: SimTime,
    /// Range of its nodes before.
    pub places: Range<usize>,
    /// Planned end before.
    pub planned_end: SimTime,
    /// Predicted time factor before, relative to nominal.
    pub pace: f64,
}

/// Suspension of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Suspension {
    /// Start of the suspension.
    pub since: SimTime,
    /// Remaining planned length.
    pub left: SimDuration,
    /// Measured draw of its nodes beyond idle at that instant: the watts that it asks for to be resumed.
    pub asks: Watts,
}

#[derive(Clone, Debug)]
struct Slot {
    life: u32,
    run: Option<Box<Run>>,
}

/// All runs under way, and the nodes of all runs so far.
#[derive(Clone, Debug, Default)]
pub struct Runs {
    slots: Vec<Slot>,
    vacant: Vec<u32>,
    /// Memory of runs that are over.
    spare: Spare,
    /// Nodes of all runs, ascending within each: first the first runs of all jobs, each in its home, then all others in
    /// order of start.
    nodes: Vec<u32>,
    homes: Homes,
}

/// Most runs whose memory is kept.
const SPARE: usize = 64;

/// Memory of runs that are over, for runs to come; no copy takes it along.
#[derive(Debug, Default)]
#[expect(clippy::vec_box, reason = "the boxes are what is kept")]
struct Spare(Vec<Box<Run>>);

impl Clone for Spare {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl Spare {
    /// Keeps a run's memory, unless there is plenty.
    fn keep(&mut self, run: Box<Run>) {
        if self.0.len() < SPARE {
            self.0.push(run);
        }
    }

    /// The run in memory of its own.
    fn hold(&mut self, run: Run) -> Box<Run> {
        let Some(mut place) = self.0.pop() else { return Box::new(run) };
        *place = run;
        place
    }
}

/// Homes: ranges of the list of all nodes that are reserved for the first runs of jobs, in the order of the jobs. If
/// each job runs exactly once, the list ends up in the order of the log, and the output takes it over without a copy.
#[derive(Clone, Debug, Default)]
pub struct Homes(Arc<[u64]>);

impl Homes {
    /// Homes for jobs with these numbers of nodes.
    pub fn new(counts: impl Iterator<Item = u32>) -> Self {
        let mut next = 0;
        let begins = counts.map(|count| {
            next += u64::from(count);
            next
        });
        Self(std::iter::once(0).chain(begins).collect())
    }

    /// Offset of the nodes of the job's first run, if it has a home.
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
    /// Time that it has run by now, without the time suspended.
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
    /// No runs yet, of jobs with these homes.
    #[must_use]
    pub fn new(homes: Homes) -> Self {
        Self { homes, ..Self::default() }
    }

    /// Begins a run.
    ///
    /// # Panics
    /// If 2^32 runs are under way; there are fewer jobs.
    pub fn begin(&mut self, run: Run) -> RunId {
        let run = Some(self.spare.hold(run));
        if let Some(slot) = self.vacant.pop() {
            let place = &mut self.slots[slot as usize];
            place.run = run;
            return RunId { slot, life: place.life };
        }
        let slot = u32::try_from(self.slots.len()).expect("there are fewer than 2^32 jobs");
        self.slots.push(Slot { life: 0, run });
        RunId { slot, life: 0 }
    }

    /// Ends a run; `None` if it was over already.
    pub fn end(&mut self, id: RunId) -> Option<Box<Run>> {
        let slot = self.slots.get_mut(id.slot as usize).filter(|slot| slot.life == id.life)?;
        let run = slot.run.take()?;
        slot.life = slot.life.wrapping_add(1);
        self.vacant.push(id.slot);
        Some(run)
    }

    /// Takes a run that is over and no longer of interest: its memory serves one to come.
    pub fn reuse(&mut self, run: Box<Run>) {
        self.spare.keep(run);
    }

    /// The run, while it is under way.
    #[must_use]
    pub fn get(&self, id: RunId) -> Option<&Run> {
        self.slots.get(id.slot as usize).filter(|slot| slot.life == id.life)?.run.as_deref()
    }

    /// The run under way in a slot.
    #[must_use]
    pub fn in_slot(&self, slot: u32) -> Option<RunId> {
        let place = self.slots.get(slot as usize)?;
        place.run.as_ref().map(|_| RunId { slot, life: place.life })
    }

    /// The run, mutably, while it is under way.
    pub fn get_mut(&mut self, id: RunId) -> Option<&mut Run> {
        self.slots.get_mut(id.slot as usize).filter(|slot| slot.life == id.life)?.run.as_deref_mut()
    }

    /// All runs under way.
    pub fn iter(&self) -> impl Iterator<Item = (RunId, &Run)> {
        (0..).zip(&self.slots).filter_map(|(slot, place): (u32, &Slot)| {
            let id = RunId { slot, life: place.life };
            place.run.as_deref().map(|run| (id, run))
        })
    }

    /// The nodes of a run, ascending.
    #[must_use]
    pub fn nodes(&self, run: &Run) -> &[u32] {
        &self.nodes[run.places.clone()]
    }

    /// Stores the nodes of a run to come, sorted; returns their range.
    ///
    /// # Errors
    /// The lowest node that is given twice.
    pub fn write(&mut self, job: JobId, is_first: bool, nodes: &[u32]) -> Result<Range<usize>, u32> {
        let home = self.homes.of(job).filter(|_| is_first);
        let first = home.unwrap_or_else(|| self.nodes.len().max(self.homes.end()));
        let places = first..first + nodes.len();
        if self.nodes.len() < places.end {
            self.nodes.resize(places.end, 0);
        }
        let own = &mut self.nodes[places.clone()];
        own.copy_from_slice(nodes);
        // Nearly all ascend, and a count needs no branch a node.
        let steps_down = own.windows(2).filter(|pair| pair[0] >= pair[1]).count();
        if steps_down > 0 {
            own.sort_unstable();
            if let Some(twice) = own.windows(2).find(|pair| pair[0] == pair[1]) {
                return Err(twice[0]);
            }
        }
        Ok(places)
    }

    /// Pause in the progress of a run whose nodes have changed at `now`. Zero if the run begins in this instant, or has
    /// its old nodes again.
    #[must_use]
    pub fn pause(&self, run: &Run, now: SimTime, pause: SimDuration) -> SimDuration {
        let before = run.resize.as_ref().filter(|before| before.at == now && run.started < now);
        let is_changed = before.is_some_and(|before| self.nodes[before.places.clone()] != *self.nodes(run));
        if is_changed { pause } else { SimDuration::ZERO }
    }

    /// Nodes in a range that was stored.
    #[must_use]
    pub fn written(&self, places: Range<usize>) -> &[u32] {
        &self.nodes[places]
    }

    /// Offset of the home of a job's first run in the list of all nodes, if it has one.
    #[must_use]
    pub fn home(&self, job: JobId) -> Option<usize> {
        self.homes.of(job)
    }

    /// True if nothing has ever run.
    #[must_use]
    pub fn is_unused(&self) -> bool {
        self.slots.is_empty()
    }

    /// The nodes of all runs so far, and the offsets of those of jobs' first runs.
    #[must_use]
    pub fn into_nodes(self) -> (Vec<u32>, Homes) {
        (self.nodes, self.homes)
    }
}

#[cfg(test)]
impl Run {
    /// Run of the first job, from the beginning of time on.
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
        assert_eq!(runs.end(first), Some(Box::new(run(1))));
        let next = runs.begin(run(3));
        assert_eq!((next.slot(), runs.in_slot(next.slot())), (first.slot(), Some(next)));
        assert_eq!(runs.end(first), None);
        assert_eq!(runs.get(first), None);
        assert_eq!(runs.iter().map(|(id, run)| (id, run.job.0)).collect::<Vec<_>>(), [(next, 3), (other, 2)]);
    }

    #[test]
    fn a_run_pauses_if_it_has_other_nodes_than_before_the_instant() {
        let (mut runs, pause) = (Runs::default(), SimDuration::from_micros(7));
        let [before, other, same] =
            [&[1, 2][..], &[1], &[1, 2]].map(|nodes| runs.write(JobId(0), false, nodes).unwrap());
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
        assert_eq!(runs.write(JobId(1), true, &[7, 3, 5]), Ok(2..5));
        assert_eq!(runs.written(2..5), [3, 5, 7]);
        assert_eq!(runs.write(JobId(1), false, &[4, 2, 6]), Ok(6..9));
        assert_eq!(runs.write(JobId(0), true, &[4, 1]), Ok(0..2));
        assert_eq!(runs.write(JobId(2), false, &[9, 8, 9, 8]), Err(8));
        assert_eq!(runs.into_nodes().0[..9], [1, 4, 3, 5, 7, 0, 2, 4, 6]);
    }
}
