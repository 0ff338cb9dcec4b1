"""A generator's parameters: what each means, and how its value is taken, strictly and with all faults at once."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from hetsched.checks import Faults
from hetsched.workload.generators.cpu_gpu_mix import MIX_RANGE, cpu_gpu_mix
from hetsched.workload.generators.distributions import settled
from hetsched.workload.generators.mixes import mix_of, mix_text, shares_of, shares_text, sizes_of

__all__ = ["APPS", "JOBS", "NODES", "SEED", "WALLTIME_FACTOR", "Parameter", "as_text", "shown_text", "taken"]


@dataclass(frozen=True)
class Parameter:
    """One parameter of a generator.

    Parameters
    ----------
    name
        As the function takes it.
    doc
        What it is.
    kind
        ``"number"``, ``"whole"``, ``"text"``, ``"runtime"`` (a distribution), ``"mix"``, ``"cpu-gpu-mix"``,
        ``"shares"`` (of applications), ``"sizes"`` (shares of node counts).
    unit
        Of its value; empty if it has none.
    low, high
        Range of numbers, both ends included.
    absent
        What None means; empty where a value is needed.
    """

    name: str
    doc: str
    kind: str = "number"
    unit: str = ""
    low: float = 0.0
    high: float = math.inf
    absent: str = ""

    @property
    def range(self) -> str:
        """What is taken, in words."""
        words = _FORMS.get(self.kind, "")
        if self.kind in ("number", "whole"):
            # An end that nobody comes near says nothing.
            bounds = f"from {self.low:g}" + (f" to {self.high:,.10g}" if self.high < 1e6 else "")
            words = f"{'a whole number' if self.kind == 'whole' else 'a number'} {bounds}"
        return words + (f"; none: {self.absent}" if self.absent else "")

    def settle(self, value: object, faults: Faults) -> Any:
        """The value in the form the generator works with; what is wrong with it is noted.

        Parameters
        ----------
        value
            As given in Python; texts of numbers are not numbers.
        faults
            Notes what is not allowed.
        """
        if value is None and self.absent:
            return None
        before = len(faults.found)
        settled_value = _SETTLE[self.kind](self, value, faults)
        return None if len(faults.found) > before else settled_value

    def from_text(self, text: str, faults: Faults) -> Any:
        """The value as it stands on a command line; ``none`` where None may stand.

        Parameters
        ----------
        text
            As given.
        faults
            Notes a text that is no number where one is needed.
        """
        if self.absent and text == "none":
            return None
        if self.kind not in ("number", "whole"):
            return text
        try:
            return int(text) if self.kind == "whole" else float(text)
        except ValueError:
            faults.add(self.name, text, self.range)
            return None


_FORMS = {
    "text": "text",
    "runtime": "seconds or a distribution",
    "cpu-gpu-mix": MIX_RANGE,
    "mix": "COUNT APP NODES RUNTIME; COUNT APP NODES RUNTIME; ...",
    "shares": "APP:SHARE,APP:SHARE,...",
    "sizes": "NODES:SHARE,NODES:SHARE,...",
}


def _whole(parameter: Parameter, value: object, faults: Faults) -> object:
    high = int(parameter.high) if math.isfinite(parameter.high) else 2**64 - 1
    faults.whole(parameter.name, value, low=int(parameter.low), high=high)
    return int(value) if isinstance(value, numbers.Integral) else None


def _number(parameter: Parameter, value: object, faults: Faults) -> object:
    faults.number(parameter.name, value, low=parameter.low, high=parameter.high)
    return float(value) if isinstance(value, numbers.Real) else None


def _text(parameter: Parameter, value: object, faults: Faults) -> object:
    if not isinstance(value, str) or not value:
        faults.add(parameter.name, value, "text")
    return value


_SETTLE: dict[str, Callable[[Parameter, Any, Faults], object]] = {
    "whole": _whole,
    "number": _number,
    "text": _text,
    "runtime": lambda parameter, value, faults: settled(value, parameter.name, faults),
    "cpu-gpu-mix": lambda parameter, value, faults: cpu_gpu_mix(value, parameter.name, faults),
    "mix": lambda parameter, value, faults: mix_of(value, parameter.name, faults),
    "shares": lambda parameter, value, faults: shares_of(value, parameter.name, faults),
    "sizes": lambda parameter, value, faults: sizes_of(value, parameter.name, faults),
}


def taken(parameters: tuple[Parameter, ...], given: Mapping[str, object], faults: Faults | None = None) -> Any:
    """All values in the form the generator works with, by name.

    Parameters
    ----------
    parameters
        Of the generator.
    given
        A value for each.
    faults
        Where to note faults, for who wants to look for more before they are raised; None: they are raised here.

    Raises
    ------
    ConfigError
        With every fault.

    Examples
    --------
    >>> taken((NODES, JOBS), {"nodes": 0, "jobs": 2.5})
    Traceback (most recent call last):
    hetsched.errors.ConfigError: nodes: found `0`, expected a whole number between 1 and 2147483647
    jobs: found `2.5`, expected a whole number between 1 and 100000000
    """
    collected = Faults() if faults is None else faults
    values = {parameter.name: parameter.settle(given[parameter.name], collected) for parameter in parameters}
    if faults is None:
        collected.check()
    return values


def as_text(value: object) -> object:
    """A value as a report, a header or JSON holds it: numbers, text or None.

    Examples
    --------
    >>> as_text({"hpcg": 0.5, "stream": 0.5}), as_text(3), as_text(None)
    ('hpcg:0.5,stream:0.5', 3, None)
    """
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, Mapping):
        return shares_text(value)
    if isinstance(value, tuple):
        return mix_text(value)
    return str(value)


def shown_text(value: object) -> str:
    """A value as people read it, and as a command line takes it.

    Examples
    --------
    >>> shown_text(10.0), shown_text(None), shown_text("exponential:600")
    ('10', 'none', 'exponential:600')
    """
    plain = as_text(value)
    return "none" if plain is None else f"{plain:.12g}" if isinstance(plain, float) else str(plain)


NODES = Parameter("nodes", "nodes of the machine the workload is made for", "whole", "nodes", 1, 2**31 - 1)
JOBS = Parameter("jobs", "how many jobs", "whole", "jobs", 1, 100_000_000)
SEED = Parameter("seed", "all chance comes from it", "whole", "", 0, 2**64 - 1)
WALLTIME_FACTOR = Parameter(
    "walltime_factor",
    "requested time over run time",
    low=1.0,
    high=1e6,
    absent="no job asks for a time",
)

APPS = Parameter("apps", "shares of applications", "shares", absent="unknown")
