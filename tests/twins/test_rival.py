"""The engine against the C++ program of the benches: equal starts, node ids and node energies, byte by byte."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import hetsched as hs

SOURCE = Path(__file__).parents[2] / "benches" / "rival" / "rival.cpp"
COMPILER = shutil.which("g++")
NODES, IDLE_W, BUSY_W = 100, 90.25, 301.5

pytestmark = [
    pytest.mark.skipif(COMPILER is None, reason="no g++ on the PATH"),
    pytest.mark.filterwarnings("ignore::hetsched.errors.RunWarning", "ignore::hetsched.errors.LoadWarning"),
]


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The C++ program, with all warnings as errors."""
    path = tmp_path_factory.mktemp("rival") / "rival"
    assert COMPILER is not None
    subprocess.run([COMPILER, "-std=c++17", "-O1", "-Wall", "-Wextra", "-Werror", "-o", path, SOURCE], check=True)
    return path


def swf(path: Path, seed: int, mean_gap_s: float) -> Path:
    """A log with bursts, jobs of length zero, killed, without a walltime, and one that is too large."""
    rng = np.random.default_rng(seed)
    count = 1_500
    submit = np.cumsum(np.where(rng.random(count) < 0.3, 0, rng.exponential(mean_gap_s, count).round())).astype(int)
    runtime = np.where(rng.random(count) < 0.05, 0, rng.lognormal(5, 1.5, count)).astype(int)
    walltime = (runtime * rng.choice([0.5, 1, 1, 2, 4], count)).astype(int) + 1
    walltime = np.where(rng.random(count) < 0.1, -1, walltime)
    nodes = np.where(rng.random(count) < 0.7, rng.integers(1, 12, count), rng.integers(1, NODES + 1, count))
    nodes[count // 2] = NODES + 1
    lines = [
        f"{job} {submit[at]} -1 {runtime[at]} {nodes[at]} -1 -1 {nodes[at]} {walltime[at]} -1 1 1 -1 1 1 -1 -1 -1"
        for at, job in enumerate(range(1, count + 1))
    ]
    path.write_text("; MaxNodes: 100\n" + "\n".join(lines) + "\n")
    return path


def of_engine(log: Path, policy: str) -> bytes:
    """Starts in microseconds, -1 for none; node ids job by job; node energies, J."""
    result = hs.simulate(hs.read_swf(log), hs.Platform.homogeneous(NODES, IDLE_W, 2 * BUSY_W, busy_w=BUSY_W), policy)
    start = np.rint(result.jobs["start_s"].fill_null(-1e-6).to_numpy() * 1e6).astype(np.int64)
    assert (start == -1).sum() == 1
    assert (start > 0).any()
    ids = result.jobs["nodes"].explode(empty_as_null=False).drop_nulls().to_numpy().astype(np.int32)
    return b"".join(column.tobytes() for column in (start, ids, result.nodes["energy_j"].to_numpy()))


@pytest.mark.parametrize("policy", ["fcfs", "easy"])
@pytest.mark.parametrize(("seed", "mean_gap_s"), [(1, 60), (2, 120), (3, 300)])
def test_the_same_schedule_nodes_and_energies(
    program: Path, tmp_path: Path, policy: str, seed: int, mean_gap_s: float
) -> None:
    log, out = swf(tmp_path / "log.swf", seed, mean_gap_s), tmp_path / "out"
    subprocess.run([program, log, str(NODES), policy, str(IDLE_W), str(BUSY_W), out], check=True, capture_output=True)
    assert out.read_bytes() == of_engine(log, policy)


def test_an_empty_log_is_refused(program: Path, tmp_path: Path) -> None:
    command = [program, tmp_path / "none.swf", "4", "easy", "1", "2"]
    done = subprocess.run(command, capture_output=True, check=False, text=True)
    assert done.returncode == 1
    assert "no jobs" in done.stderr
