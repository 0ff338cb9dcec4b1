//! Names that a part in a user's crate needs.
//!
//! A placement that takes the free nodes with the highest ids, added to the registry and used by its name:
//!
//! ```standalone_crate
//! use hetsched_core::prelude::*;
//!
//! #[derive(Clone)]
//! struct HighestId;
//!
//! impl Placement for HighestId {
//!     fn choose(&mut self, ask: &Ask<'_>, job: JobId, free: &mut NodeSet, nodes: &mut Vec<u32>) -> Result<Choice> {
//!         let others = free.len() - ask.view.jobs.node_count(job);
//!         let chosen: Vec<u32> = free.iter().skip(others as usize).collect();
//!         nodes.extend(chosen.iter().filter(|&&node| free.remove(node)));
//!         Ok(Choice::Chosen)
//!     }
//! }
//!
//! const PLACEMENTS: &[Row<dyn Placement>] =
//!     &[Row::<dyn Placement>::new("highest-id", "the free nodes with the highest ids", |_, _| Box::new(HighestId))];
//!
//! add(Rows { placements: PLACEMENTS, ..Rows::default() })?;
//!
//! let part = |name: &str| PartSpec { name: name.into(), ..PartSpec::default() };
//! let spec = PolicySpec {
//!     name: "mine".into(),
//!     order: part("fcfs"),
//!     backfill: part("reservations"),
//!     placement: part("highest-id"),
//!     power: None,
//!     sleep: None,
//! };
//! let (_parts, full) = spec.build(0)?;
//! assert_eq!(full.placement.name, "highest-id");
//! # Ok::<(), Error>(())
//! ```
//!
//! The [crate's first page](crate) shows a run with such a policy. The crate `hetsched-py` takes the same rows to an
//! extension module of Python.

pub use crate::algo::node_set::NodeSet;
pub use crate::error::{Error, Result, config};
pub use crate::params::{DefaultValue, Param, Params, Value};
pub use crate::policy::analyzer::Ask;
pub use crate::policy::backfill::Backfill;
pub use crate::policy::budget::system_budget::SystemBudget;
pub use crate::policy::order::{Changes, Order};
pub use crate::policy::placement::{Choice, News, Placement, Verdict};
pub use crate::policy::registry::{Need, PartSpec, PolicySpec, ReadsDraws, Row, Rows, add};
pub use crate::policy::{Jobs, View};
pub use crate::units::{Joules, SimDuration, SimTime, Watts};
pub use crate::workload::{AppId, JobId};
