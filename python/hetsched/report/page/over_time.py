"""Sections over time: power with its budget, nodes at work, jobs in the queue, nodes that are off or down, events."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import polars as pl

from hetsched.report.page import charts, words
from hetsched.report.page.charts import Figure, Line, Shade
from hetsched.report.page.document import Block, Chart, Grid
from hetsched.report.page.shown import EVENT_BINS, RunShown, Shown

_MOST_SHOWN = 3
"""Lines that are drawn at first; the others are a click away in the legend."""
_LOW = 240

STATES = {"sleeping_nodes": "off", "transition_nodes": "booting or shutting down", "down_nodes": "down"}
ALL_STATES = {"busy_nodes": "at work", "idle_nodes": "idle", **STATES}
"""Every state of a node, from below in a picture."""
_STATE_PLACES = {"busy_nodes": 0, "idle_nodes": 5, "transition_nodes": 3, "sleeping_nodes": 6, "down_nodes": 1}
"""Their colours, by the place of a series that has it."""
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
    for name, own in _limits(shown, limits).items():
        watts = own["budget_w"].fill_null(math.nan).to_numpy() / scale
        figure["data"].append(charts.line(shown.axis.packed(own["time_s"].to_numpy()), Line(name, watts, place=6)))
        note += f" Grey: the {name} in force."
    shades, said = _shades(shown, limits)
    charts.shade(figure, shown.axis, shades)
    names = ", ".join(run.policy for run in shown.runs)
    yield Chart("Draw of all nodes", f"Power over time under {names}", figure, link="time", note=note + said)


def _limits(shown: Shown, limits: pl.DataFrame | None) -> dict[str, pl.DataFrame]:
    """Limits over time, null where there is none: the contract's, and the budget of policies that have their own."""
    found = {}
    windows = shown.windows
    if windows is not None:
        ends = windows.select(time_s="until_s", budget_w=pl.lit(None, pl.Float64))
        begins = windows.select(time_s="from_s", budget_w="limit_w")
        found["contract's limit"] = pl.concat([ends, begins]).unique("time_s", keep="last").sort("time_s")
    if limits is not None and (windows is None or any(run.summary.get("budget_w") for run in shown.runs)):
        found["budget"] = limits
    return found


_MOST_SHADED = 800
_PLACES = (3, 5, 2, 4)
"""Colours of shades, by the place of their series."""


def _shades(shown: Shown, limits: pl.DataFrame | None) -> tuple[list[Shade], str]:
    """The windows of the contract, else the stretches with a budget, and what a note says of them.

    None where a budget is always in force, or changes too often to be seen.
    """
    windows = shown.windows
    if windows is not None:
        if len(windows) > _MOST_SHADED:
            return [], f" The contract has {len(windows):,} windows in this time, too many to be shaded."
        names = windows["name"].unique(maintain_order=True).to_list()
        places = {name: _PLACES[place % len(_PLACES)] for place, name in enumerate(names)}
        rows = windows.select("from_s", "until_s", "name").rows()
        own = [Shade(from_s, until_s, name, places[name]) for from_s, until_s, name in rows]
        return own, " Shaded: windows of the contract."
    if limits is None:
        return [], ""
    limited = limits.with_columns(until_s=pl.col("time_s").shift(-1)).drop_nulls()
    if not 0 < len(limited) <= _MOST_SHADED or len(limited) == len(limits) - 1:
        return [], ""
    return [Shade(*ends) for ends in limited.select("time_s", "until_s").rows()], " Shaded: while there is a budget."


def use(shown: Shown) -> Iterator[Block]:
    """Nodes at work and jobs in the queue."""
    if not shown.timed:
        return
    per_cent = shown.base.provenance["platform"]["nodes"] / 100
    busy = _lines(shown, "busy_nodes", per_cent, "nodes at work (%)")
    yield Chart("Nodes at work", "Share of nodes at work over time", busy, _LOW, link="time")
    queued = _lines(shown, "queued_jobs", 1.0, "jobs in the queue")
    yield Chart("Jobs that wait", "Jobs in the queue over time", queued, _LOW, link="time")


def states(shown: Shown, run: RunShown, group: str) -> Chart:
    """Nodes by state on top of each other: all nodes, at any time."""
    parts = [
        Line(name, run.bins[f"{column}_mean"].to_numpy(), place=_STATE_PLACES[column])
        for column, name in ALL_STATES.items()
        if column in run.states or column not in STATES
    ]
    figure = charts.areas(shown.axis, run.bins["start_s"].to_numpy(), parts, title="nodes")
    label = f"States of the nodes over time, {run.policy}"
    spoken = f"Number of nodes {', '.join(part.name for part in parts)} over time under {run.policy}"
    return Chart(label, spoken, figure, _LOW + 40, link="time", group=group, member=run.policy)


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
