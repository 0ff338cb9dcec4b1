"""Rules of a Slurm of three commands: what each does to a state, at an instant."""

import re
import sys

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
        job |= {"state": "RUNNING", "nodes": own[: job["count"]], "start": now}
        state["runs"].append([job["id"], job["nodes"], now, is_gated])


def row(job, column):
    waits = job["state"] == "PENDING"
    return {
        "JobID": job["id"],
        "ArrayJobID": job["id"],
        "ArrayTaskID": "N/A",
        "SubmitTime": job["submit"],
        "UserID": 0,
        "State": job["state"],
        "Reason": "Licenses" if waits else "None",
        "Partition": "batch",
        "NumNodes": job["count"],
        "TimeLimit": "5:00",
        "EligibleTime": job["submit"],
        "StartTime": "N/A" if waits else int(job["start"]),
        "RestartCnt": 0,
        "PriorityLong": job["priority"],
        "HetJobID": "N/A",
        "Feature": "(null)",
        "Licenses": job["licences"] or "(null)",
        "ReqNodes": "",
        "NodeList": ",".join(job["nodes"]) if job["state"] == "RUNNING" else "",
    }[column]


def table(values, words):
    columns = re.findall(r"(\w+):\.(\d+)", words[words.index("-O") + 1])
    for value in values:
        print("".join(f"{value(name)!s:>{int(width)}}\x1f" for name, width in columns))


def squeue(state, words, now):
    shown = [job for job in state["jobs"] if "all" in words or job["state"] in ("PENDING", "RUNNING")]
    if "-o" in words:
        print("\n".join(job["id"] for job in shown if job["state"] == "PENDING"))
    else:
        if "-j" in words:
            ids = words[words.index("-j") + 1].split(",")
            shown = [job for job in shown if job["id"] in ids]
        table([lambda name, job=job: row(job, name) for job in shown], words)


def sinfo(state, words, now):
    own = [{"NodeList": node, "StateComplete": kind, "Features": node} for node, kind in state["nodes"].items()]
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
        print(f"ReservationName=hetsched EndTime={state['end']}")
    return 0


COMMANDS = {"squeue": squeue, "sinfo": sinfo, "scontrol": scontrol}
