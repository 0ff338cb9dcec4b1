"""Commands of jobs: what a row of a job table says of the program to run, and faults of rows that cannot be run."""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from hetsched.checks import Faults, shown

COLUMNS = {
    "command": "the program and its arguments: a list, or a text that is cut into words as a shell does, without one",
    "script": "a job script, in place of a command",
    "shell": "whether the command is a text for /bin/sh",
    "cwd": "the folder that it runs in",
    "env": "settings of its environment: a table, or words such as K=V",
    "stdin": "the file that it reads; default: /dev/null",
    "stdout": "the file that its output is put behind; default: jobs/ID.A/stdout",
    "stderr": "the same of its errors; default: jobs/ID.A/stderr",
}
"""Columns of a job table that say what to run."""

_FILES = ("stdin", "stdout", "stderr")


@dataclass(frozen=True)
class Command:
    """The program of a job."""

    argv: tuple[str, ...]
    cwd: str
    env: Mapping[str, str] = field(default_factory=dict)
    stdin: str = "/dev/null"
    stdout: str = ""
    stderr: str = ""
    limit_s: float | None = None
    memory_gb: float | None = None

    def to_json(self) -> dict[str, Any]:
        """The command as an object in JSON."""
        return asdict(self)

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Command:
        """The command that `to_json` gave."""
        return cls(**{**values, "argv": tuple(values["argv"])})

    def files(self, job: int, attempt: int, folder: str) -> dict[str, str]:
        """Its standard files in one attempt; relative names are below its own folder."""
        found = {}
        for name in _FILES:
            given = getattr(self, name) or f"{folder}/{name}"
            named = given.replace("{job_id}", str(job)).replace("{attempt}", str(attempt))
            found[name] = str(Path(self.cwd) / named)
        return found


def command_of(row: Mapping[str, Any], place: str, faults: Faults, *, cwd: str) -> Command | None:
    """The command of a row; None if there is something wrong with it, which is noted at `place`."""
    before = len(faults.found)
    argv = _argv(row, place, faults)
    folder = Path(cwd) / (_text(row, "cwd", place, faults) or ".")
    if not folder.is_dir():
        faults.add(f"{place}, cwd", str(folder), "a folder")
    env = _env(row.get("env"), place, faults)
    files = {name: _text(row, name, place, faults) or getattr(Command, name) for name in _FILES}
    if argv and len(faults.found) == before:
        _check_program(argv[0], folder, env, place, faults)
    if len(faults.found) > before:
        return None
    limit_s, memory_gb = row.get("walltime_s"), row.get("memory_gb")
    return Command(tuple(argv), str(folder.resolve()), env, **files, limit_s=limit_s, memory_gb=memory_gb)


def _argv(row: Mapping[str, Any], place: str, faults: Faults) -> Sequence[str]:
    given = row.get("command")
    if not given:
        faults.note(f"{place}, command", "nothing", "a program with its arguments")
        return ()
    if isinstance(given, str):
        if row.get("shell"):
            words = ["/bin/sh", "-c", given]
        else:
            try:
                words = shlex.split(given)
            except ValueError as error:
                faults.note(f"{place}, command", f"{shown(given)} ({error})", "words, with quotes in pairs")
                return ()
    else:
        words = list(given)
        if row.get("shell"):
            faults.add(f"{place}, command", given, "a text, as shell = true asks for")
    if not words or not words[0] or not all(isinstance(word, str) for word in words):
        faults.add(f"{place}, command", given, "a list of words, the program first")
        return ()
    for word in words:
        if "\0" in word:
            faults.add(f"{place}, command", word, "words without a zero byte")
    return words


def _text(row: Mapping[str, Any], name: str, place: str, faults: Faults) -> str | None:
    value = row.get(name)
    if value is None:
        return None
    if not isinstance(value, str) or "\0" in value:
        faults.add(f"{place}, {name}", value, "a name of a file")
        return None
    return value


def _env(given: Any, place: str, faults: Faults) -> dict[str, str]:
    if given is None:
        return {}
    pairs: list[tuple[str, str, str]]
    if isinstance(given, Mapping):
        # Values of a table that are missing are those of other rows.
        pairs = [(str(name), "=", str(value)) for name, value in given.items() if value is not None]
    else:
        try:
            pairs = [word.partition("=") for word in shlex.split(str(given))]
        except ValueError as error:
            faults.note(f"{place}, env", f"{shown(given)} ({error})", "words such as K=V, with quotes in pairs")
            return {}
    for name, equals, value in pairs:
        if not name or not equals or "\0" in name + value or "=" in name:
            faults.add(f"{place}, env", f"{name}{equals}{value}", "words such as K=V")
    return {name: value for name, _, value in pairs}


def _check_program(program: str, cwd: Path, env: Mapping[str, str], place: str, faults: Faults) -> None:
    """Note a program that is not there, as far as this can be known now."""
    if "/" in program:
        file = cwd / program
        if not file.exists():
            faults.add(f"{place}, command", program, "a program; there is no file of this name")
        elif not os.access(file, os.X_OK) or file.is_dir():
            faults.add(f"{place}, command", program, "a program; this file is not executable")
    elif shutil.which(program, path=env.get("PATH", os.environ.get("PATH", os.defpath))) is None:
        faults.add(f"{place}, command", program, "a program; there is none of this name in PATH")
