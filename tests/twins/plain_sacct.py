"""A slow reader of sacct's text: jobs made of its rows, straight from the reference of files."""

from __future__ import annotations

import math
import re
from collections import Counter
from dataclasses import dataclass, field
from datetime import tzinfo
from typing import Any

from plain_sacct_rows import AGAIN, CODES, RUNNING, Reader, elapsed_of
from plain_sacct_values import BadError

from hetsched.hostlists import natural_key
from hetsched.workload.formats.slurm_words import constraint_of, licences_of

__all__ = ["BadError", "Read", "read"]

FOLLOWED = AGAIN | {"PREEMPTED", "NODE_FAIL", "BOOT_FAIL", "RESIZING"}
KNOWN = set(CODES) | AGAIN | RUNNING | {"PENDING", "RESIZING", "RESV_DEL_HOLD"}


@dataclass
class Read:
    """Log as the twin reads it: jobs by submission, counts, names of nodes."""

    jobs: list[dict[str, Any]] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    names: list[str] = field(default_factory=list)


def read(text: str, zone: tzinfo, *, skip: bool = False, drop: bool = False) -> Read:
    """The jobs of a dump with a header line."""
    reader = Reader(text, zone, skip=skip)
    reader.read()
    rows, counts = reader.rows, reader.counts
    out = Read(counts=counts)
    limits: dict[int, int] = {}
    groups: dict[Any, list[dict[str, Any]]] = {}
    numbers, last_s = [0], 0.0
    for row in rows:
        named = row["named"]
        numbers += [int(part) for part in (named[1], named[2], named[4]) if part] + [row["raw"] or 0]
        numbers += row["tasks"][0][-1:] if row["tasks"] else []
        if row["is_step"]:
            counts["steps"] += 1
        elif row.get("state") == "REVOKED":
            counts["dropped_revoked"] += 1
        elif row["time"]["submit"] is None:
            counts["dropped_no_submit"] += 1
        else:
            last_s = max(
                [last_s, *(row["time"][name] for name in ("submit", "start", "end") if row["time"][name] is not None)]
            )
            for key, one in keyed(row, counts, limits):
                groups.setdefault(key, []).append(one)
    jobs = [job for key, group in groups.items() for job in joined(key, group, rows, counts)]
    kept = []
    for job in jobs:
        if job["pending"]:
            counts["dropped_pending"] += 1
        elif drop and not job["ran"]:
            counts["dropped_never_ran"] += 1
        elif not job["nodes"]:
            counts["dropped_no_size"] += 1
        else:
            kept.append(job)
    number(sorted(kept, key=lambda job: job["place"]), max(numbers), counts)
    out.names = sorted(
        {name for group in groups.values() for row in group for name in row.get("nodelist") or []}, key=natural_key
    )
    for job in kept:
        finish(job, limits, out.names, counts, last_s)
    out.jobs = sorted(kept, key=lambda job: (job["submit_s"], job["place"]))
    counts["jobs"] = len(kept)
    return out


def keyed(row: dict[str, Any], counts: Counter[str], limits: dict[int, int]) -> list[tuple[Any, dict[str, Any]]]:
    named = row["named"]
    base = int(named[1])
    if row["tasks"] is None:
        key = (base, "_", int(named[2])) if named[2] else (base, "+", int(named[4])) if named[4] else (base,)
        return [(key, row)]
    tasks, bound, cut = row["tasks"]
    counts["array_cut"] += cut
    if bound:
        limits[base] = bound
    if row["pending"]:
        return [((base, named[3]), row)]
    counts["expanded"] += len(tasks) - 1
    return [
        ((base, "_", task), {**row, "expanded": True, "at": row["at"] + place / 1e7})
        for place, task in enumerate(tasks)
    ]


def joined(
    key: Any, group: list[dict[str, Any]], rows: list[dict[str, Any]], counts: Counter[str]
) -> list[dict[str, Any]]:
    last_of: dict[float, dict[str, Any]] = {}
    for row in group:
        counts["dropped_duplicate"] += row["time"]["submit"] in last_of
        last_of[row["time"]["submit"]] = row
    attempts = [last_of[submit] for submit in sorted(last_of)]
    jobs: list[list[dict[str, Any]]] = []
    for row in attempts:
        if jobs and follows(jobs[-1][-1], row):
            jobs[-1].append(row)
        else:
            jobs.append([row])
    own = steps_of(key, group, rows)
    place = min(row["at"] for row in group)
    return [merged(key, job, own, counts, place, reused=number > 0) for number, job in enumerate(jobs)]


def follows(row: dict[str, Any], after: dict[str, Any]) -> bool:
    both = [name for name in ("user", "jobname") if name in row["has"] and name in after["has"]]
    return row.get("state") in FOLLOWED or all(row[name] == after[name] for name in both)


def steps_of(key: Any, group: list[dict[str, Any]], rows: list[dict[str, Any]]) -> dict[int, list[dict[str, Any]]]:
    """Steps with energy by the row that they belong to: the last before them within whose time they started."""
    found: dict[int, list[dict[str, Any]]] = {}
    for step in rows:
        named = step["named"]
        if not step["is_step"] or step["energy"] is None or (int(named[1]), *part_of(named)) != key:
            continue
        before = [row for row in group if row["at"] < step["at"]] or group
        within = [row for row in before if row["ran"] and any(is_within(at, row) for at in step.get("start") or [])]
        owner = within[-1] if within else before[-1]
        found.setdefault(id(owner), []).append({**step, "loose": not within})
    return found


def is_within(at: float, row: dict[str, Any]) -> bool:
    return row["start_s"] is not None and row["start_s"] <= at and (row["end_s"] is None or at <= row["end_s"])


def part_of(named: re.Match[str]) -> tuple[Any, ...]:
    return ("_", int(named[2])) if named[2] else ("+", int(named[4])) if named[4] else ()


def merged(
    key: Any, job: list[dict[str, Any]], own: Any, counts: Counter[str], place: float, *, reused: bool
) -> dict[str, Any]:
    runs: list[list[dict[str, Any]]] = []
    for row in job:
        if runs and runs[-1][-1].get("state") == "RESIZING" and runs[-1][-1]["start_s"] == row["start_s"] is not None:
            runs[-1].append(row)
        else:
            runs.append([row])
    counts["merged"] += len(job) - 1
    counts["resized"] += len(job) - len(runs)
    first, last = job[0], dict(job[-1])
    last["key"], last["place"], last["reused"] = key, place, reused
    last["submit_s"] = first["time"]["submit"]
    last["late"] = first["start_s"] is not None and last["submit_s"] > first["start_s"]
    if last["late"]:
        last["submit_s"] = first["start_s"]
    last["start_at_s"] = first["start_at_s"]
    last["restarts"] = max(len(runs) - 1, job[-1].get("restarts") or 0)
    last["attempts"] = len(runs)
    last["resized"] = len(runs[-1]) > 1
    last["nodes"] = runs[-1][0]["nodes"] if last["resized"] else last["nodes"]
    ran = [run for run in runs if run[-1]["ran"]]
    times = [time for run in ran for time in (run[0]["start_s"], run[-1]["end_s"])]
    last["segments"] = times if len(ran) > 1 and last["ran"] else None
    last["steps"] = [step for row in runs[-1] for step in own.get(id(row), []) if len(job) == 1 or not step["loose"]]
    return last


def number(jobs: list[dict[str, Any]], largest: int, counts: Counter[str]) -> None:
    taken: set[int] = set()
    for job in jobs:
        plain = (
            None
            if job.get("expanded")
            else job["raw"]
            if job["raw"] is not None
            else job["key"][0]
            if len(job["key"]) == 1
            else None
        )
        job["plain"], job["job_id"] = plain, None
        if plain is not None and not job["reused"] and plain not in taken:
            job["job_id"] = plain
            taken.add(plain)
    for job in jobs:
        if job["job_id"] is None:
            largest += 1
            job["job_id"] = largest
            counts["reused_ids"] += job["plain"] is not None


def finish(job: dict[str, Any], limits: dict[int, int], names: list[str], counts: Counter[str], last_s: float) -> None:
    key = job["key"]
    is_task, is_part = len(key) == 3 and key[1] == "_", len(key) == 3 and key[1] == "+"
    job["log_id"] = "".join(map(str, key))
    job["array_id"] = key[0] if is_task else None
    job["array_limit"] = limits.get(key[0]) if is_task else None
    job["het_id"] = key[0] if is_part else None
    if job["array_limit"] is not None:
        job["start_at_s"] = None
    if job["runtime_s"] is None:
        job["runtime_s"] = max(0.0, last_s - job["start_s"] - (job["suspended_s"] or 0.0))
    never = not job["ran"]
    job["cancel_s"] = job["end_s"] if never else None
    job["observed_end_s"] = None if never else job["end_s"]
    state = job.get("state") or None
    job["status"] = CODES.get(state or "")
    say_energy(job)
    raw = job.get("timelimitraw")
    wall = job.get("timelimit") if raw is None else raw
    job["walltime_s"] = wall or None
    listed = job.get("nodelist") or []
    fits = len(listed) == job["nodes"] and bool(listed) and job["ran"] and not job["resized"]
    job["observed_nodes"] = [names.index(name) for name in listed] if fits else None
    job["user_"] = job.get("user") or (str(job["uid"]) if job.get("uid") is not None else None)
    job["constraint_"] = None if job.get("constraints") is None else constraint_of(job["constraints"])
    job["licences_"] = None if job["held"] is None else licences_of(job["held"])
    for name, is_so in {
        "never_ran": never,
        "cut_by_end": job["running"],
        "inconsistent_times": job["inconsistent"],
        "submit_after_start": job["late"],
        "rounded_up_gpus": job["rounded"],
        "all_memory": job["all_memory"],
        "unknown_states": state is not None and state not in KNOWN,
        "array_tasks": is_task,
        "het_components": is_part,
        "requeued": job["attempts"] > 1,
        "nodes_disagree": bool(listed) and not job["resized"] and len(listed) != job["nodes"],
        "constraint_unread": job.get("constraints") is not None and job["constraint_"] is None,
        "constraint_loosened": job["constraint_"] is not None and "[" in job["constraints"],
    }.items():
        counts[name] += is_so


def say_energy(job: dict[str, Any]) -> None:
    def of(*kinds: str) -> list[dict[str, Any]]:
        return [step for step in job["steps"] if step["named"][5] in kinds]

    numbered = [step for step in job["steps"] if step["named"][5][:1].isdigit()]
    taken = of("extern") or numbered
    batch = of("batch", "interactive")
    full = (job["runtime_s"] + (job["suspended_s"] or 0.0)) * job["nodes"]
    energy, seconds = job["energy"], full
    if taken or batch:
        taken = taken or (batch if job["nodes"] == 1 else [])
        energy = math.fsum(step["energy"] for step in taken) if taken else None
        shares = [node_seconds(step) for step in taken]
        seconds = full if None in shares else math.fsum(shares)  # type: ignore[arg-type]
    energy = energy if job["ran"] else None
    power = energy / seconds if energy is not None and seconds > 0 else None
    job["energy_"] = energy
    job["power"] = power if power is not None and 0 < power <= 1e6 else None


def node_seconds(step: dict[str, Any]) -> float | None:
    nodes = step.get("nnodes") or step.get("allocnodes")
    elapsed, stood = elapsed_of(step), step.get("suspended")
    if nodes is None:
        return None
    if elapsed is not None and stood is not None:
        return (elapsed + stood) * nodes
    start, end = step["time"]["start"], step["time"]["end"]
    if start is not None and end is not None:
        return (end - start) * nodes
    return None if elapsed is None else elapsed * nodes
