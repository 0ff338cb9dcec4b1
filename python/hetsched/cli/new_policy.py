"""``hetsched new policy``: the first lines of a policy of one's own, and its test."""

from __future__ import annotations

import importlib.util
import keyword
from importlib.resources import files
from pathlib import Path
from typing import Annotated

from hetsched.checks import Faults, exists
from hetsched.cli.declare import argument, choice
from hetsched.cli.named_policies import BASE
from hetsched.cli.terminal import Screen

TEMPLATES = files("hetsched") / "data" / "templates"
"""A file for each role, with one part that works, and one with its test; NAME and CLASS in them are replaced."""

_SUFFIX, _TEST = ".py.txt", "test_"
ROLES = tuple(sorted(one.name.removesuffix(_SUFFIX) for one in TEMPLATES.iterdir() if not one.name.startswith(_TEST)))
"""Roles that there is a template of."""

ON_A_BUDGET = ("allocator", "monitor")
"""Roles that there are only under a power budget."""


def policy(
    screen: Screen,
    faults: Faults,
    name: Annotated[str, argument("NAME", "Name of the file and, as MyOwn for my_own, of the class.")],
    *,
    role: Annotated[str, choice("--role", ROLES, f"What it decides: {', '.join(ROLES)}.", metavar="ROLE")] = "order",
) -> None:
    """Write a policy of your own, small and working, and a test of it."""
    from hetsched.files import write_whole

    written = {f"{prefix}{name}.py": f"{prefix}{role}{_SUFFIX}" for prefix in ("", _TEST)}
    _check(faults, name, list(written))
    kind = "".join(word.capitalize() for word in name.split("_"))
    for file, template in written.items():
        text = (TEMPLATES / template).read_text(encoding="utf-8")
        write_whole(Path(file), text.replace("NAME", name).replace("CLASS", kind).encode())
        screen.say(f"wrote {file}")
    compare = _comparison(role, f"{name}.py:{kind}")
    screen.say(f"test it:     pytest {_TEST}{name}.py")
    screen.say(f"compare it:  {compare}")
    summary = {"name": name, "role": role, "class": kind}
    screen.give({"summary": summary, "compare": compare, "written": list(written)})


def _comparison(role: str, part: str) -> str:
    """The command that compares a part with what it would replace."""
    if role not in ON_A_BUDGET:
        # Where nodes are alike it matters little which of them a job gets, and sleep needs to know what boots cost.
        needed = {"placement": " --table TABLE.csv", "sleep": " --platform PLATFORM.toml"}.get(role, "")
        return f"hetsched compare TRACE{needed} --policies {BASE},{part}"
    budget = "budget_w=WATTS"
    return f"hetsched compare TRACE --platform PLATFORM.toml --policies power-slurm:{budget},{part}:{budget}"


def _check(faults: Faults, name: str, written: list[str]) -> None:
    """Refuse an invalid name, and to overwrite anything."""
    if not name.isidentifier() or not name.isascii() or keyword.iskeyword(name) or not name.strip("_"):
        faults.add("NAME", name, "a name of letters, digits and underscores, as Python takes it for a module")
    elif not any(map(exists, written)) and importlib.util.find_spec(name) is not None:
        faults.add("NAME", name, "another name: Python has a module of this one")
    for file in written:
        if exists(file):
            faults.add("NAME", name, f"another name: {file} is there, and is not overwritten")
    faults.check()
