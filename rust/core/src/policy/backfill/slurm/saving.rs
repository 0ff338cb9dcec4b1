//! Power saving: scans that resume nodes for jobs and suspend idle ones, at limited rates (rules 44 to 46 and 49).

use crate::platform::node_state::NodeState;
use crate::policy::backfill::slurm::clock::{Beats, Clock, just_after};
use crate::policy::backfill::slurm::nodes::{Nodes, Power};
use crate::policy::backfill::slurm::running::Running;
use crate::policy::backfill::slurm::settings::{Saving, Settings, SlurmRelease};
use crate::units::{SimDuration, SimTime};

/// The power-saving thread.
#[derive(Clone, Debug)]
pub(super) struct Saver {
    settings: Saving,
    wakes: Beats,
    /// Wakes before this instant are over.
    seen: SimTime,
    last_scan: i64,
    /// Second of the last change of a node.
    updated: i64,
    suspends: Rate,
    resumes: Rate,
}

/// Nodes that a scan switches.
#[derive(Clone, Debug, Default)]
pub(super) struct Scan {
    pub(super) resume: Vec<u32>,
    pub(super) suspend: Vec<u32>,
    /// Nodes that are asleep and available from now on.
    pub(super) asleep: Vec<u32>,
    /// Nodes that did not boot in time.
    pub(super) failed: Vec<u32>,
}

impl Saver {
    pub(super) fn new(settings: &Settings, clock: Clock) -> Option<Self> {
        let saving = settings.saving.clone()?;
        let started = settings.timing.started();
        let first =
            settings.timing.scan_phase.unwrap_or_else(|| started.saturating_add(SimDuration::from_micros(1_000_000)));
        let buckets = settings.release >= SlurmRelease::R2405;
        Some(Self {
            wakes: Beats::periodic(first, 1_000_000).unless_listed(&settings.beats.scan),
            seen: started,
            last_scan: clock.second(started),
            updated: clock.second(started),
            suspends: Rate::new(saving.suspend_rate, saving.interval, buckets),
            resumes: Rate::new(saving.resume_rate, saving.interval, buckets),
            settings: saving,
        })
    }

    /// Notes a change of a node.
    pub(super) fn note_change(&mut self, second: i64) {
        self.updated = self.updated.max(second);
    }

    /// Next scan.
    pub(super) fn due(&self, clock: Clock) -> SimTime {
        if self.wakes.are_listed() {
            return self.wakes.at_or_after(self.seen);
        }
        let saving = &self.settings;
        let wait = if self.updated >= self.last_scan { 0 } else { saving.interval };
        self.wakes.at_or_after(self.seen.max(clock.instant(self.last_scan + wait.max(saving.min_interval))))
    }

    /// First scan, if nothing changes, at which there is something to do; none if there never is.
    pub(super) fn next_needed(&self, nodes: &Nodes, clock: Clock) -> Option<SimTime> {
        let needed = (0..nodes.len()).filter_map(|node| self.needed_from(nodes, node)).min()?;
        let mut thread = self.clone();
        loop {
            let at = thread.due(clock);
            if clock.second(at) >= needed {
                return Some(at);
            }
            thread.pass_scan(at, clock);
        }
    }

    /// Second from which a scan has something to do with a node.
    fn needed_from(&self, nodes: &Nodes, node: u32) -> Option<i64> {
        let saving = &self.settings;
        match nodes.power[node as usize] {
            Power::Wanted => Some(i64::MIN),
            Power::Stopping { since } => Some(since + saving.suspend_timeout + 1),
            Power::Booting { since } => Some(since + saving.resume_timeout + 1),
            Power::On => self.may_rest(nodes, node).then(|| nodes.last_busy[node as usize] + saving.idle + 1),
            Power::Asleep | Power::Down => None,
        }
    }

    /// True if a node that is on idles and is not excluded.
    fn may_rest(&self, nodes: &Nodes, node: u32) -> bool {
        let is_kept = self.settings.exclude.iter().any(|&(first, last)| (first..=last).contains(&node));
        nodes.free.contains(node) && !nodes.completing.contains(node) && !is_kept
    }

    /// True if a node that is on has idled for longer than `SuspendTime`.
    fn is_ripe(&self, nodes: &Nodes, node: u32, now: i64) -> bool {
        self.may_rest(nodes, node) && nodes.last_busy[node as usize] < now - self.settings.idle
    }

    /// Passes the scans before an instant, at which there was nothing to do.
    pub(super) fn pass(&mut self, now: SimTime, clock: Clock) {
        while self.due(clock) < now {
            self.pass_scan(self.due(clock), clock);
        }
        self.seen = self.seen.max(now);
    }

    fn pass_scan(&mut self, at: SimTime, clock: Clock) {
        let second = clock.second(at);
        let since = second - self.last_scan;
        self.suspends.decay(since);
        self.resumes.decay(since);
        self.last_scan = second;
        self.seen = just_after(at);
    }

    /// Makes a scan: first nodes for jobs are resumed, in the order in which these got them, then each node is looked
    /// at in turn. `state` returns how far a node has really got.
    pub(super) fn scan(
        &mut self,
        (at, clock): (SimTime, Clock),
        (nodes, running): (&mut Nodes, &Running),
        state: &dyn Fn(u32) -> NodeState,
    ) -> Scan {
        self.pass_scan(at, clock);
        let (mut scan, now) = (Scan::default(), clock.second(at));
        let mut jobs: Vec<_> = running.list().iter().collect();
        jobs.sort_by_key(|job| job.number);
        let wanted: Vec<u32> = jobs.iter().flat_map(|job| sorted(&job.nodes)).collect();
        for node in wanted {
            let is_off = nodes.power[node as usize] == Power::Wanted && state(node) == NodeState::Off;
            if is_off && self.resumes.take() {
                nodes.turn(node, Power::Booting { since: now });
                scan.resume.push(node);
            }
        }
        for node in 0..nodes.len() {
            self.look_at(node, now, nodes, (state, &mut scan));
        }
        if scan.resume.len() + scan.suspend.len() + scan.asleep.len() + scan.failed.len() > 0 {
            self.note_change(now);
        }
        scan
    }

    fn look_at(
        &mut self,
        node: u32,
        now: i64,
        nodes: &mut Nodes,
        (state, scan): (&dyn Fn(u32) -> NodeState, &mut Scan),
    ) {
        let (suspend_timeout, resume_timeout) = (self.settings.suspend_timeout, self.settings.resume_timeout);
        match nodes.power[node as usize] {
            Power::On if self.is_ripe(nodes, node, now) && state(node) == NodeState::Idle && self.suspends.take() => {
                nodes.turn(node, Power::Stopping { since: now });
                scan.suspend.push(node);
            }
            Power::Stopping { since } if since + suspend_timeout < now && state(node) == NodeState::Off => {
                nodes.turn(node, Power::Asleep);
                scan.asleep.push(node);
            }
            Power::Booting { since } if since + resume_timeout < now => {
                nodes.turn(node, Power::Down);
                scan.failed.push(node);
            }
            _ => {}
        }
    }
}

fn sorted(nodes: &[u32]) -> Vec<u32> {
    let mut nodes = nodes.to_vec();
    nodes.sort_unstable();
    nodes
}

/// Limit on the nodes that are switched in a minute.
#[derive(Clone, Debug)]
struct Rate {
    /// Nodes a minute; 0: no limit.
    limit: u32,
    /// A counter that decays within a minute, or the tokens of a bucket.
    level: f64,
    /// Capacity of the bucket; none: a counter.
    bucket: Option<f64>,
}

impl Rate {
    #[expect(clippy::cast_precision_loss, reason = "rates are small")]
    fn new(limit: u32, interval: i64, buckets: bool) -> Self {
        let bucket = buckets.then(|| (f64::from(limit) * interval as f64 / 60.0).max(1.0));
        Self { limit, level: bucket.unwrap_or(0.0), bucket }
    }

    /// Lets seconds pass.
    #[expect(clippy::cast_precision_loss, reason = "rates are small")]
    fn decay(&mut self, seconds: i64) {
        self.level = match self.bucket {
            Some(most) => (self.level + seconds as f64 * f64::from(self.limit) / 60.0).min(most),
            None if seconds >= 60 => 0.0,
            None => self.level * ((60 - seconds.max(0)) as f64 / 60.0),
        };
    }

    /// Counts a node that is switched; false if it has to wait.
    fn take(&mut self) -> bool {
        let may = match self.bucket {
            _ if self.limit == 0 => return true,
            Some(_) => self.level >= 1.0,
            None => (self.level + 0.5).floor() < f64::from(self.limit),
        };
        if may {
            self.level += if self.bucket.is_some() { -1.0 } else { 1.0 };
        }
        may
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_lets_that_many_nodes_go_at_once_and_then_one_each_share_of_a_minute() {
        let mut rate = Rate::new(2, 10, false);
        assert_eq!([rate.take(), rate.take(), rate.take()], [true, true, false]);
        rate.decay(14);
        assert!(!rate.take());
        rate.decay(2);
        assert!(rate.take() && !rate.take());
    }

    #[test]
    fn a_bucket_holds_the_tokens_of_one_interval_but_one_at_least() {
        let mut rate = Rate::new(2, 10, true);
        assert_eq!([rate.take(), rate.take()], [true, false]);
        rate.decay(29);
        assert!(!rate.take());
        rate.decay(2);
        assert!(rate.take());
    }
}
