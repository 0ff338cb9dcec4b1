"""`Normal`: how watts or time factors spread over nodes, as a mean and a standard deviation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from hetsched.checks import Faults

__all__ = ["Normal", "Spread", "checked_spreads"]


@dataclass(frozen=True)
class Normal:
    """A normal distribution of watts, or of time factors.

    Parameters
    ----------
    mean
        Watts, or a factor.
    sd
        Standard deviation in the same unit, at least 0.

    Examples
    --------
    >>> Normal(220.0, sd=11.0) == Normal.relative(220.0, sd_ratio=0.05)
    True
    >>> Normal.of_range(107.0, 124.0)
    Normal(mean=115.5, sd=2.5)
    """

    mean: float
    sd: float

    @classmethod
    def relative(cls, mean: float, sd_ratio: float) -> Normal:
        """With a standard deviation that is a share of the mean."""
        return cls(mean, mean * sd_ratio)

    @classmethod
    def of_range(cls, low: float, high: float, *, width_sd: float = 6.8) -> Normal:
        """With the mean halfway between two ends that are `width_sd` standard deviations apart.

        Parameters
        ----------
        low, high
            The smallest and the largest value that was seen.
        width_sd
            How many standard deviations lie between them; 6.8 is what is expected of about 1,750 values.
        """
        return cls((low + high) / 2, (high - low) / width_sd)


Spread: TypeAlias = Normal | tuple[float, float]


def checked_spreads(given: Mapping[tuple[str, str], Spread], faults: Faults) -> dict[tuple[str, str], Normal]:
    """The spreads by application and component; notes what is none."""
    if not given:
        faults.add("components", "none", "mean and standard deviation of at least one application")
    made = {}
    for (app, component), spread in given.items():
        name = f"{component}[{app}]"
        try:
            made[app, component] = normal = spread if isinstance(spread, Normal) else Normal(*spread)
        except TypeError:
            faults.add(name, spread, "mean and standard deviation")
            made[app, component] = Normal(0.0, 0.0)
            continue
        faults.number(f"{name}.mean", normal.mean, low=0.0, high=1e6)
        faults.number(f"{name}.sd", normal.sd, low=0.0, high=1e6)
    return made
