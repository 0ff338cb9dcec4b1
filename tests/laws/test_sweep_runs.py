"""A sweep gives the rows of single runs, whatever the number of workers and however often it is killed meanwhile."""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import settings

import hetsched as hs
from hetsched.many.store import FILE
from hetsched.many.sweep import sweep

pytestmark = pytest.mark.filterwarnings("ignore::hetsched.errors.LoadWarning")
needs_proc = pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="looks for processes in /proc")

PACKAGE = str(Path(hs.__file__).parents[1])
POLICIES = ["fcfs", "easy", "random", "easy:placement=lowest-power"]
GONE_WITHIN_S = 60.0
"""A second is promised; the rest is for a busy machine."""
BEGUN_S = 1.0
"""Seconds of a core after which a process runs what it is asked to: imports take half of them."""
KILLS = 4 if settings.get_current_profile_name() == "long" else 2
SEEDS = 25 * KILLS
"""Runs of a sweep that is killed so often before it ends."""

# What is swept in other processes. Nothing guards it: it stands at the top of a script.
SCRIPT = """
import os
import sys
import numpy as np
import polars as pl
import hetsched as hs
from hetsched.many.sweep import sweep

if "HELD_AFTER" in os.environ:
    sys.path.insert(0, os.environ["LAWS"])
    import held_store
    held_store.hold_after(int(os.environ["HELD_AFTER"]))

rng = np.random.default_rng(2)
jobs, seeds, workers = map(int, sys.argv[2:5])
frame = pl.DataFrame({
    "job_id": np.arange(jobs),
    "submit_s": np.arange(jobs) * 100,
    "runtime_s": rng.integers(1, 900, jobs),
    "node_count": rng.integers(1, 9, jobs),
})
log = hs.Workload.from_polars(frame)
machine = hs.Platform.homogeneous(nodes=32, idle_w=100, tdp_w=300)
runs = sweep(log, machine, ["easy", "random"], seeds=seeds, workers=workers, out=sys.argv[1])
print(len(runs))
"""


def week(seed: int, jobs: int = 300, nodes: int = 16) -> tuple[hs.Workload, hs.Platform]:
    """Work for nodes that differ."""
    rng = np.random.default_rng(seed)
    frame = pl.DataFrame(
        {
            "job_id": np.arange(jobs),
            "submit_s": np.sort(rng.uniform(0, 60.0 * jobs, jobs)),
            "runtime_s": rng.lognormal(5.0, 1.0, jobs),
            "node_count": rng.integers(1, nodes // 2, jobs),
            "app": rng.choice(["heat", "flow"], jobs),
            "note": ["the user's own"] * jobs,
        }
    )
    table = hs.VariationTable(["*"], power_w=rng.uniform(150.0, 400.0, (1, nodes)))
    platform = hs.Platform.homogeneous(nodes=nodes, idle_w=rng.uniform(60.0, 100.0, nodes), tdp_w=400.0)
    return hs.Workload.from_polars(frame), platform.with_tables(actual=table)


def test_rows_are_those_of_single_runs() -> None:
    works = {str(seed): week(seed) for seed in (1, 2)}
    workloads = {name: workload for name, (workload, _) in works.items()}
    platforms = {name: platform for name, (_, platform) in works.items()}
    frame = sweep(workloads, platforms, POLICIES, seeds=[4, 8], workers=2)
    assert len(frame) == 2 * 2 * len(POLICIES) * 2
    for row in frame.to_dicts():
        workload, platform, policy, seed = (row.pop(name) for name in ("workload", "platform", "policy", "seed"))
        assert row == hs.simulate(workloads[workload], platforms[platform], policy, seed=seed).summary()


def test_one_and_three_workers_write_the_same_bytes(tmp_path: Path) -> None:
    workload, platform = week(3)
    written = {}
    for workers in (1, 3):
        sweep(workload, platform, POLICIES, seeds=12, workers=workers, out=tmp_path / str(workers))
        written[workers] = (tmp_path / str(workers) / "sweep.parquet").read_bytes()
    assert written[1] == written[3]


def used_s(pid: int) -> float:
    """Seconds of a core that a process has used; 0 of one that is gone."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return 0.0
    return sum(map(int, stat.rpartition(")")[2].split()[11:13])) / os.sysconf("SC_CLK_TCK")


class Started:
    """The script above in a process of its own, whose processes can be found by a mark in their environment."""

    def __init__(self, script: Path, *arguments: object, held_after: int | None = None) -> None:
        held = {} if held_after is None else {"HELD_AFTER": str(held_after), "LAWS": str(Path(__file__).parent)}
        self.mark = f"hetsched-test-{uuid.uuid4()}"
        self.process = subprocess.Popen(
            [sys.executable, str(script), *map(str, arguments)],
            cwd=script.parent,
            env={**os.environ, "PYTHONPATH": PACKAGE, "PYTHONWARNINGS": "ignore", "MARK": self.mark, **held},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def alive(self) -> list[int]:
        """Processes that are still there, its own and its workers'."""
        found = []
        for environment in Path("/proc").glob("[0-9]*/environ"):
            # One that ends meanwhile, or is somebody else's.
            with contextlib.suppress(OSError):
                if self.mark.encode() in environment.read_bytes():
                    found.append(int(environment.parent.name))
        return found

    def wait_for_lines(self, folder: Path, count: int) -> None:
        """Until so many runs are in the journal, or it has ended."""
        while self.process.poll() is None and len(finished_lines(folder)) < count:
            time.sleep(0.005)

    def all_gone(self) -> bool:
        """True if all its processes end soon."""
        until = time.monotonic() + GONE_WITHIN_S
        while self.alive() and time.monotonic() < until:
            time.sleep(0.02)
        return not self.alive()


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "script.py"
    path.write_text(SCRIPT)
    return path


def finished_lines(folder: Path) -> list[bytes]:
    path = folder / FILE
    lines = path.read_bytes().splitlines(keepends=True) if path.exists() else []
    return [line for line in lines if line.endswith(b"\n")]


def keys(folder: Path) -> Iterator[str]:
    return (json.loads(line)["key"] for line in finished_lines(folder))


@needs_proc
def test_killed_at_any_time_nothing_is_lost_and_nothing_run_twice(tmp_path: Path, script: Path) -> None:
    chance = random.Random(5)
    out, seen = tmp_path / "out", []
    for _ in range(KILLS):
        # It comes to no end before it is killed, and is held some lines later at the most.
        count = chance.randint(1, 12)
        run = Started(script, out, 1_000, SEEDS, 2, held_after=count + 2)
        run.wait_for_lines(out, len(seen) + count)
        time.sleep(chance.uniform(0, 0.02))
        assert run.process.poll() is None
        run.process.kill()
        run.process.communicate()
        assert run.all_gone()
        before, seen = seen, list(keys(out))
        # What was there stays, and more has come.
        assert seen[: len(before)] == before
        assert len(before) < len(seen)
    run = Started(script, out, 1_000, SEEDS, 2)
    assert run.process.communicate(timeout=600) == (f"{2 * SEEDS}\n", "")
    # One run of `easy`, and one of `random` with each seed.
    assert len(list(keys(out))) == len(set(keys(out))) == SEEDS + 1
    assert list(keys(out))[: len(seen)] == seen
    whole = Started(script, tmp_path / "whole", 1_000, SEEDS, 1)
    assert whole.process.communicate(timeout=600) == (f"{2 * SEEDS}\n", "")
    assert (out / "sweep.parquet").read_bytes() == (tmp_path / "whole" / "sweep.parquet").read_bytes()
    assert sorted(path.name for path in out.iterdir()) == [FILE, "sweep.parquet"]


@needs_proc
@pytest.mark.parametrize("workers", [1, 2])
def test_ctrl_c_stops_it_at_once_and_keeps_what_is_done(tmp_path: Path, script: Path, workers: int) -> None:
    # A hundred times more work than there are nodes, planned again whenever a job ends early: each run takes minutes.
    runtime = '"runtime_s": rng.integers(1, 900, jobs),'
    early = '"runtime_s": (runtime_s := rng.integers(1, 900, jobs)), "walltime_s": 2 * runtime_s,'
    hopeless = SCRIPT.replace("* 100", "* 1").replace(
        '"easy", "random"', '"conservative", "conservative:order=longest"'
    )
    assert runtime in hopeless
    hopeless = hopeless.replace(runtime, early)
    script.write_text(hopeless)
    out = tmp_path / "out"
    run = Started(script, out, 200_000, 1, workers)
    # What runs it is well beyond its imports, in a run that none of the others waits for.
    while not (out / FILE).exists() or sum(used_s(pid) > BEGUN_S for pid in run.alive()) < workers:
        assert run.process.poll() is None
        time.sleep(0.02)
    # As a terminal does it: to every process of the group.
    os.killpg(run.process.pid, signal.SIGINT)
    _, said = run.process.communicate(timeout=GONE_WITHIN_S)
    assert run.all_gone()
    assert run.process.returncode != 0
    assert said.count("Traceback") == 1
    assert said.rstrip().endswith("KeyboardInterrupt")
    assert [path.name for path in out.iterdir()] == [FILE]


def test_it_needs_no_guard_in_a_script(tmp_path: Path, script: Path) -> None:
    # Modules of these names in the script's folder must not get in the way of the workers either.
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "polars.py").write_text("raise SystemExit('the wrong polars')")
    (elsewhere / "signal.py").write_text("raise SystemExit('the wrong signal')")
    done = subprocess.run(
        [sys.executable, str(script), "out", "200", "6", "2"],
        cwd=elsewhere,
        env={**os.environ, "PYTHONPATH": PACKAGE},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout, done.stderr, done.returncode) == ("12\n", "", 0)


def test_it_needs_no_script_at_all(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-", str(tmp_path / "out"), "200", "6", "2"],
        input=SCRIPT,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": PACKAGE},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout, done.stderr, done.returncode) == ("12\n", "", 0)
