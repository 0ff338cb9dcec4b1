"""``hetsched provision``: its tables, files and faults."""

import json

import polars as pl
import pytest

ASKED = ["--budget-w", "100e3", "--base-w", "25", "--mix", "85:1,70:1,55:1"]
SMALL = ["--budget-w", "400", "--base-w", "25", "--mix", "85:3,70:2,55:1"]


@pytest.fixture
def log(folder):
    rows = [f"{job},{60 * job},{100 + 10 * (job % 7)},{1 + job % 3}" for job in range(1, 31)]
    (folder / "log.csv").write_text("job_id,submit_s,runtime_s,node_count\n" + "\n".join(rows) + "\n")
    return "log.csv"


def test_both_readings_are_printed_with_their_numbers(hetsched):
    said = hetsched("provision", *ASKED, "--nodes", "680", "--sockets", "2")
    assert said.code == 0
    text = " ".join(said.out.split())
    assert "P_eff = 100,000 - 25 x 1,360 = 66,000 W; CPU_available = 66,000 / 70 = 942.9" in text
    assert "CPU_eff = min(942.9, 1,360) = 942.9" in text
    assert "(100,000 - 25 x 1,360) / (66.54 - 25) = 1,589, so 1,360 CPUs run" in text
    assert "all CPUs run up to 1,052 of them by the guideline, up to 1,502 in the steady state" in text


def test_without_numbers_of_nodes_there_is_the_best(hetsched):
    said = hetsched("provision", *ASKED)
    assert said.code == 0
    assert said.code == 0
    text = "all CPUs run up to 1,052 of them by the guideline, up to 1,502 in the steady state"
    assert said.out.split() == text.split()


def test_a_trial_is_a_table_files_a_picture_and_json(hetsched, folder, log):
    said = hetsched(
        "provision", log, *SMALL, "--nodes", "4,8", "--seeds", "2", "--out", "out", "--plot", "p.svg", "--json"
    )
    assert said.code == 0, said.err
    told = json.loads(said.out)
    assert next(iter(told)) == "summary"
    assert told["parameters"]["mix"] == {"85": 3.0, "70": 2.0, "55": 1.0}
    assert told["written"] == ["out/guideline.csv", "out/provision.csv", "out/runs.csv", "p.svg"]
    assert [row["nodes"] for row in told["guideline"]] == [4, 8]
    assert len(told["provision"]) == 2 * 6
    runs = pl.read_csv(folder / "out" / "runs.csv")
    assert runs.select("nodes", "seed").rows() == [(4, 0), (4, 1), (8, 0), (8, 1)]
    assert (folder / "p.svg").read_bytes().startswith(b"<?xml")
    again = hetsched("provision", log, *SMALL, "--nodes", "4,8", "--seeds", "2", "--json")
    assert json.loads(again.out)["runs"] == told["runs"]
    shown = hetsched("provision", log, *SMALL, "--nodes", "4,8", "--seeds", "2")
    assert "tried by simulation" in shown.out
    assert "± (2 seeds)" in shown.out
    assert all(len(line) <= 80 for line in shown.out.splitlines())


def test_a_trial_is_made_where_an_executor_says(hetsched, log):
    words = ["provision", log, *SMALL, "--nodes", "4,8", "--json"]
    here, there = hetsched(*words), hetsched(*words, "--executor", "processes:1")
    assert there.code == 0, there.err
    assert json.loads(there.out) == json.loads(here.out)
    said = hetsched("provision", *SMALL, "--nodes", "4", "--executor", "processes:1")
    assert said.code == 2
    assert "--executor: found `processes:1`, expected a TRACE as well: only a trial has runs" in said.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--mix", "85:3,x"],
            "error: --mix: found `x`, expected WATTS:SHARE with commas between, such as 85:3,70:2,55:1",
        ),
        (["--mix", "85:3,70:0"], "error: --mix: found `0` for `70`, expected a share above 0"),
        (["--mix", "25:1"], "error: --mix: found `25`, expected watts above base_w, 25"),
        (["--budget-w", "100kW"], "error: --budget-w: found `100kW`, expected watts as a plain number, such as 200"),
        (["--nodes", "8,x"], "error: --nodes: found `x`, expected a whole number, at least 1"),
        (["--nodes", "17"], "error: --budget-w: found 400, below the base of 17 nodes, expected at least 425 W"),
        (["--plot", "p.png"], "error: --plot: found `p.png`, expected a TRACE as well"),
        (["--seeds", "0"], "error: --seeds: found `0`"),
        (["log.csv"], "error: --nodes: found nothing, expected the numbers of nodes to try, such as 256,512,1024"),
        (["log.csv", "--nodes", "4", "--plot", "p.gif"], "error: --plot: found `p.gif`, expected a name ending in"),
        (["log.csv", "--nodes", "4", "--warm-up-s", "9"], "error: unknown option --warm-up-s; see hetsched provision"),
        (["log.csv", "--nodes", "4", "--from", "x"], "error: --from: found `x`, expected seconds on the log's clock"),
        (["nowhere.csv", "--nodes", "4"], "error: nowhere.csv: found no such file"),
    ],
)
def test_faults_are_reported_in_a_line(hetsched, folder, log, arguments, message):
    said = hetsched("provision", *SMALL, *arguments)
    assert said.code == 2
    assert message in said.err
    assert not list(folder.glob("p.*"))
