"""The strategies of Table II: what each paper promises, on machines small enough to see through."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import settings

import hetsched as hs
from hetsched.strategies import (
    DemandAware,
    DynamicSharing,
    MoldableBackfill,
    ThroughputIlp,
    TwoLevel,
    VariationAware,
    VariationPlacement,
)
from hetsched.testing import check_schedule, conformance

pytestmark = pytest.mark.filterwarnings("ignore::hetsched.errors.RunWarning")

NODES, IDLE_W, STATIC_W, LEAST_W = 12, 40.0, 40.0, 90.0
DRAWS_W = np.random.default_rng(7).uniform(150.0, 250.0, NODES)
APPS = ["cpu", "mem"]
BOUND = {"cpu": 1.0, "mem": 0.25}
CAPS_W = [float(cap) for cap in range(90, 250, 10)]


def machine(*, alike: bool = False, scale: tuple[float, float] = (1.0, 0.8), **static: float) -> hs.Platform:
    draws_w = np.full(NODES, DRAWS_W.mean()) if alike else DRAWS_W
    table = hs.VariationTable(APPS, power_w=np.outer(scale, draws_w))
    bare = hs.Platform.homogeneous(nodes=NODES, idle_w=IDLE_W, tdp_w=300)
    return bare.with_tables(actual=table).with_cap_model(**static or {"static_w": STATIC_W}, bound_ratio=BOUND)


def log(rows: list[tuple[float, float, int, str]], queues: list[str] | None = None) -> hs.Workload:
    frame = pl.DataFrame(rows, schema=["submit_s", "runtime_s", "node_count", "app"], orient="row")
    frame = frame.with_columns(job_id=pl.int_range(1, len(rows) + 1))
    return hs.Workload.from_polars(frame if queues is None else frame.with_columns(queue=pl.Series(queues)))


def drawn_log(seed: int, count: int = 30) -> hs.Workload:
    rng = np.random.default_rng(seed)
    rows = [
        (float(rng.integers(0, 400)), float(rng.integers(10, 120)), int(rng.integers(1, 7)), str(rng.choice(APPS)))
        for _ in range(count)
    ]
    return log(rows, rng.choice(["high", "low"], count).tolist())


def policy(allocator: Any, budget_w: float, **roles: Any) -> hs.Policy:
    power = {"name": "system-budget", "budget_w": budget_w, "allocator": allocator}
    return hs.Policy.preset("easy", power=power, **roles)


ALLOCATORS: dict[str, Any] = {
    "variation-aware": VariationAware(least_cap_w=LEAST_W),
    "two-level": TwoLevel(least_cap_w=LEAST_W),
    "dynamic-sharing": DynamicSharing(least_cap_w=LEAST_W),
    "demand-aware": DemandAware(caps_w=CAPS_W, slowdowns={"high": 1.0}),
}


@pytest.mark.parametrize("name", ALLOCATORS)
@pytest.mark.parametrize("seed", range(4))
def test_the_budget_is_kept_and_the_schedule_is_one(name: str, seed: int) -> None:
    own, workload, platform = ALLOCATORS[name], drawn_log(seed), machine()
    roles = {"placement": own} if name == "two-level" else {}
    result = hs.simulate(workload, platform, policy(own, 1300.0 + 100.0 * seed, **roles), seed=seed)
    check_schedule(result, workload, platform)
    assert result.summary()["over_budget_s"] == 0.0
    assert result.summary()["completed"] == len(workload)
    assert result.jobs["lowest_cap_w"].drop_nulls().min() >= LEAST_W  # type: ignore[operator]


@pytest.mark.parametrize("name", ALLOCATORS)
def test_watts_that_suffice_for_all_slow_none(name: str) -> None:
    workload, platform = drawn_log(1), machine()
    own = hs.simulate(workload, platform, policy(ALLOCATORS[name], NODES * 300.0)).jobs
    assert own["runtime_s"].to_list() == pytest.approx(own["nominal_runtime_s"].to_list(), abs=2e-6)


@pytest.mark.parametrize("name", ALLOCATORS)
def test_each_conforms_to_its_role(name: str) -> None:
    conformance(policy(ALLOCATORS[name], 1500.0), examples=settings().max_examples // 2)


class Seen:
    """Asks another allocator, and keeps what it answered and what follows from it."""

    def __init__(self, own: Any) -> None:
        self.own, self.least_cap_w = own, own.least_cap_w
        self.looks: list[dict[str, Any]] = []

    def fork(self) -> Seen:
        return self

    def allot(self, runs: Any, watts: float, view: Any) -> Any:
        caps_w = self.own.allot(runs, watts, view)
        self.looks.append(
            {
                "time_s": view.now_s,
                "watts": watts,
                "job_id": runs.job_id.tolist(),
                "nodes": runs.node_count,
                "offsets": runs.node_offsets,
                "caps_w": caps_w,
                "draws_w": runs.node_draw_w(caps_w),
                "uncapped_w": runs.node_draw_w(np.inf),
                "slowdown": runs.slowdown(caps_w),
                "node_slowdown": _slowed(view, runs, caps_w),
            }
        )
        return caps_w


def _slowed(view: Any, runs: Any, caps_w: Any) -> Any:
    """Slowdown of each node under its cap."""
    caps_w = caps_w if len(caps_w) == len(runs.nodes) else np.repeat(caps_w, runs.node_count)
    apps = np.repeat(runs.app, runs.node_count)
    own = zip(apps, runs.nodes, caps_w, strict=True)
    return np.array([view.predicted_time_ratio(int(app), cap_w=cap)[node] for app, node, cap in own])


def looks(own: Any, workload: hs.Workload, budget_w: float, platform: hs.Platform | None = None) -> Any:
    seen = Seen(own)
    hs.simulate(workload, platform or machine(), policy(seen, budget_w))
    return seen.looks


TWO = [(0.0, 100.0, 6, "cpu"), (0.0, 100.0, 4, "mem")]


@pytest.mark.parametrize("own", [VariationAware(least_cap_w=LEAST_W), TwoLevel(least_cap_w=LEAST_W)])
def test_all_nodes_of_a_job_run_at_the_same_speed(own: Any) -> None:
    # Static watts in proportion: then the table of variation tells all of an application.
    look = looks(own, log(TWO), 1450.0, machine(static_ratio=0.2))[0]
    first, second = look["node_slowdown"][:6], look["node_slowdown"][6:]
    assert np.ptp(look["caps_w"][:6]) > 15.0, "unlike nodes have unlike caps"
    assert first.min() > 1.1
    assert np.allclose(first, first[0], rtol=1e-9)
    assert np.allclose(second, second[0], rtol=1e-9)


def test_two_test_runs_are_all_that_is_known_of_an_application() -> None:
    # `mem` draws otherwise on each node than the benchmark says; only its two runs on the test node count.
    rng = np.random.default_rng(3)
    odd = np.where(np.arange(NODES) == 5, 1.0, rng.uniform(0.8, 1.2, NODES))
    table = hs.VariationTable(APPS, power_w=np.array([DRAWS_W, DRAWS_W * odd]))
    bare = hs.Platform.homogeneous(nodes=NODES, idle_w=IDLE_W, tdp_w=300)
    platform = bare.with_tables(actual=table).with_cap_model(static_w=STATIC_W, bound_ratio=BOUND)
    own = VariationAware(least_cap_w=LEAST_W, reference="cpu", test_node=5)
    caps = [looks(own, log([(0.0, 100.0, NODES, app)]), 1500.0, platform)[0]["caps_w"] for app in APPS]
    assert np.allclose(*caps, rtol=1e-12)


def test_a_job_that_needs_less_leaves_its_watts_to_the_other_level_by_level() -> None:
    # The second draws 0.8 as much: in two levels the first gets what it leaves, with one share a node it does not.
    workload, budget_w = log(TWO), 1850.0
    two, one = (
        looks(own, workload, budget_w)[0] for own in (TwoLevel(least_cap_w=LEAST_W), ALLOCATORS["variation-aware"])
    )
    assert two["slowdown"][1] == one["slowdown"][1] == 1.0
    assert 1.0 <= two["slowdown"][0] < one["slowdown"][0]


def test_the_nodes_that_draw_least_serve_first() -> None:
    own = TwoLevel(least_cap_w=LEAST_W)
    result = hs.simulate(log(TWO[:1]), machine(), policy(own, 3000.0, placement=own))
    assert result.jobs["nodes"].to_list()[0] == sorted(np.argsort(DRAWS_W)[:6].tolist())


def test_watts_that_a_job_does_not_draw_go_to_those_that_could_use_them() -> None:
    look = looks(ALLOCATORS["dynamic-sharing"], log(TWO), 1500.0, machine(alike=True, scale=(1.0, 0.5)))[0]
    fair_w = IDLE_W + look["watts"] / 10
    draws_w, uncapped_w = look["draws_w"], look["uncapped_w"]
    assert (uncapped_w[6:] < fair_w).all()
    assert np.allclose(draws_w[6:], uncapped_w[6:]), "who draws less than its share is not slowed"
    assert (draws_w[:6] > fair_w + 20.0).all(), "and the others draw more than theirs"
    # All that is not drawn are the margins, within the look.
    assert 0.0 <= look["watts"] - (draws_w - IDLE_W).sum() <= 4 * 0.5 + 1e-3


@pytest.mark.parametrize("seed", range(4))
def test_sharing_leaves_no_watts_unused_while_a_node_could_use_them(seed: int) -> None:
    own = DynamicSharing(least_cap_w=LEAST_W, margin_w=0.1)
    for look in looks(own, drawn_log(seed), 1500.0):
        hungry = look["uncapped_w"] > look["draws_w"] + 0.2
        unused_w = look["watts"] - (look["draws_w"] - IDLE_W).sum()
        assert not hungry.any() or unused_w <= 0.1 * (~hungry).sum() + 1e-2


def test_an_important_job_takes_watts_from_others_and_gives_them_back() -> None:
    rows = [(0.0, 100.0, 6, "cpu"), (50.0, 40.0, 6, "cpu")]
    own = DemandAware(caps_w=CAPS_W, slowdowns={"high": 1.0})
    seen = looks(own, log(rows, ["low", "high"]), 1800.0, machine(alike=True))
    alone, both, after = (look["slowdown"].tolist() for look in (seen[0], seen[1], seen[-1]))
    assert alone == [1.0]
    assert both[1] == 1.0
    assert both[0] > 1.5
    assert after == [1.0]
    # The other way round it is the second that yields.
    both = looks(own, log(rows, ["high", "low"]), 1800.0, machine(alike=True))[1]["slowdown"]
    assert both[0] == 1.0 < both[1]


def test_a_job_is_kept_at_the_speed_it_asked_for_before_others_get_more() -> None:
    rows = [(0.0, 100.0, 6, "cpu"), (0.0, 100.0, 6, "cpu")]
    own = DemandAware(caps_w=CAPS_W, slowdowns={"high": 1.5, "low": 3.0})
    look = looks(own, log(rows, ["high", "low"]), 1600.0, machine(alike=True))[0]
    assert look["slowdown"][0] <= 1.5
    assert look["slowdown"][0] < look["slowdown"][1] <= 3.0
    # One step more for the first would not be within the watts.
    step = CAPS_W[CAPS_W.index(look["caps_w"][0]) + 1]
    assert (look["draws_w"].sum() - 12 * IDLE_W) + 6 * (step - look["caps_w"][0]) > look["watts"]


@pytest.mark.parametrize("spread", [1.0, 1.5, 2.0, 20.0])
@pytest.mark.parametrize("seed", range(5))
def test_the_window_with_the_least_energy_is_taken(spread: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    size, free = int(rng.integers(1, 5)), np.sort(rng.choice(NODES, 8, replace=False))
    cost = DRAWS_W[free]
    width = min(8, int(np.ceil(spread * size)))
    sets = [places for places in combinations(range(8), size) if places[-1] - places[0] < width]
    least = min(cost[list(places)].sum() for places in sets)
    # The others are busy with jobs that were there before.
    busy = np.setdiff1d(np.arange(NODES), free).tolist()
    before = {node: 1 + place for place, node in enumerate(busy)}

    class Beside(VariationPlacement):
        def choose(self, job: Any, free: Any, view: Any) -> Any:
            return [busy[job.job_id - 1]] if job.job_id <= len(busy) else super().choose(job, free, view)

    rows = [(0.0, 1000.0, 1, "cpu")] * len(before) + [(1.0, 10.0, size, "cpu")]
    result = hs.simulate(log(rows), machine(), hs.Policy.preset("easy", placement=Beside(spread=spread)))
    nodes = result.jobs["nodes"].to_list()[-1]
    assert DRAWS_W[nodes].sum() == pytest.approx(least, rel=1e-12)
    if spread == 1.0:
        assert np.ptp(np.searchsorted(free, nodes)) == size - 1


def test_the_placement_conforms_to_its_role() -> None:
    conformance(hs.Policy.preset("easy", placement=VariationPlacement()), examples=settings().max_examples // 2)


RANGE = {"min_nodes": 1, "max_nodes": NODES, "speedup": "amdahl", "serial_ratio": 0.1}


def moldable(rows: list[tuple[float, float, int, str]], **given: Any) -> hs.Workload:
    frame = log(rows).to_polars().with_columns(**{name: pl.lit(value) for name, value in {**RANGE, **given}.items()})
    narrow = frame.with_columns(
        min_nodes=pl.min_horizontal("min_nodes", "node_count"), max_nodes=pl.max_horizontal("max_nodes", "node_count")
    )
    return hs.Workload.from_polars(narrow)


def sized(own: Any, budget_w: float, *, is_backfill: bool = False) -> hs.Policy:
    backfill: Any = own if is_backfill else {"name": "reservations", "sizing": own}
    power = {"name": "system-budget", "budget_w": budget_w, "allocator": own}
    return hs.Policy(backfill=backfill, power=power)


def moldable_log(seed: int) -> hs.Workload:
    rows = drawn_log(seed).to_polars().select("submit_s", "runtime_s", "node_count", "app").rows()
    return moldable(rows, max_nodes=8)


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.at_length_only) for seed in (1, 2))])
def test_moldable_strategies_keep_the_budget_and_the_laws(seed: int) -> None:
    workload, platform = moldable_log(seed), machine()
    ilp = ThroughputIlp(caps_w=[90.0, 120.0, 160.0])
    for given in (sized(MoldableBackfill(least_cap_w=LEAST_W), 1300.0), sized(ilp, 1300.0, is_backfill=True)):
        result = hs.simulate(workload, platform, given)
        check_schedule(result, workload, platform)
        assert result.summary()["over_budget_s"] == 0.0
        assert result.summary()["completed"] == len(workload)
        assert result.jobs.equals(hs.simulate(workload, platform, given).jobs)


def test_a_sizing_conforms_to_its_role() -> None:
    own = MoldableBackfill(least_cap_w=100.0)
    conformance(hs.Policy(backfill={"name": "reservations", "sizing": own}), examples=settings().max_examples // 2)


def sizes_of(result: hs.Result) -> list[int]:
    return result.jobs["nodes"].list.len().to_list()


def test_a_job_takes_its_fastest_size_within_its_watts() -> None:
    # Alone with all watts of its share: of 2 to 12 nodes the fastest under 6/12 of the watts.
    own, platform = MoldableBackfill(least_cap_w=LEAST_W, slowdown_limit=1.0), machine(alike=True)
    workload, budget_w = moldable([(0.0, 100.0, 6, "cpu")]), 1300.0
    result = hs.simulate(workload, platform, sized(own, budget_w))
    beyond_w, draw_w = (budget_w - NODES * IDLE_W) / NODES * 6, DRAWS_W.mean()

    def time(size: int) -> float:
        cap_w = min(max(IDLE_W + beyond_w / size, LEAST_W), draw_w)
        return float((0.1 + 0.9 / size) * (draw_w - STATIC_W) / (cap_w - STATIC_W))

    times = {size: time(size) for size in range(1, NODES + 1)}
    assert times[sizes_of(result)[0]] == pytest.approx(min(times.values()), rel=2e-3)
    # Next to one that holds eight nodes it starts on four, if a little slower is allowed, and waits otherwise.
    rows = [(0.0, 1000.0, 8, "cpu"), (1.0, 100.0, 6, "cpu")]
    frame = moldable(rows, min_nodes=1).to_polars()
    frame = frame.with_columns(
        min_nodes=pl.when(job_id=1).then(8).otherwise("min_nodes"),
        max_nodes=pl.when(job_id=1).then(8).otherwise("max_nodes"),
    )
    waits, starts = (
        hs.simulate(
            hs.Workload.from_polars(frame),
            platform,
            sized(MoldableBackfill(least_cap_w=LEAST_W, slowdown_limit=limit), 2000.0),
        )
        for limit in (1.0, 3.0)
    )
    assert waits.jobs["start_s"].to_list()[1] > 900.0
    assert starts.jobs["start_s"].to_list() == [0.0, 1.0]
    assert sizes_of(starts) == [8, 4]


def test_the_program_finds_what_trying_all_finds() -> None:
    # Two jobs that scale alike share the machine: no pair of sizes promises more speed.
    own = ThroughputIlp(caps_w=[LEAST_W, 150.0], alpha=0.0, gap_ratio=1e-4)
    workload = moldable([(0.0, 100.0, 6, "cpu"), (0.0, 100.0, 3, "cpu")], serial_ratio=0.3)
    platform = machine(alike=True)
    result = hs.simulate(workload, platform, sized(own, 5000.0, is_backfill=True))
    assert result.jobs["start_s"].to_list() == [0.0, 0.0]

    def worth(sizes: tuple[int, int]) -> float:
        speed = [asked * (0.3 + 0.7 / asked) / (0.3 + 0.7 / size) for asked, size in zip((6, 3), sizes, strict=True)]
        return float(sum(speed))

    pairs = [(a, b) for a in (1, 2, 3, 6, 12) for b in (1, 2, 3, 6, 12) if a + b <= NODES]
    one, other = sizes_of(result)
    assert worth((one, other)) >= max(map(worth, pairs)) * (1 - 1e-3)
    notes = result.provenance["notes"]
    assert notes["backfill"]["fallbacks"] == 0 < notes["backfill"]["solved"]


def test_without_a_solution_jobs_start_as_they_ask(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from hetsched.strategies import throughput_ilp  # noqa: PLC0415

    class Nothing:
        x = None

    monkeypatch.setattr(throughput_ilp, "milp", lambda *_args, **_options: Nothing())
    workload = moldable([(0.0, 100.0, 6, "cpu"), (0.0, 100.0, 3, "cpu")])
    own = ThroughputIlp(caps_w=[LEAST_W, 150.0])
    result = hs.simulate(workload, machine(), sized(own, 5000.0, is_backfill=True))
    assert sizes_of(result) == [6, 3]
    assert result.jobs["lowest_cap_w"].to_list() == [LEAST_W, LEAST_W]
    assert result.provenance["notes"]["backfill"]["fallbacks"] >= 2


def test_what_a_solver_prints_is_unheard(capfd: pytest.CaptureFixture[str]) -> None:
    import ctypes  # noqa: PLC0415

    from hetsched.files import unheard  # noqa: PLC0415

    printing = ctypes.CDLL(None)
    with unheard():
        printing.puts(b"inside")
    printing.puts(b"outside")
    printing.fflush(None)
    assert capfd.readouterr().out == "outside\n"


def test_a_job_that_has_waited_weighs_more() -> None:
    # At 1000 s the second has waited long and asks for 6 nodes; the third came just now and would use all 12.
    rows = [(0.0, 1000.0, 12, "cpu"), (0.0, 60.0, 6, "cpu"), (990.0, 60.0, 12, "cpu")]
    frame = moldable(rows).to_polars().with_columns(min_nodes="node_count", max_nodes="node_count")
    workload = hs.Workload.from_polars(frame)

    def third_first(alpha: float) -> bool:
        own = ThroughputIlp(caps_w=[LEAST_W], alpha=alpha)
        starts = hs.simulate(workload, machine(), sized(own, 5000.0, is_backfill=True)).jobs["start_s"].to_list()
        return bool(starts[2] < starts[1])

    # The second is first in the queue: without weights the program prefers the other all the same.
    frame = frame.with_columns(submit_s=pl.when(job_id=2).then(1.0).otherwise("submit_s"))
    workload = hs.Workload.from_polars(frame)
    assert third_first(0.0)
    assert not third_first(1.0)
