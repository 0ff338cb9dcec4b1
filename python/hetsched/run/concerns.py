"""What a reader of a run's numbers should know before trusting them: inputs and outcomes that look wrong.

Each is said as a warning by `hetsched.simulate`. None of them stops a run: the numbers are exact, but may answer
another question than was asked.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from hetsched.errors import DeviceWarning, PowerWarning, ResultWarning, RunWarning
from hetsched.platform import Platform
from hetsched.text import many

__all__ = ["Concern", "concerns_of_inputs", "concerns_of_run", "joined"]

_DAY_S = 86400.0
_SHORTEST_S = 7 * _DAY_S
"""Of a shorter run the beginning and the end, when few jobs are there, are more than a tenth."""
_BUSY_RATIO = 0.05
_QUIET_RATIO = 0.1
_KILLED_RATIO = 0.5
_TDP_RATIO = 2.0
_RAN = ("completed", "timeout", "failed")


@dataclass(frozen=True)
class Concern:
    """Something that looks wrong.

    Parameters
    ----------
    category
        The warning that it is given as.
    about
        What it is about.
    found
        How much of it there is.
    advice
        What follows from it.

    Examples
    --------
    >>> print(Concern(ResultWarning, "killed at their walltime", "87 % of the jobs that ran", "check their unit"))
    killed at their walltime: 87 % of the jobs that ran; check their unit
    """

    category: type[RunWarning]
    about: str
    found: str
    advice: str

    def __str__(self) -> str:
        return f"{self.about}: {self.found}; {self.advice}"


def joined(concerns: Mapping[str, Sequence[Concern]]) -> list[Concern]:
    """Concerns of several policies' runs, one a matter: by policy where they differ.

    Parameters
    ----------
    concerns
        Of each policy's run.

    Examples
    --------
    >>> many, few = (Concern(ResultWarning, "killed", f"{share} %", "check them") for share in (90, 60))
    >>> [str(one) for one in joined({"fcfs": [many], "easy": [few]})]
    ['killed: fcfs 90 %, easy 60 %; check them']
    >>> [str(one) for one in joined({"fcfs": [many], "easy": [many]})]
    ['killed: 90 %; check them']
    """
    matters: dict[tuple[type[RunWarning], str, str], dict[str, str]] = {}
    for policy, own in concerns.items():
        for one in own:
            matters.setdefault((one.category, one.about, one.advice), {})[policy] = one.found
    found = []
    for (category, about, advice), said in matters.items():
        is_common = len(said) == len(concerns) and len(set(said.values())) == 1
        each = ", ".join(f"{policy} {text}" for policy, text in said.items())
        found.append(Concern(category, about, next(iter(said.values())) if is_common else each, advice))
    return found


def concerns_of_inputs(jobs: pl.DataFrame, platform: Platform) -> list[Concern]:
    """What looks wrong before a run.

    Parameters
    ----------
    jobs
        The job table.
    platform
        The machine.

    Examples
    --------
    >>> jobs, platform = pl.DataFrame({"power_w": [350.0, 9000.0]}), Platform.homogeneous(4, idle_w=100, tdp_w=400)
    >>> [(one.about, one.found) for one in concerns_of_inputs(jobs, platform)]
    [("measured draws (power_w) above twice the nodes' TDP of 400 W", '1 of 2 jobs, up to 9,000 W a node')]
    """
    if "power_w" not in jobs.columns:
        return []
    tdp_w = float(platform.tdp_w.max())
    watts = jobs["power_w"].drop_nulls()
    above = watts.filter(watts > _TDP_RATIO * tdp_w)
    if above.is_empty():
        return []
    highest = "highest " if np.ptp(platform.tdp_w) > 0 else ""
    return [
        Concern(
            PowerWarning,
            f"measured draws (power_w) above twice the nodes' {highest}TDP of {tdp_w:,g} W",
            f"{len(above):,} of {many(len(jobs), 'job')}, up to {float(above.to_numpy().max()):,.0f} W a node",
            "a job's power_w is the watts of one node, not of all",
        )
    ]


def concerns_of_run(
    jobs: pl.DataFrame, recorded: pl.DataFrame, timeline: pl.DataFrame, platform: Platform
) -> list[Concern]:
    """What looks wrong after a run.

    Parameters
    ----------
    jobs
        The job table.
    recorded
        What the engine wrote down of each job: ``start_s, end_s, state, nodes``.
    timeline
        `Result.timeline`.
    platform
        The machine.
    """
    found = (_killed(recorded["state"]), _quiet(timeline, platform.nodes))
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
    """That jobs for GPUs ran on nodes that have none, or that of several classes do not say whether they have any."""
    gpus = [node_class.gpus for node_class in platform.classes]
    meant = {"GPU jobs on nodes without GPUs": [count == 0 for count in gpus]}
    if len(gpus) > 1:
        meant["GPU jobs on nodes whose class does not say how many GPUs they have (gpus)"] = [c is None for c in gpus]
    if "device" not in jobs.columns or not any(map(any, meant.values())):
        return
    wanted = recorded.with_row_index("job").filter((jobs["device"] == "gpu") & recorded["start_s"].is_not_null())
    # One row a job and node; a job that still runs has been there up to the timeline's end.
    length_s = pl.col("end_s").fill_null(timeline["time_s"].max()) - pl.col("start_s")
    stays = wanted.select("job", length_s.alias("length_s"), pl.col("nodes").alias("node")).explode("node")
    counts = [node_class.count for node_class in platform.classes]
    for about, is_meant in meant.items():
        there = stays.filter(pl.Series(np.repeat(is_meant, counts)[stays["node"].to_numpy()], dtype=pl.Boolean))
        if len(there):
            found = f"{there['job'].n_unique():,} of {len(wanted):,}, {there['length_s'].sum():,.0f} node-seconds"
            yield Concern(DeviceWarning, about, found, "placement does not look at a job's device yet")
