"""The section about waits: how long jobs wait, and whose."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import polars as pl

from hetsched.report.page import charts, words
from hetsched.report.page.charts import Bars, Curve
from hetsched.report.page.document import Block, Chart, Words
from hetsched.report.page.shown import Shown

_MOST_GROUPS = 12
_TICKS = (
    (1.0, "1 s"),
    (60.0, "1 min"),
    (600.0, "10 min"),
    (3600.0, "1 h"),
    (6 * 3600.0, "6 h"),
    (86400.0, "1 d"),
    (604800.0, "1 week"),
)
_GROUPS = {"user": "users", "queue": "queues", "size": "classes of size"}


def waits(shown: Shown) -> Iterator[Block]:
    """The share of jobs that wait longer than a time, and mean waits by user, queue and size."""
    started = [(place, run) for place, run in enumerate(shown.runs) if len(run.curve)]
    if not started:
        yield Words("No job started.")
        return
    own = [
        Curve(run.policy, run.curve["wait_s"].clip(1.0), 100 * run.curve["longer_ratio"], place, is_step=True)
        for place, run in started
    ]
    yield longer_than(own)
    yield from (chart for column in _GROUPS if (chart := _by(shown, column)) is not None)


def longer_than(own: Sequence[Curve]) -> Chart:
    """Shares of jobs that wait longer than a time."""
    figure = charts.curves(own, x_title="wait", y_title="jobs that wait longer (%)", ticks=_TICKS, is_log=True)
    return Chart("How long jobs wait", "Share of jobs that wait longer than a time", figure, 280)


def _by(shown: Shown, column: str) -> Chart | None:
    """Mean waits by group, of the groups with most jobs."""
    frames = [_grouped(run.jobs, column) for run in shown.runs]
    counts = frames[0].group_by("group").agg(pl.len().alias("jobs")).sort("jobs", "group", descending=[True, False])
    if len(counts) < 2:
        return None
    names = counts.head(_MOST_GROUPS)["group"].to_list()
    if column == "size":
        names.sort(key=lambda name: int(name.split("–")[0].replace(",", "")))
    means = [dict(frame.group_by("group").agg(pl.col("wait_s").mean()).rows()) for frame in frames]
    known = [mean for own in means for mean in own.values() if mean is not None]
    scale, unit = words.unit_of("mean_wait_s", known)
    series = [
        Bars(run.policy, [None if own.get(name) is None else own[name] / scale for name in names], place)
        for place, (run, own) in enumerate(zip(shown.runs, means, strict=True))
    ]
    more = len(counts) - len(names)
    note = f"The {len(names)} {_GROUPS[column]} with the most jobs; {more:,} more are not drawn." if more else ""
    height = charts.bar_height(names, len(shown.runs))
    label = f"Mean wait by {'number of nodes' if column == 'size' else column}"
    figure = charts.bars(names, series, title=f"mean wait ({unit})")
    return Chart(label, f"{label}, of {len(names)} {_GROUPS[column]}", figure, height, note=note)


def _grouped(jobs: pl.DataFrame, column: str) -> pl.DataFrame:
    """Waits with the group of each job as text; none of a column that says nothing."""
    if column != "size":
        own = jobs.select(pl.col(column).fill_null("not known").alias("group"), "wait_s")
        return own if jobs[column].null_count() < len(jobs) else own.clear()
    low = pl.col("node_count").log(2.0).floor().cast(pl.Int64)
    names = {place: f"{2**place:,}" + (f"–{2 ** (place + 1) - 1:,}" if place else "") for place in range(64)}
    return jobs.select(low.replace_strict(names, return_dtype=pl.String).alias("group"), "wait_s")
