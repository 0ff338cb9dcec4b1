//! Nodes out of service, now and later, and the causes: failures, and windows of maintenance (operations page on
//! machines, rules 8 and 29).

use std::collections::BTreeMap;

use crate::units::SimTime;

/// Cause for which a node is out of service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outage {
    /// A failure: no plan expects a repair.
    Failure,
    /// Maintenance until an instant.
    Maintenance(SimTime),
}

/// Effect of the beginning or the end of an outage on its node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// Nothing: the outage has no effect.
    None,
    /// The node stays down for another cause.
    Stays,
    /// The node goes down, or comes back.
    Turns,
}

/// A window of maintenance that has not begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Maintenance {
    /// The node.
    pub node: u32,
    /// Instant at which it goes out of service.
    pub from: SimTime,
    /// Instant at which it is back.
    pub until: SimTime,
    /// Instant from which on the window is known.
    pub announced: SimTime,
}

/// Causes for which nodes are down, and windows to come.
#[derive(Clone, Debug, Default)]
pub struct Outages {
    down: BTreeMap<u32, Down>,
    /// Windows by beginning.
    to_come: Vec<Maintenance>,
    /// Number of windows that have begun.
    begun: usize,
}

/// Causes for which a node is down.
#[derive(Clone, Copy, Debug, Default)]
struct Down {
    has_failed: bool,
    /// Number of windows that it is in.
    windows: u32,
    /// End of the last of them.
    until: SimTime,
}

impl Outages {
    /// Adds a window in which a node will be in maintenance.
    pub fn plan(&mut self, window: Maintenance) {
        let key = |one: &Maintenance| (one.from, one.node, one.until);
        let place = self.begun + self.to_come[self.begun..].partition_point(|other| key(other) <= key(&window));
        self.to_come.insert(place, window);
    }

    /// Begins an outage of a node at `now`.
    pub fn begin(&mut self, now: SimTime, node: u32, why: Outage) -> Turn {
        while self.to_come.get(self.begun).is_some_and(|window| window.from <= now) {
            self.begun += 1;
        }
        let is_up = !self.down.contains_key(&node);
        let down = self.down.entry(node).or_default();
        match why {
            Outage::Failure if down.has_failed => return Turn::None,
            Outage::Failure => down.has_failed = true,
            Outage::Maintenance(until) => {
                down.windows += 1;
                down.until = down.until.max(until);
            }
        }
        if is_up { Turn::Turns } else { Turn::Stays }
    }

    /// Ends an outage of a node: a repair, or else a window of maintenance; [`Turn::None`] if it had not begun.
    pub fn end(&mut self, node: u32, is_repair: bool) -> Turn {
        let Some(down) = self.down.get_mut(&node) else { return Turn::None };
        match is_repair {
            true if down.has_failed => down.has_failed = false,
            false if down.windows > 0 => down.windows -= 1,
            _ => return Turn::None,
        }
        if down.has_failed || down.windows > 0 {
            return Turn::Stays;
        }
        self.down.remove(&node);
        Turn::Turns
    }

    /// True if any node is out of service.
    #[must_use]
    pub fn are_any(&self) -> bool {
        !self.down.is_empty()
    }

    /// Instant at which a node is back that is in maintenance and has not failed.
    #[must_use]
    pub fn back_at(&self, node: u32) -> Option<SimTime> {
        self.down.get(&node).filter(|down| !down.has_failed).map(|down| down.until)
    }

    /// Nodes that are in maintenance, have not failed, and so come back: each with the instant.
    pub fn coming_back(&self) -> impl Iterator<Item = (u32, SimTime)> + '_ {
        self.down.iter().filter(|(_, down)| !down.has_failed).map(|(&node, down)| (node, down.until))
    }

    /// True if no node is out of service.
    #[must_use]
    pub fn are_none(&self) -> bool {
        self.down.is_empty()
    }

    /// Future windows that are known at `now`.
    pub fn known(&self, now: SimTime) -> impl Iterator<Item = Maintenance> + '_ {
        self.to_come[self.begun..].iter().copied().filter(move |window| window.announced <= now && window.from > now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(micros: i64) -> SimTime {
        SimTime::from_micros(micros)
    }

    #[test]
    fn a_node_is_down_while_it_has_failed_or_any_window_lasts() {
        let (mut outages, out) = (Outages::default(), |until| Outage::Maintenance(at(until)));
        assert_eq!(outages.begin(at(0), 3, out(10)), Turn::Turns);
        assert_eq!(outages.begin(at(1), 3, Outage::Failure), Turn::Stays);
        assert_eq!(outages.begin(at(2), 3, Outage::Failure), Turn::None, "failing twice is no event");
        assert_eq!(outages.begin(at(3), 3, out(20)), Turn::Stays);
        assert!(outages.coming_back().next().is_none(), "no plan expects a repair");
        assert_eq!(outages.end(3, false), Turn::Stays);
        assert_eq!(outages.end(3, true), Turn::Stays);
        assert_eq!(outages.end(3, true), Turn::None, "what has not failed is not repaired");
        assert_eq!(outages.coming_back().collect::<Vec<_>>(), [(3, at(20))]);
        assert_eq!(outages.end(3, false), Turn::Turns);
        assert_eq!(outages.end(3, false), Turn::None);
        assert_eq!(outages.begin(at(30), 3, Outage::Failure), Turn::Turns);
    }

    #[test]
    fn a_window_is_known_from_its_announcement_until_it_begins() {
        let mut outages = Outages::default();
        let window = |from, announced| Maintenance { node: 1, from: at(from), until: at(99), announced: at(announced) };
        for window in [window(50, 20), window(40, 40), window(30, 0)] {
            outages.plan(window);
        }
        let known = |outages: &Outages, now| outages.known(at(now)).map(|one| one.from.micros()).collect::<Vec<_>>();
        assert_eq!([known(&outages, 0), known(&outages, 20)], [vec![30], vec![30, 50]]);
        outages.begin(at(30), 1, Outage::Maintenance(at(99)));
        outages.plan(window(35, 0));
        assert_eq!([known(&outages, 30), known(&outages, 40)], [vec![35, 50], vec![50]]);
    }
}
