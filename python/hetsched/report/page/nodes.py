"""The section about nodes: the energy and the hours of each, and when it worked."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import polars as pl

from hetsched.checks import many
from hetsched.report.page import charts, over_time, words
from hetsched.report.page.document import Block, Chart, Choice
from hetsched.report.page.shown import MAP_BINS, RunShown, Shown

_GROUP = "nodes"
_WIDE = 3
"""Width of the map of nodes over its height."""
_MOST_WORDED = 20_000
"""Nodes of which a page has a sentence each; of more it has the energy alone."""


def nodes(shown: Shown) -> Iterator[Block]:
    """A map of the machine and one over time for each policy, of which the reader chooses one."""
    group = _GROUP if shown.are_several else ""
    if group:
        yield Choice("Policy", group, [run.policy for run in shown.runs])
    for run in shown.runs:
        yield _energy(run, group)
    for _, run in shown.timed:
        yield over_time.states(shown, run, group)
    for run in shown.runs:
        if run.use is not None:
            yield _over_time(shown, run, group)


def _energy(run: RunShown, group: str) -> Chart:
    """A square a node, row by row: its energy, and its hours where one points at it."""
    frame, columns = run.nodes, max(math.ceil(math.sqrt(len(run.nodes) * _WIDE)), 1)
    rows = math.ceil(len(frame) / columns)
    empty = rows * columns - len(frame)
    kwh = [*(frame["energy_j"] / 3.6e6).round(3).to_list(), *[None] * empty]
    texts = [*(_sentences(frame) if len(frame) <= _MOST_WORDED else map(str, frame["node"])), *[""] * empty]
    figure = charts.squares(
        np.reshape(kwh, (rows, columns)).tolist(), np.reshape(texts, (rows, columns)).tolist(), "kWh"
    )
    least, most = (
        words.metric("energy_j", float(one)) for one in np.quantile(frame["energy_j"].to_numpy(), [0.0, 1.0])
    )
    spoken = f"Energy of {many(len(frame), 'node')} under {run.policy}: {least} to {most} each"
    note = f"{spoken}. A square is a node, row by row from the first; point at one for its hours."
    height = max(160, min(420, 26 * rows + 30))
    return Chart(f"Energy by node, {run.policy}", spoken, figure, height, group=group, member=run.policy, note=note)


def _sentences(frame: pl.DataFrame) -> list[str]:
    names = frame["node_name"] if "node_name" in frame.columns else frame["node"].cast(pl.String)
    hours = {"at work": "busy_s", "idle": "idle_s", "off": "off_s", "changing": "transition_s", "down": "down_s"}
    parts = [pl.format(f"{name} {{}}", (pl.col(column) / 3600).round(1)) for name, column in hours.items()]
    text = pl.format(
        "{}: {} kWh; hours {}", names, (pl.col("energy_j") / 3.6e6).round(1), pl.concat_str(parts, separator=", ")
    )
    return [words.plain(sentence) for sentence in frame.select(text.alias("text"))["text"]]


def _over_time(shown: Shown, run: RunShown, group: str) -> Chart:
    assert run.use is not None
    count, rows = len(run.nodes), len(run.use)
    edges = shown.axis.packed(np.linspace(*run.window, MAP_BINS + 1))
    figure = charts.grid_map(edges, count, 100 * run.use, axis=shown.axis.layout(), title="node")
    shared = "" if rows == count else f" Each row is {count / rows:.1f} nodes."
    spoken = f"Share of the time in which each node works under {run.policy}"
    note = f"Share of the time in which nodes run jobs.{shared}"
    label = f"Nodes at work over time, {run.policy}"
    return Chart(label, spoken, figure, 320, link="time", group=group, member=run.policy, note=note)
