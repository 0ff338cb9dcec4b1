"""A Slurm of three commands that keep a state in a file: a gate that ends, jobs that it starts, and faults.

As in Slurm, the job of highest priority goes first and holds up the others, a wish is met where its nodes are free, and
jobs that ask for a licence that the gate holds wait until it has ended.
"""

import fcntl
import json
import os
import subprocess
import sys
import time
from pathlib import Path

SCRIPT = '''
import fcntl, json, os, re, sys, time
HOME, NAME = {home!r}, {name!r}
CONFIG = """Configuration data as of %d
SLURM_VERSION           = 22.05.8
SchedulerParameters     = default_queue_depth=10000
JobSubmitPlugins        = (null)
"""

def free(state):
    busy = [node for job in state["jobs"] if job["state"] == "RUNNING" for node in job["nodes"]]
    return [node for node, now in state["nodes"].items() if now == "idle" and node not in busy]

def advance(state, now):
    for job in state["jobs"]:
        if job["state"] == "RUNNING" and now >= job["start"] + job["length"]:
            job["state"] = "COMPLETED"
    is_gated = state["end"] is not None and state["end"] > now
    waiting = [job for job in state["jobs"] if job["state"] == "PENDING" and job["priority"] > 0]
    for job in sorted(waiting, key=lambda job: (-job["priority"], job["id"])):
        if is_gated and "hetsched" in job["licences"]:
            continue
        nodes, wish = free(state), [one for one in job["prefer"].split("|") if one]
        own = wish if wish and set(wish) <= set(nodes) else nodes
        if len(own) < job["count"]:
            break
        job |= {{"state": "RUNNING", "nodes": own[: job["count"]], "start": now}}
        state["runs"].append([job["id"], job["nodes"], now, is_gated])

def row(job, column):
    waits = job["state"] == "PENDING"
    return {{
        "JobID": job["id"], "ArrayJobID": job["id"], "ArrayTaskID": "N/A", "SubmitTime": job["submit"], "UserID": 0,
        "State": job["state"], "Reason": "Licenses" if waits else "None", "Partition": "batch",
        "NumNodes": job["count"], "TimeLimit": "5:00", "EligibleTime": job["submit"],
        "StartTime": "N/A" if waits else int(job["start"]), "RestartCnt": 0, "PriorityLong": job["priority"],
        "HetJobID": "N/A", "Feature": "(null)", "Licenses": job["licences"] or "(null)",
        "ReqNodes": "", "NodeList": ",".join(job["nodes"]) if job["state"] == "RUNNING" else "",
    }}[column]

def table(values, words):
    columns = re.findall(r"(\\w+):\\.(\\d+)", words[words.index("-O") + 1])
    for value in values:
        print("".join(f"{{value(name)!s:>{{int(width)}}}}\\x1f" for name, width in columns))

def squeue(state, words, now):
    shown = [job for job in state["jobs"] if "all" in words or job["state"] in ("PENDING", "RUNNING")]
    if "-o" in words:
        print("\\n".join(job["id"] for job in shown if job["state"] == "PENDING"))
    else:
        if "-j" in words:
            ids = words[words.index("-j") + 1].split(",")
            shown = [job for job in shown if job["id"] in ids]
        table([lambda name, job=job: row(job, name) for job in shown], words)

def sinfo(state, words, now):
    own = [{{"NodeList": node, "StateComplete": kind, "Features": node}} for node, kind in state["nodes"].items()]
    table([one.__getitem__ for one in own], words)

def update(state, words, now):
    pairs = dict(word.partition("=")[::2] for word in words)
    if "ReservationName" in pairs:
        state["end"] = int(now) + int(pairs["EndTime"].removeprefix("now+"))
        return 0
    (job,) = [job for job in state["jobs"] if job["id"] == pairs["JobId"]] or [None]
    if job is None or job["state"] != "PENDING":
        why = "Invalid job id specified" if job is None else "Job/step already completing or completed"
        print(why, "for job", pairs["JobId"], file=sys.stderr)
        return 1
    job["prefer"] = pairs.get("Prefer", job["prefer"])
    job["priority"] = int(pairs.get("Priority", job["priority"]))
    job["licences"] = pairs.get("Licenses", job["licences"])
    return 0

def scontrol(state, words, now):
    words = [word for word in words if word != "-o"]
    if not words:
        lines = [line.split() for line in sys.stdin.read().splitlines()]
        return max((update(state, line[1:], now) for line in lines if line[0] == "update"), default=0)
    if words[0] == "create":
        if state["end"] is not None and state["end"] > now:
            print("Error creating the reservation: Duplicate reservation name", file=sys.stderr)
            return 1
        return update(state, words[2:], now)
    if words[0] == "delete":
        state["end"] = None
    elif words[0] == "update":
        return update(state, words[1:], now)
    elif words[1] == "config":
        print(CONFIG % now)
    elif words[1] == "licenses":
        print("LicenseName=hetsched Total=1000000 Used=0")
    elif words[1] == "partition":
        print("PartitionName=batch State=UP OverSubscribe=EXCLUSIVE MaxTime=UNLIMITED")
    elif words[1] == "reservation":
        if state["end"] is None or state["end"] <= now:
            print("Reservation hetsched not found")
            return 1
        print(f"ReservationName=hetsched EndTime={{state['end']}}")
    return 0

with open(f"{{HOME}}/lock", "a") as lock:
    fcntl.flock(lock, fcntl.LOCK_EX)
    state = json.load(open(f"{{HOME}}/state"))
    fault = state["faults"].get(NAME)
    state["calls"][NAME] = state["calls"].get(NAME, 0) + 1
    now = time.time() + state["ahead_s"]
    code = 0
    if fault is None:
        advance(state, now)
        code = globals()[NAME](state, sys.argv[1:], now)
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
'''


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
        path.write_text(f"#!{sys.executable} -IS\n{SCRIPT.format(home=str(self.home), name=name)}")
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

    def command(self, name, *words):
        """Run a command, as anybody does."""
        return subprocess.run([self.bin / name, *words], capture_output=True, text=True, timeout=60, check=False)

    def is_over(self):
        """True once all jobs are over; looking moves the cluster on."""
        self.command("sinfo", "-O", "NodeList:.20\x1f")
        return all(job["state"] == "COMPLETED" for job in self.state["jobs"])

    def until(self, test, limit_s=300.0):
        end = time.monotonic() + limit_s
        while not test():
            assert time.monotonic() < end, self.state
            time.sleep(0.1)

    def bridge(self, folder, machine, *more, fault=""):
        """Start a bridge that acts."""
        words = ["slurm", "run", "--partition", "batch", "--platform", machine, "--journal", folder, "--act"]
        words += ["--lease-s", "120", "--beat-s", "0.1", *more]
        environment = {**os.environ, "PATH": str(self.bin), "HETSCHED_FAULT": fault}
        with Path(f"{folder}.out").open("ab") as out:
            return subprocess.Popen(
                [sys.executable, "-m", "hetsched", *map(str, words)], env=environment, stdout=out, stderr=out
            )
