"""`Noisy`: predictions that are wrong by so much."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from hetsched.chance import stream
from hetsched.config import Faults, plain

if TYPE_CHECKING:
    from hetsched.platform import VariationTable

__all__ = ["Noisy"]


class Noisy:
    """A predictor that knows the actual watts and is off by a normal error, one for each application and node.

    Every prediction is the actual watts times ``1 + e``, e normal with mean 0 and standard deviation `error_ratio`,
    and at least 0. An application's errors depend on the seed and its name alone: another application in the table,
    or more nodes, do not change them.

    Parameters
    ----------
    error_ratio
        Standard deviation of the relative error, 0 or more; 0.1 = 10 %.
    seed
        Of the draws, 0 or more.

    Examples
    --------
    >>> import hetsched as hs
    >>> actual = hs.VariationTable(["hpcg"], power_w=np.full((1, 10_000), 200.0))
    >>> error = Noisy(error_ratio=0.1, seed=1).table(actual).power_w / 200.0 - 1
    >>> bool(abs(error.mean()) < 0.003 and abs(error.std() - 0.1) < 0.003)
    True
    """

    def __init__(self, error_ratio: float = 0.1, *, seed: int = 0) -> None:
        self.error_ratio = error_ratio
        self.seed = seed

    def table(self, actual: VariationTable) -> VariationTable:
        """The predicted table.

        Parameters
        ----------
        actual
            What the nodes draw, in watts or as factors.

        Returns
        -------
        VariationTable
            Of the same applications, nodes, time factors and cap.

        Raises
        ------
        ConfigError
            If `error_ratio` or `seed` cannot be.
        """
        faults = Faults()
        error_ratio, seed = plain(self.error_ratio), plain(self.seed)
        faults.number("error_ratio", error_ratio, low=0.0)
        faults.whole("seed", seed, low=0, high=2**64 - 1)
        faults.check()
        draws = np.array([stream(seed, f"power.noisy.{app}").standard_normal(actual.nodes) for app in actual.apps])
        factor = np.maximum(1.0 + error_ratio * draws, 0.0)
        powers: dict[str, Any] = {
            name: values * factor
            for name, values in (("power_w", actual.power_w), ("power_ratio", actual.power_ratio))
            if values is not None
        }
        # Of the same class as the one it was made from.
        return type(actual)(actual.apps, **powers, time_ratio=actual.time_ratio, cap_w=actual.cap_w)

    def __repr__(self) -> str:
        return f"Noisy(error_ratio={plain(self.error_ratio)!r}, seed={plain(self.seed)!r})"
