"""Random numbers: one seed, and a stream of its own for each purpose."""

from __future__ import annotations

import zlib

import numpy as np
import numpy.typing as npt


def stream(seed: int, name: str) -> np.random.Generator:
    """The random numbers of one purpose, which other purposes do not change."""
    # A checksum, as Python's own hash of a text differs from process to process.
    return np.random.default_rng(np.random.SeedSequence([seed, zlib.crc32(name.encode())]))


_STEP, _FIRST, _SECOND = (np.uint64(one) for one in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB))


def uniform(seed: int, number: int, ids: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """A number from 0 to 1, that excluded, of each id, which depends on these three alone: SplitMix64, one by one."""
    state = _mixed(np.array([seed], np.uint64))
    for key in (np.array([number], np.uint64), ids.astype(np.uint64)):
        state = _mixed(state ^ key)
    return (state >> np.uint64(11)).astype(np.float64) * 2.0**-53


def _mixed(state: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """The next number of Steele, Lea & Flood's generator (2014)."""
    state = state + _STEP
    state = (state ^ (state >> np.uint64(30))) * _FIRST
    state = (state ^ (state >> np.uint64(27))) * _SECOND
    return state ^ (state >> np.uint64(31))
