"""Concerns about a run's inputs and outcomes, for the reader of its numbers; those of a feature are in its file.

Each is said as a warning by `hetsched.simulate`. None of them stops a run: the numbers are exact, but may answer
another question than was asked.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from hetsched.checks import many
from hetsched.errors import LoadWarning, PowerWarning, ResultWarning, RunWarning, WorkWarning
from hetsched.platform import Platform
from hetsched.policy import Policy
from hetsched.resources import counts_of
from hetsched.run.options import RunOptions
from hetsched.workload import Workload

_DAY_S = 86400.0
_SHORTEST_S = 7 * _DAY_S
"""Least length of a run: of a shorter one the beginning and the end, with few jobs, are more than a tenth."""
_BUSY_RATIO = 0.05
_QUIET_RATIO = 0.1
_KILLED_RATIO = 0.5
_TDP_RATIO = 2.0
_RAN = ("completed", "timeout", "failed")
_LEFT = ("pending", "rejected")
_LEFT_OUT = "no start is known for it"
"""Reason of jobs of which a replay says something itself."""
_MOST_REASONS = 3


@dataclass(frozen=True)
class Concern:
    """Something that looks wrong."""

    category: type[RunWarning]
    about: str
    found: str
    advice: str = ""

    def __str__(self) -> str:
        return f"{self.about}: {self.found}" + (f"; {self.advice}" if self.advice else "")


def joined(concerns: Mapping[str, Sequence[Concern]]) -> list[Concern]:
    """Concerns of several policies' runs, one a matter: by policy where they differ."""
    matters: dict[tuple[type[RunWarning], str, str], dict[str, str]] = {}
    for policy, own in concerns.items():
        for one in own:
            matters.setdefault((one.category, one.about, one.advice), {})[policy] = one.found
    found = []
    for (category, about, advice), said in matters.items():
        is_common = len(said) == len(concerns) and len(set(said.values())) == 1
        each = ", ".join(text if policy == about else f"{policy} {text}" for policy, text in said.items())
        found.append(Concern(category, about, next(iter(said.values())) if is_common else each, advice))
    return found


def concerns_of_load(workload: Workload, platform: Platform) -> Iterator[Concern]:
    """Concern that more work is submitted than the platform can do."""
    offered_load = workload.offered_load(platform)
    if offered_load is None or not 1.0 < offered_load < math.inf:
        return
    found = (
        f"more work is submitted than {many(platform.nodes, 'node')} can do, "
        "so the queue grows until the last job is submitted"
    )
    yield Concern(LoadWarning, f"offered load {offered_load:.2f}", found)


def concerns_of_draws(jobs: pl.DataFrame, platform: Platform) -> Iterator[Concern]:
    """Concern that measured draws are far above what the nodes are built for."""
    if "power_w" not in jobs.columns:
        return
    tdp_w = float(platform.tdp_w.max())
    watts = jobs["power_w"].drop_nulls()
    above = watts.filter(watts > _TDP_RATIO * tdp_w)
    if above.is_empty():
        return
    highest = "highest " if np.ptp(platform.tdp_w) > 0 else ""
    yield Concern(
        PowerWarning,
        f"measured draws (power_w) above twice the nodes' {highest}TDP of {tdp_w:,g} W",
        f"{len(above):,} of {many(len(jobs), 'job')}, up to {float(above.to_numpy().max()):,.0f} W a node",
        "a job's power_w is the watts of one node, not of all",
    )


def concerns_of_run(
    jobs: pl.DataFrame, recorded: pl.DataFrame, timeline: pl.DataFrame, platform: Platform
) -> list[Concern]:
    """Concerns after a run."""
    found = (_killed(recorded["state"]), _never_started(jobs["job_id"], recorded), _quiet(timeline, platform.nodes))
    return [one for one in found if one is not None]


def _killed(states: pl.Series) -> Concern | None:
    """Concern that most of the jobs that ran were killed at their walltime."""
    counts = counts_of(states)
    killed, ran = counts.get("timeout", 0), sum(counts.get(state, 0) for state in _RAN)
    if killed <= _KILLED_RATIO * ran:
        return None
    share = f"{100 * killed / ran:.0f} % of the jobs that ran"
    advice = "check the unit of their walltimes, or let jobs run past them"
    return Concern(ResultWarning, "killed at their walltime", share, advice)


def _never_started(job_ids: pl.Series, recorded: pl.DataFrame) -> Concern | None:
    """Concern about jobs that could not start; not those withdrawn, or still waiting when the run was stopped."""
    if not recorded["start_s"].null_count():
        return None
    is_left = pl.col("start_s").is_null() & pl.col("state").is_in(_LEFT) & (pl.col("reason") != _LEFT_OUT)
    left = recorded.with_columns(job_ids.alias("job_id")).filter(is_left)
    if left.is_empty():
        return None
    by_reason = left.group_by("reason", maintain_order=True).agg(pl.len().alias("jobs"), pl.col("job_id").first())
    rows = by_reason.sort("jobs", descending=True, maintain_order=True).head(_MOST_REASONS).rows()
    each = [f"{why}: {f'job {job}' if count == 1 else f'{count:,}, such as job {job}'}" for why, count, job in rows]
    more = len(by_reason) - len(rows)
    each += [many(more, "other reason")] if more else []
    found = f"{len(left):,} of {len(recorded):,} ({'; '.join(each)})"
    return Concern(ResultWarning, "jobs that never started", found, "energy is lower by their work")


def _quiet(timeline: pl.DataFrame, nodes: int) -> Concern | None:
    """Concern that the machine was as good as empty for much of a run of at least a week."""
    is_quiet = timeline["busy_nodes"].to_numpy()[:-1] < _BUSY_RATIO * nodes
    if not is_quiet.any():
        return None
    length_s = np.diff(timeline["time_s"].to_numpy())
    window_s = float(length_s.sum())
    if window_s < _SHORTEST_S:
        return None
    ratio = float(length_s[is_quiet].sum()) / window_s
    if ratio <= _QUIET_RATIO:
        return None
    share = f"{100 * ratio:.0f} % of the run's {many(round(window_s / _DAY_S), 'day')}"
    advice = "means over the run, such as utilization and mean power, say little of the time in which jobs ran"
    return Concern(ResultWarning, "less than 5 % of the nodes busy", share, advice)


_MUCH_LOST_RATIO = 0.01
"""Share of the started node-seconds that may be lost without a word."""

_CUT = {
    "killed": "jobs killed before their work was done",
    "failed": "jobs that failed before their work was done",
}
"""By what ended them."""


def _remedy(cause: str, platform: Platform, options: RunOptions, recorded: pl.DataFrame) -> str:
    """A way to lose less work, or to compare runs that lost some."""
    table = platform.actual
    is_slow = table is not None and table.time_ratio is not None and bool((table.time_ratio > 1.0).any())
    if cause == "killed" and is_slow and options.walltimes == "fixed":
        return 'walltimes="stretch" gives jobs the time they need on slower nodes'
    if cause == "killed":
        return "kill_at_walltime=False lets jobs run on, as those did that overran their walltime in the log"
    if cause == "failed" and (recorded["reason"] == "a node failed").any():
        return 'on_failure="requeue" has those run again that lost a node'
    return "energy per work compares such runs"


def concerns_of_work(
    platform: Platform, options: RunOptions, totals: Mapping[str, Any], recorded: pl.DataFrame
) -> list[Concern]:
    """Concerns about work lost with jobs that were ended, so that the energy it left out is not taken for saved."""
    started_node_s = totals["work_started_node_s"] or 1.0
    return [
        Concern(
            WorkWarning,
            about,
            f"{totals[f'work_{cause}_jobs']:,}, and {percent(ratio)} of the started node-seconds lost",
            f"energy is lower by as much work as was not done, and {_remedy(cause, platform, options, recorded)}",
        )
        for cause, about in _CUT.items()
        if (ratio := totals[f"work_{cause}_node_s"] / started_node_s) > _MUCH_LOST_RATIO
    ]


def percent(ratio: float) -> str:
    """A share with two significant digits: 47 %, 6.3 %, 0.071 %."""
    return f"{100 * ratio:.0f} %" if ratio >= 0.0995 else f"{100 * ratio:.2g} %"


CHANGE = 'known_draws ("table" or "tdp") or a predictor changes that'


def draws_record(
    policy: Policy, platform: Platform, *, jobs: int, forecast: Mapping[str, Any] | None
) -> dict[str, Any]:
    """The record of this in a result's provenance."""
    table = platform.actual if platform.predicted is None else platform.predicted
    readers = policy._reading_draws(factors=table is not None and table.power_ratio is not None)
    record = {"rule": platform.known_draws, "jobs": jobs, "read_by": readers, "forecast": forecast}
    return {**record, "note": draws_note(record)}


def draws_note(record: Mapping[str, Any], *, change: str = CHANGE) -> str | None:
    """A sentence on what decisions know of draws, if they depend on it and that is not what the platform asks for."""
    forecast = record["forecast"]
    if not record["read_by"] or not record["jobs"]:
        return None
    if forecast is not None:
        return _forecast_note(record, forecast) if forecast["jobs"] else None
    if record["rule"] != "measured":
        return None
    return f"decisions know the measured draw of {many(record['jobs'], 'job')} before they have run; {change}"


def _forecast_note(record: Mapping[str, Any], forecast: Mapping[str, Any]) -> str:
    text = f"{forecast['predictor']} predicts the draw of {many(forecast['predicted'], 'job')}"
    if forecast["levels"]:
        text += f" ({', '.join(f'{level} {count:,}' for level, count in forecast['levels'].items())})"
    if forecast["mape_percent"] is not None:
        text += f", off by {forecast['mape_percent']:.1f} % on average"
    if forecast["unknown"]:
        stand_in = "busy draw" if record["rule"] == "table" else "TDP"
        text += f"; of {many(forecast['unknown'], 'job')} nothing is known, taken for the nodes' {stand_in}"
    return text
