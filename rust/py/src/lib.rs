//! Bindings of `hetsched-core`: columns in, columns out, and the interpreter let go in between.
//!
//! | file | what crosses there |
//! |---|---|
//! | `assignment` | costs, to their cheapest matching |
//! | `transport` | costs, supplies and outages, to the least cost over time |
//! | `exchange` | costs and intervals on nodes, to a cheaper placement |
//! | `columns` | jobs, platforms and tables, from numpy |
//! | `parts` | policies, from dictionaries; the registry, to dictionaries |
//! | `run` | logs and what runs leave behind; the only doorway out of the interpreter |
//! | `dumps` | what the readers of blocks have in common |
//! | `batsim` | workloads of Batsim's |
//! | `pbs` | accounting logs of PBS |
//! | `sacct` | dumps of Slurm's accounting |
//! | `session` | runs under way |
//! | `gym` | runs under way whose decisions come from Python |
//! | `roles` | parts of policies that are Python objects |
//! | `frame` | results, by the Arrow C stream interface |
//! | `errors` | the core's errors, as Python's |
//!
//! [`engine`] makes an extension module of them: hetsched's own is `rust/extension`, one with more parts is
//! `examples/placement-in-rust`.

use pyo3::prelude::*;
use pyo3::wrap_pyfunction;

mod assignment;
mod batsim;
mod cells;
mod columns;
mod dumps;
mod errors;
mod exchange;
mod frame;
mod gym;
mod live;
mod parts;
mod pbs;
mod queueing;
mod roles;
mod run;
mod sacct;
mod session;
mod setup;
mod transport;

pub use hetsched_core::policy::registry::Rows;

/// Fills an extension module with the engine, whose registry has these rows besides its own. To be called once, from
/// the module's init.
///
/// Parts of policies may be Python objects, which share what they like: it relies on the interpreter's lock, and one
/// interpreter. A build of `CPython` without the lock turns it back on; a second interpreter refuses the import.
///
/// # Errors
/// A `hetsched.ConfigError` for each row whose name is malformed or taken.
pub fn engine(module: &Bound<'_, PyModule>, rows: Rows) -> PyResult<()> {
    hetsched_core::policy::registry::add(rows).map_err(|error| errors::to_py(module.py(), error))?;
    module.gil_used(true)?;
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    // Set in the build of a wheel; builds of a working copy do not change with every commit.
    module.add("__commit__", option_env!("HETSCHED_COMMIT").unwrap_or_default())?;
    functions(module)?;
    classes(module)
}

fn functions(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(assignment::assign, module)?)?;
    module.add_function(wrap_pyfunction!(assignment::assign_types, module)?)?;
    module.add_function(wrap_pyfunction!(transport::least_cost_over_time, module)?)?;
    module.add_function(wrap_pyfunction!(exchange::cheaper_placement, module)?)?;
    module.add_function(wrap_pyfunction!(exchange::cheaper_paced_placement, module)?)?;
    module.add_function(wrap_pyfunction!(exchange::raised_prices, module)?)?;
    module.add_function(wrap_pyfunction!(exchange::placed_by_prices, module)?)?;
    module.add_function(wrap_pyfunction!(parts::check_policy, module)?)?;
    module.add_function(wrap_pyfunction!(parts::parts, module)?)?;
    module.add_function(wrap_pyfunction!(parts::refused_pairs, module)?)?;
    module.add_function(wrap_pyfunction!(run::read_swf, module)?)?;
    module.add_function(wrap_pyfunction!(batsim::read_batsim, module)?)?;
    module.add_function(wrap_pyfunction!(pbs::read_pbs, module)?)?;
    module.add_function(wrap_pyfunction!(sacct::read_sacct, module)?)?;
    module.add_function(wrap_pyfunction!(run::unpacked, module)?)
}

fn classes(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<columns::JobColumns>()?;
    module.add_class::<columns::Machine>()?;
    module.add_class::<columns::PowerTable>()?;
    module.add_class::<frame::Frame>()?;
    module.add_class::<gym::Agents>()?;
    module.add_class::<live::Live>()?;
    module.add_class::<roles::jobs::Job>()?;
    module.add_class::<roles::jobs::Jobs>()?;
    module.add_class::<roles::jobs::Ended>()?;
    module.add_class::<roles::profile::Profile>()?;
    module.add_class::<roles::running::Running>()?;
    module.add_class::<roles::sleep::Standby>()?;
    module.add_class::<roles::view::View>()?;
    module.add_class::<run::Records>()?;
    module.add_class::<pbs::PbsLog>()?;
    module.add_class::<sacct::SacctDump>()?;
    module.add_class::<setup::RunSetup>()?;
    module.add_class::<session::Session>()
}
