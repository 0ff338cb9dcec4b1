"""From a log's own column names to hetsched's."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from hetsched.checks import did_you_mean, listed
from hetsched.errors import TraceError

__all__ = ["renamed"]


def renamed(frame: pl.DataFrame, columns: Mapping[str, str] | None, source: str) -> pl.DataFrame:
    """The frame with the file's column names replaced, columns that are not named kept.

    Parameters
    ----------
    frame
        As read.
    columns
        From the file's name to hetsched's: ``{"SubmitTime": "submit_s"}``. None: nothing is renamed.
    source
        The file's name, for messages.

    Raises
    ------
    TraceError
        If the file lacks a column that `columns` names, or two columns would have one name.

    Examples
    --------
    >>> renamed(pl.DataFrame({"t": [0.0], "n": [1]}), {"t": "submit_s"}, "log.csv").columns
    ['submit_s', 'n']
    """
    if not columns:
        return frame
    for theirs, ours in columns.items():
        if theirs not in frame.columns:
            hint = did_you_mean(theirs, frame.columns)
            if ours in frame.columns:
                hint = f"; columns= goes from the file's name to hetsched's: {{'{ours}': '{theirs}'}}"
            raise TraceError(
                file=source,
                field=f"column `{theirs}`",
                found=f"columns {listed(frame.columns)}",
                expected=f"a column `{theirs}` to be read as `{ours}`{hint}",
            )
    names = [columns.get(name, name) for name in frame.columns]
    for name in names:
        if names.count(name) > 1:
            both = [theirs for theirs, ours in zip(frame.columns, names, strict=True) if ours == name]
            raise TraceError(
                file=source,
                field=f"column `{name}`",
                found=f"columns {listed(both)} for it",
                expected="one column of that name; rename or drop the other",
            )
    return frame.rename(dict(columns))
