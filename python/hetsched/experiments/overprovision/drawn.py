"""Data of these experiments' figures: curves over time, over the number of nodes, and of allocators."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from hetsched.experiments.experiment import Floats
from hetsched.experiments.overprovision.ha8000 import BIN_S, FIRST, LABEL
from hetsched.experiments.runs import Runs, panels
from hetsched.report.panel_figure import curve

OVER_TIME = {"draw_kw": "draw (kW)", "idle_kw": "of idle nodes (kW)", "queue": "queued jobs"}
OVER_NODES = {
    "power_used_percent": "power used (%)",
    "nodes_used_percent": "nodes used (%)",
    "jobs_per_minute": "jobs a minute",
    "wasted_mj": "wasted (MJ)",
}


def over_time(frame: pl.DataFrame, settings: Mapping[str, Mapping[str, Any]], *, figure: str = "") -> pl.DataFrame:
    """A column a setting (its title, and what chooses its runs) with draw, idle draw and queue in the course of it."""
    parts = []
    for name, row in OVER_TIME.items():
        for title, at in settings.items():
            for label in [LABEL, *Runs(frame).yours]:
                own = frame.filter(policy=label, log=FIRST, **at).sort("repetition")
                values = _padded(own[name].to_list())
                minutes = BIN_S / 60.0 * np.arange(values.shape[1], dtype=np.float64)
                parts.append(
                    curve(
                        values,
                        row=row,
                        column=title,
                        label=label,
                        ticks=[f"{minute:.0f}" if minute % 5 == 0 else "" for minute in minutes],
                        x=list(minutes),
                        x_label="minutes",
                        level=float(own["budget_kw"][0]) if name == "draw_kw" else 0.0,
                        figure=figure,
                    )
                )
    return pl.concat(parts)


def _padded(runs: Sequence[Sequence[float]]) -> Floats:
    """The runs' curves for as long as half of them go on, NaN after the end of each."""
    found = np.full((len(runs), int(np.median([len(own) for own in runs]))), np.nan)
    for row, own in zip(found, runs, strict=True):
        shown = own[: len(row)]
        row[: len(shown)] = shown
    return found


_ROOMY = 4
"""With more columns than this every other number of nodes is named."""


def over_nodes(
    frame: pl.DataFrame, settings: Mapping[str, Mapping[str, Any]], nodes: Sequence[int], *, figure: str = ""
) -> pl.DataFrame:
    """A column a setting with the steady state's numbers over the number of nodes."""
    runs, every = Runs(frame), 1 if len(settings) <= _ROOMY else 2
    return panels(
        {row: name for name, row in OVER_NODES.items()},
        settings,
        [LABEL, *runs.yours],
        lambda name, at, label: np.column_stack([runs.values(name, label, nodes=count, **at) for count in nodes]),
        ticks=[str(count) if place % every == 0 else "" for place, count in enumerate(nodes)],
        x=list(nodes),
        x_label="nodes",
        figure=figure,
    )


OVER_ALLOCATORS = {
    "bound_share_percent": "of the bound (%)",
    "jobs_per_minute": "jobs a minute",
    "mean_turnaround_s": "turnaround (s)",
    "energy_per_work_j_per_node_s": "J a node-second",
}


def over_allocators(frame: pl.DataFrame, labels: Sequence[str], *, row: str, figure: str) -> pl.DataFrame:
    """A column a number with the allocators side by side."""
    runs = Runs(frame)
    return pl.concat(
        panels(
            {row: name},
            {column: name},
            [*labels, *runs.yours],
            lambda name, _, label: runs.values(name, label)[:, np.newaxis],
            level={row: 100.0 if name == "bound_share_percent" else float("nan")},
            ticks=[""],
            figure=figure,
        )
        for name, column in OVER_ALLOCATORS.items()
    )
