"""Small scenarios of power in time, drawn at random, and each of them as the engine takes it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil, inf
from typing import Any

import hypothesis.strategies as st
import numpy as np
import polars as pl
from plain_power import Run, schedule
from plain_power_machine import SECOND, Job, Machine, Model, Row, Tables
from plain_power_plan import BudgetRow
from plain_power_records import ORDERS, Rules

import hetsched as hs

APPS = ("heat", "flow", "grid")
TDP_W = 400.0
STEPS = ("lower-caps", "suspend", "requeue", "kill")
MEASURES = ((), STEPS[:1], STEPS[1:2], STEPS[2:3], STEPS[3:], STEPS[:2], STEPS[0::2], STEPS[1:3], STEPS[2:], STEPS)


@dataclass(frozen=True)
class Case:
    """A scenario: what the twin takes, and what can be told to the engine."""

    jobs: list[Job]
    machine: Machine
    rules: Rules
    rows: list[BudgetRow]

    def twin(self) -> Run:
        return schedule(self.jobs, self.machine, self.rules, self.rows)

    @property
    def has_exact_predictions(self) -> bool:
        return self.machine.actual == self.machine.predicted


# Drawn at random.

SPANS = st.sampled_from([0, 1, 3, 5, 8, 13, 13, 21])
FACTORS = st.sampled_from([1.0, 1.0, 1.1, 1.25, 1.3333333, 2.0])


@st.composite
def rows_under(draw: st.DrawFn, nodes: int, without: Row | None, cap: float) -> Row:
    """Watts and factors under a cap: as a rule less and slower than without one, now and then anything."""
    equal = draw(st.booleans())
    size = 1 if equal else nodes
    watts = draw(
        st.lists(st.sampled_from([40.0, 120.0, 150.0, 200.0, 200.0, 210.5, 260.0]), min_size=size, max_size=size)
    )
    factors = draw(st.lists(FACTORS, min_size=size, max_size=size))
    watts, factors = (watts * nodes, factors * nodes) if equal else (watts, factors)
    if without is None or draw(st.integers(0, 7)) == 0:
        return watts, factors
    slower = [factor * one for factor, one in zip(factors, without[1], strict=True)]
    return [min(cap, one) for one in without[0]], slower


@st.composite
def tables(draw: st.DrawFn, nodes: int, caps: Sequence[float], *, equal: bool = False) -> Tables:
    """A row for each application under each cap and under none."""
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
def machines(draw: st.DrawFn, *, equal: bool = False, exact: bool = False) -> Machine:
    """Two to six nodes, with tables by cap, with a model, or without caps."""
    nodes = draw(st.integers(2, 6))
    unlike = [] if equal else [st.lists(st.sampled_from([0.0, 50.0, 60.25]), min_size=nodes, max_size=nodes)]
    idle_w = draw(st.one_of(st.sampled_from([0.0, 50.0]).map(lambda watts: [watts] * nodes), *unlike))
    kind = draw(st.sampled_from(["by-cap", "by-cap", "model", "plain"]))
    caps = draw(st.sampled_from([[100.0, 150.0], [100.0], [110.0, 150.0, 205.0]])) if kind == "by-cap" else []
    actual = draw(tables(nodes, caps, equal=equal))
    predicted = actual if exact or draw(st.booleans()) else draw(wrong(actual))
    if kind == "model" and draw(st.booleans()):
        actual, predicted = of_one_row(actual), of_one_row(predicted)
    return Machine(idle_w, actual, predicted, draw(MODELS) if kind == "model" else None)


def allowed_caps(machine: Machine) -> list[float]:
    """Caps that no table and no model refuses, ascending; none where there is neither."""
    finite = sorted(cap for cap in machine.actual if cap < inf)
    if machine.model is None:
        return sorted({*finite, *(cap + 20.0 for cap in finite)})
    draws = [watts for table in (machine.actual, machine.predicted) for row in table[inf].values() for watts in row[0]]
    least = float(ceil(max(machine.model.at_speed(watts, machine.model.least_speed_ratio) for watts in draws)))
    return [least, least + 20.5, least + 60.0, least + 100.0]


@st.composite
def traces(draw: st.DrawFn, machine: Machine, *, walltimes: bool = False) -> list[Job]:
    """Equal times, kills, zero lengths, own caps, and jobs that are too large abound."""
    nodes = len(machine.idle_w)
    margins = [-2, 0, 0, 1, 4, 20] if walltimes else [None, None, None, -2, 0, 0, 1, 4, 20]
    own = (
        st.one_of(st.none(), st.none(), st.sampled_from(allowed_caps(machine))) if allowed_caps(machine) else st.none()
    )

    def job(submit: int, runtime: int, count: int, margin: int | None, app: str, cap_w: float | None, comm: int) -> Job:
        walltime = None if margin is None else max(1, runtime + comm + margin) * SECOND
        return Job(submit * SECOND, runtime * SECOND, count, walltime, app, cap_w, comm * SECOND)

    counts = st.one_of(st.integers(1, max(1, nodes // 2)), st.integers(1, nodes), st.integers(1, nodes + 1))
    jobs = st.builds(
        job,
        st.integers(0, 12),
        SPANS,
        counts,
        st.sampled_from(margins),
        st.sampled_from(APPS),
        own,
        st.sampled_from([0, 0, 0, 2]),
    )
    return draw(st.lists(jobs, min_size=1, max_size=12) | st.lists(jobs, min_size=5, max_size=12))


def budgets(machine: Machine, *, ample: bool = False) -> st.SearchStrategy[float]:
    """From the idle machine's draw on to where it can hardly bind; `ample`: so that most jobs can run."""
    idle, nodes = sum(machine.idle_w) + sum(machine.beside_w), len(machine.idle_w)
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
def policies(draw: st.DrawFn, machine: Machine, *, steps: bool = True) -> Rules:
    """All parameters; allocators where something can be capped."""
    caps = allowed_caps(machine)
    levels = draw(st.lists(st.sampled_from(caps), min_size=1, unique=True).map(sorted)) if caps else None
    if levels is not None and machine.model is None and draw(st.booleans()):
        levels = None  # the finite caps of the tables
    allocator = draw(st.sampled_from(["static", "uniform", "equal-slowdown"])) if caps else "static"
    chosen = draw(st.sampled_from(MEASURES)) if steps else ()
    return Rules(
        budget_w=draw(budgets(machine, ample=True)),
        depth=draw(st.sampled_from([None, 0, 1, 1, 2, inf])),
        order=draw(st.sampled_from(["fcfs", "fcfs", *ORDERS])),
        foresight=draw(st.sampled_from([0, 0, 3 * SECOND, 10 * SECOND, inf])),
        allocator=allocator,
        allocator_interval=0 if allocator == "static" else draw(st.sampled_from([0, 0, SECOND, 4 * SECOND])),
        caps_w=levels,
        slowdown_limit=draw(st.sampled_from([2.0, 1.0, 1.25, 1.3, 3.0])),
        on_excess=[step for step in chosen if caps or step != "lower-caps"],
        victims=draw(st.sampled_from(["newest", "lowest-priority"])),
        monitor_interval=draw(st.sampled_from([0, 0, SECOND, 3 * SECOND])) if chosen else 0,
        max_requeues=draw(st.sampled_from([3, 0, 1])),
    )


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Everything that the rules speak of."""
    machine = draw(machines())
    return Case(draw(traces(machine)), machine, draw(policies(machine)), draw(budget_rows(machine)))


@st.composite
def analyzed_cases(draw: st.DrawFn) -> Case:
    """An analyzer says what jobs draw and how caps slow them: something else than what they do."""
    nodes = draw(st.integers(2, 6))
    watts = st.fixed_dictionaries(dict.fromkeys(APPS, st.sampled_from([120.0, 150.0, 200.0, 200.0, 210.5, 260.0])))
    ours, theirs = (
        {inf: {app: ([each] * nodes, [1.0] * nodes) for app, each in draw(watts).items()}} for _ in range(2)
    )
    model = replace(draw(MODELS), bound_ratio=draw(BY_APP))
    idle_w = draw(st.lists(st.sampled_from([0.0, 50.0, 60.25]), min_size=nodes, max_size=nodes))
    machine = Machine(idle_w, ours, theirs, model, replace(model, bound_ratio=draw(BY_APP)))
    # A job is planned for a microsecond at least where it is an analyzer that says how long.
    jobs = [replace(job, walltime=None, comm=0, runtime=max(job.runtime, SECOND)) for job in draw(traces(machine))]
    return Case(jobs, machine, draw(policies(machine)), draw(budget_rows(machine)))


PROFILES = st.lists(st.sampled_from([60.0, 120.0, 150.0, 200.0, 260.0, 310.5]), min_size=1, max_size=6).map(tuple)


@st.composite
def profiled_cases(draw: st.DrawFn) -> Case:
    """Draws that were measured in time, of which decisions know a mean, and not the right one."""
    nodes = draw(st.integers(2, 6))
    watts = draw(st.fixed_dictionaries(dict.fromkeys(APPS, st.sampled_from([120.0, 150.0, 200.0, 210.5, 260.0]))))
    tables: Tables = {inf: {app: ([each] * nodes, [1.0] * nodes) for app, each in watts.items()}}
    idle_w = draw(st.lists(st.sampled_from([0.0, 50.0, 60.25]), min_size=nodes, max_size=nodes))
    machine = Machine(idle_w, tables, tables, draw(st.none() | MODELS))
    profiles, intervals = PROFILES | PROFILES | st.just(()), st.sampled_from([SECOND, 3 * SECOND, 1_333_333])
    jobs = [replace(job, profile_w=draw(profiles), interval=draw(intervals)) for job in draw(traces(machine))]
    return Case(jobs, machine, draw(policies(machine)), draw(budget_rows(machine)))


@st.composite
def plain_cases(draw: st.DrawFn) -> Case:
    """A budget that never changes, and nothing that caps: what was there before."""
    nodes = draw(st.integers(2, 6))
    actual = draw(tables(nodes, []))
    idle_w = draw(st.lists(st.sampled_from([0.0, 50.0, 60.25]), min_size=nodes, max_size=nodes))
    machine = Machine(idle_w, actual, draw(st.just(actual) | wrong(actual)))
    rules = Rules(
        draw(budgets(machine)), draw(st.sampled_from([None, 0, 1, 2, inf])), draw(st.sampled_from(list(ORDERS)))
    )
    return Case(draw(traces(machine)), machine, rules, [])


@st.composite
def clairvoyant_cases(draw: st.DrawFn) -> Case:
    """Equal nodes, exact predictions, walltimes, and a budget of which all is known: where promises hold."""
    machine = draw(machines(equal=True, exact=True))
    given = draw(policies(machine, steps=False))
    rules = Rules(**{**vars(given), "order": "fcfs", "depth": draw(st.sampled_from([1, 2, inf])), "foresight": inf})
    return Case(draw(traces(machine, walltimes=True)), machine, rules, draw(budget_rows(machine, known=True)))


# As the engine takes it.


def seconds(ticks: int | None) -> float | None:
    return None if ticks is None else ticks / SECOND


def workload_of(jobs: Sequence[Job], drawn_w: dict[str, float] | None = None) -> hs.Workload:
    """Job k of the twin, counted from 0, is job k + 1; `drawn_w`: what jobs bring as their own draw, by application."""
    rows = [
        (k, seconds(j.submit), seconds(j.runtime), j.node_count, seconds(j.walltime), j.app, j.cap_w, seconds(j.comm))
        for k, j in enumerate(jobs, start=1)
    ]
    schema = {
        "job_id": pl.Int64,
        "submit_s": pl.Float64,
        "runtime_s": pl.Float64,
        "node_count": pl.Int64,
        "walltime_s": pl.Float64,
        "app": pl.String,
        "cap_w": pl.Float64,
        "comm_s": pl.Float64,
    }
    frame = pl.DataFrame(rows, schema=schema, orient="row")
    if drawn_w is not None:
        frame = frame.with_columns(power_w=pl.Series([drawn_w[job.app] for job in jobs], dtype=pl.Float64))
    if any(job.profile_w for job in jobs):
        frame = frame.with_columns(
            power_profile=pl.Series([list(job.profile_w) or None for job in jobs], dtype=pl.List(pl.Float64)),
            power_profile_s=pl.Series([seconds(job.interval) for job in jobs], dtype=pl.Float64),
        )
    return hs.Workload.from_polars(frame if frame["cap_w"].count() else frame.drop("cap_w"))


def table_of(by_app: dict[str, Row], *, is_one_row: bool) -> hs.VariationTable:
    by_app = {"*": by_app[APPS[0]]} if is_one_row else by_app
    watts, factors = (np.array([row[k] for row in by_app.values()]) for k in (0, 1))
    return hs.VariationTable(list(by_app), power_w=watts, time_ratio=factors)


def platform_of(machine: Machine, *, without_tables: bool = False) -> hs.Platform:
    """Predicted tables only where they differ."""
    platform = hs.Platform.homogeneous(nodes=len(machine.idle_w), idle_w=machine.idle_w, tdp_w=TDP_W)
    if machine.believed is not None:
        return with_model(platform, machine)
    if without_tables:
        return platform if machine.model is None else with_model(platform, machine)
    tables = machine.actual, machine.predicted
    is_one_row = all(one == of_one_row(one) for one in tables)
    both: list[Any] = [
        {cap: table_of(by_app, is_one_row=is_one_row) for cap, by_app in sorted(one.items())} for one in tables
    ]
    if len(machine.actual) == 1:
        both = [one[inf] for one in both]
    exact = machine.actual == machine.predicted
    platform = platform.with_tables(actual=both[0], predicted=None if exact else both[1])
    return platform if machine.model is None else with_model(platform, machine)


def with_model(platform: hs.Platform, machine: Machine) -> hs.Platform:
    model = {name: value for name, value in vars(machine.model).items() if value is not None}
    return platform.with_cap_model(**model)


class Believer:
    """The analyzer of `analyzed_cases`: right about run times, and about nothing else."""

    def __init__(self, case: Case) -> None:
        self._runtime_s = {k: job.runtime / SECOND for k, job in enumerate(case.jobs, start=1)}
        self._draw_w = drawn_w(case.machine.predicted)
        assert case.machine.believed is not None
        self._bound_ratio = case.machine.believed.bound

    def estimate(self, jobs: Any, view: Any) -> list[float]:
        return [self._runtime_s[job_id] for job_id in jobs.job_id]

    def draws(self, jobs: Any, view: Any) -> list[float]:
        return [self._draw_w[view.apps[app]] for app in jobs.app]

    def bound_ratios(self, jobs: Any, view: Any) -> list[float]:
        return [self._bound_ratio(view.apps[app]) for app in jobs.app]


def drawn_w(tables: Tables) -> dict[str, float]:
    """Watts by application, where nodes are alike."""
    return {app: watts[0] for app, (watts, _) in tables[inf].items()}


def policy_of(rules: Rules) -> hs.Policy:
    """What is at its default is not said."""
    given: dict[str, Any] = {
        "foresight_s": "all" if rules.foresight == inf else rules.foresight / SECOND,
        "allocator": rules.allocator,
        "allocator_interval_s": rules.allocator_interval / SECOND,
        "caps_w": None if rules.caps_w is None else list(rules.caps_w),
        "slowdown_limit": rules.slowdown_limit,
        "on_excess": list(rules.on_excess),
        "victims": rules.victims,
        "monitor_interval_s": rules.monitor_interval / SECOND,
        "max_requeues": rules.max_requeues,
    }
    default = Rules(0.0)
    defaults = {
        "foresight_s": 0.0,
        "allocator_interval_s": 0.0,
        "monitor_interval_s": 0.0,
        "on_excess": [],
        **{
            name: getattr(default, name)
            for name in ("allocator", "caps_w", "slowdown_limit", "victims", "max_requeues")
        },
    }
    said = {name: value for name, value in given.items() if value != defaults[name]}
    return hs.Policy.from_dict(
        {
            "order": rules.order,
            "backfill": backfill_of(rules.depth),
            "placement": "lowest-id",
            "power": {"name": "system-budget", "budget_w": rules.budget_w, **said},
        }
    )


def backfill_of(depth: float | None) -> Any:
    if depth is None or depth == 0:
        return "none" if depth is None else "first-fit"
    return {"name": "reservations", "depth": "unbounded" if depth == inf else int(depth)}


def events_of(rows: Sequence[BudgetRow]) -> Any:
    """An `hs.Events`; None if there are no rows."""
    if not rows:
        return None
    columns = {
        "time_s": [seconds(row.time) for row in rows],
        "kind": ["budget"] * len(rows),
        "value": [row.value_w for row in rows],
        "until_s": pl.Series([seconds(row.until) for row in rows], dtype=pl.Float64),
        "announced_s": pl.Series([seconds(row.announced) for row in rows], dtype=pl.Float64),
    }
    return hs.Events.from_polars(pl.DataFrame(columns))


def simulated(case: Case) -> hs.Result:
    """The engine's answer."""
    events = events_of(case.rows)
    told: dict[str, Any] = {} if events is None else {"events": events}
    own, policy = None, policy_of(case.rules)
    if case.machine.believed is not None:
        own = drawn_w(case.machine.actual)
        policy = hs.Policy(**{**policy.parts, "analyzer": Believer(case)})
    is_measured = any(job.interval for job in case.jobs)
    own = drawn_w(case.machine.actual) if is_measured else own
    platform = platform_of(case.machine, without_tables=is_measured)
    return hs.simulate(workload_of(case.jobs, own), platform, policy, **told)
