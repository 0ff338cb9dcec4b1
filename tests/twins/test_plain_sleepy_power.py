"""Nodes that sleep under a budget against their twin in plain Python: starts, ends, steps of nodes, and the energy."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, isclose
from typing import Any

import hypothesis.strategies as st
import numpy as np
import polars as pl
import pytest
from hypothesis import given, note
from machine_cases import sleeps
from plain_machine import Sleep
from plain_power_machine import SECOND, Job, Machine, ceiling
from plain_power_plan import BudgetRow
from plain_power_records import JOULE, ORDERS, Rules
from plain_sleepy_power import SleepyPower, Switch
from power_agreement import is_same, microseconds
from power_cases import budget_rows, events_of, platform_of, policy_of, tables, traces, workload_of, wrong

import hetsched as hs
from hetsched.testing import check_schedule

pytestmark = pytest.mark.filterwarnings("ignore::hetsched.errors.RunWarning")


@dataclass(frozen=True)
class SleepyCase:
    """Input of the twin, and the sleep part as the engine takes it."""

    jobs: list[Job]
    machine: Machine
    switches: list[Switch]
    numbers: Sleep
    far: float | None
    rules: Rules
    rows: list[BudgetRow]
    part: dict[str, Any]

    def twin(self) -> SleepyPower:
        return SleepyPower(self.jobs, self.machine, self.switches, self.numbers, self.far, self.rules, self.rows).run()

    def simulated(self, **given: Any) -> hs.Result:
        events = events_of(self.rows)
        told = given if events is None else {**given, "events": events}
        policy = policy_of(self.rules)
        policy = hs.Policy(**{**policy.parts, "sleep": self.part})
        workload, platform = workload_of(self.jobs), self.platform()
        result = hs.simulate(workload, platform, policy, **told)
        check_schedule(result, workload, platform, events=events)
        return result

    def platform(self) -> hs.Platform:
        """One class a node, as switches differ."""
        plain = platform_of(self.machine)
        classes = [
            hs.NodeClass(
                name=f"n{k}",
                count=1,
                idle_w=self.machine.idle_w[k],
                tdp_w=400.0,
                off_w=one.off_w,
                boot_w=one.boot_w,
                shutdown_w=one.shutdown_w,
                boot_s=one.boot / SECOND,
                shutdown_s=one.shutdown / SECOND,
            )
            for k, one in enumerate(self.switches)
        ]
        return hs.Platform(classes, actual=plain.actual, predicted=plain.predicted)


@st.composite
def cases(draw: st.DrawFn, *, exact: bool = False, equal: bool = False) -> SleepyCase:
    """Two to six nodes, alike or not; budgets that bind, in time or not."""
    nodes = draw(st.integers(2, 6))
    alike = equal or draw(st.booleans())
    watts = st.sampled_from([0.0, 50.0, 60.25])
    idle_w = [draw(watts)] * nodes if alike else draw(st.lists(watts, min_size=nodes, max_size=nodes))
    actual = draw(tables(nodes, [], equal=equal))
    machine = Machine(idle_w, actual, actual if exact else draw(st.just(actual) | wrong(actual)))
    boot, shutdown = draw(st.sampled_from([0, 1, 5])), draw(st.sampled_from([0, 2, 4]))
    switch = st.builds(
        Switch,
        st.sampled_from([0.0, 5.5, 20.0, 60.25]),
        st.sampled_from([0.0, 30.0, 60.25, 90.0, 150.0]),
        st.sampled_from([0.0, 30.0, 60.25, 120.0]),
        st.just(boot * SECOND),
        st.just(shutdown * SECOND),
    )
    switches = [draw(switch)] * nodes if alike else draw(st.lists(switch, min_size=nodes, max_size=nodes))
    sleep = draw(sleeps(nodes, boot, shutdown))
    far = None if sleep.part["estimated_off_s"] == "break-even" else sleep.far
    part = {"name": draw(st.sampled_from(["timeout", "planned", "nqsv"])), **sleep.part}
    most = max(one.beyond_idle(machine.idle(k)) for k, one in enumerate(switches)) / 1e12
    each = st.sampled_from([0.0, 10.5, 30.0, 50.0, 70.0, 100.0, 130.0, 200.0])
    own_w = max(sum(idle_w) + most + draw(each) * nodes, 1.0)
    rules = Rules(
        budget_w=own_w,
        depth=draw(st.sampled_from([None, 0, 1, 1, 2, inf])),
        order=draw(st.sampled_from(["fcfs", "fcfs", *ORDERS])),
        foresight=inf if exact else draw(st.sampled_from([0, 0, 3 * SECOND, 10 * SECOND, inf])),
    )
    rows = [row._replace(value_w=row.value_w + most) for row in draw(st.just([]) | budget_rows(machine, known=exact))]
    jobs = draw(traces(machine, walltimes=exact))
    return SleepyCase(jobs, machine, switches, sleep, far, rules, rows, part)


def states(jobs: pl.DataFrame) -> list[str]:
    """States of the jobs; no run gets as far as the budget that rejects a job which fits between no two of them."""
    fits_never = jobs["reason"].fill_null("").str.starts_with("fits between no two changes")
    pairs = zip(jobs["state"], fits_never, strict=True)
    return ["rejected" if never and state == "pending" else state for state, never in pairs]


@given(cases())
def test_nodes_that_sleep_under_a_budget_agree_with_their_twin(case: SleepyCase) -> None:
    note(repr(case))
    twin, result = case.twin(), case.simulated()
    jobs = result.jobs.sort("job_id")
    columns = [*(microseconds(jobs[name]) for name in ("start_s", "end_s")), states(jobs), jobs["started_by"]]
    engine = list(zip(*columns, jobs["nodes"].to_list(), jobs["energy_j"].fill_null(0.0), strict=True))
    tasks = [(one.start, one.end, one.state, one.started_by, one.nodes, one.energy / JOULE) for one in twin.tasks]
    for k, (theirs, own) in enumerate(zip(engine, tasks, strict=True)):
        assert is_same(theirs, own), f"job {k}: the engine says {theirs}, the twin {own}"
    steps = result.events.filter(result.events["kind"].is_in(["wake", "ready", "sleep", "off"]))
    # What happens once all is over is none of the run's business.
    last = max((one.end for one in twin.tasks if one.end is not None), default=-1)
    told = sorted(
        zip(microseconds(steps["time_s"]), steps["node"], steps["kind"], strict=True), key=lambda row: row[:2]
    )
    ours = sorted(((at, node, kind) for at, kind, node in twin.events), key=lambda row: row[:2])
    assert [row for row in told if row[0] <= last] == [row for row in ours if row[0] <= last]
    assert isclose(result.summary()["energy_j"], twin.energy / JOULE, rel_tol=1e-9, abs_tol=1e-9)


# What the page promises.


@given(cases(exact=True))
def test_with_exact_predictions_the_machine_never_draws_more_than_a_budget_that_is_foreseen(case: SleepyCase) -> None:
    note(repr(case))
    twin, result = case.twin(), case.simulated()
    ends = [*(time for time, _ in twin.draws[1:]), twin.now]
    for (time, drawn), end in zip(twin.draws, ends, strict=bool(twin.draws)):
        inner = [time, *(at for at in twin.budget.ends() if time < at < end)] if end > time else []
        assert all(drawn <= ceiling(twin.budget.watts(at)) for at in inner)
    assert result.summary()["over_budget_s"] == 0.0


@given(cases())
def test_no_job_waits_for_ever_and_no_instant_is_endless(case: SleepyCase) -> None:
    note(repr(case))
    result = case.simulated()
    assert set(states(result.jobs)) <= {"completed", "timeout", "rejected"}
    if not case.rows:
        awake = hs.simulate(workload_of(case.jobs), case.platform(), policy_of(case.rules))
        assert (result.jobs["state"] == "rejected").to_list() == (awake.jobs["state"] == "rejected").to_list()
    at = np.unique(result.events.filter(result.events["kind"] == "wake")["time_s"].to_numpy(), return_counts=True)[1]
    assert at.max(initial=0) <= 4 * len(case.switches) * len(case.jobs)


@given(cases(equal=True))
def test_where_switching_costs_nothing_a_run_is_one_without_sleep(case: SleepyCase) -> None:
    """Off, booting and shutting down as idle, and at once: the same starts and the same energy."""
    note(repr(case))
    idle_w = case.machine.idle_w[0]
    switch = Switch(idle_w, idle_w, idle_w, 0, 0)
    part = {**case.part, "start_margin_s": "actual", "stop_margin_s": "actual"}
    free = SleepyCase(
        case.jobs, case.machine, [switch] * len(case.switches), case.numbers, 0, case.rules, case.rows, part
    )
    asleep = free.simulated()
    told = {} if not case.rows else {"events": events_of(case.rows)}
    awake = hs.simulate(workload_of(case.jobs), free.platform(), policy_of(case.rules), **told)
    names = ["job_id", "start_s", "end_s", "state"]
    assert asleep.jobs.select(names).equals(awake.jobs.select(names))
    assert isclose(asleep.summary()["energy_j"], awake.summary()["energy_j"], rel_tol=1e-12)
