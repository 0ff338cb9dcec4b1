"""Random draws, budgets, caps and policies under them for the reference machine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import ceil, inf
from typing import Any

import hypothesis.strategies as st
import numpy as np
from plain_budget import BudgetRow
from plain_draws import SECOND, Draws, Model, Row, Tables
from plain_jobs import Job
from plain_machine import Machine
from plain_power import Power, Rules
from plain_vahrm import Vahrm

APPS = ("calm", "hungry", "odd")
STEPS = ("lower-caps", "suspend", "requeue", "kill")
MEASURES = ((), STEPS[:1], STEPS[1:2], STEPS[2:3], STEPS[3:], STEPS[:2], STEPS[0::2], STEPS[1:3], STEPS[2:], STEPS)
FACTORS = st.sampled_from([1.0, 1.0, 1.1, 1.25, 1.3333333, 2.0])
IDLES = st.sampled_from([0.0, 50.0, 60.25])
WATTS = [40.0, 120.0, 150.0, 200.0, 200.0, 210.5, 260.0]

# Nodes.


@st.composite
def rows_under(draw: st.DrawFn, nodes: int, without: Row | None, cap: float) -> Row:
    """Watts and factors under a cap: as a rule less and slower than without one, now and then anything."""
    equal = draw(st.booleans())
    size = 1 if equal else nodes
    watts = draw(st.lists(st.sampled_from(WATTS), min_size=size, max_size=size))
    factors = draw(st.lists(FACTORS, min_size=size, max_size=size))
    watts, factors = (watts * nodes, factors * nodes) if equal else (watts, factors)
    if without is None or draw(st.integers(0, 7)) == 0:
        return watts, factors
    slower = [factor * one for factor, one in zip(factors, without[1], strict=True)]
    return [min(cap, one) for one in without[0]], slower


@st.composite
def tables(draw: st.DrawFn, nodes: int, caps: Sequence[float] = (), *, equal: bool = False) -> Tables:
    """A row for each application under each cap and under none; `equal`: the same on each node."""
    found: Tables = {}
    for cap in sorted({*caps, inf}, reverse=True):
        higher = min((key for key in found if key > cap), default=None)
        found[cap] = {app: draw(rows_under(nodes, None if higher is None else found[higher][app], cap)) for app in APPS}
    return {cap: {app: alike(row) for app, row in by_app.items()} for cap, by_app in found.items()} if equal else found


def alike(row: Row) -> Row:
    """The same on each node as on the first."""
    return tuple([values[0]] * len(values) for values in row)  # type: ignore[return-value]


def of_one_row(tables: Tables) -> Tables:
    """The same where applications differ in nothing that a table holds."""
    return {cap: dict.fromkeys(APPS, by_app[APPS[0]]) for cap, by_app in tables.items()}


@st.composite
def wrong(draw: st.DrawFn, right: Tables) -> Tables:
    """Predictions that are off, by application, under all caps alike."""
    errors = {app: draw(st.sampled_from([(0.8, 1.0), (1.0, 1.0), (1.0, 0.8), (1.2, 1.0), (1.1, 1.25)])) for app in APPS}
    return {
        cap: {
            app: ([w * errors[app][0] for w in watts], [f * errors[app][1] for f in factors])
            for app, (watts, factors) in by_app.items()
        }
        for cap, by_app in right.items()
    }


SHARES = st.sampled_from([1.0, 1.0, 0.6, 0.0])
BY_APP = st.fixed_dictionaries(dict.fromkeys(APPS, SHARES))
MODELS = st.builds(
    lambda static, exponent, bound, least: Model(*static, exponent, bound, least),
    st.sampled_from([(50.0, None), (0.0, None), (130.0, None), (None, 0.3)]),
    st.sampled_from([1.0, 1.0, 2.0, 2.5]),
    SHARES | BY_APP,
    st.sampled_from([0.2, 0.5, 1.0]),
)


@st.composite
def draws_of(
    draw: st.DrawFn,
    nodes: int,
    *,
    equal: bool = False,
    exact: bool = False,
    capped: bool = True,
    same_idle: bool = False,
) -> Draws:
    """Draws with tables by cap, with a model, or without caps; applications that differ, nodes of unlike idle watts."""
    same_idle = same_idle or equal or draw(st.booleans())
    idle_w = [draw(IDLES)] * nodes if same_idle else draw(st.lists(IDLES, min_size=nodes, max_size=nodes))
    kind = draw(st.sampled_from(["by-cap", "by-cap", "model", "plain"])) if capped else "plain"
    caps = draw(st.sampled_from([[100.0, 150.0], [100.0], [110.0, 150.0, 205.0]])) if kind == "by-cap" else []
    actual = draw(tables(nodes, caps, equal=equal))
    predicted = actual if exact or draw(st.booleans()) else draw(wrong(actual))
    if kind == "model" and draw(st.booleans()):
        actual, predicted = of_one_row(actual), of_one_row(predicted)
    return Draws(idle_w, actual, predicted, draw(MODELS) if kind == "model" else None)


@st.composite
def unlike_draws(draw: st.DrawFn, nodes: int) -> Draws:
    """Draws and factors of which no sum equals another but by design, and predictions that are off."""
    chance = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))

    def table() -> Tables:
        return {inf: {app: (watts().tolist(), factors().tolist()) for app in APPS}}

    def watts() -> Any:
        # Whole microwatts: rounding decides nothing.
        return chance.integers(100_000_000, 300_000_000, nodes) / 1e6

    def factors() -> Any:
        return chance.uniform(1.0, 1.5, nodes) if has_factors else np.ones(nodes)

    has_factors = draw(st.booleans())
    actual = table()
    idle_w = draw(st.lists(IDLES, min_size=nodes, max_size=nodes))
    return Draws(idle_w, actual, actual if draw(st.booleans()) else table())


@st.composite
def told_draws(draw: st.DrawFn, nodes: int, *, analyzed: bool) -> Draws:
    """Jobs bring their own draw; some are measured in time, or an analyzer says what they draw and how caps slow."""
    watts = st.fixed_dictionaries(dict.fromkeys(APPS, st.sampled_from(WATTS[1:])))
    ours, theirs = (
        {inf: {app: ([each] * nodes, [1.0] * nodes) for app, each in draw(watts).items()}} for _ in range(2)
    )
    idle_w = draw(st.lists(IDLES, min_size=nodes, max_size=nodes))
    if not analyzed:
        return Draws(idle_w, ours, ours, draw(st.none() | MODELS))
    model = replace(draw(MODELS), bound_ratio=draw(BY_APP))
    return Draws(idle_w, ours, theirs, model, replace(model, bound_ratio=draw(BY_APP)))


def allowed_caps(draws: Draws) -> list[float]:
    """Caps that no table and no model refuses, ascending; none where there is neither."""
    finite = sorted(cap for cap in draws.actual if cap < inf)
    if draws.model is None:
        return sorted({*finite, *(cap + 20.0 for cap in finite)})
    each = [watts for table in (draws.actual, draws.predicted) for row in table[inf].values() for watts in row[0]]
    least = float(ceil(max(draws.model.at_speed(watts, draws.model.least_speed_ratio) for watts in each)))
    return [least, least + 20.5, least + 60.0, least + 100.0]


# Jobs.

PROFILES = st.lists(st.sampled_from([60.0, 120.0, 150.0, 200.0, 260.0, 310.5]), min_size=1, max_size=6).map(tuple)


@st.composite
def appetites(draw: st.DrawFn, machine: Machine, jobs: list[Job], *, walltimes: bool = False) -> None:
    """Applications, own caps, communication, and walltimes close to what jobs take; `walltimes`: all have one."""
    margins = st.sampled_from([-2, 0, 0, 1, 4, 20] if walltimes else [None, None, None, -2, 0, 0, 1, 4, 20])
    caps = allowed_caps(machine.draws)
    own = st.none() | st.none() | st.sampled_from(caps) if caps else st.none()
    for job in jobs:
        job.app, job.cap_w, margin = draw(st.sampled_from(APPS)), draw(own), draw(margins)
        job.comm = draw(st.sampled_from([0, 0, 0, 2])) * SECOND
        job.walltime = None if margin is None else max(SECOND, job.runtime + job.comm + margin * SECOND)


@st.composite
def profiles(draw: st.DrawFn, jobs: list[Job]) -> None:
    """Draws that were measured in time, of which decisions know a mean, and not the right one."""
    for job in jobs:
        job.profile_w = draw(PROFILES | PROFILES | st.just(()))
        job.interval = draw(st.sampled_from([SECOND, 3 * SECOND, 1_333_333]))


# Policies.


def to_boot(machine: Machine) -> float:
    """The most that a node draws beyond idle while it boots: every budget leaves as much."""
    if machine.switches is None or machine.sleep is None:
        return 0.0
    each = enumerate(zip(machine.switches, machine.draws.idle_w, strict=True))
    return max(0.0, *(s.boot_w - idle_w if machine.takes(k, "booting") else 0.0 for k, (s, idle_w) in each))


def budgets(machine: Machine, *, ample: bool = False) -> st.SearchStrategy[float]:
    """From the idle machine's draw on to where it can hardly bind; `ample`: so that most jobs can run."""
    idle, nodes = (
        sum(machine.draws.idle_w) + to_boot(machine),
        len(machine.queues[0].nodes if machine.queues else machine.draws.idle_w),
    )
    each = [60.0, 90.0, 120.0, 150.0, 210.0] if ample else [0.0, 10.5, 30.0, 50.0, 70.0, 100.0, 130.0, 200.0]
    return st.sampled_from(each).map(lambda watts: max(idle + nodes * watts, 1.0))


@st.composite
def budget_rows(draw: st.DrawFn, machine: Machine, *, known: bool = False) -> list[BudgetRow]:
    """Up to four rows, in order of time; some end, some are announced; `known`: always known."""
    rows = []
    for time in sorted(
        draw(st.lists(st.integers(-3, 25), max_size=4) | st.lists(st.integers(1, 25), min_size=2, max_size=4))
    ):
        until = draw(st.none() | st.integers(time + 1, time + 20))
        announced = None if known else draw(st.none() | st.integers(time - 12, time))
        microseconds = [None if one is None else one * SECOND for one in (until, announced)]
        rows.append(BudgetRow(time * SECOND, draw(budgets(machine)), *microseconds))
    return rows


@st.composite
def powers(draw: st.DrawFn, machine: Machine, *, kind: str = "all") -> Power:
    """Budgets in time, and where no nodes sleep emergencies; where something can be capped also allocators.

    `kind`: `all` parameters, `foreseen` budgets without steps, or a `static` one.
    """
    own_w = draw(budgets(machine, ample=True))
    if kind == "static":
        return Power(Rules(own_w))
    stays_on = machine.sleep is None
    caps = allowed_caps(machine.draws) if stays_on else []
    levels = draw(st.lists(st.sampled_from(caps), min_size=1, unique=True).map(sorted)) if caps else None
    if levels is not None and machine.draws.model is None and draw(st.booleans()):
        levels = None  # the finite caps of the tables
    allocator = draw(st.sampled_from(["static", "uniform", "equal-slowdown"])) if caps else "static"
    chosen = draw(st.sampled_from(MEASURES)) if kind == "all" and stays_on else ()
    foresight = st.sampled_from([0, 0, 3 * SECOND, 10 * SECOND, inf])
    rules = Rules(
        budget_w=own_w,
        foresight=inf if kind == "foreseen" else draw(foresight),
        allocator=allocator,
        allocator_interval=0 if allocator == "static" else draw(st.sampled_from([0, 0, SECOND, 4 * SECOND])),
        caps_w=levels,
        slowdown_limit=draw(st.sampled_from([2.0, 1.0, 1.25, 1.3, 3.0])),
        on_excess=[step for step in chosen if caps or step != "lower-caps"],
        victims=draw(st.sampled_from(["newest", "lowest-priority"])),
        monitor_interval=draw(st.sampled_from([0, 0, SECOND, 3 * SECOND])) if chosen else 0,
        max_requeues=draw(st.sampled_from([3, 0, 1])),
    )
    return Power(rules, draw(budget_rows(machine, known=kind == "foreseen")))


VAHRMS = st.builds(
    Vahrm,
    beta=st.sampled_from([0.0, 0.25**6, 1 / 64, 0.5, 1.0]),
    by_walltime=st.booleans(),
    starvation_limit=st.sampled_from([inf, 0, 4 * SECOND, 4 * SECOND, 9_500_000]),
)
RATIOS = st.sampled_from([1.05, 1.5])


def part_of(rules: Rules) -> dict[str, Any]:
    """The part as the engine takes it; what is at its default is not said."""
    default = Rules(rules.budget_w)
    seconds = {"foresight": "foresight_s", "allocator_interval": "allocator_interval_s"}
    seconds |= {"monitor_interval": "monitor_interval_s"}
    said: dict[str, Any] = {"name": "system-budget", "budget_w": rules.budget_w}
    for name, value in vars(rules).items():
        if name in seconds and value != getattr(default, name):
            said[seconds[name]] = "all" if value == inf else value / SECOND
        elif value not in (getattr(default, name), []):
            said[name] = list(value) if name in ("caps_w", "on_excess") else value
    return said
