"""Gaps of nodes, in plain Python: rule 38 of the operations page on machines, node by node and instant by instant."""

from __future__ import annotations

from typing import Any

TICKS = 1_000_000


def micros(seconds: float) -> int:
    return round(seconds * TICKS)


def plain_gaps(result: Any, platform: Any) -> list[tuple[int, float, float, str, float, float, float]]:
    """Rows as `hetsched.analysis.gaps` gives them."""
    first, last = (micros(result.timeline["time_s"][place]) for place in (0, -1))
    classes = [one for one in platform.classes for _ in range(one.count)]
    rows = []
    for node, kind in enumerate(classes):
        idle_w = float(platform.idle_w[node])
        watts = {
            "idle": idle_w,
            "booting": idle_w if kind.boot_w is None else kind.boot_w,
            "stopping": idle_w if kind.shutdown_w is None else kind.shutdown_w,
            "off": kind.off_w,
        }
        held = [
            (micros(start), last if end is None else micros(end))
            for start, end, nodes in result.segments.select("start_s", "end_s", "nodes").rows()
            if node in (nodes or [])
        ]
        events = [
            (micros(time), what)
            for time, what, where in result.events.select("time_s", "kind", "node").rows()
            if where == node and micros(time) <= last
        ]
        cuts = sorted({first, last, *(at for pair in held for at in pair), *(at for at, _ in events)})
        begun, spent, state, failed, out = first, 0.0, "idle", False, 0
        found: list[tuple[int, int, str, float]] = []
        is_gap = True
        for at, until in zip(cuts, [*cuts[1:], last], strict=True):
            was_down = failed or out > 0
            for _, what in [event for event in events if event[0] == at]:
                failed = what == "failed" or (failed and what != "repaired")
                out += (what == "out") - (what == "back")
                turned = {"wake": "booting", "ready": "idle", "sleep": "stopping", "off": "off"}
                state = turned.get(what, "idle" if what in ("failed", "out", "repaired", "back") else state)
            is_down = failed or out > 0
            holds = any(start <= at < end for start, end in held)
            starts = any(start == at for start, _ in held)
            if is_gap and is_down and not was_down:
                found.append((begun, at, "down", spent))
                begun, spent = at, 0.0
            if is_gap and starts:
                found.append((begun, at, "job", spent))
                begun, spent = at, 0.0
            if not is_gap and not is_down and not holds:
                begun, spent = at, 0.0
            is_gap = not is_down and not holds
            if is_gap:
                spent += watts[state] * (until - at) / TICKS
        if is_gap:
            found.append((begun, last, "end", spent))
        for start, end, why, drawn_j in found:
            if end > start:
                rows.append((node, start / TICKS, end / TICKS, why, *costs(kind, watts, end - start, why), drawn_j))
    return rows


def costs(kind: Any, watts: dict[str, float], length: int, why: str) -> tuple[float, float]:
    """Cost of a gap idle, and its least cost."""
    idle_j = watts["idle"] * length / TICKS
    stop, boot, rest_w = micros(kind.shutdown_s), micros(kind.boot_s), min(watts.values())
    if why == "job":
        if length < stop + boot:
            return idle_j, idle_j
        slept = watts["stopping"] * stop + watts["booting"] * boot + rest_w * (length - stop - boot)
    else:
        slept = watts["stopping"] * min(length, stop) + rest_w * max(0, length - stop)
    return idle_j, min(idle_j, slept / TICKS)
