"""``overprovision-mix``: hungry jobs and modest ones on 400 to 960 nodes (Figs. 4 and 6 to 10 of the same paper).

Five mixes of caps of 85, 70 and 55 W a socket. Beyond the paper, in rows that say so, allocators on unlike nodes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from hetsched.experiments.claims import alike, number, statement
from hetsched.experiments.experiment import Experiment, Repetition, Row, printed
from hetsched.experiments.overprovision.allocators import ALLOCATORS, STUDY, allocator_rows, allocator_runs
from hetsched.experiments.overprovision.allocators import PARAMETERS as OF_ALLOCATORS
from hetsched.experiments.overprovision.drawn import over_allocators, over_nodes, over_time
from hetsched.experiments.overprovision.machine import (
    DRAWN,
    FIRST,
    LABEL,
    MIXES,
    PARAMETERS,
    SOURCE,
    SPEEDUP,
    Floats,
    Setting,
    runs_of,
)
from hetsched.experiments.overprovision.nodes import BUDGET_KW, NODES, PEAK, follows, guidelines, peaks, used_up
from hetsched.experiments.runs import Runs
from hetsched.report.panel_figure import panel_figure

HUNGRY, MODEST = ("1:0:0", "3:2:1"), ("1:2:3", "0:0:1")
HIGH, LOW = "1:0:0", "0:0:1"
_AT_ONCE = {
    FIRST: "",
    DRAWN: "in some windows 200 jobs that started together end within seconds, at any rate one likes",
}


def _repeat(repetition: Repetition) -> list[dict[str, Any]]:
    settings = [Setting(nodes, BUDGET_KW, mix, log=log) for log in (FIRST, DRAWN) for mix in MIXES for nodes in NODES]
    rows = [{"study": "mixes", **row} for row in runs_of(repetition, settings)]
    return rows + allocator_runs(repetition)


def _rows(frame: pl.DataFrame) -> list[Row]:
    runs = Runs(frame, study="mixes", log=FIRST)
    rows = _extremes(runs)
    for mix in (*HUNGRY, *MODEST):
        own, where = runs.where(mix=mix), f"mix {mix}"
        rows += [*used_up(own, where), *_numbers(own, mix), *peaks(own, where)]
        at_work = {nodes: one.at_work for nodes, one in guidelines(mix).items()}
        rows += follows(own, at_work, "guideline: CPU_eff", mix)
    for log in (FIRST, DRAWN):
        rows += _preferred(Runs(frame, study="mixes", log=log), log)
    return rows + allocator_rows(frame)


def _extremes(runs: Runs) -> list[Row]:
    """What Fig. 4 shows of the lowest and the highest mix, here on 680 nodes."""
    low, high = (
        {name: runs.values(name, LABEL, mix=mix, nodes=PEAK) for name in ("draw_percent", "nodes_used_percent")}
        for mix in (LOW, HIGH)
    )
    queued = runs.values("queued", LABEL, mix=HIGH, nodes=PEAK)
    whole = [100.0, 100.0]
    return [
        alike(
            f"unused nodes, 680 nodes, mix {LOW}, %",
            100.0 - low["nodes_used_percent"],
            of=whole,
            claim="with low-power jobs almost all nodes are at work",
        ),
        statement(
            f"budget less draw, 680 nodes, mix {LOW}, % of it",
            100.0 - low["draw_percent"],
            tested=("what it is beyond a tenth", 90.0 - low["draw_percent"]),
            claim="with low-power jobs the draw is far below the budget: by more than a tenth",
        ),
        alike(
            f"budget less draw, 680 nodes, mix {HIGH}, % of it",
            100.0 - high["draw_percent"],
            of=whole,
            claim="with high-power jobs the draw is close to the budget",
        ),
        statement(
            f"unused nodes, 680 nodes, mix {HIGH} less {LOW}, points",
            low["nodes_used_percent"] - high["nodes_used_percent"],
            claim="with high-power jobs there are many idle nodes",
        ),
        statement(f"queued jobs, 680 nodes, mix {HIGH}", queued, claim="and many jobs wait"),
    ]


def _numbers(runs: Runs, mix: str) -> list[Row]:
    return [
        number(told.format(f"{nodes} nodes, mix {mix}"), runs.values(name, LABEL, nodes=nodes))
        for name, told in (
            ("power_used_percent", "power used by jobs, {}, %"),
            ("jobs_per_minute", "jobs a minute, {}"),
        )
        for nodes in NODES
    ]


def _preferred(runs: Runs, log: str) -> list[Row]:
    """Which mixes want few nodes and which want many."""
    few, many = "power-hungry mixes prefer few nodes", "low-power mixes prefer many nodes"
    gain = {mix: _jobs(runs, mix)[:, -1] - _jobs(runs, mix)[:, NODES.index(PEAK)] for mix in MIXES}
    best = {mix: np.array(NODES, dtype=np.float64)[_jobs(runs, mix).argmax(axis=1)] for mix in MIXES}
    return [
        *(
            statement(f"jobs a minute, 960 less 680 nodes, mix {mix}, {log}", gain[mix], side=-1, claim=few)
            for mix in HUNGRY
        ),
        *(
            statement(f"jobs a minute, 960 less 680 nodes, mix {mix}, {log}", gain[mix], claim=many, why=_AT_ONCE[log])
            for mix in MODEST
        ),
        *(number(f"nodes with the most jobs a minute, mix {mix}, {log}", best[mix]) for mix in MIXES),
        statement(
            f"nodes with the most jobs a minute, mix {LOW} less {HIGH}, {log}",
            best[LOW] - best[HIGH],
            claim="low-power jobs want more nodes than high-power ones",
        ),
    ]


def _jobs(runs: Runs, mix: str) -> Floats:
    """Jobs a minute, a column a number of nodes."""
    return np.column_stack([runs.values("jobs_per_minute", LABEL, mix=mix, nodes=nodes) for nodes in NODES])


def _drawn(frame: pl.DataFrame) -> pl.DataFrame:
    mixes = frame.filter(study="mixes")
    over = {f"{mix} ({name})": {"mix": mix, "log": FIRST} for mix, name in MIXES.items()}
    time = {f"{mix} ({MIXES[mix]})": {"mix": mix, "nodes": PEAK} for mix in (LOW, "1:1:1", HIGH)}
    return pl.concat(
        [
            over_nodes(mixes, over, NODES, figure="nodes"),
            over_time(mixes, time, figure="time"),
            over_allocators(frame.filter(study=STUDY), list(ALLOCATORS), row="680 nodes, 100 kW", figure="allocators"),
        ]
    )


def _yours(frame: pl.DataFrame) -> list[Row]:
    runs = Runs(frame, study="mixes", log=FIRST)
    rows = [
        runs.row_of_yours(
            label,
            f"jobs a minute, {nodes} nodes, mix {mix}",
            runs.values("jobs_per_minute", label, mix=mix, nodes=nodes),
        )
        for label in runs.yours
        for mix in MIXES
        for nodes in NODES
    ]
    own = Runs(frame, study=STUDY)
    return rows + [
        own.row_of_yours(label, "share of the bound on its work, %", own.values("bound_share_percent", label))
        for label in own.yours
    ]


EXPERIMENTS = (
    Experiment(
        name="overprovision-mix",
        source=f"{SOURCE}, sections V-C to V-E, Figs. 4 and 6 to 10",
        parameters=(
            printed("mixes", list(MIXES), "of 85, 70 and 55 W"),
            printed("nodes", list(NODES)),
            printed("budget_kw", BUDGET_KW, "the peak of 400 nodes"),
            printed("speedup", SPEEDUP, "of submissions"),
            *PARAMETERS,
            *OF_ALLOCATORS,
        ),
        policies={LABEL: LABEL, **ALLOCATORS},
        repetitions=40,
        quick_repetitions=6,
        repeat=_repeat,
        rows=_rows,
        savings=_drawn,
        draw=panel_figure,
        yours=_yours,
    ),
)
"""Figures 4 and 6 to 10 of the paper, and who splits the watts."""
