"""``aoba-lending``: two busy days, with nodes of the free queue moved or shared (table 4, Figs. 8 to 11)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import polars as pl

from hetsched.experiments.aoba.system import (
    MWH,
    PARALLEL,
    PRESET,
    QUEUES,
    SINGLE,
    SOURCE,
    UNDISCLOSED,
    P,
    measured,
    with_nodes,
)
from hetsched.experiments.claims import statement, value
from hetsched.experiments.experiment import Experiment, Floats, Repetition, Row, assumed, printed
from hetsched.experiments.runs import Runs, panels, side_by_side
from hetsched.platform import Platform
from hetsched.policy import Policy
from hetsched.report.experiment import curve
from hetsched.workload import aoba

OWN, MOVE_2, MOVE_3, SHARE_2, SHARE_3, SHARE_ALL = "as it is", "move 2", "move 3", "share 2", "share 3", "share all"
NODES = {
    OWN: ("0-3", "4-61"),
    MOVE_2: ("0-1", "2-61"),
    MOVE_3: ("0", "1-61"),
    SHARE_2: ("0-3", "2-61"),
    SHARE_3: ("0-3", "1-61"),
    SHARE_ALL: ("0-61", "0-61"),
}
"""Nodes of the queues of single engines that can be lent, and of the others, by allocation."""

USUAL = f"{PRESET}: 7200 s"
SETTINGS = {
    USUAL: PRESET,
    "3600 s": f"{PRESET}:min_idle_s=3600",
    "1800 s": f"{PRESET}:min_idle_s=1800",
    "no sleep": f"{PRESET}:sleep=none",
}
BEST = "1800 s"


@cache
def _machine(allocation: str) -> Platform:
    single, others = NODES[allocation]
    return with_nodes({**dict.fromkeys(SINGLE, single), **dict.fromkeys(PARALLEL, others)})


def _repeat(repetition: Repetition) -> list[dict[str, Any]]:
    workload = aoba(period="busy", seed=repetition.seed)
    return [
        row
        for allocation in NODES
        for own in [replace(repetition, policies=_fitting(repetition.policies, allocation))]
        for row in side_by_side(
            own, SETTINGS, workload, _machine(allocation), named={"scenario": allocation}, extra=measured
        )
    ]


def _fitting(policies: Mapping[str, Policy], allocation: str) -> Mapping[str, Policy]:
    """A user's policies but for those that count nodes, where queues share some nodes and not all."""
    if allocation not in (SHARE_2, SHARE_3):
        return policies
    return {
        label: policy for label, policy in policies.items() if (policy.parts["backfill"] or {}).get("name") == "plan"
    }


def _mean(runs: Runs, allocation: str, label: str = USUAL) -> Floats:
    return runs.values("mean_wait_s", label, scenario=allocation)


def _energy(runs: Runs, allocation: str, label: str = USUAL) -> Floats:
    energy: Floats = runs.values("energy_j", label, scenario=allocation) / MWH
    return energy


def _rows(frame: pl.DataFrame) -> list[Row]:
    runs = Runs(frame)
    return [*_moves(runs), *_shares(runs), *_best(runs)]


def _change(runs: Runs, one: str, other: str) -> Floats:
    change: Floats = _mean(runs, one) - _mean(runs, other)
    return change


def _moves(runs: Runs) -> list[Row]:
    fewer = "waits fall as nodes are moved to the queues of parallel jobs"
    return [
        value("mean wait as it is, s", _mean(runs, OWN), paper=2370.0, undisclosed=UNDISCLOSED),
        statement(f"mean wait, {MOVE_2} less as it is, s", _change(runs, MOVE_2, OWN), side=-1, claim=fewer),
        statement(f"mean wait, {MOVE_3} less {MOVE_2}, s", _change(runs, MOVE_3, MOVE_2), side=-1, claim=fewer),
    ]


_QUEUED = "the free jobs then wait behind parallel ones, and are many"
_ROOM = "the free jobs drawn here fit on what is left to them and wait for seconds, so that lent nodes are all gain"


def _shares(runs: Runs) -> list[Row]:
    worse, best = "sharing two or three nodes makes waits longer", "sharing all nodes makes waits shortest"
    return [
        *(
            statement(f"mean wait, {one} less as it is, s", _change(runs, one, OWN), claim=worse, why=_ROOM)
            for one in (SHARE_2, SHARE_3)
        ),
        *(
            statement(f"mean wait, {MOVE_3} less {one}, s", _change(runs, MOVE_3, one), side=-1, claim=_SAFE)
            for one in (SHARE_2, SHARE_3)
        ),
        *(
            statement(
                f"mean wait, {SHARE_ALL} less {one}, s", _change(runs, SHARE_ALL, one), side=-1, claim=best, why=_QUEUED
            )
            for one in NODES
            if one != SHARE_ALL
        ),
    ]


_SAFE = "moving three cuts waits most among the choices that keep free jobs off the paid nodes"


def _best(runs: Runs) -> list[Row]:
    """Moving three, with half an hour of idling, against the operated setting."""
    before_s, after_s = _mean(runs, OWN), _mean(runs, MOVE_3, BEST)
    before, after = _energy(runs, OWN), _energy(runs, MOVE_3, BEST)
    both = f"{MOVE_3} and {BEST}"
    return [
        value(f"mean wait, {both}, s", after_s, paper=678.0, undisclosed=UNDISCLOSED),
        value(
            f"mean wait, {both}, change, %", 100.0 * (after_s / before_s - 1.0), paper=-71.4, undisclosed=UNDISCLOSED
        ),
        value("energy as it is, MWh", before, paper=4.85, undisclosed=f"{UNDISCLOSED}; nor whether it is of 72 nodes"),
        value(f"energy, {both}, MWh", after, paper=4.80, undisclosed=f"{UNDISCLOSED}; nor whether it is of 72 nodes"),
        value(
            f"energy, {both}, change, %",
            100.0 * (after / before - 1.0),
            paper=-1.03,
            undisclosed=f"{UNDISCLOSED}; nor the window that its energy is of",
        ),
    ]


def _yours(frame: pl.DataFrame, label: str) -> dict[str, Floats]:
    runs = Runs(frame)
    return {f"mean wait, {one}, s": _mean(runs, one, label) for one in _allocations(runs, label)}


def _allocations(runs: Runs, label: str) -> list[str]:
    """The allocations that a policy was run with."""
    found = set(runs.frame.filter(policy=label)["scenario"])
    return [allocation for allocation in NODES if allocation in found]


_PRINTED_S = {OWN: 2370.0, MOVE_3: 678.0}
_SCENARIO = "two busy days"


def _drawn(frame: pl.DataFrame) -> pl.DataFrame:
    """Waits and energies by allocation under each setting, and how waits of each queue change."""
    runs = Runs(frame)
    quantities: dict[str, Callable[[Runs, str, str], Floats]] = {
        "mean wait (s)": _mean,
        "the same, change (s)": lambda runs, allocation, label: (
            _mean(runs, allocation, label) - _mean(runs, OWN, label)
        ),
        "energy, change (MWh)": lambda runs, allocation, label: _energy(runs, allocation, label) - _energy(runs, OWN),
    }
    settings = panels(
        quantities,
        {_SCENARIO: runs},
        [*SETTINGS, *runs.yours],
        lambda of, runs, label: _by_allocation(runs, label, of),
        ticks=list(NODES),
        figure="settings",
    )
    printed_s = np.array([[_PRINTED_S.get(allocation, np.nan) for allocation in NODES]])
    paper = curve(printed_s, row="mean wait (s)", column=_SCENARIO, label="paper", ticks=list(NODES), figure="settings")
    by_queue = panels(
        {"wait, change (s)": runs},
        {USUAL: USUAL},
        [allocation for allocation in NODES if allocation != OWN],
        lambda runs, _, allocation: np.column_stack(
            [_wait_in(runs, queue, allocation) - _wait_in(runs, queue, OWN) for queue in QUEUES]
        ),
        ticks=QUEUES,
        figure="queues",
    )
    return pl.concat([settings, paper, by_queue])


def _by_allocation(runs: Runs, label: str, of: Callable[[Runs, str, str], Floats]) -> Floats:
    """A quantity, a column an allocation; NaN where the policy was not run."""
    there = _allocations(runs, label)
    unknown = np.full(runs.frame["repetition"].n_unique(), np.nan)
    return np.column_stack([of(runs, one, label) if one in there else unknown for one in NODES])


def _wait_in(runs: Runs, queue: str, allocation: str) -> Floats:
    return runs.values(f"wait_{queue}", USUAL, scenario=allocation)


EXPERIMENTS = (
    Experiment(
        name="aoba-lending",
        no_shares="jobs share nodes, for which the bound is not defined",
        source=f"{SOURCE}, section 6.3, table 4, Figs. 8 to 11",
        parameters=[
            printed("allocations", list(NODES), "table 4"),
            assumed("allocation_nodes", NODES, "of sxf and sxl; of others"),
            assumed("jobs", 1500, "in two days; the paper's log is of 28 and 29 May"),
            *P,
        ],
        policies=SETTINGS,
        repeat=_repeat,
        rows=_rows,
        savings=_drawn,
        yours=_yours,
    ),
)
