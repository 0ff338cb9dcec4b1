"""``overprovision-budget``, ``-arrivals`` and ``-nodes``: one setting of the paper on power-aware Slurm varies.

A whole machine under three budgets and jobs at three rates (Figs. 2 and 3: draw over time, which it describes in words
alone), and 400 to 960 nodes under the peak of 400 (Figs. 5 to 10), with jobs of all three caps alike, and the paper's
guideline against the runs. A processor is idle at 25 W, the base of the guideline, and at 15, 20 and 30 W in further
runs, as the paper does not print the idle draw of its nodes.
"""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from typing import Any

import polars as pl

from hetsched.experiments.claims import alike, limit, statement
from hetsched.experiments.experiment import Experiment, Floats, Parameters, Repetition, Row
from hetsched.experiments.overprovision import ha8000
from hetsched.experiments.overprovision.ha8000 import DRAWN, FIRST, IDLE_W, LABEL, Setting, over_nodes, over_time
from hetsched.experiments.runs import Runs
from hetsched.provisioning.budget import Budget

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


MORE_NODES = Parameters()
NODES = MORE_NODES.printed("nodes", (400, 540, 680, 820, 960))
BUDGET_KW = MORE_NODES.printed("budget_kw", 100.0, "the peak of 400 nodes")
MORE_NODES.printed("speedup", ha8000.SPEEDUP, "of submissions")
(MIX,) = MORE_NODES.printed("mixes", ("1:1:1",), "of 85, 70 and 55 W; the others are in overprovision-mix")
OTHER_IDLE_W = MORE_NODES.assumed("other_idle_socket_w", (15.0, 20.0, 30.0), "in further runs, all else alike")
MORE_NODES += ha8000.P
PEAK = 680


def _settings() -> list[Setting]:
    read = [(IDLE_W, FIRST), (IDLE_W, DRAWN), *((idle_w, FIRST) for idle_w in OTHER_IDLE_W)]
    return [Setting(nodes, BUDGET_KW, MIX, idle_socket_w=idle_w, log=log) for idle_w, log in read for nodes in NODES]


def _repeat_nodes(repetition: Repetition) -> list[dict[str, Any]]:
    return ha8000.runs_of(repetition, _settings())


def _rows_of_nodes(frame: pl.DataFrame) -> list[Row]:
    rows = []
    for log in (FIRST, DRAWN):
        runs = Runs(frame, idle_socket_w=IDLE_W, log=log)
        rows += [*used_up(runs, log), *peaks(runs, log), *_throughput(runs, log), *_over_time(runs, log)]
    for idle_w in OTHER_IDLE_W:
        runs = Runs(frame, idle_socket_w=idle_w, log=FIRST)
        rows += [*peaks(runs, f"idle {idle_w:g} W"), *_throughput(runs, f"idle {idle_w:g} W")]
    runs = Runs(frame, idle_socket_w=IDLE_W, log=FIRST)
    steady = follows(runs, MIX, "steady state: processors", "steady_effective_cpus")
    return [*rows, *follows(runs, MIX), *steady]


def used_up(runs: Runs, where: str) -> list[Row]:
    """Nodes that are nearly all at work where there are few."""
    return [
        alike(
            f"unused nodes, {nodes} nodes, {where}, %",
            100.0 - runs.values("nodes_used_percent", LABEL, nodes=nodes),
            claim="node utilization is almost 1 at 400 and 540 nodes",
        )
        for nodes in NODES[:2]
    ]


def peaks(runs: Runs, where: str) -> list[Row]:
    """Power used and energy wasted over the number of nodes."""
    columns = ("power_used_percent", "wasted_mj", "nodes_used_percent")
    power, wasted, used = runs.by(LABEL, "nodes", NODES, *columns)
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
    (jobs,) = runs.by(LABEL, "nodes", NODES, "jobs_per_minute")
    better, worse = "throughput is better than at 400 nodes", "too many nodes lower the throughput"
    return [
        statement(f"jobs a minute, 680 less 400 nodes, {where}", jobs[680] - jobs[400], claim=better),
        statement(f"jobs a minute, 960 less 680 nodes, {where}", jobs[960] - jobs[680], side=-1, claim=worse),
    ]


def _over_time(runs: Runs, where: str) -> list[Row]:
    """Claims of Fig. 5."""
    draw, ends = runs.by(LABEL, "nodes", NODES, "draw_percent", "makespan_s")
    low = "at 400 nodes the draw is far below the budget: by more than a tenth"
    full = "at 960 nodes the power is almost fully used"
    return [
        statement(
            f"budget less draw, 400 nodes, {where}, % of it",
            100.0 - draw[400],
            tested=("what it is beyond a tenth", 90.0 - draw[400]),
            claim=low,
        ),
        alike(f"budget less draw, 960 nodes, {where}, % of it", 100.0 - draw[960], claim=full),
        statement(
            f"time for all jobs, 680 less 400 nodes, {where}, s",
            ends[680] - ends[400],
            side=-1,
            claim="680 nodes are done sooner than 400",
        ),
    ]


def processors(mix: str, column: str) -> dict[int, float]:
    """Processors at work by number of nodes, a column of `hs.provision`: the paper's guideline, or its steady state."""
    shares = dict(zip(ha8000.CAPS_W, map(float, ha8000.counts(mix)), strict=True))
    budget = Budget(1000.0 * BUDGET_KW, IDLE_W, shares, ha8000.SOCKETS)
    return {nodes: budget.row(nodes)[column] for nodes in NODES}


def follows(runs: Runs, mix: str, name: str = "guideline: CPU_eff", column: str = "effective_cpus") -> list[Row]:
    """Processors at work relative to those at 680 nodes, less the throughput relative to that at 680 nodes."""
    (jobs,) = runs.by(LABEL, "nodes", NODES, "jobs_per_minute")
    at_work = processors(mix, column)
    return [
        alike(
            f"{name}, {nodes} over 680 nodes ({theirs:.2f}) less jobs a minute's, mix {mix}",
            theirs - ours,
            of=ours,
            claim="the results closely match the throughput",
        )
        for nodes in NODES
        if nodes != PEAK
        for ours, theirs in [(jobs[nodes] / jobs[PEAK], at_work[nodes] / at_work[PEAK])]
    ]


def _drawn_nodes(frame: pl.DataFrame) -> pl.DataFrame:
    idle = {f"idle {idle_w:g} W": {"idle_socket_w": idle_w, "log": FIRST} for idle_w in sorted((IDLE_W, *OTHER_IDLE_W))}
    shown = {f"{nodes} nodes": {"nodes": nodes, "idle_socket_w": IDLE_W} for nodes in (400, 680, 960)}
    return pl.concat([over_nodes(frame, idle, NODES, figure="nodes"), over_time(frame, shown, figure="time")])


def _yours_of_nodes(frame: pl.DataFrame, label: str) -> dict[str, Floats]:
    quantities = {"power_used_percent": "power used by jobs, {}, %", "jobs_per_minute": "jobs a minute, {}"}
    runs = Runs(frame, idle_socket_w=IDLE_W, log=FIRST)
    return runs.numbers(label, quantities, {f"{nodes} nodes": {"nodes": nodes} for nodes in NODES})


EXPERIMENTS = (
    Experiment(
        name="overprovision-budget",
        no_shares="nodes are alike, and the bound leaves jobs under caps out",
        source=f"{ha8000.SOURCE}, section V-B, Fig. 2",
        parameters=WHOLE,
        policies={LABEL: LABEL},
        repeat=_repeat_budgets,
        rows=_rows_of_budgets,
        savings=_drawn_budgets,
        yours=partial(_yours, vary="budget_kw", values=BUDGETS_KW, unit=" kW"),
    ),
    Experiment(
        name="overprovision-arrivals",
        no_shares="nodes are alike, and the bound leaves jobs under caps out",
        source=f"{ha8000.SOURCE}, section V-C, Fig. 3",
        parameters=RATES,
        policies={LABEL: LABEL},
        repeat=_repeat_arrivals,
        rows=_rows_of_arrivals,
        savings=_drawn_arrivals,
        yours=partial(_yours, vary="speedup", values=SPEEDUPS, unit="×"),
    ),
    Experiment(
        name="overprovision-nodes",
        no_shares="nodes are alike, and the bound leaves jobs under caps out",
        source=f"{ha8000.SOURCE}, sections V-C to V-E, Figs. 5 to 10",
        parameters=MORE_NODES,
        policies={LABEL: LABEL},
        repeat=_repeat_nodes,
        rows=_rows_of_nodes,
        savings=_drawn_nodes,
        yours=_yours_of_nodes,
    ),
)
