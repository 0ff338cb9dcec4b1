"""``hetsched power``: fit, predict and evaluate, their files, and how mistakes end."""

import io
import json
import math

import numpy as np
import polars as pl
import pytest

import hetsched as hs
from hetsched.cli.app import FAMILIES
from hetsched.cli.power_evaluate import SPLITS
from hetsched.cli.power_models import LEARNERS, MODELS
from hetsched.power import evaluate as evaluate_models
from hetsched.power import learners, load
from hetsched.power.left_out import SPLITS as SPLITS_THERE
from hetsched.power.model import KINDS

# Watts of g1 are 100 + 10 x, those of g2 are 100 + 14 x: straight lines of the rate x, which linear models find.
# The second feature is twice the first, so that columns in another order would be seen.
COUNTERS = "app,rate,twice\na,1,2\nb,2,4\nc,3,6\nd,4,8\n"
WATTS = "device,app,power_w\n" + "".join(
    f"{device},{app},{100 + slope * (place + 1)}\n"
    for device, slope in (("g1", 10), ("g2", 14))
    for place, app in enumerate("abcd")
)
LINEAR = ("--mean-model", "linear", "--device-model", "linear")


@pytest.fixture
def measured(folder):
    (folder / "counters.csv").write_text(COUNTERS)
    (folder / "watts.csv").write_text(WATTS)
    return folder


def fitted(hetsched, *options, model="model.npz"):
    said = hetsched("power", "fit", "counters.csv", "watts.csv", "--out", model, *(options or LINEAR))
    assert said.code == 0
    return said


def test_the_names_that_help_shows_are_the_librarys():
    assert tuple(kind.replace("_", "-") for kind in KINDS) == MODELS
    assert tuple(learners.LEARNERS) == LEARNERS
    assert set(SPLITS) == set(SPLITS_THERE)


def test_every_verb_of_the_family_has_help(hetsched):
    for name, (about, verbs) in FAMILIES.items():
        said = hetsched(name)
        assert said.code == 2
        assert " ".join(about.split()[:4]) in said.out + said.err
        for verb in verbs:
            said = hetsched(name, verb, "--help")
            assert said.code == 0
            assert f"Usage: hetsched {name} {verb}" in said.out
            assert max(map(len, said.out.splitlines())) <= 80


def test_from_counters_to_a_table_to_a_run(hetsched, measured):
    fitted(hetsched)
    (measured / "new.csv").write_text("twice,app,rate\n10,e,5\n6,c,3\n")
    said = hetsched("power", "predict", "model.npz", "new.csv", "--out", "table.csv", "--json")
    table = hs.VariationTable.read("table.csv")
    # 100 + 10 x 5 and 100 + 14 x 5, 100 + 10 x 3 and 100 + 14 x 3.
    assert table.apps == ("e", "c")
    assert table.power_w == pytest.approx(np.array([[150.0, 170.0], [130.0, 142.0]]))
    found = json.loads(said.out)
    assert list(found) == ["summary", "model", "predicted", "devices", "beyond", "written"]
    assert (found["devices"], found["written"]) == (["g1", "g2"], ["table.csv"])
    assert found["predicted"][0] == pytest.approx({"app": "e", "mean_w": 160.0, "least_w": 150.0, "most_w": 170.0})
    (measured / "jobs.csv").write_text("job_id,submit_s,runtime_s,node_count,app\n1,0,100,1,e\n")
    run = ("simulate", "jobs.csv", "--nodes", 2, "--idle-w", 40, "--table", "table.csv", "--policy", "cgva-fcfs")
    assert json.loads(hetsched(*run, "--json").out)["summary"]["job_energy_j"] == pytest.approx(100 * 150.0)


def test_nodes_of_several_devices_draw_what_these_do_and_the_rest(hetsched, measured):
    fitted(hetsched)
    hetsched("power", "predict", "model.npz", "counters.csv", "--per-node", 2, "--rest-w", 30, "--out", "t.parquet")
    table = hs.VariationTable.read("t.parquet")
    assert table.power_w.ravel() == pytest.approx([200 + 24 * rate + 30 for rate in (1, 2, 3, 4)])


def test_by_device_the_file_is_one_that_fit_and_evaluate_read(hetsched, measured):
    fitted(hetsched)
    hetsched("power", "predict", "model.npz", "counters.csv", "--out", "guess.csv", "--by-device")
    guess, given = (pl.read_csv(name).sort("device", "app") for name in ("guess.csv", "watts.csv"))
    assert guess.columns == given.columns
    assert guess["power_w"].to_list() == pytest.approx(given["power_w"].to_list())
    said = hetsched("power", "evaluate", "counters.csv", "guess.csv", "--model", "two-stage", *LINEAR, "--json")
    assert json.loads(said.out)["summary"]["two-stage"]["mape_max_percent"] == pytest.approx(0.0, abs=1e-9)


def test_what_fit_says(hetsched, measured):
    said = fitted(hetsched)
    assert said.err == ""
    lines = said.out.splitlines()
    assert lines[0] == "counters.csv: 4 applications, 2 features"
    assert lines[1] == "watts.csv: 8 runs on 2 devices; all 8 pairs of device and application measured"
    assert lines[-1] == "wrote model.npz"
    found = json.loads(fitted(hetsched, *LINEAR, "--json").out)
    assert found["model"]["kind"] == "two-stage"
    assert found["model"]["mean_model"] == "linear"
    assert found["summary"]["mape_in_sample_percent"] == pytest.approx(0.0, abs=1e-9)
    assert (found["features"], found["devices"]) == (["rate", "twice"], ["g1", "g2"])


def test_equal_input_makes_equal_files_in_either_shape_which_the_library_reads(hetsched, measured):
    fitted(hetsched, model="long.npz")
    wide = pl.read_csv("watts.csv").pivot("app", index="device", values="power_w")
    wide.write_csv("watts.csv")
    fitted(hetsched, model="wide.npz")
    assert (measured / "long.npz").read_bytes() == (measured / "wide.npz").read_bytes()
    assert load("long.npz").predict([[5.0, 10.0]]) == pytest.approx(np.array([[150.0], [170.0]]))


def test_several_runs_count_as_their_median_and_others_are_counted(hetsched, measured):
    # Runs of 110 and 500 W beside the 110 W that were there: the median stays. Three runs say nothing.
    (measured / "watts.csv").write_text(WATTS + "g1,a,110\ng1,a,500\ng1,b,0\ng2,b,\n,b,120\n")
    said = hetsched("power", "evaluate", "counters.csv", "watts.csv", "--model", "two-stage", *LINEAR, "--json")
    found = json.loads(said.out)
    assert found["summary"]["two-stage"]["mape_max_percent"] == pytest.approx(0.0, abs=1e-9)
    assert found["runs"] == 10
    assert found["dropped"] == {"without node": 1, "power_w missing": 1, "power_w not above 0": 1}
    assert "watts.csv: 3 runs left out (1 without node, 1 power_w missing, 1 power_w not above 0)" in said.err


def test_devices_stand_in_natural_order(hetsched, measured):
    (measured / "watts.csv").write_text(WATTS.replace("g1,", "10,").replace("g2,", "9,"))
    assert json.loads(fitted(hetsched, *LINEAR, "--json").out)["devices"] == ["9", "10"]


def test_what_was_not_measured_is_said_and_left_out(hetsched, measured):
    (measured / "watts.csv").write_text(WATTS.replace("g2,d,156\n", ""))
    (measured / "counters.csv").write_text(COUNTERS + "idle,0,0\n")
    said = fitted(hetsched)
    assert "watts.csv: 7 runs on 2 devices; 7 of 10 pairs of device and application measured" in said.out
    assert "not measured, nothing is learned from them: idle" in said.out
    said = hetsched("power", "predict", "model.npz", "counters.csv")
    assert "beyond what the model was fitted on: idle (rate of idle 0, fitted 1 to 4)" in said.out


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
    assert found["summary"]["power-ratio:model=linear"] == pytest.approx(
        {"mape_mean_percent": sum(off) / 8, "mape_max_percent": max(off)}
    )
    assert (found["split"], found["apps"], found["devices"], found["cells"]) == ("in_sample", 4, 2, 8)
    said = hetsched(*given, *models)
    assert said.out.splitlines()[2:4] == [
        "in sample: 4 applications on 2 devices, 8 measured pairs; fitted on all of them,",
        "and asked for the same ones",
    ]
    assert f"{max(off):.2f} %" in said.out.splitlines()[-2]


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


def test_a_new_device_is_told_with_its_test_runs(hetsched, measured):
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


def test_a_model_without_names_is_used_as_it_stands_and_that_is_said(hetsched, measured):
    hs.power.SingleStage(model="linear").fit([[1.0, 2.0], [2.0, 4.0]], [[110.0, 120.0]]).save("bare.npz")
    said = hetsched("power", "predict", "bare.npz", "counters.csv")
    assert said.code == 0
    assert "the model does not say what its features are; columns are taken as they stand: rate, twice" in said.out
    (measured / "one.csv").write_text("app,rate\na,1\n")
    said = hetsched("power", "predict", "bare.npz", "one.csv")
    assert (
        said.err == "error: one.csv: found 1 feature, expected 2, as the model was fitted with (it does not say which)"
    )


NAMES = ".csv, .csv.gz, .csv.zst, .parquet"
BAD_COUNTERS = [
    ("app,rate\na,1\nb,2\na,3\n", ["counters.csv, line 4, app: found `a`, expected each application once"]),
    (
        "app,rate,twice\na,1,2\nb,,4\nc,nan,x\n",
        [
            "counters.csv, line 3, rate: found nothing, expected a number: models need every feature of every ",
            "counters.csv, line 4, rate: found nothing, expected a number: models need every feature of every ",
            "counters.csv, line 4, twice: found `x`, expected numbers",
        ],
    ),
    ("app,rate\na,1\n,2\n", ["counters.csv, line 3, app: found nothing, expected the application's name"]),
    (
        "app,rate\na,inf\n",
        ["counters.csv, line 2, rate: found `inf`, expected a finite number, at most 1e+100 in size"],
    ),
    ("name,rate\na,1\n", ["counters.csv: found columns name, rate, expected a column `app`"]),
    ("app\na\n", ["counters.csv: found no feature, expected a column of numbers beside `app`"]),
    ("app;rate\na;1\n", ["counters.csv, line 1: found semicolons between the fields, expected commas between the "]),
    (
        "app,rate\na,1\nb,1\nc,1\nd,1\n",
        [
            "counters.csv: found the same values for all ",
        ],
    ),
]


@pytest.mark.parametrize(("content", "lines"), BAD_COUNTERS)
@pytest.mark.parametrize("verb", ["fit", "evaluate"])
def test_bad_features_are_told_by_line_and_column(hetsched, measured, verb, content, lines):
    (measured / "counters.csv").write_text(content)
    said = hetsched("power", verb, "counters.csv", "watts.csv", *(("--out", "m.npz") if verb == "fit" else ()))
    assert said.code == 2
    for found, line in zip(said.err.splitlines(), lines, strict=True):
        assert found.startswith(f"error: {line}")
    assert not (measured / "m.npz").exists()


BAD_WATTS = [
    (
        "device,app,power_w\ng1,a,110\ng1,bb,120\n",
        "watts.csv, line 3, app: found `bb`, expected an application of counters.csv; did you mean `b`?",
    ),
    (
        "device,app,power_w\ng1,x,110\ng1,y,120\n",
        "watts.csv: found none of the applications, only x, y, expected at least one of counters.csv's: a, b, c, d",
    ),
    ("device,app,power_w\ng1,a,1O0\n", "watts.csv, line 2, power_w: found `1O0`, expected numbers"),
    ("device,app,watts\ng1,a,100\n", "watts.csv: found columns device, app, watts, expected a column `power_w`"),
    (
        "device,app,power_w\ng1,a,100\ng2,a,0\n",
        "watts.csv: found no usable run of g2, expected at least one run with watts above 0 for every device",
    ),
    (
        "device,a,b,e\ng1,100,110,120\n",
        "watts.csv, e: found `e`, expected an application of counters.csv",
    ),
    (
        "device,a,b\ng1,100,110\ng2,,\n",
        "watts.csv: found no usable run of g2, expected at least one run with watts above 0 for every device",
    ),
    (
        "device,a,b\ng1,100,high\n",
        "watts.csv, line 2, b: found `high`, expected watts under an application, or a file with columns device, app, ",
    ),
]


@pytest.mark.parametrize(("content", "line"), BAD_WATTS)
def test_bad_watts_are_told_by_line_and_column(hetsched, measured, content, line):
    (measured / "watts.csv").write_text(content)
    said = hetsched("power", "fit", "counters.csv", "watts.csv", "--out", "m.npz")
    assert said.code == 2
    (found,) = said.err.splitlines()
    assert found.startswith(f"error: {line}")
    assert not (measured / "m.npz").exists()


def rewritten(path, change):
    """The model's file with another header."""
    with np.load(path) as archive:
        arrays = dict(archive)
    header = json.loads(arrays["header"].tobytes())
    change(header)
    arrays["header"] = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    return buffer.getvalue()


def renamed_features(content):
    """The model's file with one feature less in its names."""
    with np.load(io.BytesIO(content)) as archive:
        arrays = dict(archive)
    names = json.loads(arrays["names"].tobytes())
    names["features"] = names["features"][:1]
    arrays["names"] = np.frombuffer(json.dumps(names).encode(), dtype=np.uint8)
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    return buffer.getvalue()


BAD_MODELS = [
    (lambda _: b"", "model.npz: found a file of another kind, expected a power model that hetsched wrote"),
    (lambda path: path.read_bytes()[:-200], "model.npz: found a damaged file ("),
    (
        lambda path: rewritten(path, lambda header: header.update(version=99)),
        "model.npz: found version `99`, expected version 3; a later hetsched may have written it",
    ),
    (lambda path: rewritten(path, lambda header: header.update(kind="oracle")), "model.npz: found a model of kind "),
    (lambda path: renamed_features(path.read_bytes()), "model.npz: found names that do not belong to the model, "),
]


@pytest.mark.parametrize(("damage", "line"), BAD_MODELS)
def test_a_model_that_cannot_be_read_is_one_line(hetsched, measured, damage, line):
    fitted(hetsched)
    (measured / "model.npz").write_bytes(damage(measured / "model.npz"))
    said = hetsched("power", "predict", "model.npz", "counters.csv")
    assert said.code == 2
    (found,) = said.err.splitlines()
    assert found.startswith(f"error: {line}")


def test_other_features_than_the_models_are_named(hetsched, measured):
    fitted(hetsched)
    (measured / "other.csv").write_text("app,rate,twices\na,1,2\n")
    said = hetsched("power", "predict", "model.npz", "other.csv", "--out", "t.csv")
    assert said.err.splitlines() == [
        (
            "error: other.csv: found no feature `twice`, expected a column of it, as the model was fitted with; "
            "did you mean `twices`?"
        ),
        (
            "error: other.csv, twices: found another feature, expected the features that the model was fitted with: "
            "rate, twice"
        ),
    ]
    assert (said.code, (measured / "t.csv").exists()) == (2, False)


@pytest.mark.parametrize("name", ["\ud800.npz", "a\0.npz"])
def test_a_name_that_no_file_can_have_is_no_models(hetsched, measured, name):
    said = hetsched("power", "fit", "counters.csv", "watts.csv", "--out", name, *LINEAR)
    assert (said.code, len(said.err.splitlines())) == (2, 1)
    assert said.err.startswith("error: --out: found `")
    assert said.err.endswith("expected a file's name")


def test_a_library_that_is_not_installed_is_named_with_how_to_get_it(hetsched, measured, monkeypatch):
    def missing(name):
        raise ModuleNotFoundError(name=name)

    monkeypatch.setattr("hetsched.power.trees.import_module", missing)
    said = hetsched(
        "power",
        "fit",
        "counters.csv",
        "watts.csv",
        "--out",
        "m.npz",
        "--device-model",
        "lightgbm",
        "--mean-model",
        "linear",
    )
    assert said.err == ('error: lightgbm: found no such library, expected it installed: pip install "hetsched[models]"')
    assert said.code == 2


BAD_OPTIONS = [
    ("fit counters.csv watts.csv", ["missing option --out; see hetsched power fit --help"]),
    ("fitt", ["unknown command `fitt`; did you mean `fit`?"]),
    ("fit counters.csv watts.csv --out m.npz --sede 1", ["unknown option --sede; did you mean `--seed`?"]),
    (
        "fit counters.csv watts.csv --out m.npz --model twostage --mean-model lin --seed x",
        [
            "--seed: found `x`, expected a whole number, at least 0",
            "--mean-model: found `lin`, expected one of linear, random_forest, lightgbm; did you mean `linear`?",
            (
                "--model: found `twostage`, expected one of two-stage, single-stage, power-ratio, shared-response; "
                "did you mean `two-stage`?"
            ),
        ],
    ),
    (
        "fit counters.csv watts.csv --out m.npz --model two-stage:min_ap=3:min_apps=x:seed",
        [
            (
                "--model two-stage: found parameter `min_ap`, expected one of mean_model, device_model, seed, "
                "min_apps; did you mean `min_apps`?"
            ),
            "--model two-stage:min_apps: found `x`, expected a whole number",
            "--model two-stage: found `seed`, expected PARAM=VALUE, such as seed=4",
        ],
    ),
    (
        "fit counters.csv watts.csv --out m.npz --model power-ratio:reference_device=9",
        ["--model power-ratio:reference_device: found `9`, expected one of the 2 devices, counted from 0"],
    ),
    (
        "fit counters.csv watts.csv --out m.npz --model shared-response --device-model linear",
        [
            (
                "--device-model: found `linear`, expected nothing: it is of two-stage, single-stage, power-ratio, "
                "not of shared-response"
            )
        ],
    ),
    (
        "evaluate counters.csv watts.csv --split in-sample --model two-stage --model two-stage --plot a.jpg",
        [
            (
                "--split: found `in-sample`, expected one of leave_one_app_out, new_device, in_sample; did you mean "
                "`in_sample`?"
            ),
            "--model: found `two-stage`, expected each model once",
            "--plot: found `a.jpg`, expected a name ending in .png, .svg, .pdf",
        ],
    ),
    (
        "predict model.npz counters.csv --per-node 0 --rest-w 3W --out t.xlsx",
        [
            "--per-node: found `0`, expected a whole number between 1 and 1024",
            "--rest-w: found `3W`, expected watts as a plain number, such as 3",
            "--out: found `t.xlsx`, expected a name ending in .parquet, .csv",
        ],
    ),
    (
        "predict model.npz counters.csv --by-device --per-node 2",
        [
            "--by-device: found no --out, expected a file for it: --out FILE",
            "--by-device: found --per-node or --rest-w beside it, expected one or the other: devices or nodes",
        ],
    ),
    (
        "predict model.npz counters.csv --per-node 3",
        ["--per-node: found `3`, expected a divisor of 2, the model's devices"],
    ),
    ("predict model.npz counters.txt", [f"FEATURES: found `counters.txt`, expected a name ending in {NAMES}"]),
    ("predict none.npz counters.csv", ["none.npz: found no such file, expected a power model that hetsched wrote"]),
    ("fit none.csv watts.csv --out m.npz", ["none.csv: found no such file, expected a file of one row an application"]),
]


@pytest.mark.parametrize(("arguments", "lines"), BAD_OPTIONS)
def test_every_mistake_is_a_line_and_nothing_is_written(hetsched, measured, arguments, lines):
    fitted(hetsched)
    before = set(measured.iterdir())
    said = hetsched("power", *arguments.split())
    assert said.err.splitlines() == [f"error: {line}" for line in lines]
    assert said.code == 2
    assert set(measured.iterdir()) == before


def test_output_that_cannot_be_written_is_known_before_the_work(hetsched, measured):
    for arguments in (
        ("fit", "counters.csv", "watts.csv", "--out", "watts.csv/m.npz"),
        ("evaluate", "counters.csv", "watts.csv", "--plot", "watts.csv/m.png"),
    ):
        said = hetsched("power", *arguments)
        assert (said.code, said.out, said.err) == (1, "", "error: watts.csv: cannot be written: not a folder")


JOBS = "job_id,submit_s,runtime_s,node_count,app\n1,0,100,1,a\n"
TABLE = "app,node,power_w\na,0,200\na,1,150\n"


@pytest.mark.parametrize(
    ("predictor", "energy_j"), [("ideal", 15_000.0), ("noisy:0", 15_000.0), ("wrong.csv", 20_000.0)]
)
def test_a_run_decides_by_what_the_predictor_says_and_charges_the_table(hetsched, folder, predictor, energy_j):
    (folder / "jobs.csv").write_text(JOBS)
    (folder / "table.csv").write_text(TABLE)
    # It takes node 0, which really draws 200 W, for the better one.
    (folder / "wrong.csv").write_text(TABLE.replace("200", "100"))
    run = ("simulate", "jobs.csv", "--nodes", 2, "--idle-w", 40, "--policy", "cgva-fcfs", "--table", "table.csv")
    found = json.loads(hetsched(*run, "--predictor", predictor, "--json").out)
    assert found["summary"]["job_energy_j"] == pytest.approx(energy_j)
    assert found["options"]["predictor"] is not None
    assert (found["tables"]["actual"] == found["tables"]["predicted"]) == (predictor != "wrong.csv")


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        ("--predictor idael", "--predictor: found `idael`, expected ideal, noisy:ERROR, history or a table ending "),
        (
            "--predictor noisy",
            "--predictor: found `noisy`, expected noisy:ERROR with a number from 0, such as noisy:0.1",
        ),
        ("--predictor noisy:-1", "--predictor: found `noisy:-1`, expected noisy:ERROR with a number from 0, such as "),
        ("--predictor none.csv", "none.csv: found no such file, expected a CSV file of app, node, power_w or "),
        ("--predictor other.csv", "--predictor other.csv: found `no application a`, expected the actual table's: a"),
    ],
)
def test_a_predictor_that_cannot_be_is_a_line(hetsched, folder, arguments, line):
    (folder / "jobs.csv").write_text(JOBS)
    (folder / "table.csv").write_text(TABLE)
    (folder / "other.csv").write_text(TABLE.replace("a,", "b,"))
    said = hetsched("simulate", "jobs.csv", "--nodes", 2, "--table", "table.csv", *arguments.split())
    assert said.code == 2
    assert said.err.splitlines()[0].startswith(f"error: {line}")
    said = hetsched("simulate", "jobs.csv", "--nodes", 2, "--predictor", "ideal")
    assert said.err == (
        "error: --predictor: found `ideal`, expected a log whose jobs bring power_w, or --table beside it"
    )
    said = hetsched("simulate", "jobs.csv", "--nodes", 2, "--predictor", "other.csv")
    assert said.err == (
        "error: --predictor: found `other.csv`, expected --table beside it: predictions are of what a table says"
    )


def test_parquet_is_read_as_csv_is_whatever_kind_its_numbers_and_names_are(hetsched, measured):
    fitted(hetsched, model="from-csv.npz")
    features = pl.read_csv("counters.csv").with_columns(
        pl.col("app").cast(pl.Categorical), pl.col("twice").cast(pl.Float32)
    )
    features.write_parquet("counters.parquet")
    watts = pl.read_csv("watts.csv").with_columns(pl.col("app").cast(pl.Categorical), pl.col("power_w").cast(pl.Int16))
    watts.write_parquet("watts.parquet")
    said = hetsched("power", "fit", "counters.parquet", "watts.parquet", "--out", "from-parquet.npz", *LINEAR)
    assert (said.code, said.err) == (0, "")
    assert (measured / "from-csv.npz").read_bytes() == (measured / "from-parquet.npz").read_bytes()
