"""Runs another scheduler on one trace and prints what it took: from before the file is read until all starts are known.

    python peers.py '{"peer": "twin", "trace": "trace.swf", "nodes": 540, "policy": "easy"}'

Neither peer knows watts. The twin is the project's own plain-Python scheduler, the definition that the tests hold the
engine to; it counts nodes and names none. accasim is run by an interpreter that has it: this file needs no other.
"""

from __future__ import annotations

import collections
import collections.abc
import contextlib
import importlib
import json
import math
import sys
import tempfile
from pathlib import Path
from typing import Any

import measure

TWINS = Path(__file__).resolve().parents[2] / "tests" / "twins"
DEPTHS = {"fcfs": None, "easy": 1, "conservative": math.inf}


def twin(trace: str, nodes: int, policy: str) -> dict[str, Any]:
    """The plain-Python scheduler of the tests."""
    sys.path.insert(0, str(TWINS))
    plain = importlib.import_module("plain_scheduler")
    watch = measure.Stopwatch()
    with open(trace) as file:
        fields = (line.split() for line in file if not line.startswith(";"))
        jobs = [plain.Job(int(f[1]), int(f[3]), int(f[7]), int(f[8])) for f in fields]
    watch.lap("read_s")
    done = plain.schedule(jobs, plain.CountedNodes(nodes), depth=DEPTHS[policy])
    watch.lap("schedule_s")
    return numbers(watch, [-1 if start is None else start for start in done.start])


def accasim(trace: str, nodes: int, policy: str) -> dict[str, Any]:
    """accasim 1.1.3, nodes first-fit, writing no files."""
    # It imports what Python 3.10 has moved.
    collections.Mapping = collections.abc.Mapping  # type: ignore[attr-defined]
    schedulers = importlib.import_module("accasim.base.scheduler_class")
    dispatchers = {"fcfs": schedulers.FirstInFirstOut, "easy": schedulers.EASYBackfilling}
    nodes_first_fit = importlib.import_module("accasim.base.allocator_class").FirstFit
    simulator_class = importlib.import_module("accasim.base.simulator_class").Simulator
    starts: dict[int, int] = {}
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(sys.stderr):
        machine = Path(folder) / "machine.json"
        groups = {"groups": {"node": {"core": 1}}, "resources": {"node": nodes}}
        machine.write_text(json.dumps({**groups, "equivalence": {"processor": {"core": 1}}, "start_time": 0}))
        quiet = {"scheduling_output": False, "statistics_output": False, "show_statistics": False, "LOG_LEVEL": "ERROR"}
        watch = measure.Stopwatch()
        dispatcher = dispatchers[policy](nodes_first_fit())
        simulator = simulator_class(trace, str(machine), dispatcher, RESULTS_FOLDER_PATH=folder, **quiet)
        finish = simulator.mapper.finish_event

        def noted(job: Any) -> None:
            starts[int(job.id)] = job.start_time
            finish(job)

        simulator.mapper.finish_event = noted
        simulator.start_simulation()
        watch.lap("run_s")
    return numbers(watch, [start for _, start in sorted(starts.items())])


def numbers(watch: measure.Stopwatch, starts: list[int]) -> dict[str, Any]:
    """Key of a peer's run."""
    return {
        "jobs": len(starts),
        "cpu_s": watch.total(),
        "laps": watch.laps,
        "peak_bytes": measure.peak_bytes(),
        "starts_sha256": measure.starts_sha256(starts),
    }


def main() -> None:
    core = measure.pinned()
    task = measure.task()
    peer = {"twin": twin, "accasim": accasim}[task.pop("peer")]
    measure.answer({**peer(**task), "core": core})


if __name__ == "__main__":
    main()
