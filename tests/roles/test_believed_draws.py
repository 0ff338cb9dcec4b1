"""An analyzer says what jobs draw and how caps slow them: planned with, charged to none, refused where wrong."""

import math
from typing import Any

import hypothesis.strategies as st
import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings

import hetsched as hs
from hetsched.testing import conformance, platforms, policies, workloads

pytestmark = pytest.mark.filterwarnings("ignore::hetsched.errors.RunWarning")
DECIDED = ["start_s", "nodes", "started_by", "state", "reason", "energy_j", "mean_power_w"]


class Believer:
    """Knows run times of no job, and says these watts and shares, by job."""

    def __init__(self, draw_w: dict[int, float] | float) -> None:
        self.draw_w = draw_w

    def estimate(self, jobs: Any, view: Any) -> Any:
        return np.where(np.isnan(jobs.walltime_s), jobs.planned_s, jobs.walltime_s)

    def draws(self, jobs: Any, view: Any) -> Any:
        known = isinstance(self.draw_w, dict)
        return [self.draw_w[job_id] for job_id in jobs.job_id] if known else np.full(len(jobs), self.draw_w)


class Bound(Believer):
    """The same with shares that stretch with the clock."""

    def __init__(self, draw_w: dict[int, float] | float, bound_ratio: Any) -> None:
        super().__init__(draw_w)
        self.bound_ratio = bound_ratio

    def bound_ratios(self, jobs: Any, view: Any) -> Any:
        return np.full(len(jobs), self.bound_ratio)


class Told:
    """A predictor that knows these watts."""

    def __init__(self, known_w: list[float | None]) -> None:
        self.known_w = known_w

    def draws(self, jobs: pl.DataFrame) -> pl.DataFrame:
        return pl.DataFrame({"known_w": pl.Series(self.known_w, dtype=pl.Float64)})


def log(**columns: Any) -> hs.Workload:
    jobs = {"job_id": [1, 2, 3], "submit_s": [0, 0, 0], "runtime_s": [100, 100, 100], "node_count": [1, 1, 1]}
    return hs.Workload.from_polars(pl.DataFrame({**jobs, **columns}))


def machine(nodes: int = 3) -> hs.Platform:
    return hs.Platform.homogeneous(nodes=nodes, idle_w=50, tdp_w=400, busy_w=300)


def starts(workload: hs.Workload, platform: hs.Platform, analyzer: Any, **power: Any) -> list[float | None]:
    policy = hs.Policy.preset("easy", power={"name": "system-budget", **power} if power else None, analyzer=analyzer)
    return hs.simulate(workload, platform, policy).jobs["start_s"].to_list()


@given(st.data(), workloads(apps=()), platforms(tables=False, known_draws=["measured"]), policies())
def test_it_is_worth_a_predictor_that_knows_as_much(
    data: st.DataObject, workload: hs.Workload, platform: hs.Platform, policy: hs.Policy
) -> None:
    watts = st.sampled_from([40.0, 180.0, 240.0, 310.5])
    rows = len(workload)
    drawn, believed = (data.draw(st.lists(watts | st.none(), min_size=rows, max_size=rows)) for _ in range(2))
    # What a predictor says counts for jobs that bring a draw.
    believed = [b if w else None for w, b in zip(drawn, believed, strict=True)]
    frame = workload.to_polars().drop("power_w", strict=False)
    jobs = hs.Workload.from_polars(frame.with_columns(power_w=pl.Series(drawn, dtype=pl.Float64)))
    by_job = {k: math.nan if w is None else w for k, w in zip(jobs.to_polars()["job_id"], believed, strict=True)}
    with_object = hs.Policy(**{**policy.parts, "analyzer": Believer(by_job)})
    one = hs.simulate(jobs, platform, with_object, on_unknown_app="nominal").jobs
    told = Told(believed) if any(drawn) else None
    other = hs.simulate(jobs, platform, policy, on_unknown_app="nominal", predictor=told).jobs
    assert one.select(DECIDED).equals(other.select(DECIDED))


def test_what_fits_goes_by_it() -> None:
    # 3 x 50 W idle; 150 W beyond idle for each of two by what is said, 250 W for one by what is charged.
    busy = log(walltime_s=[100, 100, 100])
    assert starts(busy, machine(), Believer(200.0), budget_w=450) == [0, 0, 100]
    assert starts(busy, machine(), None, budget_w=450) == [0, 100, 200]
    # It is charged nothing: the budget is passed.
    policy = hs.Policy.preset("easy", power={"name": "system-budget", "budget_w": 450}, analyzer=Believer(200.0))
    summary = hs.simulate(busy, machine(), policy).summary()
    assert (summary["peak_power_w"], summary["over_budget_count"]) == (650, 1)


def test_a_job_that_can_never_fit_is_rejected_when_it_has_been_asked_about() -> None:
    policy = hs.Policy.preset(
        "easy", power={"name": "system-budget", "budget_w": 450}, analyzer=Believer({1: 200.0, 2: 351.0, 3: 350.0})
    )
    jobs = hs.simulate(log(), machine(), policy).jobs
    assert jobs["state"].to_list() == ["completed", "rejected", "completed"]
    assert jobs["reason"].to_list()[1] is not None
    assert jobs["start_s"].to_list() == [0, None, 100]


def test_where_nothing_is_said_a_measured_draw_is_not_known() -> None:
    measured = log(power_w=[100.0, 100.0, None])
    seen = []

    class Silent(Believer):
        def draws(self, jobs: Any, view: Any) -> Any:
            seen.extend(jobs.power_w.tolist())
            return np.full(len(jobs), np.nan)

    # 400 W, the TDP, for jobs 1 and 2; 300 W, busy, for job 3, which brings no draw: that is what it is charged.
    assert starts(measured, machine(), Silent(0.0), budget_w=750) == [0, 100, 0]
    assert seen[:2] != [100.0, 100.0]
    assert starts(measured, machine().with_known_draws("table"), Silent(0.0), budget_w=750) == [0, 0, 100]


def test_it_knows_what_jobs_drew() -> None:
    class Learning(Believer):
        def learn(self, jobs: Any, runtime_s: Any, view: Any) -> None:
            told.extend(zip(jobs.job_id.tolist(), jobs.power_w.tolist(), runtime_s.tolist(), strict=True))

    told: list[Any] = []
    starts(log(submit_s=[0, 200, 400], power_w=[120.0, 140.0, 160.0]), machine(), Learning(90.0))
    assert told == [(1, 120.0, 100.0), (2, 140.0, 100.0), (3, 160.0, 100.0)]


@pytest.mark.parametrize(
    ("analyzer", "second"),
    [
        # 100 of 200 W, 50 of them static: at 1/3 of the speed, three times as long.
        (None, 300),
        (Believer(200.0), 300),
        # 100 W without a cap: nothing is slowed.
        (Believer(100.0), 100),
        # Half of the run time stretches: twice as long.
        (Bound(200.0, 0.5), 200),
        (Bound(200.0, math.nan), 300),
        (Bound(200.0, 0.0), 100),
    ],
)
def test_how_long_a_cap_makes_a_job_follows_from_it(analyzer: Any, second: float) -> None:
    """Job 2 waits for both nodes; job 3 fills in if it is over by when job 1, under its cap, is planned to be."""
    lengths = {"runtime_s": [100, 100, 150], "submit_s": [0, 1, 2], "node_count": [1, 2, 1], "walltime_s": None}
    workload = log(**lengths, cap_w=[100.0, None, None], power_w=[200.0] * 3)

    class Known:
        def estimate(self, jobs: Any, view: Any) -> Any:
            return [{1: 100.0, 2: 100.0, 3: 150.0}[job_id] for job_id in jobs.job_id]

    own = analyzer or Known()
    own.estimate = Known().estimate
    platform = machine(2).with_cap_model(static_w=50.0)
    done = hs.simulate(workload, platform, hs.Policy.preset("easy", analyzer=own)).jobs
    assert done["end_s"][0] == 300, "it is charged as ever"
    assert done["start_s"][2] == (2 if second >= 152 else 400)


def test_an_allocator_splits_by_it() -> None:
    """350 W for two nodes: (175 - 50) / (200 - 50) = 5/6 of the speed, by what is said and what is charged alike."""
    power = {"name": "system-budget", "budget_w": 350, "allocator": "equal-slowdown"}
    platform = machine(2).with_cap_model(static_w=50.0, bound_ratio=0.5)
    workload = hs.Workload.from_polars(log(power_w=[200.0] * 3).to_polars().head(2))

    def first_caps(analyzer: Any) -> list[float]:
        policy = hs.Policy.preset("easy", power=power, analyzer=analyzer)
        return hs.simulate(workload, platform, policy).segments.filter(pl.col("start_s") == 0)["cap_w"].to_list()

    class Unlike(Bound):
        def bound_ratios(self, jobs: Any, view: Any) -> Any:
            return [{1: 1.0, 2: 0.25}[job_id] for job_id in jobs.job_id]

    alike, unlike = first_caps(Bound(200.0, 1.0)), first_caps(Unlike(200.0, None))
    assert alike == pytest.approx([175.0, 175.0], abs=0.5)
    assert sum(unlike) <= 350
    # 1 / f and 1 + (1 / f - 1) / 4 are equal: the second is capped further.
    speeds = [(cap - 50) / 150 for cap in unlike]
    assert 1 / speeds[0] == pytest.approx(1 + 0.25 * (1 / speeds[1] - 1))
    assert sum(unlike) == pytest.approx(350, abs=0.5)


@pytest.mark.parametrize(
    ("analyzer", "message"),
    [
        (Believer(-1.0), "`draws` gave -1 for job 1, where watts from 0 to 1e6 were asked for"),
        (Believer(math.inf), "`draws` gave inf for job 1, where watts from 0 to 1e6 were asked for"),
        (Bound(100.0, 1.5), "`bound_ratios` gave 1.5 for job 1, where shares from 0 to 1 were asked for"),
    ],
)
def test_a_wrong_answer_is_refused(analyzer: Any, message: str) -> None:
    with pytest.raises(hs.SimulationError) as raised:
        starts(log(), machine().with_cap_model(static_w=50.0), analyzer)
    assert str(raised.value) == f"policy.analyzer: {message} at 0 s".replace(
        "` gave", f"` of {type(analyzer).__name__} gave"
    )


def test_shares_need_draws_and_a_cap_model() -> None:
    with pytest.raises(
        hs.ConfigError, match=r"policy\.analyzer: found a method `bound_ratios` where no cap model uses"
    ):
        starts(log(), machine(), Bound(100.0, 0.5))

    class Alone:
        def estimate(self, jobs: Any, view: Any) -> Any:
            return jobs.planned_s

        def bound_ratios(self, jobs: Any, view: Any) -> Any:
            return np.ones(len(jobs))

    with pytest.raises(hs.ConfigError, match=r"policy\.analyzer: .*expected `draws` with it"):
        starts(log(), machine().with_cap_model(static_w=50.0), Alone())


def test_it_conforms() -> None:
    conformance(Believer(150.0), examples=settings().max_examples // 2)
