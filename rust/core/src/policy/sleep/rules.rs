//! Parameters of a sleep part, and the rules that they yield for a node (operations page on machines, rules 14 and 17).

use crate::platform::NodeDraw;
use crate::policy::sleep::node_rule::NodeRule;
use crate::policy::sleep::rest::Rest;
use crate::units::SimDuration;

/// Time that a transition takes in plans.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Margin {
    /// The time that it takes on the node.
    Platform,
    /// A given time.
    Of(SimDuration),
}

/// Least distance of a node's next planned job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Far {
    /// Long enough that sleeping saves energy.
    BreakEven,
    /// A given span.
    Of(SimDuration),
}

/// Nodes as users write them: first and last of each range.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeList(Vec<(u32, u32)>);

/// The parameters of a sleep part.
#[derive(Clone)]
pub struct Rules {
    /// Least time for which a node must have been idle.
    pub min_idle: SimDuration,
    /// Least distance of its next planned job.
    pub far: Far,
    /// V: time that stopping takes in plans.
    pub stop: Margin,
    /// W: time that starting takes in plans.
    pub start: Margin,
    /// Most shutdowns of one node that may begin in one day.
    pub off_limit: Option<u32>,
    /// Number of nodes that stay on.
    pub min_on: u32,
    /// Nodes that are never put to sleep.
    pub exclude: NodeList,
    /// Part that chooses among the nodes that may sleep.
    pub rest: Box<dyn Rest>,
}

impl NodeList {
    /// Reads `"0-3,7"`, ends included; none if the text is malformed.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let parts = text.split(',').map(str::trim);
        let range = |part: &str| {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let (first, last) = (number(first)?, number(last)?);
            (first <= last).then_some((first, last))
        };
        if text.trim().is_empty() { Some(Self::default()) } else { parts.map(range).collect::<Option<_>>().map(Self) }
    }

    /// Adds a node.
    pub fn push(&mut self, node: u32) {
        self.0.push((node, node));
    }

    /// True if the list has the node.
    #[must_use]
    pub fn contains(&self, node: u32) -> bool {
        self.0.iter().any(|&(first, last)| first <= node && node <= last)
    }

    /// First of them that a machine of `nodes` nodes lacks.
    #[must_use]
    pub fn beyond(&self, nodes: u32) -> Option<u32> {
        self.0.iter().filter(|range| range.1 >= nodes).map(|range| range.0.max(nodes)).next()
    }
}

fn number(text: &str) -> Option<u32> {
    let text = text.trim();
    text.parse().ok().filter(|_| text.bytes().all(|byte| byte.is_ascii_digit()))
}

impl Margin {
    fn or(self, actual: SimDuration) -> SimDuration {
        match self {
            Self::Platform => actual,
            Self::Of(span) => span,
        }
    }
}

impl Rules {
    /// Rules of a [`Rest`] part: they limit nothing, and plans know how long nodes take.
    #[must_use]
    pub fn unlimited(rest: Box<dyn Rest>) -> Self {
        Self {
            min_idle: SimDuration::ZERO,
            far: Far::BreakEven,
            stop: Margin::Platform,
            start: Margin::Platform,
            off_limit: None,
            min_on: 0,
            exclude: NodeList::default(),
            rest,
        }
    }

    /// The same rules for one of several lanes: how many nodes stay on is decided for the machine.
    #[must_use]
    pub fn in_lane(self) -> Self {
        Self { min_on: 0, ..self }
    }

    /// Rules for one node.
    #[must_use]
    pub fn of(&self, node: u32, draw: &NodeDraw) -> NodeRule {
        // In plans starting a node always takes some time.
        let start = self.start.or(draw.boot_time).max(SimDuration::TICK);
        NodeRule {
            stop: self.stop.or(draw.shutdown_time),
            start,
            is_instant: start == SimDuration::TICK && draw.boot_time == SimDuration::ZERO,
            far: match self.far {
                Far::BreakEven => break_even(draw),
                Far::Of(span) => Some(span),
            },
            is_excluded: self.exclude.contains(node),
        }
    }
}

/// Break-even time: the idle time that costs what sleeping through it costs, rounded up, and no less than both
/// transitions take; none if sleeping never saves anything.
#[must_use]
pub fn break_even(draw: &NodeDraw) -> Option<SimDuration> {
    if draw.off >= draw.idle {
        return None;
    }
    let both = draw.shutdown_time + draw.boot_time;
    let cost = draw.shutdown * draw.shutdown_time + draw.boot * draw.boot_time - draw.off * both;
    Some(cost.lasts_at(draw.idle - draw.off).max(both))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Watts;

    fn draw(idle: f64, off: f64, boot: f64, shutdown: f64) -> NodeDraw {
        let watts = |watts: f64| Watts::from_watts(watts).unwrap();
        let seconds = |seconds: f64| SimDuration::from_seconds(seconds).unwrap();
        NodeDraw {
            idle: watts(idle),
            busy: watts(idle),
            tdp: watts(idle),
            off: watts(off),
            down: watts(0.0),
            boot: watts(boot),
            boot_time: seconds(60.0),
            shutdown: watts(shutdown),
            shutdown_time: seconds(120.0),
        }
    }

    #[test]
    fn sleep_pays_once_it_costs_less_than_idling() {
        let even = |draw: NodeDraw| break_even(&draw).map(SimDuration::micros);
        assert_eq!(even(draw(600.0, 0.0, 600.0, 600.0)), Some(180_000_000));
        assert_eq!(even(draw(600.0, 0.0, 0.0, 0.0)), Some(180_000_000), "no less than both transitions");
        assert_eq!(even(draw(600.0, 300.0, 600.0, 600.0)), Some(180_000_000));
        // (120 × 700 + 60 × 1000) / 600 = 240 s; off at 7 W: (144000 − 7 × 180) / 593 = 240.7082…, rounded up.
        assert_eq!(even(draw(600.0, 0.0, 1000.0, 700.0)), Some(240_000_000));
        assert_eq!(even(draw(600.0, 7.0, 1000.0, 700.0)), Some(240_708_264));
        assert_eq!(even(draw(600.0, 600.0, 0.0, 0.0)), None, "nothing is ever saved");
    }

    #[test]
    fn nodes_are_read_as_ranges_with_both_ends() {
        let list = NodeList::parse("0-3, 7").unwrap();
        let members: Vec<_> = (0..9).filter(|&node| list.contains(node)).collect();
        assert_eq!(members, [0, 1, 2, 3, 7]);
        assert_eq!((list.beyond(8), list.beyond(7), list.beyond(2)), (None, Some(7), Some(2)));
        assert_eq!(NodeList::parse(""), Some(NodeList::default()));
        for bad in ["3-1", "a", "1-", "-1", "1,,2", "+1"] {
            assert_eq!(NodeList::parse(bad), None, "{bad}");
        }
    }
}
