"""Rows of sacct's text, one after the other, and what each says of a job."""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter
from datetime import tzinfo
from typing import Any

from plain_sacct_values import JOB, TIMES, BadError, count, megabytes, scaled, value, whole

FREE = {"jobname", "constraints", "comment", "admincomment", "systemcomment", "submitline", "workdir"}
FREE |= {"stdin", "stdout", "stderr", "extra"}
CODES = {"COMPLETED": 1, "FAILED": 0, "TIMEOUT": 0, "OUT_OF_MEMORY": 0, "NODE_FAIL": 0, "BOOT_FAIL": 0}
CODES |= {"CANCELLED": 5, "PREEMPTED": 5, "DEADLINE": 5}
AGAIN = {"REQUEUED", "REQUEUE_HOLD", "REQUEUE_FED", "SPECIAL_EXIT"}
RUNNING = {"RUNNING", "CONFIGURING", "COMPLETING", "SUSPENDED", "STOPPED", "SIGNALING", "STAGE_OUT"}


class Reader:
    """One dump."""

    def __init__(self, text: str, zone: tzinfo, *, skip: bool) -> None:
        self.lines, self.zone, self.skip = text.split("\n"), zone, skip
        self.ends = self.lines.pop() == ""
        if not self.ends:
            self.lines = text.split("\n")
        self.counts: Counter[str] = Counter()
        self.rows: list[dict[str, Any]] = []

    def header(self, line: str) -> list[str]:
        first = re.match(r"\W*\w+(\W+)\w", line)
        assert first
        self.separator = first[1]
        self.is_p = line.endswith(self.separator)
        return line.removesuffix(self.separator).lower().split(self.separator)

    def read(self) -> None:
        self.columns = self.header(self.lines[0])
        at = 1
        while at < len(self.lines):
            at = self.step(at)

    def cut(self, line: str) -> list[str]:
        return line.split(self.separator)

    def is_header(self, line: str) -> bool:
        fields = line.lower().split(self.separator)
        return "jobid" in fields and not any(field[:1].isdigit() for field in fields)

    def has_number(self, fields: list[str]) -> bool:
        place = self.columns.index("jobid" if "jobid" in self.columns else "jobidraw")
        return place < len(fields) and bool(JOB.fullmatch(fields[place].strip()))

    def step(self, at: int) -> int:
        line, count_ = self.lines[at], self.counts
        if line == "":
            return at + 1
        if self.is_header(line):
            if at + 1 == len(self.lines) and not self.ends and "submit" not in self.header(line):
                count_["cut_last_line"] = 1
                return at + 1
            self.columns = self.header(line)
            return at + 1
        size, after = len(self.columns), at + 1
        while len(self.cut(line)) < size:
            if after == len(self.lines):
                count_["cut_last_line"] = 1
                return after
            more = self.lines[after]
            own = self.cut(more)
            if (len(own) >= size and self.has_number(own)) or self.is_header(more) or after - at > 16:
                count_["rows"] += 1
                self.refuse()
                return after
            line += "\n" + more
            after += 1
        count_["joined_lines"] += after - at - 1
        if self.columns[-1] in FREE:
            look = after
            while look < len(self.lines):
                own = self.cut(self.lines[look])
                if self.lines[look] != "":
                    if len(own) >= size or self.has_number(own) or self.is_header(self.lines[look]):
                        break
                    line += "\n" + "\n".join(self.lines[after : look + 1])
                    count_["joined_lines"] += look + 1 - after
                    after = look + 1
                look += 1
        try:
            self.row(line)
        except BadError:
            if after == len(self.lines) and not self.ends:
                count_["cut_last_line"] = 1
                return after
            count_["rows"] += 1
            self.refuse()
            return after
        count_["rows"] += 1
        return after

    def refuse(self) -> None:
        if not self.skip:
            raise BadError
        self.counts["bad_lines"] += 1

    def row(self, line: str) -> None:
        fields = self.cut(line)
        if len(fields) > len(self.columns) and fields[-1] == "" and self.is_p:
            fields.pop()
        ways = list(itertools.islice(self.ways(fields, 0), 2))
        is_repaired = len(fields) > len(self.columns)
        if (
            is_repaired
            and len(ways) != 1
            and not self.is_p
            and fields[-1] == ""
            and len(fields) == len(self.columns) + 1
        ):
            ways, is_repaired = list(self.ways(fields[:-1], 0)), False
        if len(ways) != 1:
            raise BadError
        row = {name: value(name, text, self.zone) for name, text in zip(self.columns, ways[0], strict=True)}
        row["has"] = set(self.columns)
        if row.get("jobid") is None and row.get("jobidraw") is None:
            raise BadError
        row["at"] = len(self.rows)
        prepare(row, self.counts)
        self.rows.append(row)
        self.counts["repaired_separators"] += is_repaired

    def ways(self, fields: list[str], column: int) -> Any:
        """Every way to give the fields to the columns."""
        surplus = len(fields) - (len(self.columns) - column)
        if column == len(self.columns):
            if not fields:
                yield []
            return
        name = self.columns[column]
        for taken in range(1, (surplus if name in FREE else 0) + 2):
            text = self.separator.join(fields[:taken])
            if len(fields) < taken:
                return
            try:
                value(name, text, self.zone)
            except BadError:
                continue
            for rest in self.ways(fields[taken:], column + 1):
                yield [text, *rest]


def times_of(row: dict[str, Any]) -> tuple[dict[str, float | None], bool]:
    """The instants that a row means, and whether others are as good."""
    choices = [row.get(name) or [None] for name in TIMES]
    every = [dict(zip(TIMES, one, strict=True)) for one in itertools.product(*choices)]
    if len(every) == 1:
        return every[0], False
    elapsed, stood = elapsed_of(row), row.get("suspended")

    def lasts(one: dict[str, float | None]) -> bool:
        if one["end"] is None or one["start"] is None or elapsed is None:
            return True
        length = one["end"] - one["start"]
        return length >= elapsed - 1 if stood is None else abs(length - stood - elapsed) <= 1

    def in_order(one: dict[str, float | None]) -> bool:
        return all(one[name] is None or one["submit"] is None or one[name] >= one["submit"] for name in TIMES[1:])

    best = [one for one in every if lasts(one) and in_order(one)] or [one for one in every if lasts(one)]
    return (best[0], len(best) > 1) if best else (every[0], True)


def elapsed_of(row: dict[str, Any]) -> float | None:
    raw = row.get("elapsedraw")
    return float(raw) if raw is not None else row.get("elapsed")


def tasks_of(text: str) -> tuple[list[int], int | None, bool]:
    body, percent, bound = text.partition("%")
    cut = body.endswith("...")
    if cut:
        if "," not in body:
            raise BadError(text)
        body = body.rpartition(",")[0]
    tasks: list[int] = []
    for piece in body.split(","):
        found = re.fullmatch(r"(\d+)(?:-(\d+)(?::([1-9]\d*))?)?", piece)
        if not found or int(found[2] or found[1]) < int(found[1]):
            raise BadError(text)
        tasks += range(int(found[1]), int(found[2] or found[1]) + 1, int(found[3] or 1))
    return tasks, whole(bound) if percent else None, cut


def prepare(row: dict[str, Any], counts: Counter[str]) -> None:
    """Adds to a row what it says of a job."""
    row["named"] = named = row.get("jobid") or row["jobidraw"]
    row["raw"] = None if row.get("jobidraw") is None else int(row["jobidraw"][1])
    row["is_step"] = named[5] is not None
    row["tasks"] = None if named[3] is None else tasks_of(named[3])
    row["time"], ambiguous = times_of(row)
    if not row["is_step"]:
        counts["ambiguous_times"] += ambiguous
    row["ran"] = has_run(row)
    say_when(row)
    say_how_long(row)
    allocated, requested = row.get("alloctres") or {}, row.get("reqtres") or {}
    say_how_much(row, allocated, requested)
    row["start_at_s"] = later_start_of(row)
    row["energy"] = energy_of(row, allocated)
    row["held"] = row.get("licenses") or licences_in(allocated) or licences_in(requested)


def has_run(row: dict[str, Any]) -> bool:
    """True if a job got nodes, by the first column that says so."""
    state, has = row.get("state") or "", row["has"]
    start, end = row["time"]["start"], row["time"]["end"]
    if state == "PENDING" or ("start" in has and start is None):
        return False
    if "nodelist" in has:
        return bool(row.get("nodelist"))
    if "allocnodes" in has:
        return (row.get("allocnodes") or 0) > 0
    if "alloctres" in has:
        return bool(row.get("alloctres"))
    none = start == end if "start" in has else elapsed_of(row) == 0
    return not (state in ("CANCELLED", "DEADLINE") and none)


def say_when(row: dict[str, Any]) -> None:
    """Adds the start and the end of a job, and if it waits or runs where the log ends."""
    state, ran = row.get("state") or "", row["ran"]
    start, end = row["time"]["start"], row["time"]["end"]
    if "end" not in row["has"] and state not in RUNNING | {"PENDING", "RESV_DEL_HOLD"}:
        elapsed = elapsed_of(row)
        end = None if start is None or elapsed is None else start + elapsed + (row.get("suspended") or 0)
    final = state in CODES or state in AGAIN or state == "RESIZING"
    row["running"] = ran and (state in RUNNING or (not final and end is None))
    waits = state in AGAIN | RUNNING | {"PENDING", "RESIZING", "RESV_DEL_HOLD"} or (state not in CODES and end is None)
    row["pending"] = waits and not ran
    row["start_s"] = start if ran else None
    row["end_s"] = None if row["running"] else end


def say_how_long(row: dict[str, Any]) -> None:
    """Adds the times for which a job ran and stood still, and if they contradict each other."""
    start, end = row["start_s"], row["end_s"]
    length, elapsed = None if end is None or start is None else end - start, elapsed_of(row)
    row["inconsistent"], row["suspended_s"] = stood_of(row.get("suspended"), length, elapsed)
    if not row["ran"]:
        row["runtime_s"] = 0.0
    elif elapsed is not None:
        row["runtime_s"] = elapsed
    else:
        row["runtime_s"] = None if row["running"] else max(0.0, (length or 0.0) - (row["suspended_s"] or 0.0))


def stood_of(said: float | None, length: float | None, elapsed: float | None) -> tuple[bool, float | None]:
    """Contradiction between the times of a job, if there is one, and the time that it stood still."""
    if length is None or elapsed is None:
        return False, said
    rest = length - elapsed
    if said is None:
        return rest < -1, rest if rest > 1 else 0.0
    return abs(rest - said) > 1, said


def say_how_much(row: dict[str, Any], allocated: Any, requested: Any) -> None:
    """Adds nodes, processors, memory and GPUs of a job, each by the first column that says it."""
    named_hosts = row.get("nodelist") or []
    sizes = [row.get("nnodes"), row.get("allocnodes"), count(allocated.get("node", "0")), len(named_hosts)]
    sizes += [row.get("reqnodes"), count(requested.get("node", "0"))]
    row["nodes"] = nodes = next((size for size in sizes if size), 0)
    own = [row.get("alloccpus"), row.get("ncpus")]
    traced = [count(one.get("cpu", "0")) for one in (allocated, requested)]
    cpus = [*(own if row["ran"] else []), row.get("reqcpus"), *own, *traced]
    row["cpus"] = next((one for one in cpus if one), None)
    row["memory_gb"], row["all_memory"] = memory_of(row, allocated, requested, max(1, nodes))
    row["gpus"], row["rounded"] = gpus_of(allocated, requested, max(1, nodes))


def later_start_of(row: dict[str, Any]) -> float | None:
    """The instant before which a job was not to start, if it is later than its submission."""
    submit, eligible, start = row["time"]["submit"], row["time"]["eligible"], row["start_s"]
    is_later = eligible is not None and submit is not None and eligible > submit
    return eligible if is_later and (start is None or eligible <= start) else None


def energy_of(row: dict[str, Any], allocated: Any) -> float | None:
    energy: float | None = row.get("consumedenergyraw")
    energy = row.get("consumedenergy") if energy is None else energy
    return scaled(allocated["energy"], 1000.0) if energy is None and "energy" in allocated else energy


def licences_in(resources: Any) -> str | None:
    named = {name[8:]: count(text) for name, text in resources.items() if name.startswith("license/")}
    return ",".join(f"{name}:{number}" for name, number in named.items() if number) or None


def memory_of(row: dict[str, Any], allocated: Any, requested: Any, nodes: int) -> tuple[float | None, bool]:
    if "reqmem" in row["has"]:
        if row["reqmem"] is None:
            return None, False
        mb, share = row["reqmem"]
    else:
        text = requested.get("mem", allocated.get("mem"))
        if text is None:
            return None, False
        mb, share = megabytes(text), ""
    if mb == 0:
        return None, True
    if share == "n":
        return mb / 1024, False
    if share == "c":
        return (None if row["cpus"] is None else mb * math.ceil(row["cpus"] / nodes) / 1024), False
    return mb / nodes / 1024, False


def gpus_of(allocated: Any, requested: Any, nodes: int) -> tuple[int | None, bool]:
    for one in (allocated, requested):
        typed = [count(n) for name, n in one.items() if name.startswith("gres/gpu:")]
        if "gres/gpu" in one or typed:
            number = count(one["gres/gpu"]) if "gres/gpu" in one else sum(typed)
            return math.ceil(number / nodes), number % nodes > 0
    return None, False
