"""Runs on nodes that differ beside their twin in plain Python: every start, end and node."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import inf
from typing import Any

import hypothesis.strategies as st
import numpy as np
import polars as pl
import pytest
from hypothesis import given
from plain_cells import Machine, Node, Task

import hetsched as hs
from hetsched.testing import check_schedule

pytestmark = pytest.mark.filterwarnings("ignore::hetsched.errors.RunWarning")

SECOND = 1_000_000
APPS = ("calm", "hungry")
IDLE_W = 100
FEATURES = ("cpu", "gpu", "big", "a100")

Wish = tuple[str, Callable[[frozenset[str]], bool]]


def either(one: Wish, other: Wish) -> Wish:
    return f"({one[0]}|{other[0]})", lambda features: one[1](features) or other[1](features)


def both(one: Wish, other: Wish) -> Wish:
    return f"{one[0]} & {other[0]}", lambda features: one[1](features) and other[1](features)


def neither(one: Wish) -> Wish:
    return f"!({one[0]})", lambda features: not one[1](features)


def named(word: str) -> Wish:
    return word, lambda features: word in features


WISHES = st.recursive(
    st.sampled_from([*FEATURES, "h100"]).map(named),
    lambda inner: st.builds(either, inner, inner) | st.builds(both, inner, inner) | st.builds(neither, inner),
    max_leaves=3,
)
LENGTHS = st.integers(0, 40).map(lambda seconds: seconds * SECOND)


def machine_nodes(draw: st.DrawFn) -> list[Node]:
    kinds = st.builds(Node, st.frozensets(st.sampled_from(FEATURES)), st.sampled_from([0, 2]), st.sampled_from([1, 4]))
    kind = draw(st.lists(kinds, min_size=1, max_size=4))
    adds = st.tuples(*[st.sampled_from([0, 100, 130, 170, 200])] * len(APPS))
    return [replace(node, adds_w=draw(adds)) for node in kind for _ in range(draw(st.integers(1, 3)))]


@st.composite
def cases(draw: st.DrawFn) -> tuple[Machine, list[Task], list[str | None]]:
    backfill = draw(st.sampled_from(["none", "first-fit", *["reservations"] * 4, *["plan"] * 3]))
    machine = Machine(
        nodes=machine_nodes(draw),
        licences=draw(st.sampled_from([{}, {"matlab": 2}, {"ansys": 3, "matlab": 1}])),
        backfill=backfill,
        depth=draw(st.sampled_from([inf, inf, 1, 1, 2, 3])) if backfill in ("reservations", "plan") else inf,
        slots=draw(st.sampled_from([1, 2, 4])) if backfill == "plan" else 1,
        kill=draw(st.booleans()),
    )
    if backfill != "plan" and draw(st.booleans()):
        machine.room_w = draw(st.integers(1, 9)) * 100
    tasks, texts, submit = [], [], 0
    for row in range(draw(st.integers(1, 14))):
        submit += draw(st.sampled_from([0, 0, 1, 4, 11])) * SECOND
        text, likes = draw(st.none() | WISHES) or (None, lambda features: True)
        texts.append(text)
        licences = {name: draw(st.integers(0, count + 1)) for name, count in machine.licences.items()}
        tasks.append(
            Task(
                row,
                submit,
                draw(LENGTHS),
                draw(st.none() | st.integers(1, 60).map(lambda seconds: seconds * SECOND)),
                draw(st.integers(1, len(machine.nodes))),
                draw(st.integers(1, machine.slots)),
                likes,
                draw(st.sampled_from([0, 0, 0, 1, 2, 3])),
                draw(st.sampled_from([0, 0, 1, 3, 4, 5])),
                {name: count for name, count in licences.items() if count},
                draw(st.integers(0, len(APPS) - 1)),
            )
        )
    return machine, tasks, texts


def workload(tasks: list[Task], texts: list[str | None]) -> hs.Workload:
    frame = pl.DataFrame(
        {
            "job_id": [task.row for task in tasks],
            "submit_s": [task.submit / SECOND for task in tasks],
            "runtime_s": [task.runtime / SECOND for task in tasks],
            "node_count": [task.node_count for task in tasks],
            "walltime_s": pl.Series(
                [None if t.walltime is None else t.walltime / SECOND for t in tasks], dtype=pl.Float64
            ),
            "slots": [task.slots for task in tasks],
            "constraint": pl.Series(texts, dtype=pl.String),
            "gpus": [task.gpus for task in tasks],
            "memory_gb": [float(task.memory) for task in tasks],
            "app": [APPS[task.app] for task in tasks],
            "licences": [",".join(f"{name}:{n}" for name, n in t.licences.items()) or None for t in tasks],
        }
    )
    return hs.Workload.from_polars(frame)


def platform(machine: Machine) -> hs.Platform:
    classes = [
        hs.NodeClass(
            f"n{number}",
            1,
            float(IDLE_W),
            300.0,
            slots=machine.slots,
            gpus=n.gpus,
            memory_gb=n.memory,
            features=list(n.features),
        )
        for number, n in enumerate(machine.nodes)
    ]
    alike = hs.Platform(classes, exclusive=not machine.is_shared, licences=machine.licences)
    adds_w = np.array([node.adds_w for node in machine.nodes], dtype=np.float64).T
    return alike.with_tables(actual=hs.VariationTable(list(APPS), power_w=IDLE_W + adds_w))


def policy(machine: Machine) -> hs.Policy:
    depth = "unbounded" if machine.depth == inf else machine.depth
    part: Any = (
        {"name": machine.backfill, "depth": depth} if machine.backfill in ("reservations", "plan") else machine.backfill
    )
    if machine.room_w is None:
        return hs.Policy("fcfs", part)
    budget_w = IDLE_W * len(machine.nodes) + machine.room_w
    return hs.Policy("fcfs", part, power={"name": "system-budget", "budget_w": budget_w})


def told(micros: int | None) -> float | None:
    return None if micros is None else micros / SECOND


@given(cases())
def test_unlike_nodes_agree_with_their_twin(case: tuple[Machine, list[Task], list[str | None]]) -> None:
    machine, tasks, texts = case
    jobs, nodes = workload(tasks, texts), platform(machine)
    # Without a single text or number that is asked for nodes are alike.
    plain = [node if any(texts) else replace(node, features=frozenset()) for node in machine.nodes]
    machine.nodes = plain
    result = hs.simulate(jobs, nodes, policy(machine), kill_at_walltime=machine.kill)
    machine.run(tasks)
    expected = [(t.row, told(t.start), told(t.end), t.nodes if t.start is not None else None) for t in tasks]
    assert result.jobs.select("job_id", "start_s", "end_s", "nodes").rows() == expected
    rejected = [not machine.can_run(task) for task in tasks]
    assert (result.jobs["state"] == "rejected").to_list() == rejected
    assert result.jobs["reason"].is_not_null().to_list() == [
        is_out or state == "timeout" for is_out, state in zip(rejected, result.jobs["state"], strict=True)
    ]
    check_schedule(result, jobs, nodes)


@pytest.mark.parametrize("depth", [1, 2, inf])
@pytest.mark.parametrize("seed", range(25))
def test_deep_queues_for_several_kinds_agree_with_their_twin(depth: float, seed: int) -> None:
    """So many wait for each kind, or for any, that most need not be planned to know who starts now."""
    chance = np.random.default_rng(seed)
    kinds, each, count = int(chance.integers(2, 5)), int(chance.choice([1, 2, 4])), 24
    nodes = [Node(frozenset({f"f{kind}"}), 0, 1, (100, 100)) for kind in range(kinds) for _ in range(each)]
    tasks, texts, submit = [], [], 0
    for row in range(count):
        submit += int(chance.integers(0, 5)) * SECOND if seed % 2 else 0
        runtime, kind = int(chance.integers(0, 40)) * SECOND, int(chance.integers(0, kinds + 1))
        word, likes = named(f"f{kind}")
        wish = {} if kind == kinds else {"likes": likes}
        walltime, size = runtime * int(chance.integers(1, 4)) + SECOND, 2 ** int(chance.integers(0, 4))
        licences = {"m": 1} if chance.random() < 0.3 else {}
        task = Task(row, submit, runtime, walltime, min(kinds * each, size), licences=licences, **wish)
        tasks.append(task)
        texts.append(None if kind == kinds else word)
    machine = Machine(nodes, {"m": 2}, "reservations", depth)
    jobs, nodes_like = workload(tasks, texts), platform(machine)
    result = hs.simulate(jobs, nodes_like, policy(machine), kill_at_walltime=machine.kill)
    machine.run(tasks)
    starts = [None if task.start is None else task.start / SECOND for task in tasks]
    assert result.jobs["start_s"].to_list() == starts
