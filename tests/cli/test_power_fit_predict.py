"""``hetsched power fit`` and ``predict``: from measurements to a model to a table, and what they say."""

import json

import numpy as np
import polars as pl
import pytest
from power_files import COUNTERS, LINEAR, WATTS, fitted

import hetsched as hs
from hetsched.cli.app import FAMILIES
from hetsched.cli.power_models import LEARNERS, MODELS
from hetsched.power.models import learners
from hetsched.power.models.model import KINDS


def test_names_that_commands_take_are_those_of_models_and_learners():
    assert tuple(kind.replace("_", "-") for kind in KINDS) == MODELS
    assert tuple(learners.LEARNERS) == LEARNERS


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
    table = hs.read_table("table.csv")
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
    table = hs.read_table("t.parquet")
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
    assert hs.read_model("long.npz").predict([[5.0, 10.0]]) == pytest.approx(np.array([[150.0], [170.0]]))


def test_several_runs_count_as_their_median_and_others_are_counted(hetsched, measured):
    # Runs of 110 and 500 W next to the 110 W that were there: the median stays. Three runs say nothing.
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


def test_a_model_without_names_is_used_as_it_stands_and_that_is_said(hetsched, measured):
    hs.power.SingleStage(model="linear").fit([[1.0, 2.0], [2.0, 4.0]], [[110.0, 120.0]]).write("bare.npz")
    said = hetsched("power", "predict", "bare.npz", "counters.csv")
    assert said.code == 0
    assert "the model does not say what its features are; columns are taken as they stand: rate, twice" in said.out
    (measured / "one.csv").write_text("app,rate\na,1\n")
    said = hetsched("power", "predict", "bare.npz", "one.csv")
    assert (
        said.err == "error: one.csv: found 1 feature, expected 2, as the model was fitted with (it does not say which)"
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
