"""Quantities of the VAHRM paper's figures and tables, relative to other runs of the same jobs."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from hetsched.experiments.experiment import Experiment, Floats, Parameter, Row, measured
from hetsched.experiments.runs import Runs, panels
from hetsched.experiments.vahrm.system import BASELINE, PRESETS, QUICK, SOURCE, P

LARGE_NODES = 16
"""The paper's large jobs ask for more than 15 nodes."""

SIZES = (1, 2, 4, 8, 16, 32, 64)
"""The least sizes of the classes; the last holds all larger jobs, too."""

NOTICED_S = 60.0
"""A job that waited less than this under the other policy says nothing about a ratio of waits."""


def waits_by_size(jobs: pl.DataFrame) -> dict[str, float | None]:
    """The mean wait of each class of sizes, in seconds: ``wait_1_s, wait_2_s, wait_4_s`` ...; None without a job."""
    place = np.searchsorted(SIZES, jobs["node_count"].to_numpy(), side="right") - 1
    count = np.bincount(place, minlength=len(SIZES))
    total_s = np.bincount(place, weights=jobs["wait_s"].to_numpy(), minlength=len(SIZES))
    return {
        f"wait_{size}_s": float(total_s[number] / count[number]) if count[number] else None
        for number, size in enumerate(SIZES)
    }


def large_job_waits(jobs: pl.DataFrame, other_wait_s: Floats) -> dict[str, float]:
    """Waiting times of large jobs relative to another policy, whose waits are in the same order.

    ``large_wait_s``, ``large_other_wait_s``: mean waits; ``large_longest_wait_s``; ``large_ratio``: the mean over
    single jobs of wait over wait; ``large_longest_ratio``: the largest of these; ``large_later_ratio``: the share of
    jobs that wait longer. Ratios are of jobs that waited a minute or more under the other policy.
    """
    is_large = jobs["node_count"].to_numpy() >= LARGE_NODES
    own_s, other_s = jobs["wait_s"].to_numpy()[is_large], other_wait_s[is_large]
    is_noticed = other_s >= NOTICED_S
    ratios = own_s[is_noticed] / other_s[is_noticed]
    return {
        "large_wait_s": float(own_s.mean()),
        "large_other_wait_s": float(other_s.mean()),
        "large_longest_wait_s": float(own_s.max()),
        "large_ratio": float(ratios.mean()) if len(ratios) else 1.0,
        "large_longest_ratio": float(ratios.max()) if len(ratios) else 1.0,
        "large_later_ratio": float((own_s > other_s).mean()),
    }


QUANTITIES = {
    "saving": "system energy saved, {}, %",
    "placement": "placement part of it, {}, %",
    "energy": "energy, change, {}, %",
    "turnaround": "turnaround, change, {}, %",
    "throughput": "throughput, change, {}, %",
    "wait": "mean wait over the baseline's, {}",
    "waiting": "wait, change, {}, %",
    "merit": "M_β, {}, % over ratio",
}
"""Quantities of metrics."""


def relative(frame: pl.DataFrame, baseline: str = BASELINE, **at: Any) -> Runs:
    """The runs, with a column a workload."""
    return Runs(frame, baseline, each="workload", **at)


def of_paper(name: str, section: str, *, parameters: Sequence[Parameter], **more: Any) -> Experiment:
    """An experiment of the paper."""
    return Experiment(
        name=name,
        source=f"{SOURCE}, section {section}",
        parameters=[*P, *parameters],
        quick_parameters=QUICK,
        **more,
    )


def by_preset(
    rows_of: Callable[[Runs, str], Iterable[Row]], baseline: str = BASELINE, presets: Sequence[str] = PRESETS
) -> Callable[..., list[Row]]:
    """From the frame of all runs to rows of each reading of the log."""
    return lambda frame: [
        row for preset in presets for row in rows_of(relative(frame, baseline, preset=preset), preset)
    ]


def swept(
    runs: Runs,
    rows: Mapping[str, str],
    *,
    labels: Collection[str],
    vary: str,
    ticks: Mapping[float, str],
    x_label: str,
    called: Mapping[str, str] | None = None,
    is_even: bool = False,
    **more: Any,
) -> pl.DataFrame:
    """Metrics (with the text at their axes) over what an experiment varies, averaged over workloads, as curves.

    Values are plotted at their place or, if even, at equal distances; `called` renames policies, `more` goes to
    `Runs.mean`.
    """
    names = {(called or {}).get(label, label): label for label in labels}
    return panels(
        {row: metric for metric, row in rows.items()},
        {preset: runs.where(preset=preset) for preset in PRESETS},
        names,
        lambda metric, own, label: own.across(metric, names[label], vary, ticks, **more),
        level={row: 1.0 for metric, row in rows.items() if metric == "wait"},
        ticks=list(ticks.values()),
        x=range(len(ticks)) if is_even else list(ticks),
        x_label=x_label,
    )


def numbers(
    frame: pl.DataFrame,
    label: str,
    metrics: Collection[str],
    settings: Mapping[str, Mapping[str, Any]],
    *,
    over: str = BASELINE,
    **more: Any,
) -> dict[str, Floats]:
    """Metrics of a policy, averaged over workloads, by quantity.

    `settings` leads from the text in the quantity to what the experiment varies, and its value.
    """
    quantities, found = {name: QUANTITIES[name] for name in metrics}, dict[str, Floats]()
    for preset in PRESETS:
        where = {f"{setting}, {preset}" if setting else preset: at for setting, at in settings.items()}
        found |= relative(frame, preset=preset).numbers(label, quantities, where, over=over, **more)
    return found


def log_under_baseline(frame: pl.DataFrame, **at: float) -> list[Parameter]:
    """Load, use and waits of either reading of the log under VU-FCFS, averaged over repetitions and workloads.

    `at` selects the runs by what the experiment varies.
    """
    own = frame.filter(policy=BASELINE, **at)
    found = own.group_by("preset", maintain_order=True).agg(
        pl.col("offered_load_ratio").mean(),
        pl.col("utilization_ratio").mean(),
        (pl.col("mean_wait_s") / pl.col("run_s")).mean().alias("wait_over_run"),
        (pl.col("makespan_s") / 86_400.0).mean().alias("days"),
    )
    note = "under VU-FCFS: offered load, share of nodes in use, mean wait over mean run time, days"
    return [
        measured(str(row.pop("preset")), {name: round(float(value), 3) for name, value in row.items()}, note)
        for row in found.iter_rows(named=True)
    ]
