"""Processes that run executors and shims, and what they left in their folders."""

import json
import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

from hetsched.live.launchers import SHIM
from hetsched.live.processes import look
from hetsched.live.sealed import read_sealed, write_json

ZYGOTE = str(Path(__file__).with_name("zygote.py"))
PATIENCE_S = 120


class Zygote:
    """Forks executors; see `zygote.py`."""

    def __init__(self):
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        # Without a buffer: a line in it is none that `select` sees.
        self.process = subprocess.Popen([sys.executable, ZYGOTE], bufsize=0, **pipes)
        self.pid = 0

    def start(self, folder, jobs, *, nodes=4, fault="", **given):
        """Begins a run, or goes on with it; gives the process."""
        request = {"folder": str(folder), "jobs": jobs, "nodes": nodes, "environment": {"HETSCHED_FAULT": fault}}
        return self._begin(request | given)

    def command(self, folder, *words, fault="", longest_sleep_s=None, **environment):
        """Begins `hetsched` with these words, no `time.sleep` of which is longer than given; gives the process."""
        settings = {"HETSCHED_FAULT": fault, **environment}
        request = {"folder": str(folder), "words": list(map(str, words)), "environment": settings}
        return self._begin(request | {"longest_sleep_s": longest_sleep_s})

    def _begin(self, request):
        # A test that failed has left it.
        self.end()
        self.process.stdin.write(f"{json.dumps(request)}\n".encode())
        self.pid = int(self._line())
        return self.pid

    def kill(self):
        """Kills the process that was begun."""
        killed(self.pid)
        assert self.code() == -signal.SIGKILL

    def end(self):
        """Kills what runs, if anything does."""
        if self.pid:
            killed(self.pid)
            self.code()

    def is_running(self):
        """True until the process that was begun has ended."""
        return not select.select([self.process.stdout], [], [], 0)[0]

    def code(self):
        """The exit code of the process that was begun."""
        code, self.pid = int(self._line()), 0
        return code

    def run(self, folder, jobs, **given):
        """A whole run."""
        self.start(folder, jobs, **given)
        return self.code()

    def close(self):
        """Ends it, and what a test that failed has left."""
        self.process.kill()
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()

    def _line(self):
        if not select.select([self.process.stdout], [], [], PATIENCE_S)[0]:
            raise TimeoutError("an executor that does not end")
        return self.process.stdout.readline().decode()


def job(text, **more):
    """A job that runs a text in a shell."""
    command = {"argv": ["/bin/sh", "-c", text], "env": {"PATH": "/usr/bin:/bin"}}
    return {"command": command | {key: more.pop(key) for key in ("limit_s", "stdout", "stderr") if key in more}, **more}


def noted(count, seconds=0.1, **more):
    """Jobs that each write their number into the file `ran`."""
    return {number: job(f"echo {number} >> ran; sleep {seconds}", **more) for number in range(1, count + 1)}


def ran(folder):
    """Number of times that each job ran."""
    file = Path(folder) / "ran"
    words = file.read_text().split() if file.exists() else []
    return {int(word): words.count(word) for word in words}


def states(folder):
    """States of jobs after a run."""
    return {int(job): state for job, state in json.loads((Path(folder) / "states.json").read_text())["states"].items()}


class Shim:
    """One shim in a folder."""

    def __init__(self, folder):
        self.folder = Path(folder)

    def spec(self, text, **more):
        """Writes what is to be run."""
        words = text if isinstance(text, list) else ["/bin/sh", "-c", text]
        files = {name: str(self.folder / name) for name in ("stdout", "stderr")}
        env = {"PATH": "/usr/bin:/bin"}
        plain = {"argv": words, "cwd": str(self.folder), "env": env, "stdin": "/dev/null", **files, "grace_s": 0.2}
        write_json(f"{self.folder}/spec.json", plain | more)
        return self

    def start(self, fault=""):
        """Starts it."""
        words = [sys.executable, "-I", "-S", SHIM, str(self.folder)]
        return subprocess.Popen(words, start_new_session=True, env={"HETSCHED_FAULT": fault}, stderr=subprocess.DEVNULL)

    def run(self, text, **more):
        """Runs a command; gives the record of its end."""
        self.spec(text, **more).start().wait(PATIENCE_S)
        return self.record

    @property
    def record(self):
        """The record of its end."""
        return read_sealed(f"{self.folder}/exit")

    def read(self, name):
        """The text of a file."""
        return (self.folder / name).read_text()


def until(happens, seconds=PATIENCE_S):
    """Waits until something is true; gives what is."""
    end = time.monotonic() + seconds
    while not (found := happens()):
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.005)
    return found


def is_gone(pid):
    """True if a process has ended."""
    seen = look(pid)
    return seen is None or seen.is_dead


def killed(pid):
    """Kills a process; false if it has ended by itself just now."""
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True


def fill(path):
    """Writes until the disk is full."""
    with path.open("ab", buffering=0) as file:
        for size in (65536, 4096, 1):
            try:
                while True:
                    file.write(bytes(size))
            except OSError:
                pass


JOBS = """
[[job]]
command = ["sh", "-c", "echo $HETSCHED_JOB_ID >> {folder}/ran; sleep 0.05"]
repeat = 4
walltime_s = 20
[[job]]
command = ["sh", "-c", "echo $HETSCHED_JOB_ID >> {folder}/ran; echo out; echo err >&2; exit 3"]
walltime_s = 20
nodes = 2
submit_s = 0.1
[[job]]
command = ["sh", "-c", "echo $HETSCHED_JOB_ID >> {folder}/ran; sleep 60"]
walltime_s = 0.3
[[job]]
command = ["sh", "-c", "kill -9 $$"]
walltime_s = 20
"""
STATES = ["completed"] * 4 + ["failed", "timeout", "failed"]


def begun(jobs, *more):
    """The words that run them."""
    given = {"--nodes": "2", "--policy": "easy", "--grace-s": "0.1", "--out": f"{jobs.parent}/out", "--power": "model"}
    return ["run", str(jobs), *(word for pair in given.items() for word in pair), *more]


def log(folder):
    """Output of the command."""
    return (folder / "executor.err").read_text()


def done(zygote, folder, *words, code=0, fault=""):
    """Runs the command to its end."""
    zygote.command(folder, *words, fault=fault)
    assert zygote.code() == code, log(folder)


def slow(tmp_path):
    """Three jobs, each of which ends once there is a file `go`."""
    path = tmp_path / "slow.toml"
    words = f'["sh", "-c", "echo $HETSCHED_JOB_ID >> {tmp_path}/ran; until [ -e {tmp_path}/go ]; do sleep 0.01; done"]'
    path.write_text(f"[[job]]\ncommand = {words}\nwalltime_s = 100\nrepeat = 3\n")
    return path
