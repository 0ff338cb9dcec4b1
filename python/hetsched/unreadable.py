"""What reading and writing files can raise where they are not what they should be."""

from __future__ import annotations

import polars as pl

__all__ = ["MALFORMED", "UNREADABLE"]

UNREADABLE = (
    OSError,
    ValueError,
    OverflowError,
    RecursionError,
    pl.exceptions.PolarsError,
    pl.exceptions.PanicException,
)
"""What the system, parsers and polars raise: a name that no file can have is a ValueError, a number beyond all types an
OverflowError, brackets in thousands of brackets a RecursionError, and a damaged file can make polars panic."""

MALFORMED = (*UNREADABLE, TypeError, LookupError, AttributeError, EOFError, MemoryError, RuntimeError)
"""The same of a file whose content is taken apart here: parts of it are missing, or of another type than they were."""
