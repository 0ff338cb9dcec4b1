"""An allocator in Python: the worked example of the named ones, its twins, and its wrong answers."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import settings

import hetsched as hs
from hetsched.testing import check_schedule, conformance

pytestmark = pytest.mark.filterwarnings("ignore::hetsched.errors.RunWarning")

CAPS_W = (100.0, 150.0, np.inf)


def tables(watts: dict[float, list[float]]) -> dict[float, hs.VariationTable]:
    """Power model of `cpu` and `mem` on four nodes: watts and time factors by cap."""
    factors = {100.0: [2.0, 1.25], 150.0: [1.25, 1.0], np.inf: [1.0, 1.0]}
    return {
        cap_w: hs.VariationTable(
            ["cpu", "mem"],
            power_w=np.tile(np.array(watts[cap_w])[:, None], (1, 4)),
            time_ratio=np.tile(np.array(factors[cap_w])[:, None], (1, 4)),
        )
        for cap_w in CAPS_W
    }


def machine(slots: int = 1) -> hs.Platform:
    own = tables({100.0: [100.0, 100.0], 150.0: [150.0, 150.0], np.inf: [200.0, 200.0]})
    nodes = hs.Platform.homogeneous(nodes=4, idle_w=50, tdp_w=200, slots=slots, exclusive=slots == 1)
    return nodes.with_tables(actual=own)


def log(
    apps: list[str], runtime_s: list[float], submit_s: list[float] | None = None, slots: list[int] | None = None
) -> hs.Workload:
    count = len(apps)
    columns = {"job_id": range(1, count + 1), "submit_s": submit_s or [0.0] * count, "runtime_s": runtime_s}
    columns |= {"walltime_s": runtime_s, "node_count": [1] * count, "app": apps, "slots": slots or [1] * count}
    return hs.Workload.from_polars(pl.DataFrame(columns, strict=False))


def policy(allocator: Any, budget_w: float, **power: Any) -> hs.Policy:
    return hs.Policy.preset(
        "easy", power={"name": "system-budget", "budget_w": budget_w, "allocator": allocator, **power}
    )


class Uniform:
    """Twin of the named one: one cap for all, the highest that keeps within the watts."""

    least_cap_w = 100.0

    def allot(self, runs: Any, watts: float, view: Any) -> Any:
        for cap_w in (np.inf, 150.0, 100.0):
            if np.rint(runs.draw_w(cap_w) * 1e6).sum() <= round(watts * 1e6):
                break
        return np.full(len(runs), cap_w)


def test_one_cap_for_all_as_in_the_worked_example() -> None:
    # cpu 0, 40 and three cpu 0, 100 under 650 W: all at 150 W; the first ends at 50, then the others are uncapped.
    workload = log(["cpu"] * 4, [40.0, 100.0, 100.0, 100.0])
    result = hs.simulate(workload, machine(), policy(Uniform(), 650.0))
    check_schedule(result, workload, machine())
    assert result.jobs["end_s"].to_list() == [50.0, 110.0, 110.0, 110.0]
    # With an interval of 40 s the change comes at 80.
    later = hs.simulate(workload, machine(), policy(Uniform, 650.0, allocator_interval_s=40))
    assert later.jobs["end_s"].to_list() == [50.0, 116.0, 116.0, 116.0]


@pytest.mark.parametrize("slots", [1, 4])
@pytest.mark.parametrize("seed", range(6))
def test_it_is_the_twin_of_the_named_one(seed: int, slots: int) -> None:
    rng = np.random.default_rng(seed)
    apps = rng.choice(["cpu", "mem"], 30).tolist()
    times = rng.integers(1, 60, 30).tolist(), np.sort(rng.integers(0, 300, 30)).tolist()
    budget_w = float(rng.choice([420.0, 500.0, 555.5, 650.0]))
    workload, nodes = log(apps, *times, rng.integers(1, slots + 1, 30).tolist()), machine(slots)
    own, named = (hs.simulate(workload, nodes, policy(one, budget_w)) for one in (Uniform(), "uniform"))
    check_schedule(own, workload, nodes)
    assert own.jobs.equals(named.jobs)
    assert own.timeline.equals(named.timeline)
    assert own.segments.equals(named.segments)


class Told:
    """Answers what it was made with, and keeps what it was asked."""

    def __init__(self, answer: Any, least_cap_w: float | None = None) -> None:
        self._answer = answer
        self._asked: list[Any] = []
        self.least_cap_w = least_cap_w

    def fork(self) -> Told:
        return self

    def allot(self, runs: Any, watts: float, view: Any) -> Any:
        names = ("job_id", "cap_w", "own_cap_w", "emergency_cap_w")
        columns = {name: getattr(runs, name).tolist() for name in names}
        found = [
            runs.draw_w(100.0).tolist(),
            runs.slowdown(100.0).tolist(),
            runs.slowdown([150.0] * len(runs)).tolist(),
        ]
        self._asked.append((view.now_s, watts, columns, found))
        return self._answer(runs)


def test_it_knows_what_runs_and_what_there_is() -> None:
    own = Told(lambda runs: np.full(len(runs), 150.0))
    hs.simulate(log(["cpu", "mem"], [100.0, 100.0], [0, 10]), machine(), policy(own, 650.0))
    none = float("inf")
    at_0 = {"job_id": [1], "cap_w": [none], "own_cap_w": [none], "emergency_cap_w": [none]}
    within = pytest.approx(450.0, rel=1e-8)  # a budget is kept to its billionth
    assert own._asked[0] == (0.0, within, at_0, [[50.0], [2.0], [1.25]])
    at_10 = {"job_id": [1, 2], "cap_w": [150.0, none], "own_cap_w": [none, none], "emergency_cap_w": [none, none]}
    assert own._asked[1] == (10.0, within, at_10, [[50.0, 50.0], [2.0, 1.25], [1.25, 1.0]])


WRONG = {
    "gave 2 numbers for 1 running job": (lambda runs: [150.0, 150.0], None),
    "gave NaN for job 1": (lambda runs: [np.nan], None),
    "gave 99 W a node for job 1, below the least cap of 100 W,": (lambda runs: [99.0], None),
    "gave 120 W a node for job 1, below the least cap of 150 W,": (lambda runs: [120.0], 150.0),
}


@pytest.mark.parametrize("message", WRONG)
def test_a_wrong_answer_is_reported(message: str) -> None:
    with pytest.raises(hs.SimulationError) as raised:
        hs.simulate(log(["cpu"], [100.0]), machine(), policy(Told(*WRONG[message]), 650.0))
    assert str(raised.value) == f"policy.power.allocator: `allot` of Told {message} at 0 s"


def wide(sizes: list[int]) -> hs.Workload:
    frame = pl.DataFrame({"job_id": range(1, len(sizes) + 1), "submit_s": 0.0, "runtime_s": 100.0, "node_count": sizes})
    return hs.Workload.from_polars(frame.with_columns(app=pl.lit("cpu")))


def test_a_cap_for_each_node_slows_a_job_to_its_slowest() -> None:
    own = Told(lambda runs: np.where(runs.nodes == 1, 100.0, np.where(runs.nodes == 2, 150.0, np.inf)))
    result = hs.simulate(wide([2, 1]), machine(), policy(own, 800.0))
    check_schedule(result, wide([2, 1]), machine())
    # Nodes 0 and 1 draw 200 and 100 W at half the speed, node 2 draws 150 W for 125 s.
    assert result.jobs["end_s"].to_list() == [200.0, 125.0]
    assert result.jobs["energy_j"].to_list() == [300.0 * 200, 150.0 * 125]
    assert result.jobs["lowest_cap_w"].to_list() == [100.0, 150.0]
    assert result.segments["cap_w"].to_list() == [None, 150.0]


def test_one_cap_for_each_node_alike_is_one_for_the_job() -> None:
    each = Told(lambda runs: np.full(len(runs.nodes), 150.0))
    whole = Told(lambda runs: np.full(len(runs), 150.0))
    of_nodes, of_jobs = (hs.simulate(wide([2, 1]), machine(), policy(one, 800.0)) for one in (each, whole))
    assert of_nodes.segments.equals(of_jobs.segments)
    assert of_nodes.jobs.equals(of_jobs.jobs)


def test_a_wrong_answer_by_node_names_the_job() -> None:
    def told(answer: Any) -> str:
        with pytest.raises(hs.SimulationError) as raised:
            hs.simulate(wide([2, 1]), machine(), policy(Told(answer), 800.0))
        return str(raised.value)

    assert "gave 4 numbers for 2 running jobs on 3 nodes" in told(lambda runs: np.ones(4))
    assert "gave NaN for job 2" in told(lambda runs: [150.0, 150.0, np.nan])
    assert "gave 99 W a node for job 1, below the least cap of 100 W," in told(lambda runs: [150.0, 99.0, 150.0])


def test_more_watts_than_there_are_are_reported_where_the_least_caps_would_do() -> None:
    # Four jobs start, as each counts with its least cap: 50 W beyond idle of 300 W. Without caps they would draw 600 W.
    greedy = Told(lambda runs: np.full(len(runs), np.inf), 100.0)
    with pytest.raises(hs.SimulationError) as raised:
        hs.simulate(log(["cpu"] * 4, [100.0] * 4), machine(), policy(greedy, 500.0))
    assert str(raised.value) == (
        "policy.power.allocator: `allot` of Told gave caps under which what runs is predicted to draw 600 W beyond the "
        "idle machine, more than the 300 W there are, which the least caps would keep, at 0 s"
    )


def test_an_exception_comes_back_as_itself() -> None:
    with pytest.raises(ZeroDivisionError) as raised:
        hs.simulate(log(["cpu"], [100.0]), machine(), policy(Told(lambda runs: 1 / 0), 650.0))
    assert raised.value.__notes__ == ["policy.power.allocator: `allot` of Told, with 1 job running, at 0 s"]


def test_where_nothing_is_known_of_caps_there_is_no_allocator() -> None:
    plain = hs.Platform.homogeneous(nodes=4, idle_w=50, tdp_w=200)
    modelled = plain.with_cap_model(static_w=50.0)
    jobs = log(["cpu"], [100.0])
    for platform, message in [
        (plain, "an allocator on a platform without caps"),
        (modelled, r"least_cap_w: found nothing, expected watts a node"),
    ]:
        with pytest.raises(hs.ConfigError, match=message):
            hs.simulate(jobs, platform, policy(Told(lambda runs: [150.0]), 800.0))
    with pytest.raises(hs.ConfigError, match="least_cap_w: found `'low'`, expected watts a node above 0, or None"):
        hs.simulate(jobs, machine(), policy(Told(lambda runs: [150.0], "low"), 800.0))  # type: ignore[arg-type]
    assert hs.simulate(jobs, modelled, policy(Told(lambda runs: [125.0], 100.0), 800.0)).jobs["end_s"][0] == 200.0


class Greedy(Uniform):
    """Caps nothing, and counts with caps when jobs start."""

    def allot(self, runs: Any, watts: float, view: Any) -> Any:
        return np.full(len(runs), np.inf)


@pytest.mark.usefixtures("few_tries")
def test_it_conforms_or_not() -> None:
    conformance(Uniform, examples=settings().max_examples // 2)
    with pytest.raises(
        AssertionError, match=r"Greedy: raised SimulationError: policy.power.allocator: `allot` of Greedy gave caps"
    ):
        conformance(Greedy)


def test_jobs_whose_application_no_table_serves_are_refused() -> None:
    jobs = hs.Workload.from_polars(log(["cpu"], [100.0]).to_polars().with_columns(app=pl.lit(None, pl.String)))
    with pytest.raises(hs.ConfigError, match="least_cap_w: found 100, expected no cap, or a row for"):
        hs.simulate(jobs, machine(), policy(Told(lambda runs: [150.0]), 800.0))


def test_who_it_is_stands_in_the_provenance() -> None:
    own = hs.Policy.preset("power-slurm", allocator=Uniform)
    power = own.to_dict()["power"]
    assert power["allocator"]["name"] == "Uniform"
    assert own.name == "power-slurm:power.allocator=Uniform"
    assert own == hs.Policy.preset("power-slurm", allocator=Uniform())
    assert isinstance(own.own["allocator"], Uniform)
    with pytest.raises(hs.ConfigError, match=r"policy\.power\.allocator: .*a file holds no Python"):
        hs.Policy.from_dict(own.to_dict())
    with pytest.raises(hs.ConfigError, match="allocator= takes it"):
        hs.Policy(order=Uniform())  # type: ignore[arg-type]
