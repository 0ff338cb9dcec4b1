"""The bridge's log, ``DIR/log.jsonl``: a JSON object a line, for people and for ``hetsched slurm status``."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from hetsched.checks import reason_of
from hetsched.errors import ConfigError, OutputError

NAME = "log.jsonl"
MOST_BYTES = 64 * 2**20


class Log:
    """Appends lines; a file that has grown large is kept as ``log-0001.jsonl`` and so on, and never deleted.

    Raises
    ------
    OutputError
        If it cannot be written.
    """

    def __init__(self, folder: str, *, real: Callable[[], float], most_bytes: int = MOST_BYTES) -> None:
        self._path, self._real, self._most_bytes = Path(folder) / NAME, real, most_bytes

    def write(self, event: str, **values: Any) -> None:
        """Append a line about an event."""
        line = json.dumps({"real": round(self._real(), 3), "event": event, **values}, separators=(",", ":"))
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._rotate()
            with self._path.open("a", encoding="utf-8") as file:
                file.write(f"{line}\n")
        except OSError as error:
            raise OutputError(str(self._path), reason_of(error)) from None

    def _rotate(self) -> None:
        if not self._path.exists() or self._path.stat().st_size < self._most_bytes:
            return
        self._path.rename(self._path.with_name(f"log-{len(_older(self._path.parent)) + 1:04d}.jsonl"))


def _older(folder: Path) -> list[Path]:
    return sorted(folder.glob("log-[0-9]*.jsonl"))


def read_log(folder: str) -> Iterator[dict[str, Any]]:
    """Lines of a log, the oldest first, without a last one that is torn; raises ConfigError if there is none."""
    paths = [path for path in (*_older(Path(folder)), Path(folder) / NAME) if path.exists()]
    if not paths:
        raise ConfigError([(folder, f"no {NAME}", "the folder of `hetsched slurm run --journal`")])
    for path in paths:
        for number, line in enumerate(path.read_bytes().split(b"\n")[:-1], start=1):
            try:
                values = json.loads(line)
            except ValueError:
                values = None
            if not isinstance(values, dict):
                raise ConfigError([(f"{path}, line {number}", "no JSON object", "a line of the log")])
            yield values
