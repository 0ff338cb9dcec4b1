//! The transportation solver: few distinct rows, each to be placed several times.
//!
//! Successive shortest paths (Ahuja, Magnanti & Orlin, Network Flows (1993), pages 320-324) on a graph with one vertex
//! per type and one for the free columns. An arc from `a` to `b` stands for "`a` takes a column from `b`"; it is as
//! long as the cheapest such column is dear, `cost[a, j] - cost[b, j]`, and a heap for each pair of types knows which
//! that is. The types are placed one after the other, a column at a time: a path from the type to the free columns says
//! who takes which column from whom. With the duals as potentials no arc is negative and Dijkstra's algorithm finds it.
//!
//! Ties: of columns that cost the same the first is taken, and a free column goes before any exchange.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::{Interrupted, Stop, Stuck, TypesAssignment};

/// Number of columns placed between two checks for interruption.
const LOOK_EVERY: usize = 64;

/// A column with the cost of its move, as a heap entry; ties go to the lowest column.
type Move = Reverse<(u64, u32)>;

struct Solver<'c> {
    rows: &'c [&'c [f64]],
    /// The type that holds a column, or `free`.
    owner: Vec<u32>,
    free: u32,
    /// Heap of movable columns for each pair of types: one that takes and one that gives.
    moves: Vec<BinaryHeap<Move>>,
    /// Free columns by cost, for each type that is being or has been placed, and how far the list is used up.
    cheapest: Vec<(Vec<u32>, usize)>,
    duals: Vec<f64>,
    /// Number of columns that all types get together.
    wanted: usize,
    /// The types placed so far and the one being placed.
    active: Vec<usize>,
    search: Search,
}

/// Dijkstra's labels; one more than there are types, the last for the free columns.
struct Search {
    distance: Vec<f64>,
    /// The type from which a vertex was reached, and the column to be taken.
    from: Vec<(usize, u32)>,
    settled: Vec<bool>,
}

/// Places row `t` `counts[t]` times.
pub(crate) fn solve(
    rows: &[&[f64]],
    columns: usize,
    counts: &[u32],
    interrupted: Interrupted<'_>,
) -> Result<TypesAssignment, Stop> {
    let wanted = counts.iter().map(|&count| count as usize).sum();
    let mut solver = Solver::new(rows, columns, wanted);
    let mut placed = 0_usize;
    for (kind, &count) in counts.iter().enumerate() {
        if count == 0 {
            continue;
        }
        solver.activate(kind);
        for _ in 0..count {
            placed += 1;
            if placed.is_multiple_of(LOOK_EVERY) && interrupted() {
                return Err(Stop::Interrupted);
            }
            solver.place(kind).map_err(Stop::Stuck)?;
        }
    }
    Ok(solver.finish())
}

impl<'c> Solver<'c> {
    fn new(rows: &'c [&'c [f64]], columns: usize, wanted: usize) -> Self {
        let kinds = rows.len();
        let none = u32::try_from(kinds).unwrap_or(u32::MAX);
        Self {
            rows,
            owner: vec![none; columns],
            free: none,
            moves: vec![BinaryHeap::new(); kinds * kinds],
            cheapest: vec![(Vec::new(), 0); kinds],
            duals: vec![0.0; kinds],
            wanted,
            active: Vec::new(),
            search: Search {
                distance: vec![f64::INFINITY; kinds + 1],
                from: vec![(0, 0); kinds + 1],
                settled: vec![false; kinds + 1],
            },
        }
    }

    /// Prepares a type to be placed: what it could take from others, its cheapest free columns, its dual.
    fn activate(&mut self, kind: usize) {
        let row = self.rows[kind];
        let usable = (0..).zip(row).filter(|(_, cost)| **cost < f64::INFINITY);
        let mut cheapest: Vec<(u64, u32)> = usable.map(|(column, &cost)| (ordered(cost), column)).collect();
        if cheapest.len() > self.wanted {
            // All columns are placed before more than this many of a type's cheapest are used.
            cheapest.select_nth_unstable(self.wanted);
            cheapest.truncate(self.wanted);
        }
        cheapest.sort_unstable();
        let cheapest = cheapest.into_iter().map(|(_, column)| column).collect();
        self.cheapest[kind] = (cheapest, 0);
        self.active.push(kind);
        for column in 0..row.len() {
            let giver = self.owner[column];
            if giver != self.free {
                self.offer(kind, giver as usize, column);
            }
        }
        let mut dual = self.cheapest_free(kind).map_or(f64::INFINITY, |column| row[column as usize]);
        for giver in self.active.clone() {
            if let Some((length, _)) = self.shortest_move(kind, giver) {
                dual = dual.min(length + self.duals[giver]);
            }
        }
        self.duals[kind] = if dual.is_finite() { dual } else { 0.0 };
    }

    /// Notes that `taker` could have a column of `giver`.
    fn offer(&mut self, taker: usize, giver: usize, column: usize) {
        let length = self.rows[taker][column] - self.rows[giver][column];
        if length < f64::INFINITY {
            let number = u32::try_from(column).unwrap_or(u32::MAX);
            self.moves[taker * self.rows.len() + giver].push(Reverse((ordered(length), number)));
        }
    }

    fn cheapest_free(&mut self, kind: usize) -> Option<u32> {
        let (columns, used) = &mut self.cheapest[kind];
        while columns.get(*used).is_some_and(|&column| self.owner[column as usize] != self.free) {
            *used += 1;
        }
        columns.get(*used).copied()
    }

    fn shortest_move(&mut self, taker: usize, giver: usize) -> Option<(f64, u32)> {
        let heap = &mut self.moves[taker * self.rows.len() + giver];
        // Columns that the giver has lost since are still in its heap.
        while let Some(Reverse((_, column))) = heap.peek() {
            let place = *column as usize;
            if self.owner[place] as usize == giver {
                return Some((self.rows[taker][place] - self.rows[giver][place], *column));
            }
            heap.pop();
        }
        None
    }

    /// Gives one more column to a type.
    fn place(&mut self, kind: usize) -> Result<(), Stuck> {
        let free = self.rows.len();
        self.search.distance.fill(f64::INFINITY);
        self.search.settled.fill(false);
        self.search.distance[kind] = 0.0;
        let mut at = kind;
        loop {
            self.search.settled[at] = true;
            self.relax(at);
            let open = |vertex: &usize| !self.search.settled[*vertex];
            // The free columns first, so that they win ties.
            let vertices = std::iter::once(free).chain(self.active.iter().copied()).filter(open);
            let nearest = vertices.min_by(|&a, &b| self.search.distance[a].total_cmp(&self.search.distance[b]));
            at = nearest
                .filter(|&vertex| self.search.distance[vertex] < f64::INFINITY)
                .ok_or_else(|| self.stuck(kind))?;
            if at == free {
                break;
            }
        }
        let length = self.search.distance[free];
        for &other in &self.active {
            if self.search.settled[other] {
                self.duals[other] += length - self.search.distance[other];
            }
        }
        self.augment(kind);
        Ok(())
    }

    fn relax(&mut self, at: usize) {
        let free = self.rows.len();
        let base = self.search.distance[at] - self.duals[at];
        if let Some(column) = self.cheapest_free(at) {
            self.search.reach(free, base + self.rows[at][column as usize], at, column);
        }
        for index in 0..self.active.len() {
            let giver = self.active[index];
            if !self.search.settled[giver]
                && let Some((length, column)) = self.shortest_move(at, giver)
            {
                self.search.reach(giver, base + length + self.duals[giver], at, column);
            }
        }
    }

    /// Moves columns along the path found, from its end.
    fn augment(&mut self, kind: usize) {
        let mut vertex = self.rows.len();
        while vertex != kind {
            let (taker, column) = self.search.from[vertex];
            self.owner[column as usize] = u32::try_from(taker).unwrap_or(u32::MAX);
            for index in 0..self.active.len() {
                let other = self.active[index];
                if other != taker {
                    self.offer(other, taker, column as usize);
                }
            }
            vertex = taker;
        }
    }

    fn stuck(&self, kind: usize) -> Stuck {
        let rows: Vec<usize> = (0..self.rows.len()).filter(|&other| self.search.settled[other]).collect();
        let columns = (0..self.owner.len()).filter(|&column| rows.contains(&(self.owner[column] as usize))).collect();
        Stuck { row: kind, rows, columns }
    }

    fn finish(self) -> TypesAssignment {
        let kinds = self.rows.len();
        let mut columns = vec![Vec::new(); kinds];
        let mut column_duals = vec![0.0; self.owner.len()];
        let mut cost = 0.0;
        for (column, &owner) in self.owner.iter().enumerate() {
            if owner != self.free {
                let kind = owner as usize;
                columns[kind].push(u32::try_from(column).unwrap_or(u32::MAX));
                // Never above 0 in theory; rounding might make it so.
                column_duals[column] = (self.rows[kind][column] - self.duals[kind]).min(0.0);
                cost += self.rows[kind][column];
            }
        }
        let mut row_duals = self.duals;
        for kind in (0..kinds).filter(|&kind| columns[kind].is_empty()) {
            row_duals[kind] = highest_dual(self.rows[kind], &column_duals);
        }
        TypesAssignment { columns, cost, row_duals, column_duals }
    }
}

impl Search {
    fn reach(&mut self, vertex: usize, distance: f64, from: usize, column: u32) {
        if distance < self.distance[vertex] {
            self.distance[vertex] = distance;
            self.from[vertex] = (from, column);
        }
    }
}

/// The highest dual that a row can have; 0 for a row that can use no column.
pub(super) fn highest_dual(row: &[f64], column_duals: &[f64]) -> f64 {
    let least = row.iter().zip(column_duals).map(|(cost, dual)| cost - dual).fold(f64::INFINITY, f64::min);
    if least.is_finite() { least } else { 0.0 }
}

/// Order-preserving map of numbers to integers; -0 maps to the same as 0.
pub(super) fn ordered(number: f64) -> u64 {
    let bits = (number + 0.0).to_bits();
    if bits >> 63 == 0 { bits | (1 << 63) } else { !bits }
}
