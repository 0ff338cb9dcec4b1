"""Frames over time: power, waiting and states of nodes in bins."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import polars as pl

from hetsched.run.result import Result

Floats = npt.NDArray[np.float64]


def run_bins(jobs: pl.DataFrame, timeline: pl.DataFrame, *, bins: int = 600) -> pl.DataFrame:
    """All that pictures of a run over time are drawn from.

    Parameters
    ----------
    jobs, timeline
        Of a `Result`.
    bins
        How many, at least 1; more than a picture has pixels are of no use.

    Returns
    -------
    polars.DataFrame
        As `binned` gives it, of ``power_w``, ``job_power_w``, ``busy_nodes`` and ``queued_jobs``.

    Examples
    --------
    >>> import hetsched as hs
    >>> jobs = pl.DataFrame({"job_id": [1], "submit_s": [0], "runtime_s": [60], "node_count": [1]})
    >>> result = hs.simulate(hs.Workload.from_polars(jobs), hs.Platform.homogeneous(nodes=2, idle_w=100, tdp_w=300))
    >>> run_bins(result.jobs, result.timeline, bins=1).select("power_w_mean", "job_power_w_mean").rows()
    [(400.0, 300.0)]
    """
    columns = ("power_w", "job_power_w", "busy_nodes", "queued_jobs")
    return binned(with_job_power(timeline, jobs), columns, bins=bins)


def with_job_power(timeline: pl.DataFrame, jobs: pl.DataFrame) -> pl.DataFrame:
    """The timeline with ``job_power_w``: how much of ``power_w`` the running jobs draw, with all of their nodes.

    Parameters
    ----------
    timeline
        `Result.timeline`; reads ``time_s`` and ``power_w``.
    jobs
        `Result.jobs`; reads ``start_s``, ``end_s`` and ``energy_j``. A job's draw counts as constant while it runs.

    Returns
    -------
    polars.DataFrame
        The timeline and one column more, between 0 and ``power_w``.

    Examples
    --------
    >>> timeline = pl.DataFrame({"time_s": [0.0, 10.0, 20.0], "power_w": [500.0, 300.0, 200.0]})
    >>> jobs = pl.DataFrame({"start_s": [0.0, 0.0], "end_s": [10.0, 20.0], "energy_j": [2000.0, 4000.0]})
    >>> with_job_power(timeline, jobs)["job_power_w"].to_list()
    [400.0, 200.0, 0.0]
    """
    times, power_w = timeline["time_s"].to_numpy(), timeline["power_w"].to_numpy()
    started = jobs.select("start_s", "end_s", "energy_j").filter(pl.col("start_s").is_not_null())
    # A job that still runs has drawn its energy up to the timeline's end.
    start_s = started["start_s"].to_numpy()
    end_s = started["end_s"].fill_null(float(times[-1]) if len(times) else 0.0).to_numpy()
    length_s = end_s - start_s
    draw_w = np.divide(started["energy_j"].to_numpy(), length_s, out=np.zeros_like(length_s), where=length_s > 0)
    running_w = _started_by(times, start_s, draw_w) - _started_by(times, end_s, draw_w)
    return timeline.with_columns(job_power_w=pl.Series(np.clip(running_w, 0.0, power_w), dtype=pl.Float64))


def _started_by(times: Floats, events: Floats, draw_w: Floats) -> Floats:
    """The sum of the draws whose event lies at or before each of `times`."""
    order = np.argsort(events, kind="stable")
    sums = np.append(0.0, np.cumsum(draw_w[order]))
    running: Floats = sums[np.searchsorted(events[order], times, side="right")]
    return running


def binned(timeline: pl.DataFrame, columns: Sequence[str], *, bins: int = 600) -> pl.DataFrame:
    """Columns of a timeline over bins of equal length.

    Parameters
    ----------
    timeline
        Sorted by ``time_s``, each time once; values hold until the next row, the last row is the end.
    columns
        Which columns, numbers all.
    bins
        How many, at least 1.

    Returns
    -------
    polars.DataFrame
        One row a bin: ``start_s``, ``end_s``, and for each column ``<name>_mean`` (weighted by time), ``<name>_min``
        and ``<name>_max`` (over every row that holds in the bin). No rows if the timeline has no length.

    Examples
    --------
    >>> timeline = pl.DataFrame({"time_s": [0.0, 4.0, 5.0, 10.0], "power_w": [100.0, 900.0, 200.0, 0.0]})
    >>> binned(timeline, ["power_w"], bins=2).rows()
    [(0.0, 5.0, 260.0, 100.0, 900.0), (5.0, 10.0, 200.0, 200.0, 200.0)]
    """
    times = timeline["time_s"].to_numpy()
    if len(times) < 2 or times[-1] <= times[0]:
        return pl.DataFrame(schema=dict.fromkeys(_names(columns), pl.Float64))
    edges = np.linspace(times[0], times[-1], bins + 1)
    # Rows first..last hold somewhere in a bin: the one that holds at its start, and all that begin before its end.
    first = np.searchsorted(times, edges[:-1], side="right") - 1
    last = np.searchsorted(times, edges[1:], side="left") - 1
    bounds = np.column_stack((first, np.maximum(last, first) + 1)).ravel()
    series: list[Floats] = [edges[:-1], edges[1:]]
    for name in columns:
        values = timeline[name].cast(pl.Float64).to_numpy()
        series.append(bin_means(times, values, edges))
        series += [reduce.reduceat(values, bounds)[::2] for reduce in (np.minimum, np.maximum)]
    return pl.DataFrame(dict(zip(_names(columns), series, strict=True)))


def bin_means(times: Floats, values: Floats, edges: Floats) -> Floats:
    """Means of a step function over bins, from its integral, which is linear between the times."""
    integral = np.append(0.0, np.cumsum(values[:-1] * np.diff(times)))
    means: Floats = np.diff(np.interp(edges, times, integral)) / np.diff(edges)
    return means


def _names(columns: Sequence[str]) -> list[str]:
    return ["start_s", "end_s", *(f"{name}_{kind}" for name in columns for kind in ("mean", "min", "max"))]


def waiting_curve(wait_s: pl.Series, *, points: int = 512) -> pl.DataFrame:
    """The share of jobs that wait longer than a time, for times from 0 to the longest wait.

    Parameters
    ----------
    wait_s
        Waits in seconds; nulls (jobs that never started) are left out.
    points
        The most rows wanted, at least 3. With fewer different waits the curve is whole; with more it is exact at times
        that are equally far apart on a logarithmic scale.

    Returns
    -------
    polars.DataFrame
        ``wait_s`` ascending from 0, ``longer_ratio`` descending to 0: the curve is a step function, each value holds up
        to the next time. No rows if there are no waits.

    Examples
    --------
    >>> waiting_curve(pl.Series([0.0, 0.0, 60.0, 600.0, None])).rows()
    [(0.0, 0.5), (60.0, 0.25), (600.0, 0.0)]
    """
    waits = np.sort(wait_s.drop_nulls().to_numpy())
    if not len(waits):
        return pl.DataFrame(schema={"wait_s": pl.Float64, "longer_ratio": pl.Float64})
    times = np.unique(np.append(waits, 0.0))
    if len(times) > points:
        times = np.append(0.0, np.geomspace(times[1], times[-1], points - 1))
        # The ends exactly: powers of logarithms are not.
        times[-1] = waits[-1]
    longer = 1.0 - np.searchsorted(waits, times, side="right") / len(waits)
    return pl.DataFrame({"wait_s": times, "longer_ratio": longer})


NODE_STATES = ("busy", "idle", "changing", "off", "down")
"""States of a node: ``changing`` is booting or shutting down."""

_DOWN = {"failed": 1, "out": 1, "repaired": -1, "back": -1}
_TURNS = {"sleep": "changing", "off": "off", "wake": "changing", "ready": "idle"}
_AT = ("node", "time_s")


def node_states(result: Result) -> pl.DataFrame:
    """Spans in which each node was in a state, over the run's window.

    Parameters
    ----------
    result
        Of a run, also one that was read from files.

    Returns
    -------
    polars.DataFrame
        One row a stretch, by node and then by time: ``node, start_s, end_s, state``, one of `NODE_STATES`. Nodes whose
        jobs are all suspended are idle. The stretches of a node fill the window; none has no length.

    Examples
    --------
    >>> import hetsched as hs
    >>> jobs = pl.DataFrame({"job_id": [1, 2], "submit_s": [0, 800], "runtime_s": [60, 60], "node_count": [1, 1]})
    >>> machine = hs.Platform.homogeneous(nodes=1, idle_w=100, tdp_w=300, boot_s=60, shutdown_s=30, off_w=0)
    >>> result = hs.simulate(hs.Workload.from_polars(jobs), machine, "easy:sleep=timeout")
    >>> for row in node_states(result).iter_rows():
    ...     print(*row)
    0 0.0 60.0 busy
    0 60.0 660.0 idle
    0 660.0 690.0 changing
    0 690.0 800.0 off
    0 800.0 860.0 changing
    0 860.0 920.0 busy
    """
    timeline = result.timeline
    schema = {"node": pl.Int64, "start_s": pl.Float64, "end_s": pl.Float64, "state": pl.String}
    if len(timeline) < 2:
        return pl.DataFrame(schema=schema)
    first_s, last_s = float(timeline["time_s"][0]), float(timeline["time_s"][-1])
    marks = pl.concat([_idle(len(result.nodes), first_s), _turns(result.events), *_loads(result.segments, last_s)])
    marks = marks.with_columns(pl.col("time_s").clip(first_s, last_s)).sort(_AT, maintain_order=True)
    after = marks.select(
        *_AT, own=pl.col("state").forward_fill().over("node"), jobs=pl.col("jobs").cum_sum().over("node")
    ).unique(_AT, keep="last", maintain_order=True)
    state = pl.when(pl.col("jobs") > 0, pl.col("own") == "idle").then(pl.lit("busy")).otherwise("own")
    states = after.select(
        "node",
        start_s="time_s",
        end_s=pl.col("time_s").shift(-1).over("node").fill_null(last_s),
        state=state,
    ).filter(pl.col("end_s") > pl.col("start_s"))
    is_same = pl.struct("node", "state").rle_id()
    joined = states.group_by(is_same.alias("run"), maintain_order=True).agg(
        pl.col("node", "start_s").first(), pl.col("end_s").last(), pl.col("state").first()
    )
    return joined.select(pl.col(name).cast(dtype) for name, dtype in schema.items())


def _idle(nodes: int, first_s: float) -> pl.DataFrame:
    """Every node is on and idle when the run begins."""
    return _marks(pl.DataFrame({"node": np.arange(nodes)}), time_s=pl.lit(first_s), state=pl.lit("idle"))


def _turns(events: pl.DataFrame) -> pl.DataFrame:
    """States that events put nodes into; one that has failed or is out for maintenance is down until neither is so."""
    own = events.filter(pl.col("node").is_not_null(), pl.col("kind").is_in([*_TURNS, *_DOWN]))
    down = pl.col("kind").replace_strict(_DOWN, default=0, return_dtype=pl.Int64).cum_sum().over("node") > 0
    turned = pl.col("kind").replace_strict(_TURNS, default="idle", return_dtype=pl.String)
    return _marks(own, time_s=pl.col("time_s"), state=pl.when(down).then(pl.lit("down")).otherwise(turned))


def _loads(segments: pl.DataFrame, last_s: float) -> list[pl.DataFrame]:
    """One job more on each of its nodes when it starts or resumes, one less when it ends or is suspended."""
    own = segments.filter(state="running").with_columns(pl.col("end_s").fill_null(last_s))
    by_node = own.select("start_s", "end_s", node="nodes").explode("node").drop_nulls()
    return [
        _marks(by_node, time_s=pl.col(name), jobs=pl.lit(change)) for name, change in (("start_s", 1), ("end_s", -1))
    ]


def _marks(
    frame: pl.DataFrame, *, time_s: pl.Expr, state: pl.Expr | None = None, jobs: pl.Expr | None = None
) -> pl.DataFrame:
    return frame.select(
        pl.col("node").cast(pl.Int64),
        time_s.cast(pl.Float64).alias("time_s"),
        (pl.lit(None) if state is None else state).cast(pl.String).alias("state"),
        (pl.lit(0) if jobs is None else jobs).cast(pl.Int64).alias("jobs"),
    )


def state_grid(states: pl.DataFrame, *, nodes: int, rows: int, bins: int) -> npt.NDArray[np.int64]:
    """The state in which nodes spent most of the time, of nodes taken together and over bins of time.

    Parameters
    ----------
    states
        As `node_states` gives it.
    nodes
        Number of nodes.
    rows
        Rows of the grid, at most as many as nodes: row r stands for nodes ``r × nodes / rows`` and on.
    bins
        Columns, from the first instant to the last.

    Returns
    -------
    numpy.ndarray
        Shape (rows, bins): places in `NODE_STATES`; of two states with the same time the earlier one there.

    Examples
    --------
    >>> states = pl.DataFrame({"node": [0, 0], "start_s": [0, 40], "end_s": [40, 60], "state": ["idle", "busy"]})
    >>> state_grid(states, nodes=1, rows=1, bins=3).tolist()
    [[1, 1, 0]]
    """
    start_s, end_s = (states[name].to_numpy() for name in ("start_s", "end_s"))
    first_s = float(start_s.min())
    scale = bins / (float(end_s.max()) - first_s)
    row = states["node"].to_numpy() * rows // nodes
    start, end = (start_s - first_s) * scale, (end_s - first_s) * scale
    times = []
    for state in NODE_STATES:
        own = (states["state"] == state).to_numpy()
        until = _since(row[own], start[own], rows, bins) - _since(row[own], end[own], rows, bins)
        times.append(np.diff(until, axis=1))
    # Rounded, so that sums in another order are no other state.
    found: npt.NDArray[np.int64] = np.round(times, 9).argmax(axis=0)
    return found


_AT_ONCE = 2_000_000
"""Rows of a node and a stretch that are taken together: memory does not grow with the log."""


def busy_grid(
    segments: pl.DataFrame, *, nodes: int, rows: int, bins: int, from_s: float, until_s: float
) -> npt.NDArray[np.float64]:
    """The share of time that nodes run jobs, of nodes taken together and over bins of time.

    Parameters
    ----------
    segments
        `Result.segments`; a job that still runs does so up to the end.
    nodes, rows, bins
        As in `state_grid`.
    from_s, until_s
        The first and the last instant.

    Returns
    -------
    numpy.ndarray
        Shape (rows, bins), from 0 to 1. A node with several jobs is at work once.

    Examples
    --------
    >>> stretches = {"start_s": [0.0, 10.0], "end_s": [20.0, 40.0], "nodes": [[0], [0, 1]], "state": ["running"] * 2}
    >>> busy_grid(pl.DataFrame(stretches), nodes=2, rows=2, bins=2, from_s=0.0, until_s=60.0).round(3).tolist()
    [[1.0, 0.333], [0.667, 0.333]]
    """
    own = segments.filter(state="running").select("start_s", pl.col("end_s").fill_null(until_s), "nodes")
    own = own.filter(pl.col("nodes").list.len() > 0).sort("start_s", maintain_order=True)
    scale = bins / (until_s - from_s)
    busy_until = np.full(nodes, from_s)
    past = np.zeros((rows, bins + 1))
    batch = (pl.col("nodes").list.len().cast(pl.Int64).cum_sum() // _AT_ONCE).alias("batch")
    for part in own.with_columns(batch).partition_by("batch", maintain_order=True, include_key=False):
        flat = part.explode("nodes").rename({"nodes": "node"}).sort("node", maintain_order=True)
        node = flat["node"].to_numpy()
        # What earlier jobs of the node have covered is not counted again.
        before = flat.select(pl.col("end_s").cum_max().shift(1).over("node"))["end_s"].fill_null(-np.inf).to_numpy()
        start_s = np.maximum.reduce([flat["start_s"].to_numpy(), before, busy_until[node]])
        end_s = np.maximum(start_s, flat["end_s"].to_numpy())
        np.maximum.at(busy_until, node, end_s)
        row, (start, end) = node.astype(np.int64) * rows // nodes, ((at - from_s) * scale for at in (start_s, end_s))
        past += _since(row, start, rows, bins) - _since(row, end, rows, bins)
    counts = np.bincount(np.arange(nodes) * rows // nodes, minlength=rows)
    found: npt.NDArray[np.float64] = np.clip(np.diff(past, axis=1) / counts[:, None], 0.0, 1.0)
    return found


def _since(row: npt.NDArray[np.int64], at: Floats, rows: int, bins: int) -> Floats:
    """Sums, by row and edge of a bin, of the times since those instants in the row that are past by then."""
    edge = np.clip(np.ceil(at), 0, bins).astype(np.int64)
    place, shape = row * (bins + 1) + edge, (rows, bins + 1)
    past = np.bincount(place, minlength=rows * (bins + 1)).reshape(shape).cumsum(axis=1)
    sums = np.bincount(place, weights=at, minlength=rows * (bins + 1)).reshape(shape).cumsum(axis=1)
    found: Floats = past * np.arange(bins + 1) - sums
    return found
