"""Parts that answer what a test tells them, and small runs to ask them in."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

import hetsched as hs


def jobs(**columns: Any) -> hs.Workload:
    """Four jobs of one node each on a machine of one node, unless columns say otherwise."""
    given = {"job_id": [11, 12, 13, 14], "submit_s": [0, 1, 2, 3], "runtime_s": [10, 30, 20, 5], "node_count": [1] * 4}
    return hs.Workload.from_polars(pl.DataFrame({**given, **columns}, strict=False))


def one_node(**more: Any) -> hs.Platform:
    return hs.Platform.homogeneous(nodes=1, idle_w=100, tdp_w=300, **more)


class Order:
    """Ranks by whatever it was made with, and keeps what it was asked."""

    def __init__(self, answer: Any = None, changes: Any = "never") -> None:
        self._answer = answer or (lambda jobs, _: np.zeros(len(jobs)))
        self._asked: list[Any] = []
        self.changes = changes

    def fork(self) -> Order:
        """Every run notes in the same list what it asked."""
        return self

    def rank(self, jobs: Any, view: Any) -> Any:
        self._asked.append((view.now_s, jobs.job_id.tolist()))
        return self._answer(jobs, view)


class Placement:
    def __init__(self, answer: Any) -> None:
        self._answer = answer

    def choose(self, job: Any, free: Any, view: Any) -> Any:
        return self._answer(job, free, view)


class Scheduler:
    def __init__(self, answer: Any) -> None:
        self._answer = answer

    def decide(self, view: Any) -> Any:
        return self._answer(view)


def starts(policy: Any, **options: Any) -> list[float]:
    return hs.simulate(jobs(), one_node(), policy, **options).jobs["start_s"].to_list()


class Backfill:
    def __init__(self, answer: Any) -> None:
        self._answer = answer

    def select(self, queue: Any, view: Any) -> Any:
        return self._answer(queue, view)


class Broken(Exception):  # noqa: N818 -- a user's own
    """A user's own."""


def broken(*_: Any) -> Any:
    raise Broken("no idea")
