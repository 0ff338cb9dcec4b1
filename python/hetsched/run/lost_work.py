"""What to say where jobs were killed before their work was done, lest the energy they left be taken as saved."""

from __future__ import annotations

from hetsched.errors import WorkWarning
from hetsched.run.concerns import Concern

__all__ = ["lost_work", "percent"]

_MUCH_LOST_RATIO = 0.01
"""Of the started node-seconds, what may be lost without a word."""


_REMEDIES = {
    True: 'walltimes="stretch" gives jobs the time they need on slower nodes',
    False: "kill_at_walltime=False lets jobs run on, as those did that overran their walltime in the log",
}
"""By whether it is slow nodes that made jobs run into their walltimes."""


def lost_work(killed: int, completed_work_ratio: float, *, on_slow_nodes: bool) -> Concern | None:
    """That work was lost with jobs that were killed; None if it is next to nothing.

    Parameters
    ----------
    killed
        How many jobs were killed.
    completed_work_ratio
        As in `Result.summary`.
    on_slow_nodes
        Whether nodes are slower than the walltimes were meant for.

    Examples
    --------
    >>> print(lost_work(3, 0.53, on_slow_nodes=True))
    jobs killed before their work was done: 3, and 47 % of the started node-seconds lost; energy is lower by as much \
work as was not done, and walltimes="stretch" gives jobs the time they need on slower nodes
    >>> lost_work(1, 0.995, on_slow_nodes=True) is None
    True
    """
    lost_ratio = 1.0 - completed_work_ratio
    if lost_ratio <= _MUCH_LOST_RATIO:
        return None
    return Concern(
        WorkWarning,
        "jobs killed before their work was done",
        f"{killed:,}, and {percent(lost_ratio)} of the started node-seconds lost",
        f"energy is lower by as much work as was not done, and {_REMEDIES[on_slow_nodes]}",
    )


def percent(ratio: float) -> str:
    """A share with two significant digits.

    Examples
    --------
    >>> percent(0.4723), percent(0.0634), percent(0.00071), percent(1.0)
    ('47 %', '6.3 %', '0.071 %', '100 %')
    """
    return f"{100 * ratio:.0f} %" if ratio >= 0.0995 else f"{100 * ratio:.2g} %"
