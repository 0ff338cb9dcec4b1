"""The command line as a whole: its verbs, what is common to them, and how a command ends."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from importlib import import_module
from keyword import iskeyword
from typing import Annotated, Any

import typer

from hetsched.cli.declare import as_command, with_values
from hetsched.cli.first_screen import show
from hetsched.cli.terminal import INTERRUPTED, begin, ended
from hetsched.run.options import RunOptions

VERBS = (
    "simulate",
    "run",
    "compare",
    "whatif",
    "sweep",
    "report",
    "import",
    "inspect",
    "validate",
    "generate",
    "provision",
    "policies",
    "machines",
    "reproduce",
    "demo",
)
"""Every verb: the name of a module here and of the function in it whose parameters are the options.

A verb that is a word of Python has an underscore behind it there.
"""

FAMILIES = {
    "power": (
        "Learn the draw of each device from counters and measured watts, and predict it.",
        ("fit", "predict", "evaluate"),
    ),
    "slurm": (
        "Watch a running Slurm with a policy, and see what it would do; with --act, have it decide.",
        ("doctor", "conf", "platform", "run", "leave", "sweep", "status"),
    ),
    "new": ("Write a working start of something of your own.", ("policy",)),
}
"""Verbs that share a first word: that word, what they are about, and the verbs, in modules named ``WORD_VERB``."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command."""
    given = list(sys.argv[1:] if arguments is None else arguments)

    begin(given)

    def command() -> Any:
        # Made here, as it takes time in which Ctrl-C may come.
        return _app().main(args=with_values(given, RunOptions), prog_name="hetsched", standalone_mode=False)

    code = ended(command, debug="--debug" in given)
    if code == INTERRUPTED and arguments is None:
        # Threads may be in the middle of something slow whose result is not wanted any more.
        os._exit(code)
    return code


_HELP: dict[str, Any] = {"context_settings": {"help_option_names": ["-h", "--help"]}}


class _Commands(Mapping[str, Any]):
    """Commands by their names, each made, and its module imported, when it is first asked for."""

    def __init__(self, makers: Mapping[str, Callable[[], Any]]) -> None:
        self._makers = makers
        self._made: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._made:
            self._made[name] = self._makers[name]()
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._makers)

    def __len__(self) -> int:
        return len(self._makers)


def _app() -> Any:
    app = typer.Typer(
        help="Replay a supercomputer's job log under scheduling policies and meter the energy of every node.",
        pretty_exceptions_enable=False,
        invoke_without_command=True,
        **_HELP,
    )
    app.callback()(_root)
    group: Any = typer.main.get_command(app)
    verbs = {name: partial(_verb, name, f"hetsched.cli.{name}") for name in VERBS}
    families = {name: partial(_family, name, *family) for name, family in FAMILIES.items()}
    group.commands = _Commands({**verbs, **families})
    return group


def commands() -> Iterator[tuple[str, Any]]:
    """Every command with its words, such as ``power fit``, as typer made it."""
    for name, command in _app().commands.items():
        if name in FAMILIES:
            yield from ((f"{name} {verb}", one) for verb, one in command.commands.items())
        else:
            yield name, command


def _verb(name: str, module: str) -> Any:
    one = typer.Typer(add_completion=False)
    own = "_" if iskeyword(name) else ""
    one.command(name)(as_command(getattr(import_module(f"{module}{own}"), f"{name}{own}")))
    return typer.main.get_command(one)


def _family(word: str, about: str, verbs: Sequence[str]) -> Any:
    group: Any = typer.main.get_group(typer.Typer(name=word, help=about, no_args_is_help=True, **_HELP))
    group.commands = _Commands({name: partial(_verb, name, f"hetsched.cli.{word}_{name}") for name in verbs})
    return group


_EXTRAS = {
    "dask": ["distributed"],
    "gym": ["gymnasium"],
    "models": ["lightgbm"],
    "mpi": ["mpi4py"],
    "plots": ["matplotlib"],
    "report": ["jinja2", "plotly"],
    "slurm": ["dask_jobqueue"],
    "testing": ["hypothesis"],
}
"""Extras of pyproject.toml, and the packages that they install."""


def _tell_version(wanted: bool) -> None:
    if wanted:
        from hetsched.engine import engine

        running = engine()
        with_parts = "" if running.package is None else f", engine of {running.package}"
        typer.echo(f"hetsched {running.module.__version__}{with_parts}")
        typer.echo(", ".join(_build(running.module.__commit__)))
        raise typer.Exit


def _build(commit: str) -> Iterator[str]:
    """The commit that the engine was built of, this Python, and the extras whose packages are installed."""
    from importlib.util import find_spec
    from platform import python_implementation, python_version

    yield f"commit {commit}" if commit else "built from a working copy"
    yield f"{python_implementation()} {python_version()}"
    there = [extra for extra, packages in _EXTRAS.items() if all(map(find_spec, packages))]
    yield f"with {' '.join(there)}" if there else "without extras"


def _root(
    context: typer.Context,
    *,
    version: Annotated[
        bool,
        typer.Option("--version", metavar="", help="Show the version and exit.", callback=_tell_version, is_eager=True),
    ] = False,
) -> None:
    del version
    if context.invoked_subcommand is None:
        show()
