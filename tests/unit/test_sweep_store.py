"""A sweep's journal: what is kept of a sweep that broke off, and what of its runs failed."""

import fcntl
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
from small_sweeps import lines, log, machine

import hetsched as hs
from hetsched.many.processes import WorkerTraceback
from hetsched.many.runs import RunTask
from hetsched.many.spec import Plan
from hetsched.many.store import FILE, Store
from hetsched.many.sweep import sweep

PLAN = Plan("may", "old", "easy", 0, key="a" * 64)
OTHER = Plan("may", "old", "easy", 1, key="b" * 64)


def test_numbers_come_back_from_the_journal_bit_for_bit(tmp_path):
    summary = {"jobs": 3, "x": 0.1 + 0.2, "y": 1e-300, "z": 2.0**53 + 2, "none": None}
    with Store(tmp_path) as store:
        store.add(PLAN, summary)
    with Store(tmp_path) as store:
        assert store.answers == {PLAN.key: summary}
        assert [type(value) for value in store.answers[PLAN.key].values()] == [int, float, float, float, type(None)]


def test_a_line_cut_off_anywhere_is_dropped_and_the_next_one_is_whole(tmp_path):
    with Store(tmp_path) as store:
        store.add(PLAN, {"jobs": 1})
        first = (tmp_path / FILE).read_bytes()
        store.add(OTHER, {"jobs": 2})
    both = (tmp_path / FILE).read_bytes()
    for length in range(len(first), len(both)):
        (tmp_path / FILE).write_bytes(both[:length])
        with Store(tmp_path) as store:
            assert store.answers == {PLAN.key: {"jobs": 1}}
            store.add(OTHER, {"jobs": 2})
        assert (tmp_path / FILE).read_bytes() == both


def test_zeros_that_a_disk_left_behind_are_dropped(tmp_path):
    with Store(tmp_path) as store:
        store.add(PLAN, {"jobs": 1})
    with (tmp_path / FILE).open("ab") as file:
        file.write(b"\0" * 200)
    with Store(tmp_path) as store:
        assert store.answers == {PLAN.key: {"jobs": 1}}


def test_a_line_damaged_in_the_middle_is_an_error_with_its_number(tmp_path):
    with Store(tmp_path) as store:
        store.add(PLAN, {"jobs": 1})
        store.add(OTHER, {"jobs": 2})
    damaged = (tmp_path / FILE).read_bytes().replace(b'"jobs": 1', b'"jobs": ?')
    (tmp_path / FILE).write_bytes(damaged)
    with pytest.raises(hs.TraceError, match=r"sweep\.jsonl, line 1: found"):
        Store(tmp_path)
    assert (tmp_path / FILE).read_bytes() == damaged


@pytest.mark.parametrize(
    "last",
    [b'{"key": "b", "result": 1}\n', b"\0" * 9 + b"\n", b"\n", b'{"key": "b", "summary": {"jobs": 2}\n'],
    ids=["another's", "zeros", "empty", "no JSON"],
)
def test_a_last_line_with_an_end_is_never_dropped(tmp_path, last):
    with Store(tmp_path) as store:
        store.add(PLAN, {"jobs": 1})
    content = (tmp_path / FILE).read_bytes() + last
    (tmp_path / FILE).write_bytes(content)
    with pytest.raises(hs.TraceError, match=r"sweep\.jsonl, line 2: found .* expected a line written by sweep"):
        Store(tmp_path)
    assert (tmp_path / FILE).read_bytes() == content


# Python ignores the signal that comes with it: a write takes what fits, the next one is refused.
FILLS_UP = """
import resource, sys
from pathlib import Path
from hetsched.errors import OutputError
from hetsched.many.carried import clear
from hetsched.many.store import FILE, Store
from hetsched.many.spec import Plan

with Store(Path(sys.argv[1])) as store:
    store.add(Plan("may", "old", "easy", 0, key="a"), {"jobs": 1})
    length = (Path(sys.argv[1]) / FILE).stat().st_size
    _, most = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (length + int(sys.argv[2]), most))
    try:
        store.add(Plan("may", "old", "easy", 1, key="b"), {"jobs": 2})
    except OutputError as error:
        print(error)
    print(list(store.answers))
    # Somebody has made room.
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
    store.add(Plan("may", "old", "easy", 2, key="c"), {"jobs": 3})
"""


@pytest.mark.parametrize("room", [0, 1, 60])
def test_a_line_that_does_not_fit_is_reported_and_leaves_nothing_behind(tmp_path, room):
    done = subprocess.run(
        [sys.executable, "-c", FILLS_UP, str(tmp_path), str(room)],
        env={**os.environ, "PYTHONPATH": str(Path(hs.__file__).parents[1])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stderr, done.returncode) == ("", 0)
    assert done.stdout.splitlines() == [f"{tmp_path / FILE}: cannot be written: File too large", "['a']"]
    with Store(tmp_path) as store:
        assert store.answers == {"a": {"jobs": 1}, "c": {"jobs": 3}}
    assert [line["key"] for line in lines(tmp_path)] == ["a", "c"]


@pytest.mark.parametrize("damage", ["lacking", "more", "text", "truth"])
def test_a_run_with_other_numbers_than_its_sweep_gives_is_not_believed(tmp_path, damage):
    sweep(log(), machine(), "random", seeds=3, workers=1, out=tmp_path)
    kept = lines(tmp_path)
    summary = kept[1]["summary"]
    if damage == "lacking":
        del summary["energy_j"]
    else:
        summary |= {"more": {"enrgy_j": 1.0}, "text": {"energy_j": "5"}, "truth": {"energy_j": True}}[damage]
    content = "".join(json.dumps(line) + "\n" for line in kept)
    (tmp_path / FILE).write_text(content)
    said = {"lacking": "no `energy_j`", "more": "`enrgy_j` 1.0", "text": '`energy_j` "5"', "truth": "`energy_j` true"}
    with pytest.raises(hs.TraceError) as caught:
        sweep(log(), machine(), "random", seeds=3, workers=1, out=tmp_path)
    assert str(caught.value).startswith(f"{tmp_path / FILE}, line 2, summary: found {said[damage]}, expected ")
    assert (tmp_path / FILE).read_text() == content
    # Other sweeps in this folder have nothing to do with it, and without the line the run is done again.
    assert len(sweep(log(), machine(), "easy", workers=1, out=tmp_path)) == 1
    (tmp_path / FILE).write_text("".join(json.dumps(line) + "\n" for line in (kept[0], kept[2])))
    again = sweep(log(), machine(), "random", seeds=3, workers=1, out=tmp_path)
    assert again.equals(sweep(log(), machine(), "random", seeds=3, workers=1))


@pytest.mark.parametrize("content", [b"my notes", b"my notes\n", b'{"a": 1}\n', b'[1]\n{"key": "x"}\n', b"\xff\xfe"])
def test_a_file_of_somebody_elses_is_left_alone(tmp_path, content):
    (tmp_path / FILE).write_bytes(content)
    with pytest.raises(hs.TraceError, match="expected a line written by sweep"):
        sweep(log(), machine(), "easy", out=tmp_path)
    assert (tmp_path / FILE).read_bytes() == content


def test_two_sweeps_in_one_folder_are_distinguished(tmp_path):
    with Store(tmp_path), pytest.raises(hs.OutputError, match="another sweep is writing to it"):
        sweep(log(), machine(), "easy", out=tmp_path)
    assert len(sweep(log(), machine(), "easy", workers=1, out=tmp_path)) == 1


def test_the_lock_of_a_dead_process_is_none(tmp_path):
    holds = "import sys, time, fcntl; f = open(sys.argv[1], 'ab'); fcntl.flock(f, fcntl.LOCK_EX); print(flush=True); "
    with subprocess.Popen(
        [sys.executable, "-c", holds + "time.sleep(600)", str(tmp_path / FILE)], stdout=subprocess.PIPE
    ) as process:
        process.stdout.readline()
        with pytest.raises(hs.OutputError, match="another sweep"):
            Store(tmp_path)
        process.kill()
    with Store(tmp_path) as store, (tmp_path / FILE).open("ab") as file:
        assert store.answers == {}
        with pytest.raises(BlockingIOError):
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_a_folder_serves_other_sweeps_which_take_what_they_share(tmp_path):
    sweep(log(), machine(), "random", seeds=4, workers=1, out=tmp_path)
    told = []
    frame = sweep(
        log(),
        machine(),
        ["random", "easy"],
        seeds=[2, 9],
        workers=1,
        out=tmp_path,
        progress=lambda *now: told.append(now),
    )
    assert told[0] == (1, 4)
    assert [(line["policy"], line["seed"]) for line in lines(tmp_path)[4:]] == [("random", 9), ("easy", 2)]
    assert frame.equals(sweep(log(), machine(), ["random", "easy"], seeds=[2, 9], workers=1))
    assert pl.read_parquet(tmp_path / "sweep.parquet").equals(frame)
    assert sorted(path.name for path in tmp_path.iterdir()) == [FILE, "sweep.parquet"]


def test_an_out_that_is_no_folder(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(hs.OutputError, match="not a folder"):
        sweep(log(), machine(), "easy", out=tmp_path / "file")


# Runs that fail


def test_a_run_that_fails_is_named_and_the_others_are_kept(tmp_path, monkeypatch):
    def fails(one):
        if one.names["seed"] == 2:
            raise hs.SimulationError("job 4 cannot be placed")
        return execute(one)

    execute = RunTask.execute
    monkeypatch.setattr(RunTask, "execute", fails)
    with pytest.raises(hs.SimulationError) as caught:
        sweep(log(), machine(), "random", seeds=4, workers=1, out=tmp_path)
    place = "workload `may.swf`, platform `4 nodes`, policy `random`, seed 2"
    assert str(caught.value) == f"{place}: job 4 cannot be placed"
    assert [line["seed"] for line in lines(tmp_path)] == [0, 1]


def test_what_goes_wrong_in_another_process_comes_back_with_its_place(tmp_path, children):
    def tell(done, _):
        if done:
            for file in tmp_path.glob(".inputs-*/*.arrow"):
                file.unlink()

    works = {f"w{jobs}": log(jobs=jobs) for jobs in range(2, 12)}
    with pytest.raises(hs.TraceError, match=r"^workload `w\d+`, .*\.arrow: found no such file") as caught:
        sweep(works, machine(), "easy", workers=2, out=tmp_path, progress=tell)
    assert isinstance(caught.value.__cause__, WorkerTraceback)
    assert "read_workload" in str(caught.value.__cause__)
    assert children() == []


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="looks for its processes in /proc")
def test_a_process_that_the_system_ends_loses_no_run(tmp_path, children):
    killed = []

    def tell(done, _):
        if done and not killed:
            killed.extend(children())
            os.kill(killed[0], signal.SIGKILL)

    frame = sweep(log(jobs=500), machine(), "random", seeds=100, workers=2, out=tmp_path, progress=tell)
    assert len(killed) == 2
    assert children() == []
    assert len({line["key"] for line in lines(tmp_path)}) == len(lines(tmp_path)) == len(frame) == 100
    assert frame.equals(sweep(log(jobs=500), machine(), "random", seeds=100, workers=1))
