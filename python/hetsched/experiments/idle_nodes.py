"""``sleep``: idle nodes that are switched off, by every sleep part, on generated workloads or on logs of a folder.

All parts run with the same scheduler, ``easy``, and all runs of a repetition see the same jobs. EASY backfilling
magnifies any change: a submit a few seconds later may change mean waits by percents. So every repetition of a log moves
each submit by up to a minute at random, the same for all parts, and intervals show what is left of that noise.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from hetsched.checks import read_toml
from hetsched.errors import ConfigError
from hetsched.experiments.claims import statement
from hetsched.experiments.experiment import Experiment, Floats, Parameters, Repetition, Row, assumed
from hetsched.experiments.runs import Runs, side_by_side
from hetsched.features.bound import gap_metrics, gaps
from hetsched.platform import Platform
from hetsched.report.comparisons import pareto_figure, point
from hetsched.run.result import Result
from hetsched.workload import Workload, generators, read_swf

NEVER, OURS = "never", "newsvendor"
POLICIES = {NEVER: "easy", **{name: f"easy:sleep={name}" for name in ("timeout", "nqsv", "planned", OURS)}}
ENDINGS = (".swf", ".swf.gz", ".swf.zst")
MACHINES = "machines.toml"

GENERATED: dict[str, tuple[Callable[..., Workload], int, float]] = {
    "poisson, load 0.3": (generators.poisson, 64, 0.3),
    "lublin, load 0.5": (generators.lublin_feitelson, 128, 0.5),
    "lublin, load 0.8": (generators.lublin_feitelson, 128, 0.8),
}
"""By name: generator, nodes, load."""

JOBS, QUICK_JOBS = 5000, 500

P = Parameters()
WATTS: dict[str, Any] = P.printed(
    "node",
    {"idle_w": 600.0, "tdp_w": 2100.0, "boot_s": 60.0, "shutdown_s": 120.0, "off_w": 0.0},
    "a vector island of AOBA; boot and shutdown draw what idling does",
)
P.noted("policies_of_users", "easy", "ours: the parts take the role sleep of this preset")
P.assumed("workloads", list(GENERATED), f"{JOBS} jobs each; with logs, those of the folder")
MOVED_S = P.assumed("submits_moved_s", 60, "of logs, at random, again in each repetition")


def logs_of(folder: str | Path) -> dict[str, str]:
    """The logs of a folder and the file on their machines, each with the sha256 of its content.

    Raises
    ------
    ConfigError
        If there is no log in it.
    """
    paths = sorted(path for path in Path(folder).iterdir() if path.name.endswith(ENDINGS)) if folder else []
    if not paths:
        raise ConfigError([("logs", str(folder), f"a folder with logs: {', '.join(ENDINGS)}")])
    own = [path for path in [Path(folder) / MACHINES] if path.is_file()]
    return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in (*paths, *own)}


def _cases(repetition: Repetition) -> Iterator[tuple[str, Workload, int]]:
    """Workloads with their names and the nodes of their machines."""
    if not repetition.logs:
        jobs = QUICK_JOBS if repetition.is_quick else JOBS
        for name, (generate, count, load) in GENERATED.items():
            yield name, generate(nodes=count, jobs=jobs, load=load, seed=repetition.seed % 2**32), count
        return
    paths = [Path(path) for path in repetition.logs]
    machines = next((read_toml(path) for path in paths if path.name == MACHINES), {})
    for path in (path for path in paths if path.name != MACHINES):
        own = machines.get(path.name, {})
        log = read_swf(path, procs_per_node=own.get("procs_per_node"))
        nodes = own.get("nodes") or (log.report.to_dict().get("header") or {}).get("max_procs")
        if not nodes:
            expected = f"`nodes` in {MACHINES} with it: its header does not say how many there are"
            raise ConfigError([(path.name, "no machine", expected)])
        log = log.filter(pl.col("node_count") <= nodes)
        yield (
            path.name.split(".swf")[0],
            moved(log.head(QUICK_JOBS) if repetition.is_quick else log, repetition.seed),
            nodes,
        )


def moved(log: Workload, seed: int) -> Workload:
    """The jobs, each submitted up to a minute later."""
    later_s = np.random.default_rng(seed).integers(0, MOVED_S, len(log))
    return Workload.from_polars(log.to_polars().with_columns(pl.col("submit_s") + pl.Series(later_s)))


def _repeat(repetition: Repetition) -> list[dict[str, Any]]:
    return [
        row
        for name, log, nodes in _cases(repetition)
        for machine in [Platform.homogeneous(nodes=nodes, **WATTS)]
        for row in side_by_side(
            repetition, POLICIES, log, machine, named={"scenario": name}, extra=partial(_measured, platform=machine)
        )
    ]


def _measured(result: Result, platform: Platform) -> dict[str, Any]:
    days = result.summary()["makespan_s"] / 86400.0
    boots = float(result.nodes["boots"].sum()) / platform.nodes / days if days else 0.0
    return {**gap_metrics(gaps(result, platform)), "boots_per_node_day": boots}


def numbers(runs: Runs, label: str) -> dict[str, Floats]:
    """A part's numbers on a workload, by quantity; the change of the wait in percent only where jobs wait."""
    wait_s, usual_s = (runs.values("mean_wait_s", one) for one in (label, NEVER))
    share = {"mean wait, change, %": runs.metric("waiting", label)} if (usual_s > 0).all() else {}
    return {
        "energy saved, %": runs.metric("saving", label),
        "share of the attainable saving, %": 100.0 * runs.values("sleep_attained_ratio", label),
        **share,
        "mean wait, change, s": wait_s - usual_s,
        "95th percentile of waits, change, s": runs.values("p95_wait_s", label) - runs.values("p95_wait_s", NEVER),
        "boots a node and day": runs.values("boots_per_node_day", label),
    }


def _by_workload(frame: pl.DataFrame) -> dict[str, Runs]:
    return {name: Runs(frame, NEVER, scenario=name) for name in frame["scenario"].unique(maintain_order=True)}


def _rows(frame: pl.DataFrame) -> list[Row]:
    return [row for name, runs in _by_workload(frame).items() for row in _of_workload(runs, name)]


def _of_workload(runs: Runs, name: str) -> list[Row]:
    ours = numbers(runs, OURS)
    share = ours["share of the attainable saving, %"]
    beyond_s = ours["mean wait, change, s"] - 0.01 * runs.values("mean_wait_s", NEVER)
    return [
        statement(f"{name}, {OURS}: share less 90, points", share - 90.0, claim="nine tenths of what can be saved"),
        statement(f"{name}, {OURS}: mean wait beyond 1 % more, s", beyond_s, side=-1, claim="waits within 1 %"),
    ]


def _yours(frame: pl.DataFrame, label: str) -> dict[str, Floats]:
    return {
        f"{name}: {quantity}": values
        for name, runs in _by_workload(frame).items()
        for quantity, values in numbers(runs, label).items()
    }


def _drawn(frame: pl.DataFrame) -> pl.DataFrame:
    """A dot a part: the energy that it saves against the mean wait."""
    return pl.concat(
        point(
            np.maximum(runs.values("mean_wait_s", label), 1.0),
            runs.metric("saving", label),
            row="energy saved (%)",
            column=f"mean wait (s, at least 1),\n{name}",
            label=label,
        )
        for name, runs in _by_workload(frame).items()
        for label in [*POLICIES, *runs.yours]
    )


EXPERIMENTS = (
    Experiment(
        name="sleep",
        no_shares="nodes are alike: a job draws the same on any of them",
        source="this project; docs/background/sleeping-nodes.md",
        parameters=P,
        policies=POLICIES,
        repeat=_repeat,
        rows=_rows,
        savings=_drawn,
        repetitions=4,
        yours=_yours,
        draw=pareto_figure,
        quick_parameters=[assumed("workloads", list(GENERATED), f"{QUICK_JOBS} jobs each; of logs the first")],
        logs=logs_of,
    ),
)
"""The sleep parts, on any workloads."""
