use proptest::prelude::*;

use crate::algo::node_set::NodeSet;
use crate::platform::PlatformColumns;
use crate::power::caps::{BoundRatio, CapTable, StaticDraw};
use crate::power::slowest::OwnSlowdowns;
use crate::workload::JobColumns;

use super::*;
use crate::power::caps::{CapModel, CapsKind};

const NONE: f64 = f64::INFINITY;
const UNKNOWN: KnownDraw = KnownDraw::Unknown;

fn platform(busy_w: &[f64], exclusive: bool) -> Platform {
    let nodes = busy_w.len();
    let columns = PlatformColumns {
        idle_w: vec![50.0; nodes],
        busy_w: busy_w.to_vec(),
        tdp_w: vec![400.0; nodes],
        off_w: vec![0.0; nodes],
        down_w: vec![0.0; nodes],
        boot_w: vec![0.0; nodes],
        boot_s: vec![0.0; nodes],
        shutdown_w: vec![0.0; nodes],
        shutdown_s: vec![0.0; nodes],
        slots: vec![1; nodes],
        exclusive,
    };
    columns.into_platform().unwrap()
}

/// Jobs 7, 8, … of the applications `cpu` (0), `mem` (1) and none (-1), with caps of their own and measured watts.
fn jobs(jobs: &[(i32, f64, f64)]) -> Workload {
    let columns = JobColumns {
        job_id: (7..).take(jobs.len()).collect(),
        submit_s: vec![0.0; jobs.len()],
        runtime_s: vec![100.0; jobs.len()],
        node_count: vec![1; jobs.len()],
        app: jobs.iter().map(|job| job.0).collect(),
        cap_w: jobs.iter().map(|job| job.1).collect(),
        power_w: jobs.iter().map(|job| job.2).collect(),
        app_names: vec!["cpu".into(), "mem".into()],
        ..JobColumns::default()
    };
    columns.into_workload().unwrap()
}

/// A table of the rows `cpu` and `mem`.
fn table(kind: TableKind, power: &[f64], time_ratio: &[f64]) -> VariationTable {
    let (power, time_ratio) = (power.to_vec(), time_ratio.to_vec());
    VariationTable { apps: vec!["cpu".into(), "mem".into()], kind, power, time_ratio, name: "table".into() }
}

fn model(static_draw: StaticDraw, exponent: f64, bound: f64, least_speed_ratio: f64) -> CapModel {
    let bound_ratio = BoundRatio { default: Some(bound), by_app: Vec::new() };
    CapModel { static_draw, exponent, bound_ratio, least_speed_ratio, busy_w: Vec::new(), tdp_w: Vec::new() }
}

/// The page's tables: `cpu` and `mem` on two nodes alike.
fn page_tables() -> Vec<CapTable> {
    let both = |cpu: f64, mem: f64| [cpu, cpu, mem, mem];
    [(100.0, 100.0, 2.0, 1.25), (150.0, 150.0, 1.25, 1.0), (NONE, 200.0, 1.0, 1.0)]
        .map(|(cap_w, watts, cpu, mem)| {
            let actual = table(TableKind::Watts, &both(watts, watts), &both(cpu, mem));
            CapTable { cap_w, actual, predicted: None }
        })
        .into()
}

fn built(
    platform: &Platform,
    workload: &Workload,
    table: Option<&VariationTable>,
    caps: &CapsSpec,
) -> Result<(Actual, Predicted)> {
    tables_with_caps(platform, workload, table, None, caps, OnUnknownApp::Error)
}

fn by_model(busy_w: &[f64], table: Option<&VariationTable>, model: CapModel) -> (Actual, Predicted) {
    built(&platform(busy_w, true), &jobs(&[]), table, &CapsSpec::Model(model)).unwrap()
}

fn refusal(workload: &Workload, table: Option<&VariationTable>, caps: &CapsSpec) -> String {
    built(&platform(&[200.0; 2], true), workload, table, caps).unwrap_err().to_string()
}

fn watts(watts: f64) -> Watts {
    Watts::from_watts(watts).unwrap()
}

const CPU: Option<AppId> = Some(AppId(0));
const MEM: Option<AppId> = Some(AppId(1));

#[test]
fn rule_2_a_cap_is_served_by_the_largest_key_not_above_it() {
    let workload = jobs(&[(0, 150.0, 0.0)]);
    let spec = CapsSpec::Tables(page_tables());
    let (actual, predicted) = built(&platform(&[200.0; 2], true), &workload, None, &spec).unwrap();
    for (cap_w, draw, cpu, mem) in [
        (100.0, 100.0, 2.0, 1.25),
        (149.9, 100.0, 2.0, 1.25),
        (150.0, 150.0, 1.25, 1.0),
        (199.0, 150.0, 1.25, 1.0),
        (1e6, 150.0, 1.25, 1.0),
        (NONE, 200.0, 1.0, 1.0),
    ] {
        assert_eq!(predicted.under(CPU, UNKNOWN, 1, cap_w), (watts(draw), cpu), "{cap_w}");
        assert_eq!(predicted.under(MEM, UNKNOWN, 0, cap_w), (watts(draw), mem), "{cap_w}");
        assert_eq!(actual.job_under(&workload, JobId(0), 1, cap_w), (watts(draw), cpu), "{cap_w}");
        assert_eq!(
            actual.of_job_under(workload.app(JobId(0)), KnownDraw::measured(workload.power_w(JobId(0))), cap_w).on(1),
            watts(draw),
            "{cap_w}"
        );
    }
    assert_eq!((predicted.levels(), predicted.caps_kind()), ([100.0, 150.0].as_slice(), Some(CapsKind::Tables)));
    assert!(predicted.slowdown_cap(CPU, UNKNOWN, NONE, 1.5, 0).is_infinite());
}

#[test]
fn predicted_tables_by_cap_are_what_policies_read_and_actual_ones_what_runs_are_charged() {
    let mut tables = page_tables();
    for cap in &mut tables {
        let time_ratio = cap.actual.time_ratio.iter().map(|factor| factor * 1.5).collect();
        cap.predicted = Some(VariationTable { time_ratio, ..cap.actual.clone() });
    }
    let workload = jobs(&[(0, f64::NAN, 0.0)]);
    let (actual, predicted) = built(&platform(&[200.0; 2], true), &workload, None, &CapsSpec::Tables(tables)).unwrap();
    let under = |cap_w| (actual.under(CPU, UNKNOWN, 0, cap_w).1, predicted.under(CPU, UNKNOWN, 0, cap_w).1);
    assert_eq!([under(100.0), under(150.0), under(NONE)], [(2.0, 3.0), (1.25, 1.875), (1.0, 1.5)]);
    let caps = [(0, 150.0), (1, 100.0)];
    assert_eq!(actual.slowest_under(workload.app(JobId(0)), UNKNOWN, caps.into_iter()), 2.0);
    assert_eq!(predicted.slowest_under(CPU, UNKNOWN, caps.into_iter()), 3.0);
    assert_eq!(predicted.slowest_under(CPU, UNKNOWN, caps[..1].iter().copied()), 1.875);
}

#[test]
fn rule_14_a_slowdown_is_against_the_own_cap_on_the_worst_of_all_nodes() {
    let workload = jobs(&[]);
    let mut tables = page_tables();
    tables[0].actual.time_ratio[1] = 3.0;
    let spec = CapsSpec::Tables(tables);
    let (_, predicted) = built(&platform(&[200.0; 2], true), &workload, None, &spec).unwrap();
    assert_eq!(predicted.slowdown(0..2, (CPU, UNKNOWN), NONE, |_| 100.0), 3.0);
    assert_eq!(predicted.slowdown(0..2, (CPU, UNKNOWN), 150.0, |_| 100.0), 2.4);
    assert_eq!(predicted.slowdown(0..2, (CPU, UNKNOWN), 150.0, |node| if node == 0 { 100.0 } else { NONE }), 1.6);
    assert_eq!(predicted.slowdown(0..2, (CPU, UNKNOWN), 100.0, |_| 150.0), 1.0);
    assert_eq!([100.0, 150.0, NONE].map(|cap_w| predicted.own_slowdown(0..2, (CPU, UNKNOWN), cap_w)), [3.0, 1.25, 1.0]);
    assert_eq!(predicted.own_slowdown(0..2, (MEM, UNKNOWN), 150.0), 1.0);
    assert_eq!([0..1, 1..2].map(|lane| predicted.slowdown(lane, (CPU, UNKNOWN), NONE, |_| 100.0)), [2.0, 3.0]);
}

#[test]
fn rule_3_the_numbers_of_the_page() {
    // A socket of 85 W, 25 W of it static: the paper's factors.
    let (_, predicted) = by_model(&[85.0], None, model(StaticDraw::Watts(vec![25.0]), 1.0, 1.0, 0.2));
    let factors = [85.0, 70.0, 55.0].map(|cap_w| predicted.under(None, UNKNOWN, 0, cap_w));
    assert_eq!(factors, [(watts(85.0), 1.0), (watts(70.0), 60.0 / 45.0), (watts(55.0), 2.0)]);
    assert_eq!((predicted.levels(), predicted.caps_kind()), ([].as_slice(), Some(CapsKind::Model)));
    // At the lowest speed the node draws 25 + 60 × 0.2 = 37 W, and takes five times as long.
    for cap_w in [37.0, 30.0, 25.0, 1.0] {
        assert_eq!(predicted.under(None, UNKNOWN, 0, cap_w), (watts(37.0), 5.0), "{cap_w}");
    }
}

#[test]
fn rule_3_a_node_whose_draw_is_all_static_runs_at_the_lowest_speed_under_any_cap_below() {
    for exponent in [1.0, 2.0, 3.0] {
        let all = model(StaticDraw::Ratio(1.0), exponent, 0.5, 0.25);
        let (_, predicted) = by_model(&[85.0], None, all);
        assert_eq!(predicted.under(None, UNKNOWN, 0, 80.0), (watts(85.0), 2.5), "{exponent}");
    }
}

#[test]
fn rule_26_the_cap_of_a_slowdown_is_that_of_the_page() {
    let (_, predicted) = by_model(&[250.0, 130.0], None, model(StaticDraw::Watts(vec![50.0; 2]), 1.0, 1.0, 0.2));
    let cap = |own_cap_w, slowdown, node| predicted.slowdown_cap(None, UNKNOWN, own_cap_w, slowdown, node);
    assert_eq!([cap(NONE, 1.25, 0), cap(NONE, 1.25, 1)], [210.0, 114.0]);
    assert_eq!([cap(NONE, 1.0, 0), cap(150.0, 1.0, 0)], [NONE; 2]);
    // Its own cap of 150 W makes node 0 twice as slow, and leaves node 1 alone.
    assert_eq!([cap(150.0, 1.25, 0), cap(150.0, 1.25, 1)], [130.0, 114.0]);
    assert_eq!([cap(NONE, 100.0, 0), cap(NONE, 100.0, 1)], [90.0, 66.0]);
    let (_, unbound) = by_model(&[250.0], None, model(StaticDraw::Watts(vec![50.0]), 1.0, 0.0, 0.2));
    assert_eq!(unbound.slowdown_cap(None, UNKNOWN, NONE, 1.5, 0), 90.0);
    // What no clock slows is lowered for nothing, at whatever slowdown.
    assert_eq!(unbound.slowdown_cap(None, UNKNOWN, NONE, 1.0, 0), 90.0);
}

#[test]
fn rule_3_the_draw_is_the_callers_number_and_not_whole_picowatts() {
    let raw = 200.0 + 1e-13;
    assert_ne!(raw, 200.0);
    let speed = (150.0 - 50.0) / (raw - 50.0);
    let factor = 1.0 + (1.0 / speed - 1.0);
    assert_ne!(factor, 1.5);
    let of_50 = || model(StaticDraw::Watts(vec![50.0]), 1.0, 1.0, 0.2);
    let (_, tabled) = by_model(&[1.0], Some(&table(TableKind::Watts, &[raw, raw], &[])), of_50());
    assert_eq!(tabled.under(CPU, UNKNOWN, 0, 150.0), (watts(150.0), factor));
    let (_, busy) = by_model(&[raw], None, CapModel { busy_w: vec![raw], ..of_50() });
    assert_eq!(busy.under(None, UNKNOWN, 0, 150.0).1, factor);
    assert_eq!(busy.under(None, KnownDraw::Watts(raw), 0, 150.0).1, factor);
    let (_, rounded) = by_model(&[raw], None, of_50());
    assert_eq!(rounded.under(None, UNKNOWN, 0, 150.0).1, 1.5);
    let (_, tdp) = by_model(&[1.0], None, CapModel { tdp_w: vec![raw], ..of_50() });
    assert_eq!(tdp.under(None, KnownDraw::Tdp, 0, 150.0).1, factor);
    let (_, ratio) = by_model(&[1.0], Some(&table(TableKind::Ratio, &[0.7, 1.0], &[])), of_50());
    let speed = (150.0 - 50.0) / (300.1 * 0.7 - 50.0);
    assert_eq!(ratio.under(CPU, KnownDraw::Watts(300.1), 0, 150.0).1, 1.0 + (1.0 / speed - 1.0));
}

#[test]
fn the_model_serves_predicted_tables_with_their_own_draws() {
    let actual = table(TableKind::Watts, &[250.0, 130.0], &[1.0, 1.0]);
    let believed = table(TableKind::Watts, &[150.0, 130.0], &[2.0, 1.0]);
    let caps = CapsSpec::Model(model(StaticDraw::Watts(vec![50.0]), 1.0, 1.0, 0.2));
    let (platform, workload) = (platform(&[200.0], true), jobs(&[]));
    let both = tables_with_caps(&platform, &workload, Some(&actual), Some(&believed), &caps, OnUnknownApp::Error);
    let (actual, predicted) = both.unwrap();
    assert_eq!(actual.under(CPU, UNKNOWN, 0, 150.0), (watts(150.0), 2.0));
    assert_eq!(predicted.under(CPU, UNKNOWN, 0, 150.0), (watts(150.0), 2.0));
    assert_eq!(predicted.under(CPU, UNKNOWN, 0, 100.0), (watts(100.0), 4.0));
    assert_eq!(predicted.own_slowdown(0..1, (CPU, UNKNOWN), 100.0), 2.0);
}

#[test]
fn a_bound_ratio_is_the_applications_own() {
    let by_app = vec![("mem".to_owned(), 0.5)];
    let mem = || CapModel {
        bound_ratio: BoundRatio { default: Some(1.0), by_app: by_app.clone() },
        ..model(StaticDraw::Ratio(0.0), 1.0, 1.0, 0.2)
    };
    let (_, predicted) = by_model(&[200.0], None, mem());
    let factors = [CPU, MEM, None].map(|app| predicted.under(app, UNKNOWN, 0, 100.0).1);
    assert_eq!(factors, [2.0, 1.5, 2.0]);
    let nothing = CapModel { bound_ratio: BoundRatio { default: None, by_app: by_app.clone() }, ..mem() };
    assert_eq!(
        refusal(&jobs(&[(1, 150.0, 0.0), (0, 150.0, 0.0)]), None, &CapsSpec::Model(nothing)),
        "cap_model.bound_ratio: found nothing for application `cpu` of job 8, expected a share for each application, one \
         for `*`, or on_unknown_app=\"nominal\""
    );
}

#[test]
fn without_caps_nothing_is_slower() {
    let (actual, predicted) = built(&platform(&[200.0], true), &jobs(&[]), None, &CapsSpec::None).unwrap();
    assert!(!actual.has_caps() && !predicted.has_caps() && predicted.levels().is_empty());
    assert_eq!((predicted.caps_kind(), predicted.slowdown(0..1, (None, UNKNOWN), NONE, |_| NONE)), (None, 1.0));
    assert_eq!(predicted.under(None, UNKNOWN, 0, NONE), (watts(200.0), 1.0));
    assert_eq!(actual.under(None, UNKNOWN, 0, NONE), (watts(200.0), 1.0));
}

#[test]
fn slowdowns_by_own_caps_are_by_job() {
    let workload = jobs(&[(0, 150.0, 0.0), (1, 100.0, 0.0), (0, f64::NAN, 0.0), (0, 100.0, 0.0)]);
    let spec = CapsSpec::Tables(page_tables());
    let (_, predicted) = built(&platform(&[200.0; 2], true), &workload, None, &spec).unwrap();
    let sets = [NodeSet::full(2)];
    let slowdowns = OwnSlowdowns::new(&predicted, &workload, &sets, |_| 0);
    assert_eq!([0, 1, 2, 3].map(|job| slowdowns.of(JobId(job))), [1.25, 1.25, 1.0, 2.0]);
    let uncapped = jobs(&[(0, f64::NAN, 0.0)]);
    assert_eq!(OwnSlowdowns::new(&predicted, &uncapped, &sets, |_| 0).of(JobId(0)), 1.0);
}

#[test]
fn faults_of_own_caps_name_the_job_and_what_works() {
    let capped = jobs(&[(0, f64::NAN, 0.0), (0, 90.0, 0.0), (1, 95.0, 0.0)]);
    assert_eq!(
        refusal(&capped, None, &CapsSpec::None).lines().next().unwrap(),
        "cap_w of job 8: found 90, expected no cap: the platform has neither tables by cap nor a cap model"
    );
    let tables = CapsSpec::Tables(page_tables());
    assert_eq!(
        refusal(&capped, None, &tables),
        "cap_w of job 8: found 90, expected at least 100 W, the lowest cap of the tables\n\
         cap_w of job 9: found 95, expected at least 100 W, the lowest cap of the tables"
    );
    assert_eq!(
        refusal(&jobs(&[(-1, 150.0, 0.0)]), None, &tables),
        "cap_w of job 7: found 150, expected no cap, or a row for job 7 (no application) in the tables by cap"
    );
    let watts = table(TableKind::Watts, &[200.0, 240.0, 100.0, 100.0], &[]);
    let of_80 = CapsSpec::Model(model(StaticDraw::Watts(vec![80.0; 2]), 1.0, 1.0, 0.2));
    assert_eq!(
        refusal(&jobs(&[(0, 111.99, 0.0), (1, 90.0, 0.0)]), Some(&watts), &of_80),
        "cap_w of job 7: found 111.99, expected at least 112 W: job 7 (application `cpu`) draws that on node 1 at the \
         lowest speed, 0.2 of nominal (240 W at nominal speed, 80 W of it static)"
    );
    let enough = jobs(&[(0, 112.0, 0.0), (1, 84.0, 0.0)]);
    for exclusive in [true, false] {
        assert!(built(&platform(&[200.0; 2], exclusive), &enough, Some(&watts), &of_80).is_ok());
    }
}

#[test]
fn the_hungriest_of_jobs_that_are_alike_says_what_is_wrong_with_a_cap() {
    let of_half = CapsSpec::Model(model(StaticDraw::Ratio(0.5), 1.0, 1.0, 0.2));
    let measured = jobs(&[(-1, 120.0, 190.0), (-1, 120.0, 300.0), (-1, 120.0, 210.0), (-1, 121.0, 0.0)]);
    let message = refusal(&measured, None, &of_half);
    assert!(
        message.starts_with("cap_w of job 8: found 120, expected at least 180 W: job 8 (no application)"),
        "{message}"
    );
    assert_eq!(message.lines().count(), 1, "{message}");
}

#[test]
fn levels_are_checked_for_every_job() {
    let (machine, workload) = (platform(&[200.0; 2], true), jobs(&[(0, f64::NAN, 180.0), (-1, f64::NAN, 0.0)]));
    let of = |caps: &CapsSpec, levels: &[f64]| {
        let (actual, _) = built(&machine, &workload, None, caps).unwrap();
        let faults = actual.check_levels(&workload, "policy.power.caps_w", levels);
        faults.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    let of_50 = CapsSpec::Model(model(StaticDraw::Watts(vec![50.0; 2]), 1.0, 1.0, 0.2));
    assert!(of(&of_50, &[80.0, 150.0]).is_empty());
    let too_low = of(&of_50, &[75.0, 150.0]);
    assert_eq!(too_low.len(), 1);
    assert!(
        too_low[0].starts_with("policy.power.caps_w: found 75, expected at least 80 W: job 8 (no app"),
        "{too_low:?}"
    );
    assert!(of(&of_50, &[-1.0])[0].ends_with("expected watts above 0, up to 1e6"));
    let served = of(&CapsSpec::None, &[100.0]);
    assert!(served[0].contains("neither tables by cap nor a cap model"), "{served:?}");
}

#[test]
fn tables_by_cap_are_ascending_alone_and_have_one_without_a_cap() {
    let none = jobs(&[]);
    let tables = page_tables();
    let of = |tables: &[CapTable]| refusal(&none, None, &CapsSpec::Tables(tables.to_vec()));
    assert_eq!(
        of(&tables[..2]),
        "cap_tables: found tables for 100, 150, expected a table for `inf` among them, without a cap"
    );
    assert_eq!(of(&[]), "cap_tables: found no table, expected a table for `inf` among them, without a cap");
    let [low, high, inf] = [0, 1, 2].map(|place: usize| tables[place].clone());
    assert_eq!(of(&[high, low.clone(), inf.clone()]), "cap_tables: found 150 before 100, expected ascending caps");
    let invalid = CapTable { cap_w: 0.0, ..low.clone() };
    assert!(of(&[invalid, inf.clone()]).contains("found 0, expected watts above 0"));
    let half = CapTable { predicted: Some(low.actual.clone()), ..low.clone() };
    assert!(of(&[half, inf.clone()]).contains("predicted tables for 1 of 2 caps"));
    let renamed = VariationTable { apps: vec!["cpu".into(), "gpu".into()], ..low.actual.clone() };
    let other = CapTable { actual: renamed, ..low.clone() };
    assert_eq!(
        of(&[other, inf.clone()]),
        "cap_tables[100], table.apps: found cpu, gpu, expected the applications of the table without a cap: cpu, mem"
    );
    let short = CapTable { actual: VariationTable { power: vec![1.0], ..low.actual.clone() }, ..low };
    assert!(of(&[short, inf]).starts_with("cap_tables[100], table.power_w: found 1, expected 2 applications"));
    let beside = refusal(&none, Some(&tables[2].actual), &CapsSpec::Tables(page_tables()));
    assert!(beside.starts_with("table: found a table with tables by cap"), "{beside}");
}

#[test]
fn parameters_of_a_model_are_checked_all_at_once() {
    let bad = CapModel {
        bound_ratio: BoundRatio { default: Some(2.0), by_app: vec![("cpu".into(), -1.0)] },
        busy_w: vec![1.0],
        ..model(StaticDraw::Watts(vec![1.0, f64::NAN, 2.0]), 0.5, 1.0, 0.0)
    };
    let message = refusal(&jobs(&[]), None, &CapsSpec::Model(bad));
    for line in [
        "cap_model.exponent: found 0.5, expected a number from 1 to 10",
        "cap_model.least_speed_ratio: found 0, expected a number from 0.001 to 1",
        "cap_model.bound_ratio: found 2, expected a number from 0 to 1",
        "cap_model.bound_ratio[cpu]: found -1, expected a number from 0 to 1",
        "cap_model.static_w: found 3 numbers, expected one number for each of 2 nodes",
        "cap_model.static_w[node 1]: found NaN, expected watts from 0 to 1e6",
        "cap_model.busy_w: found 1 numbers, expected one number for each of 2 nodes, or none",
    ] {
        assert!(message.lines().any(|found| found == line), "{line}\n{message}");
    }
    let ratio = refusal(&jobs(&[]), None, &CapsSpec::Model(model(StaticDraw::Ratio(1.5), 1.0, 1.0, 0.2)));
    assert_eq!(ratio, "cap_model.static_ratio: found 1.5, expected a number from 0 to 1");
}

/// Rule 3 once more, as the page has it.
#[expect(clippy::many_single_char_names, reason = "the page's letters")]
fn restated([p, t, s, a, b, least]: [f64; 6], c: f64) -> (f64, f64) {
    if c >= p {
        return (p, t);
    }
    let s = if s < p { s } else { p };
    let lowest = s + (p - s) * least.powf(a);
    let speed = if c > s { ((c - s) / (p - s)).powf(1.0 / a) } else { 0.0 };
    let f = if speed > least { speed } else { least };
    (if lowest > c { lowest } else { c }, t * (1.0 + b * (1.0 / f - 1.0)))
}

fn exponents() -> impl Strategy<Value = f64> {
    prop_oneof![Just(1.0), Just(2.0), 1.0..10.0_f64]
}

proptest! {
    #[test]
    fn rule_3_is_the_formula_to_the_last_bit(
        p in 0.0..500.0_f64, t in 0.1..5.0_f64, s in 0.0..500.0_f64, a in exponents(), b in 0.0..=1.0_f64,
        least in 1e-3..0.99_f64, c in 0.001..600.0_f64,
    ) {
        let tabled = table(TableKind::Watts, &[p, 1.0], &[t, 1.0]);
        let (actual, predicted) = by_model(&[1.0], Some(&tabled), model(StaticDraw::Watts(vec![s]), a, b, least));
        let (draw, factor) = restated([p, t, s, a, b, least], c);
        prop_assert_eq!(actual.under(CPU, UNKNOWN, 0, c), (watts(draw), factor));
        prop_assert_eq!(predicted.under(CPU, UNKNOWN, 0, c), (watts(draw), factor));
        prop_assert_eq!(predicted.of_job_under(CPU, UNKNOWN, c).on(0), watts(draw));
    }

    #[test]
    fn rule_3_a_cap_not_below_the_draw_changes_nothing(
        own in 0.0..500.0_f64, ratio in 0.0..2.0_f64, t in 0.1..5.0_f64, a in exponents(), above in 0.0..10.0_f64,
    ) {
        let tabled = table(TableKind::Ratio, &[ratio, 1.0], &[t, 1.0]);
        let (_, predicted) = by_model(&[1.0], Some(&tabled), model(StaticDraw::Ratio(0.3), a, 0.7, 0.2));
        let own = KnownDraw::Watts(own);
        for cap_w in [own.watts() * ratio, own.watts() * ratio + above] {
            prop_assert_eq!(predicted.under(CPU, own, 0, cap_w), (predicted.draw(CPU, own, 0), t));
        }
    }

    #[test]
    fn rule_3_a_lower_cap_draws_no_more_and_runs_no_faster(
        p in 0.0..500.0_f64, s in 0.0..500.0_f64, a in exponents(), b in 0.0..=1.0_f64, least in 1e-3..0.99_f64,
        low in 0.001..600.0_f64, more in 0.0..100.0_f64,
    ) {
        let (_, predicted) = by_model(&[p], None, model(StaticDraw::Watts(vec![s]), a, b, least));
        let own = KnownDraw::Watts(p);
        let (low, high) = (predicted.under(None, own, 0, low), predicted.under(None, own, 0, low + more));
        prop_assert!(low.0 <= high.0 && low.1 >= high.1, "{low:?} {high:?}");
    }

    #[test]
    fn rule_26_a_cap_slows_by_what_was_asked_for(
        p in 50.0..500.0_f64, share in 0.0..0.9_f64, a in exponents(), b in 0.05..=1.0_f64, least in 1e-3..0.5_f64,
        k in 1..2048_u32, own in 0.3..1.2_f64,
    ) {
        let (_, predicted) = by_model(&[p], None, model(StaticDraw::Ratio(share), a, b, least));
        let known = KnownDraw::Watts(p);
        let (asked, own_cap_w) = (1.0 + f64::from(k) / 1024.0, p * own);
        let cap_w = predicted.slowdown_cap(None, known, own_cap_w, asked, 0);
        let slowdown = predicted.slowdown(0..1, (None, known), own_cap_w, |_| cap_w);
        let most = (1.0 + b * (1.0 / least - 1.0)) / predicted.own_slowdown(0..1, (None, known), own_cap_w);
        // What is left of the cap above the static watts may be no more than a few of its last digits.
        let lost = f64::EPSILON * cap_w / (cap_w - share * p).max(f64::MIN_POSITIVE) / a;
        prop_assert!((slowdown / asked.min(most) - 1.0).abs() < 1e-6 + 4.0 * lost, "{slowdown} {asked} {most}");
    }
}
