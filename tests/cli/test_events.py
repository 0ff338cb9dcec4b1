"""``--events``: what comes from outside a run, on the command line of simulate and compare."""

import dataclasses
import json

import pytest

import hetsched as hs
from hetsched.cli import run_options
from hetsched.params import number
from hetsched.run.options import RunOptions

WATTS = ("--idle-w", 100, "--tdp-w", 400)
PRICES = "time_s,kind,node,value,until_s\n0,price,,0.25,\n1200,price,,0.5,\n1100,node_failed,15,,\n"


@pytest.mark.filterwarnings("ignore::hetsched.errors.RunWarning")
@pytest.mark.parametrize("suffix", ["csv", "parquet", "toml"])
def test_a_run_with_events_is_the_one_of_the_library(hetsched, folder, suffix):
    (folder / "e.csv").write_text(PRICES)
    given = hs.Events.read_csv("e.csv")
    given.to_polars().write_parquet("e.parquet")
    rows = [{name: value for name, value in row.items() if value is not None} for row in given.to_polars().to_dicts()]
    tables = ("\n".join(f"{name} = {json.dumps(value)}" for name, value in row.items()) for row in rows)
    (folder / "e.toml").write_text("".join(f"[[events]]\n{table}\n" for table in tables))
    said = hetsched("simulate", "small.swf", *WATTS, "--events", f"e.{suffix}", "--out", "out", "--json")
    assert said.code == 0
    platform = hs.Platform.homogeneous(nodes=16, idle_w=100, tdp_w=400)
    result = hs.simulate(hs.read_swf("small.swf"), platform, "easy", events=given)
    assert hs.read_result("out") == result
    found = json.loads(said.out)
    assert found["summary"]["cost"] == result.summary()["cost"] > 0
    # Its content, never its path: what is written is the same wherever it lay.
    assert found["options"]["events"] == given.sha256
    assert f'"e.{suffix}' not in (folder / "out" / "summary.json").read_text()


def test_a_summary_shows_what_energy_costs(hetsched, folder):
    (folder / "e.csv").write_text(PRICES.replace("1100,node_failed,15,,\n", "0,carbon,,400,\n"))
    said = hetsched("simulate", "small.swf", *WATTS, "--events", "e.csv")
    # 2800 W for 60 s, 1600 W for 940 s, 4000 W for 20 s and 6400 W for 180 s are 0.8067 kWh; then 6400 W for 120 s,
    # 4000 W for 280 s and 4600 W for 200 s 0.78 kWh.
    lines = [line.split() for line in said.out.splitlines()]
    assert ["cost", "0.5917"] in lines
    assert ["carbon", "dioxide", "0.6347", "kg"] in lines


@pytest.mark.filterwarnings("ignore::hetsched.errors.RunWarning")
def test_policies_are_compared_by_what_their_energy_costs(hetsched, folder):
    (folder / "e.csv").write_text(PRICES)
    said = hetsched(
        "compare", "small.swf", *WATTS, "--policies", "fcfs,easy", "--events", "e.csv", "--metrics", "cost", "--json"
    )
    assert said.code == 0
    platform = hs.Platform.homogeneous(nodes=16, idle_w=100, tdp_w=400)
    costs = [
        hs.simulate(hs.read_swf("small.swf"), platform, policy, events=hs.read_events("e.csv")).summary()["cost"]
        for policy in ("fcfs", "easy")
    ]
    assert [row["summary"]["cost"] for row in json.loads(said.out)["runs"]] == costs


@pytest.mark.filterwarnings("ignore::hetsched.errors.RunWarning")
@pytest.mark.parametrize("on_failure", ["fail", "requeue"])
def test_jobs_on_a_node_that_fails_end_or_are_queued_again(hetsched, folder, on_failure):
    (folder / "e.csv").write_text("time_s,kind,node\n1005,node_failed,0\n1100,node_repaired,0\n")
    said = hetsched("simulate", "small.swf", "--events", "e.csv", "--on-failure", on_failure, "--json")
    result = hs.simulate(
        hs.read_swf("small.swf"),
        hs.Platform.homogeneous(nodes=16, idle_w=100, tdp_w=400),
        "easy",
        events=hs.read_events("e.csv"),
        on_failure=on_failure,
    )
    found = json.loads(said.out)["summary"]
    assert (found["failed"], found["completed"]) == (result.summary()["failed"], result.summary()["completed"])
    assert (found["failed"] > 0) == (on_failure == "fail")


@dataclasses.dataclass(frozen=True)
class More(RunOptions):
    """The options of a run and one more."""

    patience_s: float = dataclasses.field(default=7.0, metadata=number(0.0, 100.0, "Time to wait.", "seconds"))


@pytest.mark.parametrize("verb", ["simulate", "compare"])
def test_verbs_that_run_take_every_option(hetsched, verb, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setattr(run_options, "RunOptions", More)
    said = hetsched(verb, "--help").out
    for field in dataclasses.fields(More):
        words = field.name.replace("_", "-")
        assert f"--no-{words} " in said if field.default is True else f"--{words} " in said
    policies = ("--policies", "easy") if verb == "compare" else ()
    said = hetsched(verb, "small.swf", *policies, "--patience-s", "101")
    assert said.err == "error: --patience-s: found `101`, expected a number between 0 and 100"


def test_a_misspelt_on_failure_is_refused(hetsched):
    said = hetsched("compare", "small.swf", "--policies", "easy", "--on-failure", "requeu")
    assert said.code == 2
    assert said.err == ("error: --on-failure: found `requeu`, expected one of fail, requeue; did you mean `requeue`?")


BUDGET = "time_s,kind,value\n7,budget,1000\n"
NO_POWER = (
    "found `budget` at 7 s, expected a policy with a part in the role `power`, such as system-budget; {} has none"
)
IDLE = "events.value, row 0: found `1000` at 7 s, expected at least 1,600 W, what the idle machine draws"


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        (
            ("simulate", "small.swf", "--events", "e.xlsx"),
            "--events: found `e.xlsx`, expected a file of events whose name ends in one of .csv, .csv.gz, .csv.zst",
        ),
        (("simulate", "small.swf", "--events", "none.csv"), "none.csv: found no such file, expected a CSV file with"),
        (("simulate", "small.swf", *WATTS, "--events", "e.csv"), f"events.kind, row 0: {NO_POWER.format('easy')}"),
        (("simulate", "small.swf", *WATTS, "--events", "e.csv", "--policy", "vahrm"), IDLE),
        (
            ("compare", "small.swf", *WATTS, "--events", "e.csv", "--policies", "fcfs,vahrm"),
            f"--policies: fcfs: events.kind, row 0: {NO_POWER.format('fcfs')}\nerror: --policies: vahrm: {IDLE}",
        ),
        (("simulate", "small.swf", "--events", "odd.csv"), "odd.csv, line 3, value: found `-5`, expected watts of the"),
        (
            ("simulate", "small.swf", "--events", "out/events.parquet", "--out", "out"),
            "--events: found `out/events.parquet`, expected a file that --out does not replace",
        ),
        (
            ("compare", "small.swf", "--policies", "fcfs", "--metrics", "cost"),
            "--metrics: found `cost`, expected --events or --contract as well, with prices or carbon intensities",
        ),
    ],
)
def test_events_that_cannot_be_are_reported(hetsched, folder, arguments, fault):
    (folder / "e.csv").write_text(BUDGET)
    (folder / "odd.csv").write_text(BUDGET + "9,budget,-5\n")
    said = hetsched(*arguments)
    assert said.code == 2
    assert f"error: {fault}" in said.err
    assert said.out == "" or "read" in said.out
