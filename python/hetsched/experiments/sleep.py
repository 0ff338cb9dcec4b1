"""``sleep``: idle nodes that are switched off, by every sleep part, on generated workloads or on logs of a folder.

All parts stand beside the same scheduler, ``easy``, and all runs of a repetition see the same jobs. EASY backfilling
magnifies any change: a submit a few seconds later may change mean waits by percents. So every repetition of a log moves
each submit by up to a minute at random, the same for all parts, and intervals tell what is left of that noise.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from hetsched.checks import read_toml
from hetsched.errors import ConfigError
from hetsched.experiments.claims import number, statement
from hetsched.experiments.experiment import Experiment, Parameter, Repetition, Row, assumed, printed
from hetsched.experiments.runs import Floats, Runs
from hetsched.features.gaps import gap_metrics, gaps
from hetsched.platform import Platform
from hetsched.policy import Policy
from hetsched.report.comparisons import pareto_figure, point
from hetsched.run.simulation import simulate
from hetsched.workload import Workload, generators, read_swf

NEVER, OURS = "never", "newsvendor"
POLICIES: dict[str, str | Policy] = {
    NEVER: "easy",
    **{name: f"easy:sleep={name}" for name in ("timeout", "nqsv", "planned", OURS)},
}
WATTS: dict[str, Any] = {"idle_w": 600.0, "tdp_w": 2100.0, "boot_s": 60.0, "shutdown_s": 120.0, "off_w": 0.0}
MOVED_S = 60
ENDINGS = (".swf", ".swf.gz", ".swf.zst")
MACHINES = "machines.toml"

GENERATED: dict[str, Callable[[int, int], Workload]] = {
    "poisson, load 0.3": lambda seed, jobs: generators.poisson(nodes=64, jobs=jobs, load=0.3, seed=seed),
    "lublin, load 0.5": lambda seed, jobs: generators.lublin_feitelson(nodes=128, jobs=jobs, load=0.5, seed=seed),
    "lublin, load 0.8": lambda seed, jobs: generators.lublin_feitelson(nodes=128, jobs=jobs, load=0.8, seed=seed),
}
NODES = {"poisson, load 0.3": 64, "lublin, load 0.5": 128, "lublin, load 0.8": 128}
JOBS, QUICK_JOBS = 5000, 500


def logs_of(folder: str | Path) -> dict[str, str]:
    """The logs of a folder and what it says of their machines, each with the sha256 of its content.

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
        for name, make in GENERATED.items():
            yield name, make(repetition.seed % 2**32, jobs), NODES[name]
        return
    paths = [Path(path) for path in repetition.logs]
    told = next((read_toml(path) for path in paths if path.name == MACHINES), {})
    for path in (path for path in paths if path.name != MACHINES):
        own = told.get(path.name, {})
        log = read_swf(path, procs_per_node=own.get("procs_per_node"))
        nodes = own.get("nodes") or (log.report.to_dict().get("header") or {}).get("max_procs")
        if not nodes:
            expected = f"`nodes` in {MACHINES} beside it: its header does not say how many there are"
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
    seed = repetition.seed
    return [
        {"scenario": name, "policy": label, **_run(policy, log, Platform.homogeneous(nodes=nodes, **WATTS), seed)}
        for name, log, nodes in _cases(repetition)
        for label, policy in {**POLICIES, **repetition.policies}.items()
    ]


def _run(policy: str | Policy, log: Workload, platform: Platform, seed: int) -> dict[str, Any]:
    result = simulate(log, platform, policy, seed=seed)
    days = result.summary()["makespan_s"] / 86400.0
    boots = float(result.nodes["boots"].sum()) / platform.nodes / days if days else 0.0
    metrics = gap_metrics(gaps(result, platform))
    return {**result.summary(), **metrics, "boots_per_node_day": boots}


def _told(runs: Runs, label: str) -> dict[str, Floats]:
    """A part's numbers on a workload, by their names."""
    wait_s, usual_s = (runs.values("mean_wait_s", one) for one in (label, NEVER))
    energy_j, usual_j = (runs.values("energy_j", one) for one in (label, NEVER))
    share = {"mean wait, change, %": 100.0 * (wait_s / usual_s - 1.0)} if (usual_s > 0).all() else {}
    return {
        "energy saved, %": 100.0 * (1.0 - energy_j / usual_j),
        "share of the attainable saving, %": 100.0 * runs.values("sleep_attained_ratio", label),
        **share,
        "mean wait, change, s": wait_s - usual_s,
        "95th percentile of waits, change, s": runs.values("p95_wait_s", label) - runs.values("p95_wait_s", NEVER),
        "boots a node and day": runs.values("boots_per_node_day", label),
    }


def _rows(frame: pl.DataFrame) -> list[Row]:
    return [row for name in frame["scenario"].unique(maintain_order=True) for row in _of_workload(frame, name)]


def _of_workload(frame: pl.DataFrame, name: str) -> list[Row]:
    runs = Runs(frame, NEVER, scenario=name)
    rows = [number(f"{name}: mean wait, {NEVER} off, s", runs.values("mean_wait_s", NEVER))]
    rows.append(number(f"{name}: utilization, %", 100.0 * runs.values("utilization_ratio", NEVER)))
    parts = [label for label in POLICIES if label != NEVER]
    rows += [number(f"{name}, {part}: {what}", own) for part in parts for what, own in _told(runs, part).items()]
    ours = _told(runs, OURS)
    share = ours["share of the attainable saving, %"]
    beyond_s = ours["mean wait, change, s"] - 0.01 * runs.values("mean_wait_s", NEVER)
    return [
        *rows,
        statement(f"{name}, {OURS}: share less 90, points", share - 90.0, claim="nine tenths of what can be saved"),
        statement(f"{name}, {OURS}: mean wait beyond 1 % more, s", beyond_s, side=-1, claim="waits within 1 %"),
    ]


def _yours(frame: pl.DataFrame) -> list[Row]:
    names = frame["scenario"].unique(maintain_order=True)
    return [
        runs.row_of_yours(label, f"{name}: {what}", own)
        for name in names
        for runs in [Runs(frame, NEVER, scenario=name)]
        for label in runs.yours
        for what, own in _told(runs, label).items()
    ]


def _drawn(frame: pl.DataFrame) -> pl.DataFrame:
    """A dot a part: the energy that it saves against the mean wait."""
    return pl.concat(
        point(
            np.maximum(runs.values("mean_wait_s", label), 1.0),
            _told(runs, label)["energy saved, %"],
            row="energy saved (%)",
            column=f"mean wait (s, at least 1),\n{name}",
            label=label,
        )
        for name in frame["scenario"].unique(maintain_order=True)
        for runs in [Runs(frame, NEVER, scenario=name)]
        for label in [*POLICIES, *runs.yours]
    )


EXPERIMENTS = (
    Experiment(
        name="sleep",
        source="this project; docs/background/sleeping-nodes.md",
        parameters=(
            printed("node", WATTS, "a vector island of AOBA; boot and shutdown draw what idling does"),
            Parameter("policies_beside", "easy", "ours: the parts stand in the role sleep of this preset"),
            assumed("workloads", list(GENERATED), f"{JOBS} jobs each; with logs, those of the folder"),
            assumed("submits_moved_s", MOVED_S, "of logs, at random, anew in each repetition"),
        ),
        policies=POLICIES,
        repetitions=4,
        quick_repetitions=4,
        repeat=_repeat,
        rows=_rows,
        savings=_drawn,
        draw=pareto_figure,
        quick_parameters=(assumed("workloads", list(GENERATED), f"{QUICK_JOBS} jobs each; of logs the first"),),
        yours=_yours,
        logs=logs_of,
    ),
)
"""The sleep parts, on any workloads."""
