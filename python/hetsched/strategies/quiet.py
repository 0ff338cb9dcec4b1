"""Standard output kept clear of what a library prints past Python."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

_ONE_AT_A_TIME = Lock()


@contextmanager
def unheard() -> Iterator[None]:
    """What C code prints meanwhile goes nowhere: HiGHS 1.8 tells of a repaired solution whatever it is asked."""
    if os.name != "posix":
        yield
        return
    library = ctypes.CDLL(None)
    with _ONE_AT_A_TIME:
        library.fflush(None)
        try:
            kept = os.dup(1)
        except OSError:  # closed: nothing can be heard
            yield
            return
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        try:
            yield
        finally:
            library.fflush(None)
            os.dup2(kept, 1)
            os.close(nowhere)
            os.close(kept)
