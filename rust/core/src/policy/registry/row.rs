//! Rows of the registry: a name, a line, a constructor, and further facts about the part.

use crate::params::{Parameter, Params};
use crate::policy::timing::Timing;
use crate::units::SimDuration;

/// A row of the registry.
#[expect(clippy::struct_excessive_bools, reason = "they are facts that do not depend on each other")]
pub struct Row<T: ?Sized> {
    /// The part's name.
    pub name: &'static str,
    /// One line that says what it does.
    pub doc: &'static str,
    /// True if it draws random numbers, so that another seed can make another schedule.
    pub uses_chance: bool,
    /// Condition under which it decides by jobs' own draws.
    pub reads_draws: ReadsDraws,
    /// Needs that a run has to meet for it.
    pub needs: &'static [Need],
    /// True if it names the nodes of jobs: all placements do; of backfills, those that plan on named nodes.
    pub chooses_nodes: bool,
    /// True if it may leave the choice of nodes to a placement, although it names nodes.
    pub lets_place: bool,
    /// True if it plans with the watts of a budget on the nodes that it names.
    pub plans_watts: bool,
    /// True if it distinguishes nodes that differ in what jobs ask for.
    pub knows_cells: bool,
    make: Make<T>,
}

/// Constructor of a part, from its parameters and the run's seed.
enum Make<T: ?Sized> {
    /// The part alone.
    Alone(fn(&mut Params, u64) -> Box<T>),
    /// The part and what its parameters ask for in other roles.
    With(fn(&mut Params, u64) -> Accompanied<T>),
}

/// A part, and what it asks for in other roles.
pub(super) type Accompanied<T> = (Box<T>, Beside);

/// Requests that the parameters of one part may make in other roles.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Beside {
    /// Jobs that have waited longer go before all others.
    pub(super) starvation_limit: Option<SimDuration>,
    /// Factor on the time of first runs, which are profiled.
    pub(super) profiling_ratio: Option<f64>,
    /// Timing of passes.
    pub(super) timing: Timing,
}

/// Condition under which a part decides by how much a job is known to draw of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadsDraws {
    /// Never.
    Never,
    /// Only with tables of factors: elsewhere a job's own draw is the same on every node.
    WithFactors,
    /// Wherever jobs bring one.
    Always,
}

/// Data that a run has to bring for a part, or work that it has to do; always, or if the named parameter is true.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// Observed starts of jobs.
    ObservedStarts,
    /// Observed nodes of jobs.
    ObservedNodes,
    /// Profiling of first runs, which records show.
    FirstRuns(&'static str),
    /// The utilization under random placement, as the parameters `u_l` and `u_h`.
    Utilizations(&'static str),
    /// Group of each job, by the column that the parameter names.
    Groups(&'static str),
}

impl<T: ?Sized> Row<T> {
    /// A part that uses no chance. `make` is given its parameters, of which it takes each once, and the run's seed.
    pub const fn new(name: &'static str, doc: &'static str, make: fn(&mut Params, u64) -> Box<T>) -> Self {
        Self::made(name, doc, Make::Alone(make))
    }

    /// The same for a part that may ask for something in other roles.
    pub(super) const fn asking(
        name: &'static str,
        doc: &'static str,
        make: fn(&mut Params, u64) -> Accompanied<T>,
    ) -> Self {
        Self::made(name, doc, Make::With(make))
    }

    const fn made(name: &'static str, doc: &'static str, make: Make<T>) -> Self {
        Self {
            name,
            doc,
            uses_chance: false,
            reads_draws: ReadsDraws::Never,
            needs: &[],
            chooses_nodes: false,
            lets_place: false,
            plans_watts: false,
            knows_cells: false,
            make,
        }
    }

    /// Makes the part.
    pub(super) fn make(&self, params: &mut Params, seed: u64) -> Accompanied<T> {
        match self.make {
            Make::Alone(make) => (make(params, seed), Beside::default()),
            Make::With(make) => make(params, seed),
        }
    }

    /// Its parameters, in the order in which it takes them.
    #[must_use]
    pub fn parameters(&self) -> Vec<Parameter> {
        let mut params = Params::default();
        self.make(&mut params, 0);
        params.into_declared()
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

    /// The same for a backfill that plans with the watts of a budget on the nodes that it names.
    #[must_use]
    pub const fn planning_watts(mut self) -> Self {
        self.plans_watts = true;
        self
    }

    /// The same for a part that distinguishes nodes that differ in what jobs ask for.
    #[must_use]
    pub const fn knowing_cells(mut self) -> Self {
        self.knows_cells = true;
        self
    }
}

impl ReadsDraws {
    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Never => "never",
            Self::WithFactors => "with_factors",
            Self::Always => "always",
        }
    }
}

impl Need {
    /// Its name, and the parameter that decides whether it holds, if one does.
    #[must_use]
    pub fn name(self) -> (&'static str, Option<&'static str>) {
        match self {
            Self::ObservedStarts => ("observed_starts", None),
            Self::ObservedNodes => ("observed_nodes", None),
            Self::FirstRuns(parameter) => ("first_runs", Some(parameter)),
            Self::Utilizations(parameter) => ("utilizations", Some(parameter)),
            Self::Groups(parameter) => ("groups", Some(parameter)),
        }
    }
}
