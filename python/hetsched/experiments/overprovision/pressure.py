"""``overprovision-budget`` and ``overprovision-arrivals``: a whole machine under budgets, and jobs that come faster.

Figs. 2 and 3 of the paper on power-aware Slurm: draw over time, which it tells in words alone.
"""

from __future__ import annotations

from typing import Any

import polars as pl

from hetsched.experiments.claims import alike, limit, number, statement
from hetsched.experiments.experiment import Experiment, Repetition, Row, assumed, printed
from hetsched.experiments.overprovision.drawn import over_time
from hetsched.experiments.overprovision.machine import (
    CAPS_W,
    DRAWN,
    FIRST,
    LABEL,
    PARAMETERS,
    SOCKETS,
    SOURCE,
    SPEEDUP,
    Setting,
    runs_of,
)
from hetsched.experiments.runs import Runs
from hetsched.report.panel_figure import panel_figure

BUDGETS_KW = (100.0, 110.0, 120.0)
ALL_NODES = 965
SPEEDUPS = (200.0, 400.0, 600.0)
FEW_NODES, HIGH_KW = 400, 125.0
LOGS = (FIRST, DRAWN)


def _repeat_budgets(repetition: Repetition) -> list[dict[str, Any]]:
    return runs_of(repetition, [Setting(ALL_NODES, budget, log=log) for log in LOGS for budget in BUDGETS_KW])


def _rows_of_budgets(frame: pl.DataFrame) -> list[Row]:
    return [row for log in LOGS for row in _under_budgets(Runs(frame, log=log), log)]


def _under_budgets(runs: Runs, log: str) -> list[Row]:
    over_s = sum(runs.values("over_budget_s", LABEL, budget_kw=budget) for budget in BUDGETS_KW)
    low, high = ({"budget_kw": budget} for budget in (BUDGETS_KW[0], BUDGETS_KW[-1]))
    more = runs.values("jobs_per_minute", LABEL, **high) - runs.values("jobs_per_minute", LABEL, **low)
    return [
        limit(f"time above the budget, all three, {log}, s", over_s, most=0.0, claim="the budget is kept"),
        *(row for budget in BUDGETS_KW for row in _reached(runs.where(budget_kw=budget), budget, log)),
        statement(f"jobs a minute, 120 less 100 kW, {log}", more, claim="more watts do more work"),
    ]


def _reached(runs: Runs, budget: float, log: str) -> list[Row]:
    draw, serving, nodes = (
        runs.values(name, LABEL) for name in ("draw_percent", "power_used_percent", "nodes_used_percent")
    )
    claim = "under load the draw is almost the budget"
    where = f"{budget:g} kW, {log}"
    return [
        alike(f"budget less draw, {where}, % of it", 100.0 - draw, of=[100.0, 100.0], claim=claim),
        number(f"power used by jobs, {where}, %", serving),
        number(f"nodes used, {where}, %", nodes),
    ]


def _drawn_budgets(frame: pl.DataFrame) -> pl.DataFrame:
    return over_time(frame, {f"{budget:g} kW": {"budget_kw": budget} for budget in BUDGETS_KW})


def _repeat_arrivals(repetition: Repetition) -> list[dict[str, Any]]:
    return runs_of(
        repetition,
        [Setting(FEW_NODES, HIGH_KW, mix="1:0:0", speedup=speedup, log=log) for log in LOGS for speedup in SPEEDUPS],
    )


def _rows_of_arrivals(frame: pl.DataFrame) -> list[Row]:
    return [row for log in LOGS for row in _at_rates(Runs(frame, log=log), log)]


def _at_rates(runs: Runs, log: str) -> list[Row]:
    def at(name: str, speedup: float) -> Any:
        return runs.values(name, LABEL, speedup=speedup)

    low, middle, high = SPEEDUPS
    peak_kw = FEW_NODES * SOCKETS * CAPS_W[0] / 1000.0
    short = f"{FEW_NODES} nodes at {SOCKETS * CAPS_W[0]:g} W draw {peak_kw:g} kW at most, all of them at work"
    used, queued, ends, growth, draw = (
        {speedup: at(name, speedup) for speedup in SPEEDUPS}
        for name in ("nodes_used_percent", "queued", "makespan_s", "queue_growth", "draw_percent")
    )
    idle, same = "at 200× nodes stay unused", "400× and 600× take the same time"
    empty, grows = "at 200× there is almost no job in the queue", "the queue grows faster at 600×"
    return [
        statement(f"nodes used, 400× less 200×, {log}, points", used[middle] - used[low], claim=idle),
        number(f"nodes used, 200×, {log}, %", used[low]),
        limit(
            f"queued jobs at 200×, {log}, % of those at 400×",
            100.0 * queued[low] / queued[middle],
            most=10.0,
            claim=f"{empty}: at most a tenth of 400×'s",
            printed=False,
        ),
        number(f"queued jobs at 400×, {log}", queued[middle]),
        *(
            alike(
                f"unused nodes, {speedup:g}×, {log}, %",
                100.0 - used[speedup],
                of=[100.0, 100.0],
                claim="nearly all nodes are used",
            )
            for speedup in (middle, high)
        ),
        alike(
            f"budget less draw, 400×, {log}, % of it",
            100.0 - draw[middle],
            of=[100.0, 100.0],
            claim="the draw almost reaches the budget",
            why=short,
        ),
        alike(f"time for all jobs, 600× less 400×, {log}, s", ends[high] - ends[middle], of=ends[middle], claim=same),
        statement(f"time for all jobs, 200× less 400×, {log}, s", ends[low] - ends[middle], claim="200× takes longer"),
        statement(
            f"growth of the queue, 600× less 400×, {log}, jobs a minute", growth[high] - growth[middle], claim=grows
        ),
    ]


def _drawn_arrivals(frame: pl.DataFrame) -> pl.DataFrame:
    return over_time(frame, {f"×{speedup:g}": {"speedup": speedup} for speedup in SPEEDUPS})


def _yours(vary: str, values: tuple[float, ...], unit: str) -> Any:
    """Rows of a user's policies at each value of what an experiment varies."""

    def rows(frame: pl.DataFrame) -> list[Row]:
        runs = Runs(frame, log=FIRST)
        return [
            runs.row_of_yours(label, f"{told}, {value:g}{unit}", runs.values(name, label, **{vary: value}))
            for label in runs.yours
            for value in values
            for name, told in (("power_used_percent", "power used by jobs, %"), ("jobs_per_minute", "jobs a minute"))
        ]

    return rows


def _experiment(name: str, section: str, **more: Any) -> Experiment:
    return Experiment(
        name=name, source=f"{SOURCE}, {section}", repetitions=40, quick_repetitions=6, draw=panel_figure, **more
    )


EXPERIMENTS = (
    _experiment(
        "overprovision-budget",
        "section V-B, Fig. 2",
        parameters=(
            printed("nodes", ALL_NODES),
            printed("budget_kw", list(BUDGETS_KW)),
            assumed("speedup", SPEEDUP, "of submissions; printed for what follows in the paper"),
            assumed("mixes", ["1:1:1"], "of 85, 70 and 55 W"),
            *PARAMETERS,
        ),
        policies={LABEL: LABEL},
        repeat=_repeat_budgets,
        rows=_rows_of_budgets,
        savings=_drawn_budgets,
        yours=_yours("budget_kw", BUDGETS_KW, " kW"),
    ),
    _experiment(
        "overprovision-arrivals",
        "section V-C, Fig. 3",
        parameters=(
            printed("nodes", FEW_NODES),
            printed("budget_kw", HIGH_KW, "the peak of 500 nodes"),
            printed("speedup", list(SPEEDUPS), "of submissions"),
            assumed("mixes", ["1:0:0"], "of 85, 70 and 55 W"),
            *PARAMETERS,
        ),
        policies={LABEL: LABEL},
        repeat=_repeat_arrivals,
        rows=_rows_of_arrivals,
        savings=_drawn_arrivals,
        yours=_yours("speedup", SPEEDUPS, "×"),
    ),
)
"""Figures 2 and 3 of the paper."""
