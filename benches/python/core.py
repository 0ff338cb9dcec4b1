"""Cost of the core, compared with a rival or a base: ``python benches/python/core.py [--only ROW] [--quick]``.

Plain FCFS and EASY take turns with a C++ program that is written for nothing else and must give the same starts, node
ids and node energies, to the last bit: a run where one differs fails. The other works take turns with the same jobs
without what makes them dear. Every run is a process of its own; of both the median CPU seconds count, and the median of
the ratios, round by round. Speed never fails this program.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

import core_works
import measure
import rival
import rounds
import scale
from core_works import WORKS, Work
from run import sentence, surroundings
from table import console

Numbers = dict[str, Any]


@dataclass
class Row:
    """A work and what was measured, round by round; why there is no more, if so."""

    work: Work
    rounds: list[tuple[Numbers, Numbers]] = field(default_factory=list)
    fault: str = ""

    def median(self, side: int, name: str) -> float:
        """Median of a figure over the rounds; 0 is the base's side, 1 the work's own."""
        return statistics.median(both[side][name] for both in self.rounds)

    def ratio(self, name: str) -> float:
        """The work's figure over the base's, the median of the rounds."""
        return statistics.median(this[name] / max(base[name], 1e-6) for base, this in self.rounds)

    def differs(self) -> bool:
        """True if the C++ program gives another schedule, other nodes or other energies."""
        return self.work.base is None and any(base["digest"] != this["digest"] for base, this in self.rounds)

    def cells(self) -> list[str]:
        """A line of the table."""
        if not self.rounds:
            return [self.work.name, "", self.work.base_name, "", self.fault, "", "", "", self.work.reach]
        base_s, this_s = self.median(0, "cpu_s"), self.median(1, "cpu_s")
        peaks = [f"{self.median(side, 'peak_bytes') / 1e6:,.0f}" for side in (0, 1)]
        numbers = [f"{base_s:.2f}", f"{this_s:.2f}", f"{self.ratio('cpu_s'):.1f}", f"{self.ratio('run_s'):.1f}"]
        jobs = f"{self.rounds[0][1]['jobs']:,}"
        return [self.work.name, jobs, self.work.base_name, *numbers, " / ".join(peaks), self.work.reach]


def arguments() -> argparse.Namespace:
    """Options that the user gave."""
    parser = rounds.options("Measure what the core costs.", repeat=2)
    parser.add_argument("--only", default="", metavar="ROW", help="works with this in their names")
    parser.add_argument("--limit", type=float, default=300.0, metavar="S", help="when a run is given up (300)")
    parser.add_argument("--large", action="store_true", help="ten million jobs, too: 7 GB of memory")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all numbers there, too")
    return parser.parse_args()


def base_of(work: Work, chosen: argparse.Namespace) -> Numbers:
    """One run of what a work is compared with."""
    if work.base is not None:
        return child(work, "base", chosen)
    plain = work.this(chosen.quick)
    assert isinstance(plain.jobs, Path)
    nodes, policy = len(plain.platform), str(plain.policy)
    return rival.run(rival.built(), plain.jobs, nodes, policy, core_works.MACHINE, chosen.limit)


def child(work: Work, side: str, chosen: argparse.Namespace) -> Numbers:
    """One run of a work or its base, in a process of its own."""
    task = {"work": work.name, "side": side, "quick": chosen.quick}
    return measure.run("core_works.py", task, limit_s=chosen.limit)


def measured(work: Work, chosen: argparse.Namespace, progress: Console) -> Row:
    """A work and its base, in turn."""
    row = Row(work)
    trace = work.trace_of(chosen.quick)
    if trace is not None and not trace.is_made():
        measure.run("traces.py", trace.to_dict(), limit_s=3_600)
    with progress.status(work.name):
        try:
            for _ in range(rounds.count(chosen)):
                row.rounds.append((base_of(work, chosen), child(work, "this", chosen)))
        except measure.RunError as failure:
            row.fault = str(failure)
    return row


def shown(rows: list[Row]) -> Table:
    """The table."""
    table = rounds.table_of(
        "jobs", "against", "its\nCPU s", "CPU s", "ratio", "without\nreading", "peak, MB\nits / ours"
    )
    table.add_column("reach", no_wrap=True)
    for row in rows:
        table.add_row(*row.cells())
    return table


def main() -> int:
    """Measures, prints a table, and fails where a schedule differs."""
    chosen, progress = arguments(), Console(stderr=True)
    named = [work for work in WORKS if chosen.only in work.name and (chosen.large or not work.large)]
    missing = [work.name for work in named if work.log is not None and not (scale.FOLDER / work.log).is_file()]
    found = surroundings()
    rows = [measured(work, chosen, progress) for work in named if work.name not in missing]
    console().print(sentence(found), soft_wrap=True)
    console().print(shown(rows))
    for name in missing:
        console().print(f"left out, as its log is not there: {name}")
    faults = [
        f"{row.work.name}: another schedule, other nodes or energies than by C++" for row in rows if row.differs()
    ]
    console().print(*faults, sep="\n", style="bold red")
    if chosen.json is not None:
        numbers = {row.work.name: {"rounds": row.rounds, "fault": row.fault} for row in rows}
        chosen.json.write_text(json.dumps({**found, "works": numbers}, indent=2) + "\n")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
