"""`hs.inspect` against its rules in plain Python: limits of users, and nodes and hours of queues."""

from __future__ import annotations

import itertools
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

import hypothesis.strategies as st
import numpy as np
import polars as pl
import pytest
from hypothesis import given
from plain_inspection import HOUR, WEEK, Plain, inspected

import hetsched as hs
from hetsched.workload import Report
from hetsched.workload.clock import wall_clock


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
