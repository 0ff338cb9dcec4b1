"""Nodes in use over time as a step function, and the first instants with room."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]

_LEAST = np.iinfo(np.int64).min


@dataclass(frozen=True)
class Use:
    """A step function of time, right-continuous: `values` from `times` on, 0 before.

    Instants are whole microseconds; the first step lies before all others and is 0.
    """

    times: Ints
    values: Ints

    @classmethod
    def of(cls, begins: Ints, ends: Ints, held: Ints) -> Use:
        """Sum of what is held in each [begin, end)."""
        times, places = np.unique(np.concatenate([begins, ends]), return_inverse=True)
        changes = np.zeros(len(times), np.int64)
        np.add.at(changes, places, np.concatenate([held, -held]))
        before = times[0] - 1 if len(times) else 0
        return cls(np.concatenate([[before], times]), np.concatenate([[0], np.cumsum(changes)]))

    def places(self, instants: Ints) -> Ints:
        """The step in force at each instant."""
        return np.maximum(np.searchsorted(self.times, instants, side="right") - 1, 0)

    def at(self, instants: Ints) -> Ints:
        """Values at instants."""
        found: Ints = self.values[self.places(instants)]
        return found

    def lasting(self) -> Ints:
        """Length of each step; 0 for the first and the last, which have no bounds."""
        lengths = np.append(np.diff(self.times), 0)
        lengths[0] = 0
        return lengths

    def most(self, edges: Ints) -> Ints:
        """The largest value in each stretch between two neighbouring edges."""
        firsts = self.places(edges[:-1])
        # What begins at or after the next edge is not of the stretch.
        lasts = np.maximum(np.searchsorted(self.times, edges[1:], side="left") - 1, firsts)
        bounds = np.stack([firsts, lasts + 1], axis=1).ravel()
        padded = np.append(self.values, _LEAST)
        found: Ints = np.maximum.reduceat(padded, bounds)[::2]
        return found

    def first_at_most(self, instants: Ints, limits: Ints) -> Ints:
        """The first instant from each on with a value of at most its limit; a limit below all values gives the end."""
        places = self.places(instants)
        found = self._next(places, limits)
        steps = self.times[np.minimum(found, len(self.times) - 1)]
        return np.where(found == places, instants, steps)

    @cached_property
    def _levels(self) -> list[Ints]:
        """Least values of aligned blocks of 1, 2, 4 … steps; behind the last step lies one that is below any limit."""
        size = 1 << len(self.values).bit_length()
        levels = [np.concatenate([self.values, np.full(size - len(self.values), _LEAST)])]
        while len(levels[-1]) > 1:
            levels.append(np.minimum(levels[-1][::2], levels[-1][1::2]))
        return levels

    def _next(self, places: Ints, limits: Ints) -> Ints:
        """The first step from each place on with a value of at most its limit; one behind the last if there is none."""
        levels = self._levels
        block, height = places.copy(), np.full(len(places), -1)
        for level, least in enumerate(levels):
            # Up: a block that has no such step is passed over, with its right neighbour if it has one below its parent.
            for _ in range(2):
                open_ = np.flatnonzero(height < 0)
                is_in = least[block[open_]] <= limits[open_]
                height[open_[is_in]] = level
                passed = open_[~is_in]
                block[passed] += 1
            rising = height < 0
            block[rising] >>= 1
        for level in range(len(levels) - 1, 0, -1):
            # Down: to the left half if it has one.
            own = np.flatnonzero(height >= level)
            left = 2 * block[own]
            block[own] = left + (levels[level - 1][left] > limits[own])
        return block


def least_over(firsts: Ints, ends: Ints, values: Ints, length: int, none: int) -> Ints:
    """Least value, for each place below `length`, whose range [first, end) it lies in; `none` where there is none."""
    is_any = ends > firsts
    firsts, ends, values = firsts[is_any], ends[is_any], values[is_any]
    tops = np.floor(np.log2(np.maximum(ends - firsts, 1))).astype(np.int64)
    covered = np.full(length, none, np.int64)
    for top in range(int(tops.max(initial=0)), -1, -1):
        # A range is two blocks of a power of two that may overlap; a block is two of half its length.
        own = tops == top
        np.minimum.at(covered, firsts[own], values[own])
        np.minimum.at(covered, ends[own] - (1 << top), values[own])
        if top:
            half = 1 << (top - 1)
            shifted = covered.copy()
            shifted[half:] = np.minimum(covered[half:], covered[:-half])
            covered = shifted
    return covered
