"""The rules of `hs.inspect` in plain Python, one job and one instant at a time, and logs to try them on."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import Any

import hypothesis.strategies as st
import polars as pl
import pytest

import hetsched as hs

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
