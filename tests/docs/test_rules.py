"""The page on power in time: its rules are numbered without gaps, and every test that it names is there."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "background" / "power-in-time.md").read_text(encoding="utf-8")
EXAMPLES = "tests/golden/test_power_examples.py"


def rows() -> list[tuple[list[int], str, str]]:
    """The rules that a row of the table is about, and its two cells."""
    found = re.findall(r"^\| ([\d, ]+) \| (.*?) \|(.*)\|$", PAGE, flags=re.MULTILINE)
    return [([int(number) for number in numbers.split(",")], here, elsewhere) for numbers, here, elsewhere in found]


def test_every_rule_stands_once_and_has_its_tests() -> None:
    assert [int(number) for number in re.findall(r"^(\d+)\. ", PAGE, flags=re.MULTILINE)] == list(range(1, 52))
    assert [number for numbers, _, _ in rows() for number in numbers] == list(range(1, 52))


def test_every_test_that_is_named_is_there() -> None:
    named = [(EXAMPLES, name) for _, here, _ in rows() for name in re.findall(r"`(test_\w+)`", here)]
    named += re.findall(r"`(tests/[\w/]+\.py)`[^`]{1,3}`(test_\w+)`", PAGE)
    assert len(named) > 60
    missing = [(path, name) for path, name in named if f"def {name}(" not in (ROOT / path).read_text(encoding="utf-8")]
    assert missing == []


def test_every_worked_example_is_named() -> None:
    examples = re.findall(r"^def (test_\w+)\(", (ROOT / EXAMPLES).read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert [name for name in examples if f"`{name}`" not in PAGE] == []
