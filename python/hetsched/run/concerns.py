"""Concerns about a run's inputs and outcomes, for the reader of its numbers; and what a replay needs of its log.

Each is said as a warning by `hetsched.simulate`. None of them stops a run: the numbers are exact, but may answer
another question than was asked.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from hetsched.checks import Faults, few, listed, many
from hetsched.errors import (
    ConfigError,
    DeviceWarning,
    LoadWarning,
    PowerWarning,
    ReplayWarning,
    ResultWarning,
    RunWarning,
    WorkWarning,
)
from hetsched.features.tariffs import Charge
from hetsched.platform import Platform
from hetsched.platform.node_class import SLEEP_KEYS
from hetsched.policy import Policy
from hetsched.run.options import RunOptions
from hetsched.workload import Workload

_DAY_S = 86400.0
_SHORTEST_S = 7 * _DAY_S
"""Of a shorter run the beginning and the end, when few jobs are there, are more than a tenth."""
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
    """That more work is submitted than the platform can do."""
    offered_load = workload.offered_load(platform)
    if offered_load is None or not 1.0 < offered_load < math.inf:
        return
    found = (
        f"more work is submitted than {many(platform.nodes, 'node')} can do, "
        "so the queue grows until the last job is submitted"
    )
    yield Concern(LoadWarning, f"offered load {offered_load:.2f}", found)


def concerns_of_draws(jobs: pl.DataFrame, platform: Platform) -> Iterator[Concern]:
    """That measured draws are far above what the nodes are built for."""
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
    return [*(one for one in found if one is not None), *_on_gpus(jobs, recorded, timeline, platform)]


def _killed(states: pl.Series) -> Concern | None:
    """That most of the jobs that ran were killed at their walltime."""
    counts: dict[str, int] = dict(states.value_counts().rows())
    killed, ran = counts.get("timeout", 0), sum(counts.get(state, 0) for state in _RAN)
    if killed <= _KILLED_RATIO * ran:
        return None
    share = f"{100 * killed / ran:.0f} % of the jobs that ran"
    advice = "check the unit of their walltimes, or let jobs run past them"
    return Concern(ResultWarning, "killed at their walltime", share, advice)


def _never_started(job_ids: pl.Series, recorded: pl.DataFrame) -> Concern | None:
    """Concern about jobs that could not start; not those withdrawn, or still waiting when the run was stopped."""
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
    """That the machine was as good as empty for much of a run of at least a week."""
    length_s = np.diff(timeline["time_s"].to_numpy())
    window_s = float(length_s.sum())
    if window_s < _SHORTEST_S:
        return None
    is_quiet = timeline["busy_nodes"].to_numpy()[:-1] < _BUSY_RATIO * nodes
    ratio = float(length_s[is_quiet].sum()) / window_s
    if ratio <= _QUIET_RATIO:
        return None
    share = f"{100 * ratio:.0f} % of the run's {many(round(window_s / _DAY_S), 'day')}"
    advice = "means over the run, such as utilization and mean power, say little of the time in which jobs ran"
    return Concern(ResultWarning, "less than 5 % of the nodes busy", share, advice)


def _on_gpus(
    jobs: pl.DataFrame, recorded: pl.DataFrame, timeline: pl.DataFrame, platform: Platform
) -> Iterator[Concern]:
    """That jobs for GPUs ran on nodes that have none, as in a replay, or on classes none of which says its GPUs."""
    gpus = [node_class.gpus for node_class in platform.classes]
    is_unsaid = len(gpus) > 1 and all(count is None for count in gpus)
    about, advice = _GPU_MATTERS[is_unsaid]
    is_meant = [is_unsaid or count == 0 for count in gpus]
    if "device" not in jobs.columns or not any(is_meant):
        return
    wanted = recorded.with_row_index("job").filter((jobs["device"] == "gpu") & recorded["start_s"].is_not_null())
    # One row a job and node; a job that still runs has been there up to the timeline's end.
    length_s = pl.col("end_s").fill_null(timeline["time_s"].max()) - pl.col("start_s")
    stays = wanted.select("job", length_s.alias("length_s"), pl.col("nodes").alias("node")).explode("node")
    counts = [node_class.count for node_class in platform.classes]
    there = stays.filter(pl.Series(np.repeat(is_meant, counts)[stays["node"].to_numpy()], dtype=pl.Boolean))
    if len(there):
        found = f"{there['job'].n_unique():,} of {len(wanted):,}, {there['length_s'].sum():,.0f} node-seconds"
        yield Concern(DeviceWarning, about, found, advice)


def concerns_of_demands(jobs: pl.DataFrame, platform: Platform) -> Iterator[Concern]:
    """That jobs ask for what the platform says nothing of: then every node counts as good enough."""
    said = {
        "constraint": ("features", any(one.features is not None for one in platform.classes)),
        "gpus": ("gpus", any(one.gpus is not None for one in platform.classes)),
        "memory_gb": ("memory_gb", any(one.memory_gb is not None for one in platform.classes)),
        "licences": ("licences", platform.licences is not None),
    }
    for column, (name, is_said) in said.items():
        if is_said or column not in jobs.columns or not (asking := jobs[column].count()):
            continue
        advice = f"without {name} on the platform the column means nothing"
        yield Concern(DeviceWarning, f"jobs that ask for {column}", f"{asking:,} of {many(len(jobs), 'job')}", advice)


_GPU_MATTERS = {
    False: ("GPU jobs on nodes without GPUs", "a replay repeats the log"),
    True: (
        "GPU jobs on nodes whose class does not say how many GPUs they have (gpus)",
        "once a class says it, they run where there are some",
    ),
}
"""What is said of GPU jobs, and what is to be done: by whether nothing is said of the nodes."""

_MUCH_LOST_RATIO = 0.01
"""Of the started node-seconds, what may be lost without a word."""

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


def concerns_of_between(jobs: pl.DataFrame, between: pl.DataFrame) -> Iterator[Concern]:
    """Concerns about jobs that fit between no two changes of the budget: they wait for the last, or for ever."""
    for is_free, advice in _BETWEEN.items():
        own = between.filter(pl.col("is_free_at_last") == is_free)
        if own.is_empty():
            continue
        ids, need = jobs["job_id"].gather(own["row"]), own.row(0, named=True)
        found = (
            f"{many(len(own), 'job')} ({few(list(map(str, ids)))}); job {ids[0]} needs {need['watts']:,.0f} W for "
            f"{need['length_s'] / 3600:,.1f} h, which are left for {need['longest_s'] / 3600:,.1f} h at most"
        )
        yield Concern(ResultWarning, "jobs that fit between no two changes of the power budget", found, advice)


_BETWEEN = {
    0.0: 'they never start; a contract with unfit="reject" turns them away at their submit',
    1.0: "they wait for the last row of the events: their starts tell how long the table is; a Contract has no end",
}
"""Advice on these jobs, by whether the budget leaves what they need after its last change."""


def concerns_of_charges(charges: Iterable[Charge], *, of_contract: bool) -> Iterator[Concern]:
    """That prices or carbon intensities do not cover the whole run."""
    said = "the contract does not say" if of_contract else "no row of the events says"
    for charge in charges:
        if charge.bare_s > 0:
            share = percent(charge.bare_j / charge.energy_j) if charge.energy_j > 0 else "0 %"
            yield Concern(
                ResultWarning,
                f"{charge.key} of a part of the run",
                f"{said} what {share} of the energy, drawn in {charge.bare_s:,.0f} s, comes to",
                f"it is left out; {_ALL_PRICED[of_contract]} would count it",
            )


_ALL_PRICED = {
    True: "price_per_kwh and carbon_g_per_kwh, which hold where no window does,",
    False: "rows from the first submit to the last end",
}
"""Prices that would cover all energy, by whether a contract gives them."""


def percent(ratio: float) -> str:
    """A share with two significant digits: 47 %, 6.3 %, 0.071 %."""
    return f"{100 * ratio:.0f} %" if ratio >= 0.0995 else f"{100 * ratio:.2g} %"


CHANGE = 'known_draws ("table" or "tdp") or a predictor changes that'


def draws_record(
    policy: Policy, platform: Platform, *, jobs: int, forecast: Mapping[str, Any] | None
) -> dict[str, Any]:
    """The record of this in a result's provenance."""
    table = platform.actual if platform.predicted is None else platform.predicted
    readers = policy.reading_draws(factors=table is not None and table.power_ratio is not None)
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


def is_replay(policy: Policy) -> bool:
    """Whether no job starts before it did in reality."""
    return "backfill" in policy.needs.get("observed_starts", ())


def options_under(policy: Policy, options: RunOptions) -> RunOptions:
    """The options as they hold under the policy: a replay kills no job at its walltime, as it repeats what ran."""
    return replace(options, kill_at_walltime=False) if is_replay(policy) else options


def check_observed(policy: Policy, workload: Workload, platform: Platform) -> None:
    """Raise if the policy repeats what the log does not say, or what the platform has no nodes for."""
    faults, frame = Faults("workload"), workload.to_polars()
    if "observed_starts" in policy.needs:
        _check_starts(frame, policy, faults)
    if "observed_nodes" in policy.needs and "observed_nodes" in frame.columns:
        _check_nodes(frame, platform, faults)
    faults.check()


def check_caps(workload: Workload, platform: Platform) -> None:
    """Raise if jobs ask for power caps on a platform that does not know what nodes do under them."""
    frame, faults = workload.to_polars(), Faults("workload")
    if platform.has_caps or "cap_w" not in frame.columns:
        return
    capped = frame.filter(pl.col("cap_w").is_not_null())
    expected = "none: the platform has neither tables by cap (with_tables) nor a cap model (with_cap_model)"
    for job, cap_w in capped.select("job_id", "cap_w").head(_MOST_FAULTS).iter_rows():
        faults.note("cap_w", f"{cap_w:g} of job {job}", expected)
    if len(capped) > _MOST_FAULTS:
        faults.note("cap_w", f"{len(capped) - _MOST_FAULTS:,} more such jobs", expected)
    faults.check()


def check_sleep(platform: Platform, policy: Policy) -> None:
    """Raise if the policy puts nodes to sleep of which the platform does not say what that costs."""
    if policy.parts["sleep"] is None:
        return
    faults = Faults()
    for position, node_class in enumerate(platform.classes):
        unsaid = [name for name in SLEEP_KEYS if getattr(node_class, name) is None]
        place = "platform" if len(platform.classes) == 1 else f"platform.classes[{position}]"
        if unsaid:
            faults.note(place, f"no {listed(unsaid)}", _SLEEP_NEEDS.format(policy.name))
    faults.check()


_SLEEP_NEEDS = (
    "boot_s, shutdown_s and off_w, 0 if that is meant: policy {} puts nodes to sleep, and what that saves and how long "
    "jobs wait follow from them; typical are boot_s 120 to 600 (2 to 10 minutes), shutdown_s 120, off_w 5 to 15"
)


def check_waits(workload: Workload, policy: Policy) -> None:
    """Raise if jobs are cancelled under a policy that holds some back until others have shown their profiles."""
    frame = workload.to_polars()
    order = policy.parts["order"] or {}
    if not order.get("first_run") or policy.parts["power"] is None or "cancel_s" not in frame.columns:
        return
    if frame["cancel_s"].null_count() < len(frame):
        expected = f"nulls only: policy {policy.name} has first_run=true under a budget; first_run=false takes them"
        raise ConfigError([("workload.cancel_s", "instants", expected)])


def _check_starts(frame: pl.DataFrame, policy: Policy, faults: Faults) -> None:
    expected = f"when each job started, in seconds: policy {policy.name} repeats it"
    if "observed_start_s" not in frame.columns:
        faults.note("observed_start_s", "no such column", expected)
    elif len(frame) and frame["observed_start_s"].null_count() == len(frame):
        faults.note("observed_start_s", "nulls only", expected)


_MOST_FAULTS = 10


def _check_nodes(frame: pl.DataFrame, platform: Platform, faults: Faults) -> None:
    highest = frame.select("job_id", pl.col("observed_nodes").list.max().alias("node"))
    beyond = highest.filter(pl.col("node") >= platform.nodes)
    expected = f"nodes below {platform.nodes}, the platform's; replay:placement=lowest-id takes others"
    for job, node in beyond.head(_MOST_FAULTS).iter_rows():
        faults.note("observed_nodes", f"node {node} of job {job}", expected)
    if len(beyond) > _MOST_FAULTS:
        faults.note("observed_nodes", f"{len(beyond) - _MOST_FAULTS:,} more such jobs", expected)


def replay_counts(policy: Policy, totals: Mapping[str, Any]) -> dict[str, dict[str, int]]:
    """A replay's part of a result's provenance: jobs that start later than they did, and jobs left out."""
    return {"replay": {name: totals[name] for name in ("late_starts", "left_out_jobs")}} if is_replay(policy) else {}


def concerns_of_replay(policy: Policy, totals: Mapping[str, Any]) -> list[Concern]:
    """That a replay is not what happened in reality."""
    counts = replay_counts(policy, totals).get("replay", {})
    late, left_out = counts.get("late_starts", 0), counts.get("left_out_jobs", 0)
    said = []
    if late:
        verb = "starts" if late == 1 else "start"
        said.append(f"{many(late, 'job')} {verb} later than in the log: the needed nodes were not free then")
    if left_out:
        said.append(f"{many(left_out, 'job')} without an observed start {'stays' if left_out == 1 else 'stay'} pending")
    return [Concern(ReplayWarning, policy.name, "; ".join(said))] if said else []
