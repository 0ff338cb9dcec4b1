"""The HA8000 of the paper on power-aware Slurm, the jobs of RICC's log on it, and the measures of a run.

A job names a cap: 85 W a socket is all that its program ever draws, 70 and 55 W slow it by 4/3 and by 2. The paper
counts the watts of processors alone, and so does this.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from importlib import resources
from typing import Any

import numpy as np
import polars as pl

from hetsched.analysis.timeline import bin_means
from hetsched.analysis.window import held_s
from hetsched.experiments.experiment import Floats, Parameters, Repetition
from hetsched.experiments.runs import Runs, panels, side_by_side, under_budget
from hetsched.platform import Platform
from hetsched.policy import Policy
from hetsched.report.experiment import curve
from hetsched.run.result import Result
from hetsched.workload import Workload, read_swf

SOURCE = (
    "Sakamoto et al., Production Hardware Overprovisioning: Real-world Performance Optimization using an Extensible "
    "Power-aware Resource Management Framework, IPDPS 2017"
)
LABEL = "power-slurm"
WINDOWS = 40
SPEEDUP = 400.0
BIN_S = 30.0
MIXES = {"1:0:0": "high", "3:2:1": "many high", "1:1:1": "balance", "1:2:3": "many low", "0:0:1": "low"}
FIRST, DRAWN = "first 600", "drawn windows"
"""The log's head, which the paper takes, and another part of it in each repetition."""

P = Parameters()
"""Parameters of all experiments on it."""

JOBS = P.printed("jobs", 600, "the head of RICC's log; the statistics are of the middle 200, by order of ends")
SOCKETS = P.printed("sockets", 2)
TDP_W = P.printed("tdp_socket_w", 125.0)
CAPS_W = P.printed("caps_socket_w", (85.0, 70.0, 55.0), "85 W is uncapped")
CORES = P.assumed("processors_per_node", 8, "RICC's; at one processor a node its 512 would not fit 400 nodes")
RUNTIME_S = P.assumed("runtime_s", 100.0, "of every job at 85 W a socket")
P.assumed("walltime", "run length under the cap", "rounded up to a second")
STATIC_W = P.assumed("static_socket_w", 25.0, "of the cap model")
P.noted("cap_model", {"exponent": 1.0, "bound_ratio": 1.0}, "so 55 W slow by 2, as printed, and 70 W by 4/3")
IDLE_W = P.assumed("idle_socket_w", 25.0, "the static watts: what the guideline calls the base")
P.assumed("mix", "exact counts", "assigned at random")
P.noted("log", f"{FIRST}, {DRAWN}", f"{WINDOWS} windows of {JOBS} consecutive jobs, one a repetition")
P.assumed("window_nodes", [400, 3 * 965], "most nodes of one job, least of all together: else nothing would wait")
P.assumed("window_speedup", "as the first 600", "to their node-seconds asked for per second")
P.noted("log_credit", "RICC, provided by Motoyoshi Kurokawa, RIKEN", "Parallel Workloads Archive, RICC-2010-2")


@dataclass(frozen=True)
class Setting:
    """A machine, its budget, and what is submitted to it."""

    nodes: int
    budget_kw: float
    mix: str = "1:1:1"
    speedup: float = SPEEDUP
    idle_socket_w: float = IDLE_W
    log: str = FIRST

    @property
    def named(self) -> dict[str, Any]:
        """The columns that name a run in the frame."""
        scenario = (
            f"{self.nodes} nodes, {self.budget_kw:g} kW, mix {self.mix}, ×{self.speedup:g}, "
            f"idle {self.idle_socket_w:g} W, {self.log}"
        )
        return {"scenario": scenario, **vars(self)}

    @property
    def platform(self) -> Platform:
        """Nodes of two sockets, all alike."""
        return Platform.homogeneous(
            nodes=self.nodes, idle_w=SOCKETS * self.idle_socket_w, busy_w=SOCKETS * CAPS_W[0], tdp_w=SOCKETS * TDP_W
        ).with_cap_model(static_w=SOCKETS * STATIC_W)

    def workload(self, repetition: Repetition) -> Workload:
        """The jobs, with caps assigned by the seed."""
        frame = arrivals(0 if self.log == FIRST else 1 + repetition.number % WINDOWS, self.speedup)
        cap_w = caps_of_jobs(self.mix, repetition.seed)
        return Workload.from_polars(
            frame.with_columns(
                cap_w=pl.Series(SOCKETS * cap_w),
                runtime_s=pl.lit(RUNTIME_S),
                walltime_s=pl.Series(np.ceil(RUNTIME_S * slowed(cap_w))),
            )
        )


def slowed(cap_w: Floats) -> Floats:
    """Factor on the run length by a socket's cap."""
    return (CAPS_W[0] - STATIC_W) / (cap_w - STATIC_W)


def counts(mix: str) -> list[int]:
    """Number of jobs with each cap."""
    shares = [int(share) for share in mix.split(":")]
    return [JOBS * share // sum(shares) for share in shares]


def caps_of_jobs(mix: str, seed: int) -> Floats:
    """A cap a job: the same order of jobs for all mixes of a seed."""
    order = np.random.default_rng(seed).permutation(JOBS)
    cap_w = np.empty(JOBS)
    cap_w[order] = np.repeat(CAPS_W, counts(mix))
    return cap_w


def arrivals(window: int, speedup: float) -> pl.DataFrame:
    """Jobs of a window of the log (0: its head): number, submit and nodes, at the head's load."""
    own, head = _window(window), _window(0)
    nodes, span_s = (
        [float(part["node_count"].sum()) for part in (own, head)],
        [float(part["submit_s"][-1]) for part in (own, head)],
    )
    stretched = span_s[1] * nodes[0] / nodes[1] / span_s[0]
    return own.with_columns(pl.col("submit_s") * (stretched / speedup))


@lru_cache
def _window(window: int) -> pl.DataFrame:
    """A window as it is in the log, from second 0 on."""
    own = _excerpt()[window * JOBS : (window + 1) * JOBS]
    nodes = (own["node_count"].cast(pl.Int64) + CORES - 1) // CORES
    return own.select("job_id", pl.col("submit_s") - pl.col("submit_s").first()).with_columns(node_count=nodes)


@lru_cache
def _excerpt() -> pl.DataFrame:
    with resources.as_file(resources.files("hetsched") / "data" / "ricc-2010-excerpt.swf.gz") as path:
        return read_swf(str(path)).to_polars()


def power_slurm(budget_kw: float) -> Policy:
    """The paper's scheduler under a budget."""
    levels = [SOCKETS * cap for cap in reversed(CAPS_W)]
    return Policy.preset(LABEL, budget_w=1000.0 * budget_kw, caps_w=levels)


def runs_of(repetition: Repetition, settings: Iterable[Setting]) -> list[dict[str, Any]]:
    """A row a setting and policy; a user's policies run under the setting's budget, on the log's head."""
    return [
        row
        for setting in settings
        for budget_w in [1000.0 * setting.budget_kw]
        for yours in [repetition.policies if setting.log == FIRST else {}]
        for row in side_by_side(
            replace(repetition, policies={label: under_budget(one, budget_w=budget_w) for label, one in yours.items()}),
            {LABEL: power_slurm(setting.budget_kw)},
            setting.workload(repetition),
            setting.platform,
            named=setting.named,
            extra=partial(measured_of, setting=setting),
        )
    ]


def measured_of(result: Result, setting: Setting) -> dict[str, Any]:
    """The paper's measures, in the steady state, and the curves of its figures."""
    idle_w = SOCKETS * setting.idle_socket_w
    return {**steady_state(result, idle_w, 1000.0 * setting.budget_kw), **_curves(result, idle_w, setting)}


def steady_window(jobs: pl.DataFrame) -> tuple[float, float, int]:
    """From the end of the first third of all jobs to that of the second, by order of ends; how many end in it."""
    ends = np.sort(jobs["end_s"].drop_nulls().to_numpy())
    third = len(ends) // 3
    from_s = float(ends[third - 1])
    # Where a third ends at once the clock's step is all there is.
    return from_s, max(float(ends[2 * third - 1]), from_s + 1e-6), third


def steady_state(result: Result, idle_w: float, budget_w: float) -> dict[str, float]:
    """Use of power and nodes in percent, jobs per minute, and energies in MJ, from the 200th end to the 400th."""
    from_s, until_s, third = steady_window(result.jobs)
    timeline = result.timeline
    inside_s = held_s(timeline["time_s"].to_numpy(), from_s, until_s)
    length_s = until_s - from_s
    energy_j, busy, idle, queued = (
        float(timeline[name].to_numpy() @ inside_s) for name in ("power_w", "busy_nodes", "idle_nodes", "queued_jobs")
    )
    wasted_j = idle * idle_w
    return {
        "window_s": length_s,
        "power_used_percent": 100.0 * (energy_j - wasted_j) / (budget_w * length_s),
        "draw_percent": 100.0 * energy_j / (budget_w * length_s),
        "nodes_used_percent": 100.0 * busy / (len(result.nodes) * length_s),
        "jobs_per_minute": 60.0 * third / length_s,
        "job_mj": (energy_j - wasted_j) / 1e6,
        "wasted_mj": wasted_j / 1e6,
        "queued": queued / length_s,
    }


def _curves(result: Result, idle_w: float, setting: Setting) -> Mapping[str, Any]:
    """Kilowatts and queued jobs in bins of half a minute; the highest queue, and how fast it grew."""
    timeline = result.timeline
    times, queued = (timeline[name].to_numpy() for name in ("time_s", "queued_jobs"))
    longest = int(np.argmax(queued))
    found: dict[str, Any] = {
        "longest_queue": float(queued[longest]),
        "queue_growth": 60.0 * float(queued[longest]) / max(float(times[longest]), 1.0),
    }
    if setting.log != FIRST:
        return {**found, **dict.fromkeys(("draw_kw", "idle_kw", "queue"))}
    idle_kw = timeline["idle_nodes"].to_numpy() * idle_w / 1000.0
    draw_kw = timeline["power_w"].to_numpy() / 1000.0
    return {
        **found,
        "draw_kw": binned_means(times, draw_kw),
        "idle_kw": binned_means(times, idle_kw),
        "queue": binned_means(times, queued),
    }


def binned_means(times: Floats, values: Floats) -> list[float]:
    """Means over bins around the multiples of `BIN_S`, the first half as long, as many as are whole before the end."""
    edges = BIN_S * np.maximum(np.arange(math.floor(times[-1] / BIN_S + 0.5) + 1) - 0.5, 0.0)
    means: list[float] = bin_means(times, values, edges).tolist()
    return means


OVER_TIME = {"draw_kw": "draw (kW)", "idle_kw": "of idle nodes (kW)", "queue": "queued jobs"}
OVER_NODES = {
    "power_used_percent": "power used (%)",
    "nodes_used_percent": "nodes used (%)",
    "jobs_per_minute": "jobs a minute",
    "wasted_mj": "wasted (MJ)",
}


def over_time(frame: pl.DataFrame, settings: Mapping[str, Mapping[str, Any]], *, figure: str = "") -> pl.DataFrame:
    """A column a setting (its title, and what chooses its runs) with draw, idle draw and queue in the course of it."""
    parts = []
    for name, row in OVER_TIME.items():
        for title, at in settings.items():
            for label in [LABEL, *Runs(frame).yours]:
                own = frame.filter(policy=label, log=FIRST, **at).sort("repetition")
                values = _padded(own[name].to_list())
                minutes = BIN_S / 60.0 * np.arange(values.shape[1], dtype=np.float64)
                parts.append(
                    curve(
                        values,
                        row=row,
                        column=title,
                        label=label,
                        ticks=[f"{minute:.0f}" if minute % 5 == 0 else "" for minute in minutes],
                        x=list(minutes),
                        x_label="minutes",
                        level=float(own["budget_kw"][0]) if name == "draw_kw" else 0.0,
                        figure=figure,
                    )
                )
    return pl.concat(parts)


def _padded(runs: Sequence[Sequence[float]]) -> Floats:
    """The runs' curves for as long as half of them go on, NaN after the end of each."""
    found = np.full((len(runs), int(np.median([len(own) for own in runs]))), np.nan)
    for row, own in zip(found, runs, strict=True):
        shown = own[: len(row)]
        row[: len(shown)] = shown
    return found


_ROOMY = 4
"""With more columns than this every other number of nodes is named."""


def over_nodes(
    frame: pl.DataFrame, settings: Mapping[str, Mapping[str, Any]], nodes: Sequence[int], *, figure: str = ""
) -> pl.DataFrame:
    """A column a setting with the steady state's numbers over the number of nodes."""
    runs, every = Runs(frame), 1 if len(settings) <= _ROOMY else 2
    return panels(
        {row: name for name, row in OVER_NODES.items()},
        settings,
        [LABEL, *runs.yours],
        lambda name, at, label: np.column_stack([runs.values(name, label, nodes=count, **at) for count in nodes]),
        ticks=[str(count) if place % every == 0 else "" for place, count in enumerate(nodes)],
        x=list(nodes),
        x_label="nodes",
        figure=figure,
    )


OVER_ALLOCATORS = {
    "bound_share_percent": "of the bound (%)",
    "jobs_per_minute": "jobs a minute",
    "mean_turnaround_s": "turnaround (s)",
    "energy_per_work_j_per_node_s": "J a node-second",
}


def over_allocators(frame: pl.DataFrame, labels: Sequence[str], *, row: str, figure: str) -> pl.DataFrame:
    """A column a number with the allocators side by side."""
    runs = Runs(frame)
    return pl.concat(
        panels(
            {row: name},
            {column: name},
            [*labels, *runs.yours],
            lambda name, _, label: runs.values(name, label)[:, np.newaxis],
            level={row: 100.0 if name == "bound_share_percent" else float("nan")},
            ticks=[""],
            figure=figure,
        )
        for name, column in OVER_ALLOCATORS.items()
    )
