"""The shim: one command, once; its end, its limit, and nothing of it left."""

import os
import signal
import time
from pathlib import Path

import pytest
from live_hosts import Shim, fill, is_gone, killed, until

from hetsched.live import sealed
from hetsched.live.clock import Clock
from hetsched.live.commands import Command
from hetsched.live.hands import Hands, Run
from hetsched.live.launchers import Local, launch, spec_of, write_spec
from hetsched.live.machine import Nodes
from hetsched.live.processes import below
from hetsched.live.sealed import read_sealed
from hetsched.live.shim import claimed


@pytest.mark.parametrize(
    ("text", "code", "by"),
    [("exit 0", 0, None), ("exit 3", 3, None), ("kill -9 $$", None, 9), ("kill -SEGV $$", None, 11)],
)
def test_the_end_of_a_command_is_written_down(shim, text, code, by):
    record = shim.run(text)
    assert (record["code"], record["signal"], record["why"]) == (code, by, "")
    assert 0 <= record["end_us"] - record["begin_us"] < 30e6
    assert record["max_rss_kb"] > 0


def test_cpu_seconds_are_those_of_all_its_processes(shim):
    record = shim.run("(i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done) & wait")
    assert record["cpu_s"] > 0.02


def test_a_command_gets_its_files_its_folder_and_its_environment(shim, tmp_path):
    (tmp_path / "in").write_text("hello\n")
    shim.run("cat; pwd; echo $MINE; echo bad >&2", stdin=str(tmp_path / "in"), env={"MINE": "x y", "PATH": "/bin"})
    assert shim.read("stdout").split("\n") == ["hello", str(tmp_path), "x y", ""]
    assert shim.read("stderr") == "bad\n"


def test_a_command_has_a_session_without_files_and_signals_of_others(shim):
    shim.run(["/bin/sh", "-c", "ls /proc/self/fd; grep -E 'SigBlk|SigIgn' /proc/self/status; ps -o pid= -o sid= -p $$"])
    *files, _, blocked, _, ignored, pid, session = shim.read("stdout").split()
    # 3 is the folder that `ls` reads.
    assert files == ["0", "1", "2", "3"]
    # 32 and 33 are the C library's, for threads: nobody can set them, and they are inherited as they are.
    of_threads = 1 << 31 | 1 << 32
    assert (int(blocked, 16), int(ignored, 16) & ~of_threads) == (0, 0)
    assert pid == session


def test_a_command_that_kills_its_group_does_not_kill_its_shim(shim):
    assert shim.run("kill -9 0")["signal"] == 9


def test_no_core_is_written(shim):
    shim.run("ulimit -c")
    assert shim.read("stdout") == "0\n"


def test_a_command_is_held_to_its_cpus(shim):
    first = min(os.sched_getaffinity(0))
    shim.run("grep Cpus_allowed_list /proc/self/status", cpus=[first])
    assert shim.read("stdout").split()[1] == str(first)


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"argv": ["/no/such"]}, "command: /no/such: No such file or directory"),
        ({"argv": ["."]}, "command: .: Permission denied"),
        ({"cwd": "/no/such"}, "cwd: /no/such: No such file or directory"),
        ({"stdout": "/no/such/file"}, "stdout: /no/such/file: No such file or directory"),
        ({"stdin": "/no/such"}, "stdin: /no/such: No such file or directory"),
        ({"cpus": [100_000]}, "cpus: [100000]: "),
    ],
)
def test_what_cannot_be_run_says_why_and_has_no_code(shim, more, why):
    record = shim.run("true", **more)
    assert record["why"].startswith(why)
    assert record["code"] is None
    assert record["signal"] is None


def test_a_limit_ends_trees_that_ignore_sigterm_and_leave_the_session(shim):
    inner = "trap '' TERM; echo \\$\\$ >> pids; sleep 60; sleep 60"
    tree = f'trap "" TERM; setsid sh -c "{inner}" & (sleep 60 & echo $! >> pids)'
    record = shim.run(f"{tree}; echo $$ >> pids; sleep 60; sleep 60", limit_s=0.3)
    assert record["why"] == "timeout"
    assert (record["end_us"] - record["begin_us"]) / 1e6 >= 0.3 + 0.2
    assert record["left"] == 0
    pids = [int(word) for word in shim.read("pids").split()]
    assert len(pids) == 3
    assert all(map(is_gone, pids))


def test_a_limit_gives_a_command_its_grace(shim):
    record = shim.run('trap "echo bye; exit 7" TERM; while true; do sleep 0.02; done', limit_s=0.2, grace_s=20)
    # It had ended before the time of grace was over: nobody killed it.
    assert (record["why"], record["code"], shim.read("stdout")) == ("timeout", 7, "bye\n")


def test_a_limit_holds_while_a_command_waits_for_its_input(shim, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    assert shim.run("cat", stdin=str(tmp_path / "pipe"), limit_s=0.1)["why"] == "timeout"


def test_what_a_command_leaves_behind_is_killed(shim):
    record = shim.run("setsid sleep 60 & echo $! > pid; exit 5")
    assert (record["code"], record["killed"], record["left"]) == (5, 1, 0)
    assert is_gone(int(shim.read("pid")))


def test_sigterm_to_the_shim_ends_the_job_and_sigint_does_not(shim):
    process = shim.spec("echo begun; sleep 60").start()
    until(lambda: (shim.folder / "stdout").exists() and shim.read("stdout"))
    process.send_signal(signal.SIGINT)
    process.send_signal(signal.SIGHUP)
    process.send_signal(signal.SIGTERM)
    process.wait(30)
    assert (shim.record["why"], shim.record["signal"]) == ("asked", 15)


def state_of(pid):
    """The letter of a process's state; T: it stands still."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def test_a_job_that_stands_still_does_not_use_up_its_limit(shim):
    # No other programs: a shell that has forked and not gone on yet waits for them, and is not seen to stand still.
    process = shim.spec("while true; do echo again >> count; done", limit_s=1.0).start()
    until(lambda: read_sealed(f"{shim.folder}/claim"))
    process.send_signal(signal.SIGUSR1)
    child = until(lambda: read_sealed(f"{shim.folder}/started"))["pid"]
    until(lambda: state_of(child) == "T" and all(state_of(seen.pid) == "T" for seen in below([child])))
    before = (shim.folder / "count").exists() and shim.read("count")
    time.sleep(0.5)
    assert ((shim.folder / "count").exists() and shim.read("count")) == before
    assert shim.record is None
    process.send_signal(signal.SIGUSR2)
    process.wait(120)
    assert shim.record["why"] == "timeout"
    assert shim.record["stood_us"] >= 0.5e6
    assert shim.record["end_us"] - shim.record["begin_us"] - shim.record["stood_us"] >= 1e6


def test_of_many_shims_one_runs_the_command(shim):
    shim.spec("echo once >> ran; sleep 0.2")
    for process in [shim.start() for _ in range(6)]:
        assert process.wait(60) == 0
    assert shim.read("ran") == "once\n"
    assert shim.record["code"] == 0
    assert sorted(path.name for path in shim.folder.iterdir()) == [
        "claim",
        "exit",
        "ran",
        "spec.json",
        "started",
        "stderr",
        "stdout",
    ]


@pytest.mark.parametrize("fault", ["shim.begin", "shim.claimed", "shim.forked", "shim.started"])
def test_a_command_whose_shim_dies_before_its_byte_never_runs(shim, fault):
    process = shim.spec("echo ran").start(fault)
    assert process.wait(30) == -signal.SIGKILL
    started = read_sealed(f"{shim.folder}/started")
    assert (started is not None) == (fault == "shim.started")
    if started is not None:
        until(lambda: is_gone(started["pid"]))
    time.sleep(0.05)
    assert not (shim.folder / "stdout").exists()
    assert shim.record is None


def test_a_shim_that_is_killed_leaves_its_command_alone(shim):
    process = shim.spec("echo begun; until [ -e go ]; do sleep 0.01; done; echo done").start()
    until(lambda: (shim.folder / "stdout").exists() and shim.read("stdout"))
    child = read_sealed(f"{shim.folder}/started")["pid"]
    killed(process.pid)
    process.wait()
    assert not is_gone(child)
    (shim.folder / "go").touch()
    until(lambda: is_gone(child))
    assert shim.read("stdout") == "begun\ndone\n"
    assert shim.record is None


def test_what_forks_all_the_time_is_killed(shim):
    text = """\
import os, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
end = time.monotonic() + 30
while time.monotonic() < end:
    try:
        if os.fork():
            time.sleep(0.02)
            os._exit(0)
        # One that forks as fast as it can outruns whoever looks for it on a busy machine.
        time.sleep(0.01)
    except OSError:
        pass
"""
    (shim.folder / "forks.py").write_text(text)
    record = shim.run("python3 -S forks.py & sleep 60", limit_s=0.3, grace_s=0)
    assert (record["why"], record["left"]) == ("timeout", 0)
    assert record["killed"] >= 1


def test_a_full_disk_stops_a_shim_before_its_claim(shim, small_disk):
    own = Shim(small_disk / "job")
    own.folder.mkdir()
    own.spec("echo ran > /dev/null", stdout="/dev/null", stderr="/dev/null")
    filler = small_disk / "filler"
    fill(filler)
    assert own.start().wait(30) == 1
    assert sorted(path.name for path in own.folder.iterdir()) == ["spec.json"]
    filler.unlink()
    assert own.start().wait(30) == 0
    assert own.record["code"] == 0


def test_the_status_survives_a_disk_that_is_full_by_then(shim, small_disk):
    own = Shim(small_disk / "job")
    own.folder.mkdir()
    text = f"until [ -e {shim.folder}/go ]; do sleep 0.01; done; exit 6"
    process = own.spec(text, stdout="/dev/null", stderr="/dev/null").start()
    until(lambda: read_sealed(f"{own.folder}/started"))
    fill(small_disk / "filler")
    (shim.folder / "go").touch()
    assert process.wait(30) == 0
    assert own.record["code"] == 6


def test_a_shim_gets_what_its_python_needs_to_be_found_and_nothing_else(shim, monkeypatch):
    monkeypatch.setenv("LD_LIBRARY_PATH", "/opt/python/lib")
    monkeypatch.setenv("PYTHONPATH", "/opt/mine")
    shim.spec("env > seen", env={"MINE": "1", "PATH": "/usr/bin:/bin"}, cgroup=None, memory_gb=None)
    process = launch(str(shim.folder), {"cgroup": None, "memory_gb": None, "cpus": None})
    words = until(lambda: Path(f"/proc/{process.pid}/environ").read_bytes()).split(b"\0")
    assert b"LD_LIBRARY_PATH=/opt/python/lib" in words
    assert not any(word.startswith(b"PYTHON") for word in words)
    assert process.wait(60) == 0
    seen = shim.read("seen")
    assert "MINE=1" in seen
    assert "LD_LIBRARY_PATH" not in seen


def test_a_run_suspended_before_its_shim_is_ready_stands_still(tmp_path):
    # No other programs: a shell that has forked and not gone on yet waits for them, and is not seen to stand still.
    command = Command(("/bin/sh", "-c", "until [ -e go ]; do :; done"), str(tmp_path))
    nodes = Nodes(["a"], [[0]], are_slots=True)
    hands = Hands(str(tmp_path), {1: command, 2: command}, Local(nodes), Clock.started())
    first, second = Run(1, 1, (0,)), Run(2, 1, (0,))
    hands.start(first)
    hands.launch_due()
    hands.signal_shim(1, 1, signal.SIGUSR1)
    hands.start(second)
    hands.signal_shim(2, 1, signal.SIGUSR1)
    until(lambda: hands.launch_due() or len(hands.live) == 2)
    children = [until(lambda path=f"{tmp_path}/jobs/{job}.1/started": read_sealed(path))["pid"] for job in (1, 2)]
    until(lambda: [state_of(child) for child in children] == ["T", "T"])
    assert list(hands.ended()) == []
    for job in (1, 2):
        hands.signal_shim(job, 1, signal.SIGUSR2)
    (tmp_path / "go").touch()
    found = {}
    until(lambda: found.update({run.job: ending.state for run, ending in hands.ended()}) or len(found) == 2)
    assert found == {1: "completed", 2: "completed"}


def test_a_shim_that_is_late_does_not_run_what_has_been_ended_meanwhile(tmp_path):
    command = Command(("/bin/sh", "-c", "echo ran > ran"), str(tmp_path))
    nodes = Nodes(["a"], [[0]], are_slots=True)

    def hands():
        return Hands(str(tmp_path), {1: command}, Local(nodes), Clock.started())

    own = tmp_path / "jobs" / "1.1"
    # Never launched, so there is nothing to bar.
    assert list(hands().adopt(Run(1, 1, (0,), asked="requeued"))) == []
    assert not own.exists()
    before = hands()
    write_spec(str(own), spec_of(command, before._given(Run(1, 1, (0,))), before.launcher, before.terms))
    # The process that launched the shim is gone, and the shim has not claimed anything yet.
    after = hands()
    assert list(after.adopt(Run(1, 1, (0,), asked="requeued"))) == []
    assert not after.live
    assert launch(str(own), {"cgroup": None, "memory_gb": None, "cpus": None}).wait(60) == 0
    assert not (tmp_path / "ran").exists()


@pytest.fixture
def synced(monkeypatch):
    """Names in each folder when it was last brought to the disk."""
    seen = {}
    fsync = os.fsync

    def noting(handle):
        fsync(handle)
        path = Path(f"/proc/self/fd/{handle}").readlink()
        if path.is_dir():
            seen[path] = {one.name for one in path.iterdir()}

    monkeypatch.setattr(sealed.os, "fsync", noting)
    return seen


def test_all_that_says_that_a_command_ran_has_its_name_on_the_disk(tmp_path, synced):
    own = tmp_path / "jobs" / "1.1"
    write_spec(str(own), {"argv": ["true"]})
    assert claimed(str(own))
    assert synced[own] == {"claim", "exit", "spec.json", "started"}
    assert synced[own.parent] == {"1.1"}
    assert "jobs" in synced[tmp_path]
    write_spec(str(own.with_name("2.1")), {"argv": ["true"]})
    assert synced[own.parent] == {"1.1", "2.1"}
