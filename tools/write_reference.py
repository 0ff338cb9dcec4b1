"""Write the parts of docs/reference that say what the program itself knows.

    python tools/write_reference.py

Such a part stands between the lines ``<!-- generated: NAME -->`` and ``<!-- end -->`` of a page: tables of presets and
parts from the registry of policies, of verbs and options from the command line, of names from docstrings. Where the
last column of a table is called *more*, its cells are written by hand, and are kept row by row.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from types import ModuleType
from typing import Any

import hetsched as hs
from hetsched.cli.app import commands
from hetsched.policy.parts import refused_pairs
from hetsched.policy.slurm_options import OPTIONS, Covered, Ignored, Unsupported
from hetsched.policy.slurm_options import Option as SlurmOption
from hetsched.run.options import RunOptions

REFERENCE = Path(__file__).resolve().parents[1] / "docs" / "reference"
REGION = re.compile(r"(<!-- generated: ([\w -]+) -->\n).*?(?=<!-- end -->)", re.DOTALL)
ROLE_TITLES = {"order": "first comes"}
_CELLS = re.compile(r"(?<!\\)\|")


def written(page: str) -> str:
    """A page with its generated parts as they should be."""

    def region(found: re.Match[str]) -> str:
        kind, *words = found[2].split()
        return f"{found[1]}\n{WRITERS[kind](found[0], *words)}\n"

    return REGION.sub(region, page)


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table in Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    text = "".join(f"| {' | '.join(_escaped(cell) for cell in line)} |\n" for line in lines)
    return (
        text.replace(f"|{' --- |' * len(head)}", f"|{'---|' * len(head)}").replace("|  |", "| |").replace("|  |", "| |")
    )


def _escaped(cell: str) -> str:
    return _CELLS.sub(r"\\|", " ".join(cell.split()))


def _kept(before: str) -> dict[str, str]:
    """Cells of the column *more*, by the first cell of their row."""
    found: dict[str, str] = {}
    has_more = False
    for line in before.splitlines():
        cells = [cell.strip() for cell in _CELLS.split(line)[1:-1]]
        has_more = cells[-1] == "more" or (has_more and bool(cells)) if cells else False
        if has_more and cells[-1] != "more":
            found[_key(cells[0])] = cells[-1].replace(r"\|", "|")
    return found


def _key(cell: str) -> str:
    """The name in a first cell, without what may change behind it."""
    return cell.strip("`").partition("(")[0]


# Policies.


def presets(_before: str) -> str:
    """Every preset with its parts and source."""
    rows = [
        (f"`{one.name}`", _sentence(one.doc), _composition(one.name), one.source) for one in hs.policy.PRESETS.values()
    ]
    return table(["preset", "what it does", "parts", "source"], rows)


def _composition(name: str) -> str:
    """Its parts, each with the parameters that are not the part's own defaults."""
    shown = []
    for role, part in hs.Policy.preset(name).parts.items():
        if part is not None:
            defaults = {one["name"]: one["default"] for one in hs.policy.parts()[role, part["name"]]["parameters"]}
            usual = hs.Policy(**{role: part["name"]}).parts[role]
            own = [f"{key}={_text(part[key])}" for key in defaults if part[key] != (usual or {})[key]]
            shown.append(f"{part['name']} ({', '.join(own)})" if own else str(part["name"]))
    return " / ".join(shown)


def _text(value: Any) -> str:
    return "+".join(value) if isinstance(value, list) else str(value)


def parts(before: str, role: str) -> str:
    """The parts of a role, and below them their parameters."""
    known = {name: part for (of, name), part in hs.policy.parts().items() if of == role}
    more = _kept(before)
    rows = [(f"`{name}`", part["doc"], more.get(name, "")) for name, part in known.items()]
    given = [
        (f"`{name}`", f"`{one['name']}`", one["unit"], f"`{one['default']}`", one["range"], one["doc"])
        for name, part in known.items()
        for one in part["parameters"]
    ]
    heads = ["part", ROLE_TITLES.get(role, "meaning")], ["part", "parameter", "unit", "default", "range", "meaning"]
    texts = [table([*heads[0], "more"], rows)] if any(more.values()) else [table(heads[0], [row[:2] for row in rows])]
    return "\n".join([*texts, *([table(heads[1], given)] if given else [])])


def refusals(_before: str) -> str:
    """Every pair of features that refuse each other, with what an error about it expects."""
    rows = [
        (one, other, f"`{parameter}`", _readable(sentence.partition(", expected ")[2]))
        for one, other, parameter, sentence in refused_pairs()
    ]
    return table(["one", "other", "error at", "expected there"], rows)


def _readable(expected: str) -> str:
    """A sentence about any part rather than one by its name."""
    return expected.replace("backfill `{backfill}`", "that backfill")


# slurm.conf.


def slurm(_before: str, kind: str) -> str:
    """Options of slurm.conf that are covered, not simulated, or without effect, by where they stand."""
    return _SLURM[kind]()


def _covered() -> str:
    rows = [
        (f"`{name}`", _place(place), f"`{one.parameter}`")
        for place, name, one in _slurm_options()
        if isinstance(one, Covered)
    ]
    return table(["option", "given in", "parameter"], rows)


def _not_simulated() -> str:
    rows = [
        (f"`{name}`", _place(place), one.right, one.what.removesuffix(" is").removesuffix(" are"))
        for place, name, one in _slurm_options()
        if isinstance(one, Unsupported)
    ]
    return table(["option", "given in", "no fault", "what is not simulated"], rows)


def _without_effect() -> str:
    found: dict[str, list[str]] = defaultdict(list)
    for place, name, one in _slurm_options():
        if isinstance(one, Ignored):
            found[_place(place)].append(f"`{name}`")
    return table(["stand in", "options"], [(place, ", ".join(names)) for place, names in found.items()])


def _slurm_options() -> Iterator[tuple[str, str, SlurmOption]]:
    for place, rows in OPTIONS.items():
        for name, one in rows.values():
            yield place, name, one


def _place(place: str) -> str:
    return "a line of its own" if place == "machine" else f"`{place}`"


_SLURM = {"covered": _covered, "not-simulated": _not_simulated, "without-effect": _without_effect}


# The command line.


def verbs(_before: str) -> str:
    """Every verb with what it needs."""
    rows = [(f"`{_usage(words, one)}`", _sentence(one.help)) for words, one in commands()]
    return table(["verb", "what it does"], rows)


def _usage(words: str, command: Any) -> str:
    """The words of a command with its arguments, and the options that it cannot do without."""
    given = [one for one in command.params if one.param_type_name == "argument"]
    arguments = [f"{one.metavar}…" if one.nargs < 0 else one.metavar for one in given]
    return " ".join([words, *arguments, *(f"{one.opts[0]} {one.metavar}" for one in _options(command) if one.required)])


def _options(command: Any) -> list[Any]:
    return [one for one in command.params if one.param_type_name == "option"]


@dataclass(frozen=True)
class Option:
    """An option as it is shown: its spellings with its value, its meaning, and its panel."""

    shown: str
    meaning: str
    panel: str

    @staticmethod
    def of(option: Any) -> Option:
        """An option of typer's."""
        names = ", ".join(f"`{name} {option.metavar}`" if option.metavar else f"`{name}`" for name in option.opts)
        default = "" if option.default in (None, "", False) else f" Default: {option.default}."
        meaning = option.help.replace("\\[", "[")
        return Option(names, meaning if "efault:" in meaning else meaning + default, option.rich_help_panel or "")


def options(_before: str) -> str:
    """Every option: those that several verbs have once, then each verb with its own."""
    has: dict[Option, list[str]] = defaultdict(list)
    for words, command in commands():
        for one in _options(command):
            has[Option.of(one)].append(words)
    shared = {option: words for option, words in has.items() if len(words) > 1}
    return "\n".join([*_shared(shared), *_own(shared)])


def _shared(shared: dict[Option, list[str]]) -> Iterator[str]:
    yield "## Options of several verbs\n"
    known = [words for words, _ in commands()]
    for panel in dict.fromkeys(option.panel for option in shared):
        rows = [
            (option.shown, option.meaning, "all" if words == known else ", ".join(words))
            for option, words in shared.items()
            if option.panel == panel
        ]
        yield f"### {panel or 'Others'}\n"
        yield table(["option", "meaning", "verbs"], rows)


def _own(shared: dict[Option, list[str]]) -> Iterator[str]:
    for words, command in commands():
        rows = [(f"`{one.metavar}`", one.help) for one in command.params if one.param_type_name == "argument"]
        own = [one for one in map(Option.of, _options(command)) if one not in shared]
        rows += [(one.shown, one.meaning) for one in own]
        yield f"## {words}\n"
        yield f"`hetsched {_usage(words, command)}`: {_sentence(command.help)}.\n"
        if rows:
            yield table(["option", "meaning"], rows)


# Python.


def names(before: str) -> str:
    """The public names of `hetsched`, functions with their parameters, and what their docstrings open with."""
    more = _kept(before)
    rows = []
    for name in hs.__all__:
        thing = getattr(hs, name)
        shown = f"{name}{_parameters(thing)}" if inspect.isfunction(thing) or inspect.isbuiltin(thing) else name
        rows.append((f"`{shown}`", _opening(thing) if name != "__version__" else "The version", more.get(name, "")))
    return table(["name", "what it is", "more"], rows)


def _parameters(function: Callable[..., Any]) -> str:
    """Parameters with their defaults; the options of a run are dots."""
    try:
        given = list(inspect.signature(function).parameters.values())
    except ValueError:
        return str(getattr(function, "__text_signature__", None) or "(…)")
    run = {one.name for one in fields(RunOptions)}
    is_run = 2 * len(run & {one.name for one in given}) > len(run)
    shown, is_keyword = [], False
    for one in given:
        if one.kind is one.KEYWORD_ONLY and not is_keyword:
            shown.append("*")
            is_keyword = True
        if not (is_run and one.name in run):
            stars = "**" if one.kind is one.VAR_KEYWORD else ""
            default = "" if one.default is one.empty else f"={_value(one.default)}"
            shown.append(f"{stars}{one.name}{default}")
    return f"({', '.join([*shown, *(['…'] if is_run else [])])})"


def _value(default: Any) -> str:
    return f'"{default}"' if isinstance(default, str) else repr(default)


def modules(before: str) -> str:
    """The public modules, and what their docstrings open with."""
    more = _kept(before)
    found = [one for name in dir(hs) if isinstance(one := getattr(hs, name), ModuleType)]
    rows = [(f"`{one.__name__}`", _opening(one), more.get(one.__name__, "")) for one in found]
    return table(["module", "what it has", "more"], rows)


def _opening(thing: Any) -> str:
    """The first sentences of a docstring, as Markdown."""
    text = (inspect.getdoc(thing) or "").partition("\n\n")[0]
    return _sentence(text.replace("``", "`"))


def _sentence(text: str) -> str:
    return " ".join(text.split()).removesuffix(".")


WRITERS: dict[str, Callable[..., str]] = {
    "presets": presets,
    "parts": parts,
    "refusals": refusals,
    "slurm": slurm,
    "verbs": verbs,
    "options": options,
    "names": names,
    "modules": modules,
}


def main() -> int:
    """Write every page that has such a part."""
    for page in sorted(REFERENCE.glob("*.md")):
        before = page.read_text(encoding="utf-8")
        after = written(before)
        if after != before:
            page.write_text(after, encoding="utf-8")
            print(page.relative_to(REFERENCE.parents[1]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
