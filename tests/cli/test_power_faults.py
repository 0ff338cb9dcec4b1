"""Mistakes in ``hetsched power``: files, models and options that cannot be."""

import io
import json

import numpy as np
import pytest
from power_files import LINEAR, fitted

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
    ("app\na\n", ["counters.csv: found no feature, expected a column of numbers next to `app`"]),
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
def test_bad_features_are_reported_by_line_and_column(hetsched, measured, verb, content, lines):
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
def test_bad_watts_are_reported_by_line_and_column(hetsched, measured, content, line):
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

    monkeypatch.setattr("hetsched.power.models.trees.import_module", missing)
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
            "--mean-model: found `lin`, expected one of linear, random_forest, lightgbm; did you mean `linear`?",
            "--seed: found `x`, expected a whole number, at least 0",
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
                "--split: found `in-sample`, expected one of in_sample, leave_one_app_out, new_device; did you mean "
                "`in_sample`?"
            ),
            "--plot: found `a.jpg`, expected a name ending in .png, .svg, .pdf",
            "--model: found `two-stage`, expected each model once",
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
            "--by-device: found --per-node or --rest-w with it, expected one or the other: devices or nodes",
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
