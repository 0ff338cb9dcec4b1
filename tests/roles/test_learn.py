"""`learn`: objects in any role get the jobs that have ended, once, before they are asked."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings

import hetsched as hs
from hetsched.testing import conformance, workloads

pytestmark = pytest.mark.filterwarnings("ignore::hetsched.errors.RunWarning")

JOBS = pl.DataFrame(
    {
        "job_id": [1, 2, 3, 4],
        "submit_s": [0, 0, 10, 500],
        "runtime_s": [100, 40, 50, 5],
        "walltime_s": [100, 40, 30, 5],
        "node_count": [1, 1, 2, 1],
        "user": ["ann", "bo", "ann", None],
    }
)


class Told:
    """Notes of what it is given and asked; a run works on the object itself."""

    def __init__(self) -> None:
        self.told: list[tuple[Any, ...]] = []
        self.asked_s: list[float] = []
        self.calls: list[float] = []

    def fork(self) -> Any:
        return self

    def learn(self, ended: Any, view: Any) -> None:
        self.calls.append(view.now_s)
        columns = (ended.job_id, ended.start_s, ended.end_s, ended.runtime_s, ended.used_node_s, ended.requeued)
        self.told += zip(*(column.tolist() for column in columns), strict=True)

    def note(self, view: Any) -> None:
        # Nothing that had ended before this instant is untold.
        self.asked_s.append(view.now_s)


class TellsOrder(Told):
    changes = "each-pass"

    def rank(self, jobs: Any, view: Any) -> Any:
        self.note(view)
        return jobs.submit_s


class TellsBackfill(Told):
    def select(self, queue: Any, view: Any) -> Any:
        self.note(view)
        return queue.job_id


class TellsPlacement(Told):
    def choose(self, job: Any, free: Any, view: Any) -> Any:
        self.note(view)
        return free[: job.node_count]


class TellsScheduler(Told):
    def decide(self, view: Any) -> Any:
        self.note(view)
        free, starts = view.free, []
        for job_id, count in zip(view.queue.job_id, view.queue.node_count, strict=True):
            if count <= len(free):
                starts.append((job_id, free[:count]))
                free = free[count:]
        return starts


class TellsAnalyzer(Told):
    def estimate(self, jobs: Any, view: Any) -> Any:
        self.note(view)
        return jobs.planned_s


class TellsSizing(Told):
    def sizes(self, queue: Any, watts: float, view: Any) -> Any:
        self.note(view)
        return queue.asked_nodes


class TellsMonitor(Told):
    def read(self, draw_w: float, view: Any) -> float:
        self.note(view)
        return draw_w


class TellsSleep(Told):
    def rest(self, nodes: Any, view: Any) -> Any:
        self.note(view)
        return []


class TellsAllocator(Told):
    least_cap_w = 200.0

    def allot(self, runs: Any, watts: float, view: Any) -> Any:
        self.note(view)
        return np.full(len(runs), math.inf)


BUDGET = {"name": "system-budget", "budget_w": 900}
POLICIES = {
    "order": (TellsOrder, lambda part: hs.Policy(part, "first-fit")),
    "backfill": (TellsBackfill, lambda part: hs.Policy(backfill=part)),
    "placement": (TellsPlacement, lambda part: hs.Policy(backfill="first-fit", placement=part)),
    "scheduler": (TellsScheduler, lambda part: hs.Policy(scheduler=part)),
    "analyzer": (TellsAnalyzer, lambda part: hs.Policy(backfill="first-fit", analyzer=part)),
    "sizing": (TellsSizing, lambda part: hs.Policy(backfill={"name": "first-fit", "sizing": part})),
    "monitor": (
        TellsMonitor,
        lambda part: hs.Policy(backfill="first-fit", power={**BUDGET, "on_excess": ["suspend"], "monitor": part}),
    ),
    "allocator": (TellsAllocator, lambda part: hs.Policy(backfill="first-fit", power={**BUDGET, "allocator": part})),
    "sleep": (TellsSleep, lambda part: hs.Policy(backfill="first-fit", sleep=part)),
}


def platform(nodes: int = 2) -> hs.Platform:
    plain = hs.Platform.homogeneous(nodes=nodes, idle_w=100, tdp_w=400, boot_s=0, shutdown_s=0, off_w=0)
    return plain.with_cap_model(static_ratio=0.3)


@pytest.mark.parametrize("role", POLICIES)
def test_an_object_learns_what_has_ended_before_it_is_asked(role: str) -> None:
    kind, policy = POLICIES[role]
    part = kind()
    hs.simulate(hs.Workload.from_polars(JOBS), platform(), policy(part))
    # Job 3 waits for both nodes and is killed after 30 s.
    expected = [
        (2, 0.0, 40.0, 40.0, 40.0, False),
        (1, 0.0, 100.0, 100.0, 100.0, False),
        (3, 100.0, 130.0, 30.0, 60.0, False),
        (4, 500.0, 505.0, 5.0, 5.0, False),
    ]
    assert part.told == expected
    assert part.calls == [end_s for _, _, end_s, *_ in part.told]
    assert part.asked_s


def test_an_object_in_several_roles_learns_once() -> None:
    class Both(TellsOrder, TellsBackfill, TellsPlacement, TellsAnalyzer):
        def __init__(self) -> None:
            super().__init__()
            self.copies: list[Any] = []

        def fork(self) -> Any:
            other = Both()
            other.told, other.copies = list(self.told), self.copies
            self.copies.append(other)
            return other

    part = Both()
    policy = hs.Policy(part, part, part, analyzer=part)
    session = hs.Session(hs.Workload.from_polars(JOBS), platform(), policy)
    session.step_until(60.0)
    fork = session.fork()
    assert session.run() == fork.run()
    # One copy for the session, one for its fork, and one for each result: never one for each role.
    assert len(part.copies) == 4
    for copy in part.copies:
        assert [row[0] for row in copy.told] == [2, 1, 3, 4]


def test_a_lost_attempt_is_reported_and_marked() -> None:
    part = TellsOrder()
    rows = pl.DataFrame({"time_s": [30, 35], "kind": ["node_failed", "node_repaired"], "node": [0, 0]})
    workload = hs.Workload.from_polars(JOBS.head(2))
    options = {"events": hs.Events.from_polars(rows), "on_failure": "requeue"}
    hs.simulate(workload, platform(), hs.Policy(part, "first-fit"), **options)
    assert part.told[:3] == [
        (1, 0.0, 30.0, 30.0, 30.0, True),
        (2, 0.0, 40.0, 40.0, 40.0, False),
        (1, 35.0, 135.0, 100.0, 100.0, False),
    ]


def test_what_was_used_is_what_ran_on_as_many_nodes_as_it_had() -> None:
    ranges = {"min_nodes": 1, "max_nodes": 4, "speedup": "linear", "malleable": True}
    frame = JOBS.select("job_id", "submit_s", "user").with_columns(runtime_s=100, node_count=2)
    workload = hs.Workload.from_polars(frame.with_columns(**{name: pl.lit(value) for name, value in ranges.items()}))

    class Shares(Told):
        def sizes(self, queue: Any, watts: float, view: Any) -> Any:
            return np.clip(len(view.free), queue.min_nodes, queue.max_nodes)

        def resizes(self, runs: Any, watts: float, view: Any) -> Any:
            share = (len(view.free) + runs.node_count.sum()) // (len(runs) + len(view.queue))
            return np.clip(share, runs.min_nodes, runs.max_nodes)

    part = Shares()
    four = hs.Platform.homogeneous(nodes=4, idle_w=100, tdp_w=300)
    result = hs.simulate(workload, four, hs.Policy(backfill={"name": "first-fit", "sizing": part}))
    assert {"grow", "shrink"} & set(result.events["kind"])
    segments = (
        result.segments.with_columns(used=(pl.col("end_s") - pl.col("start_s")) * pl.col("nodes").list.len())
        .group_by("job_id")
        .agg(pl.col("used").sum())
    )
    used = dict(segments.rows())
    for job_id, *_, used_node_s, _ in part.told:
        assert used_node_s == pytest.approx(used[job_id], rel=1e-12)


def test_time_in_which_a_job_was_suspended_is_not_used() -> None:
    part = TellsOrder()
    rows = pl.DataFrame({"time_s": [20.0], "until_s": [60.0], "kind": ["budget"], "value": [450.0]})
    policy = hs.Policy(part, "first-fit", power={**BUDGET, "on_excess": ["suspend"]})
    result = hs.simulate(hs.Workload.from_polars(JOBS.head(2)), platform(), policy, events=hs.Events.from_polars(rows))
    assert "suspended" in set(result.segments["state"])
    running = result.segments.filter(pl.col("state") == "running")
    used = running.with_columns(ran=pl.col("end_s") - pl.col("start_s")).group_by("job_id").agg(pl.col("ran").sum())
    ran = dict(used.rows())
    assert [(job_id, ran_s, used_node_s) for job_id, _, _, ran_s, used_node_s, _ in part.told] == [
        (job_id, ran[job_id], ran[job_id]) for job_id, *_ in part.told
    ]
    assert part.told


class FairShare:
    """The order `fair-share`, by what `learn` gives and what is seen to run."""

    changes = "each-pass"

    def __init__(self, half_life_s: float = 604_800.0) -> None:
        self.half_life_s = half_life_s
        self._used: Any = 0.0
        self._at_s = 0.0

    def _weigh(self, jobs: Any, start_s: Any, end_s: Any, view: Any) -> Any:
        places = len(view.users) + 1  # the last is for users who are not known, -1
        counts = 2.0 ** (-(view.now_s - end_s) / self.half_life_s) - 2.0 ** (-(view.now_s - start_s) / self.half_life_s)
        node_s = jobs.node_count * counts * self.half_life_s / math.log(2)
        return np.bincount(jobs.user % places, node_s, minlength=places)

    def learn(self, ended: Any, view: Any) -> None:
        self._used = self._used * 2.0 ** (-(view.now_s - self._at_s) / self.half_life_s)
        self._used = self._used + self._weigh(ended, ended.start_s, ended.end_s, view)
        self._at_s = view.now_s

    def rank(self, jobs: Any, view: Any) -> Any:
        used = self._used * 2.0 ** (-(view.now_s - self._at_s) / self.half_life_s)
        used = used + self._weigh(view.running, view.running.start_s, view.now_s, view)
        return np.round(used[jobs.user], 6)


@pytest.mark.parametrize("half_life_s", [500.0, 86_400.0])
@pytest.mark.parametrize("backfill", ["none", "first-fit", "reservations"])
def test_an_order_that_learns_can_be_the_built_in_fair_share(half_life_s: float, backfill: str) -> None:
    jobs = hs.workload.poisson(jobs=400, nodes=8, load=1.1, sizes={1: 0.5, 3: 0.4, 7: 0.1}, walltime_factor=2.0, seed=5)
    users = np.random.default_rng(1).choice(["ann", "bo", "cy"], len(jobs), p=[0.7, 0.2, 0.1])
    frame = jobs.to_polars().with_columns(user=pl.Series(users.tolist()))
    frame = frame.with_columns(user=pl.when(pl.col("job_id") % 10 == 0).then(None).otherwise("user"))
    workload, eight = hs.Workload.from_polars(frame), hs.Platform.homogeneous(nodes=8, idle_w=100, tdp_w=300)
    own = hs.simulate(workload, eight, hs.Policy(FairShare(half_life_s), backfill)).jobs
    named = hs.simulate(workload, eight, hs.Policy({"name": "fair-share", "half_life_s": half_life_s}, backfill)).jobs
    assert own.equals(named)
    assert not own.equals(hs.simulate(workload, eight, hs.Policy("fcfs", backfill)).jobs)


def test_objects_that_learn_conform() -> None:
    conformance(FairShare(3.0), examples=settings().max_examples // 2)

    class Both(FairShare):
        def estimate(self, jobs: Any, view: Any) -> Any:
            return jobs.planned_s

    conformance(Both, examples=settings().max_examples // 2)


@given(workloads(max_jobs=8))
def test_every_run_is_reported(workload: hs.Workload) -> None:
    part = TellsPlacement()
    result = hs.simulate(workload, platform(4), hs.Policy(backfill="first-fit", placement=part))
    ran = result.jobs.filter(pl.col("start_s").is_not_null()).select("job_id", "start_s", "end_s")
    assert sorted(ran.rows()) == sorted(row[:3] for row in part.told)
    assert [row[2] for row in part.told] == sorted(row[2] for row in part.told)


def test_accounts_can_be_read_like_users() -> None:
    found: list[Any] = []

    class Reader(TellsOrder):
        def learn(self, ended: Any, view: Any) -> None:
            found.append((ended.account.tolist(), view.accounts, view.running.account.tolist()))

        def choose(self, job: Any, free: Any, view: Any) -> Any:
            found.append(job.account)
            return free[: job.node_count]

    part = Reader()
    frame = JOBS.head(3).with_columns(account=pl.Series(["p2", "p1", None]))
    hs.simulate(hs.Workload.from_polars(frame), platform(), hs.Policy(part, "first-fit", part))
    assert found[:3] == [1, 0, ([0], ("p1", "p2"), [1])]


def test_what_it_raises_comes_back_with_a_note() -> None:
    class Broken(TellsOrder):
        def learn(self, ended: Any, view: Any) -> None:
            raise KeyError("user")

    with pytest.raises(KeyError) as raised:
        hs.simulate(hs.Workload.from_polars(JOBS), platform(), hs.Policy(Broken(), "first-fit"))
    assert raised.value.__notes__ == ["policy.order: `learn` of Broken, for job 2 at 40 s"]


def test_a_learn_that_takes_other_arguments_is_refused() -> None:
    class Odd(TellsOrder):
        def learn(self) -> None:  # type: ignore[override]
            pass

    with pytest.raises(hs.ConfigError) as raised:
        hs.simulate(hs.Workload.from_polars(JOBS), platform(), hs.Policy(Odd(), "first-fit"))
    expected = "learn(ended, view), or learn(jobs, runtime_s, view)"
    assert str(raised.value) == f"policy.order: found `learn()` of {Odd.__qualname__}, expected {expected}"
