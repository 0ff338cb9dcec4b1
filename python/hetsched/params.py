"""Declared parameters: allowed values, unit and meaning, written once where the parameter stands.

A field of a dataclass has them as its metadata, ``count: int = field(metadata=whole(1, 9))``; a parameter of a function
in its annotation, ``count: Annotated[int, whole(1, 9)] = 1``. Checks, ranges in words and texts of a command line read
them there, by `parameters_of`.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import MISSING, Field, dataclass, field, fields, is_dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, get_args

from hetsched.checks import Faults, did_you_mean, is_name, listed, plain, typed
from hetsched.errors import ConfigError

if TYPE_CHECKING:
    from typing_extensions import Self


MAX_NODE_W = 1e6
"""Most watts of a node, or of a job on each of its nodes."""

ASSUMED_W = {"idle_w": 100.0, "tdp_w": 400.0}
"""Watts of a node that are assumed where none are given."""


@dataclass(frozen=True)
class Parameter(Mapping[str, "Parameter"]):
    """One parameter; as the metadata of a dataclass's field it holds itself.

    Parameters
    ----------
    doc
        Meaning, in a line.
    unit
        Unit of its value; empty if it has none.
    low, high
        Range of numbers, both ends included.
    absent
        Meaning of None; empty where a value is needed. A parameter with the default None takes None in any case.
    form
        Allowed values in words, if they are more than a number or one of `known`.
    take
        Function from a value, the parameter's name and a collector of faults to the value in its plain form.
    known
        Words that it takes.
    kind
        Type of a plain value: int, float, bool or str.
    name, default
        Name and default, which `parameters_of` fills in.
    """

    doc: str = ""
    unit: str = ""
    low: float = 0.0
    high: float = math.inf
    absent: str = ""
    form: str = ""
    take: Callable[[Any, str, Faults], Any] | None = None
    known: tuple[str, ...] = ()
    kind: type = str
    name: str = ""
    default: Any = field(default=inspect.Parameter.empty, compare=False)

    def __getitem__(self, key: str) -> Parameter:
        if key != _KEY:
            raise KeyError(key)
        return self

    def __iter__(self) -> Iterator[str]:
        return iter((_KEY,))

    def __len__(self) -> int:
        return 1

    @property
    def is_number(self) -> bool:
        """True if its values are whole or other numbers."""
        return self.take is None and self.kind in (int, float)

    @property
    def range(self) -> str:
        """Allowed values, in words."""
        words = self.form or (f"one of {listed(self.known)}" if self.known else "text")
        if self.kind is bool:
            words = f"true or false, or one of {listed(self.known)}" if self.known else "true or false"
        if self.is_number:
            # An end that no value comes near says nothing.
            bounds = f"from {self.low:g}" + (f" to {self.high:,.10g}" if self.high < 1e6 else "")
            words = f"{'a whole number' if self.kind is int else 'a number'} {bounds}"
        return words + (f"; none: {self.absent}" if self.absent else "")

    def settle(self, value: Any, faults: Faults) -> Any:
        """The value in its plain form; a fault is noted, and gives None."""
        if value is None and (self.absent or self.default is None):
            return None
        before = len(faults.found)
        if self.take is not None:
            value = self.take(value, self.name, faults)
        else:
            value = plain(value)
            self._check(value, faults)
        if len(faults.found) > before:
            return None
        return self.kind(value) if self.is_number else value

    def _check(self, value: Any, faults: Faults) -> None:
        if self.kind is bool and (isinstance(value, bool) or value in self.known):
            return
        if self.kind is bool and self.known:
            faults.add(self.name, value, self.range + did_you_mean(str(value), self.known))
        elif self.known:
            if not isinstance(value, str) or value not in self.known:
                faults.add(self.name, value, replace(self, absent="").range + did_you_mean(str(value), self.known))
        elif self.kind is int:
            faults.whole(
                self.name, value, low=int(self.low), high=2**64 - 1 if math.isinf(self.high) else int(self.high)
            )
        elif self.kind is float:
            faults.number(self.name, value, low=self.low, high=self.high)
        elif self.kind is bool:
            faults.flag(self.name, value)
        elif not is_name(value):
            faults.note(self.name, typed(value), self.form or "text")

    def from_text(self, text: str, faults: Faults) -> Any:
        """The value of a text from a command line or a file, its range unchecked; ``none`` where None may stand."""
        if self.absent and text == "none":
            return None
        try:
            if self.kind is bool:
                return text if text in self.known else _FLAGS[text]
            return self.kind(text) if self.is_number else text
        except (ValueError, KeyError):
            faults.add(self.name, text, self.range)
            return None


_KEY = "parameter"
_FLAGS = {"true": True, "false": False}


def whole(low: int, high: int, doc: str = "", unit: str = "", *, absent: str = "") -> Parameter:
    """A whole number."""
    return Parameter(doc, unit, low, high, absent, kind=int)


def number(low: float, high: float = math.inf, doc: str = "", unit: str = "", *, absent: str = "") -> Parameter:
    """A finite number."""
    return Parameter(doc, unit, low, high, absent, kind=float)


def flag(doc: str = "") -> Parameter:
    """True or false."""
    return Parameter(doc, kind=bool)


def flag_or(words: Any, doc: str = "") -> Parameter:
    """True, false, or one of some words: those of a `Literal`."""
    return Parameter(doc, known=get_args(words), kind=bool)


def choice(words: Any, doc: str = "", *, form: str = "", absent: str = "") -> Parameter:
    """One of some words: those of a `Literal`, such as in `hetsched.typing`."""
    return Parameter(doc, known=get_args(words), form=form, absent=absent)


def word(form: str = "a name", doc: str = "") -> Parameter:
    """A text that is not empty."""
    return Parameter(doc, form=form)


@cache
def parameters_of(declared: Any) -> dict[str, Parameter]:
    """Parameters of a dataclass or a function by name, in the order in which it has them."""
    if is_dataclass(declared):
        own = [one for one in fields(declared) if _KEY in one.metadata]
        return {one.name: replace(one.metadata[_KEY], name=one.name, default=_default(one)) for one in own}
    found = {}
    for name, one in inspect.signature(declared, eval_str=True).parameters.items():
        kind, *said = get_args(one.annotation) or (None,)
        for parameter in (extra for extra in said if isinstance(extra, Parameter)):
            found[name] = replace(parameter, name=name, kind=(get_args(kind) or (kind,))[0], default=one.default)
    return found


def _default(one: Field[Any]) -> Any:
    return inspect.Parameter.empty if one.default is MISSING else one.default


def settled(declared: Any, given: Mapping[str, Any], faults: Faults) -> dict[str, Any]:
    """Values of the parameters of a dataclass or a function in their plain form; faults are noted, and give None."""
    return {name: one.settle(given[name], faults) for name, one in parameters_of(declared).items()}


@dataclass(frozen=True)
class _Declaring:
    """Base of frozen dataclasses with declared fields."""

    def _settled(self, faults: Faults) -> dict[str, Any]:
        values = settled(type(self), vars(self), faults)
        self._check(values, faults)
        return values

    def _check(self, values: dict[str, Any], faults: Faults) -> None:
        """Note values that are allowed by themselves, but not together; may settle some that depend on others."""


@dataclass(frozen=True)
class Declared(_Declaring):
    """Base of those that are checked together with other arguments of a call."""

    def checked(self, faults: Faults) -> Self:
        """The same with plain values; as it is where something is invalid, which is noted."""
        before = len(faults.found)
        values = self._settled(faults)
        return self if len(faults.found) > before else replace(self, **values)


@dataclass(frozen=True)
class Record(_Declaring):
    """Base of those that refuse invalid values, all at once, and hold plain ones."""

    def __post_init__(self) -> None:
        faults = Faults()
        values = self._settled(faults)
        faults.check()
        for name, value in values.items():
            object.__setattr__(self, name, value)


@dataclass(frozen=True)
class Entry(Record):
    """Base of records that are in files, as tables of their parameters."""

    _kind: ClassVar[str] = "an entry"
    """Name of the class in messages, such as ``"a queue"``."""

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], *, path: str = "") -> Self:
        """One made of its keyword arguments.

        Parameters
        ----------
        data
            As `to_dict` gives it.
        path
            Where it is in its file, for messages.

        Raises
        ------
        ConfigError
            If a key is unknown or missing, or a value is invalid; lists all of them.
        """
        faults = Faults(path)
        faults.unknown_keys(data, [one.name for one in fields(cls)])
        *first, last = needed = [one.name for one in fields(cls) if one.default is MISSING]
        for name in needed:
            if name not in data:
                words = " and ".join([", ".join(first), last])
                faults.add(name, "nothing", f"a value; {cls._kind} needs {words}")
        faults.check()
        try:
            return cls(**data)
        except ConfigError as error:
            raise error.mapped(lambda fault: fault.under(path)) from None


_Entry = TypeVar("_Entry", bound=Entry)


def entries_of(cls: type[_Entry], given: Iterable[Any], path: str, faults: Faults) -> list[_Entry]:
    """Entries, made of dictionaries where they are such; notes what is invalid."""
    made: list[_Entry] = []
    for position, one in enumerate(given):
        place = f"{path}[{position}]"
        if not isinstance(one, cls | Mapping):
            faults.add(place, one, f"{cls._kind}, or a dictionary of its parameters")
            continue
        try:
            made.append(cls.from_dict(one, path=place) if isinstance(one, Mapping) else one)
        except ConfigError as error:
            faults.extend(error)
    return made


def plain_text(value: object) -> str:
    """A number, text or None as people read it, and as a command line takes it."""
    return "none" if value is None else f"{value:.12g}" if isinstance(value, float) else str(value)
