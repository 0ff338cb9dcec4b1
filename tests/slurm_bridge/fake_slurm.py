"""A Slurm of three commands that keep a state in a file: a gate that ends, jobs that it starts, and faults.

As in Slurm, the job of highest priority goes first and holds up the others, a wish is met where its nodes are free, and
jobs that ask for a licence that the gate holds wait until it has ended.
"""

import fcntl
import json
import sys
import time
from pathlib import Path

from fake_rules import advance

COMMAND = """
import sys
sys.path.insert(0, {folder!r})
import fcntl, json, os, time
from fake_rules import COMMANDS, advance
HOME, NAME = {home!r}, {name!r}
with open(f"{{HOME}}/lock", "a") as lock:
    fcntl.flock(lock, fcntl.LOCK_EX)
    state = json.load(open(f"{{HOME}}/state"))
    fault = state["faults"].get(NAME)
    state["calls"][NAME] = state["calls"].get(NAME, 0) + 1
    now = time.time() + state["ahead_s"]
    code = 0
    if fault is None:
        advance(state, now)
        code = COMMANDS[NAME](state, sys.argv[1:], now)
        advance(state, now)
    with open(f"{{HOME}}/new", "w") as file:
        json.dump(state, file)
    os.replace(f"{{HOME}}/new", f"{{HOME}}/state")
if fault == "hangs":
    time.sleep(60)
elif fault == "rubbish":
    sys.stdout.buffer.write(bytes(range(256)) * 50)
elif fault == "refuses":
    sys.exit("slurm_load_jobs error: Unable to contact slurm controller (connect failure)")
sys.exit(code or 0)
"""


class FakeSlurm:
    """The folder of the commands and of their state; a context holds the lock, so that a change is whole."""

    def __init__(self, folder, nodes=4):
        self.home, self.bin = folder / "slurm", folder / "bin"
        self.home.mkdir()
        self.bin.mkdir()
        state = {"jobs": [], "end": None, "runs": [], "faults": {}, "calls": {}, "ahead_s": 0.0}
        state["nodes"] = {f"n{number}": "idle" for number in range(1, nodes + 1)}
        (self.home / "state").write_text(json.dumps(state))
        for name in ("squeue", "sinfo", "scontrol"):
            self.write(name)

    def write(self, name):
        """Make a command."""
        path = self.bin / name
        text = COMMAND.format(folder=str(Path(__file__).parent), home=str(self.home), name=name)
        path.write_text(f"#!{sys.executable} -IS\n{text}")
        path.chmod(0o755)

    @property
    def state(self):
        return json.loads((self.home / "state").read_text())

    def change(self, make):
        """Change the state."""
        with open(self.home / "lock", "a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            state = self.state
            make(state)
            (self.home / "state").write_text(json.dumps(state))

    def submit(self, *ids, count=1, length=0.5, gated=True):
        """Submit jobs."""
        own = {"state": "PENDING", "count": count, "length": length, "submit": int(time.time()), "nodes": []}
        own |= {"prefer": "", "licences": "hetsched:1" if gated else "", "start": 0}
        self.change(
            lambda state: state["jobs"].extend({**own, "id": str(one), "priority": 1000 - int(one)} for one in ids)
        )

    def advance(self):
        """Move the cluster on to the present instant."""
        self.change(lambda state: advance(state, time.time() + state["ahead_s"]))

    def is_over(self):
        """True once all jobs are over; looking moves the cluster on."""
        self.advance()
        return all(job["state"] in ("COMPLETED", "CANCELLED") for job in self.state["jobs"])

    def until(self, test, limit_s=300.0):
        end = time.monotonic() + limit_s
        while not test():
            assert time.monotonic() < end, self.state
            time.sleep(0.02)

    def words(self, folder, machine, *more):
        """Arguments of a bridge that acts."""
        words = ["slurm", "run", "--partition", "batch", "--platform", machine, "--journal", folder, "--act"]
        return [str(word) for word in (*words, "--lease-s", "120", "--beat-s", "0.1", *more)]
