"""Jobs, sleep parts and machines of three kinds of nodes, for laws of nodes that sleep and are counted by cell."""

from __future__ import annotations

from typing import Any

import hypothesis.strategies as st
import polars as pl

import hetsched as hs

BACKFILLS = st.sampled_from(["none", "first-fit", "reservations", {"name": "reservations", "depth": "unbounded"}])
KINDS = 3
#: ``(submit, runtime, walltime, nodes, kind)``
Job = tuple[int, int, int, int, int]


@st.composite
def jobs(draw: st.DrawFn, nodes: int) -> list[Job]:
    submit, found = 0, []
    for _ in range(draw(st.integers(1, 24))):
        submit += draw(st.sampled_from([0, 0, 1, 10, 100, 700]))
        runtime = draw(st.sampled_from([0, 1, 10, 60, 600]))
        length = runtime + draw(st.sampled_from([0, 0, 30, 600]))
        found.append((submit, runtime, length, draw(st.integers(1, nodes)), draw(st.integers(0, KINDS - 1))))
    return found


@st.composite
def sleeps(draw: st.DrawFn) -> dict[str, Any]:
    name = draw(st.sampled_from(["timeout", "planned", "newsvendor"]))
    margins = st.sampled_from(["actual", 0, 5, 200])
    return {
        "name": name,
        "min_idle_s": draw(st.sampled_from([0, 0, 30])),
        "stop_margin_s": draw(margins),
        "start_margin_s": draw(margins),
        "estimated_off_s": draw(st.sampled_from([0, 400, "break-even"])),
        "min_on_nodes": draw(st.sampled_from([0, 0, 1, 3])),
    }


def workload(rows: list[Job], **columns: list[Any]) -> hs.Workload:
    names = ("submit_s", "runtime_s", "walltime_s", "node_count")
    types = dict.fromkeys(names[:3], pl.Float64) | {"node_count": pl.Int64}
    frame = pl.DataFrame([row[:4] for row in rows], types, orient="row").with_row_index("job_id")
    return hs.Workload.from_polars(frame.with_columns(*(pl.Series(name, values) for name, values in columns.items())))


def platform(
    counts: list[int],
    boots_s: list[float],
    shutdown_s: float,
    licences: dict[str, int] | None,
    queues: list[hs.Queue] | None = None,
) -> hs.Platform:
    watts = {"idle_w": 100.0, "tdp_w": 300.0, "off_w": 0.0, "boot_w": 150.0, "shutdown_w": 50.0}
    classes = [
        {"name": f"k{kind}", "count": count, "boot_s": boot_s, "shutdown_s": shutdown_s, "features": [f"k{kind}"]}
        | watts
        for kind, (count, boot_s) in enumerate(zip(counts, boots_s, strict=True))
    ]
    return hs.Platform(classes, licences=licences, queues=queues)
