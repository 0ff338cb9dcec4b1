//! Pairs of features that refuse each other: every row of the table is met by some policy and setting, and gives its
//! sentence.

use std::collections::BTreeSet;
use std::sync::Arc;

use hetsched_core::error::Result;
use hetsched_core::params::Value;
use hetsched_core::platform::cells::{CellColumns, Want};
use hetsched_core::platform::queues::{Queue, QueueColumns};
use hetsched_core::policy::agent::choices::Choices;
use hetsched_core::policy::analyzer::Ask;
use hetsched_core::policy::registry::refused::Feature as F;
use hetsched_core::policy::registry::refused::REFUSED;
use hetsched_core::policy::registry::{PartSpec, PolicySpec};
use hetsched_core::policy::sizing::Sizing;
use hetsched_core::power::caps::CapsSpec;
use hetsched_core::power::known::Rule;
use hetsched_core::power::pvt::OnUnknownApp;
use hetsched_core::sim::Options;
use hetsched_core::sim::own_parts::OwnParts;
use hetsched_core::sim::setup::{Setup, Tables};
use hetsched_core::units::{SimTime, Watts};
use hetsched_core::workload::{JobColumns, JobId, SizeColumns, Workload};

use crate::support::{part, platform};

/// Setting of a policy.
#[derive(Clone, Copy, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a feature of its own")]
struct Setting {
    shared: bool,
    unlike: bool,
    /// Nodes of each queue; none: there are no queues.
    queues: &'static [&'static [u32]],
    preempts: bool,
    resizes: bool,
    under_way: bool,
    agent: bool,
}

const PLAIN: Setting = Setting {
    shared: false,
    unlike: false,
    queues: &[],
    preempts: false,
    resizes: false,
    under_way: false,
    agent: false,
};
const ALL: &[&[u32]] = &[&[0, 1, 2, 3], &[0, 1, 2, 3]];

/// A row of the table, a policy and a setting that are refused by it, and the names that fill its sentence.
type Case = ((F, F), &'static str, Setting, &'static [(&'static str, &'static str)]);

/// A case for each row.
const CASES: &[Case] = &[
    ((F::Sleep, F::PlacementWaits), "fcfs none sliding-window:on_miss=wait - timeout", PLAIN, &[]),
    ((F::Sleep, F::OwnCandidates), "fcfs reservations:order=shortest lowest-id - timeout", PLAIN, &[]),
    ((F::SleepByCount, F::SharedNodes), "fcfs none lowest-id - timeout", Setting { shared: true, ..PLAIN }, &[]),
    ((F::SleepByPlan, F::StarvationLimit), "vahrm plan lowest-id - timeout", PLAIN, &[]),
    ((F::SleepUnderBudget, F::Governance), "fcfs none lowest-id system-budget:on_excess=[kill] timeout", PLAIN, &[]),
    ((F::SleepUnderBudget, F::CountsNoBoots), "fcfs plan lowest-id system-budget timeout", PLAIN, &[]),
    (
        (F::PlacesItself, F::OtherPlacement),
        "fcfs plan random - -",
        PLAIN,
        &[("{backfill}", "plan"), ("{placement}", "random")],
    ),
    (
        (F::PlansNoWatts, F::Budget),
        "fcfs slurm lowest-id system-budget -",
        PLAIN,
        &[("{backfill}", "slurm"), ("{power}", "system-budget")],
    ),
    ((F::NamesNodes, F::FirstRuns), "vahrm:first_run=true plan lowest-id - -", PLAIN, &[("{backfill}", "plan")]),
    ((F::SlurmLoops, F::SharedNodes), "fcfs slurm lowest-id - -", Setting { shared: true, ..PLAIN }, &[]),
    ((F::CountsAlike, F::UnlikeNodes), "fcfs none lowest-id - -", Setting { unlike: true, shared: true, ..PLAIN }, &[]),
    ((F::Resizing, F::UnlikeNodes), "fcfs none lowest-id - -", Setting { unlike: true, resizes: true, ..PLAIN }, &[]),
    (
        (F::Preemption, F::BeyondSlots),
        "fcfs plan lowest-id - -",
        Setting { unlike: true, queues: ALL, preempts: true, ..PLAIN },
        &[],
    ),
    ((F::Preemption, F::CountsNodes), "fcfs none lowest-id - -", Setting { queues: ALL, preempts: true, ..PLAIN }, &[]),
    (
        (F::Preemption, F::StarvationLimit),
        "vahrm plan lowest-id - -",
        Setting { queues: ALL, preempts: true, ..PLAIN },
        &[],
    ),
    (
        (F::SeveralSets, F::OwnCandidates),
        "fcfs reservations:order=shortest lowest-id - -",
        Setting { queues: &[&[0, 1], &[1, 2]], ..PLAIN },
        &[],
    ),
    ((F::UnderWay, F::Agent), "fcfs none lowest-id - -", Setting { agent: true, under_way: true, ..PLAIN }, &[]),
];

/// A part from text such as `system-budget:on_excess=[kill]`; none for `-`.
fn part_of(text: &str) -> Option<PartSpec> {
    let mut words = text.split(':');
    let name = words.next().filter(|&name| name != "-")?;
    let value = |text: &str| match text {
        "true" => Value::Bool(true),
        _ => match text.strip_prefix('[').and_then(|text| text.strip_suffix(']')) {
            Some(item) => Value::List(vec![Value::Text(item.to_owned())]),
            None => Value::Text(text.to_owned()),
        },
    };
    let params = words.filter_map(|word| word.split_once('=')).map(|(name, text)| (name.to_owned(), value(text)));
    Some(PartSpec { name: name.to_owned(), params: params.collect() })
}

fn spec(text: &str) -> PolicySpec {
    let parts: Vec<_> = text.split(' ').map(part_of).collect();
    let [order, backfill, placement, power, sleep] = parts.try_into().expect("five roles");
    let needed = |part: Option<PartSpec>| part.expect("a part");
    let (order, backfill, placement) = (needed(order), needed(backfill), needed(placement));
    PolicySpec { name: "test".into(), order, backfill, placement, power, sleep }
}

/// Two jobs, the first of which can be resized.
fn jobs() -> Arc<Workload> {
    let sizes = SizeColumns {
        min_nodes: vec![1; 2],
        offsets: vec![0, 2, 3],
        time_ratios: vec![2.0, 1.0, 1.0],
        malleable: vec![1, 0],
        resize_s: vec![],
    };
    let columns = JobColumns {
        job_id: vec![1, 2],
        submit_s: vec![0.0; 2],
        runtime_s: vec![10.0; 2],
        node_count: vec![2, 1],
        sizes,
        source: "test".into(),
        ..JobColumns::default()
    };
    Arc::new(columns.into_workload().expect("the jobs are in order"))
}

/// A sizing that resizes.
#[derive(Clone)]
struct Resizes;

impl Sizing for Resizes {
    fn sizes(&mut self, ask: &Ask<'_>, _: Option<Watts>, jobs: &[JobId], out: &mut Vec<u32>) -> Result<()> {
        out.extend(jobs.iter().map(|&job| ask.view.jobs.node_count(job)));
        Ok(())
    }

    fn resizes_runs(&self) -> bool {
        true
    }
}

/// Message of the error with which a policy is refused in a setting.
fn message(policy: &str, setting: Setting) -> String {
    let (jobs, platform) = (jobs(), platform(4, 2, !setting.shared));
    let queue = |(place, nodes): (usize, &&[u32])| {
        let preempts = if setting.preempts && place == 1 { vec![0] } else { vec![] };
        Queue { nodes: nodes.to_vec(), priority: i32::from(place == 1), preempts, ..Queue::default() }
    };
    let queues = QueueColumns {
        queues: setting.queues.iter().enumerate().map(queue).collect(),
        of_job: vec![0; 2],
        users: vec![None; 2],
        bars: vec![None; 2],
    };
    let want = |cells: &[u16]| Want { cells: cells.to_vec(), ..Want::default() };
    let cells = CellColumns {
        of_node: vec![0, 0, 1, 1],
        wants: vec![want(&[0]), want(&[0, 1])],
        of_job: vec![0, 1],
        licences: vec![],
        stock: vec![],
    };
    let tables = Tables {
        actual: None,
        predicted: None,
        caps: &CapsSpec::None,
        unknown: OnUnknownApp::Error,
        known: Rule::default(),
        forecast_w: None,
    };
    let setup = Setup {
        workload: &jobs,
        platform: &platform,
        tables,
        spec: spec(policy),
        seed: 0,
        options: Options::default(),
        agent: setting.agent.then(|| Choices { rows: 3, placements: vec![part("lowest-id")], sets_caps: false }),
        cells: setting.unlike.then(|| cells.into_cells(2, 4).expect("the cells are in order")),
        queues: (!setting.queues.is_empty()).then(|| queues.into_queues(2, 4).expect("the queues are in order")),
        budgets: None,
        groups: None,
        from: setting.under_way.then_some(SimTime::from_micros(0)),
        own: OwnParts { sizing: setting.resizes.then(|| Box::new(Resizes) as Box<dyn Sizing>), ..OwnParts::default() },
    };
    setup.simulation().err().map_or_else(|| format!("`{policy}` is set up"), |error| error.to_string())
}

#[test]
fn every_pair_is_refused_with_its_sentence() {
    for &((one, other), policy, setting, names) in CASES {
        let pair = REFUSED.iter().find(|pair| (pair.one, pair.other) == (one, other)).expect("a row");
        let sentence = format!("{}: found {}, expected {}", pair.parameter, pair.found, pair.expected);
        let sentence = names.iter().fold(sentence, |text, (hole, name)| text.replace(hole, name));
        assert_eq!(message(policy, setting), sentence, "{one:?} and {other:?}");
    }
}

#[test]
fn every_row_has_a_case_and_a_pair_of_its_own() {
    let rows: BTreeSet<_> = REFUSED.iter().map(|pair| (pair.one, pair.other)).collect();
    assert_eq!(rows.len(), REFUSED.len());
    assert_eq!(CASES.iter().map(|case| case.0).collect::<BTreeSet<_>>(), rows);
}

#[test]
fn the_same_policies_are_set_up_where_nothing_refuses_them() {
    for policy in [
        "fcfs none lowest-id - timeout",
        "fcfs plan lowest-id - timeout",
        "fcfs none assignment - -",
        "fcfs plan lowest-id system-budget -",
        "fcfs plan lowest-id system-budget:on_excess=[kill] -",
    ] {
        assert_eq!(message(policy, PLAIN), format!("`{policy}` is set up"));
    }
}
