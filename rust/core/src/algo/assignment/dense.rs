//! The dense solver: shortest augmenting paths on the whole matrix, rectangular without padding.

use super::{Assignment, Costs, Interrupted, Stop, Stuck};

/// The rows to be matched, in order.
pub(crate) struct Rows<'c> {
    rows: Vec<&'c [f64]>,
    columns: usize,
}

impl<'c> Rows<'c> {
    pub(crate) fn all(costs: &Costs<'c>) -> Self {
        Self { rows: (0..costs.rows()).map(|row| costs.row(row)).collect(), columns: costs.columns() }
    }
}

const NONE: u32 = u32::MAX;

/// Matches every row.
#[allow(clippy::many_single_char_names, clippy::cast_possible_truncation, clippy::too_many_lines)]
pub(crate) fn solve(rows: &Rows<'_>, interrupted: Interrupted<'_>) -> Result<Assignment, Stop> {
    let (p, q) = (rows.rows.len(), rows.columns);
    let mut u = vec![0.0_f64; p];
    let mut v = vec![0.0_f64; q];
    let mut row_of = vec![NONE; q];
    let mut col_of = vec![NONE; p];
    let mut dist = vec![0.0_f64; q];
    let mut from = vec![NONE; q];
    let mut done = vec![false; q];
    for start in 0..p {
        if interrupted() {
            return Err(Stop::Interrupted);
        }
        dist.fill(f64::INFINITY);
        done.fill(false);
        let mut reached = vec![start];
        let (mut row, mut base) = (start, 0.0);
        let sink = loop {
            let mut best = (f64::INFINITY, q, false);
            for j in 0..q {
                if done[j] {
                    continue;
                }
                let d = base + (rows.rows[row][j] - u[row] - v[j]);
                if d < dist[j] {
                    dist[j] = d;
                    from[j] = row as u32;
                }
                let free = row_of[j] == NONE;
                if dist[j] < best.0 || (dist[j] == best.0 && free && !best.2) {
                    best = (dist[j], j, free);
                }
            }
            if best.0 == f64::INFINITY {
                let mut rows = reached.clone();
                rows.sort_unstable();
                let columns = (0..q).filter(|&j| done[j]).collect();
                return Err(Stop::Stuck(Stuck { row: start, rows, columns }));
            }
            let j = best.1;
            done[j] = true;
            base = best.0;
            if best.2 {
                break j;
            }
            row = row_of[j] as usize;
            reached.push(row);
        };
        u[start] += base;
        for &i in &reached[1..] {
            u[i] += base - dist[col_of[i] as usize];
        }
        for j in (0..q).filter(|&j| done[j]) {
            v[j] -= (base - dist[j]).max(0.0);
        }
        let mut j = sink;
        loop {
            let i = from[j] as usize;
            row_of[j] = i as u32;
            let next = col_of[i];
            col_of[i] = j as u32;
            if i == start {
                break;
            }
            j = next as usize;
        }
    }
    let cost = col_of.iter().zip(&rows.rows).map(|(&column, row)| row[column as usize]).sum();
    Ok(Assignment { columns: col_of, cost, row_duals: u, column_duals: v })
}
