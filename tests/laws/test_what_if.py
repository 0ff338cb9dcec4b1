"""A table of settings: its rows are single runs, its intervals and marks what plain Python makes of them."""

from __future__ import annotations

import math
import os
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import settings

import hetsched as hs
from hetsched.analysis import METRICS, bootstrap_weeks
from hetsched.analysis.ratios import student_t_quantile

pytestmark = pytest.mark.filterwarnings("ignore::hetsched.errors.RunWarning")

WEEK_S = 604_800.0
PACKAGE = str(Path(hs.__file__).parents[1])
SETTINGS: dict[str, list[Any]] = {
    "nodes": ["+25%", 12],
    "backfill": ["none", "reservations:depth=4"],
    "sleep.min_idle_s": [600, 7200],
}
METRICS_ASKED = ("energy_j", "mean_wait_s", "p95_wait_s", "mean_bounded_slowdown", "utilization_ratio")


def work(jobs: int = 400, weeks: float = 6.3, nodes: int = 16, seed: int = 5) -> tuple[hs.Workload, hs.Platform]:
    """Jobs of several weeks, the first of them in the middle of one."""
    rng = np.random.default_rng(seed)
    frame = pl.DataFrame(
        {
            "job_id": np.arange(jobs),
            "submit_s": np.sort(rng.uniform(0.4 * WEEK_S, (0.4 + weeks) * WEEK_S, jobs)),
            "runtime_s": rng.lognormal(9.6, 1.2, jobs).round(),
            "walltime_s": np.full(jobs, 200_000.0),
            "node_count": rng.integers(1, nodes - 4, jobs),
            "queue": rng.choice(["day", "night"], jobs),
        }
    )
    made = hs.Platform.homogeneous(nodes, 100.0, 300.0, boot_s=300, shutdown_s=120, off_w=10.0)
    return hs.Workload.from_polars(frame), made


@pytest.fixture(scope="module")
def found() -> hs.WhatIf:
    log, machine = work()
    return hs.what_if(log, machine, "easy", SETTINGS, metrics=METRICS_ASKED, workers=1)


@pytest.fixture(scope="module")
def runs() -> list[hs.Result]:
    """The same settings, written out by hand."""
    log, machine = work()
    results = [hs.simulate(log, machine, "easy")]
    for nodes in (20, 12):
        own = hs.Platform.homogeneous(nodes, 100.0, 300.0, boot_s=300, shutdown_s=120, off_w=10.0)
        names = (
            f"{start}:sleep=timeout:min_idle_s={idle}" for start in ("fcfs", "easy:depth=4") for idle in (600, 7200)
        )
        results += [hs.simulate(log, own, name) for name in names]
    return results


def test_rows_are_single_runs_and_the_first_is_today(found: hs.WhatIf, runs: list[hs.Result]) -> None:
    rows = found.runs.drop("row", "setting").to_dicts()
    assert len(rows) == len(runs) == 9
    for row, result in zip(rows, runs, strict=True):
        # Optional metrics that another row has are null.
        assert {key: value for key, value in row.items() if value is not None or key in result.summary()} == (
            result.summary()
        )
    first = found.table.row(0, named=True)
    assert first["setting"] == "today"
    assert [first[key] for key in SETTINGS] == [None, None, None]
    assert [first[f"{metric}_change"] for metric in METRICS_ASKED] == [0.0] * 5


def test_the_first_key_changes_slowest(found: hs.WhatIf) -> None:
    rows = found.table.select(*SETTINGS).rows()[1:]
    assert rows == [
        (n, b, s) for n in ("+25%", "12") for b in SETTINGS["backfill"] for s in SETTINGS["sleep.min_idle_s"]
    ]


def half_width(x: list[float], y: list[float], weeks: list[int]) -> tuple[float, float]:
    """Rule 18 in plain Python: the ratio of sums, and half its interval."""
    ratio = sum(x) / sum(y)
    each: dict[int, float] = {}
    for own, below, week in zip(x, y, weeks, strict=True):
        each[week] = each.get(week, 0.0) + own - ratio * below
    count = len(each)
    spread = math.sqrt(count / (count - 1) * sum(z * z for z in each.values()))
    return ratio, student_t_quantile(count - 1) * spread / abs(sum(y))


@pytest.mark.parametrize(
    ("metric", "column"), [("mean_wait_s", "wait_s"), ("mean_bounded_slowdown", "bounded_slowdown")]
)
def test_changes_of_means_are_paired_over_weeks(
    found: hs.WhatIf, runs: list[hs.Result], metric: str, column: str
) -> None:
    base = runs[0].jobs
    weeks = [int(submit // WEEK_S) for submit in base["submit_s"]]
    for place, result in enumerate(runs):
        x = [own - today for own, today in zip(result.jobs[column], base[column], strict=True)]
        change, half = half_width(x, [1.0] * len(x), weeks)
        ratio, ratio_half = half_width(x, base[column].to_list(), weeks)
        row = found.changes.filter(row=place, metric=metric).row(0, named=True)
        expected = (change, change - half, change + half, ratio, ratio - ratio_half, ratio + ratio_half)
        names = ("change", "change_low", "change_high", "change_ratio", "change_ratio_low", "change_ratio_high")
        assert [row[name] for name in names] == pytest.approx(expected, rel=1e-9, abs=1e-12)
        assert row["certain"] == (change - half > 0 or change + half < 0)


def test_changes_of_quantiles_are_bootstrapped_over_weeks(found: hs.WhatIf, runs: list[hs.Result]) -> None:
    base = runs[0].jobs["wait_s"].to_numpy()
    weeks = np.floor(runs[0].jobs["submit_s"].to_numpy() / WEEK_S).astype(int)
    rows = [np.flatnonzero(weeks == week) for week in np.unique(weeks)]
    drawn = np.random.default_rng(0).integers(0, len(rows), (1000, len(rows)))
    for place, result in enumerate(runs):
        own = result.jobs["wait_s"].to_numpy()
        changes = []
        for sample in drawn:
            pooled = np.concatenate([rows[week] for week in sample])
            changes.append(np.quantile(own[pooled], 0.95) - np.quantile(base[pooled], 0.95))
        row = found.table.row(place, named=True)
        assert row["p95_wait_s_change"] == np.quantile(own, 0.95) - np.quantile(base, 0.95)
        assert (row["p95_wait_s_change_low"], row["p95_wait_s_change_high"]) == tuple(
            np.quantile(changes, (0.025, 0.975))
        )


def weekly_j(result: hs.Result, first_s: float, last_s: float) -> list[float]:
    """Energy of each week of a window, step by step; the last watts hold on."""
    times, watts = result.timeline["time_s"].to_list(), result.timeline["power_w"].to_list()
    times.append(last_s)
    found = [0.0] * (math.ceil(last_s / WEEK_S) - int(first_s // WEEK_S))
    for place, power_w in enumerate(watts):
        start_s, end_s = times[place], times[place + 1]
        while start_s < end_s:
            until_s = min(end_s, (start_s // WEEK_S + 1) * WEEK_S)
            found[int(start_s // WEEK_S) - int(first_s // WEEK_S)] += power_w * (until_s - start_s)
            start_s = until_s
    return found


def test_changes_of_energy_are_over_one_window_for_all_rows(found: hs.WhatIf, runs: list[hs.Result]) -> None:
    first_s = float(runs[0].jobs["submit_s"].min())  # type: ignore[arg-type]
    last_s = max(float(result.jobs["end_s"].max()) for result in runs)  # type: ignore[arg-type]
    base = weekly_j(runs[0], first_s, last_s)
    for place, result in enumerate(runs):
        own = weekly_j(result, first_s, last_s)
        x = [after - before for after, before in zip(own, base, strict=True)]
        ratio, half = half_width(x, base, list(range(len(base))))
        row = found.changes.filter(row=place, metric="energy_j").row(0, named=True)
        names = ("change", "change_ratio", "change_ratio_low", "change_ratio_high", "change_low", "change_high")
        ends = (ratio, ratio - half, ratio + half, (ratio - half) * sum(base), (ratio + half) * sum(base))
        assert [row[name] for name in names] == pytest.approx([sum(x), *ends], rel=1e-9, abs=1e-3)


def test_marked_rows_are_those_that_no_other_dominates(found: hs.WhatIf) -> None:
    signs = [-1 if METRICS[metric].better == "higher" else 1 for metric in METRICS_ASKED]
    rows = [
        [sign * value for sign, value in zip(signs, row, strict=True)]
        for row in found.table.select(METRICS_ASKED).rows()
    ]

    def dominates(a: list[float], b: list[float]) -> bool:
        return all(x <= y for x, y in zip(a, b, strict=True)) and any(x < y for x, y in zip(a, b, strict=True))

    assert found.table["pareto"].to_list() == [not any(dominates(other, row) for other in rows) for row in rows]
    assert 0 < found.table["pareto"].sum() < len(rows)


def test_equal_settings_are_run_once_and_all_marked(tmp_path: Path) -> None:
    log, machine = work(120)
    settings = {"nodes": [16, 20], "backfill.depth": [1, 2], "seed": [0, 7]}
    found = hs.what_if(log, machine, "easy", settings, workers=1, out=tmp_path)
    # Without chance the seed decides nothing: today, another depth, and both on more nodes.
    assert len((tmp_path / "whatif.jsonl").read_text().splitlines()) == 4
    metrics = ("energy_j", "mean_wait_s", "p95_wait_s", "pareto")
    rows = found.table.select(metrics).rows()
    assert rows[0] == rows[1] == rows[2]
    assert rows[5] == rows[6]
    assert len(rows) == 9


def test_a_row_with_more_jobs_that_never_start_is_not_marked_and_dominates_nothing() -> None:
    log, machine = work(120)
    wide = int(log.to_polars()["node_count"].max())  # type: ignore[arg-type]
    found = hs.what_if(log, machine, "easy", {"nodes": [wide - 1, 16, 17]}, workers=1)
    small = found.table.row(1, named=True)
    assert small["unstarted"] > 0 == found.table["unstarted"][0]
    assert not small["pareto"]
    assert small["energy_j"] < found.table["energy_j"][0]
    assert found.table["pareto"].to_list()[0]
    assert any("row 1" in note for note in found.notes)


def test_jobs_that_do_not_start_in_both_runs_are_in_no_change() -> None:
    log, machine = work(200)
    found = hs.what_if(log, machine, "easy", {"nodes": [9]}, workers=1)
    today, small = (
        hs.simulate(log, machine, "easy"),
        hs.simulate(log, hs.Platform.homogeneous(9, 100.0, 300.0, boot_s=300, shutdown_s=120, off_w=10.0), "easy"),
    )
    both = small.jobs["wait_s"].is_not_null()
    own, base = (result.jobs.filter(both)["wait_s"].to_numpy() for result in (small, today))
    weeks = np.floor(today.jobs.filter(both)["submit_s"].to_numpy() / WEEK_S)
    row = found.table.row(1, named=True)
    assert row["mean_wait_s_change"] == pytest.approx(float((own - base).mean()), rel=1e-12)
    names = ("p95_wait_s_change", "p95_wait_s_change_low", "p95_wait_s_change_high")
    assert tuple(row[name] for name in names) == bootstrap_weeks(base, own, weeks)


def test_few_weeks_give_no_interval() -> None:
    log, machine = work(60, weeks=1.5)
    found = hs.what_if(log, machine, "easy", {"nodes": [20]}, workers=1)
    names = [f"{metric}_{end}" for metric in found.metrics for end in ("change_low", "change_high", "certain")]
    assert found.table.select(names).null_count().row(0) == (2,) * 9
    assert found.table["mean_wait_s_change"][1] < 0
    assert any(note.startswith("no intervals: the jobs are of 2 weeks") for note in found.notes)


def test_a_result_is_todays_run(tmp_path: Path) -> None:
    log, machine = work(150)
    hs.simulate(log, machine, "easy:sleep=timeout", kill_grace_s=60.0).write(tmp_path)
    of_result = hs.what_if(hs.read_result(tmp_path), settings={"nodes": [20]}, workers=1)
    of_log = hs.what_if(log, machine, "easy:sleep=timeout", {"nodes": [20]}, workers=1, kill_grace_s=60.0)
    assert of_result.runs.equals(of_log.runs)
    assert of_result.changes.equals(of_log.changes)
    assert of_result.notes == of_log.notes


def test_files_are_the_same_with_any_number_of_workers(tmp_path: Path) -> None:
    log, machine = work(150)
    for workers in (1, 2):
        hs.what_if(log, machine, "random", SETTINGS, workers=workers, out=tmp_path / str(workers))
    assert contents(tmp_path / "1") == contents(tmp_path / "2")


def contents(folder: Path) -> dict[str, bytes]:
    """Files of an answer; the journal has its lines in the order in which runs ended."""
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir()) if path.name != "whatif.jsonl"}


SCRIPT = """
import sys
sys.path.insert(0, sys.argv[2])
from held_store import hold_after
from test_what_if import answer
if sys.argv[4:]:
    hold_after(int(sys.argv[4]))
answer(sys.argv[1], int(sys.argv[3]))
"""


def answer(folder: str, workers: int) -> None:
    """Asks for 24 settings."""
    log, machine = work(800)
    asked = {"nodes": ["+10%", "-10%"], "backfill.depth": [1, 2, 4, 8], "sleep": ["none", "timeout", "planned"]}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        hs.what_if(log, machine, "easy", asked, workers=workers, out=folder)


STOPS = (4, 13) if settings.get_current_profile_name() == "long" else (8,)
"""Lines in the journal when it is killed; sweeps, which keep theirs in the same way, are killed twice."""


def test_killed_and_restarted_it_repeats_no_run_and_gives_the_same_bytes(tmp_path: Path) -> None:
    def start(name: str, workers: int, *held: int) -> subprocess.Popen[bytes]:
        arguments = (tmp_path / name, Path(__file__).parent, workers, *held)
        words = [sys.executable, "-c", SCRIPT, *map(str, arguments)]
        return subprocess.Popen(words, env={**os.environ, "PYTHONPATH": PACKAGE}, start_new_session=True)

    answer(str(tmp_path / "whole"), 1)
    journal = tmp_path / "cut" / "whatif.jsonl"
    for wanted in STOPS:
        process = start("cut", 2, wanted - lines_of(journal))
        while lines_of(journal) < wanted:
            assert process.poll() is None
            time.sleep(0.02)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    before = journal.read_bytes()
    assert start("cut", 2).wait() == 0
    assert contents(tmp_path / "cut") == contents(tmp_path / "whole")
    after = journal.read_bytes()
    whole_lines = before[: before.rfind(b"\n") + 1]
    assert after.startswith(whole_lines)
    keys = [line.split(b'"')[3] for line in after.splitlines()]
    assert len(keys) == len(set(keys)) == 25


def lines_of(path: Path) -> int:
    return path.read_bytes().count(b"\n") if path.exists() else 0
