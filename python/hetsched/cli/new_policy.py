"""``hetsched new policy``: the first lines of a policy of one's own, and its test."""

from __future__ import annotations

import importlib.util
import keyword
from pathlib import Path
from typing import Annotated

import typer

from hetsched.checks import Faults, did_you_mean, exists
from hetsched.cli import options as opt
from hetsched.cli.new_templates import ON_A_BUDGET, TEMPLATES, text_of_test
from hetsched.cli.own_policy import BASE
from hetsched.cli.terminal import Screen
from hetsched.errors import ConfigError


def policy(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of the file and, in capitals, of the class.")],
    *,
    role: Annotated[
        str,
        typer.Option(
            "--role",
            metavar="ROLE",
            help=f"What it decides: {', '.join(TEMPLATES)}.",
            autocompletion=lambda incomplete: [role for role in TEMPLATES if role.startswith(incomplete)],
        ),
    ] = "order",
    as_json: opt.Json = False,
    debug: opt.Debug = False,
) -> None:
    """Write a policy of your own, small and working, and a test of it."""
    del debug
    from hetsched.files import write_whole  # noqa: PLC0415

    screen = Screen(as_json=as_json)
    files = [Path(f"{name}.py"), Path(f"test_{name}.py")]
    _check(name, role, files)
    kind = "".join(word.capitalize() for word in name.split("_"))
    texts = [TEMPLATES[role], text_of_test(role)]
    for file, text in zip(files, texts, strict=True):
        write_whole(file, text.replace("NAME", name).replace("CLASS", kind).encode())
        screen.say(f"wrote {file}")
    compare = _comparison(role, f"{files[0]}:{kind}")
    screen.say(f"test it:     pytest {files[1]}")
    screen.say(f"compare it:  {compare}")
    summary = {"name": name, "role": role, "class": kind}
    screen.give({"summary": summary, "compare": compare, "written": [str(file) for file in files]})


def _comparison(role: str, part: str) -> str:
    """The command that compares a part with what it would replace."""
    if role not in ON_A_BUDGET:
        # Where nodes are alike it matters little which of them a job gets, and sleep needs to know what boots cost.
        needed = {"placement": " --table TABLE.csv", "sleep": " --platform PLATFORM.toml"}.get(role, "")
        return f"hetsched compare TRACE{needed} --policies {BASE},{part}"
    budget = "budget_w=WATTS"
    return f"hetsched compare TRACE --platform PLATFORM.toml --policies power-slurm:{budget},{part}:{budget}"


def _check(name: str, role: str, files: list[Path]) -> None:
    """Refuse an invalid name or role, and to overwrite anything."""
    faults = Faults()
    if role not in TEMPLATES:
        faults.add("--role", role, f"one of {', '.join(TEMPLATES)}{did_you_mean(role, TEMPLATES)}")
    if not name.isidentifier() or not name.isascii() or keyword.iskeyword(name) or not name.strip("_"):
        faults.add("NAME", name, "a name of letters, digits and underscores, as Python takes it for a module")
    elif not any(map(exists, files)) and importlib.util.find_spec(name) is not None:
        faults.add("NAME", name, "another name: Python has a module of this one")
    for file in files:
        if exists(file):
            faults.add("NAME", name, f"another name: {file} is there, and is not overwritten")
    if faults.found:
        raise ConfigError(faults.found)
