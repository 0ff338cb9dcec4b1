"""Random numbers: one seed, and a stream of its own for each purpose."""

from __future__ import annotations

import zlib

import numpy as np


def stream(seed: int, name: str) -> np.random.Generator:
    """The random numbers of one purpose, which other purposes do not change."""
    # A checksum, as Python's own hash of a text differs from process to process.
    return np.random.default_rng(np.random.SeedSequence([seed, zlib.crc32(name.encode())]))
