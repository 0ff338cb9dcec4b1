"""Things with a file of their own are read by a function `hs.read_…` and written by their method `write`."""

import math

import numpy as np
import polars as pl
import pytest

import hetsched as hs

JOBS = pl.DataFrame(
    {
        "job_id": [1, 2, 3],
        "submit_s": [0.0, 10.5, 400.0],
        "runtime_s": [60.0, 30.0, 0.0],
        "node_count": [1, 2, 1],
        "user": ["a", None, "b"],
    }
)


def workload():
    return hs.Workload.from_polars(JOBS)


def platform():
    return hs.Platform.homogeneous(nodes=2, idle_w=100, tdp_w=300)


def table():
    watts = np.random.default_rng(1).uniform(100, 300, (2, 3))
    return hs.VariationTable(["1", "a,b"], power_w=watts, time_ratio=watts / 200, cap_w=math.inf)


def events(*, dated=False):
    at = ["2026-01-01T00:00:00Z", "2026-01-02T00:00:00.25+02:00", "2026-01-03T00:00:00Z"] if dated else [0.25, 50, 1e6]
    frame = {"time_s": at, "kind": ["node_failed", "budget", "cancel"], "node": [1, None, None]}
    return hs.Events.from_polars(pl.DataFrame({**frame, "value": [None, 1e3 / 3, None], "job_id": [None, None, 7]}))


def session():
    given = hs.Session(workload(), platform())
    given.step_until(15)
    return given


def model():
    return hs.power.SingleStage("linear").fit([[1.0], [2.0]], [[110.0, 120.0], [110.0, 130.0]])


CASES = {
    "jobs": (workload, hs.read_jobs, ("jobs.csv", "jobs.parquet"), lambda jobs: jobs),
    "table": (table, hs.read_table, ("t.csv", "T.PARQUET"), lambda table: table),
    "events": (events, hs.read_events, ("e.csv", "e.parquet"), lambda events: events),
    "dated events": (lambda: events(dated=True), hs.read_events, ("e.csv", "e.parquet"), lambda events: events),
    "result": (lambda: hs.simulate(workload(), platform()), hs.read_result, ("out",), lambda result: result),
    "session": (session, hs.read_session, ("run.hetsched",), lambda session: session.run()),
    "model": (model, hs.read_model, ("m.npz",), lambda model: model.predict([[0.3]]).tolist()),
}


@pytest.mark.parametrize("case", CASES)
def test_what_was_written_is_read_back_as_it_was(case, tmp_path):
    make, read, names, seen = CASES[case]
    for name in names:
        path = tmp_path / "new folder" / name
        make().write(path)
        assert seen(read(path)) == seen(make())
        make().write(str(path))
        assert seen(read(str(path))) == seen(make())


@pytest.mark.parametrize("case", CASES)
def test_where_nothing_can_be_written_an_output_error_says_so(case, tmp_path):
    make, _, names, _ = CASES[case]
    (tmp_path / "file").write_text("")
    with pytest.raises(hs.OutputError, match="cannot be written"):
        make().write(tmp_path / "file" / names[0])
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize("case", ["jobs", "table", "events"])
def test_another_ending_is_refused(case, tmp_path):
    with pytest.raises(hs.ConfigError, match=r"path: found `.*`, expected a name ending in .*\.csv"):
        CASES[case][0]().write(tmp_path / "a.xlsx")
    assert not list(tmp_path.iterdir())


def test_settings_are_read_from_toml(tmp_path):
    path = tmp_path / "a.toml"
    path.write_text('[policy]\norder = "fcfs"\n')
    assert hs.read_policy(path) == hs.Policy.from_toml(path)
    path.write_text("nodes = 2\nidle_w = 100\ntdp_w = 300\n")
    assert hs.read_platform(path) == hs.Platform.from_toml(path) == platform()
    path.write_text("[contract]\nprice_per_kwh = 0.1\n")
    assert hs.read_contract(path).to_dict() == hs.Contract.from_toml(path).to_dict() == {"price_per_kwh": 0.1}


def test_measurements_are_read(tmp_path):
    runs = pl.DataFrame({"program": ["a", "a"], "node": ["n1", "n2"], "power_w": [100.0, 110.0]})
    runs.write_csv(tmp_path / "runs.csv")
    read = hs.read_measurements(tmp_path / "runs.csv", app="program")
    assert read.to_table() == hs.Measurements(runs, app="program").to_table()


def test_every_reader_of_the_face_is_tried_here_or_reads_one_format_of_logs():
    readers = {name for name in hs.__all__ if name.startswith("read_")}
    tried = {f"read_{case.split()[-1]}" for case in CASES} | {"read_policy", "read_platform", "read_contract"}
    formats = {f"read_{name}" for name in hs.workload.formats.FORMATS}
    # `test_journal` tries that of a folder that runs write.
    assert readers == tried | {"read_measurements", "read_journal"} | formats


def test_names_that_scripts_know_go_on_working(tmp_path):
    csv, parquet, toml, saved = (tmp_path / name for name in ("e.csv", "e.parquet", "e.toml", "run.hetsched"))
    events().write(csv)
    events().write(parquet)
    assert hs.Events.read_csv(csv) == hs.Events.read_parquet(parquet) == events()
    toml.write_text('[[events]]\ntime_s = 50\nkind = "budget"\nvalue = 1e3\n')
    assert hs.Events.from_toml(toml) == hs.read_events(toml)
    table().to_parquet(tmp_path / "no ending")
    assert hs.VariationTable.read_parquet(tmp_path / "no ending") == table()
    session().save(saved)
    assert hs.Session.load(saved).run() == hs.read_session(saved).run()
