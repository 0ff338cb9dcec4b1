//! Hands of a simulation: apply the controller's decisions to the plant, and record them in the history.

use crate::cluster::runs::{Run, RunId};
use crate::cluster::{Cluster, Moved};
use crate::control::Effect;
use crate::error::SimulationError;
use crate::policy::Decision;
use crate::sim::event::Event;
use crate::sim::job_state::JobState;
use crate::sim::log::{Entry, EntryKind};
use crate::sim::world::World;
use crate::units::{SimTime, Watts};

/// Instant, whether it is one of an emergency, and the draw before a decision.
#[derive(Clone, Copy)]
struct Moment {
    now: SimTime,
    in_emergency: bool,
    before: Watts,
}

impl World {
    /// Applies a decision that the cluster has carried out to plant, history and event queue.
    pub(super) fn carry_out(
        &mut self,
        cluster: &Cluster,
        decision: &Decision,
        effect: Effect,
        in_emergency: bool,
    ) -> Result<(), SimulationError> {
        let moment = Moment { now: cluster.now(), in_emergency, before: self.plant.draw() };
        let Moment { now, before, .. } = moment;
        if let Some(tally) = &mut self.tally {
            tally.note(cluster.workload(), decision, &effect);
        }
        match effect {
            Effect::Started(id) => {
                self.plant.begin(cluster, id)?;
                let Self { feeds, history, .. } = self;
                history.start(cluster, id, decision, |job| feeds.joined_now(job));
            }
            Effect::Waking(nodes, until) => {
                let step = self.plant.boot(now, nodes);
                self.history.boot(nodes);
                self.history.note_nodes(now, EntryKind::Wake, nodes, (before, step));
                self.coming.push(until, Event::NodeReady(nodes).rank(), Event::NodeReady(nodes));
            }
            Effect::Sleeping(nodes, until) => {
                let step = self.plant.shut_down(now, nodes);
                self.history.shut_down(nodes);
                self.history.note_nodes(now, EntryKind::Sleep, nodes, (before, step));
                self.coming.push(until, Event::NodeOff(nodes).rank(), Event::NodeOff(nodes));
            }
            Effect::Rejected(job, why) => self.history.reject(job, why),
            Effect::Timer(_) | Effect::Sized(_) => {}
            Effect::Capped(id) => {
                self.plant.recap(cluster, id);
                self.note_cap(cluster, decision, moment);
            }
            Effect::Suspended(id) => {
                let asks = self.plant.suspend(cluster, id);
                self.asked.push((id, asks));
                self.log(EntryKind::Suspend, cluster.runs().get(id), f64::NAN, moment);
            }
            Effect::Resumed(id) => {
                self.plant.resume(cluster, id);
                self.log(EntryKind::Resume, cluster.runs().get(id), f64::NAN, moment);
            }
            Effect::Ended(id, run) => self.end_by(cluster, decision, (id, &run), moment),
            Effect::Resized(id, moved) => {
                self.plant.resize(cluster, id, &moved);
                let Some(run) = cluster.runs().get(id) else { return Ok(()) };
                self.history.resize(run);
                self.note_size(run, &moved, moment);
            }
        }
        Ok(())
    }

    fn end_by(&mut self, cluster: &Cluster, decision: &Decision, (id, run): (RunId, &Run), moment: Moment) {
        let outcome = self.plant.end(cluster, id, run);
        match decision {
            Decision::Requeue(_) => {
                self.history.requeue(cluster, run, &outcome);
                self.log(EntryKind::Requeue, Some(run), f64::NAN, moment);
            }
            Decision::TimeOut(_) => {
                self.history.end(cluster, run, &outcome, Some(JobState::Timeout));
            }
            _ => {
                self.history.end(cluster, run, &outcome, Some(JobState::Overdrawn));
                self.log(EntryKind::Kill, Some(run), f64::NAN, moment);
            }
        }
    }

    /// Logs a cap that an emergency has set or lifted. The allocator's are not logged.
    fn note_cap(&mut self, cluster: &Cluster, decision: &Decision, moment: Moment) {
        let &Decision::Limit(id, cap_w) = decision else { return };
        let kind = if moment.in_emergency { EntryKind::LowerCap } else { EntryKind::RaiseCap };
        let run = cluster.runs().get(id);
        let cap_w = run.map_or(cap_w, |run| cap_w.min(run.caps.own_w));
        self.log(kind, run, if cap_w == f64::INFINITY { f64::NAN } else { cap_w }, moment);
    }

    fn note_size(&mut self, run: &Run, moved: &Moved, moment: Moment) {
        let kind = if moved.left.is_empty() { EntryKind::Grow } else { EntryKind::Shrink };
        let size = u32::try_from(run.places.len()).unwrap_or(u32::MAX);
        self.log(kind, Some(run), f64::from(size), moment);
    }

    fn log(&mut self, kind: EntryKind, run: Option<&Run>, value_w: f64, Moment { now, before, .. }: Moment) {
        let (job, after) = (run.map(|run| run.job), self.plant.draw());
        self.history.note(Entry { job, value_w, before, ..Entry::new(now, kind, after) });
    }
}
