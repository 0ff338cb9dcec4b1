"""Output of a command: results on standard output, errors and warnings in lines on standard error; its exit code."""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
import textwrap
import traceback
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from typing import Any, TextIO

import typer
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Text

from hetsched.checks import Faults, did_you_mean
from hetsched.errors import ConfigError, Fault, HetschedError, OutputError, RunWarning, SimulationError

_OPTIONS = {'walltimes="stretch"': "--walltimes stretch", "kill_at_walltime=False": "--no-kill-at-walltime"}
"""Options by their names in the library's warnings."""

_CONTROL = r"[\x00-\x08\x0b-\x1f\x7f-\x9f]"
"""Characters that a terminal may obey: all control characters but tabs and ends of lines."""

DONE = 0
FAILED = 1
MISUSED = 2
INTERRUPTED = 130


_GIVEN: ContextVar[Sequence[str]] = ContextVar("given", default=())
"""Words of the command that runs."""


def begin(given: Sequence[str]) -> None:
    """Keep the words of the command that begins."""
    _GIVEN.set(tuple(given))


def command_line() -> str:
    """The command that runs, as one types it."""
    return shlex.join(["hetsched", *_GIVEN.get()])


def ended(command: Callable[[], Any], *, debug: bool) -> int:
    """Run a command to its end, whatever that is."""
    # A terminal of no width is one whose width is not known.
    if os.environ.get("COLUMNS", "").strip("0") == "":
        os.environ.pop("COLUMNS", None)
    with _warnings_in_a_line():
        try:
            code = _exit_code(command)
            sys.stdout.flush()
        except BaseException as error:  # noqa: BLE001 -- this is where every error ends
            code = _reported(error, debug=debug)
    silence(sys.stdout)
    return code


def _exit_code(command: Callable[[], Any]) -> int:
    code = command()
    if code == INTERRUPTED:
        raise KeyboardInterrupt
    return code if isinstance(code, int) else DONE


def _reported(error: BaseException, *, debug: bool) -> int:
    """Write an error's message; gives its exit code."""
    if isinstance(error, SystemExit) and not _notes_of_policy(error):
        return error.code if isinstance(error.code, int) else FAILED
    if isinstance(error, KeyboardInterrupt):
        _write("interrupted")
        return INTERRUPTED
    if isinstance(error, typer.TyperException) and type(error).__name__ == "NoArgsIsHelpError":
        # Its message is the help, unless that has been shown already.
        sys.stderr.write(error.format_message())
        return MISUSED
    if debug:
        traceback.print_exception(error)
    for line in _lines(error):
        _write(f"error: {line}")
    is_misuse = isinstance(error, HetschedError) and not isinstance(error, SimulationError | OutputError)
    return MISUSED if is_misuse or isinstance(error, typer.TyperException) else FAILED


def _lines(error: BaseException) -> Iterator[str]:
    if isinstance(error, ConfigError):
        yield from str(error).splitlines()
    elif isinstance(error, HetschedError):
        yield str(error)
    elif isinstance(error, typer.TyperException):
        yield _misuse(error)
    elif isinstance(error, OSError):
        yield f"{error.filename or 'standard output'}: {error.strerror or error}"
    elif own := _notes_of_policy(error):
        yield f"{own[0]}: {type(error).__name__}: {error} (--debug shows where)"
    elif isinstance(error, MemoryError):
        yield "not enough memory for this run"
    else:
        yield f"hetsched itself failed: {type(error).__name__}: {error} (--debug shows where; please report it)"


def _notes_of_policy(error: BaseException) -> list[str]:
    """Notes on an error that say where in a policy's own Python it was raised."""
    return [note for note in getattr(error, "__notes__", []) if note.startswith("policy.")]


def _misuse(error: typer.TyperException) -> str:
    """The fault of a command line, from typer's error."""
    context: Any = getattr(error, "ctx", None)
    command: Any = None if context is None else context.command
    message = error.format_message()
    option = getattr(error, "option_name", None)
    if type(error).__name__ == "NoSuchOption" and command is not None:
        known = [name for parameter in command.get_params(context) for name in parameter.opts]
        return f"unknown option {option}{did_you_mean(str(option), known) or _see(context)}"
    if unknown := re.match(r"No such command '(.*?)'", message, re.DOTALL):
        hint = did_you_mean(unknown[1], command.commands) or f"; known: {', '.join(command.commands)}"
        return f"unknown command `{unknown[1]}`{hint}"
    if missing := re.match(r"Missing (\w+) '(.*?)'", message):
        return f"missing {missing[1]} {missing[2]}{_see(context)}"
    if message.endswith("requires an argument."):
        return f"{option}: found nothing, expected a value"
    if extra := re.match(r"Got unexpected extra arguments?(?:\(s\))? \((.*)\)", message, re.DOTALL):
        return f"unexpected argument {extra[1]}{_see(context)}"
    text = message.rstrip(".")
    return f"{text[:1].lower()}{text[1:]}{_see(context)}"


def _see(context: Any) -> str:
    return "" if context is None else f"; see {context.command_path} --help"


_LONGEST_LINE, _LAST_PART = 4000, 1000
"""Letters of a message, which may repeat a value of any length; what is expected stands at its end."""


def _write(line: str) -> None:
    """One line on standard error, whatever control characters a name or value brought along."""
    text = re.sub(rf"{_CONTROL}+|[\t\n]+", " ", line)
    if len(text) > _LONGEST_LINE:
        text = f"{text[: _LONGEST_LINE - _LAST_PART]} ... {text[-_LAST_PART:]}"
    try:
        sys.stderr.write(f"{text}\n")
        sys.stderr.flush()
    except OSError:
        silence(sys.stderr)


def _write_all(stream: TextIO, text: str) -> None:
    """Write a text to its end or raise: an unbuffered stream of Python takes what fits and says nothing of the rest."""
    stream.flush()
    bytes_out = getattr(stream, "buffer", None)
    if bytes_out is None:
        stream.write(text)
        stream.flush()
        return
    rest = memoryview(text.encode(stream.encoding, stream.errors or "strict"))
    while rest:
        rest = rest[bytes_out.write(rest) or 0 :]
    bytes_out.flush()


def _wrapped(text: str) -> list[str]:
    """A sentence in lines that fit a terminal; whole where standard error is none."""
    if not sys.stderr.isatty():
        return [text]
    from rich.console import Console

    return textwrap.wrap(text, Console(stderr=True).width, break_long_words=False, break_on_hyphens=False)


def silence(stream: TextIO) -> None:
    """Drop the rest of a stream whose other end is closed or full."""
    try:
        stream.flush()
    except OSError:
        with open(os.devnull, "w", encoding="utf-8") as nowhere:
            os.dup2(nowhere.fileno(), stream.fileno())


@contextmanager
def changed(change: Callable[[Fault], Fault]) -> Iterator[None]:
    """Change the faults of a `ConfigError` raised in the block, so that a reader finds them."""
    try:
        yield
    except ConfigError as error:
        raise error.mapped(change) from error


def renamed(names: Mapping[str, str]) -> AbstractContextManager[None]:
    """Call a library's parameters by the options they were given with, in errors raised in the block."""
    return changed(lambda fault: _renamed(fault, names))


def _renamed(fault: Fault, names: Mapping[str, str]) -> Fault:
    return fault.at(names[fault.place]) if fault.place in names else fault


def inside(path: str) -> AbstractContextManager[None]:
    """Name the file that an error raised in the block is about, unless the fault does so itself."""
    return changed(lambda fault: fault if path in fault.path else fault.under(path, ": "))


class noted:  # noqa: N801 -- reads as the verb it is: with noted(faults)
    """Note the faults of a `ConfigError` raised in the block, to report them together with others."""

    def __init__(self, faults: Faults, names: Mapping[str, str] | None = None) -> None:
        self._faults = faults
        self._names = names or {}

    def __enter__(self) -> None:
        return

    def __exit__(self, kind: object, error: object, trace: object) -> bool:
        if not isinstance(error, ConfigError):
            return False
        self._faults.extend(error, lambda fault: _renamed(fault, self._names))
        return True


@contextmanager
def _warnings_in_a_line() -> Iterator[None]:
    """Show hetsched's own warnings once each, as a line; leave others to Python's rules."""
    with warnings.catch_warnings():
        warnings.filterwarnings("always", category=RunWarning)
        others, seen = warnings.showwarning, set[str]()

        def show(message: Warning | str, category: type[Warning], *rest: Any, **more: Any) -> None:
            if not issubclass(category, RunWarning):
                others(message, category, *rest, **more)
            elif str(message) not in seen:
                seen.add(str(message))
                text = f"warning: {message}"
                for name, option in _OPTIONS.items():
                    text = text.replace(name, option)
                for line in _wrapped(text):
                    _write(line)

        warnings.showwarning = show
        yield


class _Console(Console):
    """A console that falls silent when its reader has gone; the run goes on and its files are written."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Render with names and values harmless, whatever control characters they brought along."""
        for segment in super().render(renderable, options):
            is_own = segment.control is not None
            yield segment if is_own else Segment(re.sub(_CONTROL, " ", segment.text), segment.style)

    def on_broken_pipe(self) -> None:
        self.quiet = True
        silence(sys.stdout)


class Screen:
    """Standard output and error of one command."""

    def __init__(self, *, as_json: bool) -> None:
        self.as_json = as_json
        file = sys.stderr if as_json else sys.stdout
        # A character that the terminal's encoding lacks must not end a run.
        for stream in (sys.stdout, sys.stderr):
            if hasattr(stream, "reconfigure"):
                stream.reconfigure(errors="replace")
        self._console = _Console(file=file, highlight=False, markup=False, emoji=False)

    def say(self, text: str) -> None:
        """A line: wrapped at words on a terminal, whole in a pipe."""
        self._console.print(text, soft_wrap=not self._console.is_terminal)

    def tell(self, text: str) -> None:
        """A sentence, wrapped at words everywhere."""
        self._print(text)

    def warn(self, text: str) -> None:
        """A line on standard error, while a command goes on."""
        _write(text)

    def command(self, text: str) -> None:
        """A command, whole however long it is: to be copied."""
        self._console.print(text, soft_wrap=True)

    @property
    def width(self) -> int:
        """Characters a line: the width of the terminal, 80 in a pipe."""
        return self._console.width

    def head(self, title: str) -> None:
        """A title above a table, in lines as wide as the screen; not with JSON."""
        from hetsched.report.tables import folded

        if not self.as_json:
            for line in folded(title, self.width):
                self._console.print(Text(line, style="bold"), soft_wrap=True)

    def show(self, table: RenderableType) -> None:
        """A table; not with JSON, which holds the same numbers."""
        if not self.as_json:
            self._print(table)

    def report(self, blocks: Iterable[RenderableType]) -> None:
        """Sentences and tables, one after the other."""
        for block in blocks:
            if isinstance(block, str):
                self.tell(block)
            else:
                self.show(block)

    def _print(self, block: RenderableType) -> None:
        if self._console.is_terminal:
            self._console.print(block)
            return
        with self._console.capture() as captured:
            self._console.print(block)
        # Padding to the table's width is of no use in a file.
        self._console.print("\n".join(line.rstrip() for line in captured.get().splitlines()), soft_wrap=True)

    def give(self, value: dict[str, Any], written: Sequence[str] | None = None) -> None:
        """The end of a command: a line for each file that was `written`, and the JSON object if that is wanted."""
        for path in written or ():
            self.say(f"wrote {path}")
        if not self.as_json:
            return
        value = value if written is None else {**value, "written": written}
        text = json.dumps(value, indent=2, allow_nan=False, ensure_ascii=False)
        try:
            _write_all(sys.stdout, f"{text}\n")
        except BrokenPipeError:
            silence(sys.stdout)
