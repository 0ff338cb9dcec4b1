//! Observations of an agent: numbers from 0 to 1 about the first jobs of the queue and about the machine.

use crate::algo::fit_list::Waiting;
use crate::algo::releases::Claim;
use crate::policy::agent::Shape;
use crate::policy::budget::prices::Prices;
use crate::policy::desk::Desk;
use crate::units::{SimDuration, SimTime, Watts};
use crate::workload::JobId;

/// Numbers per job: presence, nodes, planned length, wait, mean and least watts, whether it can start, and whether its
/// start would delay the head: the first job that cannot start, if that is ahead of it.
pub const ROW: usize = 8;

/// Horizons, s: for each the share of the machine is shown that is planned to be released within it.
pub const HORIZONS_S: [i64; 8] = [60, 300, 900, 3_600, 14_400, 43_200, 86_400, 604_800];

/// Numbers of the machine: free share, queued and running jobs, draw, budget, level of the cap, and the releases.
pub const MACHINE: usize = 6 + HORIZONS_S.len();

const DRAW: usize = 3;
const BUDGET: usize = 4;
const LEVEL: usize = 5;
const RELEASES: usize = 6;

/// End of the logarithmic scale of times: a week.
const LONGEST_S: f64 = 604_800.0;
/// End of the logarithmic scale of numbers of jobs.
const MOST_JOBS: f64 = 10_000.0;

/// An observation, and the mask of actions.
#[derive(Clone, Debug)]
pub struct Seen {
    /// [`ROW`] numbers per job, job after job; zeros where there is none.
    pub queue: Vec<f32>,
    /// Numbers of the machine.
    pub machine: [f32; MACHINE],
    /// 1 for each action that can be chosen, else 0.
    pub mask: Vec<u8>,
}

impl Seen {
    pub(super) fn new(shape: Shape) -> Self {
        Self { queue: vec![0.0; shape.rows * ROW], machine: [0.0; MACHINE], mask: vec![0; shape.actions()] }
    }

    pub(super) fn clear(&mut self) {
        self.queue.fill(0.0);
        self.mask.fill(0);
    }

    pub(super) fn show_jobs(&mut self, desk: &mut Desk<'_>, prices: &mut Prices, shown: &[Waiting], shape: Shape) {
        let (view, ask) = (desk.view, desk.ask());
        let units = view.platform.units();
        let span: Watts = view.platform.tdp() - view.platform.idle();
        let starts: Vec<bool> = (0..shown.len()).map(|row| self.mask[shape.starts_of(row)].contains(&1)).collect();
        let head = starts.iter().position(|&starts| !starts).map(|row| (row, head_of(desk, &shown[row])));
        for (row, waiting) in shown.iter().enumerate() {
            let price = prices.unkept(&ask, JobId(waiting.key.row), ask.estimate(JobId(waiting.key.row)));
            let delays =
                starts[row] && head.is_some_and(|(at, head)| at < row && head.is_delayed_by(view.now, waiting));
            self.queue[row * ROW..(row + 1) * ROW].copy_from_slice(&[
                1.0,
                share(waiting.units as f64, units as f64),
                log_time(waiting.length),
                log_time(view.now - waiting.key.submit),
                share(price.mean.watts(), span.watts()),
                share(price.least.watts(), span.watts()),
                f32::from(u8::from(starts[row])),
                f32::from(u8::from(delays)),
            ]);
        }
    }

    pub(super) fn show_machine(&mut self, desk: &Desk<'_>, queued: usize) {
        let (view, units) = (desk.view, desk.view.platform.units() as f64);
        let running = view.releases.len() + desk.added().len();
        self.machine[0] = share(desk.free_units() as f64, units);
        self.machine[1] = log(queued as f64, MOST_JOBS);
        self.machine[2] = log(running as f64, MOST_JOBS);
        let mut released = [0_i64; HORIZONS_S.len()];
        for release in view.releases.iter().chain(desk.added()) {
            let left = (release.at - view.now).micros();
            let first = HORIZONS_S.partition_point(|&within| within * 1_000_000 < left);
            released[first..].iter_mut().for_each(|sum| *sum += release.claim.units);
        }
        for (shown, sum) in self.machine[RELEASES..].iter_mut().zip(released) {
            *shown = share(sum as f64, units);
        }
    }

    pub(super) fn show_power(&mut self, draw: Watts, ceiling: Option<Watts>, full: Watts) {
        self.machine[DRAW] = share(draw.watts(), full.watts());
        self.machine[BUDGET] = ceiling.map_or(1.0, |ceiling| share(ceiling.watts(), full.watts()));
    }

    pub(super) fn show_level(&mut self, level: usize, levels: usize) {
        self.machine[LEVEL] = if levels < 2 { 0.0 } else { share(level as f64, (levels - 1) as f64) };
    }
}

/// Shadow of the first job that cannot start: the time at which it could by the planned ends of runs, and the units
/// left beside it then.
#[derive(Clone, Copy)]
struct Head {
    at: SimTime,
    extra: i64,
}

fn head_of(desk: &Desk<'_>, waiting: &Waiting) -> Head {
    let units = |units| Claim { units, microwatts: 0 };
    let shadow = desk.view.releases.shadow(desk.view.now, units(desk.free_units()), units(waiting.units), desk.added());
    Head { at: shadow.at, extra: shadow.extra.units }
}

impl Head {
    fn is_delayed_by(self, now: SimTime, waiting: &Waiting) -> bool {
        now.saturating_add(waiting.length) > self.at && waiting.units > self.extra
    }
}

fn share(part: f64, whole: f64) -> f32 {
    if whole > 0.0 { shown(part / whole) } else { 0.0 }
}

fn log(value: f64, most: f64) -> f32 {
    shown(value.max(0.0).ln_1p() / most.ln_1p())
}

fn log_time(span: SimDuration) -> f32 {
    log(span.seconds(), LONGEST_S)
}

#[expect(clippy::cast_possible_truncation, reason = "what is seen needs no more digits")]
fn shown(value: f64) -> f32 {
    value.clamp(0.0, 1.0) as f32
}
