//! Energy, integrated at every change of draw, exactly once.
//!
//! The meter keeps two books that never see each other: each node's, closed when that node changes, and the system's,
//! closed at each instant. Their agreement is the balance of engine rule 6; in whole numbers they agree exactly.

use crate::algo::span::Span;
use crate::error::SimulationError;
use crate::platform::node_state::Class;
use crate::power::pvt::JobDraws;
use crate::units::{Joules, SimDuration, SimTime, Watts};

/// Book of one node. Its idle draw is constant, so that its idle time is not kept: it is what the other classes leave.
///
/// Runs open the books of many nodes at a time: each is one line of the cache, and never parts of two.
#[derive(Clone, Debug)]
#[repr(align(64))]
struct NodeMeter {
    draw: Watts,
    /// Energy of closed intervals, without those in which it idled.
    energy: Joules,
    since: SimTime,
    /// Closed intervals in which it served jobs.
    busy: SimDuration,
    class: Class,
}

/// Draws of a run's nodes, all together, from its begin to its end.
#[derive(Clone, Copy, Debug, Default)]
pub struct Load {
    /// Draw while they serve it.
    busy: Watts,
    /// Draw while they idle.
    idle: Watts,
}

/// All nodes' books and the system's.
#[derive(Clone, Debug)]
pub struct Meter {
    begun: SimTime,
    nodes: Vec<NodeMeter>,
    idle: Vec<Watts>,
    /// Idle draw of every node, if it is the same.
    idle_alike: Option<Watts>,
    /// Time of each node in the classes that few nodes are ever in; empty until one has been.
    rare: Vec<[SimDuration; Class::COUNT]>,
    /// Energy by class, without the nodes' idle intervals.
    by_class: [Joules; Class::COUNT],
    draw: Watts,
    since: SimTime,
    integral: Joules,
}

impl Meter {
    /// Starts at `start` with every node idle, at these draws.
    #[must_use]
    pub fn new(start: SimTime, idle: Vec<Watts>) -> Self {
        let node = |&draw: &Watts| NodeMeter {
            draw,
            energy: Joules::ZERO,
            since: start,
            busy: SimDuration::ZERO,
            class: Class::Idle,
        };
        Self {
            begun: start,
            nodes: idle.iter().map(node).collect(),
            draw: idle.iter().copied().sum(),
            idle_alike: idle.first().copied().filter(|first| idle.iter().all(|draw| draw == first)),
            idle,
            rare: Vec::new(),
            by_class: [Joules::ZERO; Class::COUNT],
            since: start,
            integral: Joules::ZERO,
        }
    }

    /// Moves the system's book to `now`, before anything changes there.
    ///
    /// # Errors
    /// If the energy outgrows its 128 bits. No node's book can overflow before the system's: draws are not negative.
    pub fn advance(&mut self, now: SimTime) -> Result<(), SimulationError> {
        let grown = self.integral.checked_add(self.draw, now - self.since);
        self.integral = grown.ok_or_else(|| SimulationError("the energy of this run is beyond 1.7e20 J".to_owned()))?;
        self.since = now;
        Ok(())
    }

    /// Goes back to an earlier instant if nothing has changed since; false if something has.
    pub fn go_back(&mut self, to: SimTime) -> bool {
        let unchanged = to <= self.since && self.nodes.iter().all(|node| node.since <= to);
        if unchanged {
            self.integral = self.integral - self.draw * (self.since - to);
            self.since = to;
        }
        unchanged
    }

    /// Closes a node's interval at the old draw, then takes the new one; returns the energy of the closed interval.
    pub fn set(&mut self, now: SimTime, node: u32, class: Class, draw: Watts) -> Joules {
        let meter = &mut self.nodes[node as usize];
        let span = now - meter.since;
        let energy = meter.draw * span;
        if meter.class != Class::Idle {
            meter.energy += energy;
            self.by_class[meter.class as usize] += energy;
        }
        match meter.class {
            Class::Idle => {}
            Class::Busy => meter.busy += span,
            rare @ (Class::Off | Class::Transition | Class::Down) => {
                self.rare.resize(self.nodes.len(), [SimDuration::ZERO; Class::COUNT]);
                self.rare[node as usize][rare as usize] += span;
            }
        }
        let meter = &mut self.nodes[node as usize];
        self.draw += draw;
        self.draw -= meter.draw;
        (meter.class, meter.draw, meter.since) = (class, draw, now);
        energy
    }

    /// The same for nodes of one class and one draw, none of which serves a job; returns the change of each node's
    /// draw.
    pub fn set_all(&mut self, now: SimTime, nodes: Span, class: Class, draw: Watts) -> Watts {
        let NodeMeter { class: old, draw: before, .. } = self.nodes[nodes.first() as usize];
        if old != Class::Idle {
            self.rare.resize(self.nodes.len(), [SimDuration::ZERO; Class::COUNT]);
        }
        let mut energy = Joules::ZERO;
        let meters = &mut self.nodes[nodes.places()];
        if old != Class::Idle {
            for (meter, rare) in meters.iter_mut().zip(&mut self.rare[nodes.places()]) {
                let span = now - meter.since;
                let drawn = before * span;
                meter.energy += drawn;
                energy += drawn;
                rare[old as usize] += span;
            }
        }
        for meter in meters {
            debug_assert_eq!((meter.class, meter.draw), (old, before));
            (meter.class, meter.draw, meter.since) = (class, draw, now);
        }
        self.by_class[old as usize] += energy;
        let step = draw - before;
        self.draw += step.times(nodes.len());
        step
    }

    /// Has idle nodes serve a job from `now` on, at the draws that `draw` gives.
    pub fn serve(&mut self, now: SimTime, nodes: &[u32], draw: impl Fn(u32) -> Watts) {
        let (mut less, mut more) = (Watts::ZERO, Watts::ZERO);
        for &node in nodes {
            let meter = &mut self.nodes[node as usize];
            debug_assert_eq!(meter.class, Class::Idle);
            less += meter.draw;
            (meter.class, meter.draw, meter.since) = (Class::Busy, draw(node), now);
            more += meter.draw;
        }
        self.draw += more;
        self.draw -= less;
    }

    /// Has nodes that served a job idle from `now` on; returns their energy since their last change.
    pub fn release(&mut self, now: SimTime, nodes: &[u32]) -> Joules {
        let (mut less, mut more, mut energy) = (Watts::ZERO, Watts::ZERO, Joules::ZERO);
        for &node in nodes {
            let (meter, idle) = (&mut self.nodes[node as usize], self.idle[node as usize]);
            debug_assert_eq!(meter.class, Class::Busy);
            let span = now - meter.since;
            let drawn = meter.draw * span;
            meter.energy += drawn;
            meter.busy += span;
            energy += drawn;
            less += meter.draw;
            more += idle;
            (meter.class, meter.draw, meter.since) = (Class::Idle, idle, now);
        }
        self.by_class[Class::Busy as usize] += energy;
        self.draw += more;
        self.draw -= less;
        energy
    }

    /// Begins a run with draws that stay the same until its end: the books of its nodes, which idle so far, are written
    /// once, at its end.
    pub fn begin(&mut self, nodes: &[u32], draws: JobDraws<'_>) -> Load {
        let count = u32::try_from(nodes.len()).unwrap_or(u32::MAX);
        let sum = |same: Option<Watts>, of: &dyn Fn(u32) -> Watts| match same {
            Some(draw) => draw.times(count),
            None => nodes.iter().map(|&node| of(node)).sum(),
        };
        let busy = sum(draws.same(), &|node| draws.on(node));
        let idle = sum(self.idle_alike, &|node| self.idle[node as usize]);
        self.draw += busy;
        self.draw -= idle;
        Load { busy, idle }
    }

    /// Ends a run that [began](Meter::begin) at `from`: its nodes idle from `now` on. Returns their energy.
    pub fn end(&mut self, from: SimTime, now: SimTime, nodes: &[u32], draws: JobDraws<'_>, load: Load) -> Joules {
        let (span, energy) = (now - from, load.busy * (now - from));
        let each = draws.same().map(|draw| draw * span);
        for &node in nodes {
            let own = each.unwrap_or_else(|| draws.on(node) * span);
            let meter = &mut self.nodes[node as usize];
            debug_assert_eq!(meter.class, Class::Idle);
            meter.energy += own;
            meter.busy += span;
            meter.since = now;
        }
        self.by_class[Class::Busy as usize] += energy;
        self.draw += load.idle;
        self.draw -= load.busy;
        energy
    }

    /// Enters a run that [began](Meter::begin) at `from` into the books of its nodes: from now on each is closed when it
    /// changes.
    pub fn enter(&mut self, from: SimTime, nodes: &[u32], draws: JobDraws<'_>) {
        for &node in nodes {
            let meter = &mut self.nodes[node as usize];
            (meter.class, meter.draw, meter.since) = (Class::Busy, draws.on(node), from);
        }
    }

    /// Closes every book at the end of the window.
    ///
    /// # Errors
    /// As [`Meter::advance`].
    pub fn close(&mut self, now: SimTime) -> Result<(), SimulationError> {
        self.advance(now)?;
        for node in 0..self.nodes.len() {
            let NodeMeter { class, draw, .. } = self.nodes[node];
            #[expect(clippy::cast_possible_truncation, reason = "a platform has fewer than 2^32 nodes")]
            self.set(now, node as u32, class, draw);
        }
        Ok(())
    }

    /// System draw now.
    #[must_use]
    pub fn draw(&self) -> Watts {
        self.draw
    }

    /// Draw of the node since its last change.
    #[must_use]
    pub fn node_draw(&self, node: u32) -> Watts {
        self.nodes[node as usize].draw
    }

    /// Instant of the last change of the node's draw.
    #[must_use]
    pub fn node_since(&self, node: u32) -> SimTime {
        self.nodes[node as usize].since
    }

    /// Integral of the system's draw so far.
    #[must_use]
    pub fn integral(&self) -> Joules {
        self.integral
    }

    /// Energy of all nodes' closed intervals in this class.
    #[must_use]
    pub fn energy_of(&self, class: Class) -> Joules {
        match class {
            Class::Idle => self.ids().map(|node| self.idle_energy(node)).sum(),
            Class::Busy | Class::Off | Class::Transition | Class::Down => self.by_class[class as usize],
        }
    }

    /// Energy of a node's closed intervals.
    #[must_use]
    pub fn node_energy(&self, node: u32) -> Joules {
        self.nodes[node as usize].energy + self.idle_energy(node)
    }

    /// Time a node spent in a class, in closed intervals.
    #[must_use]
    pub fn node_time(&self, node: u32, class: Class) -> SimDuration {
        let meter = &self.nodes[node as usize];
        let rare = self.rare.get(node as usize).copied().unwrap_or([SimDuration::ZERO; Class::COUNT]);
        match class {
            Class::Busy => meter.busy,
            Class::Off | Class::Transition | Class::Down => rare[class as usize],
            Class::Idle => rare.into_iter().fold(meter.since - self.begun - meter.busy, |left, spent| left - spent),
        }
    }

    /// Time all nodes together spent in a class, in closed intervals, s.
    #[must_use]
    pub fn seconds_in(&self, class: Class) -> f64 {
        let micros: i128 = self.ids().map(|node| i128::from(self.node_time(node, class).micros())).sum();
        micros as f64 / 1e6
    }

    fn idle_energy(&self, node: u32) -> Joules {
        self.idle[node as usize] * self.node_time(node, Class::Idle)
    }

    fn ids(&self) -> impl Iterator<Item = u32> {
        (0..).take(self.nodes.len())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn watts(watts: f64) -> Watts {
        Watts::from_watts(watts).unwrap()
    }

    fn at(seconds: i64) -> SimTime {
        SimTime::from_micros(seconds * 1_000_000)
    }

    #[test]
    fn two_nodes_one_job_by_hand() {
        // Two nodes idle at 100 W from 0; node 1 serves a job at 300 W from 10 to 30; the window ends at 40.
        let mut meter = Meter::new(at(0), vec![watts(100.0); 2]);
        meter.advance(at(10)).unwrap();
        meter.set(at(10), 1, Class::Busy, watts(300.0));
        meter.advance(at(30)).unwrap();
        let job = meter.set(at(30), 1, Class::Idle, watts(100.0));
        meter.close(at(40)).unwrap();
        assert_eq!(job.joules(), 6000.0);
        assert_eq!(meter.energy_of(Class::Idle).joules(), 4000.0 + 2000.0);
        assert_eq!(meter.node_energy(1).joules(), 8000.0);
        assert_eq!(meter.node_time(1, Class::Busy).seconds(), 20.0);
        assert_eq!(meter.integral(), meter.energy_of(Class::Idle) + meter.energy_of(Class::Busy));
    }

    #[test]
    fn nodes_that_change_together_are_metered_as_each_by_itself() {
        let mut together = Meter::new(at(0), vec![watts(100.0); 5]);
        let mut other = together.clone();
        let mut nodes = Span::of(3);
        assert!(nodes.extend(2) && nodes.extend(1));
        let turns = [(7, Class::Transition, 150.0), (19, Class::Off, 5.0), (40, Class::Transition, 150.0)];
        for (second, class, draw) in turns.into_iter().chain([(50, Class::Idle, 100.0), (70, Class::Down, 0.0)]) {
            together.advance(at(second)).unwrap();
            other.advance(at(second)).unwrap();
            let before = together.draw();
            let step = together.set_all(at(second), nodes, class, watts(draw));
            nodes.nodes().for_each(|node| _ = other.set(at(second), node, class, watts(draw)));
            assert_eq!((together.draw(), before + step.times(nodes.len())), (other.draw(), other.draw()));
        }
        together.close(at(90)).unwrap();
        other.close(at(90)).unwrap();
        for class in [Class::Busy, Class::Idle, Class::Off, Class::Transition, Class::Down] {
            assert_eq!(together.energy_of(class), other.energy_of(class));
            assert!((0..5).all(|node| together.node_time(node, class) == other.node_time(node, class)));
        }
        assert!((0..5).all(|node| together.node_energy(node) == other.node_energy(node)));
        assert_eq!(together.integral(), other.integral());
    }

    proptest! {
        /// Twin: each node by itself, closed at each change.
        #[test]
        fn books_by_run_are_those_of_each_node_by_itself(
            idle in prop::collection::vec(0..3_u32, 6),
            runs in prop::collection::vec((0..6_u32, 1..4_u32, 0..9_i64, 0..4_u8), 0..30),
            are_alike in any::<bool>(),
            entered in 0..40_i64,
        ) {
            let idle: Vec<_> = idle.into_iter().map(|of| watts(f64::from(if are_alike { 1 } else { of }))).collect();
            let table: Vec<_> = (0..6).map(|node| watts(f64::from(7 + node))).collect();
            let draws = |kind: u8| match kind {
                0 => JobDraws::Measured(watts(5.0)),
                1 => JobDraws::Alike(watts(9.0)),
                _ => JobDraws::Watts(&table),
            };
            let (mut by_run, mut by_node) = (Meter::new(at(0), idle.clone()), Meter::new(at(0), idle.clone()));
            let (mut under_way, mut now) = (Vec::<(i64, Vec<u32>, u8, Load)>::new(), 0);
            for (first, count, wait, kind) in runs {
                now += wait;
                by_run.advance(at(now)).unwrap();
                by_node.advance(at(now)).unwrap();
                let nodes: Vec<_> = (first..(first + count).min(6)).collect();
                let (gone, left): (Vec<_>, Vec<_>) =
                    under_way.into_iter().partition(|(_, held, ..)| held.iter().any(|node| nodes.contains(node)));
                under_way = left;
                for (from, held, kind, load) in gone {
                    let energy = by_run.end(at(from), at(now), &held, draws(kind), load);
                    prop_assert_eq!(energy, by_node.release(at(now), &held));
                }
                by_node.serve(at(now), &nodes, |node| draws(kind).on(node));
                let load = by_run.begin(&nodes, draws(kind));
                prop_assert_eq!(by_run.draw(), by_node.draw());
                under_way.push((now, nodes, kind, load));
            }
            // The last runs go on node by node to the end of the window.
            for (from, nodes, kind, _) in &under_way {
                by_run.enter(at(*from), nodes, draws(*kind));
            }
            by_run.close(at(now + entered)).unwrap();
            by_node.close(at(now + entered)).unwrap();
            for class in [Class::Busy, Class::Idle] {
                prop_assert_eq!(by_run.energy_of(class), by_node.energy_of(class));
                prop_assert!((0..6).all(|node| by_run.node_time(node, class) == by_node.node_time(node, class)));
            }
            prop_assert!((0..6).all(|node| by_run.node_energy(node) == by_node.node_energy(node)));
            prop_assert_eq!(by_run.integral(), by_run.energy_of(Class::Busy) + by_run.energy_of(Class::Idle));
        }
    }
}
