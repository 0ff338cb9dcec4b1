//! Rows as a user's crate writes them: a name, a line, a constructor, and further facts about the part.

use super::{Make, Need, ReadsDraws, Row};
use crate::error::Result;
use crate::params::{Parameter, Params};

impl<T: ?Sized> Row<T> {
    /// A part without parameters that uses no chance; `make` is given its parameters and the run's seed.
    pub const fn new(name: &'static str, doc: &'static str, make: fn(&mut Params, u64) -> Result<Box<T>>) -> Self {
        Self::made(name, doc, Make::Alone(make))
    }

    pub(super) const fn made(name: &'static str, doc: &'static str, make: Make<T>) -> Self {
        Self {
            name,
            doc,
            parameters: &[],
            uses_chance: false,
            reads_draws: ReadsDraws::Never,
            needs: &[],
            chooses_nodes: false,
            lets_place: false,
            knows_cells: false,
            make,
        }
    }

    /// The same with parameters: `make` takes each of them, by its name.
    #[must_use]
    pub const fn with_parameters(mut self, parameters: &'static [Parameter]) -> Self {
        self.parameters = parameters;
        self
    }

    /// The same for a part that uses random numbers.
    #[must_use]
    pub const fn using_chance(mut self) -> Self {
        self.uses_chance = true;
        self
    }

    /// The same for a part that decides by jobs' known own draws.
    #[must_use]
    pub const fn reading_draws(mut self, when: ReadsDraws) -> Self {
        self.reads_draws = when;
        self
    }

    /// The same for a part with needs that a run has to meet.
    #[must_use]
    pub const fn needing(mut self, needs: &'static [Need]) -> Self {
        self.needs = needs;
        self
    }

    /// The same for a backfill that names the nodes of jobs.
    #[must_use]
    pub const fn choosing_nodes(mut self) -> Self {
        self.chooses_nodes = true;
        self
    }

    /// The same for a backfill that may leave the choice of nodes to a placement.
    #[must_use]
    pub const fn letting_place(mut self) -> Self {
        self.lets_place = true;
        self
    }

    /// The same for a part that distinguishes nodes that differ in what jobs ask for.
    #[must_use]
    pub const fn knowing_cells(mut self) -> Self {
        self.knows_cells = true;
        self
    }
}
