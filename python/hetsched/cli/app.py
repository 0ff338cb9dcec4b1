"""The command line as a whole: its verbs, what is common to them, and how a command ends."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from typing import Annotated, Any

import typer

from hetsched.cli.compare import compare
from hetsched.cli.demo import demo
from hetsched.cli.faults import INTERRUPTED, ended
from hetsched.cli.generate import generate
from hetsched.cli.policies import policies
from hetsched.cli.power import HELP as POWER_HELP
from hetsched.cli.power import VERBS as POWER_VERBS
from hetsched.cli.reproduce import reproduce
from hetsched.cli.simulate import simulate

VERBS: dict[str, Callable[..., Any]] = {
    "simulate": simulate,
    "compare": compare,
    "generate": generate,
    "policies": policies,
    "reproduce": reproduce,
    "demo": demo,
}
"""Every verb: its name and the function whose parameters are its options."""

FAMILIES: dict[str, tuple[str, dict[str, Callable[..., Any]]]] = {"power": (POWER_HELP, POWER_VERBS)}
"""Verbs that share a first word: that word, what they are about, and the verbs."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command."""
    given = list(sys.argv[1:] if arguments is None else arguments)

    def command() -> Any:
        # Made here, as it takes time in which Ctrl-C may come.
        return typer.main.get_command(_app()).main(args=given, prog_name="hetsched", standalone_mode=False)

    code = ended(command, debug="--debug" in given)
    if code == INTERRUPTED and arguments is None:
        # Threads may be in the middle of something slow whose result is not wanted any more.
        os._exit(code)
    return code


_HELP = {"help_option_names": ["-h", "--help"]}


def _app() -> typer.Typer:
    app = typer.Typer(
        help="Replay a supercomputer's job log under scheduling policies and meter the energy of every node.",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        context_settings=_HELP,
    )
    app.callback()(_root)
    for name, verb in VERBS.items():
        app.command(name)(verb)
    for name, (about, verbs) in FAMILIES.items():
        family = typer.Typer(help=about, no_args_is_help=True, context_settings=_HELP)
        for own_name, verb in verbs.items():
            family.command(own_name)(verb)
        app.add_typer(family, name=name)
    return app


def _tell_version(wanted: bool) -> None:
    if wanted:
        from hetsched import __version__  # noqa: PLC0415 -- the library, which this alone needs nothing else of

        typer.echo(f"hetsched {__version__}")
        raise typer.Exit


def _root(
    version: Annotated[
        bool,
        typer.Option("--version", metavar="", help="Show the version and exit.", callback=_tell_version, is_eager=True),
    ] = False,
) -> None:
    del version
