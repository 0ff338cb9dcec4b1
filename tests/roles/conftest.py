"""Lets the tests of this folder, and processes that they start, import the parts by name; few smaller inputs."""

import sys
from pathlib import Path

import pytest

from hetsched.testing import conforming

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture
def few_tries(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few smaller inputs are tried once a fault has been found."""
    monkeypatch.setattr(conforming, "_MOST_TRIES", 20)
