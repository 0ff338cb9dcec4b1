"""What to say where jobs on slow nodes were killed before their work was done, lest their energy be taken as saved."""

from __future__ import annotations

from hetsched.errors import WorkWarning
from hetsched.result.concerns import Concern

__all__ = ["lost_work", "percent"]

_MUCH_LOST_RATIO = 0.01
"""Of the started node-seconds, what may be lost without a word."""


def lost_work(killed: int, completed_work_ratio: float) -> Concern | None:
    """That work was lost which walltimes for nominal speed would have left to do; None if it is next to nothing.

    Parameters
    ----------
    killed
        How many jobs were killed.
    completed_work_ratio
        As in `Result.summary`.

    Examples
    --------
    >>> print(lost_work(3, 0.53))
    jobs killed before their work was done: 3, and 47 % of the started node-seconds lost; energy is lower by as much \
work as was not done, and walltimes="stretch" gives jobs the time they need on slower nodes
    >>> lost_work(1, 0.995) is None
    True
    """
    lost_ratio = 1.0 - completed_work_ratio
    if lost_ratio <= _MUCH_LOST_RATIO:
        return None
    return Concern(
        WorkWarning,
        "jobs killed before their work was done",
        f"{killed:,}, and {percent(lost_ratio)} of the started node-seconds lost",
        "energy is lower by as much work as was not done, "
        'and walltimes="stretch" gives jobs the time they need on slower nodes',
    )


def percent(ratio: float) -> str:
    """A share with two significant digits.

    Examples
    --------
    >>> percent(0.4723), percent(0.0634), percent(0.00071), percent(1.0)
    ('47 %', '6.3 %', '0.071 %', '100 %')
    """
    return f"{100 * ratio:.0f} %" if ratio >= 0.0995 else f"{100 * ratio:.2g} %"
