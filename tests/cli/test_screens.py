"""Screens of every verb in a pipe of 80 columns, kept whole in ``screens``: look at what changes in them.

``HETSCHED_WRITE_SCREENS=1 pytest tests/cli/test_screens.py`` writes them.
"""

import os
import re
import shlex
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import hetsched as hs
from hetsched.cli.app import FAMILIES, VERBS

SCREENS = Path(__file__).parent / "screens"
ELSEWHERE = {
    "demo": "test_policies_and_demo.py",
    "reproduce": "test_reproduce.py",
    "new policy": "test_new.py",
    "policies": "test_policies_and_demo.py: it repeats the registry, whose words change",
    **dict.fromkeys(
        ("slurm doctor", "slurm conf", "slurm platform", "slurm run", "slurm leave", "slurm sweep", "slurm status"),
        "test_slurm_verbs.py",
    ),
    "run": "tests/live/test_run.py: real jobs take different times",
    "report": "no table: a line for its page",
}
"""Verbs whose screens are kept by tests of their own."""

CASES = {
    "hetsched": "",
    "simulate": "simulate small.swf --idle-w 90 --tdp-w 300",
    "compare": "compare log.csv --nodes 12 --policies fcfs,easy:order=shortest:depth=4,conservative --seeds 2",
    "compare-chance": "compare apps.csv --table watts.csv --nodes 4 --policies random,fcfs --seeds 3",
    "compare-metrics": "compare log.csv --nodes 12 --policies fcfs,easy --metrics "
    "mean_bounded_slowdown,utilization_ratio,throughput_jobs_per_hour,mean_turnaround_s,peak_power_w,median_wait_s",
    "whatif": "whatif log.csv --nodes 12 --set nodes=+10%,16 --set backfill=none,first-fit",
    "sweep": "sweep sweep.toml --workers 1",
    "import": "import log.csv",
    "inspect": "inspect log.csv --nodes 12",
    "validate": "validate log.csv --nodes 12 --policy fcfs",
    "validate-calibrate": "validate log.csv --nodes 12 --policy easy:backfill=plan:depth=1 --calibrate "
    "--evaluations 9 --settings order,backfill",
    "generate": "generate poisson --nodes 64 --jobs 500 --load 0.7 --set sizes=1:3,16:1",
    "generate-kinds": "generate",
    "provision": "provision log.csv --budget-w 900 --base-w 25 --mix 85:3,70:2,55:1 --nodes 8,12 --seeds 2",
    "machines": "machines",
    "power-fit": "power fit counters.csv watts-of-devices.csv --out m.npz --mean-model linear --device-model linear",
    "power-evaluate": "power evaluate counters.csv watts-of-devices.csv --split in_sample "
    "--model power-ratio:model=linear",
}


@pytest.fixture
def logs(measured):
    """A log that EASY made, with the shortest job first; one with applications; and counters of devices."""
    rng, count = np.random.default_rng(0), 300
    runtime = np.exp(rng.normal(8, 1, count)).clip(60, 40_000).round()
    size = rng.integers(1, 7, count)
    submit = np.sort(rng.random(count) * (runtime * size).sum() / 12 / 0.9).round()
    columns = {"job_id": np.arange(count), "submit_s": submit, "runtime_s": runtime, "walltime_s": runtime * 2}
    users = [f"u{k % 5}" for k in range(count)]
    frame = pl.DataFrame({**columns, "node_count": size, "user": users, "queue": ["long", "short", "long"] * 100})
    machine = hs.Platform.homogeneous(12, idle_w=100, tdp_w=300)
    starts = hs.simulate(hs.Workload.from_polars(frame), machine, "easy:order=shortest").jobs["start_s"]
    frame.with_columns(observed_start_s=starts).write_csv("log.csv")
    rows = "".join(f"{job},{50 * job},{60 + job % 9},1,a\n" for job in range(40))
    (measured / "apps.csv").write_text(f"job_id,submit_s,runtime_s,node_count,app\n{rows}")
    (measured / "watts.csv").rename(measured / "watts-of-devices.csv")
    (measured / "watts.csv").write_text("app,node,power_w\n" + "".join(f"a,{k},{100 + 50 * k}\n" for k in range(4)))
    (measured / "sweep.toml").write_text(
        'policies = ["fcfs", "easy"]\nseeds = 3\nmetrics = ["mean_wait_s", "max_wait_s"]\n'
        '[generator]\nkind = "poisson"\nnodes = 32\njobs = 200\nsizes = "1:3,16:1"\nload = [0.5, 0.7]\n'
    )


def without_times(text):
    """The text with its measured times and speeds replaced."""
    return re.sub(r"\d[\d,]*(\.\d+)? (jobs/s|ms)", "0 jobs/s", text)


@pytest.mark.filterwarnings("ignore::hetsched.errors.RunWarning")
@pytest.mark.parametrize("name", CASES)
def test_a_screen_is_as_it_was(hetsched, logs, name):
    said = hetsched(*shlex.split(CASES[name]))
    assert said.code == 0, said.err
    found = without_times(said.out) + "\n"
    path = SCREENS / f"{name}.txt"
    if os.environ.get("HETSCHED_WRITE_SCREENS"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(found, encoding="utf-8")
    assert found == path.read_text(encoding="utf-8"), "HETSCHED_WRITE_SCREENS=1 writes it; look at what changes"


@pytest.mark.parametrize("path", sorted(SCREENS.glob("*.txt")), ids=lambda path: path.stem)
def test_a_kept_screen_is_plain_text_whose_tables_fit(path):
    text = path.read_text(encoding="utf-8")
    assert "\x1b" not in text
    assert not any(line != line.rstrip() for line in text.splitlines())
    for line in text.splitlines():
        # Sentences, and commands to be copied, are whole in a pipe; rows of tables begin with a space.
        assert len(line) <= 80 or not line.startswith(" "), line


def test_every_verb_has_its_screen():
    verbs = [*VERBS, *(f"{word} {verb}" for word, (_, verbs) in FAMILIES.items() for verb in verbs)]
    kept = [words for words in CASES.values() if words]
    missing = [verb for verb in verbs if verb not in ELSEWHERE and not any(one.startswith(verb) for one in kept)]
    assert missing == ["power predict"], "its table is that of the file that it writes"
    assert sorted(path.stem for path in SCREENS.glob("*.txt")) == sorted(CASES)
