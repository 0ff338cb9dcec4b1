"""Use and queue by hour, observed and simulated."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from hetsched.power.ranks import correlation
from hetsched.validation.jobs import Judged
from hetsched.validation.scores import Score

Floats = npt.NDArray[np.float64]

_KINDS = ("busy", "queued", "queued_nodes")


def hours_within(from_s: float, until_s: float, hour_s: float) -> Floats:
    """The beginnings of whole hours of the log's clock that lie within a span."""
    first = math.ceil(from_s / hour_s)
    return hour_s * np.arange(first, max(first, math.floor(until_s / hour_s)), dtype=np.float64)


@dataclass(frozen=True)
class Spans:
    """Nodes, or the one job, that are held from one instant to another."""

    begins: Floats
    ends: Floats
    holds: Floats

    def means(self, hours: Floats, hour_s: float) -> Floats:
        """The mean held in each hour: the differences of an integral."""
        edges = np.append(hours, hours[-1] + hour_s)
        return np.diff(self._until(self.begins, edges) - self._until(self.ends, edges)) / hour_s

    def _until(self, instants: Floats, edges: Floats) -> Floats:
        """The integral up to each edge of what is held from these instants on."""
        order = np.argsort(instants)
        times, holds = instants[order] - edges[0], self.holds[order]
        held, moments = (np.concatenate([[0.0], np.cumsum(one)]) for one in (holds, holds * times))
        places = np.searchsorted(times, edges - edges[0])
        found: Floats = held[places] * (edges - edges[0]) - moments[places]
        return found


def series(judged: Judged, hour_s: float) -> pl.DataFrame:
    """Hourly means (rule 14), over all known jobs.

    Columns: ``time_s, busy_observed, busy_simulated, queued_observed, queued_simulated, queued_nodes_observed,
    queued_nodes_simulated``.
    """
    hours = hours_within(judged.from_s, judged.until_s, hour_s)
    found: dict[str, Floats] = {"time_s": hours}
    for kind in _KINDS:
        for side in ("observed", "simulated"):
            spans = _spans(judged.known, kind, side)
            found[f"{kind}_{side}"] = spans.means(hours, hour_s) if len(hours) else hours
    return pl.DataFrame(found)


def _spans(known: pl.DataFrame, kind: str, side: str) -> Spans:
    if kind == "busy":
        names = ("observed_start_s", "observed_end_s") if side == "observed" else ("start_s", "end_s")
        known = known.drop_nulls(names[0])
    else:
        names = ("submit_s", "observed_start_s" if side == "observed" else "placed_s")
    begins, ends = (known[name].to_numpy() for name in names)
    holds = np.ones(len(known)) if kind == "queued" else known["nodes"].to_numpy()
    return Spans(begins, np.maximum(ends, begins), holds)


def hour_scores(hours: pl.DataFrame, nodes: int) -> dict[str, Score]:
    """The scores of rule 15; None without an hour."""
    names = ("utilization_mae", "utilization_bias", "utilization_correlation", "queue_mae_jobs", "queue_ratio")
    if not len(hours):
        return dict.fromkeys(names)
    busy, simulated = hours["busy_observed"].to_numpy(), hours["busy_simulated"].to_numpy()
    queued, expected = hours["queued_observed"].to_numpy(), hours["queued_simulated"].to_numpy()
    queue = float(queued.mean())
    scores = (
        float(np.abs(simulated - busy).mean()) / nodes,
        float((simulated - busy).mean()) / nodes,
        correlation(busy, simulated),
        float(np.abs(expected - queued).mean()),
        float(expected.mean()) / queue if queue else None,
    )
    return dict(zip(names, scores, strict=True))
