//! Prices: the watts that a job adds to the idle machine, compared with the plain way to find them by sorting all
//! nodes.

use hetsched_core::cluster::counted::Estimate;
use hetsched_core::error::Result;
use hetsched_core::platform::PlatformColumns;
use hetsched_core::platform::scope::Scope;
use hetsched_core::policy::analyzer::{Analyzer, Ask};
use hetsched_core::policy::budget::draw::beyond_idle;
use hetsched_core::policy::budget::least::LeastCaps;
use hetsched_core::policy::budget::price::Price;
use hetsched_core::policy::budget::prices::Prices;
use hetsched_core::policy::{Decisions, Jobs, Notice, Policy, Stage, View};
use hetsched_core::power::pvt::{OnUnknownApp, TableKind, VariationTable, tables};
use hetsched_core::sim::{Options, Simulation};
use hetsched_core::units::Watts;
use hetsched_core::workload::{JobColumns, JobId};
use proptest::prelude::*;

use crate::support::run;

/// Compares the prices of all jobs at their submission, and starts none.
#[derive(Clone)]
struct Asks(Prices);

impl Policy for Asks {
    fn name(&self) -> &'static str {
        "asks"
    }

    fn notice(&mut self, _jobs: Jobs<'_>, _notice: Notice) {}

    fn decide(&mut self, _stage: Stage, view: &View<'_>, _out: &mut Decisions) -> Result<()> {
        for job in [JobId(0), JobId(1), JobId(2)] {
            for estimate in [Estimate::Predicted, Estimate::Tdp] {
                let ask = Ask { view, analyzer: &Always(estimate), least: &LeastCaps::None };
                let found = self.0.of(&ask, job);
                assert_eq!(found, by_sorting(&ask, job), "{job:?} {estimate:?}");
                assert_eq!(self.0.of(&ask, job), found, "the second time it is remembered");
            }
        }
        Ok(())
    }
}

/// Analyzer with the same estimate for all jobs.
#[derive(Clone)]
struct Always(Estimate);

impl Analyzer for Always {
    fn estimate(&self, _jobs: Jobs<'_>, _job: JobId) -> Estimate {
        self.0
    }
}

fn by_sorting(ask: &Ask<'_>, job: JobId) -> Price {
    let (view, on) = (ask.view, |node| beyond_idle(ask, job, &[node]));
    let mut watts: Vec<Watts> = (0..view.platform.len()).map(on).collect();
    watts.sort_unstable();
    let (count, all) = (view.jobs.node_count(job), watts.iter().copied().sum::<Watts>());
    let few = (count as usize).min(watts.len());
    Price {
        least: watts[..few].iter().copied().sum(),
        mean: all.share(count, view.platform.len()),
        most: watts[watts.len() - few..].iter().copied().sum(),
    }
}

proptest! {
    #[test]
    fn a_price_is_what_sorting_all_nodes_says(
        nodes in prop::collection::vec((prop::sample::select(vec![80.0, 100.0, 250.0]), 0.5..1.5_f64), 1..12),
        jobs in prop::collection::vec((prop::sample::select(vec![0.0, 60.0, 100.0, 180.5, 300.0]), 1..14_i32), 3),
        has_table in any::<bool>(),
    ) {
        let (power_w, node_count): (Vec<f64>, Vec<i32>) = jobs.into_iter().unzip();
        let columns = JobColumns {
            job_id: vec![1, 2, 3],
            submit_s: vec![0.0; 3],
            runtime_s: vec![10.0; 3],
            node_count: node_count.iter().map(|&count| count.min(i32::try_from(nodes.len()).unwrap())).collect(),
            power_w,
            app: vec![0, 0, -1],
            app_names: vec!["a".into()],
            source: "test".into(),
            ..JobColumns::default()
        };
        let of = |watts: f64| vec![watts; nodes.len()];
        let machine = PlatformColumns {
            idle_w: nodes.iter().map(|node| node.0).collect(),
            busy_w: of(220.0),
            tdp_w: of(300.0),
            off_w: of(0.0),
            down_w: of(0.0),
            boot_w: of(0.0),
            boot_s: of(0.0),
            shutdown_w: of(0.0),
            shutdown_s: of(0.0),
            slots: vec![1; nodes.len()],
            exclusive: true,
        };
        let (workload, machine) = (columns.into_workload().unwrap(), machine.into_platform().unwrap());
        let table = VariationTable {
            apps: vec!["a".into()],
            kind: TableKind::Ratio,
            power: nodes.iter().map(|node| node.1).collect(),
            time_ratio: Vec::new(),
            name: "table".into(),
        };
        let table = has_table.then_some(&table);
        let (actual, predicted) = tables(&machine, &workload, table, None, OnUnknownApp::Nominal).unwrap();
        let asks = Box::new(Asks(Prices::new(Scope::all(&machine))));
        let records = run(Simulation::new(workload, machine, actual, predicted, asks, Options::default())).unwrap();
        prop_assert!(records.totals.passes > 0, "it was asked");
    }
}
