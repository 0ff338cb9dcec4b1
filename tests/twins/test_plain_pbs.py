"""`hs.read_pbs` against its twin in plain Python, on logs made at random (readers page, rules 35 to 41)."""

from __future__ import annotations

import math
import time
from typing import Any

import polars as pl
from hypothesis import given
from hypothesis import strategies as st
from plain_pbs import read

import hetsched as hs
from hetsched.errors import TraceError

ZERO_S = 1_714_564_800
COUNTS = (
    *("rows", "other_records", "dropped_duplicate", "array_parents", "dropped_pending", "dropped_never_ran"),
    *("dropped_no_submit", "dropped_no_size", "never_ran", "cut_by_end", "requeued", "reused_ids", "depends_cleared"),
)
IDS = ["7.srv", "8.srv", "9[1].srv", "9[2].srv", "9[].srv", "10-4.srv", "12", "007.srv"]
MESSAGES = [
    "user=ann queue=work",
    'jobname="a b" account="proj 1" project=p',
    "project=_pbs_project_default group=x",
    "Resource_List.nodect=2 Resource_List.ncpus=8 Resource_List.mem=16gb Resource_List.walltime=1:30:00",
    "Resource_List.select=2:ncpus=4:mem=8gb:ngpus=1+1:ncpus=2",
    "Resource_List.nodes=2:ppn=3",
    "Resource_List.ngpus=3 Resource_List.walltime=90",
    "exec_host=c2/0*4+c10/0*4",
    "exec_host=c1/0+c1/1+c10/0-3",
    "Exit_status=0",
    "Exit_status=-29",
    "Exit_status=1 resources_used.energy=0.25",
    "depend=afterok:7.srv",
    "depend=afterany:12@srv",
    "depend=afternotok:8.srv:12",
    "note x y=",
]


@st.composite
def logs(draw: st.DrawFn) -> str:
    """Lines of a few jobs, in any order of kinds."""
    offset_s = draw(st.sampled_from([0, 7200, -12600]))
    now, lines = ZERO_S, []
    # A log is of PBS Pro or of Torque.
    other = "Resource_List.nodes" if draw(st.booleans()) else "Resource_List.select"
    messages = [text for text in MESSAGES if not text.startswith(other)]
    for _ in range(draw(st.integers(1, 14))):
        now += draw(st.integers(0, 3))
        kind = draw(st.sampled_from("QQSSEEERDAL"))
        said = [*draw(st.lists(st.sampled_from(messages), max_size=4, unique_by=lambda text: text.partition("=")[0]))]
        times = {"ctime": ZERO_S, "qtime": ZERO_S + 1, "etime": now - draw(st.integers(0, 4))}
        said += [f"{key}={at}" for key, at in times.items() if draw(st.booleans())]
        begun = now - draw(st.integers(0, 60))
        said += [f"start={begun}"] if kind in "SR" and draw(st.booleans()) else []
        said += [f"start={begun} end={now}"] if kind == "E" and draw(st.booleans()) else []
        stamp = time.strftime("%m/%d/%Y %H:%M:%S", time.gmtime(now + offset_s))
        lines.append(f"{stamp};{kind};{draw(st.sampled_from(IDS))};{' '.join(said)}")
        if draw(st.integers(0, 9)) == 0:
            lines.append(draw(st.sampled_from(lines)))
    return "\n".join(lines) + "\n"


def is_same(found: Any, expected: Any) -> bool:
    if isinstance(found, list) and isinstance(expected, list):
        return len(found) == len(expected) and all(map(is_same, found, expected))
    if isinstance(found, float) and isinstance(expected, int | float):
        return math.isclose(found, expected, rel_tol=1e-12, abs_tol=1e-9)
    return bool(found == expected)


@given(logs(), st.booleans(), st.sampled_from([None, "America/Chicago"]))
def test_a_log_is_read_as_worked_out_by_hand(text: str, drop: bool, zone: str | None) -> None:
    rows, counts = read(text, zone=zone, drop=drop)
    cancelled = "drop" if drop else "keep"
    if not rows:
        try:
            hs.read_pbs(text.encode(), time_zone=zone, cancelled=cancelled)
        except TraceError as error:
            assert "no job" in str(error)  # noqa: PT017
        else:
            raise AssertionError(text)
        return
    try:
        workload = hs.read_pbs(text.encode(), time_zone=zone, cancelled=cancelled)
    except hs.ConfigError as error:
        assert "a cycle" in str(error)  # noqa: PT017
        return
    jobs = workload.to_polars()
    assert {name: workload.report.get(name, 0) for name in COUNTS} == {name: counts[name] for name in COUNTS}
    names = workload.report["node_names"]
    known = [
        name for name in jobs.columns if name not in ("observed_nodes", "device", "power_w", "slots", "constraint")
    ]
    for place, expected in enumerate(rows):
        row = jobs.row(place, named=True)
        for name in known:
            assert is_same(row[name], expected.get(name)), (name, row[name], expected.get(name), text)
        hosts = expected["hosts"] if row.get("cancel_s") is None else None
        told = row.get("observed_nodes")
        assert (None if told is None else [names[node] for node in told]) == hosts
    lost = [name for name in rows[0] if name not in jobs.columns and name not in ("hosts", "array_id")]
    assert all(row.get(name) is None for row in rows for name in lost)
    energy = jobs["observed_energy_j"] if "observed_energy_j" in jobs.columns else pl.Series([None])
    if energy.null_count() < len(energy):
        watts = energy / (jobs["runtime_s"] * jobs["node_count"])
        expected_w = watts.set(~watts.is_between(0, 1e6, closed="right"), None)
        assert expected_w.null_count() == len(jobs) or is_same(jobs["power_w"].to_list(), expected_w.to_list())
