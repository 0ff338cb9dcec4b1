"""States of jobs that have ended: what the record of a shim, or its absence, says of a run."""

from __future__ import annotations

import signal
from dataclasses import dataclass
from typing import Any

from hetsched.live.launchers import Launcher

LOST = "status lost"
"""The reason of a run whose end nobody wrote down."""


_OVER_LIMIT = "its walltime was over"
_KILLED = {
    "walltime": ("timeout", _OVER_LIMIT),
    "power": ("failed", "was killed: the machine drew more than its power budget"),
}
"""States and reasons of runs that a policy killed, as a simulation has them, by the word of the decision."""


def killed_for(why: str) -> tuple[str, str]:
    """State of a run that a policy killed, and its reason."""
    return _KILLED.get(why, ("failed", why or "killed"))


@dataclass(frozen=True)
class Ending:
    """The end of one run of a job."""

    state: str
    """`completed`, `failed`, `timeout` or `cancelled`; `requeued` of a run after which the job waits again."""
    exit_code: int | None = None
    signal: int | None = None
    reason: str = ""
    begin_us: int | None = None
    end_us: int | None = None
    """Instants of the machine's clock since its boot; None if nobody knows them."""
    cpu_s: float | None = None
    max_rss_kb: int | None = None
    left: int = 0
    """Processes of it that could not be killed."""


def ending_of(record: dict[str, Any], launcher: Launcher, *, asked: str | None = None) -> Ending:
    """The end that a shim wrote down; `asked` is the state that ending it on purpose gives."""
    code, by = record["code"], record["signal"]
    if code is not None:
        code, by = launcher.ending(code)
    state, reason = _state(code, by, record["why"], asked)
    return Ending(
        state,
        code,
        by,
        reason,
        record["begin_us"],
        record["end_us"],
        record["cpu_s"],
        record["max_rss_kb"],
        record["left"],
    )


def _state(code: int | None, by: int | None, why: str, asked: str | None) -> tuple[str, str]:
    if why == "timeout":
        return "timeout", _OVER_LIMIT
    if why == "asked":
        return asked or "cancelled", ""
    if why:
        return "failed", why
    if by is not None:
        return "failed", f"ended by {_named(by)}"
    if code:
        return "failed", f"exit code {code}"
    return ("failed", LOST) if code is None else ("completed", "")


def _named(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
