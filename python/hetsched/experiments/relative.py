"""What the VAHRM paper's figures show of a run, all of it relative to another run of the same jobs.

The only place where these metrics are defined. Values come as arrays, a row a repetition and a column a workload.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import polars as pl

from hetsched.experiments.experiment import Parameter, Row
from hetsched.experiments.tsubame import BASELINE, MIXES, PRESETS
from hetsched.experiments.yours import labels_in, your_row
from hetsched.report.panel_figure import curve

__all__ = ["METRICS", "Relative", "measured", "of_yours", "swept"]

Floats: TypeAlias = npt.NDArray[np.float64]
Column: TypeAlias = Callable[[str], Floats]


def _share_saved(column: str) -> Callable[[Column, Column], Floats]:
    """A column's decrease in percent of the baseline's system energy, so that parts add up to the whole."""
    return lambda own, base: 100.0 * (base(column) - own(column)) / base("energy_j")


def _change(column: str) -> Callable[[Column, Column], Floats]:
    return lambda own, base: 100.0 * (own(column) / base(column) - 1.0)


def _wait(own: Column, base: Column) -> Floats:
    return own("mean_wait_s") / base("mean_wait_s")


METRICS: Mapping[str, Callable[[Column, Column], Floats]] = {
    "saving": _share_saved("energy_j"),
    "placement": _share_saved("job_energy_j"),
    "window": _share_saved("idle_energy_j"),
    "tail": _share_saved("tail_idle_j"),
    "energy": _change("energy_j"),
    "turnaround": _change("mean_turnaround_s"),
    "throughput": _change("throughput_jobs_per_hour"),
    "wait": _wait,
    "waiting": _change("mean_wait_s"),
    "merit": lambda own, base: _share_saved("energy_j")(own, base) / _wait(own, base),
    "above": lambda own, _base: 100.0 * own("over_budget_s") / own("makespan_s"),
}
"""From a run's columns and its baseline's to:

* ``saving``: of system energy, over each run's own window, percent (Fig. 7); it is ``placement``, the part of job
  energy, plus ``window``, the part of idle energy; ``tail`` is the part of the latter after each run's last start
* ``energy``, ``turnaround`` (Fig. 8), ``throughput`` (jobs per makespan, Fig. 9): change, percent
* ``wait``: mean wait over mean wait (Fig. 14); ``waiting``: its change, percent
* ``merit``: M_β, the saving over the relative wait (Fig. 15)
* ``above``: time above the power budget, percent of the makespan; of the run alone
"""

QUANTITIES = {
    "saving": "system energy saved",
    "placement": "placement part of it",
    "energy": "energy, change",
    "turnaround": "turnaround, change",
    "throughput": "throughput, change",
    "wait": "mean wait over the baseline's",
    "waiting": "wait, change",
    "merit": "M_β",
}
"""What rows call a metric."""

UNITS = {"wait": "", "merit": "% over ratio"}
"""Of those that are not percent."""


class Relative:
    """The runs of an experiment.

    Parameters
    ----------
    frame
        A row a run: ``repetition, preset, workload, policy``, what the experiment varies, and metrics.

    Examples
    --------
    >>> runs = {"repetition": [0, 0], "preset": "steady", "workload": 0, "policy": ["vu-fcfs", "vahrm"],
    ...         "energy_j": [200.0, 180.0], "job_energy_j": [150.0, 145.0], "idle_energy_j": [50.0, 35.0]}
    >>> runs = Relative(pl.DataFrame(runs))
    >>> [runs.metric(name, "vahrm", "steady").tolist() for name in ("saving", "placement", "window")]
    [[[10.0]], [[2.5]], [[7.5]]]
    """

    def __init__(self, frame: pl.DataFrame) -> None:
        self._frame = frame
        self._known: dict[tuple[object, ...], pl.DataFrame] = {}

    def values(self, column: str, policy: str, preset: str, **at: float) -> Floats:
        """A column, shape (repetitions, workloads).

        Parameters
        ----------
        column
            Of the frame.
        policy, preset
            Which runs.
        at
            What the experiment varies, and its value.
        """
        key = (policy, preset, *sorted(at.items()))
        if key not in self._known:
            wanted = {"policy": policy, "preset": preset, **at}
            chosen = self._frame.filter(*(pl.col(name) == value for name, value in wanted.items()))
            self._known[key] = chosen.sort("repetition", "workload")
        own = self._known[key]
        if own.is_empty():
            raise KeyError(f"no run of {key}")
        found: Floats = own[column].cast(pl.Float64).to_numpy().reshape(own["repetition"].n_unique(), -1)
        return found

    def metric(
        self,
        name: str,
        policy: str,
        preset: str,
        *,
        over: str = BASELINE,
        base_at: Mapping[str, float] | None = None,
        **at: float,
    ) -> Floats:
        """A metric of `METRICS`, shape (repetitions, workloads).

        Parameters
        ----------
        name
            Of the metric.
        policy, preset, at
            As in `values`.
        over
            The policy that it is relative to.
        base_at
            What its runs have of what the experiment varies. None: what the policy's own have.
        """
        own = lambda column: self.values(column, policy, preset, **at)  # noqa: E731 -- two columns to look up
        base = lambda column: self.values(column, over, preset, **(at if base_at is None else base_at))  # noqa: E731
        return METRICS[name](own, base)


def swept(
    frame: pl.DataFrame,
    rows: Mapping[str, str],
    *,
    labels: Mapping[str, str] | Collection[str],
    vary: str,
    ticks: Mapping[float, str],
    x_label: str,
    workloads: Collection[int] = range(len(MIXES)),
    over: str = BASELINE,
    base_at: Mapping[str, float] | None = None,
    is_even: bool = False,
) -> pl.DataFrame:
    """Metrics over what an experiment varies, averaged over workloads: what `hetsched.report.panel_figure` draws.

    Parameters
    ----------
    frame
        All runs.
    rows
        From a metric to what stands at its axis.
    labels
        Policies, and what to call them if not by their names.
    vary
        The column of what is varied.
    ticks
        Its values, and what stands below them.
    x_label
        What it is.
    workloads
        Which of the nine.
    over, base_at
        As in `Relative.metric`.
    is_even
        Whether values stand side by side rather than where they are.
    """
    runs, numbers = Relative(frame), list(workloads)
    called = labels if isinstance(labels, Mapping) else {label: label for label in labels}

    def over_values(metric: str, policy: str, preset: str) -> Floats:
        return np.column_stack(
            [
                runs.metric(metric, policy, preset, over=over, base_at=base_at, **{vary: one})[:, numbers].mean(axis=1)
                for one in ticks
            ]
        )

    return pl.concat(
        curve(
            over_values(metric, policy, preset),
            row=row,
            column=preset,
            label=label,
            ticks=list(ticks.values()),
            x=range(len(ticks)) if is_even else list(ticks),
            x_label=x_label,
            level=1.0 if metric == "wait" else 0.0,
        )
        for metric, row in rows.items()
        for preset in PRESETS
        for policy, label in called.items()
    )


def of_yours(
    frame: pl.DataFrame,
    metrics: Collection[str],
    settings: Mapping[str, Mapping[str, float]],
    *,
    over: str | None = BASELINE,
    base_at: Mapping[str, float] | None = None,
    workloads: Collection[int] = range(len(MIXES)),
) -> list[Row]:
    """Metrics of a user's own policies, averaged over workloads; nothing where there are none.

    Parameters
    ----------
    frame
        All runs.
    metrics
        Keys of `METRICS`.
    settings
        From what stands in the row to what the experiment varies, and its value.
    over
        As in `Relative.metric`. None: the policy itself.
    base_at, workloads
        As in `swept`.
    """
    runs, numbers = Relative(frame), list(workloads)
    rows = []
    for label in labels_in(frame):
        for preset in PRESETS:
            for where, at in settings.items():
                for name in metrics:
                    values = runs.metric(name, label, preset, over=over or label, base_at=base_at, **at)
                    told = ", ".join(filter(None, (QUANTITIES[name], where, preset, UNITS.get(name, "%"))))
                    rows.append(your_row(frame, label, told, values[:, numbers].mean(axis=1)))
    return rows


def measured(frame: pl.DataFrame, **at: float) -> list[Parameter]:
    """What either reading of the log is like under VU-FCFS, averaged over repetitions and workloads.

    Parameters
    ----------
    frame
        All runs.
    at
        Which value of what is varied stands for the experiment.
    """
    own = frame.filter(pl.col("policy") == BASELINE, *(pl.col(name) == value for name, value in at.items()))
    found = own.group_by("preset", maintain_order=True).agg(
        pl.col("offered_load_ratio").mean(),
        pl.col("utilization_ratio").mean(),
        (pl.col("mean_wait_s") / pl.col("run_s")).mean().alias("wait_over_run"),
        (pl.col("makespan_s") / 86_400.0).mean().alias("days"),
    )
    note = "measured under VU-FCFS: offered load, share of nodes in use, mean wait over mean run time, days"
    return [
        Parameter(str(row.pop("preset")), {name: round(float(value), 3) for name, value in row.items()}, note)
        for row in found.iter_rows(named=True)
    ]
