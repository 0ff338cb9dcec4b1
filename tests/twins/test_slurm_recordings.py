"""Recordings of a real Slurm against the plain reference."""

from __future__ import annotations

import pytest
from slurm_recordings import NAMES, recording

SHARE = 0.95


@pytest.mark.parametrize("name", NAMES)
def test_starts_and_nodes_of_a_recording(name: str) -> None:
    """With beats and lengths as they were: within 1.1 s on the same nodes."""
    known = recording(name)
    hits = known.hits(known.replayed())
    assert len(hits) == 60
    assert sum(hits.values()) >= SHARE * len(hits), [number for number, is_hit in hits.items() if not is_hit]


def test_all_kinds_are_recorded() -> None:
    assert {"tight", "default", "weights", "power"} <= set(NAMES)
