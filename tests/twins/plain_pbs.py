"""Accounting logs of PBS read the slow way: every record kept, every job worked out from its own, rule by rule.

What the readers page says in rules 35 to 41, written down once more without regard to speed or memory.
"""

from __future__ import annotations

import calendar
import re
import time
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

LINE = re.compile(r"(\d\d/\d\d/\d{4} \d\d:\d\d:\d\d);([A-Za-z]);([^;]*);(.*)", re.DOTALL)
PAIR = re.compile(r'(?:^| )([^ =]+)=(?:"([^"]*)"|([^ ]*))')
ID = re.compile(r"(\d+)(?:(\[\])|\[(\d+)\]|-(\d+))?(?:\..+)?")


@dataclass
class Record:
    """A line: local stamp, kind, id, and what it says."""

    local_s: float
    at_s: float
    kind: str
    id: str
    said: dict[str, str]


@dataclass
class Job:
    """The records of one job, in order."""

    id: str
    records: list[Record] = field(default_factory=list)

    def first(self, *keys: str) -> str | None:
        """The first value of a key that is not empty, the first key before the others."""
        return next((one.said[key] for key in keys for one in self.records if one.said.get(key)), None)

    def last(self, key: str) -> str | None:
        """The last value of a key that is not empty."""
        return next((one.said[key] for one in reversed(self.records) if one.said.get(key)), None)


def records_of(text: str, zone: str | None) -> tuple[list[Record], dict[str, int]]:
    """Records that are read, with instants; and what was counted."""
    counts = {"rows": 0, "other_records": 0, "dropped_duplicate": 0}
    found: list[Record] = []
    seen: set[str] = set()
    lasts: list[Record] = []
    for line in text.splitlines():
        if not line:
            continue
        counts["rows"] += 1
        match = LINE.fullmatch(line)
        assert match is not None, line
        stamp = calendar.timegm(time.strptime(match[1], "%m/%d/%Y %H:%M:%S"))
        kind = match[2]
        said = {m[1]: m[3] if m[2] is None else m[2] for m in PAIR.finditer(match[4])} if kind not in "DA" else {}
        own = Record(stamp, 0.0, kind, match[3], said)
        lasts.append(own)
        if kind not in "QSEDAR":
            counts["other_records"] += 1
        elif line in seen:
            counts["dropped_duplicate"] += 1
        else:
            seen.add(line)
            found.append(own)
    _put_in_time(lasts, zone)
    return found, counts | {"last_s": max(one.at_s for one in lasts)}  # type: ignore[dict-item]


def _put_in_time(records: list[Record], zone: str | None) -> None:
    offsets = [_shown(one) for one in records]
    first = next((offset for offset in offsets if offset is not None), 0.0)
    now: float | None = None
    for one, offset in zip(records, offsets, strict=True):
        now = offset if offset is not None else now
        if zone is not None:
            local = datetime.fromtimestamp(one.local_s, ZoneInfo("UTC")).replace(tzinfo=ZoneInfo(zone))
            one.at_s = local.timestamp()
        else:
            one.at_s = one.local_s - (first if now is None else now)


def _shown(record: Record) -> float | None:
    """The offset that a record shows, to a quarter of an hour."""
    key = {"E": "end", "S": "start"}.get(record.kind)
    if key is None or not record.said.get(key):
        return None
    return round((record.local_s - float(record.said[key])) / 900) * 900.0


def read(text: str, *, zone: str | None = None, drop: bool = False) -> tuple[list[dict[str, Any]], dict[str, int]]:
    """Jobs as a reader should give them, by submission, and the counts."""
    records, counts = records_of(text, zone)
    last_s = counts.pop("last_s")
    jobs: list[Job] = []
    current: dict[str, Job] = {}
    arrays: set[str] = set()
    largest = 0
    for one in records:
        name = ID.fullmatch(one.id)
        assert name is not None, one.id
        largest = max(largest, int(name[1]), int(name[3] or name[4] or 0))
        if name[2]:
            arrays.add(one.id)
            continue
        job = current.get(one.id)
        if job is None or _is_another(job, one.kind):
            job = Job(one.id)
            jobs.append(job)
            current[one.id] = job
        job.records.append(one)
    told = [(job, _told(job, last_s)) for job in jobs]
    return _kept(told, current, counts | {"array_parents": len(arrays)}, largest, drop=drop)


def _is_another(job: Job, kind: str) -> bool:
    is_over = any(one.kind == "E" for one in job.records)
    has_start = _run(job)[1] is not None
    is_gone = any(one.kind in "DA" for one in job.records) and not has_start
    return (kind == "Q" and (is_over or is_gone)) or (kind in "SE" and is_over)


def _run(job: Job) -> tuple[list[float], float | None, float | None, float | None]:
    """Ends of earlier attempts, start and end of the last, stamp of its end."""
    earlier: list[float] = []
    start = end = stamp = None
    for one in job.records:
        if one.kind == "S":
            start = float(one.said["start"]) if one.said.get("start") else one.at_s
        elif one.kind == "R" and end is None:
            begun = float(one.said["start"]) if one.said.get("start") else start
            if begun is not None:
                earlier += [begun, max(begun, float(one.said["end"]) if one.said.get("end") else one.at_s)]
                start = None
        elif one.kind == "E":
            start = float(one.said["start"]) if one.said.get("start") else start
            end = float(one.said["end"]) if one.said.get("end") else one.at_s
            stamp = one.at_s
    return earlier, start, end, stamp


def _told(job: Job, last_s: float) -> dict[str, Any]:
    earlier, start, end, stamp = _run(job)
    deleted = [one.at_s for one in job.records if one.kind == "D"]
    gone = [one.at_s for one in job.records if one.kind in "DA"]
    queued = [one.at_s for one in job.records if one.kind == "Q"]
    submit = job.first("ctime", "qtime")
    row: dict[str, Any] = {"log_id": job.id, "submit_s": float(submit) if submit else queued[0] if queued else None}
    row |= _resources(job)
    row["restarts"] = len(earlier) // 2
    if end is None and start is None and not gone:
        return row | {"state": "PENDING"}
    first_start = earlier[0] if earlier else start
    etime = job.first("etime")
    if etime and row["submit_s"] is not None and row["submit_s"] < float(etime):
        row["start_at_s"] = float(etime) if first_start is None or float(etime) <= first_start else None
    if start is None:
        row |= {"trace_state": "CANCELLED", "trace_status": 5, "cancel_s": gone[0] if gone else end, "runtime_s": 0.0}
        row["observed_energy_j"] = None
        return row | {"state": "NEVER"}
    row["observed_start_s"] = start
    if earlier:
        row["observed_segments"] = [*earlier, start, end]
    if end is None:
        return row | {"state": "RUNNING", "trace_state": "RUNNING", "runtime_s": max(0.0, last_s - start)}
    assert stamp is not None
    status = job.last("Exit_status")
    words = {None: (None, None), "0": ("COMPLETED", 1), "-29": ("TIMEOUT", 0)}
    word, code = words.get(status, ("FAILED", 0))
    if any(at <= stamp + 1 for at in deleted):
        word, code = "CANCELLED", 5
    row |= {"observed_end_s": end, "runtime_s": max(0.0, end - start), "trace_state": word, "trace_status": code}
    return row | {"state": "ENDED"}


def _resources(job: Job) -> dict[str, Any]:
    row: dict[str, Any] = {"user": job.last("user"), "queue": job.last("queue"), "app": job.last("jobname")}
    projects = [one.said["project"] for one in job.records if one.said.get("project")]
    projects = [name for name in projects if name != "_pbs_project_default"]
    row["account"] = job.last("account") or (projects[-1] if projects else None)
    hosts = (job.last("exec_host") or "").split("+") if job.last("exec_host") else []
    names = list(dict.fromkeys(host.partition("/")[0] for host in hosts))
    chunks = _chunks(job)
    nodect = job.last("Resource_List.nodect")
    count = len(names) or int(nodect or 0) or (chunks["count"] if chunks else 0)
    row |= {"node_count": count, "hosts": names or None}
    slots = sum(_slots(host.partition("/")[2]) for host in hosts) if hosts else None
    ncpus, ngpus = job.last("Resource_List.ncpus"), job.last("Resource_List.ngpus")
    row["cpus"] = int(ncpus) if ncpus else chunks["cpus"] if chunks and chunks["cpus"] is not None else slots
    gpus = int(ngpus) if ngpus else chunks["gpus"] if chunks else None
    row["gpus"] = -(-gpus // count) if gpus is not None and count else None
    walltime = job.last("Resource_List.walltime")
    if walltime:
        seconds = 0.0
        for part, weight in zip(reversed(walltime.split(":")), (1, 60, 3600, 86400), strict=False):
            seconds += float(part) * weight
        row["walltime_s"] = seconds or None
    memory = job.last("Resource_List.mem")
    total = _gb(memory) if memory else chunks["memory_gb"] if chunks else None
    row["memory_gb"] = total / count if total is not None and count else None
    energy = job.last("resources_used.energy")
    row["observed_energy_j"] = float(energy) * 3.6e6 if energy else None
    return row


def _slots(text: str) -> int:
    if "*" in text:
        return int(text.partition("*")[2])
    parts = [part.partition("-") for part in text.split(",")] if text else []
    return sum(int(high or low) - int(low) + 1 for low, _, high in parts) if parts else 1


def _gb(text: str) -> float:
    match = re.fullmatch(r"([\d.]+)(b|kb|mb|gb|tb)?", text)
    assert match is not None
    return float(match[1]) * 1024.0 ** (["b", "kb", "mb", "gb", "tb"].index(match[2] or "b") - 3)


def _chunks(job: Job) -> dict[str, Any] | None:
    text = job.last("Resource_List.select") or job.last("Resource_List.nodes")
    if not text:
        return None
    total: dict[str, Any] = {"count": 0, "cpus": None, "gpus": None, "memory_gb": None}
    for chunk in text.split("+"):
        head, *rest = chunk.split(":")
        count = int(head) if head.isdigit() else 1
        total["count"] += count
        for key, _, value in (part.partition("=") for part in (rest if head.isdigit() else [head, *rest])):
            own = {"ncpus": "cpus", "ppn": "cpus", "ngpus": "gpus", "gpus": "gpus", "mem": "memory_gb"}.get(key)
            if own is not None and value:
                amount = _gb(value) if own == "memory_gb" else int(value)
                total[own] = (total[own] or 0) + count * amount
    return total


def _kept(
    told: list[tuple[Job, dict[str, Any]]], current: dict[str, Job], counts: dict[str, int], largest: int, *, drop: bool
) -> tuple[list[dict[str, Any]], dict[str, int]]:
    kept, owned = [], set()
    names = ("dropped_pending", "dropped_never_ran", "dropped_no_submit", "dropped_no_size", "never_ran", "cut_by_end")
    counts |= dict.fromkeys((*names, "reused_ids", "depends_cleared", "requeued"), 0)
    ids: set[str] = set()
    for job, row in told:
        again = job.id in ids
        ids.add(job.id)
        state = row.pop("state")
        reason = (
            "dropped_pending" if state == "PENDING"
            else "dropped_never_ran" if state == "NEVER" and drop
            else "dropped_no_submit" if row["submit_s"] is None
            else "dropped_no_size" if not row["node_count"]
            else None
        )  # fmt: skip
        if reason is not None:
            counts[reason] += 1
            continue
        name = ID.fullmatch(job.id)
        assert name is not None
        number = None if name[3] or name[4] else int(name[1])
        counts["reused_ids"] += number in owned if number is not None else again
        if number is None or number in owned:
            largest += 1
            row["job_id"] = largest
        else:
            row["job_id"] = number
            owned.add(number)
        row["array_id"] = None if number is not None else int(name[1])
        counts["never_ran"] += state == "NEVER"
        counts["cut_by_end"] += state == "RUNNING"
        counts["requeued"] += row["restarts"] > 0
        kept.append((job, row))
    by_job = {id(job): row for job, row in kept}
    for job, row in kept:
        _wait(job, row, current, by_job, [own for _, own in kept], counts)
    rows = sorted((row for _, row in kept), key=lambda row: row["submit_s"])
    return rows, counts | {"jobs": len(rows)}


def _wait(
    job: Job, row: dict[str, Any], current: dict[str, Job], by_job: dict[int, Any], rows: Any, counts: dict[str, int]
) -> None:
    text = job.last("depend")
    if not text:
        return
    match = re.fullmatch(r"(afterok|afternotok|afterany):([^:,@]+)(?:@[^:,]*)?", text)
    other = None
    if match is not None:
        named = current.get(match[2])
        other = by_job.get(id(named)) if named is not None else None
        if other is None and match[2].isdigit():
            sames = sorted((own for own in rows if own["array_id"] is None), key=lambda own: own["submit_s"])
            known = (own for own in sames if int(re.match(r"\d+", own["log_id"])[0]) == int(match[2]))  # type: ignore[index]
            other = next(known, None)
    if other is None or other is row:
        counts["depends_cleared"] += 1
        return
    row["depends_on"] = other["job_id"]
    row["depends_how"] = {"afterok": "ok", "afternotok": "not_ok", "afterany": "any"}[match[1]]  # type: ignore[index]
    row.pop("start_at_s", None)
