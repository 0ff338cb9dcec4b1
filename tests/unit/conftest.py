"""Modules that tests share with the processes that they start, and those processes."""

import sys
from contextlib import suppress
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))


def all_children():
    """Processes that this one has started and that are still there."""
    found = set()
    for path in Path("/proc/self/task").glob("*/children"):
        # A thread may end between being listed and being read.
        with suppress(FileNotFoundError, ProcessLookupError):
            found.update(map(int, path.read_text().split()))
    return found


@pytest.fixture
def children():
    """Processes of this test that are still there; other tests may have left helpers of an executor's."""
    before = all_children()
    return lambda: sorted(all_children() - before)
