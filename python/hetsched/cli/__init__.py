"""The command `hetsched`: one file a verb, and a row for each in `hetsched.cli.app`.

The library computes; what is here reads options, shows progress and tables, and turns errors into lines and exit codes.
"""

from __future__ import annotations

import _thread
import os
import sys
import time

# As in hetsched itself.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TextIO

__all__ = ["main"]


def __dir__() -> list[str]:
    return sorted(__all__)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; see `hetsched.cli.app.main`, which loads here so that Ctrl-C meanwhile ends as it does later.

    A standard output or error that was closed beforehand (``>&-``) counts as one without a reader.

    Examples
    --------
    >>> main(["--version"])
    hetsched ...
    0
    """
    hook, sys.unraisablehook = sys.unraisablehook, _interrupt_again
    try:
        for descriptor, name in ((1, "stdout"), (2, "stderr")):
            if getattr(sys, name) is None:
                setattr(sys, name, _nowhere(descriptor))
        from hetsched.cli.app import main as run  # what takes time to load must be inside the try

        return run(arguments)
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")
        return 130
    finally:
        sys.unraisablehook = hook


def _interrupt_again(lost: sys.UnraisableHookArgs) -> None:
    """Ctrl-C again, if the first one came in code whose errors Python drops: a callback of imports, a ``__del__``."""
    if lost.exc_type is KeyboardInterrupt:
        _thread.start_new_thread(_interrupt_soon, ())
    else:
        sys.__unraisablehook__(lost)


def _interrupt_soon() -> None:
    time.sleep(0.01)  # until that code is over
    _thread.interrupt_main()


def _nowhere(descriptor: int) -> TextIO:
    """A stream that takes all and keeps nothing, in the place of one that was closed.

    With its number, too: the next file that is opened would get it, and whatever else is written to the stream.
    """
    taken = os.open(os.devnull, os.O_WRONLY)
    if taken != descriptor:
        os.dup2(taken, descriptor)
        os.close(taken)
    return open(descriptor, "w", encoding="utf-8", closefd=False)
