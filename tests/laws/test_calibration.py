"""Laws of calibration (rules 35 to 40 of validation)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import hetsched as hs
from hetsched.calibration.calibrating import JOURNAL
from hetsched.calibration.halves import Cut, first_half
from hetsched.calibration.settings import Evidence, settings_of
from hetsched.validation.changes import changed

pytestmark = pytest.mark.filterwarnings("ignore::hetsched.errors.RunWarning")

NODES = 24
OWN = ("backfill", "order")


def platform(nodes: int = NODES) -> hs.Platform:
    return hs.Platform.homogeneous(nodes, idle_w=100, tdp_w=300)


def log(policy: str = "easy", *, seed: int = 0, jobs: int = 1500) -> hs.Workload:
    """A log of some weeks that a policy made, with queues of jobs that wait."""
    rng = np.random.default_rng(seed)
    runtime = np.exp(rng.normal(8.5, 1.5, jobs)).clip(10, 90_000).round(1)
    size = 2 ** rng.integers(0, 5, jobs)
    span = (runtime * size).sum() / NODES / 0.85
    frame = pl.DataFrame(
        {
            "job_id": np.arange(jobs),
            "submit_s": np.sort(rng.random(jobs) * span).round(1),
            "runtime_s": runtime,
            "walltime_s": (runtime * rng.uniform(1, 4, jobs)).round(),
            "node_count": size,
            "user": rng.choice([f"u{k}" for k in range(12)], jobs),
            "queue": rng.choice(["long", "short"], jobs),
        }
    )
    starts = hs.simulate(hs.Workload.from_polars(frame), platform(), policy).jobs["start_s"]
    return hs.Workload.from_polars(frame.with_columns(observed_start_s=starts))


def calibrate(workload: hs.Workload, **options: object) -> hs.Calibration:
    return hs.calibrate(workload, platform(), **{"evaluations": 30, "workers": 1, **options})  # type: ignore[arg-type]


def test_the_policy_that_made_a_log_is_found() -> None:
    found = calibrate(log("easy:order=shortest"), settings=OWN)
    assert found.settings == {"order": "shortest"}
    assert found.score("calibrated") == pytest.approx(0.0, abs=1e-12)
    assert found.score("easy, as it is") > 0.1
    assert found.change == pytest.approx(-found.score("easy, as it is"))
    assert found.policy.parts["order"] == {"name": "shortest"}


def test_rule_38_a_log_of_easy_stays_as_it_is() -> None:
    found = calibrate(log(), evaluations=200)
    assert found.settings == {}
    assert found.steps == ({},)
    assert (found.change, found.score("calibrated"), found.events) == (0.0, 0.0, None)
    assert len(found.trials) > 20, "all settings were tried"


def test_rule_35_nothing_after_the_cut_is_used(tmp_path: Path) -> None:
    """Everything after the cut changes but the submits: the settings and the journal stay, byte for byte."""
    workload = log("easy:order=shortest")
    cut_s = Cut.of(workload).at_s
    rng = np.random.default_rng(1)
    jobs, start = workload.to_polars(), pl.col("observed_start_s")
    later, end = start > cut_s, start + pl.col("runtime_s")
    after = pl.col("submit_s") > cut_s
    other = jobs.with_columns(
        observed_start_s=pl.when(later).then(start + 10_000).otherwise(start),
        runtime_s=pl.when(later | (end > cut_s)).then(pl.col("runtime_s") * 1.5 + 1000).otherwise("runtime_s"),
        node_count=pl.when(after).then(pl.Series(rng.integers(1, NODES, len(jobs)))).otherwise("node_count"),
        walltime_s=pl.when(after).then(pl.col("walltime_s") + 77).otherwise("walltime_s"),
        user=pl.when(after).then(pl.lit("zoe")).otherwise("user"),
    )
    assert ((jobs["observed_start_s"] <= cut_s) & (jobs.select(end > cut_s).to_series())).any(), "some job runs then"
    found = [
        calibrate(one, out=tmp_path / name)
        for name, one in (("one", workload), ("other", hs.Workload.from_polars(other, source=workload.source)))
    ]
    assert found[0].settings == found[1].settings
    assert found[0].trials.equals(found[1].trials)
    journals = [(tmp_path / name / JOURNAL).read_bytes() for name in ("one", "other")]
    assert journals[0] == journals[1]
    assert found[0].score("easy, as it is") != found[1].score("easy, as it is"), "the second half is another one"


def test_what_is_known_at_the_cut() -> None:
    """Jobs that run at the cut run on, and those that wait have no start before it."""
    workload = log()
    cut_s = Cut.of(workload).at_s
    jobs, first = workload.to_polars(), first_half(workload, cut_s).to_polars()
    both = first.join(jobs, on="job_id", suffix="_whole")
    assert len(both) == len(first) == (jobs["submit_s"] <= cut_s).sum()
    ended = both["observed_start_s_whole"] + both["runtime_s_whole"] <= cut_s
    runs = ~ended & (both["observed_start_s_whole"] <= cut_s)
    assert both.filter(ended).select((pl.col("runtime_s") == pl.col("runtime_s_whole")).all()).item()
    assert both.filter(runs).select((pl.col("observed_start_s") + pl.col("runtime_s") > cut_s).all()).item()
    waits = both.filter(pl.col("observed_start_s_whole") > cut_s)
    assert waits["observed_start_s"].to_list() == [cut_s + 1.0] * len(waits)


def test_rule_39_any_number_of_workers_gives_the_same(tmp_path: Path) -> None:
    workload = log("easy:order=wfp3", jobs=800)
    one = calibrate(workload)
    two = calibrate(workload, workers=2, out=tmp_path)
    again = calibrate(workload, workers=2, out=tmp_path)
    assert one.to_dict() == two.to_dict() == again.to_dict()
    keys = [json.loads(line)["key"] for line in (tmp_path / JOURNAL).read_text().splitlines()]
    assert len(keys) == len(set(keys)) == len(one.trials)


_SCRIPT = """
import sys
import polars as pl
import hetsched as hs
sys.path.insert(0, sys.argv[4])
import held_store

held_store.hold_after(3)
log = hs.Workload.from_polars(pl.read_parquet(sys.argv[1]), source="log")
platform = hs.Platform.homogeneous(int(sys.argv[3]), idle_w=100, tdp_w=300)
hs.calibrate(log, platform, evaluations=30, workers=1, out=sys.argv[2])
"""


def test_rule_39_a_killed_calibration_goes_on(tmp_path: Path) -> None:
    """Killed with the fourth evaluation made and not kept: the same journal and result as without."""
    workload = hs.Workload.from_polars(log("easy:order=shortest").to_polars(), source="log")
    workload.to_polars().write_parquet(tmp_path / "log.parquet")
    whole = calibrate(workload, out=tmp_path / "whole")
    killed = tmp_path / "killed"
    arguments = (tmp_path / "log.parquet", killed, NODES, Path(__file__).parent)
    command = [sys.executable, "-c", _SCRIPT, *map(str, arguments)]
    process = subprocess.Popen(command, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)})
    journal = killed / JOURNAL
    while not (journal.exists() and journal.read_bytes().count(b"\n") == 3):
        assert process.poll() is None
        time.sleep(0.01)
    process.kill()
    process.wait()
    assert 3 == journal.read_bytes().count(b"\n") < len(whole.trials)
    resumed = calibrate(workload, out=killed)
    assert resumed.to_dict() == whole.to_dict()
    assert journal.read_bytes() == (tmp_path / "whole" / JOURNAL).read_bytes()


def test_rule_40_looks_at_the_second_half_are_counted(tmp_path: Path) -> None:
    workload = log(jobs=400)
    looks = [calibrate(workload, settings=OWN, evaluations=count, out=tmp_path).looks for count in (5, 5, 6)]
    assert looks == [1, 1, 2]


def test_what_is_written_is_what_was_scored(tmp_path: Path) -> None:
    """The files make the run that was scored: its waits on the second half."""
    workload = log("easy:order=shortest")
    found = calibrate(workload, settings=(*OWN, "machine size", "jobs a user may hold"))
    found.write(tmp_path)
    own = hs.read_platform(tmp_path / "platform.toml"), hs.read_policy(tmp_path / "policy.toml")
    assert own == (found.platform, found.policy)
    result = hs.simulate(hs.read_parquet(tmp_path / "trace.parquet"), *own, kill_at_walltime=False)
    cut = Cut.of(workload)
    second = result.jobs.filter((pl.col("submit_s") > cut.at_s) & (pl.col("submit_s") <= cut.until_s))
    assert second["wait_s"].mean() == pytest.approx(found.score("calibrated", "mean_wait_s"))


def test_limits_of_users_and_queues_are_kept() -> None:
    workload = log()
    limits = {
        "user_running": 2,
        "ceilings": [
            {"user": "u1", "running": 1},
            {"queue": "short", "running": 4},
            {"user": "u2", "queue": "long", "running": 1},
        ],
    }
    run = changed(workload, platform(), hs.Policy.preset("easy"), limits, None).run(0)
    jobs = run.execute().jobs.select("user", "queue", "start_s", "end_s")

    def most(own: pl.DataFrame) -> int:
        starts = own.select(at="start_s", change=pl.lit(1))
        ends = own.select(at="end_s", change=pl.lit(-1))
        return int(pl.concat([starts, ends]).sort("at", "change")["change"].cum_sum().max())  # type: ignore[arg-type]

    assert jobs["start_s"].null_count() == 0
    assert most(jobs.filter(user="u1")) == 1
    assert most(jobs.filter(user="u3")) == 2
    assert most(jobs.filter(user="u2", queue="long")) == 1
    assert most(jobs.filter(queue="short")) == 4


def test_a_limit_of_users_that_the_log_is_above_is_not_tried() -> None:
    """A user with 9 jobs at once for a hundredth of their time, else 1; then for a little longer, which leaves 9."""
    alone, together = 99_000.0, 1000.0

    def limits(long_s: float) -> list[str]:
        runs = [*[long_s] * 9, alone, *[10.0] * 20]
        at = [*[0.0] * 9, long_s + 1, *(long_s + alone + 100.0 * k for k in range(1, 21))]
        users = [*["u"] * 10, *["v"] * 20]
        frame = pl.DataFrame({"job_id": range(30), "submit_s": at, "runtime_s": runs, "node_count": 1, "user": users})
        workload = hs.Workload.from_polars(frame.with_columns(observed_start_s="submit_s"))
        until_s = at[-1] + 20
        evidence = Evidence(
            workload, platform(), hs.Policy.preset("easy"), hs.inspect(workload, platform(), until_s=until_s), until_s
        )
        found = settings_of(evidence, ("jobs a user may hold",))
        return [value.label for one in found for value in one.values]

    assert limits(together) == ["off", "1", "2", "4", "8"]
    assert limits(together * 1.02) == ["off", "9"]


def test_priorities_partitions_and_delays_of_changes() -> None:
    workload, easy = log(), hs.Policy.preset("easy")
    parts = changed(
        workload,
        platform(),
        easy,
        {"partitions": [{"queue": "short", "size": 16}], "priorities": [["long", 0], ["short", 1]]},
        None,
    )
    assert parts.platform.queues is not None
    assert {queue.name: (len(queue.numbers), queue.priority) for queue in parts.platform.queues} == {
        "long": (8, 0),
        "short": (16, 1),
    }
    late = changed(workload, platform(), easy, {"latency_s": 10.0, "interval_s": 60.0, "phase_s": 5.0}, None)
    starts = late.workload.to_polars()
    assert (starts["start_at_s"] >= starts["submit_s"] + 10).all()
    assert (starts["start_at_s"] <= starts["submit_s"] + 70).all()
    assert ((starts["start_at_s"] - 5) % 60 == 0).all()


def test_seen_events_make_a_row_of_their_own() -> None:
    found = calibrate(log(jobs=400), settings=OWN, evaluations=3, known_events=True)
    assert found.scores.filter(half="second")["rival"].to_list()[-1] == "with seen events"
    assert "with seen events" not in found.scores.filter(half="first")["rival"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"settings": ["ordr"]}, "did you mean `order`"),
        ({"evaluations": 0}, "evaluations"),
        ({"workers": 0}, "workers"),
        ({"seed": -1}, "seed"),
    ],
)
def test_faults(options: dict[str, object], message: str) -> None:
    with pytest.raises(hs.ConfigError, match=message):
        calibrate(log(jobs=100), **options)


def test_a_policy_that_does_not_run_on_the_platform_is_refused() -> None:
    queues = [hs.Queue("long", "0-15"), hs.Queue("short", "8-23")]
    machine = hs.Platform.homogeneous(NODES, idle_w=100, tdp_w=300, queues=queues, exclusive=False, slots=2)
    with pytest.raises(hs.ConfigError, match="one that runs on this platform"):
        hs.calibrate(log(jobs=100), machine, evaluations=5, workers=1)


def test_a_log_without_enough_jobs_or_starts_is_refused() -> None:
    with pytest.raises(hs.ConfigError, match="observed_start_s"):
        hs.calibrate(hs.Workload.from_polars(log(jobs=100).to_polars().drop("observed_start_s")))
    with pytest.raises(hs.ConfigError, match="jobs that count"):
        hs.calibrate(log(jobs=100).head(3))
    at_once = log(jobs=100).to_polars().with_columns(submit_s=pl.lit(0.0))
    with pytest.raises(hs.ConfigError, match="the later half of them submitted at 0 s"):
        hs.calibrate(hs.Workload.from_polars(at_once))
