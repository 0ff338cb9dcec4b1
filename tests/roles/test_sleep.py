"""Sleep parts of users: what they are told, what they may answer, and that they can be what the named parts are."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import settings

import hetsched as hs
from hetsched.roles import Rest
from hetsched.testing import check_schedule, conformance

pytestmark = pytest.mark.filterwarnings("ignore::hetsched.errors.RunWarning")

BACKFILLS = ("plan", "reservations", "first-fit", "none")


def log(*rows: tuple[float, float, float | None, int]) -> hs.Workload:
    """Jobs 1, 2, … as (submit, runtime, walltime, nodes)."""
    schema = {"submit_s": pl.Float64, "runtime_s": pl.Float64, "walltime_s": pl.Float64, "node_count": pl.Int64}
    frame = pl.DataFrame(rows, schema=schema, orient="row").with_row_index("job_id", offset=1)
    return hs.Workload.from_polars(frame)


def machine(nodes: int) -> hs.Platform:
    return hs.Platform.homogeneous(nodes=nodes, idle_w=600.0, tdp_w=2100.0, boot_s=60.0, shutdown_s=120.0, off_w=0.0)


def run(workload: hs.Workload, nodes: int, sleep: Any, backfill: str = "reservations") -> hs.Result:
    result = hs.simulate(workload, machine(nodes), hs.Policy(backfill=backfill, sleep=sleep))
    check_schedule(result, workload, machine(nodes))
    return result


def random_log(seed: int, jobs: int = 60, nodes: int = 6) -> hs.Workload:
    rng = np.random.default_rng(seed)
    submit, length = np.sort(rng.integers(0, 20000, jobs)), rng.integers(0, 1500, jobs)
    asked = length * rng.integers(1, 4, jobs) + 1
    sizes = rng.integers(1, nodes + 1, jobs)
    return log(*zip(submit.tolist(), length.tolist(), asked.tolist(), sizes.tolist(), strict=True))


class Timeout:
    def __init__(self, idle_s: float = 600.0) -> None:
        self.idle_s = idle_s

    def rest(self, nodes: Any, view: Any) -> Rest:
        ripe_s = nodes.idle_since_s + self.idle_s
        is_ripe, is_far = ripe_s <= view.now_s, nodes.next_start_s - view.now_s > 180.0
        return Rest(sleep=nodes.idle[is_ripe & is_far], again_s=ripe_s[~is_ripe].min(initial=math.inf))


class Planned:
    def rest(self, nodes: Any, view: Any) -> Any:
        away_s = nodes.next_start_s - view.now_s
        return nodes.idle[(away_s >= nodes.break_even_s) & (away_s > 180.0)][::-1]


class Told:
    """Keeps what it is told, and says what a function says."""

    def __init__(self, rule: Any = lambda nodes, view: ()) -> None:
        self._rule = rule
        self._told: list[Any] = []

    def fork(self) -> Told:
        return self

    def rest(self, nodes: Any, view: Any) -> Any:
        names = ("idle", "idle_since_s", "next_start_s", "off", "booting", "shutting_down")
        arrays = {name: getattr(nodes, name).tolist() for name in names}
        jobs = {"arrived": nodes.arrived.job_id.tolist(), "queue": view.queue.job_id.tolist()}
        self._told.append({"now": view.now_s, **arrays, **jobs, "spare": nodes.spare, "free": nodes.free})
        return self._rule(nodes, view)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("own", "named"), [(Timeout(), "timeout"), (Planned(), "planned")])
def test_an_object_can_be_a_named_part_where_the_plan_names_nodes(own: Any, named: str, seed: int) -> None:
    workload = random_log(seed)
    ours, theirs = (run(workload, 6, sleep, "plan") for sleep in (own, named))
    assert ours.jobs.equals(theirs.jobs)
    assert ours.nodes.equals(theirs.nodes)
    assert ours.nodes["boots"].sum() > 0


@pytest.mark.parametrize("backfill", BACKFILLS)
@pytest.mark.parametrize(("own", "named"), [(Timeout(), "timeout"), (Planned(), "planned")])
def test_an_object_can_be_a_named_part_where_no_job_waits_for_another(own: Any, named: str, backfill: str) -> None:
    workload = log(*[(1000.0 * number, 300.0, 400.0, 1 + number % 4) for number in range(20)])
    ours, theirs = (run(workload, 4, sleep, backfill) for sleep in (own, named))
    assert ours.jobs.equals(theirs.jobs)
    assert ours.nodes.equals(theirs.nodes)


def test_what_it_is_given() -> None:
    """Node 1 is put to sleep at 0 and woken by hand at 500; job 2 is planned for 1000."""

    def rule(nodes: Any, view: Any) -> Any:
        if view.now_s == 0:
            return Rest(sleep=[1], again_s=500)
        return Rest(wake=nodes.off) if view.now_s == 500 else ()

    own = Told(rule)
    result = run(log((0, 1000, 1000, 1), (500, 100, 100, 2)), 2, own, "plan")
    told = {one["now"]: one for one in own._told}
    first = {"idle": [1], "idle_since_s": [0.0], "next_start_s": [math.inf], "off": [], "spare": 1, "free": 1}
    assert {name: told[0.0][name] for name in first} == first
    assert told[0.0]["arrived"] == [1]
    assert told[120.0]["off"] == [1]
    later = {"arrived": [2], "queue": [2], "off": [1], "idle": []}
    assert {name: told[500.0][name] for name in later} == later
    assert told[560.0]["next_start_s"] == [1000.0]
    events = result.events.select("time_s", "kind").rows()
    assert events == [(0.0, "sleep"), (120.0, "off"), (500.0, "wake"), (560.0, "ready")]
    assert result.jobs["start_s"].to_list() == [0.0, 1000.0]


def test_a_node_that_is_counted_is_lacking_when_those_above_it_sleep() -> None:
    """Three of four nodes are idle; job 2 waits for all four until 1000."""
    own = Told()
    run(log((0, 1000, 1000, 1), (10, 100, 100, 4)), 4, own)
    told = next(one for one in own._told if one["now"] == 10)
    assert (told["idle"], told["next_start_s"]) == ([1, 2, 3], [1000.0, 1000.0, 1000.0])
    own = Told()
    run(log((0, 1000, 1000, 1), (10, 100, 100, 3), (20, 50, 60, 1)), 4, own)
    assert own._told[0]["next_start_s"] == [math.inf] * 3


def test_nodes_are_woken_for_the_jobs_that_the_backfill_would_start() -> None:
    """Job 4 fits next to what EASY holds for job 2, but not next to a plan of job 3, which EASY does not make."""
    rows = [(0, 1000, 1000, 2), (500, 100, 100, 3), (510, 100, 5000, 4), (520, 300, 10000, 1)]
    starts = [run(log(*rows), 4, sleep).jobs["start_s"][3] for sleep in (None, Planned(), "planned")]
    assert starts[:2] == [520.0, 580.0]
    assert starts[2] > 580.0


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ([7], "`rest` of Told gave node 7 to sleep, which is not idle, at 0 s"),
        ([0], "`rest` of Told gave node 0 to sleep, which is not idle, at 0 s"),
        ([-1], "`rest` of Told gave node -1 to sleep, which is not idle, at 0 s"),
        ([1, 1], "`rest` of Told gave node 1 to sleep twice at 0 s"),
        (Rest(wake=[1]), "`rest` of Told gave node 1 to wake, which is not off, at 0 s"),
        (Rest(again_s=0.0), "`rest` of Told gave 0 s as `again_s`, which is not after now, at 0 s"),
        (Rest(again_s=math.nan), "`rest` of Told gave NaN as `again_s` at 0 s"),
        (None, "`rest` of Told gave a NoneType where numbers of nodes in one dimension were asked for at 0 s"),
        ([0.5], "`rest` of Told gave values of type float64 where numbers of nodes were asked for at 0 s"),
    ],
)
def test_wrong_answers(answer: Any, message: str) -> None:
    """Node 0 is busy."""
    with pytest.raises(hs.SimulationError, match=r"policy\.sleep") as raised:
        run(log((0, 10, 10, 1)), 2, Told(lambda nodes, view: answer))
    assert str(raised.value) == f"policy.sleep: {message}"


def test_an_exception_comes_back_with_a_note() -> None:
    def rule(nodes: Any, view: Any) -> Any:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine") as raised:
        run(log((0, 10, 10, 1)), 2, Told(rule))
    assert raised.value.__notes__ == ["policy.sleep: `rest` of Told, with 1 node idle, at 0 s"]


def test_what_it_cannot_be_combined_with() -> None:
    with pytest.raises(hs.ConfigError, match=r"policy\.sleep: found a part, expected none, first-fit or reservations"):
        hs.Policy(backfill="plan", sleep=Timeout(), power={"name": "system-budget", "budget_w": 2000})
    with pytest.raises(hs.ConfigError, match="sleep= takes it, by its method `rest`"):
        hs.Policy(order=Timeout())


def test_its_identity() -> None:
    policy = hs.Policy.preset("easy", sleep=Timeout(60.0))
    assert policy.name == "easy:sleep=Timeout(idle_s=60.0)"
    part = policy.to_dict()["sleep"]
    assert (part["name"], part["parameters"]) == ("Timeout", {"idle_s": 60.0})
    assert hs.Policy.preset("easy", sleep=Timeout).parts["sleep"]["parameters"] == {"idle_s": 600.0}


class Eager:
    """Keeps a few nodes on, and wakes others for them."""

    def rest(self, nodes: Any, view: Any) -> Rest:
        lack = max(0, 2 - nodes.spare)
        spared = nodes.idle[nodes.next_start_s == math.inf][::-1]
        return Rest(sleep=spared[: max(0, nodes.spare - 2)], wake=nodes.off[:lack], again_s=view.now_s + 50)


@pytest.mark.parametrize("own", [Timeout(30.0), Planned(), Eager()])
def test_it_conforms(own: Any) -> None:
    conformance(own, examples=settings().max_examples // 2)
