"""Files of power models: what is in them comes back, and what cannot be in them is refused before it does any harm."""

import io
import json
import subprocess
import sys
import tracemalloc
import zipfile
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from hetsched import read_model
from hetsched.errors import ConfigError, OutputError
from hetsched.power import SharedResponse, SingleStage, TwoStage
from hetsched.power.models.archive import Saved, zipped

NAN = np.nan
DATA = Path(__file__).parents[1] / "data"


def message(function, *arguments, **options):
    with pytest.raises(ConfigError) as caught:
        function(*arguments, **options)
    return str(caught.value)


def table(n_devices=2, n_apps=6, n_features=2, seed=0):
    rng = np.random.default_rng(seed)
    return rng.random((n_apps, n_features)), 100.0 + 50.0 * rng.random((n_devices, n_apps))


@pytest.fixture
def saved(tmp_path):
    path = tmp_path / "model.npz"
    TwoStage("linear", "random_forest").fit(*table()).write(path)
    return path


def members(path):
    with np.load(path) as archive:
        return {name: archive[name] for name in archive.files}


def rewritten(path, *, header=(), **arrays):
    """The file with other values in its header, and other arrays."""
    content = members(path)
    old = json.loads(content["header"].tobytes())
    content["header"] = np.frombuffer(json.dumps({**old, **dict(header)}).encode(), dtype=np.uint8)
    content.update({f"state.{name.replace('__', '.')}": array for name, array in arrays.items()})
    np.savez(path, **{name: array for name, array in content.items() if array is not None})


def with_member(path, name, data, method=zipfile.ZIP_DEFLATED):
    """The file with other bytes as one of its members."""
    with zipfile.ZipFile(path) as archive:
        content = {one: archive.read(one) for one in archive.namelist()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for one, bytes_of_one in {**content, name: data}.items():
            archive.writestr(one, bytes_of_one, method if one == name else zipfile.ZIP_DEFLATED)


def npy(array):
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, array, allow_pickle=array.dtype.hasobject)
    return buffer.getvalue()


def refused(path):
    said = message(read_model, path)
    assert said.startswith(f"{path}: found ")
    assert "\n" not in said
    return said.removeprefix(f"{path}: found ")


def test_a_file_that_is_not_there(tmp_path):
    assert refused(tmp_path / "none.npz") == "no such file, expected a power model that hetsched wrote"
    assert refused(tmp_path).startswith("a directory")


@pytest.mark.parametrize("content", [b"", b"PK", b"not a model", b"\x80\x04\x95pickle", b"PK\x03\x04" + bytes(100)])
def test_a_file_of_something_else(tmp_path, content):
    (tmp_path / "a.npz").write_bytes(content)
    assert refused(tmp_path / "a.npz").endswith("expected a power model that hetsched wrote")


def test_an_archive_of_something_else(tmp_path):
    np.savez(tmp_path / "a.npz", values=np.ones(3))
    assert refused(tmp_path / "a.npz").startswith("an archive of another kind")


def test_a_version_or_kind_of_the_future(saved):
    rewritten(saved, header={"version": 4})
    assert refused(saved) == "version `4`, expected version 3; a later hetsched may have written it"
    rewritten(saved, header={"version": 3, "kind": "two_stagee"})
    said = refused(saved)
    assert said.startswith("a model of kind `two_stagee`, expected one of two_stage, single_stage, power_ratio")
    assert said.endswith("did you mean `two_stage`?")


def test_a_version_of_the_past_is_to_be_fitted_again(saved):
    rewritten(saved, header={"version": 2})
    assert refused(saved) == "version `2`, expected version 3; an earlier hetsched wrote it: fit it again"


@pytest.mark.parametrize(
    ("name", "devices"), [("forest", ("0", "1", "2")), ("boosted", ("0", "1", "2")), ("named", ("g1", "g2", "g3"))]
)
def test_files_say_what_they_said(name, devices, tmp_path):
    model = read_model(DATA / "power" / f"{name}.npz")
    wanted = json.loads((DATA / "power" / "predicted.json").read_text())[name]
    assert model.predict([[0.3, 0.4], [0.8, 0.2]]).tolist() == wanted
    assert model.device_names_ == devices
    assert getattr(model, "feature_names_in_", None) == (("ipc", "loads") if name == "named" else None)
    model.write(tmp_path / "a.npz")
    assert read_model(tmp_path / "a.npz").predict([[0.3, 0.4], [0.8, 0.2]]).tolist() == wanted


def test_cut_files_and_flipped_bytes_are_found(saved):
    content = saved.read_bytes()
    wanted = read_model(saved).predict([[0.3, 0.4]])
    rng = np.random.default_rng(0)
    for size in (10, len(content) // 2, len(content) - 1):
        saved.write_bytes(content[:size])
        refused(saved)
    read = []
    for place in rng.integers(0, len(content), 150).tolist():
        damaged = bytearray(content)
        damaged[place] ^= 0x41
        saved.write_bytes(bytes(damaged))
        try:
            read.append(read_model(saved).predict([[0.3, 0.4]]))
        except ConfigError:
            refused(saved)
    # Bytes that mean nothing (such as dates of members) may differ: what is read then is what was written.
    assert len(read) < 50
    assert all(np.array_equal(watts, wanted) for watts in read)


def test_no_pickle_is_opened(saved, tmp_path):
    class Trap:
        def __reduce__(self):
            return (tmp_path / "sprung").mkdir, ()

    pickled = npy(np.array([Trap()], dtype=object))
    with_member(saved, "state.trap.npy", pickled)
    read_model(saved)
    with_member(saved, "state.offsets_w.npy", pickled)
    assert refused(saved).startswith("a damaged file")
    assert not (tmp_path / "sprung").exists()


@pytest.mark.parametrize(
    "arrays",
    [
        {"mean__coefficients": np.ones((1, 3))},
        {"mean__intercepts": np.array(["a"])},
        {"mean__centre": None},
        {"fallback_devices": np.array([99])},
        {"device__0__left": np.zeros(3, dtype=np.int64)},
        {"device__0__roots": np.full((1, 100), 10**6)},
        {"device__0__roots": np.zeros((5, 100), dtype=np.int64)},
        {"device__0__value": np.ones(3)},
        {"device__places": np.zeros(2, dtype=np.int64)},
        {"device__places": np.arange(3)},
    ],
    ids=str,
)
def test_arrays_that_do_not_belong_together(saved, arrays):
    rewritten(saved, **arrays)
    assert refused(saved).startswith("a damaged file (")


def test_trees_that_never_end(saved):
    with np.load(saved) as archive:
        left = archive["state.device.0.left"]
    rewritten(saved, device__0__left=np.zeros_like(left))
    assert "nodes without children" in refused(saved)


def test_a_folder_that_cannot_be_written(saved):
    model = read_model(saved)
    with pytest.raises(OutputError):
        model.write(saved / "below" / "a.npz")


def test_sizes_that_do_not_fit_the_header(saved):
    rewritten(saved, header={"n_devices": 3})
    assert refused(saved).startswith("a damaged file (")
    rewritten(saved, header={"n_devices": 2, "n_features_in": 3})
    assert refused(saved).startswith("a damaged file (")


# --- Files that are made to do harm --------------------------------------------------------------------------------

_WITHOUT_LIGHTGBM = """
import sys
sys.modules["lightgbm"] = None
import hetsched as hs
print(hs.read_model(sys.argv[1]).predict([[0.3, 0.4]]).tolist())
"""


def test_what_lightgbm_learned_is_read_back_without_it(tmp_path):
    pytest.importorskip("lightgbm")
    model = TwoStage("lightgbm", "lightgbm").fit(*table(n_apps=12))
    model.write(tmp_path / "a.npz")
    command = [sys.executable, "-c", _WITHOUT_LIGHTGBM, str(tmp_path / "a.npz")]
    done = subprocess.run(command, capture_output=True, check=True, text=True)
    assert json.loads(done.stdout) == model.predict([[0.3, 0.4]]).tolist()


@pytest.mark.parametrize(
    ("column", "values"),
    [
        ("feature", 99),
        ("feature", -99_999_999),
        ("feature", 2**40),
        ("left", 0),
        ("left", 1_000_000),
        ("left", -2_000_000_000),
        ("threshold", NAN),
        ("threshold", np.inf),
        ("threshold", 0.5),
        ("value", NAN),
        ("roots", -1),
        ("roots", 2**62),
    ],
)
@pytest.mark.parametrize("learner", ["lightgbm", "random_forest"])
def test_trees_that_lead_nowhere(tmp_path, learner, column, values):
    if learner == "lightgbm":
        pytest.importorskip("lightgbm")
    path = tmp_path / "a.npz"
    SingleStage(learner).fit(*table(n_apps=12)).write(path)
    array = members(path)[f"state.device.0.{column}"]
    rewritten(path, **{f"device__0__{column}": np.full_like(array, values, dtype=np.result_type(array, type(values)))})
    assert refused(path).startswith("a damaged file (")


@pytest.mark.parametrize(
    "model", [TwoStage("linear", "random_forest"), SharedResponse(), SingleStage("linear")], ids=repr
)
def test_numbers_that_are_none_are_refused(tmp_path, model):
    path = tmp_path / "a.npz"
    features, power_w = table(n_devices=4, n_apps=8)
    power_w[0, 2:] = NAN
    model.fit(features, power_w).write(path)
    content = path.read_bytes()
    floats = {name: array for name, array in members(path).items() if array.dtype.kind == "f" and array.size}
    assert len(floats) > 2
    for name, array in floats.items():
        for value in (NAN, np.inf, -np.inf):
            if name.endswith("threshold") and value == np.inf:
                continue  # of leaves
            other = array.copy()
            other.flat[array.size // 2] = value
            path.write_bytes(content)
            rewritten(path, **{name.removeprefix("state.").replace(".", "__"): other})
            assert refused(path).startswith("a damaged file (")


@pytest.mark.parametrize("value", [NAN, 10**400, "a", None, [1.0]], ids=lambda value: str(value)[:5])
def test_numbers_of_the_header_that_are_none(tmp_path, value):
    path = tmp_path / "a.npz"
    SharedResponse().fit(*table(n_devices=4, n_apps=8)).write(path)
    content, state = path.read_bytes(), json.loads(members(path)["header"].tobytes())["state"]
    for name, old in state.items():
        path.write_bytes(content)
        rewritten(path, header={"state": {**state, name: [value, *old[1:]] if isinstance(old, list) else value}})
        assert refused(path).startswith("a damaged file (")


@pytest.mark.parametrize(
    "header", [{"params": {"seed": "x"}}, {"params": {"model": 5}}, {"n_features_in": 2.0}], ids=str
)
def test_parameters_that_cannot_be(tmp_path, header):
    SingleStage("linear").fit(*table()).write(tmp_path / "a.npz")
    rewritten(tmp_path / "a.npz", header=header)
    assert refused(tmp_path / "a.npz").startswith("a damaged file (")


def test_a_member_that_is_not_asked_for_is_not_unpacked(saved):
    with_member(saved, "state.junk.npy", npy(np.zeros(2**25, np.uint8)), zipfile.ZIP_BZIP2)
    assert saved.stat().st_size < 50_000
    tracemalloc.start()
    read_model(saved)
    assert tracemalloc.get_traced_memory()[1] < 2**23
    tracemalloc.stop()


@pytest.mark.parametrize(
    ("method", "size"), [(zipfile.ZIP_DEFLATED, 2**23), (zipfile.ZIP_BZIP2, 2**21), (zipfile.ZIP_LZMA, 2**21)]
)
def test_a_member_that_unpacks_out_of_all_proportion_is_refused_before(saved, method, size):
    with_member(saved, "state.mean.intercepts.npy", npy(np.zeros(size)), method)
    tracemalloc.start()
    assert refused(saved).startswith("a damaged file (")
    assert tracemalloc.get_traced_memory()[1] < 2**23
    tracemalloc.stop()


def test_arrays_that_pack_well_are_read_back_however_large():
    # 68 MB of one number, which would pack to a thousandth.
    arrays = {"alike": np.zeros(8_500_000)}
    assert (Saved.of(io.BytesIO(zipped(arrays))).floats("alike", None) == arrays["alike"]).all()


def test_a_header_that_claims_more_than_there_is(saved):
    sizes = (b"(1,)", b"(2305843009213693952,)"), (b"(1,)", b"(2,)"), (b"(1,)", b"(0,)"), (b"(1,)", b"(1, 1)")
    for old, new in (*sizes, (b"), }", b"), "), (b"'<f8'", b"'|O8'"), (b"'<f8'", b"'<f2'"), (b"False", b"True")):
        data = npy(np.ones(1)).replace(old, new)
        with_member(saved, "state.mean.intercepts.npy", data)
        assert refused(saved).startswith("a damaged file (")


@pytest.mark.parametrize(
    "text", [b"", b"[" * 100_000, b"9" * 5000, b'{"format": "hetsched power model", "version": NaN}']
)
def test_headers_that_are_no_json_of_ours(saved, text):
    with_member(saved, "header.npy", npy(np.frombuffer(text, np.uint8)))
    assert "expected" in refused(saved)


@pytest.mark.parametrize("seed", range(3))
def test_members_with_damaged_bytes_and_right_checksums(tmp_path, seed):
    path, rng = tmp_path / "a.npz", np.random.default_rng(seed)
    model = [SharedResponse(), TwoStage("linear", "random_forest"), SingleStage("linear")][seed]
    model.fit(*table(n_devices=4, n_apps=8)).write(path)
    with zipfile.ZipFile(path) as archive:
        content = {name: archive.read(name) for name in archive.namelist()}
    loaded = 0
    for _ in range(150):
        name = list(content)[rng.integers(len(content))]
        damaged = bytearray(content[name])
        # Half of all in what numpy says before the numbers.
        damaged[rng.integers(min(len(damaged), 128) if rng.random() < 0.5 else len(damaged))] = rng.integers(256)
        with zipfile.ZipFile(path, "w") as archive:
            for one, data in content.items():
                archive.writestr(one, bytes(damaged) if one == name else data)
        try:
            again = read_model(path)
        except ConfigError:
            continue
        loaded += 1
        assert np.isfinite(again._watts(np.zeros((1, 2)))).all()
    assert loaded < 150


# --- Names ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def named():
    features, power_w = table()
    return SingleStage("linear").fit(
        pl.DataFrame(features, schema=["ipc", "loads"]), power_w, device_names=["g1", "g2"]
    )


def test_names_come_back(named, tmp_path):
    named.write(tmp_path / "m.npz")
    again = read_model(tmp_path / "m.npz")
    assert (again.feature_names_in_, again.device_names_) == (("ipc", "loads"), ("g1", "g2"))
    assert np.array_equal(again.feature_range_, [table()[0].min(axis=0), table()[0].max(axis=0)])
    assert again.get_params() == named.get_params()


def test_features_of_a_frame_are_known_by_their_names(named):
    asked = pl.DataFrame({"loads": [0.4], "ipc": [0.3]})
    assert np.array_equal(named.predict(asked), named.predict([[0.3, 0.4]]))
    said = message(named.predict, asked.rename({"loads": "load"})).splitlines()
    assert said == [
        (
            "features: found no feature `loads`, expected a column of it, as the model was fitted with; "
            "did you mean `load`?"
        ),
        "features, load: found another feature, expected the features that the model was fitted with: ipc, loads",
    ]
    assert not hasattr(SingleStage("linear").fit(*table()), "feature_names_in_")


def test_as_many_names_as_devices():
    said = message(SingleStage("linear").fit, *table(), device_names=["g1"])
    assert said == "device_names: found `1 names`, expected 2, one for every row of `power_w`"


@pytest.mark.parametrize(
    "change",
    [{"features": ["ipc"]}, {"devices": [1, 2]}, {"low": [0.0, NAN]}, {"high": "ab"}, {"features": "ab"}],
    ids=str,
)
def test_names_that_do_not_belong_to_the_model(named, tmp_path, change):
    named.write(tmp_path / "m.npz")
    names = json.loads(members(tmp_path / "m.npz")["names"].tobytes())
    text = json.dumps({**names, **change}).encode()
    with_member(tmp_path / "m.npz", "names.npy", npy(np.frombuffer(text, np.uint8)))
    assert "names that do not belong to the model" in message(read_model, tmp_path / "m.npz")


_ON_A_FULL_DISK = """
import resource, sys
import hetsched as hs
from hetsched.errors import OutputError
model = hs.read_model(sys.argv[1])
resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
try:
    model.write(sys.argv[2])
except OutputError as error:
    print(error)
"""


def test_a_full_disk_is_reported_the_file_that_was_asked_for(named, tmp_path):
    named.write(tmp_path / "m.npz")
    command = [sys.executable, "-c", _ON_A_FULL_DISK, str(tmp_path / "m.npz"), str(tmp_path / "n.npz")]
    done = subprocess.run(command, capture_output=True, check=True, text=True)
    assert done.stdout == f"{tmp_path / 'n.npz'}: cannot be written: File too large\n"
    assert [path.name for path in tmp_path.iterdir()] == ["m.npz"]
