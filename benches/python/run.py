"""Speed of hetsched next to other schedulers on the same traces: ``python benches/python/run.py``.

Every run is a process of its own, pinned to one core. Counted is the CPU time of the whole process from before the
trace is read until the summary and all frames are made, imports left out; of a peer, until all starts are known. Traces
are made when they are first needed and kept in ``.bench/``. Speed never fails this program; a schedule that differs
from the twin's does, and so does energy that does not balance.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

from rich.console import Console

import assignment
import hetsched
import measure
import peer_venv
import table
import works
from verdicts import Outcome, Peers, measured

PEERS = ("twin", "accasim")


def arguments() -> argparse.Namespace:
    """Options that the user gave."""
    parser = argparse.ArgumentParser(description="Measure hetsched and its peers on the same traces.")
    parser.add_argument("--quick", action="store_true", help="a few seconds: whether everything runs and agrees")
    parser.add_argument("--only", metavar="TEXT", help="only works whose name holds this, such as `1m-0.8` or `easy`")
    parser.add_argument("--repeat", type=int, default=3, metavar="N", help="runs of each work; the median counts (3)")
    parser.add_argument("--peers", default="twin", metavar="LIST", help="of twin, accasim; `none` for none (twin)")
    parser.add_argument("--limit", type=float, default=600, metavar="S", help="how long a peer may take (600 s)")
    parser.add_argument("--ten-million", action="store_true", help="10 million jobs on 10,000 nodes; some 10 GB")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all numbers there, too")
    chosen = parser.parse_args()
    chosen.peers = [] if chosen.peers == "none" else chosen.peers.split(",")
    if unknown := [peer for peer in chosen.peers if peer not in PEERS]:
        parser.error(f"--peers: found `{unknown[0]}`, expected some of {', '.join(PEERS)}, or none")
    if chosen.repeat < 1:
        parser.error(f"--repeat: found {chosen.repeat}, expected 1 or more")
    if not chosen_works(chosen):
        parser.error(f"--only: found `{chosen.only}`, which is in no work's name, such as `1m-0.8 easy`")
    return chosen


def chosen_works(options: argparse.Namespace) -> list[works.Work]:
    """The works to measure."""
    every = works.QUICK if options.quick else works.TEN_MILLION if options.ten_million else works.ALL
    return [work for work in every if options.only is None or options.only in work.name]


def interpreters(names: list[str], tell: Console) -> dict[str, str | measure.RunError]:
    """Each peer's interpreter, or why there is none."""
    found: dict[str, str | measure.RunError] = {}
    for name in names:
        found[name] = sys.executable
        if name == "accasim":
            with tell.status("looking for accasim"):
                try:
                    found[name] = peer_venv.accasim_python()
                except measure.RunError as failure:
                    found[name] = failure
    return found


def surroundings() -> dict[str, Any]:
    """Machine and peers of the measurement."""
    model = platform.processor() or platform.machine()
    cpus = Path("/proc/cpuinfo")
    if cpus.is_file():
        models = [line.partition(":")[2].strip() for line in cpus.read_text().splitlines() if "model name" in line]
        model = models[0] if models else model
    return {
        "cpu": model,
        "cores": os.cpu_count(),
        "system": platform.system(),
        "load_average": os.getloadavg()[0],
        "versions": {
            "hetsched": hetsched.__version__,
            "python": platform.python_version(),
            **{name: version(name) for name in ("polars", "numpy")},
        },
    }


def sentence(found: dict[str, Any]) -> str:
    """The surroundings in a line."""
    versions = ", ".join(f"{name} {number}" for name, number in found["versions"].items())
    return f"{found['cpu']}, {found['cores']} cores, load average {found['load_average']:.1f}; {versions}"


def faults_of(outcomes: list[Outcome], *, twin_must_run: bool) -> list[str]:
    """Faults that make a run fail."""
    found = [fault for outcome in outcomes for fault in outcome.faults()]
    if twin_must_run:
        found += [
            f"{outcome.work.name}: not compared with the twin" for outcome in outcomes if not outcome.peer("twin")
        ]
    return found


def solvers(options: argparse.Namespace, tell: Callable[[str], object]) -> list[assignment.Row]:
    """The assignment solvers' part, see ``assignment.py``."""
    works = assignment.QUICK if options.quick else assignment.WORKS
    pythons = assignment.pythons(quick=options.quick or not options.peers)
    return assignment.measured(works, pythons, limit_s=min(options.limit, 120), tell=tell)


def main() -> int:
    options = arguments()
    console, progress = table.console(), Console(stderr=True)
    found = surroundings()
    peers = Peers(interpreters(options.peers, progress), options.limit)
    repeat = 1 if options.quick or options.ten_million else options.repeat
    outcomes: list[Outcome] = []
    with progress.status("") as status:
        for work in chosen_works(options):
            try:
                outcomes.append(measured(work, peers, repeat=repeat, tell=status.update))
            except measure.RunError as error:
                progress.print(f"{work.name}: {error}", style="bold red")
                return 1
        matched = [] if options.only else solvers(options, tell=status.update)
    faults = faults_of(outcomes, twin_must_run=options.quick)
    console.print(sentence(found), soft_wrap=True)
    console.print(table.shown(outcomes, faults))
    console.print(assignment.shown(matched) if matched else "")
    faults += assignment.faults(matched)
    if options.json is not None:
        numbers = {**found, "works": [outcome.to_dict() for outcome in outcomes], "faults": faults}
        numbers["assignment"] = [row.to_dict() for row in matched]
        options.json.write_text(json.dumps(numbers, indent=2) + "\n")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
