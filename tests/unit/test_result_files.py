"""A result's files are of one run: no mixture of two is read, whichever writer was killed or met another."""

import hashlib
import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import polars as pl
import pytest

import hetsched as hs
from hetsched.run import result_files as files

JOBS = pl.DataFrame({"job_id": range(50), "submit_s": [0.0] * 50, "runtime_s": [10.0] * 50, "node_count": [1] * 50})
FILES = ["jobs.parquet", "timeline.parquet", "nodes.parquet", "summary.json"]


def run(policy="easy", **options):
    platform = hs.Platform.homogeneous(nodes=4, idle_w=100, tdp_w=300)
    return hs.simulate(hs.Workload.from_polars(JOBS), platform, policy, **options)


@pytest.fixture(scope="module")
def old():
    return run()


@pytest.fixture(scope="module")
def new():
    return run("random", seed=5, until_s=35.0)


# Ends as SIGKILL does, at once and without a word, when so many files have been renamed.
KILLED = """
import os, sys
from pathlib import Path
import hetsched as hs
renamed, replace = [], Path.replace
def replaced(self, target):
    replace(self, target)
    renamed.append(target)
    if len(renamed) == int(sys.argv[3]):
        os.kill(os.getpid(), 9)
result = hs.read_result(sys.argv[1])
Path.replace = replaced
result.write(sys.argv[2])
"""


@pytest.mark.parametrize("renamed", [1, 2, 3])
def test_a_write_that_is_killed_between_two_files_leaves_none_that_is_read(renamed, old, new, tmp_path):
    new.write(tmp_path / "new")
    old.write(tmp_path / "out")
    arguments = [str(tmp_path / "new"), str(tmp_path / "out"), str(renamed)]
    assert subprocess.run([sys.executable, "-c", KILLED, *arguments], check=False).returncode == -9
    now = [(tmp_path / "out" / name).read_bytes() == (tmp_path / "new" / name).read_bytes() for name in FILES]
    assert now == [number < renamed for number in range(4)]
    with pytest.raises(hs.TraceError, match=r"out/.*\.parquet: found bytes that summary.json does not name, expected "):
        hs.read_result(tmp_path / "out")
    new.write(tmp_path / "out")
    assert hs.read_result(tmp_path / "out") == new


def test_a_write_that_is_killed_before_its_first_file_leaves_the_old_result(old, new, tmp_path, monkeypatch):
    old.write(tmp_path)

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("hetsched.run.result_files._write", interrupted)
    with pytest.raises(KeyboardInterrupt):
        new.write(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(FILES)
    assert hs.read_result(tmp_path) == old


def without_locks(monkeypatch):
    def refused(*_):
        raise OSError(37, "No locks available")

    monkeypatch.setattr("hetsched.files.fcntl.flock", refused)


@pytest.mark.parametrize("has_locks", [True, False])
def test_a_reader_who_comes_between_two_files_gets_the_new_result(has_locks, old, new, tmp_path, monkeypatch):
    old.write(tmp_path)
    is_half_written, may_go_on, replace, naps = threading.Event(), threading.Event(), Path.replace, []

    def replaced(self, target):
        if target.name == "nodes.parquet":
            is_half_written.set()
            assert may_go_on.wait(300)
        return replace(self, target)

    def nap(seconds):
        naps.append(seconds)
        may_go_on.set()
        writer.join()

    monkeypatch.setattr(Path, "replace", replaced)
    # Without locks the writer goes on when the reader has found a mixture, with them while the reader waits.
    monkeypatch.setattr(files.time, "sleep", nap)
    if not has_locks:
        without_locks(monkeypatch)
    writer = threading.Thread(target=new.write, args=[tmp_path])
    writer.start()
    assert is_half_written.wait(300)
    if has_locks:
        threading.Timer(0.3, may_go_on.set).start()
    assert hs.read_result(tmp_path) == new
    assert len(naps) == (0 if has_locks else 1)


def test_a_second_writer_waits_until_the_first_has_renamed_all(old, new, tmp_path, monkeypatch):
    replace, others = Path.replace, []

    def replaced(self, target):
        replace(self, target)
        if target.name == "timeline.parquet" and not others:
            others.append(threading.Thread(target=new.write, args=[tmp_path]))
            others[0].start()
            others[0].join(0.5)
            assert others[0].is_alive()
            # All of its own it has written meanwhile, under names of its own.
            assert len([path for path in tmp_path.iterdir() if path.name.endswith(".partial")]) == 2 + 4

    monkeypatch.setattr(Path, "replace", replaced)
    old.write(tmp_path)
    others[0].join()
    assert hs.read_result(tmp_path) == new
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(FILES)


def test_writers_and_readers_of_one_folder_do_not_disturb_each_other(old, new, tmp_path):
    old.write(tmp_path)
    failed, seen = [], []

    def write(result):
        for _ in range(25):
            try:
                result.write(tmp_path, csv=True)
            except (hs.HetschedError, OSError) as error:
                failed.append(error)

    writers = [threading.Thread(target=write, args=[result]) for result in (old, new)]
    for writer in writers:
        writer.start()
    while any(writer.is_alive() for writer in writers):
        seen.append(hs.read_result(tmp_path))
    assert failed == []
    assert seen
    assert all(result in (old, new) for result in seen)
    assert hs.read_result(tmp_path) in (old, new)
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_a_folder_that_cannot_be_locked_is_written_to_all_the_same(old, tmp_path, monkeypatch):
    without_locks(monkeypatch)
    old.write(tmp_path)
    assert hs.read_result(tmp_path) == old


def rewritten(folder, name, change):
    """Changes a frame's file, and what summary.json says of its bytes."""
    path, summary = folder / f"{name}.parquet", folder / "summary.json"
    change(pl.read_parquet(path.read_bytes())).write_parquet(path)
    numbers = json.loads(summary.read_text())
    numbers["files"][path.name] = hashlib.sha256(path.read_bytes()).hexdigest()
    summary.write_text(json.dumps(numbers))


@pytest.mark.parametrize("change", [lambda frame: frame.reverse(), lambda frame: frame], ids=["reversed", "as it was"])
@pytest.mark.parametrize("name", ["jobs", "timeline", "nodes"])
def test_a_file_that_was_changed_is_not_read(old, tmp_path, name, change):
    old.write(tmp_path)
    path = tmp_path / f"{name}.parquet"
    change(pl.read_parquet(path.read_bytes())).write_parquet(path, compression="uncompressed")
    with pytest.raises(hs.TraceError, match=rf"{name}\.parquet: found bytes that summary.json does not name"):
        hs.read_result(tmp_path)


ODD_FRAMES = [
    (
        "jobs",
        lambda _: pl.DataFrame({"node": [0]}),
        "jobs.parquet: found columns node, expected the columns of `jobs`: j",
    ),
    (
        "nodes",
        lambda _: pl.DataFrame(),
        "nodes.parquet: found no columns, expected the columns of `nodes`: node, busy_s",
    ),
    ("jobs", lambda jobs: jobs.head(49), "jobs.parquet: found 49 rows, expected 50, as summary.json says"),
    ("nodes", lambda nodes: nodes.head(3), "nodes.parquet: found 3 rows, expected 4, as summary.json says"),
    (
        "jobs",
        lambda jobs: jobs.with_columns(start_s=pl.lit("soon")),
        "jobs.parquet, column `start_s`: found the type String, expected Float64",
    ),
    (
        "timeline",
        lambda rows: rows.with_columns(busy_nodes=pl.lit(0.5)),
        "timeline.parquet, column `busy_nodes`: found the type Float64, expected Int32",
    ),
    ("timeline", lambda rows: rows.drop("time_s"), "timeline.parquet: found columns power_w, busy_nodes"),
]


@pytest.mark.parametrize(("name", "change", "message"), ODD_FRAMES, ids=[message for _, _, message in ODD_FRAMES])
def test_frames_of_another_shape_are_refused(old, tmp_path, name, change, message):
    old.write(tmp_path)
    rewritten(tmp_path, name, change)
    with pytest.raises(hs.TraceError) as caught:
        hs.read_result(tmp_path)
    assert str(caught.value).startswith(f"{tmp_path}/{message}")


def test_bytes_that_are_no_parquet_are_refused_even_where_they_are_named(old, tmp_path):
    old.write(tmp_path)
    (tmp_path / "nodes.parquet").write_bytes(b"x")
    numbers = json.loads((tmp_path / "summary.json").read_text())
    numbers["files"]["nodes.parquet"] = hashlib.sha256(b"x").hexdigest()
    (tmp_path / "summary.json").write_text(json.dumps(numbers))
    with pytest.raises(hs.TraceError, match=r"nodes\.parquet: found parquet: .*, expected a file written by"):
        hs.read_result(tmp_path)


ODD_NUMBERS = [
    ({"summary": None}, ", `summary`: found null, expected an object: metrics by their names"),
    ({"timing": 5}, ", `timing`: found `5`, expected an object: seconds and jobs per second"),
    ({"files": []}, ", `files`: found a list, expected an object: the sha256 of each file"),
    ({"policy": {}}, ", `policy.name`: found null, expected a name"),
    ({"platform": {"nodes": "4"}}, ", `platform.nodes`: found `4`, expected a whole number"),
    ({"summary": {}}, ", `summary.jobs`: found null, expected a whole number"),
    ({"summary": {"jobs": 50, "energy_j": "much"}}, ", `summary.energy_j`: found `much`, expected a number or null"),
    ({"timing": {"wall_s": None}}, ", `timing.wall_s`: found null, expected a number"),
]


@pytest.mark.parametrize(("change", "message"), ODD_NUMBERS, ids=[message for _, message in ODD_NUMBERS])
def test_a_summary_of_another_shape_is_refused(old, tmp_path, change, message):
    old.write(tmp_path)
    path = tmp_path / "summary.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    with pytest.raises(hs.TraceError) as caught:
        hs.read_result(tmp_path)
    assert str(caught.value) == f"{path}{message}"


def test_what_is_no_folder_is_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "file").write_text("mine")
    for name, reason in (
        ("pipe", "not a folder"),
        ("file", "not a folder"),
        ("none", "no such file"),
        ("a\0b", "a name that no file can have"),
    ):
        with pytest.raises(hs.TraceError, match=rf"summary\.json: found {reason}"):
            hs.read_result(tmp_path / name)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{}", "found an object of nothing, expected an object with summary, policy, platform, timing, files"),
        ("[1]", "found a list, expected an object with summary, policy, platform, timing, files"),
        ("null", "found null, expected an object with summary, policy, platform, timing, files"),
        ("[" * 100_000, "found objects too deep in one another, expected a file written by Result.write"),
        ("{", "found Expecting property name"),
    ],
)
def test_a_summary_that_is_something_else_is_refused(old, tmp_path, text, message):
    old.write(tmp_path)
    (tmp_path / "summary.json").write_text(text)
    with pytest.raises(hs.TraceError) as caught:
        hs.read_result(tmp_path)
    assert str(caught.value).startswith(f"{tmp_path / 'summary.json'}: {message}")


def test_a_run_has_the_columns_that_files_are_held_to(old):
    assert dict(old.timeline.schema) == files.FRAMES["timeline"]
    assert dict(old.nodes.schema) == files.FRAMES["nodes"]
