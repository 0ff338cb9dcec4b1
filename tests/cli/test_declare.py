"""Options of a verb: each text is read once into a value, and all faults are reported together."""

from dataclasses import dataclass, field
from typing import Annotated

import pytest
import typer

from hetsched.checks import Faults
from hetsched.cli.declare import argument, as_command, choice, flag, number, option, whole
from hetsched.cli.terminal import Screen
from hetsched.errors import ConfigError
from hetsched.params import Declared
from hetsched.params import flag as flag_parameter
from hetsched.params import whole as whole_parameter


@dataclass(frozen=True)
class Limits(Declared):
    kill: bool = field(default=True, metadata=flag_parameter("Kill jobs."))
    most_jobs: int = field(default=12_345_678, metadata=whole_parameter(1, 2**31, "Most jobs at once."))


@dataclass(frozen=True)
class Machine:
    limits: Limits
    nodes: Annotated[int | None, option("--nodes", "N", "Number [of] nodes.", read=whole(1))] = None
    idle_w: Annotated[float, option("--idle-w", "W", "Idle draw.", read=number("watts", 0.0, 1e6))] = 100.0


seen = []


def verb(
    screen: Screen,
    faults: Faults,
    name: Annotated[str, argument("NAME", "Its name.")],
    *,
    machine: Machine,
    kind: Annotated[str, choice("--kind", ("small", "large"), "Kind.")] = "small",
    is_loud: Annotated[bool, flag("--loud", "Be loud.")] = False,
    settings: Annotated[tuple[str, ...], option("--set", "P=V", "Settings.", is_list=True)] = (),
) -> None:
    """Do something."""
    assert isinstance(screen, Screen)
    faults.check()
    seen.append((name, machine, kind, is_loud, list(settings)))


def run(*arguments):
    app = typer.Typer(add_completion=False)
    app.command("verb")(as_command(verb))
    seen.clear()
    typer.main.get_command(app).main(args=list(arguments), standalone_mode=False)
    return seen[0]


def test_texts_become_values():
    machine = Machine(Limits(kill=False, most_jobs=5), 3, 1.5)
    given = ("a", "--nodes", "3", "--idle-w", "1.5", "--no-kill", "--most-jobs", "5", "--kind", "large", "--loud")
    assert run(*given, "--set", "x=1", "--set", "y=2") == ("a", machine, "large", True, ["x=1", "y=2"])


def test_what_is_not_given_has_its_default():
    assert run("a") == ("a", Machine(Limits(), None, 100.0), "small", False, [])


def test_faults_of_all_options_are_reported_together():
    given = ("a", "--nodes", "0", "--idle-w", "3kW", "--kind", "lage", "--most-jobs", "x")
    with pytest.raises(ConfigError) as found:
        run(*given)
    assert str(found.value).splitlines() == [
        "--most-jobs: found `x`, expected a whole number, at least 1",
        "--nodes: found `0`, expected a whole number, at least 1",
        "--idle-w: found `3kW`, expected watts as a plain number, such as 200",
        "--kind: found `lage`, expected one of small, large; did you mean `large`?",
    ]


def test_help_shows_brackets_defaults_and_the_options_of_every_verb(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    with pytest.raises((SystemExit, IndexError)):
        run("--help")
    said = " ".join(capsys.readouterr().out.split())
    for words in ("Number [of] nodes.", "[default: 12345678]", "Do not kill jobs.", "--json", "--debug"):
        assert words in said
