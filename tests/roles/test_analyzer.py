"""An analyzer in Python: what is planned with is what it says, and wrong answers are refused."""

import math
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import settings

import hetsched as hs
from hetsched.testing import conformance

pytestmark = pytest.mark.filterwarnings("ignore::hetsched.errors.RunWarning")

JOBS = pl.DataFrame(
    {
        "job_id": [1, 2, 3, 4],
        "submit_s": [0, 1, 2, 3],
        "runtime_s": [100, 50, 40, 10],
        "walltime_s": [400, 100, 200, 300],
        "node_count": [1, 2, 1, 1],
        "user": ["ann", "bo", "ann", "ann"],
    }
)


class Known:
    """Says these seconds, whatever is asked, and remembers what it is told."""

    def __init__(self, seconds: Any) -> None:
        self.seconds = seconds

    def estimate(self, jobs: Any, view: Any) -> Any:
        return np.full(len(jobs), self.seconds) if np.isscalar(self.seconds) else self.seconds


class AsAsked:
    """Requests of jobs."""

    def estimate(self, jobs: Any, view: Any) -> Any:
        return jobs.planned_s


class Learning(AsAsked):
    """Notes in the answers of what it has learned."""

    def __init__(self) -> None:
        self.told: list[tuple[int, float]] = []

    def learn(self, jobs: Any, runtime_s: Any, view: Any) -> None:
        assert view.now_s >= 0
        self.told += zip(jobs.job_id.tolist(), runtime_s.tolist(), strict=True)

    def estimate(self, jobs: Any, view: Any) -> Any:
        by_job = dict(self.told)
        return [by_job.get(int(job_id) - 1, asked) for job_id, asked in zip(jobs.job_id, jobs.planned_s, strict=True)]


def starts(analyzer: Any, jobs: pl.DataFrame = JOBS, preset: str = "easy", **options: Any) -> list[float | None]:
    policy = hs.Policy.preset(preset, analyzer=analyzer) if analyzer else hs.Policy.preset(preset)
    platform = hs.Platform.homogeneous(nodes=2, idle_w=100, tdp_w=300)
    return hs.simulate(hs.Workload.from_polars(jobs), platform, policy, **options).jobs["start_s"].to_list()


def test_plans_go_by_what_it_says() -> None:
    # Job 1 asks for 400 s, so the head is promised 400 and jobs 3 and 4 fit before it.
    assert starts(None) == [0, 100, 2, 42]
    # Said to run for 30 s each, job 1 is to be over at 30: jobs 3 and 4 would be in the head's way.
    assert starts(Known(30.0)) == [0, 100, 150, 150]


@pytest.mark.parametrize("preset", ["fcfs", "easy", "conservative", "sjf", "easy:backfill=plan"])
def test_what_jobs_ask_for_changes_nothing(preset: str) -> None:
    name, _, part = preset.partition(":")
    policy = hs.Policy.preset(name, analyzer=AsAsked(), **({"backfill": "plan"} if part else {}))
    plain = hs.Policy.preset(name, **({"backfill": "plan"} if part else {}))
    platform = hs.Platform.homogeneous(nodes=8, idle_w=100, tdp_w=300)
    workload = hs.workload.poisson(jobs=300, nodes=8, load=0.9, sizes={1: 0.5, 3: 0.5}, walltime_factor=2.0, seed=3)
    one, other = (hs.simulate(workload, platform, each) for each in (policy, plain))
    assert one.jobs.equals(other.jobs)
    assert one.timeline.equals(other.timeline)


def test_no_job_is_planned_longer_than_its_walltime() -> None:
    assert starts(Known(1e6)) == starts(None)


def test_orders_go_by_it_too() -> None:
    jobs = JOBS.with_columns(node_count=2)
    assert starts(None, jobs, "sjf") == [0, 100, 150, 190]
    # All alike: by submission.
    assert starts(Known(7.0), jobs, "sjf") == [0, 100, 150, 190]
    assert starts(Known(np.array([5.0])), jobs.head(1), "sjf") == [0]


def test_it_knows_how_long_jobs_have_run() -> None:
    learning = Learning()
    jobs = JOBS.with_columns(submit_s=pl.Series([0, 500, 1000, 2000]))
    assert starts(learning, jobs) == [0, 500, 1000, 2000]
    assert learning.told == [], "a run works on a copy"

    class Checking(Learning):
        def estimate(self, jobs: Any, view: Any) -> Any:
            assert len(self.told) == jobs.job_id[0] - 1
            return super().estimate(jobs, view)

    starts(Checking(), jobs)


def test_a_job_that_is_queued_again_is_not_over() -> None:
    class Told(Learning):
        def estimate(self, jobs: Any, view: Any) -> Any:
            assert self.told == [(1, 100.0), (2, 50.0)][: int(view.now_s > 100) + int(view.now_s > 300)]
            return jobs.planned_s

    jobs = JOBS.head(3).with_columns(submit_s=pl.Series([0, 250, 500]), node_count=1)
    frame = pl.DataFrame({"time_s": [50, 60], "kind": ["node_failed", "node_repaired"], "node": [0, 0]})
    events = hs.Events.from_polars(frame)
    platform = hs.Platform.homogeneous(nodes=1, idle_w=100, tdp_w=300)
    workload = hs.Workload.from_polars(jobs)
    policy = hs.Policy(analyzer=Told())
    found = hs.simulate(workload, platform, policy, events=events, on_failure="requeue").jobs
    assert found["start_s"].to_list() == [60, 250, 500]


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (math.nan, "gave NaN for job 1"),
        (-1.0, "gave -1 for job 1, where seconds from 0 were asked for"),
        (math.inf, "gave inf for job 1, where seconds from 0 were asked for"),
        ([1.0, 2.0], "gave 2 numbers for 1 job"),
        (["x"], "gave values of type <U1 where numbers were asked for"),
    ],
)
def test_a_wrong_answer_is_refused(answer: Any, message: str) -> None:
    with pytest.raises(hs.SimulationError) as raised:
        starts(Known(answer))
    assert str(raised.value) == f"policy.analyzer: `estimate` of Known {message} at 0 s"


def test_what_it_raises_comes_back_as_itself() -> None:
    class Broken(AsAsked):
        def learn(self, jobs: Any, runtime_s: Any, view: Any) -> None:
            raise KeyError("user")

    with pytest.raises(KeyError) as raised:
        starts(Broken(), JOBS.with_columns(submit_s=pl.Series([0, 500, 1000, 2000])))
    assert raised.value.__notes__ == ["policy.analyzer: `learn` of Broken, for job 1 at 100 s"]


def test_only_an_object_can_take_the_role() -> None:
    with pytest.raises(hs.ConfigError, match=r"policy\.analyzer: found `mean`, expected an object with the method"):
        hs.Policy(analyzer="mean")  # type: ignore[arg-type]
    own = hs.Policy.preset("easy", analyzer=AsAsked)
    assert own.name == "easy:analyzer=AsAsked"
    told = own.to_dict()["analyzer"]
    assert told["name"] == "AsAsked"
    with pytest.raises(hs.ConfigError, match=r"policy\.analyzer: .*a file holds no Python"):
        hs.Policy.from_dict(own.to_dict())
    assert "analyzer" not in hs.Policy.preset("easy").to_dict()


def test_it_conforms() -> None:
    conformance(Known(60.0), examples=settings().max_examples // 2)
    conformance(Learning, examples=settings().max_examples // 2)
