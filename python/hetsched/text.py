"""Counts and long lists as messages tell them."""

from __future__ import annotations

from collections.abc import Sequence

from hetsched.checks import listed


def few(names: Sequence[str], *, most: int = 6) -> str:
    """Names as a message lists them, of many only the first and how many more there are."""
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return listed(names[:most]) + more


def many(count: int, word: str) -> str:
    """A number of things."""
    return f"{count:,} {word}{'' if count == 1 else 's'}"
