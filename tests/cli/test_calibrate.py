"""``hetsched validate --calibrate``: its screen, files and faults."""

import json

import numpy as np
import polars as pl
import pytest

import hetsched as hs

pytestmark = pytest.mark.filterwarnings("ignore::hetsched.errors.RunWarning")
NODES = 12


@pytest.fixture
def log(folder):
    """A log that EASY made with the shortest job first."""
    rng, jobs = np.random.default_rng(0), 500
    runtime = np.exp(rng.normal(8, 1, jobs)).clip(60, 40_000).round()
    size = rng.integers(1, 7, jobs)
    submit = np.sort(rng.random(jobs) * (runtime * size).sum() / NODES / 0.9).round()
    frame = pl.DataFrame(
        {"job_id": np.arange(jobs), "submit_s": submit, "runtime_s": runtime, "node_count": size, "walltime_s": runtime}
    )
    machine = hs.Platform.homogeneous(NODES, idle_w=100, tdp_w=300)
    starts = hs.simulate(hs.Workload.from_polars(frame), machine, "easy:order=shortest").jobs["start_s"]
    frame.with_columns(observed_start_s=starts).write_csv(folder / "log.csv")
    return "log.csv"


def test_a_screen_and_the_files_of_the_next_command(hetsched, folder, log):
    arguments = ("validate", log, "--nodes", str(NODES), "--calibrate", "--evaluations", "20", "--out", "out")
    said = hetsched(*arguments)
    assert said.code == 0, said.err
    assert "  order: shortest\n" in said.out
    assert "20 evaluations" in said.out
    for rival in ("fcfs", "calibrated", "every job"):
        assert rival in said.out
    lines = said.out.splitlines()
    first = lines.index("Waits: fitted to the first half, tried on the second")
    table = lines[first : next(place for place, line in enumerate(lines) if line.startswith(" calibrated")) + 1]
    assert all(len(line) <= 80 for line in table)
    names = ["calibration.json", "calibration.jsonl", "platform.toml", "policy.toml", "scores.csv"]
    names += ["second-half.jsonl", "trace.parquet", "trials.csv"]
    assert sorted(path.name for path in (folder / "out").iterdir()) == names
    assert pl.read_csv(folder / "out" / "trials.csv").height == 20
    own = ("--platform", "out/platform.toml", "--policy-file", "out/policy.toml", "--no-kill-at-walltime", "--json")
    run = hetsched("simulate", "out/trace.parquet", *own)
    assert run.code == 0, run.err
    observed = pl.read_csv(folder / log).select((pl.col("observed_start_s") - pl.col("submit_s")).mean()).item()
    assert json.loads(run.out)["summary"]["mean_wait_s"] == pytest.approx(observed)
    again = json.loads(hetsched(*arguments, "--json").out)
    assert again["summary"]["looks"] == 1, "the same calibration is one"
    other = hetsched(*arguments[:-3], "21", *arguments[-2:])
    assert other.out.index("2 calibrations of this journal") < other.out.index("found in the first half")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--evaluations", "5"], "--evaluations: found 5, expected --calibrate as well"),
        (["--known-events"], "--known-events: found it, expected --calibrate as well"),
        (["--calibrate", "--settings", "ordr"], "--settings: found `ordr`"),
        (["--calibrate", "--evaluations", "0"], "--evaluations: found `0`"),
        (["--calibrate", "--warmup-s", "0"], "--warmup-s: found 0.0, expected nothing with --calibrate"),
        (["--calibrate", "--baseline", "fcfs"], "--baseline: found fcfs, expected nothing with --calibrate"),
        (["--calibrate", "--horizon", "1h"], "--horizon: found [3600.0], expected nothing with --calibrate"),
        (["--calibrate", "--until-s", "9"], "--until-s: found 9.0, expected nothing with --calibrate"),
    ],
)
def test_faults(hetsched, log, arguments, message):
    said = hetsched("validate", log, "--nodes", str(NODES), *arguments)
    assert said.code == 2
    assert message in said.err, said.err
