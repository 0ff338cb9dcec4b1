"""Modules that tests share with the processes that they start, and those processes."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))


def all_children():
    """Processes that this one has started and that are still there."""
    return {int(pid) for path in Path("/proc/self/task").glob("*/children") for pid in path.read_text().split()}


@pytest.fixture
def children():
    """Processes of this test that are still there; other tests may have left helpers of an executor's."""
    before = all_children()
    return lambda: sorted(all_children() - before)
