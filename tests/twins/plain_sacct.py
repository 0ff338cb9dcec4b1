"""A slow reader of sacct's text: one row after the other, straight from the reference of files."""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone, tzinfo
from typing import Any

from hetsched.hostlists import HostListError, expanded, natural_key
from hetsched.workload.formats.slurm_words import constraint_of, licences_of

EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
FREE = {"jobname", "constraints", "comment", "admincomment", "systemcomment", "submitline", "workdir"}
FREE |= {"stdin", "stdout", "stderr", "extra"}
NOTHING = {"", "unknown", "none", "n/a", "invalid", "(null)"} | {str(2**b - d) for b in (32, 64) for d in (1, 2)}
SIZES = {"nnodes", "allocnodes", "nodelist", "alloctres", "reqnodes", "reqtres"}
CODES = {"COMPLETED": 1, "FAILED": 0, "TIMEOUT": 0, "OUT_OF_MEMORY": 0, "NODE_FAIL": 0, "BOOT_FAIL": 0}
CODES |= {"CANCELLED": 5, "PREEMPTED": 5, "DEADLINE": 5}
AGAIN = {"REQUEUED", "REQUEUE_HOLD", "REQUEUE_FED", "SPECIAL_EXIT"}
FOLLOWED = AGAIN | {"PREEMPTED", "NODE_FAIL", "BOOT_FAIL", "RESIZING"}
RUNNING = {"RUNNING", "CONFIGURING", "COMPLETING", "SUSPENDED", "STOPPED", "SIGNALING", "STAGE_OUT"}
KNOWN = set(CODES) | AGAIN | RUNNING | {"PENDING", "RESIZING", "RESV_DEL_HOLD"}
JOB = re.compile(r"(\d{1,18})(?:_(\d+)|_\[([^\]]*)\]|\+(\d+))?(?:\.(.+))?")
POWERS = "KMGTP"


class BadError(Exception):
    """A value that does not read."""


@dataclass
class Read:
    """Log as the twin reads it: jobs by submission, counts, names of nodes."""

    jobs: list[dict[str, Any]] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    names: list[str] = field(default_factory=list)


def is_null(text: str) -> bool:
    return text.strip(" \t").lower() in NOTHING


# Values.


def whole(text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,18}", text):
        raise BadError(text)
    return int(text)


def scaled(text: str, base: float) -> float:
    found = re.fullmatch(r"(\d+\.?\d*|\.\d+)([KMGTPkmgtp]?)", text)
    if not found:
        raise BadError(text)
    return float(found[1]) * base ** (POWERS.index(found[2].upper()) + 1 if found[2] else 0)


def count(text: str) -> int:
    value = scaled(text, 1024.0)
    if value != int(value):
        raise BadError(text)
    return int(value)


def megabytes(text: str) -> float:
    has_unit = text[-1:].upper() in POWERS and text != ""
    return scaled(text, 1024.0) / 1024.0**2 if has_unit else scaled(text, 1024.0)


def memory(text: str) -> tuple[float, str]:
    share = text[-1:] if text[-1:] in ("n", "c") else ""
    return megabytes(text[: len(text) - len(share)]), share


def span(text: str) -> float:
    found = re.fullmatch(r"(?:(\d+)-)?(\d+):([0-5]\d):([0-5]\d)(?:\.(\d+))?", text)
    if not found:
        raise BadError(text)
    days, hours, minutes, seconds = (int(part or 0) for part in found.groups()[:4])
    return (
        days * 86400.0
        + hours * 3600
        + minutes * 60
        + seconds
        + (int(found[5]) / 10 ** len(found[5]) if found[5] else 0)
    )


def limit(text: str) -> float:
    if text.lower() in ("unlimited", "infinite", "partition_limit", "not_set", "-1"):
        return 0.0
    days, dash, clock = text.rpartition("-")
    parts = [whole(part) for part in clock.split(":")]
    if len(parts) > 3:
        raise BadError(text)
    if dash:
        return whole(days) * 86400.0 + sum(a * b for a, b in zip(parts, (3600, 60, 1), strict=False))
    return float(sum(a * b for a, b in zip(parts, [(60,), (60, 1), (3600, 60, 1)][len(parts) - 1], strict=True)))


def limit_minutes(text: str) -> float:
    if re.fullmatch(r"\d+", text):
        return int(text) * 60.0
    if limit(text):
        raise BadError(text)
    return 0.0


def tres(text: str) -> dict[str, str]:
    pairs = [item.partition("=") for item in text.split(",")]
    if any(not equals for _, equals, _ in pairs):
        raise BadError(text)
    found = {name: value for name, _, value in pairs if not is_null(value)}
    for name, value in found.items():
        if name == "mem":
            megabytes(value)
        elif name == "energy":
            scaled(value, 1000.0)
        elif name in ("cpu", "node", "gres/gpu") or name.startswith(("gres/gpu:", "license/")):
            count(value)
    return found


def hosts(text: str) -> list[str]:
    if text.lower() == "none assigned":
        return []
    try:
        return list(dict.fromkeys(expanded(text)))
    except HostListError:
        raise BadError(text) from None


def instants(text: str, zone: tzinfo) -> list[float]:
    if re.fullmatch(r"\d{1,12}", text):
        return [float(text)]
    found = re.fullmatch(r"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(Z|[+-]\d\d:?\d\d)?", text)
    if not found:
        raise BadError(text)
    try:
        local = datetime.fromisoformat(f"{found[1]}T{found[2]}")
    except ValueError:
        raise BadError(text) from None
    if found[3]:
        ahead = 0 if found[3] == "Z" else int(found[3][:3] + "0") // 10 * 3600
        ahead += 0 if found[3] == "Z" else (-1 if found[3][0] == "-" else 1) * int(found[3][-2:]) * 60
        return [(local.replace(tzinfo=timezone.utc) - EPOCH).total_seconds() - ahead]
    both = {(local.replace(tzinfo=zone, fold=fold) - EPOCH) / timedelta(seconds=1) for fold in (0, 1)}
    real = sorted(at for at in both if (EPOCH + timedelta(seconds=at)).astimezone(zone).replace(tzinfo=None) == local)
    if not real:
        raise BadError(text)
    return real


def job_name(text: str) -> re.Match[str]:
    found = JOB.fullmatch(text)
    if not found:
        raise BadError(text)
    return found


def a_state(text: str) -> str:
    word = text.split(" ", maxsplit=1)[0]
    if not re.fullmatch(r"[A-Za-z_+]*", word):
        raise BadError(text)
    return word.split("+")[0]


def exit_code(text: str) -> str:
    if not re.fullmatch(r"\d+:\d+", text):
        raise BadError(text)
    return text


TYPES: dict[str, Any] = {
    "exitcode": exit_code,
    **dict.fromkeys("jobid jobidraw".split(), job_name),  # noqa: SIM905
    **dict.fromkeys("elapsedraw priority uid".split(), whole),  # noqa: SIM905
    **dict.fromkeys("elapsed suspended".split(), span),  # noqa: SIM905
    **dict.fromkeys("nnodes allocnodes reqnodes alloccpus ncpus reqcpus restarts".split(), count),  # noqa: SIM905
    **dict.fromkeys("alloctres reqtres".split(), tres),  # noqa: SIM905
    **dict.fromkeys("consumedenergy consumedenergyraw".split(), lambda text: scaled(text, 1000.0)),  # noqa: SIM905
    "timelimit": limit,
    "timelimitraw": limit_minutes,
    "reqmem": memory,
    "nodelist": hosts,
    "state": a_state,
}
TIMES = ("submit", "eligible", "start", "end")


def value(column: str, text: str, zone: tzinfo) -> Any:
    if is_null(text):
        if column == "jobid":
            raise BadError(text)
        return None
    if column in TIMES:
        return instants(text.strip(), zone)
    return TYPES[column](text.strip()) if column in TYPES else text


# Rows.


class Reader:
    """One dump."""

    def __init__(self, text: str, zone: tzinfo, *, skip: bool) -> None:
        self.lines, self.zone, self.skip = text.split("\n"), zone, skip
        self.ends = self.lines.pop() == ""
        if not self.ends:
            self.lines = text.split("\n")
        self.out = Read()
        self.rows: list[dict[str, Any]] = []

    def header(self, line: str) -> list[str]:
        first = re.match(r"\W*\w+(\W+)\w", line)
        assert first
        self.separator = first[1]
        self.is_p = line.endswith(self.separator)
        return line.removesuffix(self.separator).lower().split(self.separator)

    def read(self) -> Read:
        self.columns = self.header(self.lines[0])
        at = 1
        while at < len(self.lines):
            at = self.step(at)
        return self.out

    def cut(self, line: str) -> list[str]:
        return line.split(self.separator)

    def is_header(self, line: str) -> bool:
        fields = line.lower().split(self.separator)
        return "jobid" in fields and not any(field[:1].isdigit() for field in fields)

    def has_number(self, fields: list[str]) -> bool:
        place = self.columns.index("jobid" if "jobid" in self.columns else "jobidraw")
        return place < len(fields) and bool(JOB.fullmatch(fields[place].strip()))

    def step(self, at: int) -> int:
        line, count_ = self.lines[at], self.out.counts
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
        self.out.counts["bad_lines"] += 1

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
        prepare(row, self.out.counts)
        self.rows.append(row)
        self.out.counts["repaired_separators"] += is_repaired

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
    allocated, requested = row.get("alloctres") or {}, row.get("reqtres") or {}
    state = row.get("state") or ""
    start, end, has = row["time"]["start"], row["time"]["end"], row["has"]
    elapsed, stood = elapsed_of(row), row.get("suspended")
    if state == "PENDING" or ("start" in has and start is None):
        ran = False
    elif "nodelist" in has:
        ran = bool(row.get("nodelist"))
    elif "allocnodes" in has:
        ran = (row.get("allocnodes") or 0) > 0
    elif "alloctres" in has:
        ran = bool(allocated)
    else:
        none = start == end if "start" in has else elapsed == 0
        ran = not (state in ("CANCELLED", "DEADLINE") and none)
    if "end" not in has and state not in RUNNING | {"PENDING", "RESV_DEL_HOLD"}:
        end = None if start is None or elapsed is None else start + elapsed + (stood or 0)
    final = state in CODES or state in AGAIN or state == "RESIZING"
    row["running"] = ran and (state in RUNNING or (not final and end is None))
    waits = state in AGAIN | RUNNING | {"PENDING", "RESIZING", "RESV_DEL_HOLD"} or (state not in CODES and end is None)
    row["pending"] = waits and not ran
    row["ran"] = ran
    row["start_s"] = start = start if ran else None
    length = None if end is None or start is None or row["running"] else end - start
    row["inconsistent"] = False
    if ran and length is not None and elapsed is not None:
        rest = length - elapsed
        row["inconsistent"] = rest < -1 if stood is None else abs(rest - stood) > 1
        stood = (rest if rest > 1 else 0.0) if stood is None else stood
    row["suspended_s"] = stood
    if not ran:
        row["runtime_s"] = 0.0
    elif elapsed is not None:
        row["runtime_s"] = elapsed
    else:
        row["runtime_s"] = None if row["running"] else max(0.0, (length or 0.0) - (stood or 0.0))
    row["end_s"] = None if row["running"] else end
    named_hosts = row.get("nodelist") or []
    sizes = [row.get("nnodes"), row.get("allocnodes"), count(allocated.get("node", "0")), len(named_hosts)]
    sizes += [row.get("reqnodes"), count(requested.get("node", "0"))]
    row["nodes"] = nodes = next((size for size in sizes if size), 0)
    own = [row.get("alloccpus"), row.get("ncpus")]
    cpus = [
        *(own if ran else []),
        row.get("reqcpus"),
        *own,
        *(count(t.get("cpu", "0")) for t in (allocated, requested)),
    ]
    row["cpus"] = next((one for one in cpus if one), None)
    row["memory_gb"], row["all_memory"] = memory_of(row, allocated, requested, max(1, nodes))
    row["gpus"], row["rounded"] = gpus_of(allocated, requested, max(1, nodes))
    submit, eligible = row["time"]["submit"], row["time"]["eligible"]
    later = eligible is not None and submit is not None and eligible > submit and (start is None or eligible <= start)
    row["start_at_s"] = eligible if later else None
    energy = row.get("consumedenergyraw")
    energy = row.get("consumedenergy") if energy is None else energy
    row["energy"] = scaled(allocated["energy"], 1000.0) if energy is None and "energy" in allocated else energy
    held = [f"{name[8:]}:{count(n)}" for name, n in allocated.items() if name.startswith("license/") and count(n)]
    held = held or [
        f"{name[8:]}:{count(n)}" for name, n in requested.items() if name.startswith("license/") and count(n)
    ]
    row["held"] = row.get("licenses") or ",".join(held) or None


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


# Jobs.


def read(text: str, zone: tzinfo, *, skip: bool = False, drop: bool = False) -> Read:
    """The jobs of a dump with a header line."""
    reader = Reader(text, zone, skip=skip)
    out = reader.read()
    rows = reader.rows
    counts = out.counts
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
    energy_of(job)
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


def energy_of(job: dict[str, Any]) -> None:
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
