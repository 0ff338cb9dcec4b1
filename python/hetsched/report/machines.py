"""The table of the machines that come with hetsched."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.table import Table
from rich.text import Text

from hetsched.report.tables import LOOK


def machines_table(rows: Sequence[Mapping[str, Any]]) -> Table:
    """Every machine with its nodes, what all of them draw when idle and at most, and where that is from."""
    table = Table("machine", **LOOK)
    for title in ("nodes", "idle kW", "TDP kW"):
        table.add_column(title, justify="right")
    table.add_column("what it is, and the source of its numbers")
    for row in rows:
        kilowatts = (f"{row[name] / 1000:,.1f}" for name in ("idle_w", "tdp_w"))
        table.add_row(Text(row["name"], style="bold"), f"{row['nodes']:,}", *kilowatts, row["about"])
        parts = ", ".join(f"{count:,} {name}" for name, count in row["classes"].items())
        queues = f"; queues {', '.join(row['queues'])}" if row["queues"] else ""
        table.add_row("", "", "", "", Text(f"classes: {parts}{queues}", style="dim"))
        table.add_row("", "", "", "", Text(row["source"], style="dim"))
    return table
