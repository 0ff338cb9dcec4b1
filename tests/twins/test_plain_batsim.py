"""`hs.read_batsim` against its rules in plain Python, one job and one profile at a time."""

from __future__ import annotations

import json
import math
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import given

import hetsched as hs

SPEED = 4.0
MOST_S = 1e12


class BadError(Exception):
    """The field that is wrong."""


def whole_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value == math.floor(value)


def amount(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or value < 0:
        raise BadError("profile")
    return float(value)


def length(name: str, profiles: dict[str, Any], size: int, within: tuple[str, ...] = ()) -> tuple[float, bool]:
    """Seconds of a profile on so many nodes, and whether it communicates."""
    profile = profiles.get(name)
    if not isinstance(profile, dict) or name in within:
        raise BadError("profile")
    com = profile.get("com")
    talks = any(
        isinstance(one, int | float) and not isinstance(one, bool) and one > 0
        for one in (com if isinstance(com, list) else [com])
    )
    match profile.get("type"):
        case "delay" | "DelayProfile":
            return amount(profile.get("delay")), False
        case "parallel_homogeneous" | "msg_par_hg":
            return amount(profile.get("cpu")) / SPEED, talks
        case "parallel_homogeneous_total":
            return amount(profile.get("cpu")) / SPEED / size, talks
        case "parallel" if isinstance(profile.get("cpu"), list) and profile["cpu"]:
            return max(map(amount, profile["cpu"])) / SPEED, talks
        case "composed":
            inner = profile.get("seq")
            if not isinstance(inner, list) or not all(isinstance(one, str) for one in inner):
                raise BadError("profile")
            parts = [length(one, profiles, size, (*within, name)) for one in inner]
            seconds = sum(part[0] for part in parts) * amount(profile.get("repeat", 1))
            return seconds, any(part[1] for part in parts)
    raise BadError("profile")


def text(job: dict[str, Any], field: str) -> str:
    value = job.get(field)
    if isinstance(value, str) and value:
        return value
    if isinstance(value, bool) or not whole_number(value):
        raise BadError(field)
    return str(int(value))  # type: ignore[arg-type]


def row(job: Any, profiles: dict[str, Any], seen: set[str]) -> tuple[Any, ...]:
    if not isinstance(job, dict):
        raise BadError("")
    log_id, submit, size, walltime = text(job, "id"), job.get("subtime"), job.get("res"), job.get("walltime")
    if isinstance(submit, bool) or not isinstance(submit, int | float) or not 0 <= submit <= MOST_S:
        raise BadError("subtime")
    if isinstance(size, bool) or not whole_number(size) or not 1 <= size < 2**31:  # type: ignore[operator]
        raise BadError("res")
    if walltime is not None and (isinstance(walltime, bool | str | list) or walltime > MOST_S):
        raise BadError("walltime")
    name = text(job, "profile")
    seconds, talks = length(name, profiles, int(size))  # type: ignore[arg-type]
    if seconds > MOST_S:
        raise BadError("profile")
    if log_id in seen:
        raise BadError("id")
    seen.add(log_id)
    who = [None if job.get(field) is None else text(job, field) for field in ("user", "queue")]
    limit = None if walltime is None or walltime <= 0 else float(walltime)
    return log_id, float(submit), seconds, int(size), limit, name, *who, talks  # type: ignore[arg-type]


NAMES = st.sampled_from(["a", "b", "c", "d", ""])
ODD = st.sampled_from([None, True, "", "x", "2", -1, 1.5, [1], {"a": 1}, 3e12])
PROFILE = st.one_of(
    st.fixed_dictionaries({"type": st.sampled_from(["delay", "DelayProfile"]), "delay": st.integers(0, 99)}),
    st.fixed_dictionaries(
        {"type": st.sampled_from(["parallel_homogeneous", "msg_par_hg", "parallel_homogeneous_total", "smpi"])},
        optional={"cpu": st.one_of(st.integers(0, 99), ODD), "com": st.one_of(st.integers(0, 2), ODD)},
    ),
    st.fixed_dictionaries(
        {"type": st.just("parallel"), "cpu": st.lists(st.integers(-1, 99), max_size=3)},
        optional={"com": st.lists(st.integers(0, 2), max_size=3)},
    ),
    st.fixed_dictionaries(
        {"type": st.just("composed"), "seq": st.one_of(st.lists(NAMES, max_size=4), ODD)},
        optional={"repeat": st.one_of(st.integers(0, 3), ODD)},
    ),
    ODD,
)
MEMBERS = {
    "id": st.one_of(st.integers(0, 9), st.sampled_from(["w0!5", "w1!5", "z", 4.0]), st.integers(10, 10**6)),
    "subtime": st.one_of(st.integers(0, 99), st.sampled_from([0.5, 7.0])),
    "res": st.one_of(st.integers(1, 9), st.just(2.0)),
    "profile": NAMES,
}
MORE = {
    "walltime": st.one_of(st.none(), st.integers(-1, 99)),
    "user": st.one_of(st.none(), st.sampled_from(["ann", 7])),
    "queue": st.one_of(st.none(), st.sampled_from(["long", 3])),
    "mine": ODD,
}


@st.composite
def jobs(draw: st.DrawFn) -> Any:
    """A job, of which a member may be odd or missing."""
    job = {**draw(st.fixed_dictionaries(MEMBERS, optional=MORE))}
    if draw(st.integers(0, 4)) == 0:
        member = draw(st.sampled_from([*MEMBERS, *MORE]))
        job[member] = draw(ODD)
        if draw(st.booleans()):
            del job[member]
    return job


@given(
    st.lists(st.one_of(jobs(), jobs(), jobs(), ODD), min_size=1, max_size=8),
    st.dictionaries(NAMES, PROFILE, max_size=5),
    st.booleans(),
)
def test_jobs_and_faults_are_those_of_the_rules(told: list[Any], profiles: dict[str, Any], first: bool) -> None:
    kept, faults, seen = [], [], set[str]()
    for place, one in enumerate(told):
        try:
            kept.append(row(one, profiles, seen))
        except BadError as bad:
            field = bad.args[0]
            faults.append(f"jobs[{place}]{f', {field}' if field else ''}: ")
    members = {"jobs": told, "profiles": profiles}
    # Profiles may stand before the jobs or behind them.
    content = json.dumps({key: members[key] for key in sorted(members, reverse=first)}).encode()
    if faults or not kept:
        with pytest.raises(hs.TraceError) as raised:
            hs.read_batsim(content, flops_per_s=SPEED)
        assert str(raised.value).removeprefix("bytes, ").startswith(faults[0])
    if not kept:
        return
    workload = hs.read_batsim(content, flops_per_s=SPEED, on_bad_line="skip")
    assert workload.report.get("bad_lines", 0) == len(faults)
    shown = workload.report.get("first_bad_lines", [])
    assert len(shown) == min(len(faults), 3)
    assert all(one.startswith(fault) for one, fault in zip(shown, faults, strict=False))
    assert workload.report.get("comm_ignored", 0) == sum(one[-1] for one in kept)
    frame = workload.to_polars()
    names = ["log_id", "submit_s", "runtime_s", "node_count", "walltime_s", "profile", "user", "queue"]
    found = [tuple(one.get(name) for name in names) for one in frame.iter_rows(named=True)]
    expected = sorted((one[:-1] for one in kept), key=lambda one: one[1])
    assert [one[:2] + one[3:] for one in found] == [one[:2] + one[3:] for one in expected]
    assert [one[2] for one in found] == pytest.approx([one[2] for one in expected])
