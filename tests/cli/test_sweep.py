"""``hetsched sweep``: its file, screen, files, and faults."""

import json

import polars as pl
import pytest

import hetsched as hs

GENERATED = """
policies = ["fcfs", "easy"]
seeds = 4
metrics = ["mean_wait_s", "energy_j"]
out = "kept"
idle_w = 100
tdp_w = 300

[generator]
kind = "poisson"
nodes = 16
jobs = 60
sizes = "1:3,8:1"
walltime_factor = 2.0
load = [0.6, 0.8]
"""


@pytest.fixture
def sweep(hetsched, folder):
    """Calls the verb with a file of this content."""
    (folder / "in").mkdir()
    rows = [f"{job},{180 * job},{300 + 60 * (job % 7)},600,{1 + job % 3}" for job in range(80)]
    (folder / "in" / "log.csv").write_text("job_id,submit_s,runtime_s,walltime_s,node_count\n" + "\n".join(rows))

    def call(content, *arguments):
        (folder / "in" / "s.toml").write_text(content)
        return hetsched("sweep", "in/s.toml", "--workers", "1", *arguments)

    return call


@pytest.mark.filterwarnings("ignore::hetsched.errors.LoadWarning")
def test_it_is_the_sweep_of_the_library(sweep, folder):
    """Rows and ratios of `hs.sweep` and `ratios_to_baseline` with the same arguments."""
    said = sweep(GENERATED, "--json")
    assert said.code == 0, said.err
    found = json.loads(said.out)
    assert found["summary"] == {"runs": 16, "workloads": 2, "platforms": 1, "policies": 2, "seeds": 4}

    def draw(load):
        numbers = {"nodes": 16, "jobs": 60, "sizes": "1:3,8:1", "walltime_factor": 2.0, "load": load}
        return lambda seed: hs.workload.poisson(**numbers, seed=seed)

    machine = {"16 nodes": hs.Platform.homogeneous(16, idle_w=100, tdp_w=300)}
    loads = {f"load={load}": draw(load) for load in (0.6, 0.8)}
    runs = hs.sweep(loads, machine, ["fcfs", "easy"], seeds=4, workers=1)
    assert found["runs"] == runs.to_dicts()
    metrics = ["mean_wait_s", "energy_j"]
    table = hs.analysis.ratios_to_baseline(runs, baseline="fcfs", metrics=metrics, by=["workload", "platform"])
    assert found["comparison"] == table.to_dicts()
    assert found["written"] == ["in/kept/comparison.csv", "in/kept/sweep.parquet"]
    assert pl.read_csv(folder / "in/kept/comparison.csv").equals(table)


@pytest.mark.filterwarnings("ignore::hetsched.errors.LoadWarning")
def test_a_screen_with_intervals_and_a_journal_that_is_gone_on_with(sweep, folder):
    said = sweep(GENERATED)
    assert said.code == 0, said.err
    lines = said.out.splitlines()
    assert lines[0] == "16 nodes, as the log's header says (MaxNodes)"
    tables = lines[lines.index("load=0.6") : -3]
    assert max(map(len, tables)) <= 80
    assert sum("± (95 %, 4 seeds)" in line for line in tables) == 4
    assert "16 runs: 2 workloads × 1 machine × 2 policies × 4 seeds" in lines
    journal = (folder / "in/kept/sweep.jsonl").read_bytes()
    assert journal.count(b"\n") == 16
    again = sweep(GENERATED)
    assert (again.code, again.out) == (0, said.out)
    assert (folder / "in/kept/sweep.jsonl").read_bytes() == journal
    more = sweep(GENERATED.replace("seeds = 4", "seeds = 5"))
    assert more.code == 0
    assert (folder / "in/kept/sweep.jsonl").read_bytes().count(b"\n") == 20


@pytest.mark.filterwarnings("ignore::hetsched.errors.LoadWarning")
def test_pictures_and_a_page(sweep, folder):
    assert sweep(GENERATED, "--plot", "one.png").out.endswith("wrote one.png")
    assert (folder / "one.png").read_bytes().startswith(b"\x89PNG")
    assert sweep(GENERATED, "--plot", "all").code == 0
    assert sorted(path.name for path in (folder / "all").iterdir()) == ["energy_j.png", "mean_wait_s.png"]
    assert sweep(GENERATED, "--report", "page.html", "--title", "Two loads").out.endswith("wrote page.html")
    assert "Two loads" in (folder / "page.html").read_text()
    assert sweep(GENERATED, "--title", "Two loads").code == 2
    single = 'logs = "log.csv"\nnodes = 8\npolicies = ["fcfs", "easy"]\n'
    assert sweep(single, "--plot", "bars").code == 0
    assert [path.name for path in (folder / "bars").iterdir()] == ["ratios.png"]


def test_settings_of_machines_and_policies_are_axes(sweep):
    settings = '[settings]\nnodes = ["-25%", 12]\n"backfill.depth" = [1, 4]\n'
    said = sweep(
        'logs = ["log.csv"]\nnodes = 8\npolicies = ["easy", "easy-sjbf"]\nuntil_s = 3000\n' + settings, "--json"
    )
    assert said.code == 0, said.err
    found = json.loads(said.out)
    runs = pl.DataFrame(found["runs"])
    assert runs["platform"].unique(maintain_order=True).to_list() == ["nodes=-25%", "nodes=12"]
    policies = [f"{name}:backfill.depth={depth}" for name in ("easy", "easy-sjbf") for depth in (1, 4)]
    assert runs["policy"].unique(maintain_order=True).to_list() == policies
    assert found["baseline"] == policies[0]
    assert (runs["running"] + runs["pending"]).max() > 0, "runs were stopped"
    log = hs.read_csv("in/log.csv")
    for nodes, platform in ((6, "nodes=-25%"), (12, "nodes=12")):
        machine = hs.Platform.homogeneous(nodes, idle_w=100, tdp_w=400)
        own = hs.simulate(log, machine, policies[0], until_s=3000).summary()
        row = runs.filter(platform=platform, policy=policies[0]).row(0, named=True)
        assert {key: row[key] for key in own} == own


def test_settings_of_runs_are_axes(sweep, folder):
    """Each combination is a column of the tables, and equal runs of the library have its numbers."""
    (folder / "in" / "e.toml").write_text('[[events]]\ntime_s = 4000\nkind = "node_failed"\nnode = 0\n')
    settings = '[settings]\nkill_grace_s = [0, 60]\nevents = ["none", "e.toml"]\n'
    given = (
        'logs = ["log.csv"]\nnodes = 6\nidle_w = 100\ntdp_w = 400\npolicies = ["fcfs", "easy"]\nuntil_s = 9000\n'
        + settings
    )
    said = sweep(given, "--json", "--out", "out")
    assert said.code == 0, said.err
    runs = pl.DataFrame(json.loads(said.out)["runs"])
    titles = [f"kill_grace_s={seconds}, events={events}" for seconds in (0, 60) for events in ("none", "e.toml")]
    assert runs["platform"].unique(maintain_order=True).to_list() == titles
    log, machine = hs.read_csv("in/log.csv"), hs.Platform.homogeneous(6, idle_w=100, tdp_w=400)
    for title, seconds, events in zip(titles, (0, 0, 60, 60), (None, hs.read_events("in/e.toml")) * 2, strict=True):
        own = hs.simulate(log, machine, "easy", until_s=9000, kill_grace_s=seconds, events=events).summary()
        row = runs.filter(platform=title, policy="easy").row(0, named=True)
        assert {key: row[key] for key in own} == own
    assert runs.filter(policy="easy")["failed"].to_list() == [0, 1, 0, 1]
    # Another call in the folder takes the runs that both have.
    again = sweep(given.replace("[0, 60]", "[60]"), "--out", "out")
    assert again.code == 0, again.err
    assert len((folder / "out" / "sweep.jsonl").read_text().splitlines()) == 8
    assert "4 runs: 1 workload × 2 settings × 2 policies × 1 seed" in again.out
    assert all(len(line) <= 80 for line in again.out.splitlines())


def test_files_are_found_from_that_of_the_sweep(sweep, folder):
    (folder / "in" / "m.toml").write_text("nodes = 8\nidle_w = 90\ntdp_w = 310\n")
    (folder / "in" / "e.toml").write_text('[[events]]\ntime_s = 0\nkind = "node_failed"\nnode = 0\n')
    mine = "class Longest:\n    def rank(self, jobs, view):\n        return -jobs.walltime_s\n"
    (folder / "in" / "longest_first.py").write_text(mine)
    content = 'logs = ["log.csv"]\nplatforms = ["m.toml", "kestrel"]\nbaseline = "mine"\nevents = "e.toml"\n'
    said = sweep(content + '[policies]\nmine = "longest_first.py:Longest"\nplain = "easy"\n', "--json")
    assert said.code == 0, said.err
    runs = pl.DataFrame(json.loads(said.out)["runs"])
    assert runs["platform"].unique(maintain_order=True).to_list() == ["m", "kestrel"]
    assert runs["policy"].unique(maintain_order=True).to_list() == ["mine", "plain"]
    assert runs.filter(platform="m")["utilization_ratio"].max() > 0.5


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "logs, generator: found neither, expected logs, a list of files, or a table [generator]"),
        ('logs = ["log.csv"]\n[generator]\nkind = "poisson"\n', "logs, generator: found both"),
        ('logs = ["no.csv"]\n', "logs: found `no.csv`, expected a job log; there is no such file"),
        ('logs = "log.csv"\n', "nodes: found nothing, expected how many nodes"),
        ('logs = "log.csv"\nnodes = 0\n', "nodes: found `0`, expected a whole number"),
        ('logs = "log.csv"\nnodes = [8]\n', "nodes: found `[8]`, expected a number or a text"),
        ('logs = "log.csv"\nnodes = 8\npolicies = ["esay"]\n', "policies: found `esay`"),
        ('logs = "log.csv"\nnodes = 8\npolicies = ["easy", "easy"]\n', "each policy once"),
        ('logs = "log.csv"\nnodes = 8\npolicy = "easy"\n', "did you mean `policies`"),
        ('logs = "log.csv"\nnodes = 8\nplatform = "m.toml"\n', "platform: found `m.toml`, expected platforms, a list"),
        ('logs = "log.csv"\nnodes = 8\nseed = 3\n', "seed: found `3`, expected seeds, a list"),
        ('logs = "log.csv"\nnodes = 8\nseeds = 0\n', "seeds: found `0`"),
        ('logs = "log.csv"\nnodes = 8\nmetrics = ["speed"]\n', "metrics: found `speed`"),
        ('logs = "log.csv"\nnodes = 8\nbaseline = "fcfs"\n', "baseline: found `fcfs`, expected one of easy"),
        ('logs = "log.csv"\nnodes = 8\nkill_at_walltime = 1\n', "kill_at_walltime: found `1`, expected true or false"),
        ('logs = "log.csv"\nnodes = 8\n[settings]\nnods = [1]\n', "settings: found `nods`"),
        (
            'logs = "log.csv"\nnodes = 8\n[settings]\ndepth = 4\n',
            "settings.depth: found `4`, expected a list of values",
        ),
        (
            'logs = "log.csv"\nnodes = 8\n[settings]\nseed = [1, 2]\n',
            "settings.seed: found it, expected seeds by itself",
        ),
        (
            'logs = "log.csv"\nnodes = 8\n[settings]\nuntil_s = [1, 2]\n',
            "settings.until_s: found it, expected until_s by itself, outside of [settings]",
        ),
        ('logs = "log.csv"\nnodes = 8\n[settings]\nidle_w = [1]\n', "settings.idle_w: found it, expected node.idle_w"),
        (
            'logs = "log.csv"\nnodes = 8\n[settings]\nwalltimes = ["fixd"]\n',
            "settings.walltimes: found `fixd`, expected `fixed` or `stretch`",
        ),
        (
            'logs = "log.csv"\nnodes = 8\n[settings]\nevents = ["no.csv"]\n',
            "no.csv: found no such file, expected",
        ),
        ('[generator]\nkind = "posson"\n', "generator.kind: found `posson`"),
        ('[generator]\nkind = "poisson"\nlod = [0.5]\n', "generator.lod: found `[0.5]`"),
        ('[generator]\nkind = "poisson"\nload = [0.5, -1]\n', "generator.load: found `-1`"),
        ('[generator]\nkind = "poisson"\nseed = 1\n', "generator.seed: found `1`"),
        ("logs = [", "no valid TOML"),
    ],
)
def test_faults(sweep, folder, content, message):
    said = sweep(content)
    assert said.code == 2
    assert "in/s.toml" in said.err
    assert message in said.err, said.err
    assert said.err.startswith("error: ")
    assert "hetsched itself failed" not in said.err
    assert sorted(path.name for path in (folder / "in").iterdir()) == ["log.csv", "s.toml"]


def test_logs_of_different_machines_need_a_number_of_nodes(sweep, folder):
    job = "1 0 5 300 1 -1 -1 1 600 -1 1 1 1 1 1 -1 -1 -1\n"
    for name, procs in (("a", 8), ("b", 16)):
        (folder / "in" / f"{name}.swf").write_text(f"; MaxProcs: {procs}\n{job}")
    said = sweep('logs = ["a.swf", "b.swf"]\n')
    assert said.code == 2
    assert "nodes: found none, and by the logs 8 for a.swf, 16 for b.swf, expected one number, or platforms" in said.err
    assert sweep('logs = ["a.swf", "b.swf"]\nnodes = 16\n').code == 0
