"""Analysis of results: metrics and their units, comparisons with a baseline, and curves; frames in, new frames out."""

from hetsched.analysis.pareto import pareto
from hetsched.analysis.pinball import pinball
from hetsched.analysis.ratios import (
    attained_ratio,
    mean_and_half_width,
    ratios_to_baseline,
    runs_frame,
    student_t_quantile,
)
from hetsched.analysis.recalibration import recalibrated
from hetsched.analysis.shares import placement_and_timing
from hetsched.analysis.starts import (
    START_CLASSES,
    held_jobs_resubmitted,
    start_differences,
    start_histogram,
    use_difference,
)
from hetsched.analysis.timeline import (
    NODE_STATES,
    binned,
    busy_grid,
    node_states,
    run_bins,
    state_grid,
    waiting_curve,
    with_job_power,
)
from hetsched.analysis.weeks import bootstrap_weeks, paired_weeks
from hetsched.analysis.window import measured
from hetsched.features.bound import gaps
from hetsched.run.metric import Metric, Unit
from hetsched.run.metrics import DEFAULT_METRICS, METRICS

__all__ = [
    "DEFAULT_METRICS",
    "METRICS",
    "NODE_STATES",
    "START_CLASSES",
    "Metric",
    "Unit",
    "attained_ratio",
    "binned",
    "bootstrap_weeks",
    "busy_grid",
    "gaps",
    "held_jobs_resubmitted",
    "mean_and_half_width",
    "measured",
    "node_states",
    "paired_weeks",
    "pareto",
    "pinball",
    "placement_and_timing",
    "ratios_to_baseline",
    "recalibrated",
    "run_bins",
    "runs_frame",
    "start_differences",
    "start_histogram",
    "state_grid",
    "student_t_quantile",
    "use_difference",
    "waiting_curve",
    "with_job_power",
]


def __dir__() -> list[str]:
    return sorted(__all__)
