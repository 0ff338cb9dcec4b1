"""Charts of jobs as boxes of time and nodes, with a text in each box that holds it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from hetsched.report.canvas import TimeAxis, new_figure, write_nodes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_JOBS = 300
"""Most jobs of a chart; boxes of more cannot be distinguished."""

CHART_AXES_IN = (2.85, 1.75)
"""Width and height that a chart leaves to its axes."""

_HEIGHT_IN = 2.4
_LETTER_IN = (0.064, 0.12)


_OUTLINED_IN, _SEEN_IN = 3 / 72, 1.5 / 72
"""Least width and height of a box with an outline, and of one that can be seen."""


def boxes_can_be_read(jobs: pl.DataFrame, *, nodes: int) -> bool:
    """True if a chart of jobs shows something: few enough of them, at least half with boxes that can be seen."""
    ran, (first_s, last_s) = ran_of(jobs), window_of(jobs)
    if len(jobs) > MOST_JOBS or ran.is_empty() or last_s <= first_s:
        return False
    width_in = (ran["end_s"] - ran["start_s"]).to_numpy() / (last_s - first_s) * CHART_AXES_IN[0]
    height_in = ran["nodes"].list.len().to_numpy() / nodes * CHART_AXES_IN[1]
    return bool(((width_in >= _SEEN_IN) & (height_in >= _SEEN_IN)).mean() >= 0.5)


def ran_of(jobs: pl.DataFrame) -> pl.DataFrame:
    """The jobs that have ended."""
    return jobs.filter(pl.col("start_s").is_not_null() & pl.col("end_s").is_not_null())


def window_of(jobs: pl.DataFrame) -> tuple[float, float]:
    """The first submit and the last end."""
    first_s = float(jobs["submit_s"].min() or 0.0)  # type: ignore[arg-type]
    return first_s, float(ran_of(jobs)["end_s"].max() or first_s)  # type: ignore[arg-type]


def check_count(jobs: int) -> None:
    """Raise a `ValueError` for more jobs than a chart shows."""
    if jobs > MOST_JOBS:
        raise ValueError(f"{jobs} jobs, a chart shows at most {MOST_JOBS}")


@contextmanager
def new_chart(
    window: tuple[float, float], nodes: int, *, title: str, unix_zero_s: float | None, foot_in: float = 0.0
) -> Iterator[tuple[Figure, Chart]]:
    """A figure with an empty chart, and room below it."""
    axis = TimeAxis(*window, unix_zero_s=unix_zero_s)
    with new_figure([_HEIGHT_IN + foot_in], title=title) as (figure, (axes,)):
        axis.write_on(axes)
        write_nodes(axes, nodes)
        yield figure, Chart(axes, axis, nodes)


class Chart:
    """Axes of time and nodes on which rows with ``start_s, end_s, nodes`` are boxes."""

    def __init__(self, axes: Axes, axis: TimeAxis, nodes: int) -> None:
        self.axes = axes
        self.axis = axis
        self.nodes = nodes

    def add(self, rows: pl.DataFrame, **look: Any) -> None:
        """Draw a box for each row and each unbroken run of its nodes; a look that is a list has one for each row."""
        found = [self._boxes(*row) for row in rows.select("start_s", "end_s", "nodes").iter_rows()]
        counts = [len(own) for own in found]
        looks = {name: np.repeat(one, counts, axis=0) if np.ndim(one) else one for name, one in look.items()}
        add_boxes(self.axes, [box for own in found for box in own], **looks)

    def _boxes(self, start_s: float, end_s: float, nodes: list[int]) -> list[np.ndarray]:
        ends = self.axis.shown(start_s), self.axis.shown(end_s)
        return [box(*ends, first - 0.5, first - 0.5 + count) for first, count in _unbroken(np.asarray(nodes))]

    def outlines(self, rows: pl.DataFrame, width: float = 0.4) -> list[float]:
        """Widths of the outlines of rows' boxes; thin boxes have none, as they would hide them."""
        return [width if min(self.size_in(row)) >= _OUTLINED_IN else 0.0 for row in rows.iter_rows(named=True)]

    def size_in(self, row: Mapping[str, Any]) -> tuple[float, float]:
        """Width and height of a row's tallest box."""
        first, last = self.axis.limits
        width = (self.axis.shown(row["end_s"]) - self.axis.shown(row["start_s"])) / (last - first)
        return width * CHART_AXES_IN[0], _tallest(row)[1] / self.nodes * CHART_AXES_IN[1]

    def write(self, row: Mapping[str, Any], texts: Iterable[str], **look: Any) -> None:
        """Write into a row's tallest box the first of the texts that it holds."""
        width_in, height_in = self.size_in(row)
        first, count = _tallest(row)
        place = self.axis.shown((row["start_s"] + row["end_s"]) / 2), first - 0.5 + count / 2
        for text in texts:
            lines = text.split("\n")
            if width_in > _LETTER_IN[0] * max(map(len, lines)) + 0.04 and height_in > _LETTER_IN[1] * len(lines):
                self.axes.text(*place, text, ha="center", va="center_baseline", linespacing=1.0, **look)
                return


def box(start: float, end: float, low: float, high: float) -> np.ndarray:
    """The corners of a box."""
    return np.array([[start, low], [end, low], [end, high], [start, high]])


def add_boxes(axes: Axes, boxes: list[np.ndarray], **look: Any) -> None:
    """Draw boxes, if there are any, without a change of the axes' limits."""
    from matplotlib.collections import PolyCollection  # noqa: PLC0415 -- slow to import

    if boxes:
        axes.add_collection(PolyCollection(boxes, **look), autolim=False)


def _tallest(row: Mapping[str, Any]) -> tuple[int, int]:
    return max(_unbroken(np.asarray(row["nodes"])), key=lambda run: run[1])


def _unbroken(nodes: np.ndarray) -> list[tuple[int, int]]:
    """Ascending node numbers as (first, how many) of each unbroken run."""
    breaks = np.flatnonzero(np.diff(nodes.astype(np.int64)) != 1) + 1
    return [(int(run[0]), len(run)) for run in np.split(nodes, breaks)]
