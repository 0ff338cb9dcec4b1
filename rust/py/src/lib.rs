//! Bindings of `hetsched-core`: columns in, columns out, and the interpreter let go in between.
//!
//! | file | what crosses there |
//! |---|---|
//! | `assignment` | costs, to their cheapest matching |
//! | `columns` | jobs, platforms and tables, from numpy |
//! | `parts` | policies, from dictionaries; the registry, to dictionaries |
//! | `run` | logs and what runs leave behind; the only doorway out of the interpreter |
//! | `session` | runs under way |
//! | `gym` | runs under way whose decisions come from Python |
//! | `roles` | parts of policies that are Python objects |
//! | `frame` | results, by the Arrow C stream interface |
//! | `errors` | the core's errors, as Python's |

use pyo3::prelude::*;

mod assignment;
mod cells;
mod columns;
mod errors;
mod frame;
mod gym;
mod parts;
mod queueing;
mod roles;
mod run;
mod session;

/// The compiled half of hetsched.
///
/// Parts of policies may be Python objects, which share what they like: it relies on the interpreter's lock, and one
/// interpreter. A build of `CPython` without the lock turns it back on; a second interpreter refuses the import.
#[pymodule(gil_used = true)]
mod _core {
    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::assignment::{assign, assign_types};
    #[pymodule_export]
    use crate::columns::{JobColumns, Machine, PowerTable};
    #[pymodule_export]
    use crate::frame::Frame;
    #[pymodule_export]
    use crate::gym::Agents;
    #[pymodule_export]
    use crate::parts::{check_policy, parts};
    #[pymodule_export]
    use crate::roles::jobs::{Job, Jobs};
    #[pymodule_export]
    use crate::roles::running::Running;
    #[pymodule_export]
    use crate::roles::view::View;
    #[pymodule_export]
    use crate::run::{Records, read_swf, unpacked};
    #[pymodule_export]
    use crate::session::Session;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
