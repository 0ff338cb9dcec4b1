"""Dumps of Slurm's accounting, ``sacct -P`` or ``sacct --json``: the engine's reader joins their rows to jobs.

Rows, states, attempts, arrays, local times and energy are its business (`rust/core/src/trace/sacct`), names of nodes
and words of constraints that of this side.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, get_args

import numpy as np
import numpy.typing as npt
import polars as pl

from hetsched import _core
from hetsched.checks import Faults, did_you_mean
from hetsched.typing import Cancelled, OnBadLine
from hetsched.workload.formats.blocks import Blocks, opened
from hetsched.workload.formats.nodes import given_names, ranked
from hetsched.workload.formats.raw import Format, Source, as_workload, check_on_bad_line
from hetsched.workload.formats.slurm_words import with_words
from hetsched.workload.formats.taken import taken
from hetsched.workload.jobs import Workload
from hetsched.workload.schema import COLUMNS
from hetsched.zones import changes, zone_or_offset

_A_DUMP = "a dump of sacct"
_COLUMNS = "names of columns, as sacct -o takes them, such as JobID,Submit,Start,End,NNodes"


def read_sacct(
    source: Source,
    *,
    time_zone: str = "UTC",
    columns: str | Sequence[str] | None = None,
    delimiter: str | None = None,
    nodes: Any = None,
    shared: bool = False,
    app: str | None = "JobName",
    cancelled: Cancelled = "keep",
    on_bad_line: OnBadLine = "error",
) -> Workload:
    r"""Read a dump of Slurm's accounting: ``sacct -P``, ``-p`` or ``--json``, with or without steps and ``-D``.

    Rows of one job are joined: its steps give its energy, attempts that were requeued are counted and their times kept,
    tasks of arrays and components of heterogeneous jobs are jobs. See the reference of files for what becomes of each
    column.

    Parameters
    ----------
    source
        Path (plain, gzip, zstd), ``"-"`` for standard input, or content. It is read in blocks: a long file needs no
        more memory than its jobs.
    time_zone
        Of local times in the dump: a name such as ``Europe/Berlin``, or an offset such as ``+01:00``.
    columns
        Names of the columns of a dump without a header line, as a list or as ``sacct -o`` takes them.
    delimiter
        Separator of fields; None: as the header line has it.
    nodes
        The machine: a platform with names of nodes, names, or a host list. Nodes are numbered in its order; a name that
        it does not have is an error. None: all names of the dump in natural order.
    shared
        True: jobs get as many slots of each node as they had processors. False: whole nodes.
    app
        Column that tells applications apart; None: none.
    cancelled
        ``"keep"``: jobs that were cancelled before they ran have a length of 0 and `cancel_s`. ``"drop"``: they are
        left out and counted.
    on_bad_line
        ``"error"``: a row that does not read is an error. ``"skip"``: it is left out and counted, and the report names
        the first few.

    Returns
    -------
    Workload
        Sorted by submit time, in seconds since 1970. Its report counts what was merged, dropped and assumed;
        ``node_names`` are the names of the nodes by number.

    Raises
    ------
    TraceError
        At the first row that does not read, with its line and column; if needed columns are missing, the file is cut or
        no text, or there is no job in it.
    ConfigError
        If an option is none of its values.

    Examples
    --------
    >>> dump = b"JobID|Submit|Start|End|Elapsed|State|NodeList\n7|2024-05-01T12:00:00|2024-05-01T12:00:10|" \
    ...     b"2024-05-01T12:01:10|00:01:00|COMPLETED|n[1-2]\n"
    >>> workload = read_sacct(dump, time_zone="Europe/Berlin")
    >>> workload.to_polars().select("log_id", "submit_s", "runtime_s", "node_count", "observed_nodes").rows()
    [('7', 1714557600.0, 60.0, 2, [0, 1])]
    >>> workload.report["node_names"]
    ['n1', 'n2']
    """
    faults = Faults()
    zone = zone_or_offset("time_zone", time_zone, faults)
    names = _names(faults, columns)
    machine = given_names(faults, nodes)
    _check(faults, delimiter, shared, app, cancelled)
    check_on_bad_line(faults, on_bad_line)
    faults.check()
    with opened(source, _A_DUMP) as blocks:
        dump = _core.read_sacct(
            blocks.read,
            file=blocks.name,
            zone_since=changes(zone)[0],
            zone_offset=changes(zone)[1],
            columns=names,
            delimiter=delimiter,
            app=app,
            drop_never_ran=cancelled == "drop",
            skip_bad_lines=on_bad_line == "skip",
        )
    given: dict[str, object] = {
        "time_zone": time_zone,
        "columns": columns,
        "delimiter": delimiter,
        "nodes": None if machine is None else f"{len(machine)} names",
        "shared": shared,
        "app": app,
        "cancelled": cancelled,
        "on_bad_line": on_bad_line,
    }
    return _workload(dump, blocks, machine, given)


_USUAL = {"time_zone": "UTC", "shared": False, "app": "JobName", "cancelled": "keep", "on_bad_line": "error"}


def _workload(dump: _core.SacctDump, blocks: Blocks, machine: list[str] | None, given: dict[str, object]) -> Workload:
    counts = dump.report()
    errors = counts.pop("first_bad_lines")
    names, lines = dump.node_names()
    unit = "row" if dump.is_json else "line"
    known, rank = ranked(names, lines, machine, source=blocks.name, unit=unit, column="NodeList")
    jobs, words = with_words(_jobs(dump, rank, shared=bool(given["shared"])))
    own = {name: count for name, count in (counts | words).items() if count or name in ("jobs", "rows")}
    own |= {"columns": dump.columns} if dump.columns else {}
    own |= {"time_zone": given["time_zone"]} if given["time_zone"] != _USUAL["time_zone"] else {}
    return as_workload(
        jobs,
        source=blocks.name,
        sha256=blocks.sha256,
        settings={name: value for name, value in given.items() if value != _USUAL.get(name)},
        checked_counts=_counts(jobs) | own | {"node_names": known},
        bad_lines=errors,
    )


def _jobs(dump: _core.SacctDump, rank: npt.NDArray[np.uint32], *, shared: bool) -> pl.DataFrame:
    """The jobs in the schema's order, columns that no job has left out."""
    found = taken(dump, (name for name in _IN_TURN if shared or name != "slots"), rank)
    return pl.DataFrame([found[name] for name in COLUMNS if name in found])


_NOT_SAID = """
    min_nodes max_nodes speedup serial_ratio downey_a downey_sigma speedup_table malleable resize_s comm_s device
    first_run depends_on depends_how think_s cap_w profile
""".split()  # noqa: SIM905
_LATE = ("observed_end_s", "observed_start_s", "observed_nodes")
_IN_TURN = (*(name for name in COLUMNS if name not in (*_NOT_SAID, *_LATE)), *_LATE)
"""Columns in the order in which they can be taken: cancellations and waits are seen by ends and starts."""


def _counts(jobs: pl.DataFrame) -> dict[str, Any]:
    """Counts of jobs that fit the schema as the engine gives them."""
    without = jobs["walltime_s"].null_count() if "walltime_s" in jobs.columns else len(jobs)
    return {"no_walltime": without, "kept_zero_runtime": int((jobs["runtime_s"] == 0).sum()), "out_of_order": 0}


def _names(faults: Faults, columns: object) -> list[str] | None:
    """Names of columns without the widths that ``-o`` may give them."""
    if columns is None:
        return None
    parts = columns.split(",") if isinstance(columns, str) else columns
    if not isinstance(parts, Sequence) or not all(isinstance(part, str) for part in parts) or not parts:
        faults.add("columns", columns, _COLUMNS)
        return None
    return [re.sub(r"%-?\d*$", "", part.strip()).strip() for part in parts]


def _check(faults: Faults, delimiter: object, shared: object, app: object, cancelled: object) -> None:
    if delimiter is not None and (not isinstance(delimiter, str) or not delimiter or "\n" in delimiter):
        faults.add("delimiter", delimiter, "the text between fields, such as `|` or `@@`")
    if not isinstance(shared, bool):
        faults.add("shared", shared, "True or False")
    if app is not None and (not isinstance(app, str) or not app):
        faults.add("app", app, "the name of a column, such as `JobName` or `Account`, or None")
    known = get_args(Cancelled)
    if cancelled not in known:
        faults.add("cancelled", cancelled, f"`keep` or `drop`{did_you_mean(str(cancelled), known)}")


_JSON = re.compile(rb'\s*[\[{](?=[\s\S]*"(?:jobs|job_id)")(?=[\s\S]*"(?:time|meta|association|job_state)")')
_NAME_OF_JOB = re.compile(rb"(?<![a-z0-9_])jobid(?:raw)?(?![a-z0-9_])", re.IGNORECASE)
_OTHERS = re.compile(rb"(?<![a-z0-9_])(?:submit|elapsed|elapsedraw|state|nnodes|jobname)(?![a-z0-9_])", re.IGNORECASE)


def _is_dump(head: bytes) -> bool:
    """True of JSON with jobs of an accounting, and of text with a header line that names a job's number."""
    text = head.removeprefix(b"\xef\xbb\xbf")
    if _JSON.match(text):
        return b'"profiles"' not in text
    line = next((line for line in text.split(b"\n")[:50] if _NAME_OF_JOB.search(line)), b"")
    return bool(_OTHERS.search(line))


FORMAT = Format(
    name="sacct",
    suffixes=tuple(f"{end}{packed}" for end in (".sacct", ".json") for packed in ("", ".gz", ".zst")),
    doc="dumps of Slurm's accounting: sacct -P or sacct --json",
    read=read_sacct,
    recognizes=_is_dump,
    origins={
        "job_id": "JobIDRaw JobID",
        "log_id": "JobID JobIDRaw",
        "array_id": "JobID",
        "array_limit": "JobID",
        "het_id": "JobID",
        "submit_s": "Submit",
        "start_at_s": "Eligible",
        "observed_start_s": "Start",
        "observed_end_s": "End",
        "cancel_s": "End",
        "runtime_s": "ElapsedRaw Elapsed End",
        "suspended_s": "Suspended",
        "walltime_s": "TimelimitRaw Timelimit",
        "node_count": "NNodes AllocNodes AllocTRES NodeList ReqNodes ReqTRES",
        "observed_nodes": "NodeList",
        "cpus": "AllocCPUS NCPUS ReqCPUS",
        "slots": "AllocCPUS NCPUS ReqCPUS",
        "gpus": "AllocTRES ReqTRES",
        "memory_gb": "ReqMem ReqTRES AllocTRES",
        "constraint": "Constraints",
        "licences": "Licenses AllocTRES ReqTRES",
        "user": "User UID",
        "account": "Account",
        "queue": "Partition",
        "qos": "QOS",
        "reservation": "Reservation",
        "priority": "Priority",
        "app": "JobName",
        "trace_state": "State",
        "restarts": "Restarts",
        "observed_energy_j": "ConsumedEnergyRaw ConsumedEnergy",
        "power_w": "ConsumedEnergyRaw ConsumedEnergy",
    },
)
