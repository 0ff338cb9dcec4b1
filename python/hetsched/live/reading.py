"""Jobs to run, read from a table (CSV, Parquet), a TOML file, or a folder of job scripts."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from hetsched.checks import Faults, did_you_mean, listed, one_line, read_toml, shown, whole_text
from hetsched.errors import ConfigError
from hetsched.live.commands import COLUMNS, Command, command_of
from hetsched.live.scripts import ignored_note, read_script
from hetsched.tables import kind_of, read_table
from hetsched.workload import COLUMNS as JOB_COLUMNS
from hetsched.workload import Workload
from hetsched.workload.conform import conformed
from hetsched.workload.convert import Origin

_EXPECTED = "jobs to run: a .csv, .parquet or .toml file, or a folder of job scripts"
_ROW = "#row"
_MOST_REPEATS = 1_000_000
_SHORT = {"nodes": "node_count"}
"""Short names of columns."""


@dataclass(frozen=True)
class RealJobs:
    """Jobs to run, without any word on how long they will."""

    frame: pl.DataFrame
    """The job table, in the order of submission; without ``runtime_s``."""
    commands: Mapping[int, Command]
    """Commands to run, by job."""
    source: str
    notes: Sequence[str] = ()
    """Sentences for people, on what was passed over."""

    def __len__(self) -> int:
        return len(self.frame)

    def ended(self, runtime_s: pl.DataFrame) -> Workload:
        """The workload of the same jobs with how long they ran: ``job_id`` and ``runtime_s``; without a row, 0."""
        frame = self.frame.join(runtime_s, on="job_id", how="left", maintain_order="left")
        return Workload.from_polars(frame.with_columns(pl.col("runtime_s").fill_null(0.0)), source=self.source)


def read_commands(path: str, *, default_walltime_s: float | None = None, submit_at_once: bool = False) -> RealJobs:
    """Read jobs to run.

    Parameters
    ----------
    path
        A table whose name ends in ``.csv`` or ``.parquet``; a TOML file with ``[[job]]`` tables, each of them one job
        or, with ``repeat = 40``, forty; or a folder of job scripts, in the order of their names. Columns are those of
        job tables and those of `hetsched.live.commands.COLUMNS`. Left out, ``job_id`` counts from 1, ``submit_s``
        (seconds from the run's start) is 0, and ``node_count`` (or ``nodes``) is 1. A column ``runtime_s`` is left out:
        a policy must not know it.
    default_walltime_s
        Walltime of jobs that bring none. None: they have no limit.
    submit_at_once
        Whether all are submitted at the start, in the order of their ``submit_s``.

    Raises
    ------
    ConfigError
        With every row that cannot be run: no command, a program or folder that there is not, words that do not read.
    TraceError
        If a value is not what its column holds.
    """
    faults = Faults()
    read = _of_folder if Path(path).is_dir() else _READERS.get(kind_of(path))
    if read is None:
        raise ConfigError([("WORKLOAD", shown(path), _EXPECTED)])
    rows = read(path, faults)
    _check_walltimes(rows, faults)
    faults.check()
    frame = _job_table(rows, path, default_walltime_s, submit_at_once)
    commands = _commands(frame, rows, faults)
    if "malleable" in frame.columns:
        for row in frame.filter(pl.col("malleable"))[_ROW].to_list():
            faults.add(f"{rows.place(row)}, malleable", "true", "false: the nodes of a command do not change")
    # Of jobs of one row each has its faults.
    faults.found = list(dict.fromkeys(faults.found))
    faults.check()
    return RealJobs(frame.drop(_ROW, "runtime_s"), commands, whole_text(path), rows.notes)


@dataclass
class _Rows:
    """Rows as they stand in a file, each with the place that messages name."""

    frame: pl.DataFrame
    given: Sequence[Mapping[str, Any]]
    """Columns of commands, by job."""
    place: Callable[[int], str]
    line: Callable[[int], int] | None = None
    notes: Sequence[str] = ()


def _of_table(path: str, faults: Faults) -> _Rows:
    table = read_table(path, _EXPECTED, words=COLUMNS)
    names = table.frame.columns
    if not {"command", "script"} & set(names):
        faults.note(path, "no column command", f"what to run in a column command{did_you_mean('command', names)}")
    frame = table.frame.rename({short: name for short, name in _SHORT.items() if short in table.frame.columns})
    text = table.text

    def place(row: int) -> str:
        return f"{path}, row {row}" if text is None else f"{path}, line {text.line_of(row)}"

    if "shell" in frame.columns and frame["shell"].dtype == pl.String:
        frame = frame.with_columns(pl.col("shell").str.strip_chars().str.to_lowercase().is_in(["true", "1"]))
    given = frame.select(name for name in COLUMNS if name in frame.columns).to_dicts() or [{}] * len(frame)
    # What is run is no part of the job table, and lists and tables of words have no place in it.
    rest = frame.drop([name for name in COLUMNS if name in frame.columns])
    notes = [f"column {one_line(name)} is not read{_meant(name)}" for name in names if not _is_known(name)]
    return _with_scripts(_Rows(rest, given, place, None if text is None else text.line_of, notes), path, faults)


def _of_toml(path: str, faults: Faults) -> _Rows:
    content = read_toml(path)
    for key, value in content.items():
        if key != "job":
            faults.add(f"{path}, {key}", value, f"only tables [[job]]{did_you_mean(key, ['job'])}")
    jobs = content.get("job", [])
    if not isinstance(jobs, list) or not jobs or not all(isinstance(one, dict) for one in jobs):
        faults.note(f"{path}, job", shown(jobs) if jobs else "nothing", "tables [[job]], one a job")
        return _rows_of([], [], faults)
    given, places = [], []
    for number, job in enumerate(jobs):
        repeat = job.pop("repeat", 1)
        place = f"{path}, job[{number}]"
        faults.whole(f"{place}, repeat", repeat, low=1, high=_MOST_REPEATS)
        if not faults.has(f"{place}, repeat"):
            given += [job] * repeat
            places += [place] * repeat
    return _with_scripts(_rows_of(given, places, faults), path, faults)


def _of_folder(path: str, faults: Faults) -> _Rows:
    given, places, ignored = [], [], list[str]()
    for file in sorted(Path(path).iterdir(), key=lambda one: _counted(one.name)):
        if file.name.startswith(".") or not file.is_file():
            continue
        script = read_script(file, _is_column, faults)
        if script is not None:
            given.append(script.values)
            places.append(str(file))
            ignored += script.ignored
    if not given and not faults.found:
        faults.note("WORKLOAD", f"{shown(path)}, a folder without files", _EXPECTED)
    rows = _rows_of(given, places, faults)
    note = ignored_note(ignored)
    rows.notes = [note] if note else []
    return rows


_READERS: dict[str, Callable[[str, Faults], _Rows]] = {"csv": _of_table, "parquet": _of_table, "toml": _of_toml}


def _counted(name: str) -> list[str]:
    """A key that sorts names as people count: job-2 before job-10."""
    return [part.zfill(20) if part.isdecimal() else part for part in re.split(r"(\d+)", name)]


def _is_column(name: str) -> bool:
    return name in JOB_COLUMNS or name in COLUMNS


def _is_known(name: str) -> bool:
    return _is_column(name) or name in _SHORT


def _meant(name: str) -> str:
    return did_you_mean(name, (*_SHORT, *COLUMNS, *JOB_COLUMNS))


def _rows_of(given: Sequence[Mapping[str, Any]], places: Sequence[str], faults: Faults) -> _Rows:
    """Rows out of dictionaries; a key that is no column is a fault."""
    unknown: dict[str, list[str]] = {}
    plain = []
    for row, place in zip(given, places, strict=True):
        named = {_SHORT.get(name, name): value for name, value in row.items()}
        for name in named:
            if not _is_known(name):
                unknown.setdefault(name, []).append(place)
        plain.append({name: value for name, value in named.items() if name not in COLUMNS})
    for name, those in unknown.items():
        count = len(set(those))
        found = "an unknown column" + (f", as in {count - 1} more" if count > 1 else "")
        expected = f"a column of job tables or one of {listed(COLUMNS)}{_meant(name)}"
        faults.note(f"{those[0]}, {name}", found, expected)
    names = list(dict.fromkeys(name for row in plain for name in row))
    columns = {name: pl.Series(name, [row.get(name) for row in plain], strict=False) for name in names}
    frame = pl.DataFrame(columns) if columns else pl.DataFrame({"submit_s": [0.0] * len(plain)})
    return _Rows(frame, given, lambda row: places[row])


def _with_scripts(rows: _Rows, path: str, faults: Faults) -> _Rows:
    """The rows with what their column `script` says, where there is no command and no value of their own."""
    given: list[dict[str, Any]] = [dict(row) for row in rows.given]
    said, ignored = dict[str, dict[int, Any]](), list[str]()
    for number, row in enumerate(given):
        name = row.get("script")
        if not name:
            continue
        if row.get("command"):
            faults.add(f"{rows.place(number)}, script", name, "either a script or a command")
            continue
        script = read_script(Path(path).parent / str(name), _is_column, faults)
        if script is None:
            continue
        ignored += script.ignored
        given[number] = {**script.values, **{key: value for key, value in row.items() if value is not None}}
        given[number]["command"] = script.values["command"]
        for column, value in script.values.items():
            if column not in COLUMNS:
                said.setdefault(column, {})[number] = value
    note = ignored_note(ignored)
    frame = _filled(rows.frame, said)
    return _Rows(frame, given, rows.place, rows.line, [*rows.notes, *([note] if note else [])])


def _filled(frame: pl.DataFrame, values: Mapping[str, Mapping[int, Any]]) -> pl.DataFrame:
    """The frame with values, by column and row, where it has none."""
    columns = []
    for name, own in values.items():
        before = frame[name].to_list() if name in frame.columns else [None] * len(frame)
        filled = [own.get(row) if value is None else value for row, value in enumerate(before)]
        columns.append(pl.Series(name, filled, strict=False))
    return frame.with_columns(columns)


def _job_table(rows: _Rows, path: str, default_walltime_s: float | None, submit_at_once: bool) -> pl.DataFrame:
    """The rows as a job table, each with its number in the file; the length of a run is 0."""
    frame = rows.frame.with_row_index(_ROW)
    if "job_id" not in frame.columns:
        frame = frame.with_columns(job_id=pl.int_range(1, len(frame) + 1, dtype=pl.Int64))
    for name, value in (("submit_s", 0.0), ("node_count", 1)):
        present = pl.col(name).fill_null(value) if name in frame.columns else pl.lit(value)
        frame = frame.with_columns(present.alias(name))
    frame = frame.with_columns(runtime_s=pl.lit(0.0))
    table, _ = conformed(frame, Origin(whole_text(path), rows.line, is_file=rows.line is not None))
    if default_walltime_s is not None:
        own = pl.col("walltime_s") if "walltime_s" in table.columns else pl.lit(None, pl.Float64)
        table = table.with_columns(walltime_s=own.fill_null(default_walltime_s))
    return table.with_columns(submit_s=pl.lit(0.0)) if submit_at_once else table


def _check_walltimes(rows: _Rows, faults: Faults) -> None:
    """Note limits that are none: of a real job nobody means by -1 that there is no limit."""
    if "walltime_s" not in rows.frame.columns or not rows.frame["walltime_s"].dtype.is_numeric():
        return
    for row in rows.frame.with_row_index(_ROW).filter(~(pl.col("walltime_s") > 0)).select(_ROW, "walltime_s").rows():
        faults.add(f"{rows.place(row[0])}, walltime_s", row[1], "seconds above 0, or nothing")
    # Of jobs of one row each has its faults.
    faults.found = list(dict.fromkeys(faults.found))


def _commands(frame: pl.DataFrame, rows: _Rows, faults: Faults) -> dict[int, Command]:
    """The command of each job."""
    wanted = [name for name in ("job_id", _ROW, "walltime_s", "memory_gb") if name in frame.columns]
    found = {}
    for job in frame.select(wanted).iter_rows(named=True):
        row = job[_ROW]
        given = {**rows.given[row], "walltime_s": job.get("walltime_s"), "memory_gb": job.get("memory_gb")}
        command = command_of(given, rows.place(row), faults, cwd=str(Path.cwd()))
        if command is not None:
            found[job["job_id"]] = command
    return found
