//! Parts that a user's crate adds to those of this one.

use std::sync::OnceLock;

use super::{BACKFILLS, BUDGETS, ORDERS, PLACEMENTS, Row, all_faults};
use crate::error::{Error, Result, config};
use crate::policy::backfill::Backfill;
use crate::policy::budget::system_budget::SystemBudget;
use crate::policy::order::Order;
use crate::policy::placement::Placement;

/// Added rows; settled by the first look at them.
static ADDED: OnceLock<Rows> = OnceLock::new();

/// Parts to add, by role.
#[derive(Clone, Copy, Default)]
pub struct Rows {
    /// Orders: which job is next.
    pub orders: &'static [Row<dyn Order>],
    /// Backfills: which jobs may overtake.
    pub backfills: &'static [Row<dyn Backfill>],
    /// Placements: which nodes jobs get.
    pub placements: &'static [Row<dyn Placement>],
    /// Budgets: the ceiling on the machine's draw.
    pub budgets: &'static [Row<SystemBudget>],
}

/// Adds parts to the registry: once per process, before any part is looked up. Adding the same rows again changes
/// nothing, as an extension module may be initialised again.
///
/// # Errors
/// A [`ConfigError`](crate::error::ConfigError) with a fault for each name that is malformed or taken; or if it is too
/// late.
pub fn add(rows: Rows) -> Result<()> {
    let mut faults = Vec::new();
    check("order", ORDERS, rows.orders, &mut faults);
    check("backfill", BACKFILLS, rows.backfills, &mut faults);
    check("placement", PLACEMENTS, rows.placements, &mut faults);
    check("power", BUDGETS, rows.budgets, &mut faults);
    if !faults.is_empty() {
        return Err(all_faults(faults.into_iter()));
    }
    if ADDED.get_or_init(|| rows).is(&rows) {
        return Ok(());
    }
    Err(config("policy", "parts to add", "all of them at once, before a part is looked up"))
}

impl Rows {
    fn is(&self, other: &Self) -> bool {
        same(self.orders, other.orders)
            && same(self.backfills, other.backfills)
            && same(self.placements, other.placements)
            && same(self.budgets, other.budgets)
    }
}

/// True if these are the very same rows.
fn same<T: ?Sized>(rows: &[Row<T>], others: &[Row<T>]) -> bool {
    rows.len() == others.len() && rows.iter().zip(others).all(|(row, other)| std::ptr::eq(row, other))
}

fn check<T: ?Sized>(role: &str, own: &[Row<T>], added: &[Row<T>], faults: &mut Vec<Error>) {
    for (place, row) in added.iter().enumerate() {
        let mut others = own.iter().chain(&added[..place]);
        let expected = if others.any(|other| other.name == row.name) {
            "a name that no part of this role has yet"
        } else if is_name(row.name) {
            continue;
        } else {
            "words of small letters and digits, joined by hyphens"
        };
        faults.push(config(format!("policy.{role}"), format!("`{}`", row.name), expected));
    }
}

fn is_name(name: &str) -> bool {
    let is_word = |word: &str| !word.is_empty() && word.bytes().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit());
    name.starts_with(|first: char| first.is_ascii_lowercase()) && name.split('-').all(is_word)
}

/// Added rows. After this call nothing can be added.
pub fn added() -> &'static Rows {
    ADDED.get_or_init(Rows::default)
}

/// All orders: those of this crate, then those that were added.
pub fn orders() -> impl Iterator<Item = &'static Row<dyn Order>> + Clone {
    ORDERS.iter().chain(added().orders)
}

/// All backfills.
pub fn backfills() -> impl Iterator<Item = &'static Row<dyn Backfill>> + Clone {
    BACKFILLS.iter().chain(added().backfills)
}

/// All placements.
pub fn placements() -> impl Iterator<Item = &'static Row<dyn Placement>> + Clone {
    PLACEMENTS.iter().chain(added().placements)
}

/// All budgets.
pub fn budgets() -> impl Iterator<Item = &'static Row<SystemBudget>> + Clone {
    BUDGETS.iter().chain(added().budgets)
}
