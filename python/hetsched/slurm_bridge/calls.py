"""Calls of Slurm's commands: lists of arguments, never a shell, in the C locale and with a limit of time."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from hetsched.checks import one_line, reason_of
from hetsched.errors import LiveError

LIMIT_S = 20.0
"""Seconds that a call may take: Slurm's own commands give up after ten."""

_OF_FORMATS = ("SQUEUE_", "SINFO_", "SCONTROL_", "SLURM_CLUSTERS", "SLURM_BITSTR_LEN")
"""Beginnings of variables that change what the commands print."""

_PIPE_BYTES = 2**20
"""Bytes that a command may be ahead of us: a table of 2,000 jobs has five times that."""


class CallError(LiveError):
    """A command of Slurm's that could not be run, did not answer in time, or failed."""


@dataclass(frozen=True)
class Answer:
    """An answer of a command: its exit code, both of its outputs, and the seconds it took."""

    words: tuple[str, ...]
    code: int
    out: str
    err: str
    seconds: float

    @property
    def why(self) -> str:
        """A line that says why it failed."""
        said = next((line for line in (self.err + "\n" + self.out).splitlines() if line.strip()), "it said nothing")
        return f"exit code {self.code}: {one_line(said.strip(), limit=200)}"

    def checked(self) -> Answer:
        """The same answer; raises CallError if the command failed."""
        if self.code != 0:
            raise CallError(f"{self.words[0]} failed with {self.why}")
        return self


@dataclass(frozen=True)
class Slurm:
    """The commands of a Slurm: those that PATH has, on the cluster that SLURM_CONF names.

    A command that failed may have been carried out: nothing is repeated or undone by its exit code.
    """

    limit_s: float = LIMIT_S
    now: Callable[[], float] = time.monotonic

    def call(self, *words: str, text: str | None = None) -> Answer:
        """Run a command, with a text for its standard input or none.

        Raises
        ------
        CallError
            If there is no such command, or it has not answered when the limit is over; it is ended then.
        """
        began = self.now()
        source = subprocess.DEVNULL if text is None else subprocess.PIPE
        try:
            process = subprocess.Popen(
                words,
                stdin=source,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=_environment(),
                start_new_session=True,
                pipesize=_PIPE_BYTES,
            )
        except OSError as error:
            reason = "no such command in PATH" if isinstance(error, FileNotFoundError) else reason_of(error)
            raise CallError(f"{words[0]}: {reason}") from None
        try:
            out, err = process.communicate(None if text is None else text.encode(), timeout=self.limit_s)
        except BaseException as error:
            _end(process)
            if isinstance(error, subprocess.TimeoutExpired):
                raise CallError(f"{words[0]} did not answer within {self.limit_s:g} s") from None
            raise
        return Answer(words, process.returncode, _text(out), _text(err), self.now() - began)

    def commands(self, lines: Sequence[Sequence[str]]) -> Answer:
        """Have one scontrol carry out several commands, each of which it tries whatever became of those before.

        Raises
        ------
        CallError
            As `call`.
        ValueError
            If a word has blanks or other characters that would end it.
        """
        for line in lines:
            for word in line:
                if not word.isascii() or not word.isprintable() or " " in word:
                    raise ValueError(f"{word!r} is no word of a command")
        return self.call("scontrol", text="".join(f"{' '.join(line)}\n" for line in [*lines, ("quit",)]))


def _environment() -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(_OF_FORMATS)}
    # Seconds since 1970 in place of dates of some time zone.
    return kept | {"LC_ALL": "C", "SLURM_TIME_FORMAT": "%s"}


def _text(data: bytes) -> str:
    return data.decode("utf-8", "backslashreplace")


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a command and all it has started, so that nothing holds its pipes."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        # It has ended meanwhile.
        process.poll()
    process.communicate()
