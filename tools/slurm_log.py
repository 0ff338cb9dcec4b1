"""Read what a Slurm controller did out of its log: jobs, and the beats of its loops.

All times become seconds after `epoch_s`, the whole second in which the controller started; the log has milliseconds.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from dataclasses import dataclass, field
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

STAMP = re.compile(r"\[(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3})\] (.*)")
SUBMITTED = re.compile(r"_slurm_rpc_submit_batch_job: JobId=(\d+) InitPrio=(\d+) usec=(\d+)")
STARTED = re.compile(r"_start_job: Started JobId=(\d+) in \S+ on (\S+)|sched: Allocate JobId=(\d+) NodeList=(\S+)")
LAUNCHED = re.compile(r"job_time_limit: Configuration for JobId=(\d+) complete")
ENDED = re.compile(
    r"_job_complete: JobId=(\d+) (?:WEXITSTATUS|WTERMSIG|OOM|cancelled)|Time limit exhausted for JobId=(\d+)"
)
ANSWERED = re.compile(r"Tree head got back (\d+)(?: looking for (\d+))?")
EPILOG = re.compile(r"_slurm_rpc_epilog_complete: JobId=(\d+) Node=(\S+)")
SUSPENDING = re.compile(r"power_save: pid \d+ suspending nodes (\S+)")
WAKING = re.compile(r"power_save: pid \d+ waking nodes (\S+)")
RESUMED = re.compile(r"needed resuming but nodes aren't power_save anymore")
UP = re.compile(r"Node (\S+) now responding")
RUN = "Running job scheduler"
KEPT = re.compile(
    r"(Scheduler|Select|Priority|PartitionName|Licenses|KillWait|Suspend(?!Program)|Resume(?!Program)|NodeName|"
    r"SlurmctldParameters|PrologSlurmctld|Epilog|AccountingStorageType|JobSubmit)",
    re.IGNORECASE,
)
HERE = re.compile(r" ?(NodeHostname|NodeAddr|Port)=\S+", re.IGNORECASE)


def names_of(text: str) -> list[str]:
    """Names that a host list such as n[1-3,7] holds."""
    found: list[str] = []
    for prefix, ranges, plain in re.findall(r"([^,\[\]]+)\[([^\]]+)\]|([^,\[\]]+)", text):
        if plain:
            found.append(plain)
        for part in filter(None, ranges.split(",")):
            first, _, last = part.partition("-")
            found += [f"{prefix}{number:0{len(first)}d}" for number in range(int(first), int(last or first) + 1)]
    return found


@dataclass
class Log:
    """Lines of a log with their times."""

    times: list[float]
    lines: list[str]
    epoch: int
    started: float

    @classmethod
    def read(cls, path: Path) -> Log:
        """Lines with a stamp, from the controller's last start on."""
        stamped = [match.groups() for match in map(STAMP.match, path.read_text(errors="replace").splitlines()) if match]
        begin = max(i for i, (_, line) in enumerate(stamped) if "Running as primary controller" in line)
        absolute = datetime.fromisoformat(stamped[begin][0]).timestamp()
        epoch = int(absolute)
        times = [round(datetime.fromisoformat(stamp).timestamp() - epoch, 3) for stamp, _ in stamped]
        return cls(times, [line for _, line in stamped], epoch, round(absolute - epoch, 3))

    def of(self, pattern: re.Pattern[str]) -> list[tuple[float, re.Match[str]]]:
        """Lines that hold a pattern."""
        found = ((time, pattern.search(line)) for time, line in zip(self.times, self.lines, strict=True))
        return [(time, match) for time, match in found if match]

    def where(self, text: str) -> list[float]:
        """Times of the lines that hold a text."""
        return [time for time, line in zip(self.times, self.lines, strict=True) if text in line]

    def runs(self) -> tuple[list[float], list[float]]:
        """Runs of the main loop: on its beat, and right after the message that a job's last node has cleaned up."""
        beat: list[float] = []
        epilog: list[float] = []
        for i, line in enumerate(self.lines):
            if RUN in line:
                after_message = "_slurm_rpc_epilog_complete" in " ".join(self.lines[max(0, i - 3) : i])
                (epilog if after_message and "default depth" in line else beat).append(self.times[i])
        return beat, epilog


@dataclass
class Ran:
    """Times and nodes of a job, as the log has them."""

    id: int
    submit_s: float
    start_s: float = 0.0
    script_start_s: float = 0.0
    end_s: float = 0.0
    clean_up_s: float = 0.0
    on: list[str] = field(default_factory=list)


def ran(log: Log) -> list[Ran]:
    """All jobs of the log, in order of their numbers. The first start of each."""
    found = {
        int(match[1]): Ran(int(match[1]), round(time - int(match[3]) / 1e6, 6)) for time, match in log.of(SUBMITTED)
    }
    for time, match in reversed(log.of(STARTED)):
        job = found[int(match[1] or match[3])]
        job.start_s = job.script_start_s = time
        job.on = names_of(match[2] or match[4])
    for time, match in log.of(LAUNCHED):
        found[int(match[1])].script_start_s = time
    for time, match in log.of(ENDED):
        found[int(match[1] or match[2])].end_s = time
    add_clean_ups(log, found)
    return [found[number] for number in sorted(found)]


def add_clean_ups(log: Log, found: dict[int, Ran]) -> None:
    """Time from a job's end until all its nodes have answered, or the last has sent word that it has cleaned up."""
    answers = [(time, int(match[1]), match[2]) for time, match in log.of(ANSWERED)]
    messages = [(time, int(match[1])) for time, match in log.of(EPILOG)]
    times = [time for time, _, _ in answers]
    for job in found.values():
        asked = answers[bisect_left(times, job.end_s) :]
        begin = next((i for i, (_, _, of) in enumerate(asked) if of == str(len(job.on))), None)
        heard = [] if begin is None else [time for time, count, _ in asked[begin:] if count == len(job.on)]
        cleaned = [*heard[:1], *(time for time, number in messages if number == job.id)]
        job.clean_up_s = round(max(cleaned, default=job.end_s) - job.end_s, 3)


def scans(log: Log) -> list[float]:
    """Scans of the power thread: those that did something show, and those between them are put in evenly."""
    seen = sorted({time for pattern in (SUSPENDING, WAKING, RESUMED) for time, _ in log.of(pattern)})
    if not seen:
        return []
    every: list[float] = []
    for first, last in pairwise([log.started, *seen]):
        steps = max(1, round(last - first))
        every += [round(first + (last - first) * step / steps, 3) for step in range(1, steps)]
        every += [last] if last - first > 0.5 else []
    while every[-1] < log.times[-1]:
        every.append(round(every[-1] + 1.0003, 3))
    return every


def boots(log: Log) -> dict[str, list[float]]:
    """Seconds from each request to wake a node until it registered."""
    found: dict[str, list[float]] = {}
    ups = [(time, match[1]) for time, match in log.of(UP)]
    for time, match in log.of(WAKING):
        for name in names_of(match[1]):
            up = next((at for at, one in ups if one == name and at > time), None)
            if up is not None:
                found.setdefault(name, []).append(round(up - time, 3))
    return found


def power(log: Log) -> list[tuple[float, str, str]]:
    """Requests to suspend and wake nodes."""
    kinds = ((SUSPENDING, "suspend"), (WAKING, "resume"))
    return sorted(
        (time, what, name) for pattern, what in kinds for time, match in log.of(pattern) for name in names_of(match[1])
    )


def recomputed(log: Log) -> list[float]:
    """Recomputations of priorities: the first line of each."""
    seen = log.where("_decay_thread")
    return [time for i, time in enumerate(seen) if i == 0 or time - seen[i - 1] > 1.0]


def beats(log: Log) -> dict[str, list[float]]:
    """Times at which the loops ran, and of what goes by them."""
    main, epilog = log.runs()
    found = {
        "main": main,
        "backfill": log.where("_attempt_backfill: beginning"),
        "epilog": epilog,
        "recompute": recomputed(log),
        "scan": scans(log),
        "grid": log.where("Testing job time limits"),
    }
    return {name: times for name, times in found.items() if times}


def periods(log: Log, found: dict[str, list[float]]) -> dict[str, float]:
    """Seconds of a tick of the main loop, over gaps of up to ten, and from a backfill cycle's begin to its end."""
    gaps = [late - early for early, late in pairwise(found["main"]) if 0.9 < late - early < 10]
    completed = log.of(re.compile(r"completed testing \d+\(\d+\) jobs, usec=(\d+)"))
    cycles = [int(match[1]) / 1e6 for _, match in completed]
    return {
        "main_period_s": round(sum(gaps) / sum(map(round, gaps)), 5),
        "cycle_s": round(sum(cycles) / max(1, len(cycles)), 5),
    }


def recording(cluster: Path, asked: list[dict[str, str]]) -> dict[str, Any]:
    """All of it, and what the jobs asked for."""
    log = Log.read(cluster / "log" / "slurmctld.log")
    version = re.search(r"slurmctld version (\d+\.\d+)", "\n".join(log.lines))
    jobs = []
    for job, row in zip(ran(log), asked, strict=True):
        known = {name: row[name] for name in ("partition", "licences", "tasks") if row.get(name)}
        jobs.append(
            {
                "id": job.id,
                "submit_s": job.submit_s,
                "nodes": int(row["nodes"]),
                "limit_min": int(row["limit_min"]),
                **known,
                "start_s": job.start_s,
                "script_start_s": job.script_start_s,
                "end_s": job.end_s,
                "clean_up_s": job.clean_up_s,
                "on": job.on,
            }
        )
    registered = [time for time, _ in log.of(re.compile("_slurm_rpc_node_registration complete"))]
    first = ran(log)[0].submit_s
    found = beats(log)
    return {
        "release": version[1] if version else "",
        "epoch_s": log.epoch,
        "started_s": log.started,
        "idle_since_s": max((time for time in registered if time <= first), default=log.started),
        "jobs": jobs,
        **periods(log, found),
        "beats": found,
        "boots": boots(log),
        "power": power(log),
    }


def conf(text: str) -> str:
    """Lines of slurm.conf that have to do with scheduling, without names and ports of the machine it ran on."""
    kept = [HERE.sub("", line) for line in text.splitlines() if KEPT.match(line)]
    return "\n".join(re.sub(r"=/\S*", "=yes", line) for line in kept) + "\n"
