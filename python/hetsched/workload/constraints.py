"""Constraints of jobs on nodes and on the system, in words: ``gpu&(a100|h100)`` and ``matlab:2,ansys``."""

from __future__ import annotations

import re
from collections.abc import Callable
from collections.abc import Set as AbstractSet
from functools import lru_cache

Test = Callable[[AbstractSet[str]], bool]
"""True if a node with these features satisfies a constraint."""

_NAME = re.compile(r"[A-Za-z0-9_.:+\-]+")
_GAP = re.compile(r"\s*")
_LICENCE = re.compile(r"([A-Za-z0-9_.@+\-]+)(?:[:=]([1-9][0-9]{0,8}))?")
_A_FEATURE = "a feature, `!` or `(`"
_DEEPEST = 100


class UnreadableError(ValueError):
    """Text that says nothing: where it goes wrong, and what would be right there."""

    def __init__(self, position: int, expected: str) -> None:
        super().__init__(position, expected)
        self.position = position
        self.expected = expected


def is_feature(text: object) -> bool:
    """True if it can name a feature."""
    return isinstance(text, str) and _NAME.fullmatch(text) is not None


def is_licence(text: object) -> bool:
    """True if it can name a licence."""
    return isinstance(text, str) and (found := _LICENCE.fullmatch(text)) is not None and found[2] is None


@lru_cache(maxsize=4096)
def constraint_test(text: str) -> Test:
    """The test that a constraint stands for; raises `UnreadableError`.

    ``!`` binds before ``&``, ``&`` before ``|``.

    >>> constraint_test("gpu&(a100|h100)")({"gpu", "h100"}), constraint_test("!gpu|fast & big")({"gpu", "fast"})
    (True, False)
    """
    reader = _Reader(text)
    test = reader.any_of()
    reader.skip()
    if reader.at < len(text):
        raise UnreadableError(reader.at, "`&`, `|` or the end")
    return test


class _Reader:
    """A constraint, read from left to right."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.depth = 0

    def skip(self) -> None:
        found = _GAP.match(self.text, self.at)
        self.at = self.at if found is None else found.end()

    def takes(self, sign: str) -> bool:
        self.skip()
        is_next = self.text.startswith(sign, self.at)
        self.at += is_next
        return is_next

    def any_of(self) -> Test:
        tests = [self.all_of()]
        while self.takes("|"):
            tests.append(self.all_of())
        return tests[0] if len(tests) == 1 else lambda features: any(test(features) for test in tests)

    def all_of(self) -> Test:
        tests = [self.one()]
        while self.takes("&"):
            tests.append(self.one())
        return tests[0] if len(tests) == 1 else lambda features: all(test(features) for test in tests)

    def one(self) -> Test:
        if self.depth >= _DEEPEST:
            raise UnreadableError(self.at, f"no more than {_DEEPEST} `!` and `(` within each other")
        self.depth += 1
        test = self.negated() if self.takes("!") else self.group() if self.takes("(") else self.name()
        self.depth -= 1
        return test

    def negated(self) -> Test:
        test = self.one()
        return lambda features: not test(features)

    def group(self) -> Test:
        test = self.any_of()
        if not self.takes(")"):
            raise UnreadableError(self.at, "`&`, `|` or `)`")
        return test

    def name(self) -> Test:
        found = _NAME.match(self.text, self.at)
        if found is None:
            raise UnreadableError(self.at, _A_FEATURE)
        self.at, name = found.end(), found[0]
        return lambda features: name in features


@lru_cache(maxsize=4096)
def licence_counts(text: str) -> tuple[tuple[str, int], ...]:
    """Numbers of licences; raises `UnreadableError`.

    >>> licence_counts("matlab:2, ansys")
    (('matlab', 2), ('ansys', 1))
    """
    counts: dict[str, int] = {}
    at = 0
    for part in text.split(","):
        start = at + len(part) - len(part.lstrip())
        found = _LICENCE.fullmatch(part.strip())
        if found is None:
            raise UnreadableError(start, "a licence, or a licence and its number as in matlab:2")
        counts[found[1]] = counts.get(found[1], 0) + int(found[2] or 1)
        at += len(part) + 1
    return tuple(counts.items())
