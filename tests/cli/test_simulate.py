"""``hetsched simulate``: everything it says, and what it writes."""

import json
from pathlib import Path

import polars as pl
import pytest

import hetsched as hs
from hetsched.cli import main

NEVER_STARTED = (
    "warning: jobs that never started: 1 of 5 (asks for more nodes than the platform has: job 4); energy is lower by "
    "their work"
)


def test_a_summary_with_everything_that_was_assumed(hetsched):
    said = hetsched("simulate", "small.swf")
    # Work: 4 x 60 + 8 x 600 + 8 x 300 + 10 x 200 = 9,440 node-seconds of 16 x 1800, at 400 W; the rest at 100 W.
    # Job 5 waits 570 s of the four that start, and its slowdown is 770 / 200.
    # Offered: 4 x 60 + 8 x 600 + 8 x 300 + 20 x 10 + 10 x 400 = 11,640 node-seconds in 16 x 1030.
    assert said.code == 0
    assert said.err == NEVER_STARTED
    assert said.out == (
        """\
5 jobs read from small.swf; 1 cancelled or failed kept
16 processors, each taken as a node (MaxProcs)
assumed: idle 100 W and TDP 400 W a node; give --idle-w and --tdp-w for the machine's own
easy on 16 nodes, in 0.00 s

 jobs                                    5
   completed                             3
   killed at their walltime              1
   rejected                              1

 makespan                        30.00 min
 throughput                   6.000 jobs/h
 utilization                       32.78 %
 offered load                        0.587

 mean wait                       2.375 min
 median wait                           0 s
 95th percentile of waits        8.075 min
 longest wait                    9.500 min
 mean turnaround                 7.208 min
 mean bounded slowdown               1.712

 energy                          1.587 kWh
   of nodes at work              1.049 kWh
   of idle nodes                  537.8 Wh

 mean power                       3.173 kW
 peak power                       6.400 kW
 energy-delay product           10.28 GJ s"""
    )


def test_one_node_and_a_long_name_read_well(hetsched, monkeypatch):
    monkeypatch.setenv("COLUMNS", "50")
    policy = "swa:placement.on_miss=wait:placement.window=3:order=shortest"
    out = hetsched("simulate", "small.swf", "--nodes", 1, "--idle-w", 50, "--tdp-w", 200, "--policy", policy).out
    lines = out.splitlines()[1:3]
    assert lines == ["swa:order=shortest:placement.on_miss=wait:", "placement.window=3 on 1 node, in 0.00 s"]


@pytest.mark.usefixtures("folder")
def test_lines_in_a_pipe_have_no_spaces_at_their_ends(capfd):
    for arguments in (["simulate", "small.swf"], ["compare", "small.swf", "--policies", "fcfs,easy"], ["policies"]):
        assert main(arguments) == 0
        out = capfd.readouterr().out
        assert out
        assert [line for line in out.splitlines() if line != line.rstrip()] == []


def test_watts_and_nodes_that_were_given_are_not_assumed(hetsched):
    said = hetsched("simulate", "small.swf", "--nodes", 32, "--idle-w", 50, "--tdp-w", 200, "--policy", "fcfs")
    assert said.out.splitlines()[:2] == [
        "5 jobs read from small.swf; 1 cancelled or failed kept",
        "fcfs on 32 nodes, in 0.00 s",
    ]


def test_json_is_one_object_and_the_rest_goes_to_stderr(hetsched):
    said = hetsched("simulate", "small.swf", "--json", "--seed", 7, "--set", "depth=4", "--no-kill-at-walltime")
    found = json.loads(said.out)
    assert next(iter(found)) == "summary"
    assert list(found)[-3:] == ["timing", "assumed", "written"]
    assert (found["summary"]["completed"], found["summary"]["rejected"]) == (4, 1)
    assert found["seed"] == 7
    assert found["policy"]["backfill"] == {"name": "reservations", "depth": 4, "order": "policy"}
    assert found["assumed"] == {"idle_w": 100.0, "tdp_w": 400.0}
    assert said.err.splitlines() == [
        "5 jobs read from small.swf; 1 cancelled or failed kept",
        "16 processors, each taken as a node (MaxProcs)",
        "assumed: idle 100 W and TDP 400 W a node; give --idle-w and --tdp-w for the machine's own",
        NEVER_STARTED,
    ]


def test_files_can_be_read_back_and_hold_what_the_library_gives(hetsched, folder):
    said = hetsched("simulate", "small.swf", "--out", "out", "--csv", "--idle-w", 100, "--tdp-w", 400)
    assert said.out.endswith("wrote out")
    names = ["jobs.csv", "jobs.parquet", "nodes.parquet", "summary.json", "timeline.parquet"]
    assert sorted(path.name for path in (folder / "out").iterdir()) == names
    platform = hs.Platform.homogeneous(nodes=16, idle_w=100, tdp_w=400)
    assert hs.read_result("out") == hs.simulate(hs.read_swf("small.swf"), platform, "easy")


def test_platform_table_and_policy_from_files(hetsched, folder):
    table = hs.VariationTable(["7", "8"], power_w=[[300.0, 250.0] * 8, [200.0] * 16])
    table.to_parquet("watts.parquet")
    (folder / "node.toml").write_text("nodes = 16\nidle_w = 90\ntdp_w = 310\n")
    (folder / "mine.toml").write_text('[policy]\npreset = "easy"\nplacement = "lowest-power"\n')
    files = ("--platform", "node.toml", "--table", "watts.parquet", "--policy-file", "mine.toml")
    said = hetsched("simulate", "small.swf", *files, "--json")
    summary = json.loads(said.out)["summary"]
    # Application 7 on the nodes of 250 W, of which there are eight: jobs 1 and 2. Application 8 draws 200 W everywhere.
    work_j = 4 * 60 * 250 + 8 * 600 * 250 + 8 * 300 * 200 + 10 * 200 * 200
    assert summary["job_energy_j"] == pytest.approx(work_j)
    assert summary["energy_j"] == pytest.approx(work_j + (16 * 1800 - 9440) * 90)
    assert said.err.splitlines()[1:] == [NEVER_STARTED]


def test_processors_become_nodes(hetsched):
    said = hetsched("simulate", "small.swf", "--procs-per-node", 4)
    assert said.out.splitlines()[:2] == [
        "5 jobs read from small.swf; 1 cancelled or failed kept; 1 rounded up to whole nodes",
        "4 nodes, as the log's header says (MaxProcs / 4)",
    ]


def test_a_log_of_the_users_own_and_a_stop(hetsched):
    jobs = {"job_id": [1, 2], "submit_s": [0.0, 50.0], "runtime_s": [60.0, 60.0], "node_count": [1, 1]}
    pl.DataFrame(jobs).write_csv("own.csv")
    said = hetsched("simulate", "own.csv", "--nodes", 3, "--until-s", 100, "--json")
    summary = json.loads(said.out)["summary"]
    assert (summary["completed"], summary["running"], summary["makespan_s"]) == (1, 1, 100.0)


def test_overload_is_a_warning_in_a_line(hetsched, folder):
    (folder / "busy.swf").write_text((folder / "small.swf").read_text().replace(" 204 10 ", " 400 10 "))
    said = hetsched("simulate", "busy.swf", "--nodes", 10, "--json")
    assert said.code == 0
    assert [line for line in said.err.splitlines() if "offered" in line] == [
        (
            "warning: offered load 1.13: more work is submitted than 10 nodes can do, "
            "so the queue grows until the last job is submitted"
        )
    ]


def test_work_lost_to_overruns_is_reported_with_the_option(hetsched, folder):
    # Job 5 is killed after 200 of its 400 s: 2,000 of 11,440 node-seconds.
    (folder / "overrun.swf").write_text((folder / "small.swf").read_text().replace(" 204 10 ", " 400 10 "))
    said = hetsched("simulate", "overrun.swf")
    assert said.err == (
        f"{NEVER_STARTED}\n"
        "warning: jobs killed before their work was done: 1, and 17 % of the started node-seconds lost; energy is "
        "lower by as much work as was not done, and --no-kill-at-walltime lets jobs run on, as those did that overran "
        "their walltime in the log"
    )
    assert hetsched("simulate", "overrun.swf", "--no-kill-at-walltime").err == NEVER_STARTED


def test_one_picture_or_a_folder_of_them(hetsched, folder):
    assert hetsched("simulate", "small.swf", "--plot", "run.svg").out.endswith("wrote run.svg")
    said = hetsched("simulate", "small.swf", "--plot", "pictures")
    names = ["gantt.png", "node-map.png", "nodes.png", "occupancy.png", "power.png", "waits.png"]
    assert sorted(path.name for path in (folder / "pictures").iterdir()) == names
    assert said.out.count("wrote pictures/") == 6
    assert sorted(path.name for path in folder.iterdir()) == ["pictures", "run.svg", "small.swf"]


def test_draws_of_a_table_below_idle_are_said(hetsched, folder):
    # Node 3 draws 80 W busy, less than the 90 W it draws idle.
    watts = [200, 200, 200, 80, *[200] * 12]
    hs.VariationTable(["*"], power_w=[watts]).to_parquet(folder / "low.parquet")
    said = hetsched("simulate", "small.swf", "--idle-w", 90, "--tdp-w", 300, "--table", "low.parquet")
    assert said.code == 0
    assert said.out.endswith("draws of the table below their node's idle draw: 1, charged as they stand")


def test_a_table_that_no_job_can_use_is_said(hetsched, folder):
    (folder / "apps.swf").write_text("1 0 -1 60 4 -1 -1 4 120 -1 1 3 1 -1 1 -1 -1 -1\n")
    hs.VariationTable(["*"], power_w=[[200] * 4]).to_parquet(folder / "t.parquet")
    said = hetsched("simulate", "apps.swf", "--nodes", 4, "--table", "t.parquet")
    assert "no job names its application, so the table of the nodes' draw changes nothing" in said.out


MEASURED = "job_id,submit_s,runtime_s,node_count,user,power_w\n1,0,100,1,ann,210\n2,0,100,1,bo,\n3,200,100,1,ann,240\n"
BUDGETED = ("measured.csv", "--nodes", 2, "--idle-w", 100, "--tdp-w", 300)


def note_of(said):
    return [line for line in said.out.splitlines() if "draw of" in line]


def test_decisions_by_measured_draws_are_reported_with_the_option(hetsched, folder):
    (folder / "measured.csv").write_text(MEASURED)
    budgeted = ("--policy", "easy:power=system-budget")
    assert note_of(hetsched("simulate", *BUDGETED, *budgeted)) == [
        (
            "decisions know the measured draw of 2 jobs before they have run; "
            "--known-draws table or tdp, or --predictor history, has them not know it"
        )
    ]
    # No part of it reads a draw; nothing is known of one.
    assert note_of(hetsched("simulate", *BUDGETED, "--policy", "easy")) == []
    assert note_of(hetsched("simulate", *BUDGETED, *budgeted, "--known-draws", "tdp")) == []


def test_known_draws_is_the_runs_platforms(hetsched, folder):
    (folder / "measured.csv").write_text(MEASURED)
    (folder / "two.toml").write_text('nodes = 2\nidle_w = 100\ntdp_w = 300\nknown_draws = "table"\n')
    found = json.loads(hetsched("simulate", *BUDGETED, "--known-draws", "tdp", "--json").out)
    assert found["known_draws"]["rule"] == "tdp"
    from_file = ("simulate", "measured.csv", "--platform", "two.toml", "--json")
    assert json.loads(hetsched(*from_file).out)["known_draws"]["rule"] == "table"
    assert json.loads(hetsched(*from_file, "--known-draws", "tdp").out)["known_draws"]["rule"] == "tdp"
    said = hetsched("simulate", *BUDGETED, "--known-draws", "tpd")
    assert said.err == "error: --known-draws: found `tpd`, expected one of measured, table, tdp; did you mean `tdp`?"
    assert said.code == 2


def test_history_says_what_it_knew_and_how_well(hetsched, folder):
    (folder / "measured.csv").write_text(MEASURED)
    said = hetsched("simulate", *BUDGETED, "--policy", "easy:power=system-budget", "--predictor", "history")
    # 210 W for 240.
    assert note_of(said) == [
        (
            "History() predicts the draw of 1 job (user 1), off by 12.5 % on average; of 1 job nothing is known, "
            "taken for the nodes' TDP"
        )
    ]
    said = hetsched("simulate", "small.swf", "--predictor", "history")
    assert said.err.splitlines()[-1] == "error: --predictor: found `history`, expected a log whose jobs bring power_w"
    assert said.code == 2


def write_slow_nodes():
    """A table for small.swf: every node takes 1.5 times as long and draws 240 W."""
    pl.DataFrame({"app": ["*"] * 16, "node": range(16), "power_w": [240.0] * 16, "time_ratio": [1.5] * 16}).write_csv(
        "slow.csv"
    )


def test_work_lost_on_slow_nodes_is_reported_with_the_option(hetsched):
    write_slow_nodes()
    # Walltimes of 120, 900, 400 and 200 s against 90, 900, 450 and 306 s: jobs 3 and 5 are killed, 1 and 2 are not.
    # Lost: 8 x 300 x 50/450 and 10 x 204 x 106/306 of 9,480 node-seconds, 10.3 %.
    said = hetsched("simulate", "small.swf", "--table", "slow.csv")
    assert said.code == 0
    assert said.err == (
        f"{NEVER_STARTED}\n"
        "warning: jobs killed before their work was done: 2, and 10 % of the started node-seconds lost; energy is "
        "lower by as much work as was not done, and --walltimes stretch gives jobs the time they need on slower nodes"
    )
    lines = said.out.splitlines()
    assert any(line.startswith(" work lost ") and line.endswith(" 973.3 node-s") for line in lines)
    assert any(line.startswith(" completed work ") and line.endswith(" 89.73 %") for line in lines)
    assert any(line.startswith(" energy per work ") and line.endswith(" J/node-s") for line in lines)
    # Job 5 ran to its limit in the log and does again; there is nothing that stretching could do for it.
    for own in (("--walltimes", "stretch"), ("--kill-grace-s", 400), ("--no-kill-at-walltime",)):
        said = hetsched("simulate", "small.swf", "--table", "slow.csv", *own)
        assert said.err == NEVER_STARTED
        assert "work" not in said.out.replace("of nodes at work", "")


def test_walltimes_and_grace_stand_in_what_is_written(hetsched, folder):
    write_slow_nodes()
    options = ("--table", "slow.csv", "--idle-w", 100, "--tdp-w", 400)
    said = hetsched("simulate", "small.swf", *options, "--walltimes", "stretch", "--kill-grace-s", 3, "--out", "out")
    assert said.code == 0
    found = json.loads((folder / "out" / "summary.json").read_text())
    assert (found["options"]["walltimes"], found["options"]["kill_grace_s"]) == ("stretch", 3.0)
    platform = hs.Platform.homogeneous(nodes=16, idle_w=100, tdp_w=400)
    platform = platform.with_tables(actual=hs.VariationTable(["*"], power_w=[[240.0] * 16], time_ratio=[[1.5] * 16]))
    again = hs.simulate(hs.read_swf("small.swf"), platform, "easy", walltimes="stretch", kill_grace_s=3)
    assert hs.read_result("out") == again
    # Killed at 200 x 1.5 + 30 s of 600.
    assert again.summary()["work_lost_node_s"] == pytest.approx(2040 * 3 / 306)


@pytest.mark.parametrize(
    ("options", "fault"),
    [
        (
            ("--walltimes", "strech"),
            "--walltimes: found `strech`, expected one of fixed, stretch; did you mean `stretch`?",
        ),
        (("--kill-grace-s", "-4"), "--kill-grace-s: found `-4`, expected a number between 0 and 1e+12"),
        (("--kill-grace-s", "30s"), "--kill-grace-s: found `30s`, expected seconds as a plain number, such as 30"),
    ],
)
def test_what_is_no_kill_is_refused(hetsched, options, fault):
    for verb in (("simulate", "small.swf"), ("compare", "small.swf", "--policies", "fcfs")):
        said = hetsched(*verb, *options)
        assert (said.code, said.err) == (2, f"error: {fault}")


def test_pictures_of_nodes_and_queues_are_drawn_where_there_are_any(hetsched, folder):
    pytest.importorskip("matplotlib")
    assert hetsched("generate", "aoba", "--set", "period=busy", "--out", "busy.parquet").code == 0
    run = ("simulate", "busy.parquet", "--platform", "aoba", "--plot", "pictures")
    said = hetsched(*run, "--policy", "nqsv", "--json")
    drawn = {Path(path).name for path in json.loads(said.out)["written"]}
    assert drawn == {"power.png", "occupancy.png", "waits.png", "nodes.png", "node-map.png", "queue-waits.png"}
    assert all((folder / "pictures" / name).stat().st_size > 1000 for name in drawn)
    said = hetsched(*run, "--policy", "nqsv:sleep=none", "--json")
    assert {Path(path).name for path in json.loads(said.out)["written"]} == drawn
