"""`hs.inspect` against its rules in plain Python, one job and one instant at a time."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from datetime import datetime
from statistics import median
from typing import Any
from zoneinfo import ZoneInfo

import hypothesis.strategies as st
import numpy as np
import polars as pl
import pytest
from hypothesis import given

import hetsched as hs
from hetsched.workload import Report
from hetsched.workload.clock import wall_clock

HOUR, WEEK = 3600, 604_800


@st.composite
def logs(draw: st.DrawFn, most_jobs: int = 30) -> pl.DataFrame:
    """Jobs that start as somebody pleased, often at once, and what logs lack."""
    rows, submit = [], draw(st.sampled_from([0, 17, 100_000]))
    for job in range(draw(st.integers(1, most_jobs))):
        submit += draw(st.sampled_from([0, 0, 1, 60, 250, 600, 3600, 90_000]))
        wait = draw(st.sampled_from([None, -5, 0, 0, 0, 0.25, 60, 61, 300, 601, 900, 3600, 50_000]))
        row = {
            "job_id": job,
            "submit_s": float(submit),
            "runtime_s": float(draw(st.sampled_from([0, 1, 600, 1800, 7200, 100_000]))),
            "walltime_s": draw(st.sampled_from([None, 900.0, 7200.0, 200_000.0])),
            "node_count": draw(st.integers(1, 5)),
            "user": draw(st.sampled_from([None, "ann", "bo", "cy"])),
            "queue": draw(st.sampled_from([None, "long", "short"])),
            "observed_start_s": None if wait is None else max(0.0, submit + wait),
        }
        rows.append(row)
    text, number = pl.String, pl.Float64
    return pl.DataFrame(
        rows, schema_overrides={"user": text, "queue": text, "observed_start_s": number, "walltime_s": number}
    )


class Plain:
    """The rules, by brute force."""

    def __init__(self, jobs: pl.DataFrame, nodes: int | None, until: float | None = None) -> None:
        self.jobs = []
        for row in jobs.iter_rows(named=True):
            t, start, r = row["submit_s"], row["observed_start_s"], row["runtime_s"]
            if start is None or r <= 0 or start < t or (until is not None and start >= until):
                continue
            end = start + r if until is None else min(start + r, until)
            walltime = r if row["walltime_s"] is None else row["walltime_s"]
            own = {"t": t, "O": start, "E": end, "o": start - t, "n": row["node_count"], "L": walltime}
            is_cut = until is not None and start + r > until
            self.jobs.append(own | {"u": row["user"], "q": row["queue"], "cut": is_cut})
        self.edges = sorted({x for j in self.jobs for x in (j["O"], j["E"])})
        self.nodes = nodes
        self.M = self.machine() if self.jobs else 0

    def use(self, x: float, without: Any = None) -> int:
        return sum(j["n"] for j in self.jobs if j["O"] <= x < j["E"] and j is not without)

    def steps(self) -> Iterable[tuple[float, int]]:
        """Length and use of each stretch between two edges."""
        return [(b - a, self.use(a)) for a, b in itertools.pairwise(self.edges)]

    def over(self) -> float:
        assert self.nodes is not None
        total = sum(length for length, _ in self.steps())
        return sum(length for length, use in self.steps() if use > self.nodes) / total

    def least_use(self, share: float) -> int:
        total = sum(length for length, _ in self.steps())
        levels = sorted({use for _, use in self.steps()})
        return next(x for x in levels if sum(a for a, use in self.steps() if use <= x) >= share * total)

    def machine(self) -> int:
        size = self.nodes if self.nodes is not None and self.over() <= 0.05 else self.least_use(0.999)
        return max(size, *(j["n"] for j in self.jobs))

    def room(self, job: Any) -> bool:
        return self.use(job["t"], without=job) + job["n"] <= self.M

    def first_room(self, job: Any) -> float:
        instants = [x for x in (job["t"], *self.edges) if job["t"] <= x < job["O"]]
        return min((x for x in instants if self.use(x) + job["n"] <= self.M), default=job["O"])

    def waited(self) -> list[Any]:
        return [j for j in self.jobs if j["o"] > 60]


def granularity(values: list[float], *, from_zero: bool = False) -> int:
    """Rule 28, one grid and one origin at a time."""
    for p in (3600, 900, 600, 300, 60, 30, 10, 1):
        residues = [round(v) % p for v in values]
        a = 0 if from_zero else min(set(residues), key=lambda one: (-residues.count(one), one))
        near = [abs((v - a) - p * round((v - a) / p)) <= 0.001 for v in values]
        if values and sum(near) >= 0.99 * len(values):
            return p
    return 0


def inspected(jobs: pl.DataFrame, nodes: int | None, until: float | None = None) -> tuple[Plain, Any] | None:
    """The twin and the answer; None where nothing is known."""
    plain = Plain(jobs, nodes, until)
    workload = hs.Workload.from_polars(jobs)
    platform = None if nodes is None else hs.Platform.homogeneous(nodes, idle_w=100, tdp_w=300)
    if not plain.jobs:
        with pytest.raises(hs.ConfigError):
            hs.inspect(workload, platform, until_s=until)
        return None
    return plain, hs.inspect(workload, platform, until_s=until)


def value(found: Any, finding: str, subject: str = "") -> Any:
    rows = found.findings.filter((pl.col("finding") == finding) & (pl.col("subject") == subject))
    assert len(rows) == 1, (finding, subject)
    return rows.row(0, named=True)


sizes = st.sampled_from([None, 5, 6, 9])
horizons = st.sampled_from([None, 700.0, 100_500.0])


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


@st.composite
def limited_logs(draw: st.DrawFn) -> pl.DataFrame:
    """Jobs of users of whom each runs a few at once, mostly."""
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    limits = draw(st.sampled_from([{"ann": 1, "bo": 1, "cy": 1}, {"ann": 2, "bo": 3}, {"ann": 1, "bo": 1, "cy": 2}]))
    stray, by_queue, most = draw(st.sampled_from([0.0, 0.1])), draw(st.booleans()), draw(st.integers(1, 2))
    rows: list[tuple[Any, ...]] = []
    for user, limit in limits.items():
        free = [0.0] * limit
        submits = np.sort(rng.integers(0, 40, 18)) * 100.0
        for submit in submits:
            runtime, size = float(rng.integers(1, 9) * 100), int(rng.integers(1, most + 1))
            start = max(submit, min(free) + float(rng.choice([0, 50, 120, 121])))
            if rng.random() < stray:
                start = submit
            free[free.index(min(free))] = start + runtime
            queue = {"ann": "long", "bo": None}.get(user, "short") if by_queue else str(rng.choice(["long", "short"]))
            rows.append((submit, start, runtime, size, user, queue))
    names = ["submit_s", "observed_start_s", "runtime_s", "node_count", "user", "queue"]
    frame = pl.DataFrame(rows, names, orient="row").with_row_index("job_id")
    return frame.with_columns(walltime_s=pl.lit(None, pl.Float64))


def plain_ceilings(plain: Plain) -> dict[str, int]:
    """Rule 30: suggested limits by group."""
    suggested: dict[str, int] = {}
    keys = {"user": lambda j: j["u"], "queue": lambda j: j["q"]}
    members: dict[str, list[Any]] = {}
    for j in plain.jobs:
        user, queue = keys["user"](j), keys["queue"](j)
        names = [f"user {user}" if user else None, f"queue {queue}" if queue else None]
        for name in (*names, f"user {user} in queue {queue}" if user and queue else None):
            if name is not None:
                members.setdefault(name, []).append(j)

    def running(group: list[Any], x: float) -> int:
        return sum(j["O"] <= x < j["E"] for j in group)

    for name, group in members.items():
        c = max(running(group, j["O"]) for j in group)
        could = [j for j in group if j["o"] > 60 and plain.room(j)]
        held = [j for j in could if running(group, j["t"]) == c]
        soon = [j for j in held if any(0 <= j["O"] - i["E"] <= 120 for i in group)]
        if len(held) >= 10 and len(held) >= 0.8 * len(could) and len(soon) >= 0.6 * len(held):
            suggested[name] = c
    users = {name: c for name, c in suggested.items() if name.startswith("user ") and " in " not in name}
    if len(users) >= 3 and len(set(users.values())) == 1:
        c = next(iter(users.values()))
        shares = []
        for group in (g for name, g in members.items() if name.startswith("user ") and " in " not in name):
            steps = [(b - a, running(group, a)) for a, b in itertools.pairwise(plain.edges)]
            shares.append(sum(d for d, k in steps if k > c) / sum(d for d, k in steps if k > 0))
        if max(shares) <= 0.01:
            suggested["all users"] = c
    return suggested


@given(limited_logs(), st.sampled_from([3, 5, 20]))
def test_rule_30_ceilings(jobs: pl.DataFrame, nodes: int) -> None:
    both = inspected(jobs, nodes)
    assert both is not None
    plain, found = both
    rows = found.findings.filter((pl.col("finding") == "ceiling") & pl.col("suggestion").is_not_null())
    expected = plain_ceilings(plain)
    assert dict(rows.select("subject", "value").iter_rows()) == expected
    assert found.settings.get("user_running") == expected.get("all users")


def plain_peaks(plain: Plain) -> dict[str, int]:
    """Rule 31 without nodes: suggested sizes by queue."""
    suggested = {}
    for queue in {j["q"] for j in plain.jobs} - {None}:
        group = [j for j in plain.jobs if j["q"] == queue]

        def used(x: float, group: list[Any] = group) -> int:
            return sum(j["n"] for j in group if j["O"] <= x < j["E"])

        p = max(used(j["O"]) for j in group)
        could = [j for j in group if j["o"] > 60 and plain.room(j)]
        full = [j for j in could if used(j["t"]) + j["n"] > p]
        if p < 0.95 * plain.M and len(full) >= 50 and len(full) >= 0.8 * len(could):
            suggested[queue] = p
    return suggested


@given(limited_logs(), st.sampled_from([3, 20]), st.sampled_from([1, 8]))
def test_rule_31_peaks_of_queues(jobs: pl.DataFrame, nodes: int, times: int) -> None:
    # The same in several weeks, so that there are enough jobs.
    weeks = [jobs.with_columns(pl.col("submit_s", "observed_start_s") + 7 * WEEK * k) for k in range(times)]
    both = inspected(pl.concat(weeks).drop("job_id").with_row_index("job_id"), nodes)
    assert both is not None
    plain, found = both
    rows = found.findings.filter((pl.col("finding") == "partition") & pl.col("suggestion").is_not_null())
    expected = {f"queue {queue}": size for queue, size in plain_peaks(plain).items()}
    assert dict(rows.select("subject", "value").iter_rows()) == expected


@pytest.mark.parametrize(("strays", "found"), [(0, ["long", "short"]), (1, ["long", "short"]), (2, []), (90, [])])
def test_rule_31_nodes_of_queues(strays: int, found: list[str]) -> None:
    rows = [(k, 100.0 * k, 100.0 * k, 10.0, 2, "long" if k % 2 else "short") for k in range(480)]
    names = ["job_id", "submit_s", "observed_start_s", "runtime_s", "node_count", "queue"]
    own = {"long": [0, 1], "short": [4, 6]}
    # The nodes of a stray are used for no longer than it runs.
    nodes = [own[row[5]] if k >= 2 * strays else [2, 3] for k, row in enumerate(rows)]
    jobs = pl.DataFrame(rows, names, orient="row").with_columns(pl.Series("observed_nodes", nodes, pl.List(pl.UInt32)))
    jobs = jobs.with_columns(runtime_s=pl.when(pl.col("job_id") < 2 * strays).then(20.0).otherwise(10.0))
    result = hs.inspect(hs.Workload.from_polars(jobs), hs.Platform.homogeneous(8, idle_w=1, tdp_w=2))
    partitions = result.settings.get("partitions", [])
    # One stray of twice the length among 240 jobs is 0.8 % of the queue's time, two are 1.7 %.
    assert [one["queue"] for one in partitions] == found
    if found:
        assert [one["nodes"] for one in partitions] == ["0-1", "4 6"]


@st.composite
def night_logs(draw: st.DrawFn) -> pl.DataFrame:
    """Weeks of jobs of which the long ones start at night, mostly."""
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    count, hours = 900, draw(st.sampled_from([(9, 17), (20, 3), (0, 0), (23, 2)]))
    only, stray = draw(st.sampled_from([None, 0, 1])), draw(st.sampled_from([0.0, 0.08]))
    submit = np.sort(rng.integers(0, 4 * WEEK, count)).astype(float)
    start = submit + rng.choice([0, 61, 4000, 9000], count)
    walltime = rng.choice([900.0, 3600.0, 3601.0, 100_000.0], count, p=[0.1, 0.4, 0.1, 0.4])
    kind = (np.floor(start / 86_400) + 3) % 7 >= 5
    while True:
        hour = start // HOUR % 24
        inside = (hour - hours[0]) % 24 < (hours[1] - hours[0]) % 24
        held = inside & (walltime == 100_000.0) & ((only is None) | (kind == only)) & (rng.random(count) >= stray)
        if not held.any():
            break
        start = np.where(held, (start // HOUR + 1) * HOUR + rng.integers(0, 1800, count), start)
    jobs = {"job_id": np.arange(count), "submit_s": submit, "observed_start_s": start, "walltime_s": walltime}
    return pl.DataFrame({**jobs, "runtime_s": 10.0, "node_count": 1})


def plain_windows(plain: Plain, zero: int = 0, zone: str = "UTC") -> list[tuple[int, int, int, int]]:
    """Rule 32 by a zone's clock: kind of day, class, first hour and length of each window."""
    own_zone = ZoneInfo(zone)
    first_s = datetime.fromtimestamp(zero + int(min(j["t"] for j in plain.jobs)), own_zone)
    part = int(first_s.utcoffset().total_seconds()) % HOUR  # type: ignore[union-attr]
    shift = zero + part

    def shown(hour: int) -> tuple[int, int]:
        date = datetime.fromtimestamp(hour * HOUR - part, own_zone)
        return int(date.weekday() >= 5), date.hour

    bounds, found = [0, 900, 3600, 14_400, 43_200, float("inf")], []
    starts = {(k, c): [0] * 24 for k in range(2) for c in range(5)}
    waits = {(k, c): [0.0] * 24 for k in range(2) for c in range(5)}
    for j in plain.jobs:
        c = next(c for c in range(5) if bounds[c] < j["L"] <= bounds[c + 1])
        begin, end = j["t"] + shift, j["O"] + shift
        at = int(end // HOUR)
        kind, of_day = shown(at)
        starts[kind, c][of_day] += j["o"] > 60
        for hour in range(int(begin // HOUR), at + 1):
            kind, of_day = shown(hour)
            waits[kind, c][of_day] += max(0.0, min(end, (hour + 1) * HOUR) - max(begin, hour * HOUR))
    for k, c in sorted(starts):
        own, waiting = starts[k, c], waits[k, c]
        others = [sum(starts[k, d][h] for d in range(5) if d != c) for h in range(24)]
        fits = []
        for length in range(4, 24):
            for first in range(24):
                run = [(first + i) % 24 for i in range(length)]
                part = [sum(one[h] for h in run) / (sum(one) or 1) for one in (own, waiting, others)]
                share = length / 24
                if part[0] <= 0.1 * share and part[1] >= 0.5 * share and part[2] >= 0.3 * share:
                    fits.append((-length, first))
        if sum(own) >= 200 and fits:
            found.append((k, c, min(fits)[1], -min(fits)[0]))
    return found


@given(night_logs())
def test_rule_32_windows(jobs: pl.DataFrame) -> None:
    labels = {"user": pl.lit(None, pl.String), "queue": pl.lit(None, pl.String)}
    both = inspected(jobs.with_columns(**labels), 900)
    assert both is not None
    plain, found = both
    days, classes = (
        ("weekdays", "weekends"),
        ("up to 15 min", "15 min to 1 h", "1 to 4 h", "4 to 12 h", "over 12 h"),
    )
    expected = [
        (f"walltimes {classes[c]}, {days[k]}", length, f"no starts from {first}:00 to {(first + length) % 24}:00")
        for k, c, first, length in plain_windows(plain)
    ]
    assert window_rows(found) == expected


def window_rows(found: Any) -> list[tuple[Any, ...]]:
    rows = found.findings.filter((pl.col("finding") == "window") & pl.col("suggestion").is_not_null())
    return list(rows.select("subject", "value", "suggestion").rows())


# The clocks of these months are put back, put forward, ahead by half an hour, and put back by an hour of a Sunday.
ZONES = [
    (1_698_100_000, "Europe/Stockholm"),
    (1_709_900_123, "America/Los_Angeles"),
    (1_700_000_017, "Asia/Kolkata"),
    (1_729_000_000, "UTC"),
]


@given(night_logs(), st.sampled_from(ZONES))
def test_rule_32_by_the_hours_of_the_headers_zone(jobs: pl.DataFrame, clock: tuple[int, str]) -> None:
    zero, zone = clock
    labels = {"user": pl.lit(None, pl.String), "queue": pl.lit(None, pl.String)}
    both = inspected(jobs.with_columns(**labels), 900)
    assert both is not None
    name = {"America/Los_Angeles": "US/Pacific"}.get(zone, zone)
    report = Report("log", {"jobs": len(jobs), "header": {"unix_start_time": zero, "time_zone_name": name}})
    frame = hs.Workload.from_polars(jobs.with_columns(**labels)).to_polars()
    workload = hs.Workload(frame, source="log", report=report, history=["read log"])
    found = hs.inspect(workload, hs.Platform.homogeneous(900, idle_w=1, tdp_w=2))
    days = ("weekdays", "weekends")
    classes = ("up to 15 min", "15 min to 1 h", "1 to 4 h", "4 to 12 h", "over 12 h")
    expected = [
        (f"walltimes {classes[c]}, {days[k]}", length, f"no starts from {first}:00 to {(first + length) % 24}:00")
        for k, c, first, length in plain_windows(both[0], zero, zone)
    ]
    assert window_rows(found) == expected
    note = f"hours and weekdays of windows are of {name}, the zone that the log has"
    assert (note in found.notes) == ("window" in found.findings["finding"])


@pytest.mark.parametrize(
    ("header", "zone"),
    [
        ({"unix_start_time": 1_700_000_000, "time_zone": -18_000}, "UTC-5 h"),
        ({"unix_start_time": 1_700_000_000, "time_zone_name": "Mars/Olympus", "time_zone": 3_600}, "UTC+1 h"),
        ({"unix_start_time": 1_700_000_000, "time_zone_name": "US/Eastern", "time_zone": 0}, "US/Eastern"),
        ({"unix_start_time": 1_700_000_000, "time_zone": 1_000_000}, None),
        ({"unix_start_time": 1_700_000_000}, None),
        ({"time_zone_name": "Europe/Paris"}, None),
    ],
)
def test_the_zone_of_a_log(header: dict[str, Any], zone: str | None) -> None:
    frame = pl.DataFrame({"job_id": [1], "submit_s": [0.0], "runtime_s": [1.0], "node_count": [1]})
    workload = hs.Workload(frame, source="log", report=Report("log", {"jobs": 1, "header": header}), history=[])
    found = wall_clock(workload)
    assert (None if found is None else found.zone) == zone
    moved = hs.Workload(frame, source="log", report=workload.report, history=["shift_to_zero()"])
    assert wall_clock(moved) is None


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
