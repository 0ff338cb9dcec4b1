"""Fair share in plain Python: what each user has used, as the integral says it, and who is next by that.

The integral of 2^(-(now - s) / half-life) over the time in which jobs ran is that of 2^(s / half-life), times what is
the same for all users: they stand in the same order by either.

Exact where nothing decays, and with fifty digits where it does, so that two users have used as much as each other only
if they did.
"""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal, localcontext
from functools import cache
from math import inf
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from plain_jobs import Job

DIGITS = 50
SAME = Decimal("1e-12")
"""Relative difference up to which two users have used the same."""


Runs = dict[int, list[tuple[int, int, int]]]
"""By job, from when until when it ran, and on how many slots."""


def ranks(jobs: Iterable[Job], runs: Runs, half_life: float) -> dict[str | None, int]:
    """Ranks of users, from the one that has used least; those that have used as much have the same."""
    with localcontext() as context:
        context.prec = DIGITS
        by_user: dict[str | None, Decimal] = {}
        for job in jobs:
            used = (slots * _grown(begin, end, half_life) for begin, end, slots in runs[job.row])
            by_user[job.user] = by_user.get(job.user, Decimal(0)) + sum(used, Decimal(0))
        found: dict[str | None, int] = {}
        rank, last = 0, None
        for user, amount in sorted(by_user.items(), key=lambda one: one[1]):
            rank += int(last is not None and amount - last > SAME * amount)
            found[user], last = rank, amount
        return found


def _grown(begin: int, end: int, half_life: float) -> Decimal:
    """The integral of 2^(s / half-life), but for a factor that is the same for all."""
    return Decimal(end - begin) if half_life == inf else _power(end, half_life) - _power(begin, half_life)


@cache
def _power(time: int, half_life: float) -> Decimal:
    return Decimal(2) ** (Decimal(time) / Decimal(str(half_life)))
