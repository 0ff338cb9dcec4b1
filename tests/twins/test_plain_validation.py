"""`hs.validate` against the rules of validation in plain Python, job by job and hour by hour."""

from __future__ import annotations

import math
from statistics import mean, median
from typing import Any

import hypothesis.strategies as st
import numpy as np
import polars as pl
import pytest
from hypothesis import given

import hetsched as hs

pytestmark = pytest.mark.filterwarnings("ignore::hetsched.errors.RunWarning")

WEEK, HOUR = 604_800, 3600


@st.composite
def logs(draw: st.DrawFn) -> pl.DataFrame:
    """Jobs over some weeks, with waits of all lengths, and what logs lack."""
    rows, submit = [], 0
    for job in range(draw(st.integers(1, 25))):
        submit += draw(st.sampled_from([0, 1, 60, 3600, 90_000, 500_000]))
        wait = draw(st.sampled_from([None, -5, 0, 0.25, 0.5, 30, 60, 61, 600, 3600, 50_000, 90_000, 700_000]))
        row = {
            "job_id": job,
            "submit_s": float(submit),
            "runtime_s": float(draw(st.sampled_from([0, 1, 600, 7200, 100_000]))),
            "node_count": draw(st.integers(1, 4)),
            "user": draw(st.sampled_from([None, "ann", "bo", "cy"])),
            "queue": draw(st.sampled_from([None, "long", "short"])),
            "observed_start_s": None if wait is None else max(0.0, submit + wait),
        }
        rows.append(row)
    schema = {"user": pl.String, "queue": pl.String, "observed_start_s": pl.Float64}
    return pl.DataFrame(rows, schema_overrides=schema)


class Plain:
    """The rules 1 to 19, one job at a time."""

    def __init__(self, result: hs.Result, cut: float) -> None:
        jobs = list(result.jobs.iter_rows(named=True))
        self.last = result.timeline["time_s"][-1]
        begin, end = min(j["submit_s"] for j in jobs) + cut, max(j["submit_s"] for j in jobs) - cut
        self.window = (begin, end)
        known = [j for j in jobs if j["observed_start_s"] is not None]
        self.left_out = {"no_observed_start": len(jobs) - len(known)}
        ran = [j for j in known if j["nominal_runtime_s"] > 0]
        self.left_out["no_run"] = len(known) - len(ran)
        self.known = [j for j in ran if j["observed_start_s"] >= j["submit_s"]]
        self.left_out["observed_before_submit"] = len(ran) - len(self.known)
        for job in self.known:
            start = job["start_s"] if job["start_s"] is not None else max(self.last, job["submit_s"])
            job |= {"placed": start, "o": job["observed_start_s"] - job["submit_s"], "s": start - job["submit_s"]}
            job["c"] = int(math.log2(job["node_count"]))
        self.counted = [j for j in self.known if begin <= j["submit_s"] <= end]
        self.left_out["outside_window"] = len(self.known) - len(self.counted)

    def past(self, job: dict[str, Any]) -> list[float]:
        week = [i for i in self.known if job["submit_s"] - WEEK <= i["observed_start_s"] < job["submit_s"]]
        queue = [i for i in week if i["queue"] == job["queue"]]
        alike = [i for i in queue if i["c"] == job["c"]]
        ever = [i for i in self.known if i["observed_start_s"] < job["submit_s"]]
        found = alike if len(alike) >= 5 else queue if len(queue) >= 5 else week or ever
        return [i["o"] for i in found] or [0.0]

    def scores(self) -> dict[str, Any]:
        own = [abs(math.log((j["s"] + 60) / (j["o"] + 60))) for j in self.counted]
        null = [math.log((j["o"] + 60) / 60) for j in self.counted]
        rivals = {
            name: [abs(math.log((of(self.past(j)) + 60) / (j["o"] + 60))) for j in self.counted]
            for name, of in (("naive", mean), ("naive_median", median))
        }
        errors = {"log_error": mean(own), "null_log_error": mean(null)}
        errors |= {f"{name}_log_error": mean(values) for name, values in rivals.items()}
        best = min(errors["null_log_error"], errors["naive_log_error"], errors["naive_median_log_error"])
        waited = [j for j in self.counted if j["o"] > 60]
        near = [abs(j["s"] - j["o"]) <= 600 for j in waited]
        return {
            "jobs": len(self.counted),
            "waited": len(waited),
            "unstarted": sum(j["start_s"] is None for j in self.counted),
            **self.left_out,
            **errors,
            "skill_best": 1 - errors["log_error"] / best if best else None,
            "log_error_half": self.half(own, [1.0] * len(own)),
            "skill_null_half": self.half(own, null),
            "waited_within_10m": mean(near) if near else None,
            "null_within_1h": mean(j["o"] <= 3600 for j in self.counted),
            "bias_s": mean(j["s"] - j["o"] for j in self.counted),
            "ks": max(abs(self.share("o", x) - self.share("s", x)) for j in self.counted for x in (j["o"], j["s"])),
            "wasserstein_s": mean(
                abs(o - s) for o, s in zip(sorted(self.all("o")), sorted(self.all("s")), strict=True)
            ),
        }

    def all(self, name: str) -> list[float]:
        return [j[name] for j in self.counted]

    def share(self, name: str, x: float) -> float:
        return mean(value <= x for value in self.all(name))

    def half(self, x: list[float], y: list[float]) -> float | None:
        weeks = [int(j["submit_s"] // WEEK) for j in self.counted]
        if len(set(weeks)) < 4 or not sum(y):
            return None
        ratio, count = sum(x) / sum(y), len(set(weeks))
        sums = {w: sum(a - ratio * b for a, b, v in zip(x, y, weeks, strict=True) if v == w) for w in set(weeks)}
        spread = math.sqrt(count / (count - 1) * sum(value**2 for value in sums.values()))
        return hs.analysis.student_t_quantile(count - 1) * spread / abs(sum(y))

    def hours(self) -> list[dict[str, float]]:
        begin, end = self.window
        rows = []
        for place in range(math.ceil(begin / HOUR), max(math.floor(end / HOUR), math.ceil(begin / HOUR))):
            hour = place * HOUR

            def held(begin: float, end: float, hour: float = hour) -> float:
                return max(0.0, min(end, hour + HOUR) - max(begin, hour)) / HOUR

            row = {"time_s": float(hour)} | dict.fromkeys(
                ("busy_observed", "busy_simulated", "queued_observed", "queued_simulated", "queued_nodes_observed"), 0.0
            )
            for j in self.known:
                submit, start, nodes = j["submit_s"], j["observed_start_s"], j["node_count"]
                row["busy_observed"] += nodes * held(start, start + j["nominal_runtime_s"])
                if j["start_s"] is not None:
                    row["busy_simulated"] += nodes * held(j["start_s"], j["end_s"])
                row["queued_observed"] += held(submit, start)
                row["queued_nodes_observed"] += nodes * held(submit, start)
                row["queued_simulated"] += held(submit, j["placed"])
            rows.append(row)
        return rows


PLATFORM = hs.Platform.homogeneous(3, idle_w=100, tdp_w=300)


@given(logs(), st.sampled_from([0.0, 3600.0, 200_000.0]))
def test_scores_agree(jobs: pl.DataFrame, cut: float) -> None:
    result = hs.simulate(hs.Workload.from_polars(jobs), PLATFORM, "easy", kill_at_walltime=False)
    plain = Plain(result, cut)
    if not plain.counted:
        with pytest.raises(hs.ConfigError):
            hs.validate(result, warmup_s=cut, cooldown_s=cut)
        return
    found = hs.validate(result, warmup_s=cut, cooldown_s=cut)
    for name, expected in plain.scores().items():
        near = expected if expected is None else pytest.approx(expected, rel=1e-9, abs=1e-12)
        assert found.scores[name] == near, name
    assert found.histogram["jobs"].sum() == found.histogram["null_jobs"].sum() == len(plain.counted)
    for name in ("by_queue", "by_size", "by_user_class", "by_week"):
        table = getattr(found, name)
        assert table["jobs"].sum() == len(plain.counted)
        total = (table["jobs"] * table["log_error"]).sum() / len(plain.counted)
        assert total == pytest.approx(found.scores["log_error"])


@given(logs())
def test_hours_agree(jobs: pl.DataFrame) -> None:
    result = hs.simulate(hs.Workload.from_polars(jobs), PLATFORM, "easy", kill_at_walltime=False)
    plain = Plain(result, 0.0)
    if not plain.counted:
        return
    # Instants lie up to weeks apart, and the twin looks at each hour of them.
    found, expected = hs.validate(result, warmup_s=0, cooldown_s=0), plain.hours()
    assert len(found.series) == len(expected)
    for name in expected[0] if expected else ():
        assert np.allclose(found.series[name], [row[name] for row in expected], rtol=0, atol=1e-6), name
