"""What the pictures of ``vahrm`` show."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import numpy.typing as npt
import polars as pl

from hetsched.experiments.large_jobs import SIZES
from hetsched.experiments.relative import Relative
from hetsched.experiments.tsubame import BASELINE, MIXES, PRESETS, SCHEDULERS, SPREAD
from hetsched.experiments.vahrm_claims import SAVING, THROUGHPUT, TURNAROUND
from hetsched.experiments.yours import labels_in
from hetsched.report.panel_figure import curve

__all__ = ["drawn"]

Floats = npt.NDArray[np.float64]

ROWS = {
    "saving": ("energy saved (%)", SAVING[0]),
    "turnaround": ("turnaround (%)", TURNAROUND[0]),
    "throughput": ("throughput (%)", THROUGHPUT),
}
"""From a metric to what stands at its axis, and what the paper prints of VAHRM, the mean over workloads."""


def drawn(frame: pl.DataFrame) -> pl.DataFrame:
    """The rows of three figures, as `hetsched.report.panel_figure` takes them.

    Parameters
    ----------
    frame
        All runs.
    """
    runs = Relative(frame)
    spreads = sorted(frame["spread"].unique())
    return pl.concat(
        [
            *(_by_workload(runs, preset, [*SCHEDULERS, *labels_in(frame)]) for preset in PRESETS),
            *(_by_spread(runs, preset, spreads) for preset in PRESETS),
            *(_by_size(runs, preset) for preset in PRESETS),
        ]
    )


def _by_workload(runs: Relative, preset: str, labels: Sequence[str]) -> pl.DataFrame:
    return pl.concat(
        curve(
            runs.metric(name, label, preset, spread=SPREAD),
            figure="workloads",
            row=row,
            column=preset,
            label=label,
            ticks=MIXES,
            paper=paper,
        )
        for name, (row, paper) in ROWS.items()
        for label in labels
        if label != BASELINE
    )


def _by_spread(runs: Relative, preset: str, spreads: list[float]) -> pl.DataFrame:
    """The saving and its parts, averaged over workloads."""

    def over(label: str, part: str) -> Floats:
        return np.column_stack([runs.metric(part, label, preset, spread=one).mean(axis=1) for one in spreads])

    curves: Mapping[str, Callable[[], Floats]] = {
        "VAHRM": lambda: over("vahrm+ideal", "saving"),
        "VAHRM, window": lambda: over("vahrm+ideal", "window"),
        "VAHRM, placement": lambda: over("vahrm+ideal", "placement"),
        "CGVA-FCFS-B, placement": lambda: over("cgva-fcfs-b", "placement"),
    }
    ticks = [f"{100 * one:g}" for one in spreads]
    return pl.concat(
        curve(
            values(),
            figure="spread",
            row="of system energy saved (%)",
            column=preset,
            label=label,
            ticks=ticks,
            x=[100 * one for one in spreads],
            x_label="spread of devices (%)",
        )
        for label, values in curves.items()
    )


def _by_size(runs: Relative, preset: str) -> pl.DataFrame:
    """Waits of classes of job sizes, over VU-FCFS-B's, averaged over workloads."""
    ratios = np.column_stack(
        [
            np.nanmean(
                runs.values(f"wait_{size}_s", "vahrm+tsmva", preset, spread=SPREAD)
                / runs.values(f"wait_{size}_s", "vu-fcfs-b", preset, spread=SPREAD),
                axis=1,
            )
            for size in SIZES
        ]
    )
    return curve(
        ratios,
        figure="sizes",
        row="wait over VU-FCFS-B's",
        column=preset,
        label="vahrm+tsmva",
        ticks=[f"{size}" for size in SIZES],
        x=range(len(SIZES)),
        x_label="nodes of a job, at least",
        level=1.0,
    )
