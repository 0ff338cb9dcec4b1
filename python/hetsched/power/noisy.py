"""`Noisy`: predictions that are wrong by so much."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import polars as pl

from hetsched.chance import stream
from hetsched.checks import Faults, plain

if TYPE_CHECKING:
    from hetsched.platform import VariationTable

__all__ = ["Noisy"]

_MOST_W = 1e6


class Noisy:
    """A predictor that knows the actual watts and is off by a normal error, one for each application and node.

    Every prediction is the actual watts times ``1 + e``, e normal with mean 0 and standard deviation `error_ratio`,
    and at least 0. An application's errors depend on the seed and its name alone: another application in the table,
    or more nodes, do not change them.

    Of a log that brings measured draws, each job's own ``power_w`` is known with such an error; jobs that a table has a
    row for have the error of that row and no other. Errors are drawn in the order of ``job_id``, so that the order of
    rows changes none, and jobs of higher ids change none of those before.

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
        seed = self._checked_seed()
        draws = np.array([stream(seed, f"power.noisy.{app}").standard_normal(actual.nodes) for app in actual.apps])
        factor = self._factor(draws)
        powers: dict[str, Any] = {
            name: values * factor
            for name, values in (("power_w", actual.power_w), ("power_ratio", actual.power_ratio))
            if values is not None
        }
        # Of the same class as the one it was made from.
        return type(actual)(actual.apps, **powers, time_ratio=actual.time_ratio, cap_w=actual.cap_w)

    def draws(self, jobs: pl.DataFrame) -> pl.DataFrame:
        """What is known of each job's own draw: its ``power_w`` with an error.

        Parameters
        ----------
        jobs
            With ``job_id`` and ``power_w``, W a node.

        Returns
        -------
        polars.DataFrame
            ``known_w``, a row a job, at most the 1e6 W that a node can draw; null where the job brings none.

        Raises
        ------
        ConfigError
            If `error_ratio` or `seed` cannot be.

        Examples
        --------
        >>> jobs = pl.DataFrame({"job_id": [1, 2], "power_w": [200.0, None]})
        >>> Noisy(error_ratio=0.1, seed=1).draws(jobs)["known_w"].round(1).to_list()
        [201.0, None]
        """
        seed = self._checked_seed()
        errors = np.empty(len(jobs))
        errors[jobs["job_id"].arg_sort()] = stream(seed, "power.noisy.jobs").standard_normal(len(jobs))
        known = pl.col("power_w") * pl.Series(self._factor(errors))
        return jobs.select(known_w=pl.when(pl.col("power_w") > 0).then(known.clip(upper_bound=_MOST_W)))

    def _factor(self, errors: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        factor: npt.NDArray[np.float64] = np.maximum(1.0 + plain(self.error_ratio) * errors, 0.0)
        return factor

    def _checked_seed(self) -> int:
        faults = Faults()
        faults.number("error_ratio", plain(self.error_ratio), low=0.0)
        faults.whole("seed", seed := plain(self.seed), low=0, high=2**64 - 1)
        faults.check()
        return int(seed)

    def __repr__(self) -> str:
        return f"Noisy(error_ratio={plain(self.error_ratio)!r}, seed={plain(self.seed)!r})"
