"""Sections over time: power with its budget, nodes at work, jobs in the queue, nodes that are off or down, events."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import polars as pl

from hetsched.report.page import charts, words
from hetsched.report.page.charts import Figure, Line
from hetsched.report.page.document import Block, Chart, Grid
from hetsched.report.page.shown import EVENT_BINS, RunShown, Shown

_MOST_SHOWN = 3
"""Lines that are drawn at first; the others are a click away in the legend."""
_LOW = 240

STATES = {"sleeping_nodes": "off", "transition_nodes": "booting or shutting down", "down_nodes": "down"}
EVENTS = {
    "wake": "nodes woken",
    "sleep": "nodes put to sleep",
    "failed": "nodes failed",
    "alert": "draw above the budget",
    "lower-cap": "caps lowered",
    "raise-cap": "caps raised",
    "suspend": "jobs suspended",
    "resume": "jobs resumed",
    "requeue": "jobs requeued",
    "kill": "jobs killed",
    "cancel": "jobs cancelled",
    "grow": "jobs grown",
    "shrink": "jobs shrunk",
}


def power(shown: Shown) -> Iterator[Block]:
    """Draw of the machine, and the budget that was in force."""
    if not shown.timed:
        return
    most = max(float(run.bins["power_w_max"].to_numpy().max()) for _, run in shown.timed)
    scale, unit = words.unit_of("peak_power_w", [most])
    figure = _lines(shown, "power_w", scale, f"power ({unit})", with_band=True)
    limits = next((run.limits for run in shown.runs if run.limits is not None), None)
    note = "Lines: means; bands: from the least to the most."
    if limits is not None:
        watts = limits["budget_w"].fill_null(math.nan).to_numpy() / scale
        figure["data"].append(
            charts.line(shown.axis.packed(limits["time_s"].to_numpy()), Line("budget", watts, place=6))
        )
        figure["layout"]["shapes"] = _over_budget(shown, limits)
        note += " Grey: the budget in force; shaded: while there is one."
    names = ", ".join(run.policy for run in shown.runs)
    yield Chart("Draw of all nodes", f"Power over time under {names}", figure, link="time", note=note)


_MOST_SHADED = 100


def _over_budget(shown: Shown, limits: pl.DataFrame) -> list[Figure]:
    """Shades of the stretches with a budget; none where there always is one, or it changes too often to be seen."""
    own = limits.with_columns(until_s=pl.col("time_s").shift(-1)).drop_nulls()
    if not 0 < len(own) <= _MOST_SHADED or len(own) == len(limits) - 1:
        return []
    return [charts.shade(shown.axis, from_s, until_s) for from_s, until_s in own.select("time_s", "until_s").rows()]


def use(shown: Shown) -> Iterator[Block]:
    """Nodes at work and jobs in the queue."""
    if not shown.timed:
        return
    per_cent = shown.base.provenance["platform"]["nodes"] / 100
    busy = _lines(shown, "busy_nodes", per_cent, "nodes at work (%)")
    yield Chart("Nodes at work", "Share of nodes at work over time", busy, _LOW, link="time")
    queued = _lines(shown, "queued_jobs", 1.0, "jobs in the queue")
    yield Chart("Jobs that wait", "Jobs in the queue over time", queued, _LOW, link="time")


def _lines(shown: Shown, column: str, scale: float, title: str, *, with_band: bool = False) -> Figure:
    """A line a run; runs need not have the same bins."""
    own = [
        _line(run, column, scale, place=place, with_band=with_band, is_shown=place < _MOST_SHOWN or run is shown.best)
        for place, run in shown.timed
    ]
    return charts.over_time(shown.axis, own, title=title)


def _line(
    run: RunShown, column: str, scale: float = 1.0, *, place: int, with_band: bool = False, is_shown: bool = True
) -> tuple[npt.NDArray[np.float64], Line]:
    """Beginnings of bins, and a line over them."""
    mean, least, most = (run.bins[f"{column}_{part}"].to_numpy() / scale for part in ("mean", "min", "max"))
    line = Line(run.policy, mean, place=place, is_shown=is_shown)
    return run.bins["start_s"].to_numpy(), replace(line, least=least, most=most) if with_band else line


def events(shown: Shown) -> Iterator[Block]:
    """Nodes that were off, changing or down, and how often things happened, in all and over time."""
    for column, state in STATES.items():
        lines = [_line(run, column, place=place) for place, run in shown.timed if column in run.states]
        if lines:
            figure = charts.over_time(shown.axis, lines, title="nodes")
            spoken = f"Number of nodes that are {state}, over time"
            yield Chart(f"Nodes {state}", spoken, figure, _LOW, link="time")
    kinds = [kind for kind in EVENTS if any((run.events["kind"] == kind).any() for run in shown.runs)]
    if kinds:
        totals = [dict(run.events.group_by("kind").agg(pl.col("events").sum()).rows()) for run in shown.runs]
        rows = [[EVENTS[kind], *(f"{own.get(kind, 0):,}" for own in totals)] for kind in kinds]
        yield Grid("How often things happened", ["event", *(run.policy for run in shown.runs)], rows)
        yield _counts(shown, kinds)


def _counts(shown: Shown, kinds: Sequence[str]) -> Chart:
    run = shown.best
    edges = np.linspace(*run.window, EVENT_BINS + 1)[:-1]
    lines = []
    for place, kind in enumerate(kinds):
        counts, own = np.zeros(EVENT_BINS), run.events.filter(kind=kind)
        counts[own["bin"].to_numpy()] = own["events"].to_numpy()
        lines.append((edges, Line(EVENTS[kind], counts, place=place)))
    each = words.length((run.window[1] - run.window[0]) / EVENT_BINS)
    figure = charts.over_time(shown.axis, lines, title=f"events in {each}")
    return Chart(f"Events over time, {run.policy}", f"Events over time under {run.policy}", figure, _LOW, link="time")
