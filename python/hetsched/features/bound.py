"""Energy that a run could have saved: by placing jobs on other nodes, and by sleeping through gaps."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import polars as pl

from hetsched.bound import energy_bound
from hetsched.features.feature import Ended, Found, Metrics
from hetsched.features.given_starts import starts_metrics
from hetsched.units import TICKS_S, micros

if TYPE_CHECKING:
    from hetsched.platform import Platform
    from hetsched.run.result import Result


_DOWN = {"failed": 1, "out": 1, "repaired": -1, "back": -1}
_DRAWN = {"sleep": "shutdown_w", "off": "off_w", "wake": "boot_w"}
_TURNS = ("sleep", "off", "wake", "ready", "failed", "out")

Floats = npt.NDArray[np.float64]


def gaps(result: Result, platform: Platform) -> pl.DataFrame:
    """The gaps of a run's nodes: stretches in which a node is not down and holds no job.

    A job that waits suspended still holds its nodes. A job of length zero ends a gap, and another begins.

    Parameters
    ----------
    result
        The run.
    platform
        Its machine.

    Returns
    -------
    polars.DataFrame
        One row a gap, by node, then by time: ``node, start_s, end_s, ended_by`` (``job``, ``down``, ``end`` of the run)
        ``, idle_j`` (what an idle node draws for so long) ``, least_j`` (that, or what sleeping it through draws if
        that is less and the node can be back in time for its job) ``, drawn_j``.

    Examples
    --------
    >>> import hetsched as hs
    >>> log = pl.DataFrame({"job_id": [1, 2], "submit_s": [0, 1000], "runtime_s": [60, 60], "node_count": [1, 1]})
    >>> machine = hs.Platform.homogeneous(nodes=1, idle_w=100, tdp_w=300, boot_s=60, shutdown_s=60, off_w=0)
    >>> gaps(hs.simulate(hs.Workload.from_polars(log), machine, "easy:sleep=timeout"), machine).rows()
    [(0, 60.0, 1060.0, 'job', 100000.0, 12000.0, 72000.0)]
    """
    return _gaps_of(result.segments, result.events, result.timeline, platform)


def gap_metrics(found: pl.DataFrame) -> dict[str, float | None]:
    """Metrics of a run's gaps, by their keys in a summary."""
    idle_j, drawn_j, least_j = (float(found[name].to_numpy().sum()) for name in ("idle_j", "drawn_j", "least_j"))
    could_j = idle_j - least_j
    return {
        "gap_idle_j": idle_j,
        "gap_energy_j": drawn_j,
        "gap_bound_j": least_j,
        "sleep_attained_ratio": (idle_j - drawn_j) / could_j if could_j > 0 else None,
    }


def _gaps_of(segments: pl.DataFrame, events: pl.DataFrame, timeline: pl.DataFrame, platform: Platform) -> pl.DataFrame:
    """The gaps of a run, from its frames."""
    times = micros(timeline["time_s"])
    window = times[[0, -1]] if len(times) else np.zeros(2, dtype=np.int64)
    found = _between(_taken(segments, events, window, platform.nodes))
    node, start, end = (found[name].to_numpy() for name in ("node", "start", "end"))
    by_node = NodeDraws(platform)
    start_s, end_s, length_s = (instant / TICKS_S for instant in (start, end, end - start))
    idle_j = by_node["idle_w"][node] * length_s
    least_j = np.minimum(idle_j, _slept_j(by_node, node, end - start, (found["ended_by"] == "job").to_numpy()))
    return found.select(
        "node",
        # Divided above: the frame library multiplies by the inverse, which is not exact.
        pl.Series("start_s", start_s),
        pl.Series("end_s", end_s),
        "ended_by",
        pl.Series("idle_j", idle_j),
        pl.Series("least_j", least_j),
        pl.Series("drawn_j", idle_j + _beyond_idle_j(found, events, window, by_node)),
    )


class NodeDraws:
    """Watts and seconds of every node by their names in a node class."""

    def __init__(self, platform: Platform) -> None:
        self._classes = platform.classes
        self._count = np.array([one.count for one in self._classes])
        self._idle_w = platform.idle_w

    def __getitem__(self, name: str) -> Floats:
        if name == "idle_w":
            return self._idle_w
        values = np.repeat([self._value(one, name) for one in self._classes], self._count)
        return np.where(np.isnan(values), self._idle_w, values)

    @staticmethod
    def _value(one: object, name: str) -> float:
        """NaN for watts that are those of an idle node."""
        value = getattr(one, name)
        return np.nan if value is None else float(value)


def _taken(segments: pl.DataFrame, events: pl.DataFrame, window: npt.NDArray[np.int64], nodes: int) -> pl.DataFrame:
    """Spans in which nodes hold jobs or are down, ``node, start, end, by``, and the window's end for every node."""
    until = pl.Series(micros(segments["end_s"].fill_null(window[1] / TICKS_S)))
    held = pl.DataFrame({"start": micros(segments["start_s"]), "end": until, "node": segments["nodes"]})
    served = held.explode("node").drop_nulls().select(pl.col("node").cast(pl.Int64), "start", "end", by=pl.lit("job"))
    ends = pl.DataFrame({"node": np.arange(nodes, dtype=np.int64)}).with_columns(
        start=pl.lit(window[1]), end=pl.lit(window[1]), by=pl.lit("end")
    )
    frame = pl.concat([served, _outages(events, window), ends]).with_columns(first=pl.lit(window[0]))
    # Nodes go down before jobs start in an instant, and the end comes last.
    rank = pl.col("by").replace_strict({"down": 0, "job": 1, "end": 2}, return_dtype=pl.Int8)
    return frame.sort("node", "start", "end", rank, maintain_order=True)


def _outages(events: pl.DataFrame, window: npt.NDArray[np.int64]) -> pl.DataFrame:
    """Spans in which nodes are down: failed, or in any window of maintenance."""
    own = events.filter(pl.col("kind").is_in(list(_DOWN)), pl.col("node").is_not_null()).select(
        pl.col("node").cast(pl.Int64), "kind", "time_s"
    )
    own = own.with_columns(at=pl.Series(micros(own["time_s"]), dtype=pl.Int64))
    own = own.sort("node", "at", maintain_order=True).with_columns(
        depth=pl.col("kind").replace_strict(_DOWN, return_dtype=pl.Int64).cum_sum().over("node"),
        until=pl.col("at").shift(-1).over("node").fill_null(window[1]),
    )
    down = own.filter(pl.col("depth") > 0, pl.col("at") <= window[1])
    return down.select("node", start="at", end=pl.col("until").clip(upper_bound=int(window[1])), by=pl.lit("down"))


def _between(taken: pl.DataFrame) -> pl.DataFrame:
    """The stretches that nothing takes: ``node, start, end, ended_by``."""
    before = pl.col("end").cum_max().shift(1).over("node").fill_null(pl.col("first"))
    free = taken.select("node", start=before, end="start", ended_by="by")
    return free.filter(pl.col("end") > pl.col("start"))


def _slept_j(
    by_node: NodeDraws, node: npt.NDArray[np.int64], length: npt.NDArray[np.int64], is_for_job: npt.NDArray[np.bool_]
) -> Floats:
    """Least energy that sleeping in a gap draws; infinite where the node would not be back for its job."""
    boot_s, shutdown_s = by_node["boot_s"][node], by_node["shutdown_s"][node]
    # A node that draws more while it is off may sleep late, or several times: the rest of a gap costs its least watts.
    off_w = np.min([by_node[name][node] for name in ("off_w", "idle_w", "boot_w", "shutdown_w")], axis=0)
    boot_j, stop_w = by_node["boot_w"][node] * boot_s, by_node["shutdown_w"][node]
    boot, stop = np.rint(boot_s * TICKS_S), np.rint(shutdown_s * TICKS_S)
    to_job_j = stop_w * shutdown_s + boot_j + off_w * (length - boot - stop) / TICKS_S
    to_end_j = (stop_w * np.minimum(length, stop) + off_w * np.maximum(0, length - stop)) / TICKS_S
    return np.where(is_for_job, np.where(length >= boot + stop, to_job_j, np.inf), to_end_j)


def _beyond_idle_j(
    found: pl.DataFrame, events: pl.DataFrame, window: npt.NDArray[np.int64], by_node: NodeDraws
) -> Floats:
    """Energy drawn in each gap beyond an idle node: less, mostly, where the node was switched off."""
    own = events.filter(pl.col("kind").is_in(list(_TURNS)), pl.col("node").is_not_null()).select(
        pl.col("node").cast(pl.Int64), "kind", "time_s"
    )
    own = own.with_columns(start=pl.Series(micros(own["time_s"]), dtype=pl.Int64))
    own = own.sort("node", "start", maintain_order=True).with_columns(
        until=pl.col("start").shift(-1).over("node").fill_null(window[1]).clip(upper_bound=int(window[1]))
    )
    own = own.filter(pl.col("kind").is_in(list(_DRAWN)), pl.col("until") > pl.col("start"))
    node, kind = own["node"].to_numpy(), own["kind"].to_numpy()
    watts = np.select([kind == name for name in _DRAWN], [by_node[draw][node] for draw in _DRAWN.values()])
    beyond = watts - by_node["idle_w"][node]
    drawn = own.select("node", "start", joules=pl.Series(beyond * (own["until"] - own["start"]).to_numpy() / TICKS_S))
    at = found.select("node", "start", gap=pl.int_range(pl.len()))
    joined = drawn.join_asof(at, on="start", by="node", strategy="backward", check_sortedness=False)
    sums = np.zeros(len(found))
    np.add.at(
        sums, joined["gap"].drop_nulls().to_numpy(), joined.filter(pl.col("gap").is_not_null())["joules"].to_numpy()
    )
    return sums


def after(ended: Ended) -> Found:
    """Least energies that placement and sleep could have reached."""
    return Found(metrics=lambda _before: _metrics(ended))


def outages_of(ended: Ended) -> pl.DataFrame:
    """Spans of a run in which nodes are failed or in maintenance: ``node, start, end``, in whole microseconds."""
    window = (ended.totals["window_start_s"] or 0.0, ended.totals["window_end_s"] or 0.0)
    return _outages(ended.happened(), micros(pl.Series(window)))


def _metrics(ended: Ended) -> Metrics:
    bound = ended.setting.options.bound
    of_window = {} if bound == "starts" else _window_metrics(ended)
    of_starts = {} if bound is True else starts_metrics(ended, outages_of(ended))
    return {**of_window, **of_starts}


def _window_metrics(ended: Ended) -> Metrics:
    run, window = ended.setting, (ended.totals["window_start_s"] or 0.0, ended.totals["window_end_s"] or 0.0)
    least_j = energy_bound(ended.jobs(), run.platform, window_s=window[1] - window[0], **run.options.limits)
    gaps = _gaps_of(ended.segments(), ended.happened(), ended.timeline, run.platform)
    return {"energy_bound_j": least_j, **gap_metrics(gaps)}
