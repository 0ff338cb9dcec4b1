"""Accounting logs of PBS Pro, OpenPBS and Torque: the engine's reader gathers the records of each job.

Records, stamps, attempts and chunks of resources are its business (`rust/core/src/trace/pbs`), names of nodes that of
this side.
"""

from __future__ import annotations

import re
from typing import Any, get_args

import polars as pl

from hetsched import _core
from hetsched.checks import Faults
from hetsched.typing import Cancelled, OnBadLine
from hetsched.workload.conform import conformed
from hetsched.workload.convert import Origin
from hetsched.workload.formats.blocks import opened
from hetsched.workload.formats.nodes import given_names, ranked
from hetsched.workload.formats.raw import Format, Source, as_workload, check_on_bad_line
from hetsched.workload.formats.taken import taken
from hetsched.workload.jobs import Workload
from hetsched.workload.schema import COLUMNS, SHORTEST_S
from hetsched.zones import changes, zone_or_offset

_A_LOG = "an accounting log of PBS"
_IN_TURN = """
    observed_nodes job_id node_count log_id trace_state depends_how observed_segments
    walltime_s memory_gb power_w observed_energy_j start_at_s cancel_s runtime_s observed_end_s observed_start_s
    submit_s array_id depends_on cpus gpus trace_status restarts user queue app account constraint
""".split()  # noqa: SIM905
"""Columns in the order in which they can be taken: what others are made of comes last."""


def read_pbs(
    source: Source,
    *,
    time_zone: str | None = None,
    nodes: Any = None,
    shared: bool = False,
    cancelled: Cancelled = "keep",
    on_bad_line: OnBadLine = "error",
) -> Workload:
    r"""Read an accounting log of PBS Pro, OpenPBS or Torque.

    Records of one job are joined: its times, size and resources, how it ended, and the attempts that were requeued.
    Sub-jobs of arrays are jobs. See the reference of files for what becomes of each key.

    Parameters
    ----------
    source
        Path (plain, gzip, zstd), ``"-"`` for standard input, or content. It is read in blocks: a long file needs no
        more memory than its jobs. Logs of several days are read as one: ``cat 2024*``.
    time_zone
        Of the records' stamps: a name such as ``Europe/Berlin``, or an offset such as ``+01:00``. None: as the records
        of starts and ends show it, which have both a stamp and seconds since 1970.
    nodes
        The machine: a platform with names of nodes, names, or a host list. Nodes are numbered in its order; a name that
        it does not have is an error. None: all names of the log in natural order.
    shared
        True: jobs get as many slots of each node as they had processors. False: whole nodes.
    cancelled
        ``"keep"``: jobs that were deleted before they ran have a length of 0 and `cancel_s`. ``"drop"``: they are left
        out and counted.
    on_bad_line
        ``"error"``: a line that does not read is an error. ``"skip"``: it is left out and counted.

    Returns
    -------
    Workload
        Sorted by submit time, in seconds since 1970. Its report counts what was dropped and assumed; ``node_names``
        are the names of the nodes by number.

    Raises
    ------
    TraceError
        At the first line that does not read; if the file is cut or no text, or there is no job in it.
    ConfigError
        If an option is none of its values.

    Examples
    --------
    >>> log = b"05/01/2024 12:01:10;E;7.srv;user=ann queue=work ctime=60 start=70 end=130 exec_host=n2/0*4+n10/0*4 " \
    ...     b"Exit_status=0\n"
    >>> workload = read_pbs(log)
    >>> workload.to_polars().select("job_id", "log_id", "submit_s", "runtime_s", "observed_nodes", "cpus").rows()
    [(7, '7.srv', 60.0, 60.0, [0, 1], 8)]
    >>> workload.report["node_names"]
    ['n2', 'n10']
    """
    faults = Faults()
    zone = None if time_zone is None else changes(zone_or_offset("time_zone", time_zone, faults))
    machine = given_names(faults, nodes)
    faults.flag("shared", shared)
    faults.choice("cancelled", cancelled, get_args(Cancelled))
    check_on_bad_line(faults, on_bad_line)
    faults.check()
    with opened(source, _A_LOG) as blocks:
        log = _core.read_pbs(
            blocks.read,
            file=blocks.name,
            zone=zone,
            drop_never_ran=cancelled == "drop",
            skip_bad_lines=on_bad_line == "skip",
        )
    counts = log.report()
    errors = counts.pop("first_bad_lines")
    names, lines = log.take_node_names()
    known, rank = ranked(names, lines, machine, source=blocks.name, unit="line", column="exec_host")
    jobs = pl.DataFrame(list(taken(log, _IN_TURN, rank).values()))
    del log
    if shared and "cpus" in jobs.columns:
        jobs = jobs.with_columns(slots=(-(-pl.col("cpus") // pl.col("node_count"))).cast(pl.Int32))
    given = {
        "time_zone": time_zone,
        "nodes": None if machine is None else f"{len(machine)} names",
        "shared": shared,
        "cancelled": cancelled,
        "on_bad_line": on_bad_line,
    }
    usual = {"shared": False, "cancelled": "keep", "on_bad_line": "error"}
    own = {name: count for name, count in counts.items() if count or name in ("jobs", "rows")}
    own |= {"time_zone": time_zone} if time_zone is not None else {}
    held, found = _held(jobs, blocks.name)
    return as_workload(
        held,
        checked_counts=found,
        source=blocks.name,
        sha256=blocks.sha256,
        settings={name: value for name, value in given.items() if value != usual.get(name)},
        counts=own | {"node_names": known},
        bad_lines=errors,
    )


def _held(jobs: pl.DataFrame, name: str) -> tuple[pl.DataFrame, dict[str, Any]]:
    """The jobs in the schema's order, and counts of them; what the engine has seen to is not looked at again."""
    bounded = [column for column in _BOUNDED if column in jobs.columns]
    if any((jobs[column] > COLUMNS[column].high).any() for column in bounded):
        return conformed(jobs, Origin(name))
    if "walltime_s" in jobs.columns:
        walltime = pl.col("walltime_s")
        jobs = jobs.with_columns(pl.when(walltime > 0).then(walltime.clip(SHORTEST_S)).alias("walltime_s"))
    casts = [pl.col(column).cast(COLUMNS[column].dtype) for column in COLUMNS if column in jobs.columns]
    held = jobs.select(*casts, *(column for column in jobs.columns if column not in COLUMNS))
    found = {"jobs": len(held), "out_of_order": 0, "no_walltime": len(held)}
    found["kept_zero_runtime"] = int((held["runtime_s"] == 0).sum())
    if "walltime_s" in held.columns:
        found["no_walltime"] = held["walltime_s"].null_count()
    if "depends_on" in held.columns:
        found["depends_on"] = len(held) - held["depends_on"].null_count()
    return held, found


_BOUNDED = ("gpus", "memory_gb", "runtime_s")
"""Columns that a log may say too much in."""

_BEGINNING = re.compile(rb"(?:\xef\xbb\xbf)?\s*\d\d/\d\d/\d{4} \d\d:\d\d:\d\d;\w;")

FORMAT = Format(
    name="pbs",
    suffixes=(".pbs", ".pbs.gz", ".pbs.zst"),
    doc="accounting logs of PBS Pro, OpenPBS and Torque",
    read=read_pbs,
    recognizes=lambda head: _BEGINNING.match(head) is not None,
    origins={
        "job_id": "ID",
        "log_id": "ID",
        "array_id": "ID",
        "submit_s": "ctime qtime Q",
        "start_at_s": "etime",
        "observed_start_s": "start",
        "observed_end_s": "end",
        "runtime_s": "end-start",
        "node_count": "exec_host nodect select nodes",
        "observed_nodes": "exec_host",
        "walltime_s": "walltime",
        "cpus": "ncpus",
        "slots": "ncpus",
        "gpus": "ngpus",
        "memory_gb": "mem",
        "constraint": "nodes",
        "user": "user",
        "queue": "queue",
        "app": "jobname",
        "account": "account project",
        "trace_state": "Exit_status",
        "depends_on": "depend",
        "observed_energy_j": "resources_used.energy",
    },
)
