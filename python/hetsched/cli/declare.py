"""Options and arguments of verbs: declared once, given as text, read into values.

A verb's parameters, and the fields of its groups of options, are annotated: ``nodes: Annotated[int | None,
option("--nodes", "N", "How many.", read=whole(1))] = None``. Groups with declared parameters of their own, such as the
options of a run, need no annotations. `as_command` reads all texts before the verb is called and collects the faults,
so that those of a whole command line are reported at once.
"""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, is_dataclass
from typing import Annotated, Any, get_args, get_type_hints

import typer

from hetsched.checks import Faults
from hetsched.cli.terminal import Screen, noted
from hetsched.params import Declared, Parameter, parameters_of

MACHINE, LOG, RUN, OUTPUT = "Machine", "Log", "Run", "Output"
"""Panels of the help that several verbs have."""

Reader = Callable[[Faults, str, str], Any]
"""From a collector of faults, an option's name and its text to a value."""

Completion = Callable[..., Iterable[Any]]


@dataclass(frozen=True)
class Option:
    """One option or argument: its name in messages, its help in typer's form, its kind of text, and its reader."""

    name: str
    shown: Any
    kind: Any
    read: Reader | None


def option(
    names: str,
    metavar: str,
    doc: str,
    panel: str | None = None,
    *,
    read: Reader | None = None,
    complete: Completion | None = None,
    is_list: bool = False,
) -> Option:
    """An option with a value; further spellings stand behind its name, and `is_list` lets it be given several times."""
    name, *others = names.split()
    # Brackets would be taken for markup.
    words = doc.replace("[", r"\[")
    shown = typer.Option(name, *others, metavar=metavar, help=words, autocompletion=complete, rich_help_panel=panel)
    return Option(name, shown, list[str] if is_list else str, read)


def choice(name: str, known: Sequence[str], doc: str, panel: str | None = None, *, metavar: str = "") -> Option:
    """An option whose value is one of a few names."""
    return option(name, metavar or "|".join(known), doc, panel, read=one_of(known), complete=completing(known))


def flag(name: str, doc: str, panel: str | None = None) -> Option:
    """An option without a value."""
    return Option(name, typer.Option(name, metavar="", help=doc, rich_help_panel=panel), bool, None)


def argument(
    metavar: str, doc: str, *, read: Reader | None = None, complete: Completion | None = None, is_list: bool = False
) -> Option:
    """A value known by its place; with `is_list` several, at least one."""
    shown = typer.Argument(metavar=metavar, help=doc, show_default=False, autocompletion=complete)
    return Option(metavar.strip("[]"), shown, list[str] if is_list else str, read)


def completing(known: Iterable[str]) -> Completion:
    """Names that begin like what was typed, for the shell."""
    return lambda incomplete: [name for name in known if name.startswith(incomplete)]


def one_of(known: Sequence[str]) -> Reader:
    """Reader of one of the `known` names."""

    def read(faults: Faults, option: str, text: str) -> str:
        faults.choice(option, text, known)
        return text

    return read


_BARE = "true"
"""The value of an option that may stand without one."""


def _flag_or(known: Sequence[str]) -> Reader:
    """Reader of an option that may stand without a value: true, or one of the `known` words."""

    def read(faults: Faults, option: str, text: str) -> bool | str:
        if text in (_BARE, "false"):
            return text == _BARE
        faults.choice(option, text, known)
        return text

    return read


def with_values(arguments: Sequence[str], group: Any) -> list[str]:
    """Arguments in which options that may stand without a value have one: ``--bound LOG`` is ``--bound=true LOG``."""
    words = {_derived(one).name: one.known for one in parameters_of(group).values() if one.kind is bool and one.known}
    following = [*arguments, ""][1:]
    return [
        f"{given}={_BARE}" if given in words and after not in (*words[given], _BARE, "false") else given
        for given, after in zip(arguments, following, strict=True)
    ]


def whole(low: int, high: int | None = None) -> Reader:
    """Reader of whole numbers; without `high`, of 31 bits."""

    def read(faults: Faults, option: str, text: str) -> int | None:
        try:
            value = int(text)
        except ValueError:
            value = None
        if value is None or (high is None and value < low):
            faults.add(option, text, f"a whole number, at least {low}")
        else:
            faults.whole(option, value, low=low, high=2**31 - 1 if high is None else high)
        return value

    return read


def number(unit: str, low: float | None = None, high: float = math.inf) -> Reader:
    """Reader of numbers; without `low`, their range is the library's business."""

    def read(faults: Faults, option: str, text: str) -> float | None:
        try:
            value = float(text)
        except ValueError:
            # 300W is 300, but 3kW is not 3.
            digits = text.rstrip("WwSs").rstrip()
            example = digits if digits.replace(".", "", 1).isdigit() else "200"
            faults.add(option, text, f"{unit} as a plain number, such as {example}")
            return None
        if low is not None:
            faults.number(option, value, low=low, high=high)
        return value

    return read


def as_command(verb: Callable[..., None]) -> Callable[..., None]:
    """A verb as typer takes it: its groups of options one by one, all as text, and the options of every verb.

    Its parameter `screen` is the output of the command, and `faults` holds those of its options: a verb adds what does
    not fit together, and raises them all.
    """

    @functools.wraps(verb)
    def called(*, as_json: bool, debug: bool, **given: Any) -> None:
        del debug
        faults = Faults()
        _made(verb, {**given, "screen": Screen(as_json=as_json), "faults": faults}, faults)

    shown = [*_texts(verb), *_texts(_of_every_verb)]
    called.__signature__ = inspect.Signature(shown)  # type: ignore[attr-defined]
    called.__annotations__ = {one.name: one.annotation for one in shown}
    return called


def _of_every_verb(
    *,
    as_json: Annotated[bool, flag("--json", "One JSON object on standard output, and nothing else.", OUTPUT)] = False,
    debug: Annotated[bool, flag("--debug", "Show where an error was raised.", OUTPUT)] = False,
) -> None:
    """Take the options of every verb."""


def keys_of(group: type) -> dict[str, str]:
    """Options of a group by the keys that they have in a file: ``idle_w`` for ``--idle-w``."""
    return {_key(one): one.name for _, one in _options(group)}


def given_in(group: Any) -> dict[str, Any]:
    """Values of a group that are not their defaults, by the names of their options."""
    own = ((name, declared, default) for name, declared, default in _parameters(type(group)))
    return {declared.name: getattr(group, name) for name, declared, default in own if getattr(group, name) != default}


def group_of(group: type, given: Mapping[str, Any], faults: Faults) -> Any:
    """A group from values by their keys in a file; options without one have their defaults.

    Numbers and texts are read like those of a command line; flags are true or false.
    """
    texts: dict[str, Any] = {}
    for name, declared in _options(group):
        key, default = _key(declared), _defaults(group)[name]
        value = given.get(key)
        if declared.kind is bool:
            if value is not None and not isinstance(value, bool):
                faults.add(declared.name, value, "true or false")
            # A flag counts as given where it differs from what holds without it.
            texts[name] = isinstance(value, bool) and value is not default
        elif isinstance(value, bool) and name in _switches(group):
            texts[name] = str(value).lower()
        elif value is None or not isinstance(value, str | int | float) or isinstance(value, bool):
            if value is not None:
                faults.add(declared.name, value, "a number or a text")
            texts[name] = None
        else:
            text = value if isinstance(value, str) else repr(value)
            texts[name] = text.split(",") if declared.kind == list[str] else text
    return _made(group, texts, faults)


def _options(group: type) -> Iterator[tuple[str, Option]]:
    """Options of a group and of the groups in it, by the names of their parameters."""
    for name, declared, _ in _parameters(group):
        if isinstance(declared, Option):
            yield name, declared
        elif is_dataclass(declared):
            yield from _options(declared)  # type: ignore[arg-type]


def _switches(group: Any) -> set[str]:
    """Options of a group that may stand without a value."""
    found: set[str] = set()
    for _, declared, _ in _parameters(group):
        if is_dataclass(declared):
            found |= _switches(declared)
    if issubclass(group, Declared):
        found |= {name for name, one in parameters_of(group).items() if one.kind is bool and one.known}
    return found


def _defaults(group: type) -> dict[str, Any]:
    """Defaults of a group and of the groups in it."""
    found: dict[str, Any] = {}
    for name, declared, default in _parameters(group):
        found |= {name: default} if isinstance(declared, Option) else _defaults(declared)
    return found


def _key(declared: Option) -> str:
    return declared.name.removeprefix("--").removeprefix("no-").replace("-", "_")


def _parameters(thing: Any) -> Iterator[tuple[str, Any, Any]]:
    """The parameters of a verb or a group: name, option or group of its own, and default."""
    if inspect.isclass(thing) and issubclass(thing, Declared):
        declared: Any = thing
        for name, parameter in parameters_of(declared).items():
            if parameter.take is None:
                yield name, _derived(parameter), parameter.default
        return
    hints = get_type_hints(thing, include_extras=True)
    for name, one in inspect.signature(thing).parameters.items():
        options = [extra for extra in get_args(hints[name]) if isinstance(extra, Option)]
        yield name, options[0] if options else hints[name], one.default


def _derived(parameter: Parameter) -> Option:
    """The option of a declared parameter: a flag is named for what it changes, a number for its unit."""
    name = f"--{parameter.name.replace('_', '-')}"
    if parameter.kind is bool and parameter.default:
        return flag(name.replace("--", "--no-"), f"Do not {parameter.doc[:1].lower()}{parameter.doc[1:]}", RUN)
    if parameter.kind is bool and parameter.known:
        return option(name, f"[{'|'.join(parameter.known)}]", parameter.doc, RUN, read=_flag_or(parameter.known))
    if parameter.kind is bool:
        return flag(name, parameter.doc, RUN)
    if parameter.known:
        return choice(name, parameter.known, parameter.doc, RUN)
    if parameter.kind is int:
        read = whole(int(parameter.low), None if math.isinf(parameter.high) else int(parameter.high))
    else:
        read = number(parameter.unit or "a value", parameter.low, parameter.high)
    return option(name, (parameter.unit or parameter.name)[0].upper(), parameter.doc, RUN, read=read)


def _texts(thing: Any) -> Iterator[inspect.Parameter]:
    """The options of a verb or a group as parameters that take their texts."""
    for name, declared, default in _parameters(thing):
        if isinstance(declared, Option):
            text = _text_of(default, declared)
            annotation = Annotated[declared.kind | None if text is None else declared.kind, declared.shown]  # type: ignore[valid-type]
            yield inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=text, annotation=annotation)
        elif is_dataclass(declared):
            yield from _texts(declared)


def _text_of(default: Any, declared: Option) -> Any:
    """A default as its text, which the help shows; a flag counts as not given."""
    if declared.kind is bool:
        return False
    if isinstance(default, int | float) and not isinstance(default, bool):
        return f"{default:.12g}"
    return default or None


def _made(thing: Any, given: Mapping[str, Any], faults: Faults) -> Any:
    """A group, or a verb called, with the values of the options that were given."""
    values = {}
    for name, declared, default in _parameters(thing):
        if isinstance(declared, Option):
            values[name] = _value(declared, given[name], default, faults)
        else:
            values[name] = _made(declared, given, faults) if is_dataclass(declared) else given[name]
    return thing(**values)


def _value(declared: Option, text: Any, default: Any, faults: Faults) -> Any:
    """The value of an option; its default where none was given, or a faulty one, which is noted."""
    if declared.kind is bool:
        return text is not default
    if text is None or declared.read is None:
        return default if text is None else text
    own, value = Faults(), None
    with noted(own):
        value = declared.read(own, declared.name, text)
    faults.extend(own)
    return value if not own.found else None if default is inspect.Parameter.empty else default
