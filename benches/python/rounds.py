"""Benches that measure in rounds: their options, their table, and two runs in turn."""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Callable

from rich import box
from rich.table import Table

__all__ = ["count", "in_turn", "options", "table_of"]


def options(about: str, *, repeat: int = 3) -> argparse.ArgumentParser:
    """A command line with how often to measure."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--quick", action="store_true", help="a few seconds: whether everything runs")
    told = f"rounds; the median counts ({repeat})"
    parser.add_argument("--repeat", type=int, default=repeat, metavar="N", help=told)
    return parser


def count(chosen: argparse.Namespace) -> int:
    """Number of rounds."""
    return 1 if chosen.quick else int(chosen.repeat)


def table_of(*columns: str) -> Table:
    """An empty table of works, with these columns of numbers next to their names."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("work", no_wrap=True)
    for name in columns:
        table.add_column(name, justify="right")
    return table


def in_turn(one: Callable[[], float], other: Callable[[], float], rounds: int) -> tuple[float, float, float]:
    """The median seconds of each, and the median of what the other takes over what the one takes."""
    found = [(one(), other()) for _ in range(rounds)]
    ratio = statistics.median(after / before for before, after in found)
    return statistics.median(before for before, _ in found), statistics.median(after for _, after in found), ratio
