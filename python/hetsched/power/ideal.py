"""`Ideal`: predictions that are right."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hetsched.platform import VariationTable

__all__ = ["Ideal"]


class Ideal:
    """A predictor that knows the actual watts; the best that any model could do.

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

    def __repr__(self) -> str:
        return "Ideal()"
