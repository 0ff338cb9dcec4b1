"""Analysis of results: metrics and their units, comparisons with a baseline, and curves; frames in, new frames out."""

from hetsched.analysis.ratios import attained_ratio, compare, mean_and_half_width, runs_frame, student_t_quantile
from hetsched.analysis.timeline import binned, run_bins, waiting_curve, with_job_power
from hetsched.analysis.window import measured
from hetsched.run.gaps import gaps
from hetsched.run.metrics import DEFAULT_METRICS, METRICS, Metric, Unit

__all__ = [
    "DEFAULT_METRICS",
    "METRICS",
    "Metric",
    "Unit",
    "attained_ratio",
    "binned",
    "compare",
    "gaps",
    "mean_and_half_width",
    "measured",
    "run_bins",
    "runs_frame",
    "student_t_quantile",
    "waiting_curve",
    "with_job_power",
]
