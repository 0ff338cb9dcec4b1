//! Hands of a simulation: apply the controller's decisions to the plant, and record them in the history.

use crate::algo::event_heap::EventHeap;
use crate::cluster::runs::{Run, RunId};
use crate::cluster::{Cluster, Moved};
use crate::control::Effect;
use crate::error::SimulationError;
use crate::policy::Decision;
use crate::sim::event::Event;
use crate::sim::feeds::Feeds;
use crate::sim::log::{Entry, Kind};
use crate::sim::plant::Plant;
use crate::sim::record::{History, JobState};
use crate::sim::tally::Tally;
use crate::sim::waiting::Waiting;
use crate::units::{SimTime, Watts};
use crate::workload::JobId;

/// The parts of a simulation that carry decisions out.
pub(super) struct Hands<'a> {
    pub(super) now: SimTime,
    pub(super) plant: &'a mut Plant,
    pub(super) feeds: &'a Feeds,
    pub(super) history: &'a mut History,
    pub(super) coming: &'a mut EventHeap<Event>,
    pub(super) tally: &'a mut Option<Tally>,
    pub(super) waiting: &'a mut Option<Waiting>,
    /// True during an emergency.
    pub(super) in_emergency: bool,
    /// Runs that were suspended now, and their measured draws above idle before.
    pub(super) asked: Vec<(RunId, Watts)>,
}

impl Hands<'_> {
    /// Applies a decision that the cluster has carried out to plant, history and event queue.
    pub(super) fn act(
        &mut self,
        cluster: &Cluster,
        decision: &Decision,
        effect: Effect,
    ) -> Result<(), SimulationError> {
        let (now, before) = (self.now, self.plant.draw());
        if let Some(tally) = self.tally {
            tally.note(cluster.workload(), decision, &effect);
        }
        match effect {
            Effect::Started(id) => {
                self.plant.begin(cluster, id)?;
                self.history.start(cluster, id, decision, |job| self.feeds.joined_now(job));
            }
            Effect::Waking(nodes, until) => {
                let step = self.plant.boot(now, nodes);
                self.history.boot(nodes);
                self.history.note_nodes(now, Kind::Wake, nodes, (before, step));
                self.coming.push(until, Event::NodeReady(nodes).rank(), Event::NodeReady(nodes));
            }
            Effect::Sleeping(nodes, until) => {
                let step = self.plant.shut_down(now, nodes);
                self.history.shut_down(nodes);
                self.history.note_nodes(now, Kind::Sleep, nodes, (before, step));
                self.coming.push(until, Event::NodeOff(nodes).rank(), Event::NodeOff(nodes));
            }
            Effect::Timer(at) => self.coming.push(at, Event::Timer.rank(), Event::Timer),
            Effect::Rejected(job, why) => {
                self.history.reject(job, why);
                self.note_end(job);
            }
            Effect::Sized(_) => {}
            Effect::Capped(id) => {
                self.plant.recap(cluster, id);
                self.note_cap(cluster, decision, before);
            }
            Effect::Suspended(id) => {
                let asks = self.plant.suspend(cluster, id);
                self.asked.push((id, asks));
                self.note(Kind::Suspend, cluster.runs().get(id), f64::NAN, before);
            }
            Effect::Resumed(id) => {
                self.plant.resume(cluster, id);
                self.note(Kind::Resume, cluster.runs().get(id), f64::NAN, before);
            }
            Effect::Ended(id, run) => self.end(cluster, decision, id, &run, before),
            Effect::Resized(id, moved) => {
                self.plant.resize(cluster, id, &moved);
                let Some(run) = cluster.runs().get(id) else { return Ok(()) };
                self.history.resize(run);
                self.note_size(run, &moved, before);
            }
        }
        Ok(())
    }

    fn end(&mut self, cluster: &Cluster, decision: &Decision, id: RunId, run: &Run, before: Watts) {
        let outcome = self.plant.end(cluster, id, run);
        match decision {
            Decision::Requeue(_) => {
                self.history.requeue(cluster, run, &outcome);
                self.note(Kind::Requeue, Some(run), f64::NAN, before);
            }
            Decision::TimeOut(_) => {
                self.history.end(cluster, run, &outcome, Some(JobState::Timeout));
                self.note_end(run.job);
            }
            _ => {
                self.history.end(cluster, run, &outcome, Some(JobState::Overdrawn));
                self.note_end(run.job);
                self.note(Kind::Kill, Some(run), f64::NAN, before);
            }
        }
    }

    /// Notes that a job has ended without completing, for which others may wait.
    fn note_end(&mut self, job: JobId) {
        if let Some(waiting) = self.waiting {
            waiting.end(job, self.now, false);
        }
    }

    /// Logs a cap that an emergency has set or lifted. The allocator's are not logged.
    fn note_cap(&mut self, cluster: &Cluster, decision: &Decision, before: Watts) {
        let &Decision::Limit(id, cap_w) = decision else { return };
        let kind = if self.in_emergency { Kind::LowerCap } else { Kind::RaiseCap };
        let run = cluster.runs().get(id);
        let cap_w = run.map_or(cap_w, |run| cap_w.min(run.caps.own_w));
        self.note(kind, run, if cap_w == f64::INFINITY { f64::NAN } else { cap_w }, before);
    }

    fn note_size(&mut self, run: &Run, moved: &Moved, before: Watts) {
        let kind = if moved.left.is_empty() { Kind::Grow } else { Kind::Shrink };
        let size = u32::try_from(run.places.len()).unwrap_or(u32::MAX);
        self.note(kind, Some(run), f64::from(size), before);
    }

    fn note(&mut self, kind: Kind, run: Option<&Run>, value_w: f64, before: Watts) {
        let (job, after) = (run.map(|run| run.job), self.plant.draw());
        self.history.note(Entry { job, value_w, before, ..Entry::new(self.now, kind, after) });
    }
}
