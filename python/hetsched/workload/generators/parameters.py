"""Parameters that several generators have, and how values of parameters are taken and reported.

``load: Annotated[float, Parameter("offered load", low=0.1)] = 0.7`` says all of a parameter (`hetsched.params`): the
checks of the function, the lists of ``hetsched generate`` and its ``--set`` read it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Annotated, Any

from hetsched.checks import Faults
from hetsched.params import Parameter, plain_text, settled
from hetsched.workload.generators.distributions import Distribution, distribution_of
from hetsched.workload.generators.mixes import mix_text, shares_of, shares_text


def taken(function: Callable[..., Any], given: Mapping[str, Any], faults: Faults | None = None) -> Any:
    """All values of a generator as attributes, in the form it works with.

    Faults are raised here all at once, or left in `faults` to be raised with others; an invalid value is None.
    """
    collected = Faults() if faults is None else faults
    values = settled(function, given, collected)
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
    return plain_text(as_text(value))


def runtime(doc: str) -> Parameter:
    """A parameter that is a distribution of run lengths."""
    return Parameter(doc, "seconds", form="seconds or a distribution", take=distribution_of)


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
