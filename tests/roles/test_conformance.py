"""`conformance` passes what is right, and names what each wrong part breaks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import settings
from own_parts import AllInOrder, Chance, Counting, FirstFit, LowestId, Shortest

import hetsched as hs
from hetsched.testing import conformance


@pytest.mark.parametrize(
    "part",
    [
        Shortest,
        Shortest(),
        Chance(),
        Counting(),
        LowestId(),
        FirstFit(),
        AllInOrder(),
        hs.Policy.preset("easy", order=Shortest),
    ],
)
def test_a_part_that_is_right_conforms(part: Any) -> None:
    conformance(part, examples=settings().max_examples // 2)


class OneTooFew(LowestId):
    def choose(self, job: Any, free: Any, view: Any) -> Any:
        return free[: job.node_count - 1]


class GlobalChance(Shortest):
    """Draws from a generator that other runs draw from, too."""

    _rng = np.random.default_rng(1)

    def __deepcopy__(self, memo: Any) -> GlobalChance:
        return self

    def rank(self, jobs: Any, view: Any) -> Any:
        return self._rng.random(len(jobs))


class HiddenChance(Chance):
    uses_chance = False


class Shared(Shortest):
    """Its copies all count on one list."""

    _count: list[int] = []  # noqa: RUF012 -- that is what is wrong with it

    def rank(self, jobs: Any, view: Any) -> Any:
        self._count.append(1)
        return jobs.planned_s * (-1) ** (len(self._count) // 2)


class Crashing(Shortest):
    def rank(self, jobs: Any, view: Any) -> Any:
        return jobs.planned_s / {0: 1}[len(jobs) // 2]


@pytest.mark.parametrize(
    ("part", "message"),
    [
        (
            OneTooFew,
            r"OneTooFew: raised SimulationError: policy.placement: `choose` of OneTooFew gave \d+ nodes? to job",
        ),
        (
            GlobalChance,
            r"GlobalChance: (the same run is another one when it is repeated|another seed makes another schedule)",
        ),
        (HiddenChance, "HiddenChance: another seed makes another schedule; `uses_chance` says none can"),
        (
            Crashing,
            r"Crashing: raised KeyError: 1 \(policy.order: `rank` of Crashing, for 2 jobs, the first of them job",
        ),
    ],
)
@pytest.mark.usefixtures("few_tries")
def test_a_part_that_is_wrong_is_reported_what_it_breaks(part: Any, message: str) -> None:
    with pytest.raises(AssertionError, match=message) as raised:
        conformance(part, examples=60)
    assert "with shape:" in str(raised.value)


@pytest.mark.usefixtures("few_tries")
def test_a_part_whose_copies_share_something_does_not_conform() -> None:
    with pytest.raises(AssertionError, match=r"Shared: (the same run|a fork made|another seed|a run in steps)"):
        conformance(Shared, examples=100)


def test_the_smallest_inputs_that_show_a_fault_are_shown() -> None:
    with pytest.raises(AssertionError, match="gave 0 nodes to job") as raised:
        conformance(OneTooFew, examples=60)
    assert "with shape: (1, " in str(raised.value)


def test_what_is_no_part_is_reported() -> None:
    for given in (3, object(), "order=fifo"):
        with pytest.raises(hs.ConfigError, match="part: "):
            conformance(given)
