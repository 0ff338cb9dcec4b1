//! Supplies that come and go, nodes that leave and return, and the least cost of it all integrated over time.

use super::{Flow, Kind, NodeCosts};
use crate::error::{Error, Result, config};

/// Units of a kind that are there from one instant to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Supply {
    /// Their kind.
    pub kind: u32,
    /// Number of units.
    pub amount: u64,
    /// First instant.
    pub from: i64,
    /// Instant from which on they are gone.
    pub until: i64,
}

/// Units of a node that are out of service from one instant to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeOutage {
    /// The node.
    pub node: u32,
    /// Number of units.
    pub amount: u64,
    /// First instant.
    pub from: i64,
    /// Instant from which on they are back.
    pub until: i64,
}

/// A transportation problem that changes over time.
#[derive(Clone, Copy, Debug)]
pub struct Problem<'a> {
    /// Rows of costs on nodes.
    pub costs: NodeCosts<'a>,
    /// Kinds of demand.
    pub kinds: &'a [Kind],
    /// Units of each node.
    pub capacity: &'a [u64],
    /// Units to be placed.
    pub supplies: &'a [Supply],
    /// Spans out of service.
    pub outages: &'a [NodeOutage],
}

/// The least cost, integrated over time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LeastCost {
    /// Cost × time; before any allowance for rounding.
    pub total: f64,
    /// Sum of the absolute values of all terms of it.
    pub terms: f64,
    /// Changes of supplies and nodes.
    pub changes: usize,
    /// Units for which there was no room. Without them the total is still a lower bound.
    pub unplaced: u64,
    /// Searches for a chain of moves: a measure of the work done.
    pub searches: u64,
}

/// A stretch of time between two changes, with what certifies its least cost.
#[derive(Debug)]
pub struct FlowStretch<'s, 'c> {
    /// First instant.
    pub from: i64,
    /// Instant of the next change.
    pub until: i64,
    /// The placement in it.
    pub flow: &'s Flow<'c>,
    /// Its certified cost per unit of time.
    pub least: f64,
}

/// A change, in the order in which those of one instant come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Change {
    Leaves(u32),
    Returns(u32),
    Fails(u32),
    Joins(u32),
}

/// The least cost over time.
///
/// # Errors
/// If a supply or an outage names a kind or a node that there is not.
pub fn least_cost(problem: &Problem<'_>) -> Result<LeastCost> {
    least_cost_unless(problem, &mut |_| {}, &mut || false)
}

/// The least cost over time; `seen` gets each stretch.
///
/// # Errors
/// As for [`least_cost`]; and [`Error::Interrupted`].
pub fn least_cost_unless(
    problem: &Problem<'_>,
    seen: &mut dyn FnMut(&FlowStretch<'_, '_>),
    interrupted: &mut dyn FnMut() -> bool,
) -> Result<LeastCost> {
    check(problem)?;
    let changes = changes(problem);
    let mut flow = Flow::new(problem.costs, problem.kinds, problem.capacity);
    let (mut least, mut prices) = (LeastCost { changes: changes.len(), ..LeastCost::default() }, Vec::new());
    for (place, &(at, change)) in changes.iter().enumerate() {
        if interrupted() {
            return Err(Error::Interrupted);
        }
        least.unplaced += apply(&mut flow, problem, change);
        let Some(&(until, _)) = changes.get(place + 1).filter(|next| next.0 > at) else { continue };
        let value = flow.value(&mut prices);
        least.total += value.least * (until - at) as f64;
        least.terms += value.terms * (until - at) as f64;
        seen(&FlowStretch { from: at, until, flow: &flow, least: value.least });
    }
    least.searches = flow.searches();
    Ok(least)
}

fn check(problem: &Problem<'_>) -> Result<()> {
    let (kinds, nodes) = (problem.kinds.len(), problem.costs.nodes());
    if problem.capacity.len() != nodes {
        return Err(config(
            "capacity",
            format!("{} numbers", problem.capacity.len()),
            format!("one for each of {nodes} nodes"),
        ));
    }
    let is_faulty =
        |kind: &&Kind| kind.row as usize >= problem.costs.rows() || !(kind.scale > 0.0 && kind.scale.is_finite());
    if let Some(kind) = problem.kinds.iter().find(is_faulty) {
        let expected = format!("a row below {} and a factor above 0", problem.costs.rows());
        return Err(config("kinds", format!("row {} times {}", kind.row, kind.scale), expected));
    }
    if let Some(one) = problem.supplies.iter().find(|one| one.kind as usize >= kinds) {
        return Err(config("supplies", format!("kind {}", one.kind), format!("a kind below {kinds}")));
    }
    if let Some(one) = problem.outages.iter().find(|one| one.node as usize >= nodes) {
        return Err(config("outages", format!("node {}", one.node), format!("a node below {nodes}")));
    }
    Ok(())
}

/// All changes by instant: what ends and what returns first, so that there is room for what comes.
fn changes(problem: &Problem<'_>) -> Vec<(i64, Change)> {
    let supplies = (0..).zip(problem.supplies).filter(|(_, one)| one.until > one.from && one.amount > 0);
    let outages = (0..).zip(problem.outages).filter(|(_, one)| one.until > one.from && one.amount > 0);
    let mut found: Vec<_> = supplies
        .flat_map(|(place, one)| [(one.from, Change::Joins(place)), (one.until, Change::Leaves(place))])
        .chain(outages.flat_map(|(place, one)| [(one.from, Change::Fails(place)), (one.until, Change::Returns(place))]))
        .collect();
    found.sort_unstable();
    found
}

/// Applies a change; gives the number of units that lose their place, or find none.
fn apply(flow: &mut Flow<'_>, problem: &Problem<'_>, change: Change) -> u64 {
    match change {
        Change::Leaves(place) => {
            let one = &problem.supplies[place as usize];
            flow.take(one.kind as usize, one.amount);
            0
        }
        Change::Joins(place) => {
            let one = &problem.supplies[place as usize];
            flow.add(one.kind as usize, one.amount)
        }
        Change::Returns(place) => {
            let one = &problem.outages[place as usize];
            flow.open(one.node, one.amount);
            0
        }
        Change::Fails(place) => {
            let one = &problem.outages[place as usize];
            flow.close(one.node, one.amount)
        }
    }
}
