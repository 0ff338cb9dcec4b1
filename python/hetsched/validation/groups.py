"""Jobs by user, by queue or by both, and what each group runs over time."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import polars as pl

from hetsched.validation.observed import Observed

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Groups:
    """Jobs of groups; those that are in none are left out."""

    names: pl.DataFrame
    """A row a group, in order of names: its labels."""
    rows: Ints
    """Places of the jobs among the known ones."""
    code: Ints
    """The group of each of these."""
    submit: Ints
    start: Ints
    end: Ints
    held: Ints

    @classmethod
    def of(cls, jobs: Observed, *labels: str) -> Groups:
        """The groups of one or several labels; a job that lacks one is in none."""
        frame = jobs.frame.select(*labels).with_row_index("row").drop_nulls()
        names = frame.select(*labels).unique().sort(*labels).with_row_index("code")
        coded = frame.join(names, on=list(labels), how="left", maintain_order="left")
        rows = coded["row"].cast(pl.Int64).to_numpy()
        own = (one[rows] for one in (jobs.submit, jobs.start, jobs.end, jobs.held))
        return cls(names.drop("code"), rows, coded["code"].cast(pl.Int64).to_numpy(), *own)

    def __len__(self) -> int:
        return len(self.names)

    @cached_property
    def _instants(self) -> Ints:
        return np.unique(np.concatenate([self.submit, self.start, self.end]))

    def _keys(self, instants: Ints) -> Ints:
        """Places of instants in an order by group, then time."""
        return self.code * (len(self._instants) + 1) + np.searchsorted(self._instants, instants)

    @cached_property
    def _starts(self) -> tuple[Ints, Ints]:
        return _summed(self._keys(self.start), self.held)

    @cached_property
    def _ends(self) -> tuple[Ints, Ints]:
        return _summed(self._keys(self.end), self.held)

    def running(self, instants: Ints) -> Ints:
        """Jobs of each job's group that run at an instant of the job."""
        keys = self._keys(instants)
        # Groups before it have as many starts as ends.
        found: Ints = np.searchsorted(self._starts[0], keys, "right") - np.searchsorted(self._ends[0], keys, "right")
        return found

    def in_use(self, instants: Ints) -> Ints:
        """The same of what they hold."""
        keys = self._keys(instants)
        begun, ended = (sums[np.searchsorted(own, keys, "right")] for own, sums in (self._starts, self._ends))
        found: Ints = begun - ended
        return found

    def most(self, values: Ints) -> Ints:
        """The largest of each group's values, a value a job; 0 without jobs."""
        found = np.zeros(len(self), np.int64)
        np.maximum.at(found, self.code, values)
        return found

    def count(self, is_counted: npt.NDArray[np.bool_]) -> Ints:
        """Jobs of each group for which something holds."""
        return np.bincount(self.code[is_counted], minlength=len(self))

    def since_end(self) -> Ints:
        """Time from the last end of a job of the group to each start; a large one if none ended before."""
        width = len(self._instants) + 1
        place = np.searchsorted(self._ends[0], self._keys(self.start), "right") - 1
        last = self._ends[0][np.maximum(place, 0)]
        is_own = (place >= 0) & (last // width == self.code)
        ended = self._instants[np.minimum(last % width, width - 2)]
        return np.where(is_own, self.start - ended, np.iinfo(np.int64).max)

    def above(self, limit: int) -> npt.NDArray[np.float64]:
        """Part, by group, of the time with a job running in which more than `limit` did."""
        keys = np.concatenate([self._starts[0], self._ends[0]])
        order = np.argsort(keys, kind="stable")
        changes = np.repeat([1, -1], len(self.code))[order]
        counts, keys = np.cumsum(changes)[:-1], keys[order]
        width = len(self._instants) + 1
        lasting = np.diff(self._instants[keys % width])
        # Between the last end of a group and the first start of the next nothing of either runs.
        codes = keys[:-1] // width
        busy, over = (
            np.bincount(codes, np.where(counts > least, lasting, 0), minlength=len(self)) for least in (0, limit)
        )
        found: npt.NDArray[np.float64] = over / np.maximum(busy, 1)
        return found


def _summed(keys: Ints, held: Ints) -> tuple[Ints, Ints]:
    """Keys in order, and what is held up to each place."""
    order = np.argsort(keys, kind="stable")
    return keys[order], np.concatenate([[0], np.cumsum(held[order])])
