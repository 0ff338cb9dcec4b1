"""``overprovision-budget`` and ``overprovision-arrivals``: a whole machine under budgets, and jobs that come faster.

Figs. 2 and 3 of the paper on power-aware Slurm: draw over time, which it describes in words alone.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import polars as pl

from hetsched.experiments.claims import alike, limit, statement
from hetsched.experiments.experiment import Experiment, Floats, Parameters, Repetition, Row
from hetsched.experiments.overprovision import ha8000
from hetsched.experiments.overprovision.ha8000 import DRAWN, FIRST, LABEL, Setting, over_time
from hetsched.experiments.runs import Runs

WHOLE, RATES = Parameters(), Parameters()
"""Parameters of the whole machine under budgets, and of jobs at several rates."""

ALL_NODES = WHOLE.printed("nodes", 965)
BUDGETS_KW = WHOLE.printed("budget_kw", (100.0, 110.0, 120.0))
WHOLE.assumed("speedup", ha8000.SPEEDUP, "of submissions; printed for what follows in the paper")
WHOLE.assumed("mixes", ["1:1:1"], "of 85, 70 and 55 W")
WHOLE += ha8000.P

FEW_NODES = RATES.printed("nodes", 400)
HIGH_KW = RATES.printed("budget_kw", 125.0, "the peak of 500 nodes")
SPEEDUPS = RATES.printed("speedup", (200.0, 400.0, 600.0), "of submissions")
RATES.assumed("mixes", ["1:0:0"], "of 85, 70 and 55 W")
RATES += ha8000.P

LOGS = (FIRST, DRAWN)


def _repeat_budgets(repetition: Repetition) -> list[dict[str, Any]]:
    return ha8000.runs_of(repetition, [Setting(ALL_NODES, budget, log=log) for log in LOGS for budget in BUDGETS_KW])


def _rows_of_budgets(frame: pl.DataFrame) -> list[Row]:
    return [row for log in LOGS for row in _under_budgets(Runs(frame, log=log), log)]


def _under_budgets(runs: Runs, log: str) -> list[Row]:
    over_s, draw, jobs = runs.by(LABEL, "budget_kw", BUDGETS_KW, "over_budget_s", "draw_percent", "jobs_per_minute")
    above_s, more = sum(over_s.values()), jobs[BUDGETS_KW[-1]] - jobs[BUDGETS_KW[0]]
    almost = "under load the draw is almost the budget"
    return [
        limit(f"time above the budget, all three, {log}, s", above_s, most=0.0, claim="the budget is kept"),
        *(alike(f"budget less draw, {kw:g} kW, {log}, % of it", 100.0 - own, claim=almost) for kw, own in draw.items()),
        statement(f"jobs a minute, 120 less 100 kW, {log}", more, claim="more watts do more work"),
    ]


def _drawn_budgets(frame: pl.DataFrame) -> pl.DataFrame:
    return over_time(frame, {f"{budget:g} kW": {"budget_kw": budget} for budget in BUDGETS_KW})


def _repeat_arrivals(repetition: Repetition) -> list[dict[str, Any]]:
    return ha8000.runs_of(
        repetition,
        [Setting(FEW_NODES, HIGH_KW, mix="1:0:0", speedup=speedup, log=log) for log in LOGS for speedup in SPEEDUPS],
    )


def _rows_of_arrivals(frame: pl.DataFrame) -> list[Row]:
    return [row for log in LOGS for row in _at_rates(Runs(frame, log=log), log)]


def _at_rates(runs: Runs, log: str) -> list[Row]:
    low, middle, high = SPEEDUPS
    peak_kw = FEW_NODES * ha8000.SOCKETS * ha8000.CAPS_W[0] / 1000.0
    short = (
        f"{FEW_NODES} nodes at {ha8000.SOCKETS * ha8000.CAPS_W[0]:g} W draw {peak_kw:g} kW at most, all of them at work"
    )
    columns = ("nodes_used_percent", "queued", "makespan_s", "queue_growth", "draw_percent")
    used, queued, ends, growth, draw = runs.by(LABEL, "speedup", SPEEDUPS, *columns)
    idle, same = "at 200× nodes stay unused", "400× and 600× take the same time"
    empty, waiting = (
        "at 200× there is almost no job in the queue: at most a tenth of 400×'s",
        100.0 * queued[low] / queued[middle],
    )
    almost, grows, growing = (
        "the draw almost reaches the budget",
        "the queue grows faster at 600×",
        growth[high] - growth[middle],
    )
    return [
        statement(f"nodes used, 400× less 200×, {log}, points", used[middle] - used[low], claim=idle),
        limit(f"queued jobs at 200×, {log}, % of those at 400×", waiting, most=10.0, claim=empty, printed=False),
        *(
            alike(f"unused nodes, {speedup:g}×, {log}, %", 100.0 - used[speedup], claim="nearly all nodes are used")
            for speedup in (middle, high)
        ),
        alike(f"budget less draw, 400×, {log}, % of it", 100.0 - draw[middle], claim=almost, why=short),
        alike(f"time for all jobs, 600× less 400×, {log}, s", ends[high] - ends[middle], of=ends[middle], claim=same),
        statement(f"time for all jobs, 200× less 400×, {log}, s", ends[low] - ends[middle], claim="200× takes longer"),
        statement(f"growth of the queue, 600× less 400×, {log}, jobs a minute", growing, claim=grows),
    ]


def _drawn_arrivals(frame: pl.DataFrame) -> pl.DataFrame:
    return over_time(frame, {f"×{speedup:g}": {"speedup": speedup} for speedup in SPEEDUPS})


def _yours(frame: pl.DataFrame, label: str, *, vary: str, values: tuple[float, ...], unit: str) -> dict[str, Floats]:
    """A policy's numbers at each value of the varied column."""
    quantities = {"power_used_percent": "power used by jobs, {}, %", "jobs_per_minute": "jobs a minute, {}"}
    return Runs(frame, log=FIRST).numbers(label, quantities, {f"{value:g}{unit}": {vary: value} for value in values})


EXPERIMENTS = (
    Experiment(
        name="overprovision-budget",
        source=f"{ha8000.SOURCE}, section V-B, Fig. 2",
        parameters=WHOLE,
        policies={LABEL: LABEL},
        repeat=_repeat_budgets,
        rows=_rows_of_budgets,
        savings=_drawn_budgets,
        quick_repetitions=6,
        yours=partial(_yours, vary="budget_kw", values=BUDGETS_KW, unit=" kW"),
    ),
    Experiment(
        name="overprovision-arrivals",
        source=f"{ha8000.SOURCE}, section V-C, Fig. 3",
        parameters=RATES,
        policies={LABEL: LABEL},
        repeat=_repeat_arrivals,
        rows=_rows_of_arrivals,
        savings=_drawn_arrivals,
        quick_repetitions=6,
        yours=partial(_yours, vary="speedup", values=SPEEDUPS, unit="×"),
    ),
)
"""Figures 2 and 3 of the paper."""
