"""``hetsched whatif``: its screen, files, keys and faults."""

import json

import polars as pl
import pytest

MACHINE = ("--nodes", "16", "--idle-w", "100", "--tdp-w", "300")


@pytest.fixture
def log(folder):
    rows = [f"{job},{9000 * job},{30000 + 900 * (job % 7)},40000,{1 + 5 * job % 9}" for job in range(400)]
    (folder / "log.csv").write_text("job_id,submit_s,runtime_s,walltime_s,node_count\n" + "\n".join(rows) + "\n")
    return "log.csv"


def test_a_screen_of_settings(hetsched, log):
    said = hetsched("whatif", log, *MACHINE, "--set", "nodes=+25%,12", "--set", "backfill=none,first-fit")
    assert said.code == 0, said.err
    lines = said.out.splitlines()
    assert "4 settings against today" in lines
    assert max(map(len, lines[lines.index("4 settings against today") :])) <= 80
    text = " ".join(said.out.split())
    for words in ("0 today", "1 nodes=+25%", "backfill=first-fit", "mean wait", "* no other row is better"):
        assert words in text
    assert "? the 95 % interval over weeks, in brackets, holds 0" in text


def test_json_and_files(hetsched, folder, log):
    settings = ("--set", "nodes=20", "--set", "sleep=none,timeout", "--set", "node.boot_s=300")
    more = ("--set", "node.shutdown_s=60", "--set", "node.off_w=5", "--metrics", "energy_j,mean_wait_s,boots")
    said = hetsched("whatif", log, *MACHINE, *settings, *more, "--out", "out", "--plot", "wait.png", "--json")
    assert said.code == 0, said.err
    found = json.loads(said.out)
    assert next(iter(found)) == "summary"
    today = json.loads(hetsched("simulate", log, *MACHINE, "--json").out)["summary"]
    assert {key: value for key, value in found["summary"].items() if key in today} == today
    assert [row["sleep"] for row in found["rows"]] == [None, "none", "timeout"]
    assert found["rows"][2]["energy_j"] < found["rows"][1]["energy_j"]
    assert "not known in some rows, which are compared in nothing: boots of nodes" in found["notes"]
    assert [row["pareto"] for row in found["rows"]] == [False, False, True]
    files = {"whatif.csv", "changes.csv", "runs.csv", "whatif.json"}
    assert files <= {path.name for path in (folder / "out").iterdir()}
    assert set(found["written"]) == {f"out/{name}" for name in files} | {"wait.png"}
    assert pl.read_csv(folder / "out" / "whatif.csv").height == 3
    assert (folder / "wait.png").read_bytes().startswith(b"\x89PNG")


def test_a_second_call_runs_nothing_again(hetsched, folder, log):
    first = hetsched("whatif", log, *MACHINE, "--set", "nodes=20,24", "--out", "out")
    journal = (folder / "out" / "whatif.jsonl").read_bytes()
    again = hetsched("whatif", log, *MACHINE, "--set", "nodes=20,24", "--out", "out")
    assert (again.code, again.out) == (0, first.out)
    assert (folder / "out" / "whatif.jsonl").read_bytes() == journal
    more = hetsched("whatif", log, *MACHINE, "--set", "nodes=20,24,28", "--out", "out")
    assert more.code == 0
    assert len((folder / "out" / "whatif.jsonl").read_bytes().splitlines()) == 4


def test_the_folder_of_a_result_is_today(hetsched, log):
    assert hetsched("simulate", log, *MACHINE, "--policy", "fcfs", "--out", "run").code == 0
    of_folder = json.loads(hetsched("whatif", "run", "--set", "backfill=first-fit", "--json").out)
    of_log = json.loads(
        hetsched("whatif", log, *MACHINE, "--policy", "fcfs", "--set", "backfill=first-fit", "--json").out
    )
    assert of_folder["rows"] == of_log["rows"]
    said = hetsched("whatif", "run", "--set", "nodes=9", "--policy", "easy", "--nodes", "3")
    assert said.code == 2
    assert "--nodes: found 3, expected nothing with the folder of a result" in said.err
    assert "--policy: found easy, expected nothing with the folder of a result" in said.err


def test_values_with_commas(hetsched, log, folder):
    (folder / "machine.toml").write_text(
        'nodes = 16\nidle_w = 100\ntdp_w = 300\n[[queue]]\nname = "q"\nnodes = "0-15"\n'
    )
    (folder / "q.csv").write_text(
        "\n".join(
            line + (",queue" if place == 0 else ",q")
            for place, line in enumerate((folder / log).read_text().splitlines())
        )
    )
    said = hetsched("whatif", "q.csv", "--platform", "machine.toml", "--set", "queue.q.nodes=0-7,15;0-9", "--json")
    assert said.code == 0, said.err
    assert [row["queue.q.nodes"] for row in json.loads(said.out)["rows"]] == [None, "0-7,15", "0-9"]


def test_a_policy_from_a_file(hetsched, log, folder):
    (folder / "mine.py").write_text("class Widest:\n    def rank(self, jobs, view):\n        return -jobs.node_count\n")
    said = hetsched("whatif", log, *MACHINE, "--set", "policy=fcfs,mine.py:Widest", "--json")
    assert said.code == 0, said.err
    assert [row["policy"] for row in json.loads(said.out)["rows"]] == [None, "fcfs", "mine.py:Widest"]


def test_keys(hetsched):
    said = hetsched("whatif", "--keys")
    assert said.code == 0
    assert max(map(len, said.out.splitlines())) <= 80
    for words in ("backfill.depth", "node.CLASS.count", "queue.QUEUE.max_nodes", "power.budget_w", "+10%"):
        assert words in said.out
    found = json.loads(hetsched("whatif", "--keys", "--json").out)
    assert found["summary"]["keys"] == len(found["keys"])
    assert {"key": "nodes", "values": "a whole number from 1"} in found["keys"]


def test_faults_of_a_whole_line(hetsched, log):
    said = hetsched(
        *("whatif", log, *MACHINE, "--set", "nodse=1", "--set", "nodes=0,+x%", "--set", "backfill", "--workers", "0"),
        *("--set", "sleep=timout", "--set", "sleep=none", "--metrics", "energy", "--plot", "x.txt"),
    )
    assert said.code == 2
    assert not said.out
    places = [line.split(": ")[1] for line in said.err.splitlines()]
    assert places == [
        "--metrics",
        "--workers",
        "--plot",
        "--set",
        "--set",
        "--set",
        "--set nodes",
        "--set nodes",
        "--set sleep",
    ]
    assert "did you mean `nodes`?" in said.err
    assert "did you mean `timeout`?" in said.err
    assert "error: --set: found `backfill`, expected KEY=VALUE,VALUE such as nodes=+10%,800" in said.err


def test_nothing_to_set_and_no_log(hetsched, log):
    said = hetsched("whatif", log, *MACHINE)
    assert (said.code, said.err) == (2, "error: --set: found nothing, expected KEY=VALUE,…: see hetsched whatif --keys")
    said = hetsched("whatif", "--nodes", "3", "--set", "nodes=3")
    assert (said.code, said.err) == (2, "error: TRACE: found nothing, expected a job log, or the folder of a result")
    said = hetsched("whatif", "nowhere.swf", "--set", "nodes=3")
    assert said.code == 2
    assert "nowhere.swf" in said.err


def test_what_cannot_run_names_the_setting(hetsched, log):
    said = hetsched("whatif", log, *MACHINE, "--set", "sleep=timeout")
    assert said.code == 2
    assert "error: --set sleep=timeout: platform: found no boot_s, shutdown_s, off_w" in said.err


def test_one_metric_has_no_picture(hetsched, log):
    said = hetsched("whatif", log, *MACHINE, "--set", "nodes=9", "--metrics", "energy_j", "--plot", "x.png")
    assert (said.code, said.err) == (2, "error: --plot: found `x.png`, expected two metrics at least, one an axis")


def test_a_closed_pipe_ends_it_quietly(process, log):
    one = process("whatif", log, *MACHINE, "--set", "nodes=9,10,11", "--workers", 1, redirection="| head -n 1")
    out, err = one.communicate(timeout=120)
    assert one.returncode == 0
    assert out.count("\n") == 1
    assert "Traceback" not in err
