"""``hetsched inspect``: its screen, files and faults."""

import json
import shlex
from importlib.resources import files

import polars as pl
import pytest

import hetsched as hs


@pytest.fixture
def log(folder):
    """Jobs of one user who runs two at once, on a machine of which most is idle."""
    rows, free = [], [0, 0]
    for job in range(100):
        submit, runtime = 100 * job, 250 + 10 * (job % 7)
        start = max(submit, min(free) + 5)
        free[free.index(min(free))] = start + runtime
        rows.append(f"{job},{submit},{runtime},1,ann,{start}")
    (folder / "log.csv").write_text("job_id,submit_s,runtime_s,node_count,user,observed_start_s\n" + "\n".join(rows))
    return "log.csv"


def test_a_screen_of_findings(hetsched, log):
    said = hetsched("inspect", log, "--nodes", "8")
    assert said.code == 0, said.err
    text = " ".join(said.out.split())
    assert "machine, 8 nodes" in text
    assert "at most 2 running" in text
    assert "ceiling: wrong if the group never asked for more at once" in text
    shown, _, below = said.out.partition("not shown")
    assert "beat" in below
    assert "half of 200 starts" in " ".join(below.split())
    assert "beat" not in shown
    lines = said.out.splitlines()
    own = lines[lines.index("What the log says of its machine") :]
    assert all(len(line) <= 80 for line in own)
    assert len(lines) <= 48, "one screen"


def test_files_and_json(hetsched, folder, log):
    said = hetsched("inspect", log, "--out", "out", "--json", "--until-s", "6000")
    assert said.code == 0, said.err
    found = json.loads(said.out)
    assert next(iter(found)) == "summary"
    assert found["summary"]["nodes"] == 2, "no more are ever in use"
    names = ["events.csv", "findings.csv", "inspection.json", "platform.toml", "policy.toml", "trace.parquet"]
    assert sorted(path.name for path in (folder / "out").iterdir()) == names
    settings = json.loads((folder / "out" / "inspection.json").read_text())["settings"]
    assert settings == found["summary"]
    assert pl.read_csv(folder / "out" / "findings.csv").height == len(found["findings"])


def test_events_are_read_by_simulate(hetsched, folder):
    """A machine that was down while jobs came."""
    starts = [30 * k if 30 * k < 30_000 or 30 * k >= 40_000 else 40_000 for k in range(2000)]
    rows = [f"{k},{30 * k},20,1,u{k % 5},{start}" for k, start in enumerate(starts)]
    (folder / "log.csv").write_text("job_id,submit_s,runtime_s,node_count,user,observed_start_s\n" + "\n".join(rows))
    assert hetsched("inspect", "log.csv", "--nodes", "4", "--out", "out").code == 0
    assert (folder / "out" / "events.csv").read_text().splitlines()[1:] == ["29970.0,maintenance,0-3,40000.0,29970.0"]
    said = hetsched("simulate", "log.csv", "--nodes", "4", "--events", "out/events.csv")
    assert said.code == 0, said.err


def next_of(said):
    """Words of the command that a screen names, without its first."""
    lines = said.out.splitlines()
    return shlex.split(lines[lines.index("to try it:") + 1])[1:]


def test_the_command_that_it_names_runs_with_what_was_found(hetsched, folder, log):
    """A user who runs two jobs at once does so in the run, where the machine has room for eight."""
    said = hetsched("inspect", log, "--nodes", "8", "--out", "a folder")
    assert "hetsched validate 'a folder/trace.parquet'" in said.out
    policy = (folder / "a folder" / "policy.toml").read_text()
    assert "array_id, array_limit in trace.parquet: at most 2 running of user ann" in policy.replace("\n# ", " ")
    found = hetsched(*next_of(said), "--warmup-s", "0", "--cooldown-s", "0", "--json")
    assert found.code == 0, found.err
    scores = json.loads(found.out)["summary"]
    without = hetsched("validate", log, "--nodes", "8", "--warmup-s", "0", "--cooldown-s", "0", "--json")
    assert scores["log_error"] < 0.1 < json.loads(without.out)["summary"]["log_error"]


def test_a_real_machine_whose_partitions_overlap(hetsched, folder):
    """The dump that is shipped: its policy has a backfill that names nodes, which `easy` does not."""
    data = files("hetsched") / "data"
    (folder / "jobs.sacct.gz").write_bytes((data / "slurm-testbed.sacct.gz").read_bytes())
    (folder / "slurm.conf").write_bytes((data / "slurm-testbed.conf").read_bytes())
    said = hetsched("inspect", "jobs.sacct.gz", "--platform", "slurm.conf", "--out", "found")
    assert said.code == 0, said.err
    written = hs.read_platform(folder / "found" / "platform.toml")
    assert [(queue.name, len(queue.numbers)) for queue in written.queues] == [("debug", 4), ("batch", 32)]
    assert hs.read_policy(folder / "found" / "policy.toml").parts["backfill"]["name"] == "plan"
    found = hetsched(*next_of(said), "--json")
    assert found.code == 0, found.err
    assert json.loads(found.out)["summary"]["skill_best"] > 0


def test_events_are_in_the_command_where_there_are_some(hetsched, folder):
    """Jobs that came in an outage start one by one when it is over."""
    submits = [30 * k for k in range(2000)]
    starts = [t if not 30_000 <= t < 40_000 else 40_000 + (t - 30_000) // 5 for t in submits]
    rows = [f"{k},{30 * k},20,1,u{k % 5},{start}" for k, start in enumerate(starts)]
    (folder / "log.csv").write_text("job_id,submit_s,runtime_s,node_count,user,observed_start_s\n" + "\n".join(rows))
    said = hetsched("inspect", "log.csv", "--nodes", "40", "--out", "out")
    assert next_of(said)[-2:] == ["--events", "out/events.csv"]
    assert "events.csv, from 29970 to 40000 s: maintenance of all nodes" in (folder / "out/platform.toml").read_text()
    whole = ("--warmup-s", "0", "--cooldown-s", "0", "--json")
    scores = json.loads(hetsched(*next_of(said), *whole).out)["summary"]
    without = json.loads(hetsched("validate", "log.csv", "--nodes", "40", *whole).out)["summary"]
    assert scores["log_error"] < without["log_error"] / 10


def test_what_is_read_is_not_written_over(hetsched, folder, log):
    assert hetsched("inspect", log, "--nodes", "8", "--out", "out").code == 0
    before = (folder / "out" / "trace.parquet").read_bytes()
    said = hetsched("inspect", "out/trace.parquet", "--platform", "out/platform.toml", "--out", "./out/")
    assert said.code == 2
    for name in ("trace.parquet", "platform.toml"):
        assert f"--out: found `./out/`, expected another folder: {name} there is what this command reads" in said.err
    assert (folder / "out" / "trace.parquet").read_bytes() == before
    assert hetsched("inspect", log, "--nodes", "8", "--out", "out").code == 0, (
        "a folder of its own may be written again"
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["log.csv", "--nodes", "0"], "--nodes: found `0`"),
        (["log.csv", "--nodes", "4", "--platform", "m.toml"], "--nodes: found `4`, expected nothing with --platform"),
        (["log.csv", "--until-s", "-5"], "no such job before until_s -5"),
        (["bare.csv"], "expected a log that says when its jobs started"),
        (["nothing.csv"], "no such file"),
    ],
)
def test_faults(hetsched, folder, log, arguments, message):
    (folder / "bare.csv").write_text("job_id,submit_s,runtime_s,node_count\n1,0,10,1\n")
    said = hetsched("inspect", *arguments)
    assert said.code == 2
    assert message in said.err, said.err
