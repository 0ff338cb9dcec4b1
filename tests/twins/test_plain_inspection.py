"""`hs.inspect` against its rules in plain Python: the machine, its room, its clock, its outages and priorities."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from statistics import median
from typing import Any

import hypothesis.strategies as st
import numpy as np
import polars as pl
import pytest
from hypothesis import given
from plain_inspection import HOUR, WEEK, Plain, granularity, horizons, inspected, logs, sizes, value

import hetsched as hs


@given(logs(), sizes, horizons)
def test_rule_24_the_machine(jobs: pl.DataFrame, nodes: int | None, until: float | None) -> None:
    if (both := inspected(jobs, nodes, until)) is None:
        return
    plain, found = both
    assert value(found, "machine")["value"] == plain.M == found.settings["nodes"]
    for name, share in (("use_p50", 0.5), ("use_p99", 0.99), ("use_p999", 0.999), ("use_max", 1.0)):
        assert value(found, name)["value"] == plain.least_use(share), name
    if nodes is not None:
        assert value(found, "over_ratio")["value"] == pytest.approx(plain.over())


@given(logs(), sizes)
def test_rule_26_room(jobs: pl.DataFrame, nodes: int | None) -> None:
    if (both := inspected(jobs, nodes)) is None:
        return
    plain, found = both
    waited = plain.waited()
    room = [plain.room(j) for j in waited]
    first = [j["O"] <= plain.first_room(j) + 60 for j in waited]
    assert value(found, "room_ratio")["value"] == (np.mean(room) if waited else None)
    assert value(found, "first_room_ratio")["value"] == (np.mean(first) if waited else None)


@given(logs(), horizons, st.sampled_from([0.0, 7.0, 30.0]), st.sampled_from([1, 10, 60, 900]))
def test_rule_28_granularity(jobs: pl.DataFrame, until: float | None, shift: float, grain: int) -> None:
    rounded = jobs.with_columns((pl.col("submit_s", "observed_start_s") / grain).ceil() * grain + shift)
    if (both := inspected(rounded, 9, until)) is None:
        return
    plain, found = both
    for name, values in (("submit", [j["t"] for j in plain.jobs]), ("start", [j["O"] for j in plain.jobs])):
        assert value(found, "granularity", name)["value"] == granularity(values), name
    runs = [j["E"] - j["O"] for j in plain.jobs if not j["cut"]]
    assert value(found, "granularity", "run")["value"] == granularity(runs, from_zero=True)


def plain_beat(starts: list[float], grain: int) -> tuple[int, float] | None:
    """Rule 28: the beat and its phase."""
    for p in (900, 600, 300, 60, 30, 10):
        bins = [sum(k * p / 10 <= x % p < (k + 1) * p / 10 for x in starts) for k in range(10)]
        if p >= 20 * grain and max(bins) >= 0.5 * len(starts) and len(starts) >= 200:
            return p, bins.index(max(bins)) * p / 10
    return None


@pytest.mark.parametrize("jobs", [190, 400])
@pytest.mark.parametrize(
    ("beat", "phase", "blur"), [(900, 30, 45), (300, 30, 14), (60, 3, 2), (30, 5, 1), (50, 0, 2), (600, 0, 300)]
)
def test_rule_28_the_beat(beat: int, phase: int, blur: int, jobs: int) -> None:
    rng = np.random.default_rng(0)
    submit = np.sort(rng.integers(0, 10**6, jobs)).astype(float)
    starts = np.ceil((submit + 61) / beat) * beat + phase + rng.integers(0, blur + 1, jobs)
    columns = {"job_id": np.arange(jobs), "submit_s": submit, "runtime_s": 10.0, "node_count": 1}
    found = hs.inspect(hs.Workload.from_polars(pl.DataFrame({**columns, "observed_start_s": starts})))
    expected = plain_beat(starts.tolist(), granularity(starts.tolist()))
    assert (expected is not None) == (jobs >= 200 and beat not in (50, 600))
    assert (found.settings.get("interval_s"), found.settings.get("phase_s")) == (expected or (None, None))
    assert (value(found, "beat")["suggestion"] is None) == (expected is None)


@given(logs())
def test_rule_29_start_latency(jobs: pl.DataFrame) -> None:
    if (both := inspected(jobs, 9)) is None:
        return
    plain, found = both
    alone = [
        j["o"]
        for j in plain.jobs
        if plain.room(j) and not any(i is not j and i["t"] <= j["t"] < i["O"] for i in plain.jobs)
    ]
    row = value(found, "start_latency_s", "p10")
    assert row["evidence"] == len(alone)
    assert row["value"] == (pytest.approx(np.quantile(alone, 0.1)) if alone else None)
    assert row["suggestion"] is None, "at least a hundred jobs are needed"
    if alone:
        assert value(found, "start_latency_s", "median")["value"] == pytest.approx(median(alone))


def test_rule_29_a_latency_is_suggested() -> None:
    columns = {"job_id": np.arange(100), "submit_s": np.arange(100) * 1000.0, "runtime_s": 10.0, "node_count": 1}
    starts = columns["submit_s"] + 20.0
    found = hs.inspect(hs.Workload.from_polars(pl.DataFrame({**columns, "observed_start_s": starts})))
    assert found.settings["start_latency_s"] == 20.0


@st.composite
def scarce_logs(draw: st.DrawFn) -> pl.DataFrame:
    """Some weeks of a few jobs that run and wait for days."""
    rows = []
    for job in range(draw(st.integers(1, 12))):
        submit = draw(st.integers(0, 60)) * 17_000.0
        start = submit + draw(st.sampled_from([0, 600, 601, 200_000, 400_000, 900_000]))
        runtime = draw(st.sampled_from([5000.0, 300_000.0, 800_000.0]))
        size = draw(st.integers(1, 5))
        rows.append((job, submit, start, runtime, size))
    return pl.DataFrame(rows, ["job_id", "submit_s", "observed_start_s", "runtime_s", "node_count"], orient="row")


def named(jobs: pl.DataFrame) -> pl.DataFrame:
    """The jobs with the columns that the twin reads."""
    nothing = pl.lit(None, pl.String)
    return jobs.with_columns(walltime_s=pl.lit(None, pl.Float64), user=nothing, queue=nothing)


@given(scarce_logs(), st.sampled_from([5, 8, 12]))
def test_rule_25_size_over_time(jobs: pl.DataFrame, nodes: int) -> None:
    both = inspected(named(jobs), nodes)
    assert both is not None
    plain, found = both
    expected, queued = [], [j for j in plain.jobs if j["o"] > 600]
    first, last = (int(pick(x for j in plain.jobs for x in (j["t"], j["O"])) // WEEK) for pick in (min, max))
    for week in range(first, last + 1):
        instants = [week * WEEK, *(x for x in plain.edges if week * WEEK <= x < (week + 1) * WEEK)]
        most, short = max(plain.use(x) for x in instants), 0
        for x in range(week * WEEK, (week + 1) * WEEK, HOUR):
            sizes = [j["n"] for j in queued if j["t"] <= x < j["O"]]
            short += bool(sizes) and most < plain.use(x) + min(sizes) <= plain.M
        if short >= 84 and most < 0.95 * plain.M:
            expected.append((f"week {week}", most, short, f"maintenance of nodes {most}-{plain.M - 1}"))
    rows = found.findings.filter((pl.col("finding") == "size over time") & pl.col("suggestion").is_not_null())
    assert rows.select("subject", "value", "evidence", "suggestion").rows() == expected
    events = found.events.to_polars()
    assert len(events) == sum(plain.M - most for _, most, _, _ in expected) + plain.M * len(
        found.findings.filter(pl.col("subject") == "down")
    )


@st.composite
def gap_logs(draw: st.DrawFn) -> pl.DataFrame:
    """Jobs that start together at a few instants, and some that start at once."""
    rows: list[tuple[Any, ...]] = []
    users = draw(st.sampled_from([(None,), ("ann", "bo", "cy", None), ("ann", "bo")]))
    instants = [0, 2000, 2500, 9000, 14_000, 40_000]
    for _ in range(draw(st.integers(0, 6))):
        at, step = draw(st.sampled_from(instants[:-1])), draw(st.sampled_from([1, 100, 700]))
        after = [x for x in instants if x > at]
        for k in range(draw(st.integers(4, 8))):
            submit = at + step * (k + draw(st.integers(0, 1)))
            start = next((x for x in after if x >= submit), None)
            if start is not None and draw(st.integers(0, 9)) == 0:
                start = instants[-1]
            runtime = draw(st.sampled_from([1.0, 1000.0, 8000.0, 20_000.0]))
            rows.append((submit, start, runtime, draw(st.integers(1, 2)), draw(st.sampled_from(users))))
    for _ in range(draw(st.integers(0, 30))):
        at = draw(st.sampled_from(instants))
        rows.append((at, at, draw(st.sampled_from([1.0, 1000.0, 30_000.0])), draw(st.integers(1, 6)), users[0]))
    schema = {"submit_s": pl.Float64, "observed_start_s": pl.Float64, "runtime_s": pl.Float64}
    names = [*schema, "node_count", "user"]
    frame = pl.DataFrame([(x[0], x[1], *x[2:]) for x in rows] or [(0, 0, 1.0, 1, None)], names, orient="row")
    nothing = {"walltime_s": pl.lit(None, pl.Float64), "queue": pl.lit(None, pl.String)}
    return frame.cast({**schema, "user": pl.String}).with_row_index("job_id").with_columns(**nothing)


def plain_outages(plain: Plain) -> Iterable[tuple[str, float, float, int]]:
    """Rule 27."""
    starts = sorted({j["O"] for j in plain.jobs})
    has_users = any(j["u"] is not None for j in plain.jobs)
    room = [j for j in plain.jobs if plain.room(j)]
    for g, h in itertools.pairwise(starts):
        inside = [j for j in room if g < j["t"] < h - 300]
        k = len({j["u"] for j in inside}) if has_users else len(inside)
        if h - g < 600 or len(inside) < 5 or k < 3:
            continue
        f = min(j["t"] for j in inside)
        drained = False
        for i in plain.jobs:
            if i["t"] <= f and i["O"] >= h:
                begin = max(i["t"], g)
                instants = [begin, *(x for x in plain.edges if begin <= x < h)]
                drained |= all(plain.use(x) + i["n"] > plain.M for x in instants)
        if drained:
            continue
        p = sum(j["o"] <= 300 for j in room) / len(room)
        if min(plain.use(x) for x in plain.edges if g <= x < h) <= 0.05 * plain.M:
            yield "down", g, h, len(inside)
        elif (1 - p) ** k <= 0.001:
            yield "hold", g, h, len(inside)


@given(gap_logs(), st.sampled_from([4, 8, 30, 60]))
def test_rule_27_outages(jobs: pl.DataFrame, nodes: int) -> None:
    if (both := inspected(jobs, nodes)) is None:
        return
    plain, found = both
    rows = found.findings.filter(pl.col("finding") == "outage")
    expected = list(plain_outages(plain))
    assert rows.select("subject", "from_s", "until_s", "evidence").rows() == expected
    assert rows["value"].to_list() == [h - g for _, g, h, _ in expected]
    holds = sum(kind == "hold" for kind, *_ in expected)
    assert (found.events.to_polars()["kind"] == "hold").sum() == holds


def plain_pairs(plain: Plain, most: int) -> tuple[dict[tuple[Any, Any], int], float]:
    """Rule 33: pairs by queues, and the ratio of inversions."""
    pairs: dict[tuple[Any, Any], int] = {}
    inverted = 0
    for j in plain.jobs:
        waiting = [i for i in plain.jobs if i["t"] < j["t"] and j["O"] < i["O"]]
        passed = [i for i in waiting[:most] if i["n"] <= j["n"] and i["L"] <= j["L"]]
        for i in passed:
            pairs[j["q"], i["q"]] = pairs.get((j["q"], i["q"]), 0) + 1
        inverted += any(i["q"] == j["q"] for i in passed)
    return pairs, inverted / len(plain.jobs)


@given(logs(40), st.sampled_from([1, 3, 100]), st.integers(1, 12))
def test_rule_33_priority(jobs: pl.DataFrame, most: int, fewest: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        # Small numbers, so that small logs reach them.
        for name, value_ in (("_LOOKED_AT", most), ("_FEWEST_PAIRS", fewest), ("_PAIRS_AT_ONCE", 5)):
            patch.setattr(f"hetsched.validation.priority.{name}", value_)
        if (both := inspected(jobs, 9)) is None:
            return
    plain, found = both
    pairs, inverted = plain_pairs(plain, most)
    expected = {
        f"queue {a or 'none'} over {b or 'none'}": (count, pairs.get((b, a), 0) <= 0.1 * count)
        for (a, b), count in pairs.items()
        if a != b and count >= fewest
    }
    rows = found.findings.filter(pl.col("finding") == "priority")
    shown = rows.select("subject", "value", pl.col("suggestion").is_not_null())
    assert {subject: (count, is_shown) for subject, count, is_shown in shown.iter_rows()} == expected
    row = value(found, "inversion_ratio")
    assert row["value"] == pytest.approx(inverted)
    assert (row["suggestion"] is not None) == (inverted >= 0.2)
