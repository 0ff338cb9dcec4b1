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
//! | `frame` | results, by the Arrow C stream interface |
//! | `errors` | the core's errors, as Python's |

use pyo3::prelude::*;

mod assignment;
mod columns;
mod errors;
mod frame;
mod gym;
mod parts;
mod run;
mod session;

/// The compiled half of hetsched.
#[pymodule]
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
    use crate::run::{Records, read_swf, unpacked};
    #[pymodule_export]
    use crate::session::Session;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
