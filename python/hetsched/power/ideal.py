"""`Ideal`: predictions that are right."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from hetsched.platform import VariationTable

__all__ = ["Ideal"]


class Ideal:
    """A predictor that knows the actual watts; the best that any model could do.

    Of a log that brings measured draws it knows each job's own.

    Examples
    --------
    >>> import hetsched as hs
    >>> actual = hs.VariationTable(["hpcg"], power_w=[[200.0, 220.0]])
    >>> Ideal().table(actual) == actual
    True
    """

    def table(self, actual: VariationTable) -> VariationTable:
        """The predicted table.

        Parameters
        ----------
        actual
            What the nodes draw.

        Returns
        -------
        VariationTable
            The same.
        """
        return actual

    def draws(self, jobs: pl.DataFrame) -> pl.DataFrame:
        """What is known of each job's own draw: all of it.

        Parameters
        ----------
        jobs
            With ``power_w``, W a node.

        Returns
        -------
        polars.DataFrame
            ``known_w``, a row a job; null where the job brings none.
        """
        return jobs.select(known_w=pl.when(pl.col("power_w") > 0).then("power_w"))

    def __repr__(self) -> str:
        return "Ideal()"
