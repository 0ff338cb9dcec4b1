"""Figures of a bridge from its log: starts, how many were as decided, and how late Slurm made them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any


@dataclass(frozen=True)
class Status:
    """Figures of the log; those of starts are about jobs that Slurm started while a bridge watched."""

    first_s: float | None
    """Seconds since 1970 of the first line."""
    last_s: float | None
    starts: int
    decided: int
    """Starts that had been decided before."""
    as_wished: int
    """Starts among these on the very nodes decided."""
    starts_per_min: float
    median_lag_s: float | None
    """Seconds from a decision to Slurm's start."""
    would: int
    errors: int
    last_error: str | None

    def to_dict(self) -> dict[str, Any]:
        """Figures by name."""
        return asdict(self)


def status_of(lines: Iterable[Mapping[str, Any]]) -> Status:
    """The figures of a log's lines."""
    kept = list(lines)
    times = [line["real"] for line in kept if isinstance(line.get("real"), int | float)]
    starts = [line for line in kept if line.get("event") == "start"]
    decided = [line for line in starts if line.get("decided") is not None]
    errors = [line for line in kept if line.get("event") == "error"]
    span_s = times[-1] - times[0] if times else 0.0
    return Status(
        first_s=times[0] if times else None,
        last_s=times[-1] if times else None,
        starts=len(starts),
        decided=len(decided),
        as_wished=sum(line["decided"] == line["nodes"] for line in decided),
        starts_per_min=60 * len(starts) / span_s if span_s > 0 else 0.0,
        median_lag_s=median(line["lag_s"] for line in decided) if decided else None,
        would=sum(line.get("event") == "would" for line in kept),
        errors=len(errors),
        last_error=str(errors[-1].get("error")) if errors else None,
    )
