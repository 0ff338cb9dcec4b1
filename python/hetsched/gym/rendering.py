"""Runs as text and as small pictures."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, get_args

import numpy as np
import numpy.typing as npt

from hetsched.typing import RenderMode

MODES = get_args(RenderMode)
"""Forms in which `render` shows a run: text, or a picture."""

FPS = 4
"""Pictures a second that recorders show, a decision each."""

Frame = str | npt.NDArray[np.uint8]

_STATES = ("busy", "idle", "off", "booting or shutting down", "down")
_COLOURS = np.array(
    [(0, 114, 178), (222, 222, 222), (60, 60, 60), (230, 159, 0), (213, 94, 0), (255, 255, 255)], np.uint8
)
"""Colours of these states, in their order, and of empty space."""

_CELL, _GAP, _WIDTH = 9, 1, 240
_BAR, _WAITING, _DRAW = 8, (86, 180, 233), (0, 158, 115)


def rendered(mode: str, seen: Mapping[str, Any], tdp_w: float) -> Frame:
    """A run as it stands, as text or as a picture."""
    return text(seen) if mode == "ansi" else picture(seen, tdp_w)


def text(seen: Mapping[str, Any]) -> str:
    """Three lines: when and how far, nodes and power, and the first job that waits."""
    counts = np.bincount(seen["nodes"], minlength=len(_STATES))
    nodes = ", ".join(f"{count:,} {state}" for count, state in zip(counts, _STATES, strict=True) if count)
    budget = "" if seen["budget_w"] is None else f" of {seen['budget_w']:,.0f} W allowed"
    jobs = f"{seen['running']:,} running, {seen['queued']:,} waiting, {seen['over']:,} over"
    head = "no jobs wait"
    if seen["head"] is not None:
        job, count, waited_s = seen["head"]
        head = f"first in the queue: job {job}, {count:,} node{'' if count == 1 else 's'}, waiting {waited_s:,.0f} s"
    return (
        f"at {seen['now_s']:,.0f} s: {jobs}\n"
        f"{len(seen['nodes']):,} nodes: {nodes}; {seen['power_w']:,.0f} W{budget}\n"
        f"{head}\n"
    )


def picture(seen: Mapping[str, Any], tdp_w: float) -> npt.NDArray[np.uint8]:
    """Nodes as squares in the colours of their states, above bars of waiting jobs and of the draw.

    The first bar is as long as ln(1 + waiting jobs) / ln(1 + 10,000), the second as the draw's share of the TDP.
    """
    nodes = np.asarray(seen["nodes"])
    columns = min(len(nodes), max(1, math.ceil(math.sqrt(2 * len(nodes)))))
    rows = -(-len(nodes) // columns)
    cells = np.full(rows * columns, len(_STATES))
    cells[: len(nodes)] = nodes
    image = _COLOURS[cells.reshape(rows, columns)].repeat(_CELL, axis=0).repeat(_CELL, axis=1)
    image[_CELL - _GAP :: _CELL], image[:, _CELL - _GAP :: _CELL] = 255, 255
    shares = (math.log1p(seen["queued"]) / math.log1p(10_000), seen["power_w"] / tdp_w if tdp_w else 0.0)
    width = max(image.shape[1], _WIDTH)
    canvas = np.full((image.shape[0] + 2 * (_BAR + 2), width, 3), 255, np.uint8)
    canvas[: image.shape[0], : image.shape[1]] = image
    for place, (share, colour) in enumerate(zip(shares, (_WAITING, _DRAW), strict=True)):
        top = image.shape[0] + 2 + place * (_BAR + 2)
        canvas[top : top + _BAR, : round(width * min(share, 1.0))] = colour
    return canvas
