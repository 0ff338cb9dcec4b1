"""``hetsched power evaluate``: errors of models, and what is left out of a fit."""

import json
import math

import polars as pl
import pytest
from power_files import LINEAR

import hetsched as hs
from hetsched.power import evaluate as evaluate_models
from hetsched.power.left_out import SPLITS


def test_errors_by_application_are_the_hand_made_ones(hetsched, measured):
    # The ratio of g2 to g1 is (114 + 128 + 142 + 156) / (110 + 120 + 130 + 140) = 1.08; g1 is met exactly.
    off = [100 * abs(1.08 * (100 + 10 * x) / (100 + 14 * x) - 1) for x in (1, 2, 3, 4)]
    given = ("power", "evaluate", "counters.csv", "watts.csv", "--split", "in_sample")
    models = ("--model", "power-ratio:model=linear", "--model", "single-stage:model=linear")
    found = json.loads(hetsched(*given, *models, "--json").out)
    rows = {(row["app"], row["model"]): row for row in found["rows"]}
    for app, error in zip("abcd", off, strict=True):
        row = rows[app, "power-ratio:model=linear"]
        assert row["mape_max_percent"] == pytest.approx(error)
        assert row["mape_mean_percent"] == pytest.approx(error / 2)
        assert row["devices"] == 2
        assert rows[app, "single-stage:model=linear"]["mape_max_percent"] == pytest.approx(0.0, abs=1e-9)
    own = [rows[app, "power-ratio:model=linear"] for app in "abcd"]
    # The rival: one number an application, the mean of g1, which is met, and of g2 at 1.08 times that.
    for x, row in zip((1, 2, 3, 4), own, strict=True):
        g1, g2 = 100 + 10 * x, 100 + 14 * x
        flat = 50 * (abs(1.04 * g1 / g1 - 1) + abs(1.04 * g1 / g2 - 1))
        assert row["no_variation_mape_percent"] == pytest.approx(flat)
    assert found["summary"]["power-ratio:model=linear"] == pytest.approx(
        {
            "mape_mean_percent": sum(off) / 8,
            "mape_max_percent": max(off),
            "no_variation_mape_percent": sum(row["no_variation_mape_percent"] for row in own) / 4,
        }
    )
    assert (found["split"], found["apps"], found["devices"], found["cells"]) == ("in_sample", 4, 2, 8)
    said = hetsched(*given, *models)
    assert said.out.splitlines()[2:4] == [
        "in sample: 4 applications on 2 devices, 8 measured pairs; fitted on all of them,",
        "and asked for the same ones",
    ]
    assert f"{max(off):.2f} %" in said.out


@pytest.mark.parametrize("split", SPLITS)
def test_the_table_holds_what_the_library_evaluates(hetsched, measured, split):
    features = pl.read_csv("counters.csv")
    power_w = pl.read_csv("watts.csv").pivot("app", index="device", values="power_w").drop("device").to_numpy()
    chosen = ("--model", "power-ratio:model=linear:reference_device=1", "--split", split, "--json")
    found = json.loads(hetsched("power", "evaluate", "counters.csv", "watts.csv", *chosen).out)
    model = hs.power.PowerRatio(model="linear", reference_device=1)
    wanted = evaluate_models(model, features.drop("app").to_numpy(), power_w, split=split, apps=features["app"])
    asked = [row for row in wanted.rows(named=True) if row["devices"]]
    assert found["folds"] == wanted["folds"][0]
    for row, expected in zip(found["rows"], asked, strict=True):
        for name in ("app", "devices", "mape_mean_percent", "mape_max_percent", "farthest_sd"):
            assert row[name] == pytest.approx(expected[name])


def test_left_out_is_the_default_and_said(hetsched, measured):
    said = hetsched("power", "evaluate", "counters.csv", "watts.csv", "--model", "two-stage", *LINEAR)
    assert (said.code, said.err) == (0, "")
    head = " ".join(said.out.splitlines()[2:5])
    assert head.startswith("applications left out one at a time: 4 applications on 2 devices, 8 measured pairs;")
    assert "fitted on the other 3" in head


def evaluated(hetsched, *words):
    return hetsched("power", "evaluate", "counters.csv", "watts.csv", "--model", "single-stage:model=linear", *words)


def test_folds_are_said_and_so_is_where_an_application_lies_outside(hetsched, measured):
    said = evaluated(hetsched, "--folds", "2")
    assert (said.code, said.err) == (0, "")
    head = " ".join(said.out.splitlines()[2:5])
    assert head.startswith("applications left out in 2 folds: 4 applications on 2 devices, 8 measured pairs;")
    assert "fitted on the other 1 folds" in head
    found = json.loads(evaluated(hetsched, "--json").out)
    assert (found["split"], found["folds"]) == ("leave_one_app_out", 4)
    # Rates of 1, 2, 3, 4: the first lies 1 below 2, 3, 4, whose standard deviation is that of three in a row.
    rows = {row["app"]: row for row in found["rows"]}
    assert rows["a"]["farthest_features"] == ["rate", "twice"]
    assert rows["a"]["farthest_sd"] == pytest.approx([-math.sqrt(1.5)] * 2)
    assert rows["b"]["farthest_features"] == rows["c"]["farthest_sd"] == []
    below = evaluated(hetsched).out.partition("outside what the models had seen")[2]
    assert [line.split() for line in below.splitlines()[2:]] == [
        ["a", "rate", "-1.2,", "twice", "-1.2"],
        ["d", "rate", "+1.2,", "twice", "+1.2"],
    ]


def test_more_than_a_hundred_are_left_out_in_ten_folds_and_that_is_said(hetsched, folder):
    apps = [f"k{number}" for number in range(101)]
    rate = pl.int_range(1, 102, eager=True)
    pl.DataFrame({"app": apps, "rate": rate}).write_csv("counters.csv")
    pl.DataFrame({"device": ["g1"] * 101, "app": apps, "power_w": rate + 100}).write_csv("watts.csv")
    said = evaluated(hetsched)
    head = " ".join(said.out.splitlines()[2:5])
    assert head.startswith("applications left out in 10 folds: 101 applications on 1 device, 101 measured pairs;")
    assert head.endswith("--folds 101 leaves out one at a time")
    assert json.loads(evaluated(hetsched, "--json").out)["folds"] == 10
    assert json.loads(evaluated(hetsched, "--json", "--folds", "101").out)["folds"] == 101


def test_groups_come_from_a_file_or_from_the_counters(hetsched, measured):
    (measured / "kinds.csv").write_text("app,kind,suite\na,x,s\nb,x,s\nc,y,s\nd,z,s\n")
    found = evaluated(hetsched, "--groups", "kinds.csv/kind", "--json")
    rows = json.loads(found.out)["rows"]
    assert json.loads(found.out)["folds"] == 3
    # Neither a nor b is known when either is asked: both lie below 3, the least rate left.
    assert [row["farthest_sd"][0] < 0 for row in rows[:2]] == [True, True]
    labelled = pl.read_csv("counters.csv").with_columns(kind=pl.Series(["x", "x", "y", "z"]))
    labelled.write_csv("counters.csv")
    assert json.loads(evaluated(hetsched, "--groups", "kind", "--json").out)["rows"] == rows
    said = evaluated(hetsched, "--groups", "kind")
    head = " ".join(said.out.splitlines()[2:5])
    assert head.startswith("groups left out one at a time: 4 applications on 2 devices")
    assert "fitted on other groups, of 3" in head


def test_a_new_device_is_evaluated_with_its_test_runs(hetsched, measured):
    said = evaluated(hetsched, "--split", "new_device", "--test-runs", "2")
    assert (said.code, said.err) == (0, "")
    head = " ".join(said.out.splitlines()[2:5])
    assert head.startswith("devices left out one at a time: ")
    assert "4 measured pairs" in head
    assert "fitted on the others and on 2 test runs of its own" in head
    # Of two points both lines through them are exact.
    found = json.loads(evaluated(hetsched, "--split", "new_device", "--test-runs", "2", "--json").out)
    assert found["cells"] == sum(row["devices"] for row in found["rows"]) == 4
    assert found["summary"]["single-stage:model=linear"]["mape_max_percent"] == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize(
    ("words", "line"),
    [
        ("--folds 1", "--folds: found `1`, expected a whole number between 2 and 1000000"),
        ("--folds 5", "--folds: found `5`, expected at most 4, the number of measured applications"),
        ("--folds 3 --split in_sample", "--folds: found `3`, expected none for in_sample, which leaves nothing out"),
        (
            "--groups kinds.csv --split new_device",
            "--groups: found `kinds.csv`, expected none but for leave_one_app_out: they are of applications",
        ),
        ("--test-runs 2", "--test-runs: found `2`, expected none but for new_device"),
        (
            "--groups kinds.csv",
            (
                "kinds.csv: found columns app, kind, suite, expected `app` and one of labels; of several say which: "
                "kinds.csv/COLUMN"
            ),
        ),
        (
            "--groups kinds.csv/knd",
            "kinds.csv: found no column `knd`, expected one of kind, suite; did you mean `kind`?",
        ),
        (
            "--groups kinds.csv/suite",
            "kinds.csv, app: found no label of d, expected one for every application of counters.csv",
        ),
        ("--groups kinds.csv/kind", "kinds.csv, a: found `x` and `y`, expected one label of each application"),
        ("--groups knd", "counters.csv: found no column `knd`, expected one of rate, twice"),
        ("--groups gone.csv", "gone.csv: found no such file, expected a file of one row a run"),
    ],
)
def test_what_cannot_be_left_out_is_a_line(hetsched, measured, words, line):
    (measured / "kinds.csv").write_text("app,kind,suite\na,x,s\nb,x,s\nc,y,s\nd,z,\na,y,\n")
    said = evaluated(hetsched, *words.split())
    assert (said.code, said.err) == (2, f"error: {line}")


@pytest.mark.parametrize("count", [1, 2, 3])
def test_a_picture_is_drawn_and_nothing_else_written(hetsched, measured, count):
    pytest.importorskip("matplotlib")
    models = [word for name in ("single-stage", "power-ratio", "two-stage")[:count] for word in ("--model", name)]
    before = set(measured.iterdir())
    said = hetsched(
        "power", "evaluate", "counters.csv", "watts.csv", *models, "--device-model", "linear", "--plot", "errors.png"
    )
    assert said.out.endswith("wrote errors.png")
    assert {path.name for path in set(measured.iterdir()) - before} == {"errors.png"}
    assert (measured / "errors.png").read_bytes().startswith(b"\x89PNG")
