"""The other end of `Processes`: a process that takes calls and answers them until there are no more.

Started by `hetsched.many.processes` with an interpreter of its own, which knows nothing of the user's script: there is
no ``__main__`` to be run twice, and no thread of polars to be lost in a fork.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import traceback
import warnings
from multiprocessing.connection import Connection
from typing import Any


def main(descriptor: int) -> None:
    """Serve until the other side ends: calls come from the socket with this number, answers go there.

    An answer is (value, None, "") or (None, error, its traceback).
    """
    # Ctrl-C is for the process that a user started; it ends this one.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    connection: Connection[Any, Any] = Connection(descriptor)
    # What a run has to say in warnings has been said once, for all of the sweep.
    warnings.simplefilter("ignore")
    while True:
        try:
            function, arguments, keywords = connection.recv()
        except (EOFError, ConnectionResetError):
            return
        try:
            answer: tuple[Any, BaseException | None, str] = (function(*arguments, **keywords), None, "")
        except BaseException as error:  # noqa: BLE001 -- whatever it is, it is reported on the other side
            answer = (None, error, traceback.format_exc())
        _send(connection, answer)


def _send(connection: Connection[Any, Any], answer: tuple[Any, BaseException | None, str]) -> None:
    try:
        connection.send(answer)
    except (BrokenPipeError, ConnectionResetError):
        sys.exit(0)
    except Exception as error:  # noqa: BLE001 -- an error that cannot be pickled is reported by its text
        text = f"{type(answer[1]).__name__}: {answer[1]} ({type(error).__name__} on its way)"
        connection.send((None, RuntimeError(text), answer[2]))


def _end_with_parent() -> None:
    """End at once when standard input does: it does when the process at its other end is no more."""
    while os.read(0, 1):
        pass
    os._exit(1)
