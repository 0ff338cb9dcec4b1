//! Parameters of parts, as users read of them.

use crate::params::Parameter;

pub(super) const PATIENCE: &[Parameter] = &[
    Parameter {
        name: "patience_s",
        unit: "s",
        default: "86400",
        range: "seconds from 0, or \"none\"",
        doc: "a job that has waited longer goes first and, if it does not fit, holds a reservation",
    },
    Parameter {
        name: "depth",
        unit: "jobs",
        default: "1",
        range: "a whole number from 1, or \"unbounded\"",
        doc: "number of such reservations at once, the longest waits first",
    },
    Parameter {
        name: "suited_first",
        unit: "",
        default: "true",
        range: "true or false",
        doc: "whether jobs that suit the free nodes, according to the placement, start before all others",
    },
];

pub(super) const PLAN: &[Parameter] = &[
    Parameter {
        name: "depth",
        unit: "jobs",
        default: "\"unbounded\"",
        range: "a whole number from 1, or \"unbounded\"",
        doc: "number of jobs that are planned on named nodes for later; the others start if they fit next to these",
    },
    Parameter {
        name: "horizon_s",
        unit: "s",
        default: "2592000",
        range: "seconds from 0",
        doc: "how far ahead jobs are planned",
    },
    Parameter {
        name: "interval_s",
        unit: "s",
        default: "0",
        range: "0, or seconds from 1e-6",
        doc: "submissions are gathered and planned at multiples of this, or when anything else happens",
    },
    Parameter {
        name: "order",
        unit: "",
        default: "\"policy\"",
        range: "policy, fcfs, shortest, longest, smallest, largest or smallest-area",
        doc: "the order in which jobs are looked at once `depth` of them are planned for later; without a sleep part",
    },
];

pub(super) const VAHRM: &[Parameter] = &[
    Parameter {
        name: "beta",
        unit: "",
        default: "0.000244140625",
        range: "0 to 1",
        doc: "weight of a joule of predicted energy; a second of wait weighs 1 - beta",
    },
    Parameter {
        name: "starvation_limit_s",
        unit: "s",
        default: "604800",
        range: "seconds from 0, or \"none\"",
        doc: "while a job has waited longer than this, nothing else starts; the longest wait goes first",
    },
    Parameter {
        name: "first_run",
        unit: "",
        default: "false",
        range: "true or false",
        doc: "whether applications are profiled: a first run counts with TDP, goes to random nodes and takes longer",
    },
    Parameter {
        name: "profiling_ratio",
        unit: "",
        default: "1.05",
        range: "1 to 1000",
        doc: "factor on the time of a profiled run",
    },
    Parameter {
        name: "length",
        unit: "",
        default: "\"runtime\"",
        range: "\"runtime\" or \"walltime\"",
        doc: "length for which energies are predicted; a job without a walltime counts with its runtime",
    },
];

pub(super) const FAIR_SHARE: &[Parameter] = &[
    Parameter {
        name: "half_life_s",
        unit: "s",
        default: "604800",
        range: "seconds from 1e-6, or \"none\"",
        doc: "after how long what was used counts half; none: always as much",
    },
    Parameter {
        name: "by",
        unit: "",
        default: "\"user\"",
        range: "\"user\" or \"account\"",
        doc: "the column of the log by which use is added up; jobs without a value have one share together",
    },
];

pub(super) const SLIDING_WINDOW: &[Parameter] = &[
    Parameter {
        name: "window",
        unit: "ranks",
        default: "10",
        range: "a whole number from 1",
        doc: "ranks in the window, busy nodes counted; never fewer than the job's nodes",
    },
    Parameter {
        name: "on_miss",
        unit: "",
        default: "\"narrowest\"",
        range: "\"narrowest\" or \"wait\"",
        doc: "if no window holds enough: the free nodes that span the fewest ranks, or the job is blocked",
    },
    Parameter {
        name: "application_aware",
        unit: "",
        default: "false",
        range: "true or false",
        doc: "rank by the job's own application instead of by means over all",
    },
];

pub(super) const POOLS: &[Parameter] = &[
    Parameter {
        name: "u_l",
        unit: "",
        default: "0.65",
        range: "0 to u_h",
        doc: "lowest utilization the machine has: the share of nodes in the first pool",
    },
    Parameter {
        name: "u_h",
        unit: "",
        default: "0.8",
        range: "u_l to 1",
        doc: "highest utilization the machine has: the share of nodes in the first two pools",
    },
    Parameter {
        name: "measured",
        unit: "",
        default: "false",
        range: "true or false",
        doc: "take both from a run with random placement and the same seed: the lowest and the highest utilization from when the machine first reached its median to the last submit",
    },
];

pub(super) const SYSTEM_BUDGET: &[Parameter] = &[
    Parameter {
        name: "pcr",
        unit: "",
        default: "1.0",
        range: "a number above 0",
        doc: "power constraint ratio: the budget as a share of the platform's TDP",
    },
    Parameter {
        name: "budget_w",
        unit: "W",
        default: "\"none\"",
        range: "watts above 0, or \"none\"",
        doc: "the budget itself, in place of pcr",
    },
    Parameter {
        name: "foresight_s",
        unit: "s",
        default: "0",
        range: "seconds from 0, or \"all\"",
        doc: "how far ahead the policy knows the budgets of events when it plans",
    },
    Parameter {
        name: "allocator",
        unit: "",
        default: "\"static\"",
        range: "\"static\", \"uniform\" or \"equal-slowdown\"",
        doc: "what splits the watts between running jobs: uniform sets one cap for all nodes at work, equal-slowdown caps that slow all jobs alike, static none",
    },
    Parameter {
        name: "allocator_interval_s",
        unit: "s",
        default: "0",
        range: "0, or seconds from 1e-6",
        doc: "caps are set at multiples of this, when jobs start and when the budget changes; 0: at every pass",
    },
    Parameter {
        name: "caps_w",
        unit: "W",
        default: "\"tables\"",
        range: "watts above 0, ascending, or \"tables\"",
        doc: "levels of caps on a node; tables: the finite caps of the platform's tables",
    },
    Parameter {
        name: "slowdown_limit",
        unit: "",
        default: "2.0",
        range: "1 to 1000",
        doc: "the most that equal-slowdown may slow a job",
    },
    Parameter {
        name: "on_excess",
        unit: "",
        default: "[]",
        range: "some of lower-caps, suspend, requeue, kill, in this order",
        doc: "what is done when the actual draw exceeds the budget",
    },
    Parameter {
        name: "victims",
        unit: "",
        default: "\"newest\"",
        range: "\"newest\" or \"lowest-priority\"",
        doc: "which running jobs it is done to first",
    },
    Parameter {
        name: "monitor_interval_s",
        unit: "s",
        default: "0",
        range: "0, or seconds from 1e-6",
        doc: "the draw is measured at multiples of this; 0: after every instant",
    },
    Parameter {
        name: "max_requeues",
        unit: "",
        default: "3",
        range: "a whole number from 0",
        doc: "how often a job is queued again before it is killed instead",
    },
];

pub(super) const RESERVATIONS: &[Parameter] = &[
    Parameter {
        name: "depth",
        unit: "jobs",
        default: "1",
        range: "a whole number from 1, or \"unbounded\"",
        doc: "number of blocked jobs that hold a reservation, which no job may delay; 1 is EASY, unbounded is conservative",
    },
    Parameter {
        name: "order",
        unit: "",
        default: "\"policy\"",
        range: "policy, fcfs, shortest, longest, smallest, largest or smallest-area",
        doc: "the order in which jobs are looked at that may overtake those with reservations; with `depth` 1, shortest is EASY-SJBF; only on nodes that do not differ in what jobs ask for, and without a sleep part",
    },
];
