"""Parts in Python against named ones that do the same: the same schedules, start by start."""

from __future__ import annotations

import itertools
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from own_parts import AllInOrder, Easy, FirstFit, LowestId, micros

import hetsched as hs
from hetsched.testing import check_schedule, platforms, workloads

pytestmark = pytest.mark.filterwarnings("ignore::hetsched.errors.LoadWarning")


FEW = settings(max_examples=settings().max_examples // 2)


class ByColumn:
    """Ranks by a function of the columns."""

    def __init__(self, rank: Any, changes: Any = "never") -> None:
        self._rank = rank
        self.changes = changes

    def rank(self, jobs: Any, view: Any) -> Any:
        return self._rank(jobs, view)


def wfp3(jobs: Any, view: Any) -> Any:
    ratio = (micros(view.now_s) - micros(jobs.submit_s)) / np.maximum(micros(jobs.planned_s), 1)
    return -(ratio * ratio * ratio) * jobs.node_count


def vahrm(jobs: Any, view: Any) -> Any:
    """Equation 1 of the paper with beta 0.01: the wait has become the submit."""
    watts = np.array([view.predicted_w(app).mean() for app in jobs.app])
    return -(0.01 * (watts * jobs.node_count * jobs.planned_s) - (1.0 - 0.01) * jobs.submit_s)


ORDERS: dict[str, tuple[Any, ByColumn]] = {
    "fcfs": ("fcfs", ByColumn(lambda jobs, _: np.zeros(len(jobs)))),
    "fcfs by submit": ("fcfs", ByColumn(lambda jobs, _: jobs.submit_s)),
    "shortest": ("shortest", ByColumn(lambda jobs, _: jobs.planned_s)),
    "longest": ("longest", ByColumn(lambda jobs, _: -jobs.planned_s)),
    "smallest": ("smallest", ByColumn(lambda jobs, _: jobs.node_count)),
    "largest": ("largest", ByColumn(lambda jobs, _: [-count for count in jobs.node_count])),
    "smallest-area": ("smallest-area", ByColumn(lambda jobs, _: jobs.node_count * micros(jobs.planned_s))),
    "wfp3": ("wfp3", ByColumn(wfp3, "each-pass")),
    "vahrm": ({"name": "vahrm", "beta": 0.01, "length": "walltime"}, ByColumn(vahrm)),
    "vahrm, ranked again": ({"name": "vahrm", "beta": 0.01, "length": "walltime"}, ByColumn(vahrm, "each-pass")),
    "shortest, every 3 s": ("shortest", ByColumn(lambda jobs, _: jobs.planned_s, 3)),
}
BUDGETS = [None, {"name": "system-budget", "pcr": 0.6}, {"name": "system-budget", "pcr": 0.45}]


def inputs(data: st.DataObject, *, tables: bool | None = None) -> tuple[hs.Workload, hs.Platform]:
    slots = data.draw(st.sampled_from([1, 3]))
    jobs = data.draw(workloads(max_slots=slots, max_nodes=4)).to_polars()
    # What is known of a job's own draw enters the named part by the class of the job, rounded there.
    jobs = jobs.drop("power_w", strict=False)
    return hs.Workload.from_polars(jobs), data.draw(platforms(max_slots=slots, max_nodes=4, tables=tables))


def same(workload: hs.Workload, platform: hs.Platform, named: Any, own: Any) -> None:
    one, other = hs.simulate(workload, platform, named), hs.simulate(workload, platform, own)
    check_schedule(other, workload, platform)
    assert other.jobs.equals(one.jobs)
    assert other.timeline.equals(one.timeline)


@pytest.mark.parametrize("order", ORDERS)
@FEW
@given(data=st.data())
def test_an_order(order: str, data: st.DataObject) -> None:
    named, own = ORDERS[order]
    beside = {
        "backfill": data.draw(st.sampled_from(["none", "first-fit", "reservations", "patience"])),
        "power": data.draw(st.sampled_from(BUDGETS)),
    }
    workload, platform = inputs(data)
    same(workload, platform, hs.Policy(order=named, **beside), hs.Policy(order=own, **beside))


class LowestPower:
    """Twin of the part `lowest-power`."""

    def choose(self, job: Any, free: Any, view: Any) -> Any:
        watts = view.predicted_w(job.app)[free]
        return free[np.argsort(watts, kind="stable")[: job.node_count]]


@pytest.mark.parametrize(("named", "own"), [("lowest-id", LowestId()), ("lowest-power", LowestPower())])
@FEW
@given(data=st.data())
def test_a_placement(named: str, own: Any, data: st.DataObject) -> None:
    beside = {
        "order": data.draw(st.sampled_from(["fcfs", "wfp3", "vahrm"])),
        "backfill": data.draw(st.sampled_from(["none", "first-fit", "reservations"])),
        "power": data.draw(st.sampled_from(BUDGETS)),
    }
    workload, platform = inputs(data)
    same(workload, platform, hs.Policy(placement=named, **beside), hs.Policy(placement=own, **beside))


@FEW
@given(data=st.data())
def test_a_backfill(data: st.DataObject) -> None:
    beside = {
        "order": data.draw(st.sampled_from(["fcfs", "wfp3", "vahrm"])),
        "placement": data.draw(st.sampled_from(["lowest-id", "lowest-power"])),
        "power": data.draw(st.sampled_from(BUDGETS)),
    }
    workload, platform = inputs(data)
    same(workload, platform, hs.Policy(backfill="first-fit", **beside), hs.Policy(backfill=AllInOrder(), **beside))


@given(data=st.data())
def test_easy(data: st.DataObject) -> None:
    order = data.draw(st.sampled_from(["fcfs", "shortest", "wfp3"]))
    workload = data.draw(workloads(max_nodes=4))
    platform = data.draw(platforms(max_nodes=4))
    same(workload, platform, hs.Policy(order, "reservations"), hs.Policy(order, Easy()))


@FEW
@given(data=st.data())
def test_a_whole_scheduler(data: st.DataObject) -> None:
    workload, platform = inputs(data)
    same(workload, platform, hs.Policy(backfill="first-fit"), FirstFit())


class Blocking(FirstFit):
    """First come, first served: a job that does not fit blocks all behind it."""

    def decide(self, view: Any) -> Any:
        starts = zip(super().decide(view), view.queue.job_id, strict=False)
        return [start for start, _ in itertools.takewhile(lambda pair: pair[0][0] == pair[1], starts)]


@FEW
@given(data=st.data())
def test_a_whole_scheduler_without_backfilling(data: st.DataObject) -> None:
    workload, platform = inputs(data)
    same(workload, platform, "fcfs", Blocking())
