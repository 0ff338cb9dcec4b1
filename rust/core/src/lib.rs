//! The event engine of hetsched: exact schedules and their energy.
//!
//! | module | what it answers |
//! |---|---|
//! | [`units`], [`error`], [`params`], [`random`] | instants, watts, faults, named parameters, named chance |
//! | [`algo`] | what comes next, who fits first, which nodes are free, how much is free when |
//! | [`trace`] | which jobs a log holds |
//! | [`workload`], [`platform`], [`power`] | jobs, nodes and their states, what nodes draw |
//! | [`cluster`] | what is known of a machine and its jobs; a policy sees it through a [view](cluster::view) |
//! | [`policy`] | who starts, and where |
//! | [`control`] | a policy in charge of a cluster |
//! | [`sim`] | what happens then |
//! | [`prelude`] | what parts of a crate of your own are written with |
//!
//! One run, from jobs to joules:
//!
//! ```
//! use hetsched_core::platform::PlatformColumns;
//! use hetsched_core::policy::compose::Composed;
//! use hetsched_core::policy::registry::{PartSpec, PolicySpec};
//! use hetsched_core::power::pvt::{OnUnknownApp, tables};
//! use hetsched_core::sim::{Options, Simulation};
//! use hetsched_core::workload::JobColumns;
//!
//! let workload = JobColumns {
//!     job_id: vec![1, 2],
//!     submit_s: vec![0.0, 10.0],
//!     runtime_s: vec![100.0, 50.0],
//!     node_count: vec![1, 2],
//!     ..JobColumns::default()
//! }
//! .into_workload()?;
//! let platform = PlatformColumns {
//!     idle_w: vec![100.0; 2],
//!     busy_w: vec![300.0; 2],
//!     tdp_w: vec![300.0; 2],
//!     off_w: vec![0.0; 2],
//!     down_w: vec![0.0; 2],
//!     boot_w: vec![100.0; 2],
//!     boot_s: vec![0.0; 2],
//!     shutdown_w: vec![100.0; 2],
//!     shutdown_s: vec![0.0; 2],
//!     slots: vec![1; 2],
//!     exclusive: true,
//! }
//! .into_platform()?;
//! let part = |name: &str| PartSpec { name: name.into(), ..PartSpec::default() };
//! let spec = PolicySpec {
//!     name: "fcfs".into(),
//!     order: part("fcfs"),
//!     backfill: part("none"),
//!     placement: part("lowest-id"),
//!     power: None,
//!     sleep: None,
//! };
//! let (parts, _) = spec.build(0)?;
//! let (actual, predicted) = tables(&platform, &workload, None, None, OnUnknownApp::Error)?;
//! let policy = Box::new(Composed::new("fcfs", parts, &platform)?);
//! let records = Simulation::new(workload, platform, actual, predicted, policy, Options::default())
//!     .run(&mut |_| std::ops::ControlFlow::Continue(()))?;
//!
//! // Job 2 needs both nodes and waits for job 1: node 0 is busy for 150 s, node 1 for 50 s and idle for 100 s.
//! assert_eq!(records.end(1).map(|end| end.seconds()), Some(150.0));
//! assert_eq!(records.totals.energy.joules(), 150.0 * 300.0 + 50.0 * 300.0 + 100.0 * 100.0);
//! # Ok::<(), hetsched_core::error::Error>(())
//! ```

pub mod algo;
pub mod cluster;
pub mod control;
pub mod error;
pub mod params;
pub mod platform;
pub mod policy;
pub mod power;
pub mod prelude;
pub mod random;
pub mod sim;
pub mod trace;
pub mod units;
pub mod workload;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
