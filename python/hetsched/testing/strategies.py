"""Hypothesis strategies for the inputs of a run: small by default, and awkward."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from hetsched.platform import Platform, VariationTable
from hetsched.platform.platform import KNOWN_DRAWS
from hetsched.policy import Policy, parts, presets
from hetsched.workload import Workload

try:
    import hypothesis.strategies as st
except ImportError as error:
    raise ImportError("the strategies of hetsched.testing need hypothesis: pip install 'hetsched[testing]'") from error


APPS = ("heat", "flow", "grid")
"""Applications of the generated workloads and tables."""


# Made once: to make and validate a strategy takes as long as to draw from it.
_COLUMNS: dict[str, st.SearchStrategy[Any]] = {
    "margins": st.sampled_from([-2.0, -1e-6, 0.0, 0.0, 1.0, 5.0]),
    "some margins": st.none() | st.sampled_from([-2.0, -1e-6, 0.0, 0.0, 1.0, 5.0]),
    "power_w": st.sampled_from([None, 0.0, -1.0, 40.0, 333.25]),
    "device": st.sampled_from([None, "cpu", "gpu"]),
    "first_run": st.sampled_from([None, True, False]),
    "comm_s": st.sampled_from([None, 0.0, 0.5, 1.0000005]),
    "user": st.sampled_from([None, "ada", "grace"]),
    "queue": st.sampled_from([None, "long"]),
    "waits": st.sampled_from([0.0, 0.0, 1.0, 3.0, 1e-6, None]),
}


@cache
def _many(values: st.SearchStrategy[Any], count: int) -> st.SearchStrategy[list[Any]]:
    return st.lists(values, min_size=count, max_size=count)


@cache
def _node_counts(max_nodes: int) -> st.SearchStrategy[int]:
    return st.integers(1, max(1, max_nodes // 2)) | st.integers(1, max_nodes + 1)


@cache
def _slots(max_slots: int) -> st.SearchStrategy[int | None]:
    return st.none() | st.integers(1, max_slots) | st.integers(1, max_slots + 1)


@cache
def _apps(apps: tuple[str, ...]) -> st.SearchStrategy[str | None]:
    return st.none() | st.sampled_from(apps)


@cache
def _numbers(count: int) -> st.SearchStrategy[list[int]]:
    return st.permutations(range(1, count + 1))


@cache
def _spans(max_s: float, *, min_s: float = 0.0) -> st.SearchStrategy[float]:
    """Seconds: mostly small whole numbers, so that instants coincide, and some fractions down to a microsecond."""
    whole = st.integers(math.ceil(min_s), int(max_s)).map(float)
    awkward = st.sampled_from([s for s in (1e-6, 0.25, 1.000001, 2.9999995) if min_s <= s <= max_s] or [max_s])
    return st.one_of(whole, whole, whole, awkward)


@st.composite
def workloads(
    draw: st.DrawFn,
    *,
    min_jobs: int = 0,
    max_jobs: int = 10,
    max_nodes: int = 6,
    max_slots: int = 1,
    max_submit_s: float = 12.0,
    max_runtime_s: float = 12.0,
    walltimes: bool | None = None,
    apps: Sequence[str] = APPS,
    observed: bool = False,
) -> Workload:
    """Small workloads with many coincident events.

    Parameters
    ----------
    draw
        Given by hypothesis.
    min_jobs, max_jobs
        Number of jobs.
    max_nodes
        Nodes of the largest platform. Node counts go one beyond, so that some jobs are too large.
    max_slots
        Most slots of a node. Above 1, jobs ask for slots, some for one too many, some for whole nodes.
    max_submit_s, max_runtime_s
        Bounds of submits and nominal runtimes, seconds, from 0 on.
    walltimes
        True: every job brings a walltime (below, at or above its runtime); False: none does; None: some do.
    apps
        Applications of jobs, some of which have none. Empty: the workload has no such column.
    observed
        Whether jobs have observed starts, at or soon after their submission; some have none.

    Returns
    -------
    hypothesis strategy of Workload
        With any of the columns ``walltime_s``, ``slots``, ``app``, ``power_w`` (W a node), ``device``, ``first_run``,
        ``user`` and ``queue``.

    Examples
    --------
    >>> from hypothesis import given, settings
    >>> @settings(max_examples=5)
    ... @given(workloads(max_jobs=3, walltimes=True))
    ... def test_all_ask_for_time(workload):
    ...     assert len(workload) <= 3
    ...     assert workload.to_polars()["walltime_s"].null_count() == 0
    >>> test_all_ask_for_time()
    """
    count = draw(st.integers(min_jobs, max_jobs))

    def column(values: st.SearchStrategy[Any]) -> list[Any]:
        return draw(_many(values, count))

    runtime = column(_spans(max_runtime_s))
    columns: dict[str, tuple[type[pl.DataType], list[Any]]] = {
        "job_id": (pl.Int64, list(draw(_numbers(count)))),
        "submit_s": (pl.Float64, column(_spans(max_submit_s))),
        "runtime_s": (pl.Float64, runtime),
        "node_count": (pl.Int32, column(_node_counts(max_nodes))),
    }
    if walltimes is not False and (walltimes or draw(st.booleans())):
        margin = column(_COLUMNS["margins" if walltimes else "some margins"])
        asked = [None if m is None else max(1e-6, r + m) for r, m in zip(runtime, margin, strict=True)]
        columns["walltime_s"] = (pl.Float64, asked)
    if max_slots > 1:
        columns["slots"] = (pl.Int32, column(_slots(max_slots)))
    if apps:
        columns["app"] = (pl.String, column(_apps(tuple(apps))))
    if draw(st.booleans()):
        columns["power_w"] = (pl.Float64, column(_COLUMNS["power_w"]))
    if draw(st.booleans()):
        columns["device"] = (pl.String, column(_COLUMNS["device"]))
    if draw(st.integers(0, 3)) == 0:
        columns["first_run"] = (pl.Boolean, column(_COLUMNS["first_run"]))
    if draw(st.booleans()):
        columns["comm_s"] = (pl.Float64, column(_COLUMNS["comm_s"]))
    if draw(st.booleans()):
        columns["user"] = (pl.String, column(_COLUMNS["user"]))
        columns["queue"] = (pl.String, column(_COLUMNS["queue"]))
    if observed:
        waits = column(_COLUMNS["waits"])
        submit = columns["submit_s"][1]
        starts = [None if wait is None else since + wait for since, wait in zip(submit, waits, strict=True)]
        columns["observed_start_s"] = (pl.Float64, starts if any(start is not None for start in starts) else submit)
    return Workload.from_polars(pl.DataFrame([pl.Series(name, c, dtype=t) for name, (t, c) in columns.items()]))


@cache
def _matrices(values: tuple[float, ...], rows: int, nodes: int) -> st.SearchStrategy[npt.NDArray[np.float64]]:
    return _many(_many(st.sampled_from(values), nodes), rows).map(np.array)


@st.composite
def _tables(draw: st.DrawFn, apps: Sequence[str], nodes: int, *, time_ratios: bool) -> VariationTable:
    time_ratio = None
    if time_ratios and draw(st.booleans()):
        time_ratio = draw(_matrices((0.75, 1.0, 1.0, 1.1, 1.3333333), len(apps), nodes))
    if draw(st.booleans()):
        factors = draw(_matrices((0.5, 1.0, 1.0, 1.1), len(apps), nodes))
        return VariationTable(apps, power_ratio=factors, time_ratio=time_ratio)
    watts = draw(_matrices((0.0, 60.0, 180.0, 180.0, 251.7), len(apps), nodes))
    return VariationTable(apps, power_w=watts, time_ratio=time_ratio)


@st.composite
def platforms(
    draw: st.DrawFn,
    *,
    min_nodes: int = 1,
    max_nodes: int = 6,
    max_slots: int = 1,
    tables: bool | None = None,
    time_ratios: bool = True,
    apps: Sequence[str] = APPS,
    known_draws: Sequence[str] = KNOWN_DRAWS,
) -> Platform:
    """Small machines whose nodes differ.

    Parameters
    ----------
    draw
        Given by hypothesis.
    min_nodes, max_nodes
        Number of nodes.
    max_slots
        Most slots of a node. Above 1, most platforms let jobs share nodes.
    tables
        Whether there are tables of applications' draws (W, or a factor on the nominal draw), some with predicted
        tables that differ from the actual ones. None: on some platforms.
    time_ratios
        Whether tables may make nodes faster or slower than nominal.
    apps
        Applications the tables serve, by rows of their own or by ``"*"``.
    known_draws
        Values of the platform's `known_draws`: some of ``"measured"``, ``"table"``, ``"tdp"``.

    Returns
    -------
    hypothesis strategy of Platform
        Idle watts may differ by node; some tabled draws lie below them.

    Examples
    --------
    >>> from hypothesis import given, settings
    >>> @settings(max_examples=5)
    ... @given(platforms(max_nodes=3, tables=True))
    ... def test_there_is_a_table(platform):
    ...     assert platform.actual is not None and platform.actual.nodes == len(platform) <= 3
    >>> test_there_is_a_table()
    """
    nodes = draw(st.integers(min_nodes, max_nodes))
    watts = st.sampled_from([0.0, 90.0, 90.0, 110.5])
    idle_w = draw(watts | st.lists(watts, min_size=nodes, max_size=nodes))
    slots = draw(st.integers(1, max_slots))
    platform = Platform.homogeneous(
        nodes=nodes,
        idle_w=idle_w,
        tdp_w=300.0,
        busy_w=draw(st.none() | st.just(240.0)),
        slots=slots,
        # Said, so that policies may put nodes to sleep; a node that wakes at once delays no job.
        off_w=0.0,
        boot_s=0.0,
        shutdown_s=0.0,
        exclusive=slots == 1 or draw(st.sampled_from([False, False, True])),
        known_draws=draw(st.sampled_from(list(known_draws))),
    )
    if tables is None:
        tables = draw(st.booleans())
    if not tables:
        return platform
    rows = draw(st.sampled_from([(*apps,), ("*",), (*apps[:1], "*")]))
    actual = draw(_tables(rows, nodes, time_ratios=time_ratios))
    predicted = draw(st.none() | _tables(rows, nodes, time_ratios=time_ratios))
    return platform.with_tables(actual=actual, predicted=predicted)


def _parts(role: str, *, observed: bool) -> st.SearchStrategy[str | dict[str, Any]]:
    """Parts of a role, straight from the registry: with their defaults, or another value of a parameter we know."""
    others: dict[str, list[Any]] = {
        "depth": [2, 3, "unbounded"],
        "horizon_s": [0, 30],
        "rank": ["power", "time"],
        "beta": [0.0, 1.0],
        "starvation_limit_s": [0, 7.5, "none"],
        "first_run": [True],
        "profiling_ratio": [1.2, 1.5],
        "length": ["walltime"],
        "half_life_s": [1e-6, 3.0, "none"],
        "by": ["account"],
        "pcr": [0.5, 0.75, 1.5],
    }

    def part(row: dict[str, Any]) -> st.SearchStrategy[str | dict[str, Any]]:
        choices: dict[str, st.SearchStrategy[Any]] = {
            p["name"]: st.sampled_from(others[p["name"]]) for p in row["parameters"] if p["name"] in others
        }
        return st.just(row["name"]) | st.fixed_dictionaries({"name": st.just(row["name"])}, optional=choices)

    own = [row for (own_role, _), row in parts().items() if own_role == role]
    return st.one_of([part(row) for row in own if observed or "observed_starts" not in row["needs"]])


def _chooses_nodes(backfill: Any) -> bool:
    return bool(parts()["backfill", backfill["name"] if isinstance(backfill, dict) else backfill]["chooses_nodes"])


def _composed(order: Any, backfill: Any, placement: Any, power: Any) -> Policy:
    """A policy of these parts; if its backfill chooses nodes, without others that would or that count watts."""
    if not _chooses_nodes(backfill):
        return Policy(order, backfill, placement, power)
    if isinstance(order, dict):
        order = {key: value for key, value in order.items() if key != "first_run"}
    return Policy(order, backfill)


def policies(
    *,
    order: str | None = None,
    backfill: str | None = None,
    placement: str | None = None,
    power: bool | None = None,
    observed: bool = False,
) -> st.SearchStrategy[Policy]:
    """Every preset, and compositions of all parts.

    Parameters
    ----------
    order, backfill, placement
        A fixed part. With any of them given, presets are left out.
    power
        Whether there is a power budget: a share of the platform's TDP, no less than a half. None: under some policies.
        A platform that draws more than that when idle refuses to run under it; those of `platforms` don't. Where this
        is given, presets are left out.
    observed
        Whether to include policies that replay a log. They run on workloads with observed starts only.

    Returns
    -------
    hypothesis strategy of Policy
        New parts of the registry are included without a change here.

    Examples
    --------
    >>> from hypothesis import given, settings
    >>> @settings(max_examples=5)
    ... @given(policies(backfill="none"))
    ... def test_no_job_overtakes(policy):
    ...     assert policy.to_dict()["backfill"] == {"name": "none"}
    >>> test_no_job_overtakes()
    """

    def drawn(role: str) -> st.SearchStrategy[str | dict[str, Any]]:
        return _parts(role, observed=observed)

    leaves_nodes = drawn("backfill").filter(lambda part: not _chooses_nodes(part))
    backfills = drawn("backfill") if placement is None and not power else leaves_nodes

    compositions = st.builds(
        _composed,
        order=drawn("order") if order is None else st.just(order),
        backfill=backfills if backfill is None else st.just(backfill),
        placement=drawn("placement") if placement is None else st.just(placement),
        power=st.none() if power is False else drawn("power") if power else st.none() | drawn("power"),
    )
    if (order, backfill, placement, power) != (None, None, None, None):
        return compositions
    named = [
        policy for policy in map(Policy.preset, presets()["name"]) if observed or "observed_starts" not in policy.needs
    ]
    return st.sampled_from(named) | compositions
