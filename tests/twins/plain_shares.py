"""Fair share in plain Python: what each user has used, as the integral says it, and who is next by that.

Exact where nothing decays, and with fifty digits where it does, so that two users have used as much as each other only
if they did.
"""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal, localcontext
from math import inf
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from plain_jobs import Job

DIGITS = 50
SAME = Decimal("1e-12")
"""Relative difference up to which two users have used the same."""


Runs = dict[int, list[tuple[int, int, int]]]
"""By job, from when until when it ran, and on how many slots."""


def ranks(jobs: Iterable[Job], runs: Runs, now: int, half_life: float) -> dict[str | None, int]:
    """Ranks of users, from the one that has used least; those that have used as much have the same."""
    with localcontext() as context:
        context.prec = DIGITS
        by_user: dict[str | None, Decimal] = {}
        for job in jobs:
            # The integral of 2^(-(now - s) / half-life) over the time in which it ran.
            used = (slots * _faded(now - end, now - begin, half_life) for begin, end, slots in runs[job.row])
            by_user[job.user] = by_user.get(job.user, Decimal(0)) + sum(used, Decimal(0))
        found: dict[str | None, int] = {}
        rank, last = 0, None
        for user, amount in sorted(by_user.items(), key=lambda one: one[1]):
            rank += int(last is not None and amount - last > SAME * amount)
            found[user], last = rank, amount
        return found


def _faded(least: int, most: int, half_life: float) -> Decimal:
    """The same over what was from `most` to `least` microseconds ago."""
    if half_life == inf:
        return Decimal(most - least)
    half = Decimal(str(half_life))
    new, old = (Decimal(2) ** (-Decimal(ago) / half) for ago in (least, most))
    return half / Decimal(2).ln() * (new - old)
