"""Episodes: which jobs a run has."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl

from hetsched.checks import Faults
from hetsched.errors import ConfigError
from hetsched.workload import Workload

_KEPT = 256


class Episodes:
    """The jobs of each episode: all of a workload, a random window of it, or what a function makes of a seed."""

    def __init__(self, source: Any, jobs: int | None) -> None:
        faults = Faults()
        if not isinstance(source, Workload) and not callable(source):
            faults.add("workload", type(source).__name__, "a Workload, or a function that makes one of a seed")
        elif jobs is not None and not isinstance(source, Workload):
            faults.add("jobs", jobs, "None: a function makes workloads of whatever length it likes")
        elif jobs is not None:
            faults.whole("jobs", jobs, low=1, high=len(source) if isinstance(source, Workload) else 1)
        faults.check()
        self._whole = source if isinstance(source, Workload) else None
        self._make: Callable[[int], Any] = source
        self._jobs = jobs
        self._kept: OrderedDict[int, Workload] = OrderedDict()

    def draw(self, chance: np.random.Generator) -> Workload:
        """The jobs of an episode."""
        if self._whole is None:
            return self._made(int(chance.integers(2**32)))
        if self._jobs is None:
            return self._whole
        return self._window(self._whole, int(chance.integers(len(self._whole) - self._jobs + 1)), self._jobs)

    def _made(self, seed: int) -> Workload:
        made = self._make(seed)
        if not isinstance(made, Workload):
            raise ConfigError(
                [("workload", f"a function that returns {type(made).__name__}", "one that returns a Workload")]
            )
        return made

    def _window(self, whole: Workload, first: int, jobs: int) -> Workload:
        """So many jobs that were submitted one after the other; the windows drawn last are kept."""
        if first not in self._kept:
            order = np.argsort(whole.to_polars()["submit_s"].to_numpy(), kind="stable")
            inside = np.zeros(len(order), np.bool_)
            inside[order[first : first + jobs]] = True
            self._kept[first] = whole.filter(pl.lit(pl.Series(inside)))
            if len(self._kept) > _KEPT:
                self._kept.popitem(last=False)
        self._kept.move_to_end(first)
        return self._kept[first]
