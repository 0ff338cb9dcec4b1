"""The rules of an operated machine: each has a row with its tests, and every test that is named is there."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TABLE = (ROOT / "docs" / "background" / "rules.md").read_text(encoding="utf-8").rpartition("| rule | tests |")[2]


def test_every_rule_stands_once() -> None:
    rules = re.findall(r"^\| ([\d, ]+) \| `", TABLE, flags=re.MULTILINE)
    assert sorted(int(number) for row in rules for number in row.split(",")) == list(range(1, 39))


def test_every_test_that_is_named_is_there() -> None:
    named = re.findall(r"`(tests/[\w/]+\.py)`: `(test_\w+)`", TABLE)
    assert len(named) > 50
    missing = [(path, name) for path, name in named if f"def {name}(" not in (ROOT / path).read_text(encoding="utf-8")]
    assert missing == []
