"""`hetsched run` as asked from another shell: its status, jobs cancelled, failed jobs run once more."""

import json

import pytest
from live_hosts import STATES, begun, done, log, ran, until

import hetsched as hs
from hetsched.cli import main


def two_slow(tmp_path):
    """Three jobs on one node, of which the first two run until they are let go."""
    path = tmp_path / "three.toml"
    text = f"echo $HETSCHED_JOB_ID >> {tmp_path}/ran; while [ ! -e {tmp_path}/go ]; do sleep 0.02; done"
    path.write_text(f'[[job]]\ncommand = ["sh", "-c", "{text}"]\nwalltime_s = 100\nrepeat = 3\n')
    return path


def status(tmp_path, capsys, *more):
    """Answer of `--status`, as JSON."""
    assert main(["run", "--status", f"{tmp_path}/out", "--json", *map(str, more)]) == 0
    return json.loads(capsys.readouterr().out)


def test_jobs_are_looked_at_and_cancelled_from_another_shell(zygote, tmp_path, capsys):
    pid = zygote.command(tmp_path, *begun(two_slow(tmp_path), "--nodes", "1"))
    until(lambda: 1 in ran(tmp_path))
    shown = status(tmp_path, capsys)
    assert [run["job_id"] for run in shown["running"]] == [1]
    assert (shown["waiting"], shown["process"], shown["over"]) == ([2, 3], pid, {})
    assert status(tmp_path, capsys, "--cancel", "1,2")["asked_to_cancel"] == [1, 2]
    until(lambda: 3 in ran(tmp_path))
    (tmp_path / "go").touch()
    assert zygote.code() == 0, log(tmp_path)
    rows = hs.read_result(tmp_path / "out").jobs.sort("job_id")
    assert rows["state"].to_list() == ["cancelled", "cancelled", "completed"]
    assert ran(tmp_path) == {1: 1, 3: 1}
    hs.read_journal(tmp_path / "out").replay()
    shown = status(tmp_path, capsys)
    assert (shown["process"], shown["over"]) == (None, {"cancelled": 2, "completed": 1})
    assert list((tmp_path / "out" / "asked").iterdir()) == []


def test_a_run_that_goes_on_heeds_what_was_asked_before(zygote, tmp_path, capsys):
    zygote.command(tmp_path, *begun(two_slow(tmp_path), "--nodes", "1"))
    until(lambda: 1 in ran(tmp_path))
    zygote.kill()
    assert status(tmp_path, capsys, "--cancel", 1)["process"] is None
    (tmp_path / "go").touch()
    done(zygote, tmp_path, "run", "--resume", f"{tmp_path}/out")
    rows = hs.read_result(tmp_path / "out").jobs.sort("job_id")
    # The first one may have ended before anybody could end it.
    assert rows["state"].to_list()[0] in ("cancelled", "completed")
    assert rows["state"].to_list()[1:] == ["completed"] * 2
    assert ran(tmp_path) == {1: 1, 2: 1, 3: 1}


def test_failed_jobs_run_once_more_where_they_failed(zygote, tmp_path, jobs):
    done(zygote, tmp_path, *begun(jobs))
    before = dict.fromkeys(range(1, 7), 1)
    assert ran(tmp_path) == before
    done(zygote, tmp_path, "run", "--resume", f"{tmp_path}/out", "--failed")
    assert "3 jobs to be run once more" in log(tmp_path)
    assert ran(tmp_path) == before | {5: 2, 6: 2}
    rows = hs.read_result(tmp_path / "out").jobs.sort("job_id")
    assert rows["state"].to_list() == STATES
    assert rows["attempts"].to_list() == [1] * 4 + [2] * 3
    hs.read_journal(tmp_path / "out").replay()
    # With nothing to run again nothing changes.
    done(zygote, tmp_path, "run", "--resume", f"{tmp_path}/out")
    assert hs.read_result(tmp_path / "out").jobs.sort("job_id")["attempts"].to_list() == [1] * 4 + [2] * 3


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--cancel", "7"], "--cancel: found"),
        (["--failed"], "--failed: found"),
        (["--status", "OUT", "--cancel", "x"], "numbers of jobs, such as 7,9"),
        (["--status", "OUT", "--cancel", "1,99"], "--cancel: found `99`, expected jobs of the run"),
        (["--status", "OUT", "--resume", "OUT"], "--resume: found"),
        (["--status", "OUT", "--nodes", "3"], "nothing with --status, whose folder says it"),
        (["--status", "NONE"], "a journal"),
    ],
)
def test_faults_of_asking_for_a_run(zygote, tmp_path, capsys, jobs, words, message):
    if "OUT" in words:
        done(zygote, tmp_path, *begun(jobs))
    names = {"OUT": f"{tmp_path}/out", "NONE": f"{tmp_path}/none"}
    assert main(["run", *(names.get(word, word) for word in words)]) == 2
    assert message in capsys.readouterr().err
