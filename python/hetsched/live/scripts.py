"""Job scripts: the options that their first lines give, ``#HETSCHED`` and ``#SBATCH``, and what runs them.

As `sbatch` does it, options end at the first line that is no comment. Options of ``#SBATCH`` that have no meaning here
are passed over and named.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

from hetsched.checks import Faults, did_you_mean, listed, reason_of, shown
from hetsched.slurm_files.values import A_TIME, UNLIMITED, seconds_of

_MARK = re.compile(r"#(HETSCHED|SBATCH)\s+(.*)")

_SLURM = {
    "nodes": ("-N", "node_count"),
    "time": ("-t", "walltime_s"),
    "chdir": ("-D", "cwd"),
    "input": ("-i", "stdin"),
    "output": ("-o", "stdout"),
    "error": ("-e", "stderr"),
    "account": ("-A", "account"),
    "partition": ("-p", "queue"),
    "constraint": ("-C", "constraint"),
    "licenses": ("-L", "licences"),
    "job-name": ("-J", "app"),
}
"""Options of Slurm, each with its letter and the column that it is."""

_OWN = {"nodes": "node_count", "time": "walltime_s"}
"""Short names of hetsched's options; the others are columns, such as ``--submit-s``."""

_PLACEHOLDERS = {"%j": "{job_id}", "%J": "{job_id}", "%A": "{job_id}", "%%": "%"}

_WHOLE = ("job_id", "node_count", "slots", "gpus", "depends_on", "array_id", "array_limit", "min_nodes", "max_nodes")


@dataclass
class Script:
    """A job script: what its first lines say by column, and options of theirs that mean nothing here."""

    values: dict[str, Any] = field(default_factory=dict)
    ignored: list[str] = field(default_factory=list)


def read_script(path: Path, columns: Callable[[str], bool], faults: Faults) -> Script | None:
    """A script's options, and its own ``command``; None if it cannot be run, which is noted.

    `columns` says whether a name is a column of job tables.
    """
    try:
        lines = path.read_text(encoding="utf-8", errors="surrogateescape").split("\n")
    except OSError as error:
        faults.note(str(path), reason_of(error), "a job script")
        return None
    if not lines[0].startswith("#!"):
        faults.note(f"{path}, line 1", shown(lines[0]), "a line such as #!/bin/sh, which says what runs the script")
        return None
    script = Script()
    for number, mark, text in _options(lines):
        place = f"{path}, line {number}"
        try:
            words = shlex.split(text, comments=True)
        except ValueError as error:
            faults.note(place, f"{shown(text)} ({error})", "options, with quotes in pairs")
            continue
        _take(script, words, place, columns if mark == "HETSCHED" else None, faults)
    full = str(path.absolute())
    script.values["command"] = [full] if os.access(full, os.X_OK) else [*shlex.split(lines[0][2:]), full]
    return script


def _options(lines: list[str]) -> Iterator[tuple[int, str, str]]:
    for number, line in enumerate(lines, 1):
        if line.strip() and not line.startswith("#"):
            return
        if found := _MARK.match(line):
            yield number, found[1], found[2]


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise ValueError(message)


def _slurm_parser() -> _Parser:
    parser = _Parser(add_help=False, allow_abbrev=False)
    for name, (letter, _) in _SLURM.items():
        parser.add_argument(letter, f"--{name}", dest=name)
    parser.add_argument("-a", "--array")
    return parser


def _take(script: Script, words: list[str], place: str, columns: Callable[[str], bool] | None, faults: Faults) -> None:
    """Add a line's options, those of Slurm where there are no `columns`."""
    try:
        if columns is None:
            known, others = _slurm_parser().parse_known_args(words)
            pairs = [
                (f"--{name}", _SLURM[name][1], text)
                for name, text in vars(known).items()
                if text is not None and name in _SLURM
            ]
            if known.array is not None:
                faults.note(
                    f"{place}, --array", shown(known.array), "one job a script: `repeat` in a .toml file makes many"
                )
            script.ignored += [word for word in others if word.startswith("-")]
        else:
            pairs = list(_own(words, columns, place, faults))
    except ValueError as error:
        faults.note(place, shown(shlex.join(words)), f"options with their values ({error})")
        return
    for option, column, text in pairs:
        value = _value("time" if option == "--time" else column, text, f"{place}, {option}", faults)
        if value is not None:
            script.values[column] = _with_placeholders(value) if columns is None and column in _FILES else value


_FILES = ("stdin", "stdout", "stderr")


def _with_placeholders(name: str) -> str:
    return re.sub(r"%[jJA%]", lambda found: _PLACEHOLDERS[found[0]], name)


def _own(
    words: list[str], columns: Callable[[str], bool], place: str, faults: Faults
) -> Iterator[tuple[str, str, str]]:
    """Options of hetsched: ``--name value`` or ``--name=value``."""
    at = iter(words)
    for word in at:
        option, equals, text = word.partition("=")
        name = option.removeprefix("--").replace("-", "_")
        column = _OWN.get(name, name)
        if not option.startswith("--") or not columns(column):
            hint = did_you_mean(option, [f"--{one}" for one in ("nodes", "time", "submit-s", "walltime-s", "cwd")])
            faults.add(place, option, f"--nodes, --time, or a column of job tables such as --submit-s{hint}")
            return
        value = text if equals else next(at, None)
        if value is None:
            faults.note(f"{place}, {option}", "nothing", "a value")
            return
        yield option, column, value


def _value(column: str, text: str, place: str, faults: Faults) -> Any:
    """The value of a column; None if it does not read, which is noted, or says no limit."""
    if column == "node_count":
        # Of a range the fewest, which is what the job can do with.
        first = text.partition("-")[0]
        if not first.isdecimal() or not int(first):
            faults.add(place, text, "a number of nodes")
            return None
        return int(first)
    if column == "time":
        if text.upper() in UNLIMITED:
            return None
        if (seconds := seconds_of(text)) is None:
            faults.add(place, text, A_TIME)
        return None if seconds is None else float(seconds)
    if column.endswith("_s") or column in ("memory_gb", "cap_w"):
        if (number := _number(text)) is None:
            faults.add(place, text, "a number")
        return number
    if column in _WHOLE:
        if not text.isdecimal():
            faults.add(place, text, "a whole number")
            return None
        return int(text)
    return text


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def ignored_note(ignored: list[str]) -> str:
    """A line on options of Slurm that mean nothing here; nothing if there are none."""
    names = sorted({word.partition("=")[0] for word in ignored})
    return f"options of #SBATCH without a meaning here: {listed(names)}" if names else ""
