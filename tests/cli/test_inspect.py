"""``hetsched inspect``: its screen, files and faults."""

import json

import polars as pl
import pytest


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
    assert sorted(path.name for path in (folder / "out").iterdir()) == ["events.csv", "findings.csv", "inspection.json"]
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
