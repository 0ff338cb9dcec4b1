"""Knowledge that only a policy has, as bytes, and a controller that goes on with it or folds what it has heard."""

from __future__ import annotations

import json
import pickle

import polars as pl
import pytest

import hetsched as hs
from hetsched.errors import ConfigError
from hetsched.live import Ended, Reject, Snapshot, Start, Submitted, Waiting
from hetsched.live.memory import bytes_of, has_gap, memory_in, without_jobs

SECOND = 1_000_000


def jobs(*users: str | None, nodes: int = 2, first: int = 1, **more: object) -> pl.DataFrame:
    count = len(users)
    frame = pl.DataFrame({"job_id": range(first, first + count), "user": pl.Series(users, dtype=pl.String)})
    return frame.with_columns(submit_s=0.0, walltime_s=60.0, node_count=nodes, **more)


def machine(**more: object) -> hs.Platform:
    return hs.Platform.homogeneous(nodes=2, idle_w=100, tdp_w=300, **more)


def sharing(frame: pl.DataFrame) -> hs.Controller:
    made = hs.Controller(machine(), "fair-share")
    made.add_jobs(frame)
    return made


def used_by_ann() -> hs.Controller:
    """A controller on whose machine Ann has run for an hour."""
    made = sharing(jobs("ann"))
    made.step(0, [Submitted(1)])
    made.step(3600 * SECOND, [Ended(1, 1, "completed")])
    return made


def first_of(made: hs.Controller, t_us: int, *numbers: int) -> int:
    decided = made.step(t_us, [Submitted(number) for number in numbers])
    return next(one.job for one in decided if isinstance(one, Start))


@pytest.mark.parametrize("is_known", [True, False])
def test_users_are_known_by_name_even_if_they_come_later_and_in_another_order(is_known):
    state, rest = used_by_ann().policy_state(), jobs("ann", "bob", first=5)
    for begin, first in ((state, 6), (None, 5)):
        other = hs.Controller(machine(), "fair-share")
        other.add_jobs(jobs("zoe", first=4))
        if is_known:
            other.add_jobs(rest)
        other.rebuild(4000 * SECOND, Snapshot(), state=begin)
        if not is_known:
            other.add_jobs(rest)
        assert first_of(other, 4001 * SECOND, 5, 6) == first


def test_a_state_has_its_version_and_another_one_is_none():
    state = used_by_ann().policy_state()
    assert json.loads(state)["version"] == hs.__version__
    assert "ann" in memory_in(state)["used"]
    other = json.dumps(json.loads(state) | {"version": "0.0.1"}).encode()
    for odd in (other, b"", b"\xff", b"[]", b'{"version": 1}', None):
        assert memory_in(odd) is None
        made = sharing(jobs("ann", "bob"))
        made.rebuild(4000 * SECOND, Snapshot(), state=odd)
        assert first_of(made, 4001 * SECOND, 1, 2) == 1


def test_what_is_about_jobs_is_left_out_for_other_numbers():
    memory = {"used": ["ann", 1, 2, 3, 4, 5, 6], "kept": [0, 7], "demand": [7, 1, 2, 3], "1/joined": [7], "drawn": [5]}
    assert memory_in(without_jobs(bytes_of(memory))) == {name: memory[name] for name in ("used", "drawn")}
    assert without_jobs(None) is None
    assert has_gap({"0/gap": [1]})
    assert not has_gap(memory)


def test_jobs_that_the_policy_turns_away_at_a_rebuild_are_rejected():
    made = hs.Controller(machine(), "fcfs")
    made.add_jobs(jobs("ann", "bob"))
    state = Snapshot(waiting=(Waiting(1, 0), Waiting(2, 0)))
    budget = 150.0 + 2 * 100.0
    made.rebuild(SECOND, state, policy=hs.Policy.preset("vahrm", budget_w=budget))
    assert made.next_us == SECOND + 1
    decided = made.step(SECOND + 1, [])
    assert [(type(one), one.job, one.why) for one in decided] == [(Reject, 1, "power"), (Reject, 2, "power")]
    assert made.snapshot().waiting == ()


def test_what_was_before_is_folded_and_pickles_stay_small():
    made = hs.Controller(machine(), "easy", fold_after=10)
    whole = hs.Controller(machine(), "easy", fold_after=None)
    for one in (made, whole):
        one.add_jobs(jobs(*["ann"] * 40, nodes=1))
    sizes = []
    for number in range(1, 40):
        told = [Submitted(number), *([Ended(number - 1, 1, "completed")] if number > 1 else [])]
        assert made.step(number * SECOND, told) == whole.step(number * SECOND, told)
        again = pickle.loads(pickle.dumps(made))
        assert (again.snapshot(), again.next_us, again.late) == (made.snapshot(), made.next_us, made.late)
        sizes.append(len(made._deeds))
    assert max(sizes) <= 12
    assert len(whole._deeds) == 40
    with pytest.raises(ConfigError, match="fold_after"):
        hs.Controller(machine(), "easy", fold_after=0)


@pytest.mark.parametrize("policy", ["hetsched", "slurm"])
def test_where_a_state_is_not_everything_nothing_is_folded(policy):
    made = hs.Controller(machine(), policy, fold_after=1)
    made.add_jobs(jobs("ann", "bob"))
    made.step(0, [Submitted(1)])
    made.step(SECOND, [Submitted(2)])
    assert has_gap(memory_in(made.policy_state()))
    assert len(made._deeds) == 3
