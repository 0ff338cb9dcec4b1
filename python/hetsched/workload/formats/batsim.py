"""Batsim's workloads: JSON with jobs and the profiles that say how long they run."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from hetsched import _core
from hetsched.checks import Faults, shown, typed
from hetsched.errors import TraceError
from hetsched.typing import OnBadLine
from hetsched.workload.conform import conformed, first_bad_lines
from hetsched.workload.convert import Origin
from hetsched.workload.formats.raw import Format, Source, as_workload, check_on_bad_line, contents, plain_text
from hetsched.workload.jobs import Workload
from hetsched.workload.schema import MAX_SECONDS

_EXPECTED = "a workload of Batsim's: JSON with `jobs` and `profiles`"
_MOST_NODES = 2**31 - 1
_LARGEST_NUMBER = 10**18
_TOLD = 3


def read_batsim(source: Source, *, flops_per_s: float | None = None, on_bad_line: OnBadLine = "error") -> Workload:
    r"""Read a workload of Batsim's from JSON.

    A job's length comes from its profile. ``delay`` is seconds; ``composed`` is the sum of its sequence, as often as
    it repeats. Work (``parallel``, ``parallel_homogeneous``, ``parallel_homogeneous_total``) needs `flops_per_s`; what
    such profiles communicate is left out, and counted by job. ``app`` and ``profile`` are the profile's name,
    ``log_id`` is the id as it stands; ids that are no numbers get numbers above the largest.

    Parameters
    ----------
    source
        Path (plain, gzip, zstd), ``"-"`` for standard input, or content.
    flops_per_s
        Speed of a node in floating-point operations a second, for profiles of work.
    on_bad_line
        ``"error"``: an invalid job is an error. ``"skip"``: it is left out and counted.

    Returns
    -------
    Workload
        Sorted by submit time.

    Raises
    ------
    TraceError
        If the file is no such JSON, or a job or its profile is invalid: names ``jobs[K]``, counted from 0.
    ConfigError
        If an option is invalid.

    Examples
    --------
    >>> text = b'{"nb_res": 4, "jobs": [{"id": "w0!7", "subtime": 5, "res": 2, "profile": "p"}], "profiles":'
    >>> jobs = read_batsim(text + b' {"p": {"type": "delay", "delay": 60}}}').to_polars()
    >>> jobs.select("job_id", "log_id", "submit_s", "runtime_s", "node_count", "app").rows()
    [(7, 'w0!7', 5.0, 60.0, 2, 'p')]
    """
    faults = Faults()
    if flops_per_s is not None:
        faults.number("flops_per_s", flops_per_s, low=0.0)
        if not faults.found and not flops_per_s > 0:
            faults.add("flops_per_s", flops_per_s, "a number above 0")
    check_on_bad_line(faults, on_bad_line)
    faults.check()
    packed, name, sha256 = contents(source, _EXPECTED)
    content = _content(packed, name)
    speed = None if flops_per_s is None else float(flops_per_s)
    reader = _Reader(name, _Profiles(content["profiles"], speed), skips=on_bad_line == "skip")
    frame, counts = reader.read(content["jobs"])
    table, checked = conformed(frame, Origin(name))
    settings: dict[str, object] = {} if flops_per_s is None else {"flops_per_s": flops_per_s}
    settings |= {"on_bad_line": on_bad_line} if on_bad_line == "skip" else {}
    counts |= _header(content.get("nb_res"), name)
    return as_workload(table, source=name, sha256=sha256, settings=settings, checked_counts=checked | counts)


def _content(packed: bytes, name: str) -> dict[str, Any]:
    """The file's content, with a list of jobs."""
    text = plain_text(_core.unpacked(packed, file=name), name)
    try:
        content = json.loads(text)
    except json.JSONDecodeError as error:
        found = f"JSON that is cut or damaged ({error.msg}, column {error.colno})"
        raise TraceError(file=name, line=error.lineno, found=found, expected=_EXPECTED) from None
    except (RecursionError, ValueError):
        raise TraceError(file=name, found="no JSON that can be read", expected=_EXPECTED) from None
    for key, kind in (("jobs", list), ("profiles", dict)):
        if not isinstance(content, dict) or not isinstance(content.get(key), kind):
            found = f"JSON without `{key}`" if isinstance(content, dict) else "JSON that is no object"
            raise TraceError(file=name, found=found, expected=_EXPECTED)
    return dict(content)


def _header(nb_res: object, name: str) -> dict[str, Any]:
    """The machine's size, as logs with a header have it."""
    if nb_res is None:
        return {}
    nodes = _whole(nb_res)
    if nodes is None or not 1 <= nodes <= _MOST_NODES:
        raise TraceError(file=name, field="nb_res", found=typed(nb_res), expected="how many nodes the machine has")
    return {"header": {"max_nodes": nodes, "max_procs": nodes}}


class _BadJob(Exception):  # noqa: N818 -- says what it carries; it never reaches a user
    """A job that does not fit: its field, what was found, what would be right."""


@dataclass(frozen=True)
class _Length:
    """Length of a profile: seconds, those that all nodes of a job share, and whether it communicates."""

    fixed_s: float = 0.0
    shared_s: float = 0.0
    has_comm: bool = False

    def plus(self, other: _Length) -> _Length:
        return _Length(self.fixed_s + other.fixed_s, self.shared_s + other.shared_s, self.has_comm or other.has_comm)

    def times(self, count: float) -> _Length:
        return replace(self, fixed_s=self.fixed_s * count, shared_s=self.shared_s * count)


_KINDS = {
    "delay": "delay",
    "DelayProfile": "delay",
    "composed": "composed",
    "SequentialCompositionProfile": "composed",
    "parallel_homogeneous": "each",
    "ParallelTaskHomogeneousProfile": "each",
    "msg_par_hg": "each",
    "parallel_homogeneous_total": "total",
    "DefinedAmountsSpreadUniformly": "total",
    "msg_par_hg_tot": "total",
    "parallel": "listed",
    "ParallelTaskProfile": "listed",
    "msg_par": "listed",
}
"""Types of profiles, with their other names."""


class _Profiles:
    """Lengths of profiles, each worked out once."""

    def __init__(self, given: Mapping[str, Any], speed: float | None) -> None:
        self.given = given
        self.speed = speed
        self.known: dict[str, _Length | _BadJob] = {}

    def length(self, name: str) -> _Length:
        """The length of a profile; raises `_BadJob`."""
        if name not in self.known:
            self._work_out(name)
        found = self.known[name]
        if isinstance(found, _BadJob):
            raise found
        return found

    def _work_out(self, name: str) -> None:
        """A profile and all that it is composed of, the innermost first."""
        within: dict[str, Iterator[str]] = {}
        top: str | None = name
        try:
            while top is not None:
                if top not in within:
                    within[top] = iter(self._sequence(top))
                inner = next((one for one in within[top] if one not in self.known), None)
                if inner in within:
                    raise _BadJob("profile", f"{shown(inner)}, which contains itself", "profiles that end")
                if inner is None:
                    self.known[top] = self._of(top)
                    del within[top]
                    inner = next(reversed(within), None)
                top = inner
        except _BadJob as bad:
            self.known |= dict.fromkeys([name, *within], bad)

    def _sequence(self, name: str) -> list[str]:
        """Names of the profiles that one is composed of; none where it is of another kind."""
        profile, kind = self._profile(name)
        if kind != "composed":
            return []
        inner = profile.get("seq")
        if not isinstance(inner, list) or not all(isinstance(one, str) for one in inner):
            raise _BadJob("profile", f"{shown(name)} with `seq` {typed(inner)}", "`seq`, a list of names of profiles")
        return inner

    def _profile(self, name: str) -> tuple[Mapping[str, Any], str]:
        profile = self.given.get(name)
        if not isinstance(profile, dict):
            found = f"{shown(name)}, which is not among `profiles`" if profile is None else f"{shown(name)}: no object"
            raise _BadJob("profile", found, "a profile of the file")
        kind = _KINDS.get(str(profile.get("type")))
        if kind is None:
            found = f"{shown(name)} of type {typed(profile.get('type'))}"
            raise _BadJob("profile", found, "delay, composed, parallel, parallel_homogeneous(_total)")
        return profile, kind

    def _of(self, name: str) -> _Length:
        """The length of a profile whose parts are known."""
        profile, kind = self._profile(name)
        if kind == "delay":
            return _Length(fixed_s=self._amount(profile, "delay", name))
        if kind == "composed":
            return self._composed(profile, name)
        if self.speed is None:
            found = f"{shown(name)} of type {profile['type']} and no flops_per_s"
            raise _BadJob("profile", found, "flops_per_s=…, a node's speed, to make seconds of its work")
        if kind == "listed":
            amounts = self._amounts(profile, name)
            return _Length(fixed_s=max(amounts) / self.speed, has_comm=_has_comm(profile))
        seconds = self._amount(profile, "cpu", name) / self.speed
        comm = _has_comm(profile)
        return _Length(fixed_s=seconds, has_comm=comm) if kind == "each" else _Length(shared_s=seconds, has_comm=comm)

    def _composed(self, profile: Mapping[str, Any], name: str) -> _Length:
        repeat = _number(profile.get("repeat", 1))
        if repeat is None or repeat < 0:
            found = f"{shown(name)} with `repeat` {typed(profile.get('repeat'))}"
            raise _BadJob("profile", found, "`repeat`, a number from 0")
        total = _Length()
        for inner in self._sequence(name):
            total = total.plus(self.length(inner))
        return total.times(repeat)

    @staticmethod
    def _amount(profile: Mapping[str, Any], key: str, name: str) -> float:
        amount = _number(profile.get(key))
        if amount is None or amount < 0:
            found = f"{shown(name)} with `{key}` {typed(profile.get(key)) if key in profile else 'missing'}"
            raise _BadJob("profile", found, f"`{key}`, a number from 0")
        return amount

    @staticmethod
    def _amounts(profile: Mapping[str, Any], name: str) -> list[float]:
        given = profile.get("cpu")
        amounts = [_number(one) for one in given] if isinstance(given, list) else []
        if not amounts or any(one is None or one < 0 for one in amounts):
            raise _BadJob("profile", f"{shown(name)} with `cpu` {typed(given)}", "`cpu`, a list of numbers from 0")
        return [one for one in amounts if one is not None]


def _has_comm(profile: Mapping[str, Any]) -> bool:
    given = profile.get("com")
    amounts = given if isinstance(given, list) else [given]
    return any((_number(one) or 0.0) > 0 for one in amounts)


def _number(value: object) -> float | None:
    """A finite number; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def _whole(value: object) -> int | None:
    number = _number(value)
    return None if number is None or number != math.floor(number) else int(number)


class _Reader:
    """Jobs, one after another, as columns."""

    def __init__(self, file: str, profiles: _Profiles, *, skips: bool) -> None:
        self.file = file
        self.profiles = profiles
        self.skips = skips
        self.faults: list[TraceError] = []
        self.bad_lines = 0
        self.comm_ignored = 0
        self.seen: set[str] = set()

    def read(self, jobs: list[Any]) -> tuple[pl.DataFrame, dict[str, Any]]:
        """The frame of the jobs, and what was counted."""
        rows = list(self._rows(jobs))
        if not rows:
            raise (
                self.faults[0]
                if self.faults
                else TraceError(file=self.file, found="no job", expected="at least one job in `jobs`")
            )
        frame = pl.DataFrame(rows, schema=_SCHEMA, orient="row")
        numbers, reused = numbered(frame["number"])
        frame = frame.with_columns(job_id=numbers, app=pl.col("profile")).drop("number")
        known = [name for name in ("user", "queue") if frame[name].null_count() == len(frame)]
        counts: dict[str, Any] = {"comm_ignored": self.comm_ignored, "reused_ids": reused, "bad_lines": self.bad_lines}
        counts = {name: count for name, count in counts.items() if count}
        if self.faults:
            counts["first_bad_lines"] = first_bad_lines(self.faults)
        return frame.drop(known), counts

    def _rows(self, jobs: list[Any]) -> Iterator[tuple[Any, ...]]:
        for place, job in enumerate(jobs):
            try:
                yield self._row(job)
            except _BadJob as bad:
                field, found, expected = bad.args
                where = f"jobs[{place}]{f', {field}' if field else ''}"
                fault = TraceError(file=self.file, field=where, found=found, expected=expected)
                if not self.skips:
                    raise fault from None
                self.bad_lines += 1
                if len(self.faults) < _TOLD:
                    self.faults.append(fault)

    def _row(self, job: Any) -> tuple[Any, ...]:
        if not isinstance(job, dict):
            raise _BadJob("", typed(job), "an object with id, subtime, res and profile")
        log_id = _text(job, "id")
        submit_s = _seconds(job, "subtime")
        size = _whole(job.get("res"))
        if size is None or not 1 <= size <= _MOST_NODES:
            raise _BadJob("res", _told(job, "res"), f"a whole number from 1 to {_MOST_NODES}")
        walltime_s = None if job.get("walltime") is None else _number(job["walltime"])
        if job.get("walltime") is not None and (walltime_s is None or walltime_s > MAX_SECONDS):
            raise _BadJob("walltime", typed(job["walltime"]), f"seconds up to {MAX_SECONDS:g}; 0 or less is none")
        profile = _text(job, "profile")
        length = self.profiles.length(profile)
        runtime_s = length.fixed_s + length.shared_s / size
        if not runtime_s <= MAX_SECONDS:
            raise _BadJob("profile", f"{shown(profile)} of {runtime_s:g} s", f"a length up to {MAX_SECONDS:g} s")
        if log_id in self.seen:
            raise _BadJob("id", f"{shown(log_id)} again", "an id of its own")
        self.seen.add(log_id)
        self.comm_ignored += length.has_comm
        named = [None if job.get(key) is None else _text(job, key) for key in ("user", "queue")]
        return _plain_number(log_id), log_id, submit_s, runtime_s, size, walltime_s, profile, *named


_SCHEMA = {
    "number": pl.Int64,
    "log_id": pl.String,
    "submit_s": pl.Float64,
    "runtime_s": pl.Float64,
    "node_count": pl.Int32,
    "walltime_s": pl.Float64,
    "profile": pl.String,
    "user": pl.String,
    "queue": pl.String,
}


def _told(job: Mapping[str, Any], key: str) -> str:
    return typed(job[key]) if key in job else "nothing"


def _text(job: Mapping[str, Any], key: str) -> str:
    """A name, which may be written as a number."""
    value = job.get(key)
    if isinstance(value, float) and value == math.floor(value):
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, str | int) or value == "":
        raise _BadJob(key, _told(job, key), "a name or a number")
    text = str(value)
    return text.encode("utf-8", "replace").decode()


def _seconds(job: Mapping[str, Any], key: str) -> float:
    value = _number(job.get(key))
    if value is None or not 0 <= value <= MAX_SECONDS:
        raise _BadJob(key, _told(job, key), f"seconds from 0 to {MAX_SECONDS:g}")
    return value


def _plain_number(log_id: str) -> int | None:
    """The number of an id, behind the workload's name if it has one."""
    digits = log_id.rpartition("!")[2]
    return int(digits) if re.fullmatch("[0-9]{1,19}", digits) and int(digits) < _LARGEST_NUMBER else None


def numbered(numbers: pl.Series) -> tuple[pl.Series, int]:
    """Numbers of all jobs: names without one, and those of a number that an earlier job has, get larger ones.

    Also how many jobs had the number of another.
    """
    is_second = numbers.is_not_null() & ~numbers.is_first_distinct()
    needs_one = numbers.is_null() | is_second
    largest = numbers.max()
    first = 1 if largest is None else int(largest) + 1  # type: ignore[arg-type]
    given = needs_one.cast(pl.Int64).cum_sum() + (first - 1)
    return numbers.set(needs_one, None).fill_null(given).alias("job_id"), int(is_second.sum())


_BEGINNING = re.compile(rb"(?:\xef\xbb\xbf)?\s*\{")
_OF_BATSIM = re.compile(rb'"(?:profiles|nb_res|subtime)"\s*:')

FORMAT = Format(
    name="batsim",
    suffixes=(".json", ".json.gz", ".json.zst"),
    doc="workloads of Batsim's, in JSON",
    read=read_batsim,
    recognizes=lambda head: _BEGINNING.match(head) is not None and _OF_BATSIM.search(head) is not None,
    origins={
        "job_id": "id",
        "log_id": "id",
        "submit_s": "subtime",
        "runtime_s": "profile",
        "node_count": "res",
        "walltime_s": "walltime",
        "app": "profile",
        "profile": "profile",
        "user": "user",
        "queue": "queue",
    },
)
