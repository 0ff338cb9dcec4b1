"""``overprovision-nodes``: 400 to 960 nodes under the peak of 400 (Figs. 5 to 10 of the paper on power-aware Slurm).

Jobs of all three caps alike, and the paper's guideline beside the runs. A processor is idle at 25 W, the base of the
guideline; 15, 20 and 30 W are beside it, as the paper does not print what its nodes draw idle.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl

from hetsched.experiments.claims import alike, number, statement
from hetsched.experiments.experiment import Experiment, Repetition, Row, assumed, printed
from hetsched.experiments.overprovision.drawn import over_nodes, over_time
from hetsched.experiments.overprovision.guideline import Guideline
from hetsched.experiments.overprovision.machine import (
    DRAWN,
    FIRST,
    IDLE_W,
    LABEL,
    PARAMETERS,
    SOURCE,
    SPEEDUP,
    Floats,
    Setting,
    runs_of,
)
from hetsched.experiments.runs import Runs
from hetsched.report.panel_figure import panel_figure

NODES = (400, 540, 680, 820, 960)
BUDGET_KW = 100.0
OTHER_IDLE_W = (15.0, 20.0, 30.0)
MIX = "1:1:1"
PEAK = 680


def _settings() -> list[Setting]:
    read = [(IDLE_W, FIRST), (IDLE_W, DRAWN), *((idle_w, FIRST) for idle_w in OTHER_IDLE_W)]
    return [Setting(nodes, BUDGET_KW, MIX, idle_socket_w=idle_w, log=log) for idle_w, log in read for nodes in NODES]


def _repeat(repetition: Repetition) -> list[dict[str, Any]]:
    return runs_of(repetition, _settings())


def _rows(frame: pl.DataFrame) -> list[Row]:
    rows = []
    for log in (FIRST, DRAWN):
        runs = Runs(frame, idle_socket_w=IDLE_W, log=log)
        rows += [*used_up(runs, log), *_numbers(runs, log), *peaks(runs, log)]
        rows += [*_throughput(runs, log), *_over_time(runs, log)]
    for idle_w in OTHER_IDLE_W:
        runs = Runs(frame, idle_socket_w=idle_w, log=FIRST)
        rows += [*peaks(runs, f"idle {idle_w:g} W"), *_throughput(runs, f"idle {idle_w:g} W")]
    return [*rows, *_guideline(Runs(frame, idle_socket_w=IDLE_W, log=FIRST))]


def used_up(runs: Runs, where: str) -> list[Row]:
    """Nodes that are nearly all at work where there are few."""
    return [
        alike(
            f"unused nodes, {nodes} nodes, {where}, %",
            100.0 - runs.values("nodes_used_percent", LABEL, nodes=nodes),
            of=[100.0, 100.0],
            claim="node utilization is almost 1 at 400 and 540 nodes",
        )
        for nodes in NODES[:2]
    ]


def _numbers(runs: Runs, where: str) -> list[Row]:
    quantities = {
        "power_used_percent": "power used by jobs, {}, %",
        "jobs_per_minute": "jobs a minute, {}",
        "wasted_mj": "wasted energy, {}, MJ",
    }
    return [
        number(told.format(f"{nodes} nodes, {where}"), runs.values(name, LABEL, nodes=nodes))
        for name, told in quantities.items()
        for nodes in NODES
    ]


def peaks(runs: Runs, where: str) -> list[Row]:
    """How power used and waste go with the number of nodes."""
    power, wasted, used = (
        {nodes: runs.values(name, LABEL, nodes=nodes) for nodes in NODES}
        for name in ("power_used_percent", "wasted_mj", "nodes_used_percent")
    )
    draw = runs.values("draw_percent", LABEL, nodes=PEAK).mean()
    why = f"{PEAK} nodes, {where}: {used[PEAK].mean():.0f} % of them are used and {draw:.0f} % of the budget is drawn"
    rows = []
    for few, more in pairwise(NODES):
        rises = more <= PEAK
        claim = "power utilization rises up to 680 nodes" if rises else "power utilization falls beyond 680 nodes"
        quantity = f"power used by jobs, {more} less {few} nodes, {where}, points"
        rows.append(statement(quantity, power[more] - power[few], side=1 if rises else -1, claim=claim, why=why))
    return rows + [
        statement(
            f"wasted energy, {more} less {few} nodes, {where}, MJ",
            wasted[more] - wasted[few],
            claim="wasted energy grows beyond 680 nodes",
        )
        for few, more in pairwise(NODES)
        if few >= PEAK
    ]


def _throughput(runs: Runs, where: str) -> list[Row]:
    jobs = {nodes: runs.values("jobs_per_minute", LABEL, nodes=nodes) for nodes in NODES}
    better, worse = "throughput is better than at 400 nodes", "too many nodes lower the throughput"
    return [
        statement(f"jobs a minute, 680 less 400 nodes, {where}", jobs[680] - jobs[400], claim=better),
        statement(f"jobs a minute, 960 less 680 nodes, {where}", jobs[960] - jobs[680], side=-1, claim=worse),
    ]


def _over_time(runs: Runs, where: str) -> list[Row]:
    """What Fig. 5 shows."""
    draw = {nodes: runs.values("draw_percent", LABEL, nodes=nodes) for nodes in NODES}
    ends = {nodes: runs.values("makespan_s", LABEL, nodes=nodes) for nodes in NODES}
    low = "at 400 nodes the draw is far below the budget: by more than a tenth"
    full = "at 960 nodes the power is almost fully used"
    return [
        statement(
            f"budget less draw, 400 nodes, {where}, % of it",
            100.0 - draw[400],
            tested=("what it is beyond a tenth", 90.0 - draw[400]),
            claim=low,
        ),
        alike(f"budget less draw, 960 nodes, {where}, % of it", 100.0 - draw[960], of=[100.0, 100.0], claim=full),
        statement(
            f"time for all jobs, 680 less 400 nodes, {where}, s",
            ends[680] - ends[400],
            side=-1,
            claim="680 nodes are done sooner than 400",
        ),
    ]


def guidelines(mix: str) -> dict[int, Guideline]:
    """The paper's guideline for each number of nodes."""
    return {nodes: Guideline(1000.0 * BUDGET_KW, nodes, IDLE_W, mix) for nodes in NODES}


def _guideline(runs: Runs) -> list[Row]:
    """Its numbers, and whether the throughput follows them."""
    repetitions = len(runs.values("jobs", LABEL, nodes=PEAK))
    ours = guidelines(MIX)
    peak = ours[PEAK]
    told = "the guideline's own number"
    once = "the steady state of the rules: the base counted once, jobs weighted by their run time"
    return [
        *(
            number(quantity, np.full(repetitions, figure), told=why)
            for quantity, figure, why in (
                ("guideline: P_eff, 680 nodes, W", peak.effective_w, told),
                ("guideline: CPU_available, 680 nodes", peak.available, told),
                ("guideline: CPU_eff, 680 nodes", peak.at_work, told),
                ("steady state: processors that the budget feeds, 680 nodes", peak.available_once, once),
                ("steady state: of them installed, 680 nodes", peak.at_work_once, once),
            )
        ),
        *follows(runs, {nodes: one.at_work for nodes, one in ours.items()}, "guideline: CPU_eff", MIX),
        *follows(runs, {nodes: one.at_work_once for nodes, one in ours.items()}, "steady state: processors", MIX),
    ]


def follows(runs: Runs, at_work: dict[int, float], name: str, mix: str) -> list[Row]:
    """Processors at work relative to those at 680 nodes, beside the throughput relative to that at 680 nodes."""
    jobs: dict[int, Floats] = {nodes: runs.values("jobs_per_minute", LABEL, nodes=nodes) for nodes in NODES}
    rows = []
    for nodes in NODES:
        if nodes == PEAK:
            continue
        ours, theirs = jobs[nodes] / jobs[PEAK], at_work[nodes] / at_work[PEAK]
        rows.append(
            alike(
                f"{name}, {nodes} over 680 nodes ({theirs:.2f}) less jobs a minute's, mix {mix}",
                theirs - ours,
                of=ours,
                claim="the results closely match the throughput",
            )
        )
    return rows


def _drawn(frame: pl.DataFrame) -> pl.DataFrame:
    idle = {f"idle {idle_w:g} W": {"idle_socket_w": idle_w, "log": FIRST} for idle_w in sorted((IDLE_W, *OTHER_IDLE_W))}
    shown = {f"{nodes} nodes": {"nodes": nodes, "idle_socket_w": IDLE_W} for nodes in (400, 680, 960)}
    return pl.concat([over_nodes(frame, idle, NODES, figure="nodes"), over_time(frame, shown, figure="time")])


def _yours(frame: pl.DataFrame) -> list[Row]:
    runs = Runs(frame, idle_socket_w=IDLE_W, log=FIRST)
    return [
        runs.row_of_yours(label, f"{told}, {nodes} nodes", runs.values(name, label, nodes=nodes))
        for label in runs.yours
        for name, told in (("power_used_percent", "power used by jobs, %"), ("jobs_per_minute", "jobs a minute"))
        for nodes in NODES
    ]


EXPERIMENTS = (
    Experiment(
        name="overprovision-nodes",
        source=f"{SOURCE}, sections V-C to V-E, Figs. 5 to 10",
        parameters=(
            printed("nodes", list(NODES)),
            printed("budget_kw", BUDGET_KW, "the peak of 400 nodes"),
            printed("speedup", SPEEDUP, "of submissions"),
            printed("mixes", [MIX], "of 85, 70 and 55 W; the others are in overprovision-mix"),
            assumed("other_idle_socket_w", list(OTHER_IDLE_W), "beside what all else is run with"),
            *PARAMETERS,
        ),
        policies={LABEL: LABEL},
        repetitions=40,
        quick_repetitions=6,
        repeat=_repeat,
        rows=_rows,
        savings=_drawn,
        draw=panel_figure,
        yours=_yours,
    ),
)
"""Figures 5 to 10 of the paper, for the mix of all caps alike."""
