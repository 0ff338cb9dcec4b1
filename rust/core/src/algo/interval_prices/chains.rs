//! Intervals by end on blocks of nodes: the most that those which do not overlap bring in.

use std::collections::BTreeMap;

use super::{SizedIntervals, weight};

/// Nodes whose passes are made side by side: enough that none waits for the result of the item before.
pub(super) const LANES: usize = 16;

/// A number for each node of a block.
pub(super) type Lanes = [f64; LANES];

/// Cost of what may not be: larger than any, and yet finite, so that nothing times it is no number.
const BARRED: f64 = 1e200;

/// Interval in the order of ends.
#[derive(Clone, Copy, Debug)]
pub(super) struct Item {
    pub interval: u32,
    pub row: u32,
    /// Number of items that end by its start: they are the first ones.
    pub before: u32,
    pub weight: f64,
}

/// Nodes side by side.
#[derive(Clone, Debug)]
struct Block {
    /// Number of nodes that each of them counts for.
    shares: Lanes,
    /// Costs by row.
    costs: Vec<Lanes>,
    /// Items and lanes that are closed at some time of it, by item.
    closed: Vec<(u32, usize)>,
}

/// Numbers that a pass over a block leaves.
#[derive(Clone, Debug, Default)]
pub(super) struct Room {
    best: Vec<Lanes>,
    chance: Vec<Lanes>,
    mass: Vec<Lanes>,
}

/// The intervals and nodes of a problem, in the order in which passes need them.
#[derive(Clone, Debug)]
pub(super) struct Chains {
    pub items: Vec<Item>,
    blocks: Vec<Block>,
    /// Most that the costs of a set of items without overlap can be, over all nodes together.
    pub most: f64,
}

impl Chains {
    pub(super) fn new(problem: &SizedIntervals<'_>) -> Self {
        let items = by_end(problem);
        let (first, shares) = groups(problem);
        let blocks = (0..first.len()).step_by(LANES).map(|at| {
            let own = &first[at..(at + LANES).min(first.len())];
            block(problem, &items, own, &shares[at..])
        });
        let blocks = blocks.collect();
        let most = most(problem);
        Self { items, blocks, most }
    }

    /// The most that nodes bring in at these prices, exactly; all nodes together.
    pub(super) fn highest(&self, prices: &[f64], room: &mut Room) -> f64 {
        let mut found = 0.0;
        room.best.resize(self.items.len() + 1, [0.0; LANES]);
        for block in &self.blocks {
            self.pass(block, prices, &mut room.best);
            let top = room.best[self.items.len()];
            found += top.iter().zip(&block.shares).map(|(most, share)| most * share).sum::<f64>();
        }
        found
    }

    fn pass(&self, block: &Block, prices: &[f64], best: &mut [Lanes]) {
        let mut closed = block.closed.iter().peekable();
        for (place, item) in self.items.iter().enumerate() {
            let costs = block.costs_of(place, item, &mut closed);
            let (before, last, price) = (best[item.before as usize], best[place], prices[item.interval as usize]);
            let mut most = [0.0; LANES];
            for lane in 0..LANES {
                most[lane] = (before[lane] + (price - item.weight * costs[lane])).max(last[lane]);
            }
            best[place + 1] = most;
        }
    }

    /// About the same, a smooth function of the prices, and never below; `taken` gets how many nodes take each interval.
    ///
    /// Where an item brings in `x` more than is had without it, it is taken for the share `p = (x + t) / 2t`, from 0 to 1,
    /// with `t` its entry of `widths`, and brings in `p·x + t·p·(1 − p)`.
    pub(super) fn smooth(&self, prices: &[f64], widths: &[f64], taken: &mut [f64], room: &mut Room) -> f64 {
        let (count, mut found) = (self.items.len(), 0.0);
        taken.fill(0.0);
        for numbers in [&mut room.best, &mut room.chance, &mut room.mass] {
            numbers.resize(count + 1, [0.0; LANES]);
        }
        for block in &self.blocks {
            self.smooth_pass(block, prices, widths, room);
            let top = room.best[count];
            found += top.iter().zip(&block.shares).map(|(most, share)| most * share).sum::<f64>();
            self.pass_back(block, taken, room);
        }
        found
    }

    fn smooth_pass(&self, block: &Block, prices: &[f64], widths: &[f64], room: &mut Room) {
        let mut closed = block.closed.iter().peekable();
        for (place, item) in self.items.iter().enumerate() {
            let costs = block.costs_of(place, item, &mut closed);
            let (price, width) = (prices[item.interval as usize], widths[item.interval as usize]);
            let (before, last) = (room.best[item.before as usize], room.best[place]);
            let (mut most, mut chance, half) = ([0.0; LANES], [0.0; LANES], 0.5 / width);
            for lane in 0..LANES {
                let more = before[lane] + (price - item.weight * costs[lane]) - last[lane];
                let share = ((more + width) * half).clamp(0.0, 1.0);
                most[lane] = last[lane] + share * more + width * share * (1.0 - share);
                chance[lane] = share;
            }
            (room.best[place + 1], room.chance[place]) = (most, chance);
        }
    }

    fn pass_back(&self, block: &Block, taken: &mut [f64], room: &mut Room) {
        room.mass.fill([0.0; LANES]);
        room.mass[self.items.len()] = block.shares;
        for (place, item) in self.items.iter().enumerate().rev() {
            let (mass, chance, mut own) = (room.mass[place + 1], room.chance[place], [0.0; LANES]);
            for lane in 0..LANES {
                own[lane] = mass[lane] * chance[lane];
                room.mass[place][lane] += mass[lane] - own[lane];
            }
            taken[item.interval as usize] += own.iter().sum::<f64>();
            for (there, own) in room.mass[item.before as usize].iter_mut().zip(own) {
                *there += own;
            }
        }
    }
}

impl Block {
    fn costs_of(
        &self,
        place: usize,
        item: &Item,
        closed: &mut std::iter::Peekable<std::slice::Iter<'_, (u32, usize)>>,
    ) -> Lanes {
        let mut costs = self.costs[item.row as usize];
        while let Some(&(_, lane)) = closed.next_if(|one| one.0 as usize == place) {
            costs[lane] = BARRED;
        }
        costs
    }
}

fn by_end(problem: &SizedIntervals<'_>) -> Vec<Item> {
    let mut order: Vec<u32> = (0..).take(problem.intervals.len()).collect();
    let of = |own: u32| &problem.intervals[own as usize];
    order.sort_unstable_by_key(|&own| (of(own).until, of(own).from, own));
    let before = |own: u32| order.partition_point(|&other| of(other).until <= of(own).from);
    let item = |&own: &u32| Item {
        interval: own,
        row: of(own).row,
        before: u32::try_from(before(own)).unwrap_or(u32::MAX),
        weight: weight(of(own)),
    };
    order.iter().map(item).collect()
}

/// A node of each group of those that cost the same and are closed at the same times, and the number of nodes in it.
fn groups(problem: &SizedIntervals<'_>) -> (Vec<usize>, Vec<f64>) {
    let mut spans = vec![Vec::new(); problem.costs.nodes()];
    for one in problem.closed {
        spans[one.node as usize].push((one.from, one.until));
    }
    let (mut known, mut first, mut shares) = (BTreeMap::new(), Vec::new(), Vec::new());
    for (node, mut spans) in spans.into_iter().enumerate() {
        spans.sort_unstable();
        let costs: Vec<u64> = (0..problem.costs.rows()).map(|row| problem.costs.row(row)[node].to_bits()).collect();
        let own = *known.entry((costs, spans)).or_insert(first.len());
        if own == first.len() {
            first.push(node);
            shares.push(0.0);
        }
        shares[own] += 1.0;
    }
    (first, shares)
}

fn block(problem: &SizedIntervals<'_>, items: &[Item], nodes: &[usize], shares: &[f64]) -> Block {
    let mut own = Block { shares: [0.0; LANES], costs: Vec::new(), closed: Vec::new() };
    own.shares[..nodes.len()].copy_from_slice(&shares[..nodes.len()]);
    for row in 0..problem.costs.rows() {
        let mut costs = [BARRED; LANES];
        for (cost, &node) in costs.iter_mut().zip(nodes) {
            *cost = problem.costs.row(row)[node].min(BARRED);
        }
        own.costs.push(costs);
    }
    for (lane, &node) in nodes.iter().enumerate() {
        for span in problem.closed.iter().filter(|span| span.node as usize == node && span.from < span.until) {
            // Those that end after the span begins, and begin before it ends.
            let begin = items.partition_point(|item| problem.intervals[item.interval as usize].until <= span.from);
            let places = (0_u32..).zip(items).skip(begin);
            let hit = places.filter(|(_, item)| problem.intervals[item.interval as usize].from < span.until);
            own.closed.extend(hit.map(|(place, _)| (place, lane)));
        }
    }
    own.closed.sort_unstable();
    own.closed.dedup();
    own
}

fn most(problem: &SizedIntervals<'_>) -> f64 {
    let mut scale = vec![0.0_f64; problem.costs.rows()];
    for one in problem.intervals {
        scale[one.row as usize] = scale[one.row as usize].max(one.scale);
    }
    let begin = problem.intervals.iter().map(|one| one.from).min().unwrap_or(0);
    let end = problem.intervals.iter().map(|one| one.until).max().unwrap_or(0);
    let on = |node: usize| {
        let rates = (0..problem.costs.rows()).map(|row| problem.costs.row(row)[node] * scale[row]);
        rates.filter(|rate| rate.is_finite()).fold(0.0, f64::max)
    };
    (0..problem.costs.nodes()).map(on).sum::<f64>() * (end - begin) as f64
}
