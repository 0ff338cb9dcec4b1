//! Parameters of Slurm's scheduler, by the names that slurm.conf has for them.

use crate::error::{Error, Result, config};
use crate::params::{Parameter, Params, Value};
use crate::policy::backfill::slurm::Slurm;
use crate::policy::backfill::slurm::settings::{
    BackfillRules, BeatLists, LoopTiming, Main, Multifactor, NodeLine, Saving, Settings, SlurmRelease,
};
use crate::policy::registry::take::all_faults;
use crate::units::{MAX_SECONDS, SimDuration, SimTime};

/// Parameters of the backfill `slurm`.
pub(super) const SLURM: &[Parameter] = &[
    Parameter {
        name: "release",
        unit: "",
        default: "\"22.05\"",
        range: "22.05, 23.02, 23.11, 24.05, 24.11 or 25.05",
        doc: "release of Slurm whose rules hold",
    },
    Parameter {
        name: "epoch_s",
        unit: "s",
        default: "0.0",
        range: "seconds from 0",
        doc: "Unix time at the log's zero: decisions use whole seconds of it",
    },
    Parameter {
        name: "started_s",
        unit: "s",
        default: "\"auto\"",
        range: "seconds, or \"auto\"",
        doc: "start of the controller on the log's clock, from which all beats count; auto: a minute before the run",
    },
    Parameter {
        name: "main_period_s",
        unit: "s",
        default: "\"auto\"",
        range: "seconds from 0.001, or \"auto\"",
        doc: "period of main ticks; auto: 1.0017, from 23.11 on each whole second",
    },
    Parameter {
        name: "main_phase_s",
        unit: "s",
        default: "\"auto\"",
        range: "seconds, or \"auto\"",
        doc: "first main tick on the log's clock; auto: from started_s",
    },
    Parameter {
        name: "backfill_phase_s",
        unit: "s",
        default: "\"auto\"",
        range: "seconds, or \"auto\"",
        doc: "first backfill cycle on the log's clock; auto: from started_s",
    },
    Parameter {
        name: "scan_phase_s",
        unit: "s",
        default: "\"auto\"",
        range: "seconds, or \"auto\"",
        doc: "first wake-up of power saving on the log's clock; auto: from started_s",
    },
    Parameter {
        name: "cycle_s",
        unit: "s",
        default: "\"auto\"",
        range: "seconds from 0, or \"auto\"",
        doc: "length of a backfill cycle; auto: 0.0004 and 0.00006 a test",
    },
    Parameter {
        name: "clean_up_s",
        unit: "s",
        default: "0.012",
        range: "seconds from 0",
        doc: "time from a job's end until its nodes are idle",
    },
    Parameter {
        name: "start_s",
        unit: "s",
        default: "0.0",
        range: "seconds from 0",
        doc: "time from an allocation until the script runs",
    },
    Parameter {
        name: "main_beats",
        unit: "s",
        default: "[]",
        range: "ascending seconds",
        doc: "main ticks of a recording; none: by rule",
    },
    Parameter {
        name: "backfill_beats",
        unit: "s",
        default: "[]",
        range: "ascending seconds",
        doc: "backfill cycles of a recording; none: by rule",
    },
    Parameter {
        name: "recompute_beats",
        unit: "s",
        default: "[]",
        range: "ascending seconds",
        doc: "recomputations of priorities of a recording; none: by rule",
    },
    Parameter {
        name: "epilog_beats",
        unit: "s",
        default: "[]",
        range: "ascending seconds",
        doc: "main runs that an epilog's end caused in a recording",
    },
    Parameter {
        name: "scan_beats",
        unit: "s",
        default: "[]",
        range: "ascending seconds",
        doc: "scans of power saving of a recording; none: by rule",
    },
    Parameter {
        name: "grid_beats",
        unit: "s",
        default: "[]",
        range: "ascending seconds",
        doc: "checks of time limits of a recording, at which jobs on booted nodes start; none: by rule",
    },
    Parameter {
        name: "clean_beats",
        unit: "s",
        default: "[]",
        range: "ascending seconds",
        doc: "ends of clean-ups of a recording: a job's is the first after its end; none: by clean_up_s",
    },
    Parameter {
        name: "scheduler_type",
        unit: "",
        default: "\"backfill\"",
        range: "\"backfill\" or \"builtin\"",
        doc: "SchedulerType; builtin: no backfill",
    },
    Parameter {
        name: "batch_sched_delay",
        unit: "s",
        default: "3",
        range: "a whole number from 0",
        doc: "least time between a run of the main loop and the next that an event causes",
    },
    Parameter {
        name: "sched_interval",
        unit: "s",
        default: "60",
        range: "a whole number from 1, or -1",
        doc: "time between full runs of the main loop; -1: it never runs",
    },
    Parameter {
        name: "default_queue_depth",
        unit: "jobs",
        default: "100",
        range: "a whole number from 0",
        doc: "jobs looked at in a run that is not full, and one more",
    },
    Parameter {
        name: "partition_job_depth",
        unit: "jobs",
        default: "0",
        range: "a whole number from 0",
        doc: "jobs of each partition looked at in a run; 0: all",
    },
    Parameter {
        name: "sched_max_job_start",
        unit: "jobs",
        default: "0",
        range: "a whole number from 0",
        doc: "starts in a run of the main loop; 0: no limit",
    },
    Parameter {
        name: "defer",
        unit: "",
        default: "false",
        range: "true or false",
        doc: "whether the end of an epilog is an event rather than a run",
    },
    Parameter {
        name: "bf_interval",
        unit: "s",
        default: "30",
        range: "a whole number from 1, or -1",
        doc: "time between backfill cycles; -1: none are made",
    },
    Parameter {
        name: "bf_window",
        unit: "min",
        default: "1440",
        range: "a whole number from 1",
        doc: "how far ahead jobs are planned",
    },
    Parameter {
        name: "bf_resolution",
        unit: "s",
        default: "60",
        range: "a whole number from 1",
        doc: "grid of the plan table's edges",
    },
    Parameter {
        name: "bf_window_linear",
        unit: "s",
        default: "0",
        range: "a whole number from 0",
        doc: "growth of the will-run test's windows; 0: they double",
    },
    Parameter {
        name: "bf_max_job_test",
        unit: "jobs",
        default: "500",
        range: "a whole number from 1",
        doc: "jobs tested in a cycle",
    },
    Parameter {
        name: "bf_max_job_start",
        unit: "jobs",
        default: "0",
        range: "a whole number from 0",
        doc: "starts in a cycle; 0: no limit",
    },
    Parameter {
        name: "bf_max_job_part",
        unit: "jobs",
        default: "0",
        range: "a whole number from 0",
        doc: "jobs of each partition looked at in a cycle; 0: no limit",
    },
    Parameter {
        name: "bf_max_job_user",
        unit: "jobs",
        default: "0",
        range: "a whole number from 0",
        doc: "jobs of the log's one user looked at in a cycle; 0: no limit",
    },
    Parameter {
        name: "bf_node_space_size",
        unit: "records",
        default: "0",
        range: "a whole number from 0",
        doc: "records of the plan table; 0: bf_max_job_test",
    },
    Parameter {
        name: "bf_min_prio_reserve",
        unit: "",
        default: "0",
        range: "a whole number from 0",
        doc: "priority below which jobs get no plan",
    },
    Parameter {
        name: "bf_min_age_reserve",
        unit: "s",
        default: "0",
        range: "a whole number from 0",
        doc: "age below which jobs get no plan",
    },
    Parameter {
        name: "bf_job_part_count_reserve",
        unit: "jobs",
        default: "0",
        range: "a whole number from 0",
        doc: "plans in each partition; 0: no limit",
    },
    Parameter {
        name: "bf_licenses",
        unit: "",
        default: "false",
        range: "true or false",
        doc: "whether licences are planned, too; implies bf_running_job_reserve",
    },
    Parameter {
        name: "bf_running_job_reserve",
        unit: "",
        default: "false",
        range: "true or false",
        doc: "whether running jobs are entered into the plan table",
    },
    Parameter {
        name: "kill_wait",
        unit: "s",
        default: "30",
        range: "a whole number from 0",
        doc: "KillWait: time between the signal at a job's limit and its kill",
    },
    Parameter {
        name: "epilog",
        unit: "",
        default: "false",
        range: "true or false",
        doc: "whether an Epilog is configured: the main loop runs at every job's end",
    },
    Parameter {
        name: "prolog_slurmctld",
        unit: "",
        default: "false",
        range: "true or false",
        doc: "whether a PrologSlurmctld lets jobs start as soon as their nodes have booted",
    },
    Parameter {
        name: "priority_type",
        unit: "",
        default: "\"basic\"",
        range: "\"basic\" or \"multifactor\"",
        doc: "PriorityType",
    },
    Parameter {
        name: "priority_weight_age",
        unit: "",
        default: "0",
        range: "a whole number from 0",
        doc: "PriorityWeightAge",
    },
    Parameter {
        name: "priority_weight_size",
        unit: "",
        default: "0",
        range: "a whole number from 0",
        doc: "PriorityWeightJobSize",
    },
    Parameter {
        name: "priority_max_age",
        unit: "s",
        default: "604800",
        range: "a whole number from 1",
        doc: "PriorityMaxAge: age that counts fully",
    },
    Parameter {
        name: "priority_calc_period",
        unit: "s",
        default: "300",
        range: "a whole number from 0",
        doc: "PriorityCalcPeriod: time between recomputations; 0: none are made, as without slurmdbd",
    },
    Parameter {
        name: "priority_favor_small",
        unit: "",
        default: "false",
        range: "true or false",
        doc: "PriorityFavorSmall",
    },
    Parameter {
        name: "suspend_time",
        unit: "s",
        default: "\"none\"",
        range: "a whole number from 0, or \"none\"",
        doc: "SuspendTime: how long nodes idle before they are suspended; none: never",
    },
    Parameter {
        name: "suspend_timeout",
        unit: "s",
        default: "30",
        range: "a whole number from 0",
        doc: "SuspendTimeout: time until a suspended node is available again",
    },
    Parameter {
        name: "resume_timeout",
        unit: "s",
        default: "60",
        range: "a whole number from 0",
        doc: "ResumeTimeout: time in which a node has to boot",
    },
    Parameter {
        name: "suspend_rate",
        unit: "nodes/min",
        default: "60",
        range: "a whole number from 0",
        doc: "SuspendRate; 0: no limit",
    },
    Parameter {
        name: "resume_rate",
        unit: "nodes/min",
        default: "300",
        range: "a whole number from 0",
        doc: "ResumeRate; 0: no limit",
    },
    Parameter {
        name: "power_save_interval",
        unit: "s",
        default: "10",
        range: "a whole number from 0",
        doc: "time between scans of power saving if no node changes",
    },
    Parameter {
        name: "power_save_min_interval",
        unit: "s",
        default: "0",
        range: "a whole number from 0",
        doc: "least time between scans of power saving",
    },
    Parameter {
        name: "suspend_exclude",
        unit: "",
        default: "\"\"",
        range: "numbers of nodes such as 0-3,7",
        doc: "SuspendExcNodes and SuspendExcParts: nodes that are never suspended",
    },
    Parameter {
        name: "node_lines",
        unit: "",
        default: "\"\"",
        range: "count*cpus*weight, joined by +",
        doc: "the NodeName lines in order; none: one for each stretch of nodes that are alike",
    },
];

/// Takes the parameters of Slurm's scheduler.
pub(super) fn take_slurm(params: &mut Params) -> Result<Slurm> {
    let mut taker = Taker { params, faults: Vec::new() };
    let settings = taker.settings();
    if taker.faults.is_empty() { Ok(Slurm::new(settings)) } else { Err(all_faults(taker.faults.into_iter())) }
}

/// Takes parameters, and collects their faults.
struct Taker<'a> {
    params: &'a mut Params,
    faults: Vec<Error>,
}

impl Taker<'_> {
    fn settings(&mut self) -> Settings {
        let release = self.choice("release", &SlurmRelease::NAMES, "22.05");
        let is_builtin = self.choice("scheduler_type", &["backfill", "builtin"], "backfill") == "builtin";
        let (defer, epilog) = (self.flag("defer"), self.flag("epilog"));
        let mut backfill = self.backfill();
        if is_builtin {
            backfill.interval = None;
        }
        Settings {
            release: SlurmRelease::named(&release).unwrap_or(SlurmRelease::R2205),
            timing: self.timing(),
            beats: BeatLists {
                main: self.beats("main_beats"),
                backfill: self.beats("backfill_beats"),
                recompute: self.beats("recompute_beats"),
                epilog: self.beats("epilog_beats"),
                scan: self.beats("scan_beats"),
                grid: self.beats("grid_beats"),
                clean: self.beats("clean_beats"),
            },
            main: Main {
                delay: self.whole("batch_sched_delay", 3, 0),
                interval: self.interval("sched_interval", 60),
                depth: self.count("default_queue_depth", 100, 0),
                partition_depth: self.count("partition_job_depth", 0, 0),
                max_start: self.count("sched_max_job_start", 0, 0),
                epilog,
                defer,
            },
            backfill,
            kill_wait: self.whole("kill_wait", 30, 0),
            prolog: self.flag("prolog_slurmctld"),
            priority: self.priority(),
            saving: self.saving(),
            lines: self.lines(),
        }
    }

    fn timing(&mut self) -> LoopTiming {
        LoopTiming {
            epoch: self.seconds("epoch_s", 0.0, 0.0).micros(),
            started: self.maybe_instant("started_s"),
            main_period: self.maybe_seconds("main_period_s", 0.001),
            main_phase: self.maybe_instant("main_phase_s"),
            backfill_phase: self.maybe_instant("backfill_phase_s"),
            scan_phase: self.maybe_instant("scan_phase_s"),
            cycle: self.maybe_seconds("cycle_s", 0.0),
            clean_up: self.seconds("clean_up_s", 0.012, 0.0),
            start: self.seconds("start_s", 0.0, 0.0),
        }
    }

    fn backfill(&mut self) -> BackfillRules {
        let (max_test, records) = (self.count("bf_max_job_test", 500, 1), self.count("bf_node_space_size", 0, 0));
        let licences = self.flag("bf_licenses");
        BackfillRules {
            interval: self.interval("bf_interval", 30),
            window: 60 * self.whole("bf_window", 1440, 1),
            resolution: self.whole("bf_resolution", 60, 1),
            window_linear: self.whole("bf_window_linear", 0, 0),
            max_test,
            max_start: self.count("bf_max_job_start", 0, 0),
            max_part: self.count("bf_max_job_part", 0, 0),
            max_user: self.count("bf_max_job_user", 0, 0),
            records: if records == 0 { max_test } else { records },
            min_priority: self.whole("bf_min_prio_reserve", 0, 0),
            min_age: self.whole("bf_min_age_reserve", 0, 0),
            part_plans: self.count("bf_job_part_count_reserve", 0, 0),
            licences,
            reserve_running: self.flag("bf_running_job_reserve") || licences,
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "weights are 32 bits wide")]
    fn priority(&mut self) -> Option<Multifactor> {
        let kind = self.choice("priority_type", &["basic", "multifactor"], "basic");
        let weights = Multifactor {
            age: self.whole("priority_weight_age", 0, 0) as f64,
            size: self.whole("priority_weight_size", 0, 0) as f64,
            max_age: self.whole("priority_max_age", 604_800, 1),
            period: self.whole("priority_calc_period", 300, 0),
            favor_small: self.flag("priority_favor_small"),
        };
        (kind == "multifactor").then_some(weights)
    }

    fn saving(&mut self) -> Option<Saving> {
        let idle = match self.params.take("suspend_time", Value::Text("none".to_owned())) {
            Value::Text(word) if word == "none" => None,
            Value::Int(idle @ 0..) if idle < MAX_WHOLE => Some(idle),
            other => {
                self.fault("suspend_time", &other, "a whole number from 0, or \"none\"".to_owned());
                None
            }
        };
        let saving = Saving {
            idle: idle.unwrap_or_default(),
            suspend_timeout: self.whole("suspend_timeout", 30, 0),
            resume_timeout: self.whole("resume_timeout", 60, 0),
            suspend_rate: self.count("suspend_rate", 60, 0),
            resume_rate: self.count("resume_rate", 300, 0),
            interval: self.whole("power_save_interval", 10, 0),
            min_interval: self.whole("power_save_min_interval", 0, 0),
            exclude: self.spans("suspend_exclude"),
        };
        idle.map(|_| saving)
    }

    fn fault(&mut self, name: &str, value: &Value, expected: String) {
        let fault = config(self.params.path_of(name), value.to_string(), expected);
        self.faults.push(fault);
    }

    fn or_fault<T>(&mut self, taken: Result<T>, otherwise: T) -> T {
        taken.unwrap_or_else(|fault| {
            self.faults.push(fault);
            otherwise
        })
    }

    fn choice(&mut self, name: &str, allowed: &[&str], default: &str) -> String {
        let taken = self.params.take_choice(name, default, allowed);
        self.or_fault(taken, default.to_owned())
    }

    fn flag(&mut self, name: &str) -> bool {
        let taken = self.params.take_flag(name, false);
        self.or_fault(taken, false)
    }

    fn count(&mut self, name: &str, default: u32, least: u32) -> u32 {
        let taken = self.params.take_count(name, default, least);
        self.or_fault(taken, default)
    }

    fn whole(&mut self, name: &str, default: u32, least: u32) -> i64 {
        self.count(name, default, least).into()
    }

    /// A number of seconds from 1 up; none for -1.
    fn interval(&mut self, name: &str, default: i64) -> Option<i64> {
        match self.params.take(name, Value::Int(default)) {
            Value::Int(-1) => None,
            Value::Int(seconds @ 1..) if seconds < MAX_WHOLE => Some(seconds),
            other => {
                self.fault(name, &other, "a whole number from 1, or -1".to_owned());
                None
            }
        }
    }

    fn seconds(&mut self, name: &str, default: f64, least: f64) -> SimDuration {
        let expected = format!("seconds from {least} to 1e12");
        let taken = self.params.take_number(name, Value::Float(default), &(least..=MAX_SECONDS), &expected);
        SimDuration::from_seconds(self.or_fault(taken, default)).unwrap_or(SimDuration::ZERO)
    }

    /// A number of seconds; none for the word `auto`.
    fn number_or_auto(&mut self, name: &str, least: f64) -> Option<f64> {
        let value = self.params.take(name, Value::Text("auto".to_owned()));
        let found = match value {
            Value::Text(ref word) if word == "auto" => return None,
            ref other => number(other).filter(|seconds| (least..=MAX_SECONDS).contains(seconds)),
        };
        if found.is_none() {
            self.fault(name, &value, format!("seconds from {least} to 1e12, or \"auto\""));
        }
        found
    }

    fn maybe_seconds(&mut self, name: &str, least: f64) -> Option<SimDuration> {
        self.number_or_auto(name, least).and_then(SimDuration::from_seconds)
    }

    fn maybe_instant(&mut self, name: &str) -> Option<SimTime> {
        self.number_or_auto(name, -MAX_SECONDS).and_then(SimTime::from_seconds)
    }

    fn beats(&mut self, name: &str) -> Vec<SimTime> {
        let value = self.params.take(name, Value::List(Vec::new()));
        let beats: Option<Vec<SimTime>> = match &value {
            Value::List(values) => values.iter().map(|value| number(value).and_then(SimTime::from_seconds)).collect(),
            Value::Int(_) | Value::Float(_) | Value::Text(_) | Value::Bool(_) => None,
        };
        if let Some(beats) = beats.filter(|beats| beats.is_sorted_by(|one, next| one < next)) {
            return beats;
        }
        let found = if value.to_string().len() < 60 { value } else { Value::Text("another list".to_owned()) };
        self.fault(name, &found, "a list of ascending seconds".to_owned());
        Vec::new()
    }

    fn text(&mut self, name: &str, expected: &str) -> Option<String> {
        match self.params.take(name, Value::Text(String::new())) {
            Value::Text(text) => Some(text),
            // One number reads as such.
            Value::Int(number) => Some(number.to_string()),
            other => {
                self.fault(name, &other, expected.to_owned());
                None
            }
        }
    }

    /// Spans of nodes such as `0-3,7`.
    fn spans(&mut self, name: &str) -> Vec<(u32, u32)> {
        let expected = "numbers of nodes such as 0-3,7";
        let Some(text) = self.text(name, expected) else { return Vec::new() };
        let span = |part: &str| {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let span = (first.trim().parse().ok()?, last.trim().parse().ok()?);
            (span.0 <= span.1).then_some(span)
        };
        let spans: Option<Vec<_>> = text.split(',').filter(|part| !part.trim().is_empty()).map(span).collect();
        if spans.is_none() {
            self.fault(name, &Value::Text(text), expected.to_owned());
        }
        spans.unwrap_or_default()
    }

    /// Lines such as `4*8*1+2*16*10`: count, CPUs and weight of each.
    fn lines(&mut self) -> Vec<NodeLine> {
        let expected = "lines such as 4*8*1+2*16*10: count, CPUs and weight of each";
        let Some(text) = self.text("node_lines", expected) else { return Vec::new() };
        let line = |part: &str| {
            let numbers: Vec<u32> = part.split('*').map(|number| number.trim().parse().ok()).collect::<Option<_>>()?;
            match numbers[..] {
                [count, cpus, weight] if count > 0 && cpus > 0 => Some(NodeLine { count, cpus, weight }),
                _ => None,
            }
        };
        let lines: Option<Vec<_>> = text.split('+').filter(|part| !part.trim().is_empty()).map(line).collect();
        let lines = lines.filter(|lines| lines.len() < usize::from(u16::MAX));
        if lines.is_none() {
            self.fault("node_lines", &Value::Text(text), expected.to_owned());
        }
        lines.unwrap_or_default()
    }
}

/// Numbers of seconds are below this.
const MAX_WHOLE: i64 = 1 << 40;

#[expect(clippy::cast_precision_loss, reason = "a parameter beyond 2^53 is as good rounded")]
fn number(value: &Value) -> Option<f64> {
    match *value {
        Value::Int(number) => Some(number as f64),
        Value::Float(number) => Some(number),
        Value::Text(_) | Value::Bool(_) | Value::List(_) => None,
    }
}
