//! Rows that are multiples of a few: jobs of one application whose lengths differ.
//!
//! All rows of such a family order the columns alike, and all want the first ones. That is the worst case of shortest
//! augmenting paths (Machol & Wien, "A hard assignment problem", Operations Research 24 (1976), pages 190-192), but it
//! has a structure: within a family the largest multiple takes the cheapest column. A single family is therefore solved
//! by sorting, and its duals are good initial ones for several families that order the columns nearly alike.
//!
//! The structure also prunes the search: a row that it reaches need not be relaxed beyond the next columns, on either
//! side of its own in the family's order, that rows of the family have. Let row `i` have factor `f`, and row `k` a
//! factor `g <= f` and column `j`, and let column `l` be no cheaper than `j`. From `i`, `l` is no nearer than `j` is:
//! since `k` has `j`, `g base[l] - dual[l] >= g base[j] - dual[j]`, the more so with `f` for `g`. So `j` is settled
//! first, and from there `k` reaches `l` at least as soon as `i` does, by `(f - g) (base[l] - base[j]) >= 0`. The other
//! side is its mirror image.

use super::rows::Rows;

/// Maximum number of families; a matrix with more is treated as one without any.
const MOST: usize = 40;

/// Minimum of rows per family, on average.
const FEWEST_ROWS: usize = 8;

/// Tolerance of multiples, relative to the cost: a few roundings.
const ROUNDING: f64 = 1e-14;

/// Number of sampled entries by which a row is compared before it is read as a whole.
const SAMPLES: usize = 16;

/// The families of a matrix in which every row belongs to one.
pub(super) struct Families {
    /// Family and factor of each row.
    pub(super) members: Vec<Member>,
    families: Vec<Family>,
}

/// Family of a row, and the factor by which the row is a multiple of the family's base.
#[derive(Clone, Copy)]
pub(super) struct Member {
    pub(super) family: u32,
    pub(super) factor: f64,
}

/// Rows that are multiples of one row.
pub(super) struct Family {
    /// Columns from the cheapest on.
    pub(super) order: Vec<u32>,
    /// Their costs for a row with factor 1, scaled to a mean of 1.
    pub(super) base: Vec<f64>,
    /// Place of each column in `order`.
    pub(super) places: Vec<u32>,
}

impl Families {
    /// True if these rows belong to few families, judged by a few numbers of each.
    pub(super) fn are(rows: &[&[f64]]) -> bool {
        sort_out(rows).is_some()
    }

    /// The families, if there are few and every row belongs to one.
    pub(super) fn find(rows: &Rows<'_>) -> Option<Self> {
        let columns = rows.columns();
        // A few numbers of each row first: a matrix without families is rejected quickly.
        let (firsts, found) = sort_out(rows.all_costs())?;
        let belongs = |(row, &(family, factor)): (usize, &(u32, f64))| {
            is_multiple(rows.row(row), factor, rows.row(firsts[family as usize]))
        };
        if !found.iter().enumerate().all(belongs) {
            return None;
        }
        let means: Vec<f64> =
            firsts.iter().map(|&first| rows.row(first).iter().sum::<f64>() / columns as f64).collect();
        let member = |&(family, factor): &(u32, f64)| Member { family, factor: factor * means[family as usize] };
        let families = firsts.iter().zip(&means).map(|(&first, &mean)| Family::new(rows.row(first), mean));
        Some(Self { members: found.iter().map(member).collect(), families: families.collect() })
    }

    pub(super) fn of(&self, row: u32) -> (&Family, Member) {
        let member = self.members[row as usize];
        (&self.families[member.family as usize], member)
    }

    /// Optimal duals if the families order the columns alike: the larger the factor, the cheaper the column.
    pub(super) fn duals(&self) -> Vec<f64> {
        let mut mean = vec![0.0; self.families[0].order.len()];
        for family in &self.families {
            family.order.iter().zip(&family.base).for_each(|(&column, base)| mean[column as usize] += base);
        }
        let mut factors: Vec<f64> = self.members.iter().map(|member| member.factor).collect();
        factors.sort_by(|a, b| b.total_cmp(a));
        let columns = order(&mean);
        let mut duals = vec![0.0; mean.len()];
        // From the last used column, whose dual is 0, to the first: two neighbouring columns are equally good for the
        // row of either.
        for rank in (1..factors.len()).rev() {
            let (here, before) = (columns[rank] as usize, columns[rank - 1] as usize);
            let rise = (mean[here] - mean[before]) / self.families.len() as f64;
            duals[before] = duals[here] - f64::midpoint(factors[rank], factors[rank - 1]) * rise;
        }
        duals
    }
}

impl Family {
    fn new(row: &[f64], mean: f64) -> Self {
        let order = order(row);
        let mut places = vec![0; order.len()];
        (0..).zip(&order).for_each(|(place, &column)| places[column as usize] = place);
        let base = order.iter().map(|&column| row[column as usize] / mean).collect();
        Self { order, base, places }
    }
}

/// The first row of each family, and family and factor of each row.
type Sorted = (Vec<usize>, Vec<(u32, f64)>);

/// Sorts rows into families by a few numbers of each.
fn sort_out(rows: &[&[f64]]) -> Option<Sorted> {
    if rows.len() < 2 * FEWEST_ROWS {
        return None;
    }
    let most = MOST.min(rows.len() / FEWEST_ROWS);
    let step = rows[0].len().div_ceil(SAMPLES);
    let mut firsts: Vec<usize> = Vec::new();
    let mut found = Vec::with_capacity(rows.len());
    for (index, row) in rows.iter().enumerate() {
        let factors = firsts.iter().map(|&first| factor(row, rows[first], step));
        let known = (0..).zip(factors).find_map(|(family, factor)| Some((family, factor?)));
        found.push(match known {
            Some(known) => known,
            None if firsts.len() < most && factor(row, row, step).is_some() => {
                firsts.push(index);
                (u32::try_from(firsts.len() - 1).unwrap_or(u32::MAX), 1.0)
            }
            None => return None,
        });
    }
    Some((firsts, found))
}

/// Factor by which a row is a multiple of another, if every `step`-th number agrees with it.
fn factor(row: &[f64], of: &[f64], step: usize) -> Option<f64> {
    let sum = |row: &[f64]| row.iter().step_by(step).sum::<f64>();
    let (all, base) = (sum(row), sum(of));
    let factor = all / base;
    let fits = all > 0.0 && base > 0.0 && factor > 0.0 && factor < f64::INFINITY;
    let off = |(cost, base): (&f64, &f64)| (cost - factor * base).abs() > ROUNDING * cost.abs();
    (fits && !row.iter().zip(of).step_by(step).any(off)).then_some(factor)
}

/// True if a row is a multiple of another by this factor.
fn is_multiple(row: &[f64], factor: f64, of: &[f64]) -> bool {
    // Branch-free; written so that NaN counts as a mismatch. A forbidden pair is no multiple of anything.
    let fits = |(cost, base): (&f64, &f64)| {
        u64::from((cost - factor * base).abs() <= ROUNDING * cost.abs()) & u64::from(*cost < f64::INFINITY)
    };
    row.iter().zip(of).map(fits).sum::<u64>() == row.len() as u64
}

fn order(costs: &[f64]) -> Vec<u32> {
    let mut order: Vec<u32> = (0..).take(costs.len()).collect();
    order.sort_by(|&a, &b| costs[a as usize].total_cmp(&costs[b as usize]));
    order
}
