"""Calls of the engine that are broken off when they take too long."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from typing import TypeVar

from hetsched.checks import shown
from hetsched.errors import ConfigError

Given = TypeVar("Given")
Answer = TypeVar("Answer")

_AGAIN_S = 1.0
"""Seconds between signals: an object of a policy may have caught what the first one raised."""


class _Overdue(BaseException):
    """Raised in the call, past the `except Exception` of anybody's policy."""


def called_within(seconds: float | None, call: Callable[[int, Given], Answer], t_us: int, given: Given) -> Answer:
    """The answer of the engine; TimeoutError if it has none after so many seconds.

    The engine looks for signals now and then, as for Ctrl-C, and takes back what it has done when a handler raises.
    """
    if seconds is None:
        return call(t_us, given)
    if threading.current_thread() is not threading.main_thread():
        raise ConfigError([("within_s", shown(seconds), "None outside the main thread, the only one with signals")])
    answers: list[Answer] = []
    is_under_way = True

    def overdue(*_: object) -> None:
        # With an answer the engine has taken the step, which stands.
        if is_under_way and not answers:
            raise _Overdue

    before = signal.signal(signal.SIGALRM, overdue)
    try:
        signal.setitimer(signal.ITIMER_REAL, seconds, _AGAIN_S)
        # One call of C, in which no handler runs between the engine's return and the place of its answer.
        answers.extend(map(call, (t_us,), (given,)))
    except _Overdue:
        is_under_way = False
        raise TimeoutError(f"no decision after {seconds:g} s: the step was broken off") from None
    finally:
        is_under_way = False
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    return answers[0]
