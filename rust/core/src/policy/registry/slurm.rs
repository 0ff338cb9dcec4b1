//! Parameters of Slurm's scheduler, by the names that slurm.conf has for them.

use crate::params::{DefaultValue, Param, Params, Value};
use crate::policy::backfill::Backfill;
use crate::policy::backfill::slurm::Slurm;
use crate::policy::backfill::slurm::settings::{
    BackfillRules, BeatLists, LoopTiming, Main, Multifactor, NodeLine, Saving, Settings, SlurmRelease,
};
use crate::units::{SimDuration, SimTime};

/// Slurm's scheduler with these parameters.
pub(super) fn scheduler(params: &mut Params, _seed: u64) -> Box<dyn Backfill> {
    Box::new(Slurm::new(Settings {
        release: params.take(&RELEASE),
        timing: timing(params),
        beats: beat_lists(params),
        main: main_loop(params),
        backfill: backfill_loop(params),
        kill_wait: whole(
            params,
            "kill_wait",
            "s",
            30,
            0,
            "KillWait: time between the signal at a job's limit and its kill",
        ),
        prolog: flag(
            params,
            "prolog_slurmctld",
            "whether a PrologSlurmctld lets jobs start as soon as their nodes have booted",
        ),
        priority: priority(params),
        saving: saving(params),
        lines: params.take(&LINES),
    }))
}

const RELEASE: Param<SlurmRelease> = Param::words("release", &SlurmRelease::NAMES, "release of Slurm whose rules hold");
const BUILTIN: Param<bool> =
    Param::words("scheduler_type", &[("backfill", false), ("builtin", true)], "SchedulerType; builtin: no backfill");
const MULTIFACTOR: Param<bool> =
    Param::words("priority_type", &[("basic", false), ("multifactor", true)], "PriorityType");
const SUSPEND_TIME: Param<Option<u32>> = Param::count_or(
    "none",
    "suspend_time",
    "s",
    DefaultValue::Text("none"),
    0,
    "SuspendTime: how long nodes idle before they are suspended; none: never",
);
const SUSPEND_EXCLUDE: Param<Vec<(u32, u32)>> = Param::read_by(
    "suspend_exclude",
    "",
    DefaultValue::Text(""),
    "numbers of nodes such as 0-3,7",
    |_, value| text(value)?.split(',').filter(|part| !part.trim().is_empty()).map(node_span).collect(),
    "SuspendExcNodes and SuspendExcParts: nodes that are never suspended",
);
const LINES: Param<Vec<NodeLine>> = Param::read_by(
    "node_lines",
    "",
    DefaultValue::Text(""),
    "lines such as 4*8*1+2*16*10: count, CPUs and weight of each",
    |_, value| {
        let text = text(value)?;
        let lines = text.split('+').filter(|part| !part.trim().is_empty()).map(node_line);
        lines.collect::<Option<Vec<_>>>().filter(|lines| lines.len() < usize::from(u16::MAX))
    },
    "the NodeName lines in order; none: one for each stretch of nodes that are alike",
);

fn beat_lists(params: &mut Params) -> BeatLists {
    BeatLists {
        main: beats(params, "main_beats", "main ticks of a recording; none: by rule"),
        backfill: beats(params, "backfill_beats", "backfill cycles of a recording; none: by rule"),
        recompute: beats(params, "recompute_beats", "recomputations of priorities of a recording; none: by rule"),
        epilog: beats(params, "epilog_beats", "main runs that an epilog's end caused in a recording"),
        scan: beats(params, "scan_beats", "scans of power saving of a recording; none: by rule"),
        grid: beats(
            params,
            "grid_beats",
            "checks of time limits of a recording, at which jobs on booted nodes start; none: by rule",
        ),
        clean: beats(
            params,
            "clean_beats",
            "ends of clean-ups of a recording: a job's is the first after its end; none: by clean_up_s",
        ),
    }
}

fn main_loop(params: &mut Params) -> Main {
    Main {
        delay: whole(
            params,
            "batch_sched_delay",
            "s",
            3,
            0,
            "least time between a run of the main loop and the next that an event causes",
        ),
        interval: period(params, "sched_interval", 60, "time between full runs of the main loop; -1: it never runs"),
        depth: count(
            params,
            "default_queue_depth",
            "jobs",
            100,
            0,
            "jobs looked at in a run that is not full, and one more",
        ),
        partition_depth: count(
            params,
            "partition_job_depth",
            "jobs",
            0,
            0,
            "jobs of each partition looked at in a run; 0: all",
        ),
        max_start: count(params, "sched_max_job_start", "jobs", 0, 0, "starts in a run of the main loop; 0: no limit"),
        defer: flag(params, "defer", "whether the end of an epilog is an event rather than a run"),
        epilog: flag(params, "epilog", "whether an Epilog is configured: the main loop runs at every job's end"),
    }
}

fn timing(params: &mut Params) -> LoopTiming {
    LoopTiming {
        epoch: seconds(params, "epoch_s", 0.0, "Unix time at the log's zero: decisions use whole seconds of it")
            .micros(),
        started: instant(
            params,
            "started_s",
            "start of the controller on the log's clock, from which all beats count; auto: a minute before the run",
        ),
        main_period: span(
            params,
            "main_period_s",
            0.001,
            "period of main ticks; auto: 1.0017, from 23.11 on each whole second",
        ),
        main_phase: instant(params, "main_phase_s", "first main tick on the log's clock; auto: from started_s"),
        backfill_phase: instant(
            params,
            "backfill_phase_s",
            "first backfill cycle on the log's clock; auto: from started_s",
        ),
        scan_phase: instant(
            params,
            "scan_phase_s",
            "first wake-up of power saving on the log's clock; auto: from started_s",
        ),
        cycle: span(params, "cycle_s", 0.0, "length of a backfill cycle; auto: 0.0004 and 0.00006 a test"),
        clean_up: seconds(params, "clean_up_s", 0.012, "time from a job's end until its nodes are idle"),
        start: seconds(params, "start_s", 0.0, "time from an allocation until the script runs"),
    }
}

fn backfill_loop(params: &mut Params) -> BackfillRules {
    let is_builtin = params.take(&BUILTIN);
    let max_test = count(params, "bf_max_job_test", "jobs", 500, 1, "jobs tested in a cycle");
    let records = count(params, "bf_node_space_size", "records", 0, 0, "records of the plan table; 0: bf_max_job_test");
    let licences = flag(params, "bf_licenses", "whether licences are planned, too; implies bf_running_job_reserve");
    BackfillRules {
        interval: period(params, "bf_interval", 30, "time between backfill cycles; -1: none are made")
            .filter(|_| !is_builtin),
        window: 60 * whole(params, "bf_window", "min", 1440, 1, "how far ahead jobs are planned"),
        resolution: whole(params, "bf_resolution", "s", 60, 1, "grid of the plan table's edges"),
        window_linear: whole(
            params,
            "bf_window_linear",
            "s",
            0,
            0,
            "growth of the will-run test's windows; 0: they double",
        ),
        max_test,
        max_start: count(params, "bf_max_job_start", "jobs", 0, 0, "starts in a cycle; 0: no limit"),
        max_part: count(
            params,
            "bf_max_job_part",
            "jobs",
            0,
            0,
            "jobs of each partition looked at in a cycle; 0: no limit",
        ),
        max_user: count(
            params,
            "bf_max_job_user",
            "jobs",
            0,
            0,
            "jobs of the log's one user looked at in a cycle; 0: no limit",
        ),
        records: if records == 0 { max_test } else { records },
        min_priority: whole(params, "bf_min_prio_reserve", "", 0, 0, "priority below which jobs get no plan"),
        min_age: whole(params, "bf_min_age_reserve", "s", 0, 0, "age below which jobs get no plan"),
        part_plans: count(params, "bf_job_part_count_reserve", "jobs", 0, 0, "plans in each partition; 0: no limit"),
        licences,
        reserve_running: flag(params, "bf_running_job_reserve", "whether running jobs are entered into the plan table")
            || licences,
    }
}

fn priority(params: &mut Params) -> Option<Multifactor> {
    let is_multifactor = params.take(&MULTIFACTOR);
    let weights = Multifactor {
        age: whole(params, "priority_weight_age", "", 0, 0, "PriorityWeightAge") as f64,
        size: whole(params, "priority_weight_size", "", 0, 0, "PriorityWeightJobSize") as f64,
        max_age: whole(params, "priority_max_age", "s", 604_800, 1, "PriorityMaxAge: age that counts fully"),
        period: whole(
            params,
            "priority_calc_period",
            "s",
            300,
            0,
            "PriorityCalcPeriod: time between recomputations; 0: none are made, as without slurmdbd",
        ),
        favor_small: flag(params, "priority_favor_small", "PriorityFavorSmall"),
    };
    is_multifactor.then_some(weights)
}

fn saving(params: &mut Params) -> Option<Saving> {
    let idle = params.take(&SUSPEND_TIME);
    let saving = Saving {
        idle: idle.unwrap_or_default().into(),
        suspend_timeout: whole(
            params,
            "suspend_timeout",
            "s",
            30,
            0,
            "SuspendTimeout: time until a suspended node is available again",
        ),
        resume_timeout: whole(params, "resume_timeout", "s", 60, 0, "ResumeTimeout: time in which a node has to boot"),
        suspend_rate: count(params, "suspend_rate", "nodes/min", 60, 0, "SuspendRate; 0: no limit"),
        resume_rate: count(params, "resume_rate", "nodes/min", 300, 0, "ResumeRate; 0: no limit"),
        interval: whole(
            params,
            "power_save_interval",
            "s",
            10,
            0,
            "time between scans of power saving if no node changes",
        ),
        min_interval: whole(params, "power_save_min_interval", "s", 0, 0, "least time between scans of power saving"),
        exclude: params.take(&SUSPEND_EXCLUDE),
    };
    idle.map(|_| saving)
}

fn flag(params: &mut Params, name: &'static str, doc: &'static str) -> bool {
    params.take(&Param::flag(name, false, doc))
}

fn count(
    params: &mut Params,
    name: &'static str,
    unit: &'static str,
    default: u32,
    least: u32,
    doc: &'static str,
) -> u32 {
    params.take(&Param::count(name, unit, default, least, doc))
}

fn whole(
    params: &mut Params,
    name: &'static str,
    unit: &'static str,
    default: u32,
    least: u32,
    doc: &'static str,
) -> i64 {
    count(params, name, unit, default, least, doc).into()
}

fn seconds(params: &mut Params, name: &'static str, default: f64, doc: &'static str) -> SimDuration {
    params.take(&Param::seconds(name, DefaultValue::Float(default), doc))
}

fn span(params: &mut Params, name: &'static str, least: f64, doc: &'static str) -> Option<SimDuration> {
    params.take(&Param::seconds_or("auto", name, DefaultValue::Text("auto"), least, doc))
}

fn instant(params: &mut Params, name: &'static str, doc: &'static str) -> Option<SimTime> {
    params.take(&Param::instant_or("auto", name, doc))
}

/// A number of seconds from 1 up; none for -1.
fn period(params: &mut Params, name: &'static str, default: i64, doc: &'static str) -> Option<i64> {
    let read = |_: &Param<_>, value: &Value| match *value {
        Value::Int(-1) => Some(None),
        Value::Int(seconds) => Some(seconds).filter(|seconds| (1..MAX_WHOLE).contains(seconds)).map(Some),
        _ => None,
    };
    let default = DefaultValue::Int(default);
    params.take(&Param::read_by(name, "s", default, "a whole number from 1, or -1", read, doc))
}

/// Numbers of seconds are below this.
const MAX_WHOLE: i64 = 1 << 40;

fn beats(params: &mut Params, name: &'static str, doc: &'static str) -> Vec<SimTime> {
    let read = |_: &Param<_>, value: &Value| {
        let Value::List(values) = value else { return None };
        let beats = values.iter().map(|value| value.number().and_then(SimTime::from_seconds));
        beats.collect::<Option<Vec<_>>>().filter(|beats| beats.is_sorted_by(|one, next| one < next))
    };
    params.take(&Param::read_by(name, "s", DefaultValue::Empty, "a list of ascending seconds", read, doc))
}

/// Text, which may read as a single number.
fn text(value: &Value) -> Option<String> {
    match value {
        Value::Text(text) => Some(text.clone()),
        Value::Int(number) => Some(number.to_string()),
        Value::Float(_) | Value::Bool(_) | Value::List(_) => None,
    }
}

/// Nodes such as `0-3`, or one node.
fn node_span(part: &str) -> Option<(u32, u32)> {
    let (first, last) = part.split_once('-').unwrap_or((part, part));
    let (first, last) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
    (first <= last).then_some((first, last))
}

/// A line such as `4*8*1`: count, CPUs and weight.
fn node_line(part: &str) -> Option<NodeLine> {
    let numbers: Vec<u32> = part.split('*').map(|number| number.trim().parse().ok()).collect::<Option<_>>()?;
    match numbers[..] {
        [count, cpus, weight] if count > 0 && cpus > 0 => Some(NodeLine { count, cpus, weight }),
        _ => None,
    }
}
