"""Journals: lines with sums, torn and damaged ones, replays and results."""

from __future__ import annotations

import itertools
import json
import os
import zlib
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

import hetsched as hs
from hetsched.errors import LiveError
from hetsched.live import Ended, StartFailed, Submitted, lines
from hetsched.live.lines import LINES, START, Instant, JournalWriter

pytestmark = pytest.mark.filterwarnings("ignore::hetsched.errors.RunWarning")

SECOND = 1_000_000
PLATFORM = hs.Platform.homogeneous(nodes=4, idle_w=100, tdp_w=300)


def some_jobs() -> pl.DataFrame:
    columns = {"job_id": [7, 3, 5], "submit_s": [0.0, 1.0, 2.0], "walltime_s": [60.0, 30.0, 30.0]}
    return pl.DataFrame({**columns, "node_count": [3, 2, 1], "app": ["heat", None, "flow"]})


def hosted(folder: Path) -> hs.Controller:
    """A run whose host adds its jobs on the way."""
    controller = hs.Controller(PLATFORM, "easy", seed=3)
    with JournalWriter(folder, controller.setting, more={"boot_id": "b"}) as journal:
        controller.add_jobs(some_jobs())
        journal.append(Instant(0, jobs=some_jobs()))
        told = [
            (0, [Submitted(7)]),
            (SECOND, [Submitted(3), Submitted(5)]),
            (2 * SECOND, [StartFailed(5, 1, "no such file")]),
            (31 * SECOND, [Ended(5, 2, "completed")]),
            (50 * SECOND, [Ended(7, 1, "completed")]),
            (70 * SECOND, [Ended(3, 1, "failed")]),
        ]
        for t_us, notices in told:
            journal.append(Instant(t_us, tuple(notices), tuple(controller.step(t_us, notices)), real="2026-01-01"))
    return controller


def test_a_journal_and_its_ingredients_are_on_the_disk_from_the_beginning(tmp_path, monkeypatch):
    synced: list[Path] = []

    def noted(plain: Callable[[int], None]) -> Callable[[int], None]:
        return lambda file: (plain(file), synced.append(Path(f"/proc/self/fd/{file}").readlink()))[0]

    for name in ("fsync", "fdatasync"):
        monkeypatch.setattr(lines.os, name, noted(getattr(os, name)))
    controller = hs.Controller(PLATFORM, "easy")
    with JournalWriter(tmp_path / "run", controller.setting) as journal:
        own = tmp_path / "run"
        assert synced == [own / START, own / LINES, own]
        journal.append(Instant(0))
        assert synced[3:] == [own / LINES]


def test_a_journal_is_replayed_to_the_byte(tmp_path):
    controller = hosted(tmp_path)
    journal = hs.read_journal(tmp_path)
    assert journal.head["seed"] == 3
    assert journal.head["boot_id"] == "b"
    assert journal.head["version"] == hs.__version__
    again = journal.replay()
    assert (again.reached_us, again.next_us) == (controller.reached_us, controller.next_us)
    assert journal.decisions.select("t_us", "number", "kind", "job", "attempt").rows() == [
        (0, 1, "start", 7, 1),
        (SECOND, 2, "start", 5, 1),
        (2 * SECOND, 3, "start", 5, 2),
        (50 * SECOND, 4, "start", 3, 1),
    ]
    assert journal.notices["kind"].to_list()[:4] == ["submitted", "submitted", "submitted", "start_failed"]


def test_a_journal_gives_a_result(tmp_path):
    hosted(tmp_path)
    jobs = hs.read_journal(tmp_path).result().jobs.sort("job_id")
    assert jobs.select("job_id", "start_s", "end_s", "nodes").rows() == [
        (3, 50.0, 70.0, [0, 1]),
        (5, 2.0, 31.0, [3]),
        (7, 0.0, 50.0, [0, 1, 2]),
    ]


def test_a_torn_last_line_has_never_happened_and_the_run_goes_on(tmp_path):
    hosted(tmp_path)
    path = tmp_path / LINES
    whole = path.read_bytes()
    lines = whole.splitlines(keepends=True)
    last = len(whole) - len(lines[-1])
    for cut in range(last, len(whole)):
        path.write_bytes(whole[:cut])
        assert len(hs.read_journal(tmp_path).instants) == len(lines) - 2
    JournalWriter.resumed(tmp_path).close()
    assert path.read_bytes() == whole[:last]
    controller = hs.read_journal(tmp_path).replay()
    with JournalWriter.resumed(tmp_path) as journal:
        told = (Ended(3, 1, "failed"),)
        journal.append(Instant(70 * SECOND, told, tuple(controller.step(70 * SECOND, told)), real="2026-01-01"))
    assert path.read_bytes() == whole


def test_any_flipped_bit_before_the_last_line_is_found(tmp_path):
    hosted(tmp_path)
    path = tmp_path / LINES
    whole = path.read_bytes()
    starts = [0]
    for line in whole.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    for number, (first, end) in enumerate(itertools.pairwise(starts[:-1]), start=1):
        for place in {first, first + 8, first + 9, (first + end) // 2, end - 2, end - 1}:
            path.write_bytes(whole[:place] + bytes([whole[place] ^ 4]) + whole[place + 1 :])
            with pytest.raises(LiveError, match=f"line {number}: "):
                hs.read_journal(tmp_path)


def test_a_journal_that_says_something_else_is_found_by_a_replay(tmp_path):
    hosted(tmp_path)
    path = tmp_path / LINES
    lines = path.read_bytes().splitlines()
    values = json.loads(lines[2][9:])
    values["decisions"][0]["nodes"] = [1, 2, 3]
    text = json.dumps(values, separators=(",", ":")).encode()
    lines[2] = b"%08x %s" % (zlib.crc32(text), text)
    path.write_bytes(b"\n".join(lines) + b"\n")
    with pytest.raises(LiveError, match=r"line 3: the journal has Start\(number=1, job=7.*1, 2, 3.* a replay decides"):
        hs.read_journal(tmp_path).replay()


def test_there_is_one_journal_in_a_folder_and_it_is_found(tmp_path):
    hosted(tmp_path)
    with pytest.raises(hs.OutputError, match="there is a journal already"):
        JournalWriter(tmp_path, hs.Controller(PLATFORM).setting)
    with pytest.raises(hs.ConfigError, match="no such file"):
        hs.read_journal(tmp_path / "other")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / LINES).write_bytes(b"")
    with pytest.raises(LiveError, match="line 1: found no head"):
        hs.read_journal(tmp_path / "other")
    (tmp_path / "start.zip").write_bytes(b"")
    with pytest.raises(LiveError, match="another file than that of the journal's head"):
        hs.read_journal(tmp_path).replay()


def test_runs_that_a_host_could_not_tell_of_have_no_journal(tmp_path):
    workload = hs.Workload.from_polars(some_jobs().with_columns(runtime_s=10.0))
    rows = {"time_s": [5.0], "kind": ["maintenance"], "node": [0], "until_s": [9.0]}
    with pytest.raises(hs.ConfigError, match="maintenance or holds"):
        hs.simulate(workload, PLATFORM, "easy", journal=tmp_path, events=hs.Events.from_polars(pl.DataFrame(rows)))
    with pytest.raises(hs.ConfigError, match="predictor"):
        hs.simulate(workload, PLATFORM, "easy", journal=tmp_path, predictor="ideal")
    assert not list(tmp_path.iterdir())


def test_a_simulations_journal_has_its_runs(tmp_path):
    workload = hs.Workload.from_polars(some_jobs().with_columns(runtime_s=pl.Series([12.5, 90.0, 3.0])))
    result = hs.simulate(workload, PLATFORM, "easy", journal=tmp_path)
    journal = hs.read_journal(tmp_path)
    ended = journal.notices.filter(pl.col("kind") == "ended").select("t_us", "job", "state").rows()
    known = result.jobs.sort("end_s").select((pl.col("end_s") * 1e6).cast(pl.Int64), "job_id", "state").rows()
    assert ended == known
    assert (
        journal.result()
        .jobs.select("job_id", "start_s", "end_s", "nodes")
        .equals(result.jobs.select("job_id", "start_s", "end_s", "nodes"))
    )
