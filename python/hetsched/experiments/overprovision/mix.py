"""``overprovision-mix``: high-power and low-power jobs on 400 to 960 nodes (Figs. 4 and 6 to 10 of the same paper).

Five mixes of caps of 85, 70 and 55 W a socket. Beyond the paper, in rows that say so, allocators on nodes that differ.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from hetsched.experiments.claims import alike, statement
from hetsched.experiments.experiment import Experiment, Floats, Parameters, Repetition, Row
from hetsched.experiments.overprovision import allocators, ha8000
from hetsched.experiments.overprovision.ha8000 import (
    DRAWN,
    FIRST,
    LABEL,
    MIXES,
    SOURCE,
    SPEEDUP,
    Setting,
    over_allocators,
    over_nodes,
    over_time,
    runs_of,
)
from hetsched.experiments.overprovision.sweeps import BUDGET_KW, NODES, PEAK, follows, peaks, used_up
from hetsched.experiments.runs import Runs

P = Parameters()
P.printed("mixes", list(MIXES), "of 85, 70 and 55 W")
P.printed("nodes", NODES)
P.printed("budget_kw", BUDGET_KW, "the peak of 400 nodes")
P.printed("speedup", SPEEDUP, "of submissions")
P += [*ha8000.P, *allocators.P]

HIGH_POWER, LOW_POWER = ("1:0:0", "3:2:1"), ("1:2:3", "0:0:1")
HIGH, LOW = "1:0:0", "0:0:1"
_AT_ONCE = {
    FIRST: "",
    DRAWN: "in some windows 200 jobs that started together end within seconds, at any rate one likes",
}


def _repeat(repetition: Repetition) -> list[dict[str, Any]]:
    settings = [Setting(nodes, BUDGET_KW, mix, log=log) for log in (FIRST, DRAWN) for mix in MIXES for nodes in NODES]
    rows = [{"study": "mixes", **row} for row in runs_of(repetition, settings)]
    return rows + allocators.allocator_runs(repetition)


def _rows(frame: pl.DataFrame) -> list[Row]:
    runs = Runs(frame, study="mixes", log=FIRST)
    rows = _extremes(runs)
    for mix in (*HIGH_POWER, *LOW_POWER):
        own, where = runs.where(mix=mix), f"mix {mix}"
        rows += [*used_up(own, where), *peaks(own, where), *follows(own, mix)]
    for log in (FIRST, DRAWN):
        rows += _preferred(Runs(frame, study="mixes", log=log), log)
    return rows + allocators.allocator_rows(frame)


def _extremes(runs: Runs) -> list[Row]:
    """Claims of Fig. 4 on the lowest and the highest mix, here on 680 nodes."""
    columns = ("draw_percent", "nodes_used_percent", "queued")
    draw, used, queued = runs.where(nodes=PEAK).by(LABEL, "mix", (LOW, HIGH), *columns)
    beyond = ("what it is beyond a tenth", 90.0 - draw[LOW])
    few, many = "with low-power jobs", "with high-power jobs"
    far, close = (
        f"{few} the draw is far below the budget: by more than a tenth",
        f"{many} the draw is close to the budget",
    )
    working, idle = f"{few} almost all nodes are at work", f"{many} there are many idle nodes"
    return [
        alike(f"unused nodes, 680 nodes, mix {LOW}, %", 100.0 - used[LOW], claim=working),
        statement(f"budget less draw, 680 nodes, mix {LOW}, % of it", 100.0 - draw[LOW], tested=beyond, claim=far),
        alike(f"budget less draw, 680 nodes, mix {HIGH}, % of it", 100.0 - draw[HIGH], claim=close),
        statement(f"unused nodes, 680 nodes, mix {HIGH} less {LOW}, points", used[LOW] - used[HIGH], claim=idle),
        statement(f"queued jobs, 680 nodes, mix {HIGH}", queued[HIGH], claim="and many jobs wait"),
    ]


def _preferred(runs: Runs, log: str) -> list[Row]:
    """Numbers of nodes that mixes prefer."""
    few, many = "high-power mixes prefer few nodes", "low-power mixes prefer many nodes"
    jobs = {mix: _jobs(runs.where(mix=mix)) for mix in MIXES}
    gain = {mix: own[:, -1] - own[:, NODES.index(PEAK)] for mix, own in jobs.items()}
    best = {mix: np.array(NODES, dtype=np.float64)[own.argmax(axis=1)] for mix, own in jobs.items()}
    return [
        *(
            statement(f"jobs a minute, 960 less 680 nodes, mix {mix}, {log}", gain[mix], side=-1, claim=few)
            for mix in HIGH_POWER
        ),
        *(
            statement(f"jobs a minute, 960 less 680 nodes, mix {mix}, {log}", gain[mix], claim=many, why=_AT_ONCE[log])
            for mix in LOW_POWER
        ),
        statement(
            f"nodes with the most jobs a minute, mix {LOW} less {HIGH}, {log}",
            best[LOW] - best[HIGH],
            claim="low-power jobs want more nodes than high-power ones",
        ),
    ]


def _jobs(runs: Runs) -> Floats:
    """Jobs a minute, a column a number of nodes."""
    (jobs,) = runs.by(LABEL, "nodes", NODES, "jobs_per_minute")
    return np.column_stack(list(jobs.values()))


def _drawn(frame: pl.DataFrame) -> pl.DataFrame:
    mixes = frame.filter(study="mixes")
    over = {f"{mix} ({name})": {"mix": mix, "log": FIRST} for mix, name in MIXES.items()}
    time = {f"{mix} ({MIXES[mix]})": {"mix": mix, "nodes": PEAK} for mix in (LOW, "1:1:1", HIGH)}
    return pl.concat(
        [
            over_nodes(mixes, over, NODES, figure="nodes"),
            over_time(mixes, time, figure="time"),
            over_allocators(
                frame.filter(study=allocators.STUDY),
                list(allocators.ALLOCATORS),
                row="680 nodes, 100 kW",
                figure="allocators",
            ),
        ]
    )


def _yours(frame: pl.DataFrame, label: str) -> dict[str, Floats]:
    runs, allocated = Runs(frame, study="mixes", log=FIRST), Runs(frame, study=allocators.STUDY)
    settings = {f"{nodes} nodes, mix {mix}": {"mix": mix, "nodes": nodes} for mix in MIXES for nodes in NODES}
    return {
        **runs.numbers(label, {"jobs_per_minute": "jobs a minute, {}"}, settings),
        "share of the bound on its work, %": allocated.values("bound_share_percent", label),
    }


EXPERIMENTS = (
    Experiment(
        name="overprovision-mix",
        no_shares="the bound leaves jobs under caps out",
        source=f"{SOURCE}, sections V-C to V-E, Figs. 4 and 6 to 10",
        parameters=P,
        policies={LABEL: LABEL, **allocators.ALLOCATORS},
        repeat=_repeat,
        rows=_rows,
        savings=_drawn,
        yours=_yours,
    ),
)
"""Figures 4 and 6 to 10 of the paper, and the allocators."""
