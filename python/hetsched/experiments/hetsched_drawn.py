"""What the pictures of ``hetsched`` show."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from hetsched.experiments.hetsched_claims import OURS, RIVALS, Own, Setting
from hetsched.experiments.tsubame import MIXES, PRESETS
from hetsched.experiments.yours import labels_in
from hetsched.report.panel_figure import curve, panel_figure
from hetsched.report.pareto_figure import pareto_figure, point

__all__ = ["draw", "drawn"]

PARETO, WORKLOADS = "pareto", "workloads"

AXES = {"turnaround": "turnaround vs VU-FCFS's", "longest": "longest wait of a large job (h)"}
"""From a metric to what stands below it; smaller is better."""

FIRST = (OURS, *RIVALS, "coa", "easy", "sjf")
"""Who gets colours that nobody of them shares."""


def drawn(frame: pl.DataFrame) -> pl.DataFrame:
    """The rows of both figures.

    Parameters
    ----------
    frame
        All runs.
    """
    return pl.concat([_pareto(frame), _by_workload(frame)], how="diagonal")


def draw(own: pl.DataFrame, *, title: str = "") -> Any:
    """One of the figures.

    Parameters
    ----------
    own
        Its rows of `drawn`.
    title
        What stands above it.
    """
    return (pareto_figure if own["figure"][0] == PARETO else panel_figure)(own, title=title)


def _pareto(frame: pl.DataFrame) -> pl.DataFrame:
    """Every preset as a dot, averaged over workloads."""
    labels = [label for label in frame["policy"].unique(maintain_order=True) if not label.startswith(f"{OURS},")]
    labels.sort(key=lambda label: FIRST.index(label) if label in FIRST else len(FIRST))
    return pl.concat(
        point(
            _cost(own, name, label),
            own.metric("placement", label).mean(axis=1),
            figure=PARETO,
            row=f"{preset}\nplacement saving (%)",
            column=below,
            label=label,
        )
        for preset in PRESETS
        for name, below in AXES.items()
        for own in [Own(frame, preset, Setting())]
        for label in labels
    )


def _cost(own: Own, name: str, label: str) -> npt.NDArray[np.float64]:
    """A metric averaged over workloads; a change in percent as a ratio."""
    mean: npt.NDArray[np.float64] = own.metric(name, label).mean(axis=1)
    return 1.0 + mean / 100.0 if name == "turnaround" else mean


def _by_workload(frame: pl.DataFrame) -> pl.DataFrame:
    shown = {
        "placement": "placement saving (%)",
        "turnaround": "turnaround (%)",
        "longest": "longest wait of\na large job (h)",
    }
    return pl.concat(
        curve(
            own.metric(name, label),
            figure=WORKLOADS,
            row=row,
            column=preset,
            label=label,
            ticks=MIXES,
        )
        for name, row in shown.items()
        for preset in PRESETS
        for own in [Own(frame, preset, Setting())]
        for label in (OURS, *RIVALS, *labels_in(frame))
    )
