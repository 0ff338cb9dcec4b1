"""A generator's parameters, each written once: in the annotation of the function that takes it.

``load: Annotated[float, Parameter("offered load", low=0.1)] = 0.7`` says its type, meaning, unit, range and default.
The checks of the function, the lists of ``hetsched generate`` and its ``--set`` all read that.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from types import SimpleNamespace
from typing import Annotated, Any, get_args

from hetsched.checks import Faults
from hetsched.workload.generators.distributions import Distribution, settled
from hetsched.workload.generators.mixes import mix_text, shares_of, shares_text


@dataclass(frozen=True)
class Parameter:
    """One parameter of a generator.

    Parameters
    ----------
    doc
        What it is.
    unit
        Of its value; empty if it has none.
    low, high
        Range of numbers, both ends included.
    absent
        What None means; empty where a value is needed.
    form
        How a value is written that is more than a number or a text.
    take
        From such a value, the parameter's name and a collector of faults to what the generator works with.
    name, kind
        The function's name for it, and the type of a plain value; both come from the function.
    """

    doc: str
    unit: str = ""
    low: float = 0.0
    high: float = math.inf
    absent: str = ""
    form: str = ""
    take: Callable[[Any, str, Faults], Any] | None = None
    name: str = ""
    kind: type = str

    @property
    def is_number(self) -> bool:
        """Whether its values are whole or other numbers."""
        return self.take is None and self.kind is not str

    @property
    def range(self) -> str:
        """Allowed values, in words."""
        words = self.form or "text"
        if self.is_number:
            # An end that no value comes near says nothing.
            bounds = f"from {self.low:g}" + (f" to {self.high:,.10g}" if self.high < 1e6 else "")
            words = f"{'a whole number' if self.kind is int else 'a number'} {bounds}"
        return words + (f"; none: {self.absent}" if self.absent else "")

    def settle(self, value: Any, faults: Faults) -> Any:
        """The value in the form the generator works with; what is wrong with it is noted, and gives None."""
        if value is None and self.absent:
            return None
        before = len(faults.found)
        if self.take is not None:
            value = self.take(value, self.name, faults)
        elif self.kind is int:
            high = int(self.high) if math.isfinite(self.high) else 2**64 - 1
            faults.whole(self.name, value, low=int(self.low), high=high)
        elif self.kind is float:
            faults.number(self.name, value, low=self.low, high=self.high)
        elif not isinstance(value, str) or not value:
            faults.add(self.name, value, "text")
        if len(faults.found) > before:
            return None
        return self.kind(value) if self.is_number else value

    def from_text(self, text: str, faults: Faults) -> Any:
        """The value as it stands on a command line; ``none`` where None may stand."""
        if self.absent and text == "none":
            return None
        if not self.is_number:
            return text
        try:
            return self.kind(text)
        except ValueError:
            faults.add(self.name, text, self.range)
            return None


@cache
def parameters_of(function: Callable[..., Any]) -> tuple[Parameter, ...]:
    """A generator's parameters, in the order in which they are listed."""
    found = []
    for name, hint in inspect.get_annotations(function, eval_str=True).items():
        if name != "return":
            kind, parameter = get_args(hint)
            found.append(replace(parameter, name=name, kind=(get_args(kind) or (kind,))[0]))
    return tuple(found)


def taken(function: Callable[..., Any], given: Mapping[str, Any], faults: Faults | None = None) -> Any:
    """All values of a generator as attributes, in the form it works with.

    Faults are raised here all at once, or left in `faults` to be raised with others; an invalid value is None.
    """
    collected = Faults() if faults is None else faults
    values = {one.name: one.settle(given[one.name], collected) for one in parameters_of(function)}
    if faults is None:
        collected.check()
    return SimpleNamespace(**values)


def kind_of(function: Callable[..., Any]) -> str:
    """A generator's name, as in ``generate(name)``."""
    return function.__name__.replace("_", "-")


def as_text(value: object) -> object:
    """A value as a report, a header or JSON holds it: numbers, text or None."""
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, Mapping):
        return shares_text(value)
    return mix_text(value) if isinstance(value, tuple) else str(value)


def shown_text(value: object) -> str:
    """A value as people read it, and as a command line takes it."""
    plain = as_text(value)
    return "none" if plain is None else f"{plain:.12g}" if isinstance(plain, float) else str(plain)


def runtime(doc: str) -> Parameter:
    """A parameter that is a distribution of run lengths."""
    return Parameter(doc, "seconds", form="seconds or a distribution", take=settled)


MOST_JOBS = 100_000_000
MOST_NODES = 2**31 - 1

Apps = Annotated[
    str | Mapping[str, float] | None,
    Parameter("shares of applications", absent="unknown", form="APP:SHARE,APP:SHARE,...", take=shares_of),
]
Jobs = Annotated[int, Parameter("how many jobs", "jobs", 1, MOST_JOBS)]
Nodes = Annotated[int, Parameter("nodes of the machine the workload is made for", "nodes", 1, MOST_NODES)]
Runtime = float | str | Distribution
Seed = Annotated[int, Parameter("all chance comes from it", high=2**64 - 1)]
WalltimeFactor = Annotated[
    float | None, Parameter("requested time over run time", low=1.0, high=1e6, absent="no job asks for a time")
]

# Of every workload that is submitted to a target.
Utilization = Annotated[float, Parameter("share of busy nodes to keep", low=0.01, high=1.0)]
Fluctuation = Annotated[
    float, Parameter("how far the target wanders to both sides, at most to 0 or 1", low=0.0, high=0.5)
]
FluctuationS = Annotated[
    float | None, Parameter("how long it keeps its side", "seconds", 1e-3, 1e9, absent="the mean run length")
]
RampS = Annotated[
    float | None, Parameter("time over which the machine fills", "seconds", 0.0, 1e9, absent="the mean run length")
]
IntervalS = Annotated[float, Parameter("time between two submissions", "seconds", 1e-3, 1e9)]
