"""One row of what a log says of its machine."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import polars as pl

from hetsched.units import TICKS_S

SCHEMA = {
    "finding": pl.String,
    "subject": pl.String,
    "value": pl.Float64,
    "unit": pl.String,
    "from_s": pl.Float64,
    "until_s": pl.Float64,
    "evidence": pl.Int64,
    "evidence_ratio": pl.Float64,
    "suggestion": pl.String,
}


class Finding(NamedTuple):
    """A finding of one subject; without a suggestion it is below its threshold, or just a number."""

    finding: str
    subject: str = ""
    value: float | None = None
    unit: str = ""
    from_s: float | None = None
    until_s: float | None = None
    evidence: int | None = None
    evidence_ratio: float | None = None
    suggestion: str | None = None
    setting: Mapping[str, Any] = {}
    """The suggestion as settings; values that are lists are put together over subjects. No column of the frame."""


def settings_of(findings: Iterable[Finding]) -> dict[str, Any]:
    """The settings of all suggestions."""
    settings: dict[str, Any] = {}
    for one in findings:
        for name, value in one.setting.items():
            settings[name] = [*settings.get(name, []), *value] if isinstance(value, list) else value
    return settings


def frame_of(findings: Iterable[Finding]) -> pl.DataFrame:
    """Findings as a frame, a row each."""
    return pl.DataFrame([one[: len(SCHEMA)] for one in findings], SCHEMA, orient="row")


def seconds(micros: float) -> float:
    """Microseconds as seconds."""
    return float(micros) / TICKS_S


def part(some: int, of: int) -> float | None:
    """A share; None of nothing."""
    return int(some) / int(of) if of else None
