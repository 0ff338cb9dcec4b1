//! Passes to come that decisions ask for.

use crate::algo::event_heap::EventHeap;
use crate::cluster::Cluster;
use crate::control::Effect;
use crate::control::conductor::waiting::Waiting;
use crate::policy::Decision;

/// Pass to come that the policy or its timing has asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Call {
    /// A timer runs out.
    Timer,
    /// A pass that waited for its interval is due.
    PassDue,
}

/// Follows a decision that the cluster has carried out: timers, and ends for which jobs may wait.
pub(super) fn follow(
    cluster: &Cluster,
    effect: &Effect,
    decision: &Decision,
    calls: &mut EventHeap<Call>,
    waiting: Option<&mut Waiting>,
) {
    let over = match (effect, decision) {
        (Effect::Timer(at), _) => {
            calls.push(*at, 0, Call::Timer);
            None
        }
        (Effect::Rejected(job, _), _) => Some(*job),
        (Effect::Ended(..), Decision::Requeue(_)) => None,
        (Effect::Ended(_, run), _) => Some(run.job),
        _ => None,
    };
    if let Some((job, waiting)) = over.zip(waiting) {
        waiting.end(job, cluster.now(), false);
    }
}
