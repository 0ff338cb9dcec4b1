"""Processes that are killed: each command runs once or its job says so, and the journal is whole."""

import os
import random
import time

import pytest
from live_hosts import fill, is_gone, job, killed, noted, ran, states, until
from stand_in import Lines

from hetsched.live.notices import Ended, StartFailed
from hetsched.live.points import POINTS
from hetsched.live.processes import boot_id, look, marked
from hetsched.live.recovery import Found, attempt_in
from hetsched.live.sealed import read_sealed, reserve, write_into, write_new

LATE = ("shim.started", "shim.running", "shim.ended")
"""Points from which on nobody can know how a command has ended."""


def finished(zygote, folder, jobs, *, most=50, **given):
    """Goes on with a run until it ends by itself; gives how often it was killed before."""
    for kills in range(most):
        code = zygote.run(folder, jobs, **given)
        if code == 0:
            return kills
        assert code == -9, (folder / "executor.err").read_text()
    raise AssertionError("it never ends")


@pytest.mark.parametrize("name", POINTS)
def test_a_process_is_killed_at_each_point(zygote, tmp_path, name):
    jobs = noted(3, 0.02)
    kills = finished(zygote, tmp_path, jobs, nodes=2, fault=f"{name}:{tmp_path}/once")
    assert (tmp_path / "once").exists()
    assert kills == (not name.startswith("shim."))
    failed = [number for number, state in states(tmp_path).items() if state != "completed"]
    assert len(failed) == (name in LATE)
    for number in jobs:
        times = ran(tmp_path).get(number, 0)
        assert times == 1 or (number in failed and times == 0)
    starts_failed = [notice for one in Lines(tmp_path / "journal.jsonl").instants() for notice in one.notices]
    never_ran = [notice for notice in starts_failed if isinstance(notice, StartFailed)]
    assert len(never_ran) == (name in ("shim.claimed", "shim.forked"))


def shims(folder):
    """Numbers of the shims that live."""
    claims = [read_sealed(path) for path in folder.glob("jobs/*/claim")]
    return [claim["pid"] for claim in claims if claim is not None and not is_gone(claim["pid"])]


@pytest.mark.parametrize("seed", range(3))
def test_jobs_run_at_most_once_however_often_executors_and_shims_are_killed(zygote, tmp_path, seed):
    chance, jobs, kills = random.Random(seed), noted(36, 0.05), 0
    for _ in range(400):
        executor = zygote.start(tmp_path, jobs, nodes=4)
        time.sleep(chance.uniform(0.0, 0.05))
        if kills < 34:
            living = shims(tmp_path) if chance.random() < 0.3 else []
            kills += killed(chance.choice(living) if living else executor)
            if living:
                kills += killed(executor)
        if zygote.code() == 0:
            break
    # On a busy machine jobs end while nobody is killed.
    assert kills > 2
    found = states(tmp_path)
    assert found.keys() == jobs.keys()
    for number, state in found.items():
        times = ran(tmp_path).get(number, 0)
        assert times == 1 or (state == "failed" and times == 0)
        assert state in ("completed", "failed")
    heard = [notice for one in Lines(tmp_path / "journal.jsonl").instants() for notice in one.notices]
    ends = [notice.job for notice in heard if isinstance(notice, Ended)]
    assert sorted(ends) == sorted(jobs)


def test_a_job_goes_on_without_an_executor_and_is_adopted(zygote, tmp_path):
    jobs = {1: job("sleep 0.4; echo 1 >> ran; exit 3")}
    zygote.start(tmp_path, jobs)
    claim = until(lambda: read_sealed(f"{tmp_path}/jobs/1.1/claim"))
    zygote.kill()
    assert zygote.run(tmp_path, jobs) == 0
    assert states(tmp_path) == {1: "failed"}
    assert ran(tmp_path) == {1: 1}
    assert is_gone(claim["pid"])


def test_a_limit_holds_while_the_executor_is_dead(zygote, tmp_path):
    jobs = {1: job("trap '' TERM; sleep 600 & sleep 600; sleep 600", limit_s=0.3)}
    zygote.start(tmp_path, jobs)
    started = until(lambda: read_sealed(f"{tmp_path}/jobs/1.1/started"))
    zygote.kill()
    until(lambda: is_gone(started["pid"]))
    assert zygote.run(tmp_path, jobs) == 0
    assert states(tmp_path) == {1: "timeout"}


def test_an_orphan_keeps_its_limit_and_its_node_until_its_tree_is_gone(zygote, tmp_path):
    tree = "setsid sh -c 'trap \"\" TERM; sleep 60; sleep 60' & trap '' TERM; sleep 60; sleep 60"
    jobs = {
        1: job(tree, limit_s=0.6),
        2: job("cat /proc/*/environ 2>/dev/null | grep -c HETSCHED_JOB_ID=1 > left; true"),
    }
    zygote.start(tmp_path, jobs, nodes=1)
    until(lambda: read_sealed(f"{tmp_path}/jobs/1.1/started"))
    until(lambda: len(marked([b"HETSCHED_JOB_ID=1", f"HETSCHED_DIR={tmp_path}".encode()])) >= 3)
    killed(read_sealed(f"{tmp_path}/jobs/1.1/claim")["pid"])
    assert zygote.code() == 0
    assert states(tmp_path) == {1: "timeout", 2: "completed"}
    assert not marked([b"HETSCHED_JOB_ID=1", f"HETSCHED_DIR={tmp_path}".encode()])


def test_an_orphan_whose_command_ended_leaves_nothing_behind(zygote, tmp_path):
    jobs = {1: job("setsid sleep 60 & echo $! > pid; sleep 0.1")}
    zygote.start(tmp_path, jobs, nodes=1)
    until(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text())
    killed(read_sealed(f"{tmp_path}/jobs/1.1/claim")["pid"])
    assert zygote.code() == 0
    assert states(tmp_path) == {1: "failed"}
    assert is_gone(int((tmp_path / "pid").read_text()))


@pytest.mark.parametrize("requeues", [False, True])
def test_after_another_boot_what_ran_is_lost_and_the_rest_goes_on(zygote, tmp_path, requeues):
    jobs = noted(3, 0.2)
    executor = zygote.start(tmp_path, jobs, nodes=1, boot="first")
    claim = until(lambda: read_sealed(f"{tmp_path}/jobs/1.1/started")) and read_sealed(f"{tmp_path}/jobs/1.1/claim")
    killed(executor)
    zygote.code()
    # The shim would know the real boot: it is ended as the machine's end would have done it.
    killed(claim["pid"])
    until(lambda: is_gone(read_sealed(f"{tmp_path}/jobs/1.1/started")["pid"]))
    assert zygote.run(tmp_path, jobs, nodes=1, boot="second", requeues_lost=requeues) == 0
    assert states(tmp_path) == {1: "completed" if requeues else "failed", 2: "completed", 3: "completed"}
    instants = [one.t_us for one in Lines(tmp_path / "journal.jsonl").instants()]
    assert instants == sorted(set(instants))


def test_a_number_that_another_process_has_by_now_is_no_shim(tmp_path):
    """A claim of this boot, of a process with other ticks: this one."""
    own = look(os.getpid())
    write_new(f"{tmp_path}/claim", {"pid": own.pid, "ticks": own.ticks - 1, "boot": boot_id()})
    reserve(f"{tmp_path}/started")
    assert attempt_in(str(tmp_path), boot_id()).found is Found.NEVER
    write_into(f"{tmp_path}/started", {"pid": own.pid, "ticks": own.ticks - 1})
    assert attempt_in(str(tmp_path), boot_id()).found is Found.LOST
    write_into(f"{tmp_path}/started", {"pid": own.pid, "ticks": own.ticks})
    found = attempt_in(str(tmp_path), boot_id())
    assert found.found is Found.ORPHAN
    assert found.process.pid == own.pid
    found.process.close()
    assert attempt_in(str(tmp_path), "another").found is Found.LOST


def test_a_full_disk_starts_nothing_and_all_goes_on_when_it_is_not_full(zygote, small_disk, tmp_path):
    text = f"echo {{}} >> {tmp_path}/ran; until [ -e {tmp_path}/go ]; do sleep 0.01; done"
    jobs = {number: job(text.format(number), stdout="/dev/null", stderr="/dev/null") for number in range(1, 7)}
    zygote.start(small_disk, jobs, nodes=2, log=f"{tmp_path}/executor.err")
    until(lambda: len(ran(tmp_path)) == 2)
    fill(small_disk / "filler")
    (tmp_path / "go").touch()
    # The journal does not fit, or what is to be launched.
    until(lambda: "tried again in 5 s" in (tmp_path / "executor.err").read_text())
    assert len(ran(tmp_path)) == 2
    (small_disk / "filler").unlink()
    assert zygote.code() == 0, (tmp_path / "executor.err").read_text()
    assert set(ran(tmp_path).values()) == {1}
    assert set(states(small_disk).values()) == {"completed"}
