"""Columns of a site's own table as hetsched's: by a mapping of names, or by one of the published tables' own.

A new table is a row of `MAPPINGS`: hetsched's names, each with the table's name for it or an expression over
its columns.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

from hetsched.checks import Faults, did_you_mean, is_name, listed, reason_of, shown
from hetsched.errors import TraceError
from hetsched.workload.convert import Origin
from hetsched.workload.schema import TEXT_COLUMNS

Columns = Mapping[str, str] | str | None
"""From a file's names to hetsched's, ``"#row"`` being the number of a row; or the name of a published table."""

ROW = "#row"
"""In place of a column of the file: the row's number, from 1."""

PAIRS = "a mapping such as {'Submit': 'submit_s'}"

_ROWS = pl.int_range(1, pl.len() + 1)


@dataclass(frozen=True)
class Table:
    """A published table of jobs: what it is, and hetsched's columns out of its own, each a name or an expression."""

    doc: str
    columns: Mapping[str, str | pl.Expr]


def _each(total: str, nodes: str) -> pl.Expr:
    """A number of each node, out of that of all nodes, rounded up."""
    return -(-pl.col(total) // pl.col(nodes))


def _states(column: str, words: Mapping[str, str]) -> pl.Expr:
    """Words of a table as Slurm's; others stay, and are counted as unknown."""
    return pl.col(column).replace(dict(words))


MAPPINGS: dict[str, Table] = {
    "kestrel": Table(
        "NREL Kestrel, 2024: jobs with the mean draw of their nodes (NREL/raddit, ground_truth.parquet)",
        {
            "job_id": _ROWS,
            "submit_s": "submit",
            "runtime_s": "runtime",
            "node_count": "nodes",
            "power_w": "avg_power_per_node",
            "observed_start_s": "start",
            "observed_end_s": "end",
        },
    ),
    "eagle": Table(
        "NREL Eagle, 2019: Slurm's accounting, names hidden (NREL/eagle-jobs, sample_eagle_data.csv)",
        {
            "job_id": _ROWS,
            "log_id": "job_id",
            "submit_s": "submit_time",
            "runtime_s": "run_time",
            "node_count": "nodes_req",
            "walltime_s": "wallclock_req",
            "user": "user",
            "account": "account",
            "queue": "partition",
            "qos": "qos",
            "app": "name",
            "cpus": "processors_req",
            "gpus": _each("gpus_req", "nodes_req"),
            "trace_status": "state",
            "observed_start_s": "start_time",
            "observed_end_s": "end_time",
        },
    ),
    "philly": Table(
        "Microsoft Philly, 2017: a node is a GPU (DIR-LAB/lumos, philly_df_schedule.csv)",
        {
            "job_id": _ROWS,
            "submit_s": "submit_time",
            "runtime_s": "run_time",
            "node_count": "gpu_num",
            "observed_start_s": pl.col("submit_time") + pl.col("wait_time"),
        },
    ),
    "philly-sia": Table(
        "Microsoft Philly, 2017, by virtual cluster: a node is a GPU (siasosp23/artifacts, philly.csv)",
        {
            "job_id": _ROWS,
            "submit_s": "timestamp",
            "runtime_s": "duration",
            "node_count": "num_gpus",
            "queue": "cluster",
        },
    ),
    "helios": Table(
        "SenseTime Helios, 2020: slots are CPUs (DIR-LAB/Gen-Parallel-Workloads, helios_data_training.csv)",
        {
            "job_id": "u_id",
            "submit_s": pl.col("interval").cum_sum(),
            "runtime_s": "run_time",
            "node_count": "node_num",
            "walltime_s": "wall_time",
            "user": "user",
            "cpus": "cpu_num",
            "slots": _each("cpu_num", "node_num"),
            "gpus": _each("gpu_num", "node_num"),
            "trace_status": _states("new_status", {"Pass": "COMPLETED", "Failed": "FAILED", "Killed": "CANCELLED"}),
        },
    ),
    "alibaba": Table(
        "Alibaba GPU cluster, 2023: slots are CPUs (alibaba/clusterdata, openb_pod_list_….csv)",
        {
            "job_id": _ROWS,
            "log_id": "name",
            "submit_s": "creation_time",
            "runtime_s": pl.col("deletion_time") - pl.col("scheduled_time"),
            "node_count": pl.lit(1),
            "cpus": -(-pl.col("cpu_milli") // 1000),
            "slots": -(-pl.col("cpu_milli") // 1000),
            "gpus": "num_gpu",
            "memory_gb": pl.col("memory_mib") / 1024,
            "constraint": "gpu_spec",
            "qos": "qos",
            "trace_status": _states("pod_phase", {"Succeeded": "COMPLETED"}),
            "observed_start_s": "scheduled_time",
        },
    ),
    "lisa": Table(
        "SURF Lisa, October 2022: jobs of one whole node (atlarge-research/opendt, tasks.parquet)",
        {
            "job_id": "id",
            "submit_s": "submit_s",
            "runtime_s": pl.col("duration") / 1000,
            "node_count": pl.lit(1),
            "cpus": "cpu_count",
        },
    ),
}
"""Published tables of jobs by name."""


def check_columns(faults: Faults, columns: object) -> None:
    """Note a fault unless this is a mapping of names, the name of a published table, or None."""
    if isinstance(columns, str):
        if columns not in MAPPINGS:
            known = f"{PAIRS}, or one of {listed(MAPPINGS)}{did_you_mean(columns, MAPPINGS)}"
            faults.add("columns", columns, known)
    elif columns is not None and not isinstance(columns, Mapping):
        faults.add("columns", columns, f"{PAIRS}, or one of {listed(MAPPINGS)}")


def theirs_by_ours(columns: Columns) -> dict[str, str]:
    """The names of a file's columns by what they become, as a reader of a report sees them."""
    if not isinstance(columns, str):
        return {ours: theirs for theirs, ours in (columns or {}).items()}
    own = MAPPINGS[columns].columns
    return {ours: theirs if isinstance(theirs, str) else _text(theirs) for ours, theirs in own.items()}


def _text(made: pl.Expr) -> str:
    """The columns that an expression is made of."""
    names = dict.fromkeys(made.meta.root_names())
    return "&".join(names) or (ROW if made is _ROWS else str(pl.select(made).item()))


def text_columns(columns: Columns) -> list[str]:
    """Names of a file's columns that are text, whatever they look like."""
    ours = set(TEXT_COLUMNS)
    named = MAPPINGS[columns].columns if isinstance(columns, str) else theirs_by_ours(columns)
    theirs = [own for name, own in named.items() if name in ours and isinstance(own, str)]
    return theirs + sorted(ours - set(named))


def mapped(frame: pl.DataFrame, columns: Columns, source: str) -> pl.DataFrame:
    """The frame with hetsched's columns in place of the file's; others keep their names."""
    if isinstance(columns, str):
        return _tabled(frame, columns, source)
    return _renamed(frame, columns, source) if columns else frame


def _tabled(frame: pl.DataFrame, name: str, source: str) -> pl.DataFrame:
    made = {ours: pl.col(own) if isinstance(own, str) else own for ours, own in MAPPINGS[name].columns.items()}
    used = list(dict.fromkeys(root for expression in made.values() for root in expression.meta.root_names()))
    for theirs in used:
        if theirs not in frame.columns:
            expected = f"a column `{theirs}`, as the table `{name}` has it"
            raise Origin(source).misfit(theirs, f"columns {listed(frame.columns)}", expected)
    others = [theirs for theirs in frame.columns if theirs not in used and theirs not in made and theirs.strip()]
    try:
        return frame.select(*(expression.alias(ours) for ours, expression in made.items()), *others)
    except pl.exceptions.PolarsError as error:
        expected = f"columns as the table `{name}` has them"
        raise TraceError(file=source, found=f"other values ({reason_of(error)})", expected=expected) from None


def _renamed(frame: pl.DataFrame, columns: Mapping[str, str], source: str) -> pl.DataFrame:
    frame, columns = _numbered(frame, columns, source)
    for theirs, ours in columns.items():
        if theirs not in frame.columns:
            hint = did_you_mean(theirs, frame.columns)
            if ours in frame.columns:
                hint = f"; columns= goes from the file's name to hetsched's: {{'{ours}': '{theirs}'}}"
            expected = f"a column `{theirs}` to be read as `{ours}`{hint}"
            raise Origin(source).misfit(theirs, f"columns {listed(frame.columns)}", expected)
        if not is_name(ours):
            raise Origin(source).misfit(theirs, f"{shown(ours)} to be read as", "a name")
    names = {theirs: columns.get(theirs, theirs) for theirs in frame.columns}
    for name in names.values():
        both = [theirs for theirs, ours in names.items() if ours == name]
        if len(both) > 1:
            expected = "one column of that name; rename or drop the other"
            raise Origin(source).misfit(name, f"columns {listed(both)} for it", expected)
    return frame.rename(dict(columns))


def _numbered(frame: pl.DataFrame, columns: Mapping[str, str], source: str) -> tuple[pl.DataFrame, Mapping[str, str]]:
    """The frame with a column of numbers of rows, if one is asked for; the file's own numbers become `log_id`."""
    ours = columns.get(ROW)
    if ours is None:
        return frame, columns
    if ours != "job_id":
        raise Origin(source).misfit(ROW, f"{shown(ours)} to be read as", "`job_id`: it numbers the jobs")
    named = {theirs: name for theirs, name in columns.items() if theirs != ROW}
    if ours in frame.columns and ours not in named:
        has_other = "log_id" in frame.columns or "log_id" in named.values()
        frame = frame.drop(ours) if has_other else frame.rename({ours: "log_id"})
    return frame.select(_ROWS.alias(ROW), pl.all()), {ROW: ours, **named}
