"""Distributions of run lengths: a few kinds, each with its mean, written as objects or as short texts."""

from __future__ import annotations

import math
import numbers
from abc import ABC, abstractmethod
from dataclasses import astuple, dataclass, field, fields
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from hetsched.checks import Faults, did_you_mean, listed, plain, typed
from hetsched.errors import ConfigError
from hetsched.naming import named_in
from hetsched.params import Parameter, Record

Floats = npt.NDArray[np.float64]

LONGEST_S = 1e9
"""The longest run length that a distribution is made of, seconds."""


def _above_0(high: float, unit: str = "") -> Parameter:
    """A number above 0."""

    def take(given: Any, name: str, faults: Faults) -> float:
        value = plain(given)
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if not is_number or not 0 < value <= high:
            faults.note(name, typed(value), f"a number above 0 and at most {high:g}")
            return high
        return float(value)

    return Parameter(unit=unit, take=take)


_SECONDS = _above_0(LONGEST_S, "seconds")


@named_in("hetsched.workload")
@dataclass(frozen=True)
class Distribution(Record, ABC):
    """Run lengths in seconds. Use one of its kinds: `Fixed`, `Uniform`, `LogUniform`, `Exponential`, `LogNormal`.

    Each has `mean_s`, its expectation.

    Raises
    ------
    ConfigError
        If any number is invalid; lists all of them.

    Examples
    --------
    >>> Uniform(5, 2)
    Traceback (most recent call last):
    hetsched.errors.ConfigError: low_s: found `5`, expected a number at most the high end, 2
    """

    kind: ClassVar[str] = ""
    form: ClassVar[str] = ""
    """Its text, such as ``uniform:LOW:HIGH``."""

    if TYPE_CHECKING:
        # Where it is a field, an inherited property would be taken for its default.
        @property
        def mean_s(self) -> float:
            """Its expectation, seconds."""

    @abstractmethod
    def draw(self, rng: np.random.Generator, count: int) -> Floats:
        """Draw so many run lengths, seconds."""

    def __str__(self) -> str:
        return ":".join([self.kind, *(f"{value:g}" for value in astuple(self))])


@named_in("hetsched.workload")
@dataclass(frozen=True)
class Fixed(Distribution):
    """Every run takes `length_s` seconds.

    Examples
    --------
    >>> Fixed(600.0).draw(np.random.default_rng(0), 2).tolist()
    [600.0, 600.0]
    """

    length_s: float = field(metadata=_SECONDS)
    kind: ClassVar[str] = "fixed"
    form: ClassVar[str] = "fixed:SECONDS"

    @property
    def mean_s(self) -> float:
        """Its expectation, seconds."""
        return self.length_s

    def draw(self, rng: np.random.Generator, count: int) -> Floats:
        """Draw the same length so many times."""
        del rng
        return np.full(count, self.length_s)

    def __str__(self) -> str:
        return f"{self.length_s:g}"


@named_in("hetsched.workload")
@dataclass(frozen=True)
class Uniform(Distribution):
    """Every length from `low_s` to `high_s` is as likely as every other.

    Examples
    --------
    >>> Uniform(130.0, 151.0).mean_s
    140.5
    """

    low_s: float = field(metadata=_SECONDS)
    high_s: float = field(metadata=_SECONDS)
    kind: ClassVar[str] = "uniform"
    form: ClassVar[str] = "uniform:LOW:HIGH"

    @property
    def mean_s(self) -> float:
        """Its expectation, seconds."""
        return (self.low_s + self.high_s) / 2

    def _check(self, values: dict[str, Any], faults: Faults) -> None:
        if not faults.found and values["low_s"] > values["high_s"]:
            faults.note("low_s", typed(self.low_s), f"a number at most the high end, {values['high_s']:g}")

    def draw(self, rng: np.random.Generator, count: int) -> Floats:
        """Draw so many run lengths, seconds."""
        return rng.uniform(self.low_s, self.high_s, count)


@named_in("hetsched.workload")
@dataclass(frozen=True)
class LogUniform(Uniform):
    """The logarithm is uniform: as many runs between 1 and 10 minutes as between 10 and 100.

    Examples
    --------
    >>> round(LogUniform(1.0, math.e).mean_s, 6) == round(math.e - 1, 6)
    True
    """

    kind: ClassVar[str] = "loguniform"
    form: ClassVar[str] = "loguniform:LOW:HIGH"

    @property
    def mean_s(self) -> float:
        """Its expectation, seconds."""
        if self.high_s == self.low_s:
            return self.low_s
        return (self.high_s - self.low_s) / math.log(self.high_s / self.low_s)

    def draw(self, rng: np.random.Generator, count: int) -> Floats:
        """Draw so many run lengths, seconds."""
        return np.exp(rng.uniform(math.log(self.low_s), math.log(self.high_s), count))


@named_in("hetsched.workload")
@dataclass(frozen=True)
class Exponential(Distribution):
    """Runs without memory, `mean_s` seconds on average.

    Examples
    --------
    >>> str(Exponential(600.0))
    'exponential:600'
    """

    mean_s: float = field(metadata=_SECONDS)
    kind: ClassVar[str] = "exponential"
    form: ClassVar[str] = "exponential:MEAN"

    def draw(self, rng: np.random.Generator, count: int) -> Floats:
        """Draw so many run lengths, seconds."""
        return rng.exponential(self.mean_s, count)


@named_in("hetsched.workload")
@dataclass(frozen=True)
class LogNormal(Distribution):
    """The logarithm is normal with standard deviation `sigma`; the lengths are `mean_s` seconds on average.

    Examples
    --------
    >>> str(LogNormal(mean_s=3600.0, sigma=1.4))
    'lognormal:3600:1.4'
    """

    mean_s: float = field(metadata=_SECONDS)
    sigma: float = field(metadata=_above_0(5.0))
    kind: ClassVar[str] = "lognormal"
    form: ClassVar[str] = "lognormal:MEAN:SIGMA"

    def draw(self, rng: np.random.Generator, count: int) -> Floats:
        """Draw so many run lengths, seconds."""
        return rng.lognormal(math.log(self.mean_s) - self.sigma**2 / 2, self.sigma, count)


DISTRIBUTIONS: dict[str, type[Distribution]] = {
    one.kind: one for one in (Fixed, Uniform, LogUniform, Exponential, LogNormal)
}
"""Every kind of distribution by its name."""

_EXPECTED = f"seconds, or one of {listed(one.form for one in DISTRIBUTIONS.values())}"


def distribution_of(value: object, parameter: str, faults: Faults) -> Distribution:
    """A distribution from what a user gave: one, a number of seconds, or a text such as ``"uniform:130:151"``."""
    chosen = _chosen(value)
    if not isinstance(chosen, str):
        return chosen
    faults.add(parameter, value, chosen)
    return Fixed(1.0)


def _chosen(value: object) -> Distribution | str:
    """The distribution, or what would have been one."""
    if isinstance(value, Distribution):
        return value
    if isinstance(value, bool) or not isinstance(value, str | numbers.Real):
        return _EXPECTED
    kind, *texts = value.split(":") if isinstance(value, str) and ":" in value else ("fixed", value)
    if kind not in DISTRIBUTIONS:
        return _EXPECTED + did_you_mean(kind, DISTRIBUTIONS)
    try:
        return _made(DISTRIBUTIONS[kind], [float(text) for text in texts])
    except (ValueError, OverflowError):
        return _EXPECTED


def _made(kind: type[Distribution], figures: list[float]) -> Distribution | str:
    """The distribution of these numbers, or what they should have been, in the words of its form."""
    words = dict(zip((field.name for field in fields(kind)), kind.form.split(":")[1:], strict=True))
    if len(figures) != len(words):
        return kind.form
    try:
        return kind(*figures)
    except ConfigError as error:
        said = [f"{words[fault.path]} {fault.expected.removeprefix('a number ')}" for fault in error.details]
        return f"{listed(said)}, as in {kind.form}"
