"""``hetsched reproduce``: its table, its object, its files, its faults."""

import dataclasses
import json
import signal
import time
from pathlib import Path

import pytest

from hetsched.errors import SimulationError
from hetsched.experiments import EXPERIMENTS, reproduction
from hetsched.experiments.claims import number, statement, value
from hetsched.experiments.experiment import Experiment, Parameter, assumed, printed
from hetsched.experiments.runs import Runs, saved_over
from hetsched.report.experiment import experiment_figure

SEED = 5
SAVED = dict(zip(reproduction.repetition_seeds("pools", SEED, 3), (5, 6, 7), strict=True))


def a_run(repetition):
    """Two policies, of which the second saves 5, 6 and 7 %; the user's own save 1, 2 and 3 %."""
    saved = SAVED[repetition.seed]
    policies = {"naive": 0.0, "coa": saved, **dict.fromkeys(repetition.policies, saved - 4.0)}
    done = {"scenario": "busy", "energy_bound_j": 80.0, "jobs": 9, "completed": 9}
    return [{**done, "policy": label, "job_energy_j": 100.0 - of_it} for label, of_it in policies.items()]


def rows(frame):
    saving = Runs(frame, "naive").saving("coa", scenario="busy")
    return [
        value("COA saving, busy, %", saving, paper=7.0),
        value("COA saving by a quantity whose name needs two lines, %", saving + 10, paper=25.0, undisclosed="watts"),
        value("COA saving in another unit", saving, paper=50.0),
        statement("COA saving, %", saving, claim="it saves"),
        statement("COA saving less 6, %", saving - 6, claim="more than 6 %"),
        statement("COA saving less 9, %", saving - 9, claim="more than 9 %"),
        number("COA saving twice, %", 2 * saving),
    ]


@pytest.fixture
def by_hand(monkeypatch):
    """`pools` replaced by an experiment whose numbers can be worked out."""
    experiment = Experiment(
        name="pools",
        source="nobody",
        parameters=(printed("nodes", 8), assumed("idle_w", [0.0, 1.5])),
        policies={"naive": "naive", "coa": "coa"},
        repetitions=3,
        quick_repetitions=3,
        repeat=a_run,
        rows=rows,
        savings=lambda frame: Runs(frame, "naive").drawn({"busy": "busy"}, ["coa"], {}),
        quick_parameters=(Parameter("nodes", 4, "ours, of a quick run"),),
        yours=saved_over("naive", ["busy"]),
        draw=experiment_figure,
    )
    monkeypatch.setattr(reproduction, "experiment_named", lambda name: experiment)


def test_a_table_with_reasons_and_what_was_assumed(hetsched, by_hand):
    # 5, 6, 7: mean 6 ± 4.302653 / sqrt(3) = 2.484.
    said = hetsched("reproduce", "pools", "--seed", SEED)
    assert said.code == 0
    assert said.err == ""
    assert said.out == (
        """\
pools: 3 repetitions, seed 5

     quantity                               paper   here ± (95 %)   reproduced
 ──────────────────────────────────────────────────────────────────────────────
 1   COA saving, busy, %                        7       6.0 ± 2.5   yes
 2   COA saving by a quantity whose name       25      16.0 ± 2.5   shape
     needs two lines, %
 3   COA saving in another unit                50       6.0 ± 2.5   no
 4   COA saving, %                              –       6.0 ± 2.5   claim holds
 5   COA saving less 6, %                       –       0.0 ± 2.5   uncertain
 6   COA saving less 9, %                       –      -3.0 ± 2.5   claim fails
 7   COA saving twice, %                        –      12.0 ± 5.0

shape: not disclosed: watts (2: 0.64 times the paper)
no: 0.12 times the paper (3)
uncertain: more than 6 %: not certain, from -2.48 to 2.48 (5)
claim fails: more than 9 %: the opposite, from -5.48 to -0.516 (6)
assumed: idle_w 0 to 1.5"""
    )


def test_there_are_as_many_repetitions_as_one_asks_for(hetsched, by_hand):
    said = hetsched("reproduce", "pools", "--repetitions", "2", "--seed", SEED)
    assert said.out.startswith("pools: 2 repetitions, seed 5\n")
    assert " 5.5 ± 6.4 " in said.out  # 5 and 6: t = 12.706, over the root of 2, times a deviation of 0.7071
    for count, expected in {"1": ", at least 2", "x": ", at least 2", "20000": " between 2 and 10000"}.items():
        refused = hetsched("reproduce", "pools", "--repetitions", count)
        assert refused.code == 2
        assert refused.err == f"error: --repetitions: found `{count}`, expected a whole number{expected}"


def test_a_quick_run_has_no_verdicts_and_says_so(hetsched, by_hand):
    said = hetsched("reproduce", "pools", "--quick", "--seed", SEED)
    assert said.out.startswith("pools, quick: 3 repetitions, seed 5\n")
    assert "reproduced" not in said.out
    assert "a quick run gives no verdicts; without --quick all rows are judged\n" in said.out
    assert json.loads(hetsched("reproduce", "pools", "--json", "--seed", SEED).out)["rows"][0]["reproduced"] == "yes"


def test_files_and_json_go_together(hetsched, by_hand, folder):
    said = hetsched("reproduce", "pools", "--quick", "--out", "out", "--json", "--seed", SEED)
    found = json.loads(said.out)
    assert list(found) == ["name", "seed", "rows", "parameters", "shares"]
    assert (found["name"], found["seed"]) == ("pools", SEED)
    assert [row["reproduced"] for row in found["rows"]] == [None] * 7
    assert [row["paper"] for row in found["rows"]] == [7.0, 25.0, 50.0, None, None, None, None]
    assert found["parameters"]["shape_factor"] == 2.0
    assert (found["parameters"]["nodes"], found["parameters"]["quick"]) == (4, True)
    assert found["parameters"]["policies"] == {"naive": "naive", "coa": "coa"}
    assert json.loads((folder / "out" / "rows.json").read_text()) == found
    written = ["figure.png", "parameters.csv", "repetitions.jsonl", "rows.json", "runs.parquet", "table.csv"]
    assert sorted(path.name for path in (folder / "out").iterdir()) == written
    assert sorted(path.name for path in folder.iterdir()) == ["out", "small.swf"]
    assert "wrote out/table.csv" in said.err


def test_policies_of_ones_own_stand_below_without_a_verdict(hetsched, by_hand):
    said = hetsched("reproduce", "pools", "--policies", "easy,sjf:placement=lowest-power", "--seed", SEED)
    assert said.code == 0
    assert "pools: 3 repetitions, seed 5" in said.out
    below = said.out.partition("COA saving twice")[2].partition("shape:")[0]
    assert below.count("2.0 ± 2.5\n") == 2
    assert " 8   yours: easy: job energy saved over         –       2.0 ± 2.5\n" in below
    plain = json.loads(hetsched("reproduce", "pools", "--json", "--seed", SEED).out)
    own = json.loads(hetsched("reproduce", "pools", "--policies", "easy", "--json", "--seed", SEED).out)
    assert own["rows"][:-1] == plain["rows"]
    assert (own["rows"][-1]["reproduced"], own["rows"][-1]["paper"]) == (None, None)
    assert own["parameters"].pop("your_policies") == ["easy"]
    assert own["parameters"] == plain["parameters"]


def test_policies_are_refused_by_name_and_where_there_are_none(hetsched):
    said = hetsched("reproduce", "tsmva", "--policies", "easy")
    assert (said.code, said.out) == (2, "")
    assert said.err == (
        "error: --policies: found policies with tsmva, expected none: it compares models of power, and schedules no job"
    )
    said = hetsched("reproduce", "pools", "--policies", "easy,esay:depth=1,easy")
    assert said.code == 2
    assert "--policies: esay:depth=1: found `esay`" in said.err
    assert "did you mean `easy`?" in said.err
    assert "error: --policies: found `easy`, expected each policy once" in said.err


def test_a_policy_that_completes_nothing_is_reported_by_its_option(hetsched, by_hand, monkeypatch):
    experiment = reproduction.experiment_named("pools")

    def none_done(repetition):
        return [{**row, "completed": 0 if row["policy"].startswith("yours") else 9} for row in a_run(repetition)]

    broken = dataclasses.replace(experiment, repeat=none_done)
    monkeypatch.setattr(reproduction, "experiment_named", lambda name: broken)
    said = hetsched("reproduce", "pools", "--policies", "easy", "--seed", SEED)
    assert said.code == 2
    assert said.err == (
        "error: --policies: easy: found no job runs to its end (busy), expected a policy that completes jobs on this "
        "machine"
    )


def test_faults_are_reported_at_once_with_what_was_meant(hetsched):
    said = hetsched("reproduce", "coa-singel", "--seed", "x")
    assert (said.code, said.out) == (2, "")
    assert said.err == (
        f"error: NAME: found `coa-singel`, expected one of {', '.join(EXPERIMENTS)}; "
        "did you mean `coa-single`?\n"
        "error: --seed: found `x`, expected a whole number, at least 0"
    )


def test_a_folder_that_cannot_be_is_reported_before_the_runs(hetsched, monkeypatch, folder):
    begun = []
    monkeypatch.setattr(reproduction, "experiment_named", begun.append)
    said = hetsched("reproduce", "coa-single", "--out", "small.swf")
    assert said.code == 1
    assert said.err == "error: small.swf: cannot be written: not a folder"
    assert begun == []


@pytest.mark.skipif(not Path("/proc/self").is_dir(), reason="needs a folder that refuses files to everybody")
def test_a_folder_that_cannot_be_written_is_reported_before_the_runs(hetsched, by_hand, monkeypatch, folder):
    begun = []
    monkeypatch.setattr(reproduction, "experiment_named", begun.append)
    for out in ("/proc/hetsched/out", "/proc/self"):
        said = hetsched("reproduce", "pools", "--out", out)
        assert said.code == 1
        assert said.err.startswith(f"error: {out}: cannot be written: ")
    said = hetsched("reproduce", "pools", "--out", "", "--seed", "x")
    assert said.err.splitlines() == [
        "error: --seed: found `x`, expected a whole number, at least 0",
        "error: --out: found ``, expected a folder's name",
    ]
    assert begun == []


def test_no_folder_is_left_behind_by_runs_that_fail(hetsched, monkeypatch, folder):
    def fails(name):
        raise SimulationError("cannot go on")

    monkeypatch.setattr(reproduction, "experiment_named", fails)
    (folder / "kept").mkdir()
    for out in ("new/deep", "kept", "kept/new"):
        assert hetsched("reproduce", "pools", "--out", out).err == "error: cannot go on"
    assert sorted(path.name for path in folder.rglob("*")) == ["kept", "small.swf"]


def test_what_is_not_all_printed_is_not_said_to_be(by_hand):
    parameters = {one.name: one for one in reproduction.reproduce("pools", seed=SEED).parameters}
    assert parameters["nodes"].is_printed
    assert not parameters["policies"].is_printed


def test_without_matplotlib_the_figure_is_said_to_be_missing(hetsched, by_hand, folder, monkeypatch):
    monkeypatch.setattr("hetsched.experiments.experiment.can_draw", lambda: False)
    said = hetsched("reproduce", "pools", "--out", "out", "--seed", SEED)
    assert said.code == 0
    assert said.out.endswith("no figure: matplotlib is not installed; pip install 'hetsched[plots]'")
    assert not (folder / "out" / "figure.png").exists()


def test_a_real_one_fits_the_terminal_and_shows_no_bar_in_a_pipe(hetsched):
    said = hetsched("reproduce", "swa-multi", "--quick")
    assert said.code == 0
    assert said.err == ""
    assert max(len(line) for line in said.out.splitlines()) <= 80
    assert "SWA saving, free, %" in said.out


HAS_NO_END = """
import dataclasses
from hetsched.experiments import reproduction

named = reproduction.experiment_named
reproduction.experiment_named = lambda name: dataclasses.replace(named(name), repetitions=3_000)
"""


@pytest.mark.slow
def test_ctrl_c_ends_it_at_once(process, folder):
    (folder / "early").mkdir()
    (folder / "early" / "sitecustomize.py").write_text(HAS_NO_END)
    running = process("reproduce", "swa-multi", "--out", "out", first_path=folder / "early")
    kept = folder / "out" / "repetitions.jsonl"
    while not (kept.exists() and kept.stat().st_size):
        assert running.poll() is None
        time.sleep(0.02)
    running.send_signal(signal.SIGINT)
    out, err = running.communicate(timeout=300)
    assert running.returncode == 130
    assert (out, err.strip()) == ("", "interrupted")
    # What was finished is there for the next time, and the rest was not waited for.
    assert [path.name for path in (folder / "out").iterdir()] == ["repetitions.jsonl"]
    assert kept.read_text().endswith("\n")
