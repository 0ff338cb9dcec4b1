"""Runs in allocations of Slurm that end, with programs in the place of Slurm's own."""

import os
import signal
from pathlib import Path

import pytest
from live_hosts import is_gone, ran, until

import hetsched as hs
from hetsched.live import allocation
from hetsched.live.allocation import Question, end_of, is_end_of_another
from hetsched.live.notices import NodeDown, NodeUp
from hetsched.live.sealed import read_sealed

SRUN = """#!/bin/sh
while [ "$1" != -J ]; do shift; done
shift 2
exec "$@"
"""
SQUEUE = """#!/bin/sh
[ "$1 $2" = "-h -j" ] || exit 9
state="$(cat {folder}/state.$3)" || { echo "slurm_load_jobs error: Invalid job id specified" >&2; exit 1; }
echo "$state"
"""


@pytest.fixture
def slurm(tmp_path):
    """Programs named like Slurm's, and job 7, which runs."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name, text in (("srun", SRUN), ("squeue", SQUEUE.replace("{folder}", str(tmp_path)))):
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    (tmp_path / "state.7").write_text("RUNNING")
    (tmp_path / "state.8").write_text("RUNNING")
    return {"PATH": f"{folder}:{os.environ['PATH']}"}


def within(slurm, number):
    """The environment in an allocation of two nodes."""
    return {**slurm, "SLURM_JOB_ID": str(number), "SLURM_JOB_NODELIST": f"m{number}-[1-2]"}


def begin(zygote, tmp_path, slurm):
    """Begins a run of a job without end, one that fails, and three others, on two nodes."""
    path = tmp_path / "jobs.toml"
    note = f"echo $HETSCHED_JOB_ID >> {tmp_path}/ran"
    texts = [f"{note}; exec sleep 60", f"{note}; exit 3", *[f"{note}; echo $HETSCHED_NODE_NAMES"] * 3]
    path.write_text("".join(f"[[job]]\ncommand = ['sh', '-c', '{text}']\nwalltime_s = 99\n" for text in texts))
    words = ["run", str(path), "--launcher", "srun", "--out", f"{tmp_path}/out", "--power", "model", "--grace-s", "0.1"]
    return zygote.command(tmp_path, *words, **within(slurm, 7))


def log(tmp_path):
    """Output of the command."""
    return (tmp_path / "executor.err").read_text()


def resume(zygote, tmp_path, slurm):
    """Goes on in another allocation, to the end."""
    zygote.command(tmp_path, "run", "--resume", f"{tmp_path}/out", **within(slurm, 8))
    assert zygote.code() == 0, log(tmp_path)
    hs.read_journal(tmp_path / "out").replay()
    return hs.read_result(tmp_path / "out").jobs.sort("job_id")


def notices(tmp_path):
    """All notices of the run."""
    return [notice for one in hs.read_journal(tmp_path / "out").instants for notice in one.notices]


def test_with_the_end_of_the_allocation_nodes_are_down_and_another_one_goes_on(zygote, tmp_path, slurm):
    begin(zygote, tmp_path, slurm)
    # A job that fails is no end of the allocation.
    until(lambda: len(ran(tmp_path)) == 5)
    (tmp_path / "state.7").unlink()
    os.kill(read_sealed(f"{tmp_path}/out/jobs/1.1/started")["pid"], signal.SIGKILL)
    assert zygote.code() == 0, log(tmp_path)
    assert "Slurm's job 7 is over" in log(tmp_path)
    assert notices(tmp_path)[-2:] == [NodeDown(0, end_of("7")), NodeDown(1, end_of("7"))]
    rows = hs.read_result(tmp_path / "out").jobs.sort("job_id")
    assert rows["state"].to_list() == ["failed", "failed", *["completed"] * 3]


def test_jobs_that_wait_at_the_end_of_the_allocation_run_in_another(zygote, tmp_path, slurm):
    (tmp_path / "state.7").write_text("COMPLETING")
    begin(zygote, tmp_path, slurm)
    assert zygote.code() == 1, log(tmp_path)
    assert "Slurm's job 7 is over: no more starts, and what runs is ended" in log(tmp_path)
    assert f"to go on in another allocation: hetsched run --resume {tmp_path}/out" in log(tmp_path)
    assert set(notices(tmp_path)) >= {NodeDown(0, end_of("7")), NodeDown(1, end_of("7"))}
    rows = resume(zygote, tmp_path, slurm)
    assert rows["state"].to_list() == ["failed", "failed", *["completed"] * 3]
    assert set(ran(tmp_path).values()) == {1}
    assert NodeUp((0, 1)) in notices(tmp_path)
    assert (tmp_path / "out/jobs/5.1/stdout").read_text().startswith("m8-")


def test_what_ran_in_an_allocation_has_failed_in_the_next(zygote, tmp_path, slurm):
    executor = begin(zygote, tmp_path, slurm)
    until(lambda: 1 in ran(tmp_path))
    os.kill(executor, signal.SIGKILL)
    assert zygote.code() == -signal.SIGKILL
    sleeper = read_sealed(f"{tmp_path}/out/jobs/1.1/started")["pid"]
    rows = resume(zygote, tmp_path, slurm)
    assert is_gone(sleeper)
    assert rows["state"].to_list() == ["failed", "failed", *["completed"] * 3]
    assert set(ran(tmp_path).values()) == {1}


def answered(allocation):
    """The answer to the question whether an allocation has ended."""
    question, found = Question(allocation), []
    until(lambda: found.append(question.answer()) or found[-1] is not None)
    return found[-1]


def test_nobody_waits_for_a_squeue_that_hangs(tmp_path, slurm, monkeypatch):
    monkeypatch.setenv("PATH", slurm["PATH"])
    monkeypatch.setattr(allocation, "_PATIENCE_S", 0.5)
    (tmp_path / "bin/squeue").write_text(f"#!/bin/sh\necho $$ > {tmp_path}/pid; exec sleep 600\n")
    question = Question("7")
    assert question.answer() is None
    until((tmp_path / "pid").exists)
    until(lambda: question._process.returncode is not None or question.answer() is False)
    assert question._process.returncode == -signal.SIGKILL


def test_a_job_ends_while_squeue_hangs_and_the_run_goes_on_with_its_answer(zygote, tmp_path, slurm):
    squeue = tmp_path / "bin/squeue"
    squeue.write_text(f"#!/bin/sh\nwhile [ ! -e {tmp_path}/answer ]; do sleep 0.02; done\n" + squeue.read_text())
    begin(zygote, tmp_path, slurm)
    until(lambda: Path(f"{tmp_path}/out/jobs/1.1/started").exists() and 1 in ran(tmp_path))
    os.kill(read_sealed(f"{tmp_path}/out/jobs/1.1/started")["pid"], signal.SIGKILL)
    ends = f"{tmp_path}/out/journal.jsonl"
    until(lambda: '"ended"' in Path(ends).read_text())
    (tmp_path / "answer").touch()
    assert zygote.code() == 0, log(tmp_path)
    assert set(ran(tmp_path).values()) == {1}
    assert len(ran(tmp_path)) == 5


@pytest.mark.parametrize(
    ("state", "over"), [("RUNNING", False), ("SUSPENDED", False), ("COMPLETING", True), ("", True), ("PENDING", True)]
)
def test_slurms_word_for_the_end_of_an_allocation(tmp_path, slurm, monkeypatch, state, over):
    monkeypatch.setenv("PATH", slurm["PATH"])
    (tmp_path / "state.7").write_text(state)
    assert answered("7") is over
    assert answered("9")
    (tmp_path / "bin/squeue").write_text("#!/bin/sh\necho 'Unable to contact slurm controller' >&2; exit 1\n")
    assert not answered("7")
    (tmp_path / "bin/squeue").write_text("")
    monkeypatch.setenv("PATH", f"{tmp_path}/none")
    assert not answered("7")


def test_the_reason_of_nodes_that_are_down():
    assert is_end_of_another(end_of("7"), "8")
    assert not is_end_of_another(end_of("8"), "8")
    assert not is_end_of_another("2 processes of job 7 cannot be killed", "8")
