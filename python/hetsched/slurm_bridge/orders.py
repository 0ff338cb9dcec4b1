"""Orders that follow from a reading and the picture: which jobs to let go, and which to hold back again.

They need no memory of what was sent but for the attempt: an order that got lost is seen, and given again.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hetsched.slurm_bridge.picture import Entry, Phase, Picture
from hetsched.slurm_bridge.readings import Reading
from hetsched.slurm_bridge.standing import BAND, GATE, JobKey, SeenJob, Site, Standing, standing_of

TOP = 4_294_967_290
"""The priority of a job that is let go while no other waits for its start; each next one has less than all of those."""

_NAMED_TOP = BAND + (TOP - BAND) // 2
"""The same for named nodes: by the range of its priority a job's names are known for the bridge's."""

MOST_WISH = 1_024
"""Characters of a wish for nodes that Slurm takes."""

_LICENCE = re.compile(r"[A-Za-z0-9_.@+\-]+(:[0-9]+)?")


@dataclass(frozen=True)
class Order:
    """A change of one job in Slurm, as words of scontrol; each may be given again without another effect."""

    key: JobKey
    attempt: int | None
    """The attempt that it lets go; None holds the job back."""
    words: tuple[str, ...]
    decision: int | None = None
    """Number of the decision that it carries out."""

    @property
    def is_release(self) -> bool:
        """True if it lets a job go."""
        return self.attempt is not None


def orders_of(
    picture: Picture,
    reading: Reading,
    site: Site,
    names: Sequence[str],
    sent: Mapping[JobKey, int],
    *,
    named: bool = False,
) -> list[Order]:
    """The orders, those that let go in the order of the decisions; `sent` has the attempts that were let go.

    `named`: jobs are let go for their nodes alone, in place of a wish for them.
    """
    due: list[tuple[int, SeenJob, Entry]] = []
    others, waiting = list[Order | None](), list[int]()
    for job in reading.jobs:
        standing, entry = standing_of(job, site), picture.entries.get(job.key)
        if entry is not None and entry.phase is Phase.DECIDED:
            is_new = standing is Standing.GATED or sent.get(job.key) != entry.attempt
            if standing in (Standing.GATED, Standing.RELEASED) and is_new:
                due.append((entry.decision, job, entry))
            elif standing is Standing.RELEASED:
                waiting.append(job.priority)
        elif standing in (Standing.RELEASED, Standing.REQUEUED):
            others.append(hold_of(job))
    left = Priorities(waiting)
    releases = []
    for _, job, entry in sorted(due, key=lambda one: one[0]):
        own = [names[node] for node in entry.nodes]
        order = release_of(job, own, entry.attempt, entry.decision, left, named=named)
        if order is not None:
            releases.append(order)
    return releases + [order for order in others if order is not None]


class Priorities:
    """Priorities that are left below those of jobs that were let go and have not started.

    They go by what is in Slurm, whichever bridge has let a job go: so a bridge that starts again puts nobody before
    those. When none are left a job is let go once the others have started, or were held back again.
    """

    def __init__(self, waiting: Sequence[int]) -> None:
        self._named = min([one for one in waiting if one <= _NAMED_TOP], default=_NAMED_TOP + 1)
        self._wished = min([one for one in waiting if one > _NAMED_TOP], default=TOP + 1)

    def take(self, *, named: bool) -> int | None:
        """The next priority; None if none is left."""
        if named:
            self._named -= 1
            return self._named if self._named >= BAND else None
        self._wished -= 1
        return self._wished if self._wished > _NAMED_TOP else None


def release_of(
    job: SeenJob,
    nodes: Sequence[str],
    attempt: int,
    decision: int,
    left: Priorities | None = None,
    *,
    named: bool = False,
) -> Order | None:
    """The order that lets a job go, with a wish for its nodes or for these alone.

    None if its licences do not read, or no priority is left.
    """
    own = _others(job)
    if own is None:
        return None
    wish = "|".join(nodes)
    # While a wish is tried, it replaces the job's own constraint, which the nodes might not satisfy.
    if len(wish) > MOST_WISH or job.constraint is not None:
        wish = ""
    is_for_these = bool(named and wish and (is_named(job) or not job.names_nodes))
    priority = (left or Priorities(())).take(named=is_for_these)
    if priority is None:
        return None
    words = (f"ReqNodeList={','.join(nodes)}", "Prefer=") if is_for_these else (f"Prefer={wish}",)
    first = (f"JobId={job.key.id}", f"Licenses={','.join(own)}")
    return Order(job.key, attempt, (*first, *words, f"Priority={priority}"), decision)


def hold_of(job: SeenJob) -> Order | None:
    """The order that gives a job its gate again; None if its licences are no licences."""
    own = _others(job)
    if own is None:
        return None
    words = (f"JobId={job.key.id}", f"Licenses={','.join([*own, f'{GATE}:1'])}", *_no_wish(job))
    return Order(job.key, None, words)


def open_words(job: SeenJob) -> list[tuple[str, ...]]:
    """The commands of scontrol that give a job back: no gate, no wish, and the priority that Slurm computes."""
    own = _others(job)
    lines: list[tuple[str, ...]] = []
    if own is not None and job.asks_for(GATE):
        lines.append(("update", f"JobId={job.key.id}", f"Licenses={','.join(own)}", *_no_wish(job)))
    if job.priority >= BAND:
        lines += [("update", f"JobId={job.key.id}", *_no_wish(job)), ("hold", job.key.id), ("release", job.key.id)]
    return lines


def is_named(job: SeenJob) -> bool:
    """True if a bridge has named the nodes of a job, by its priority."""
    return BAND <= job.priority <= _NAMED_TOP


def _no_wish(job: SeenJob) -> tuple[str, ...]:
    """The words that take a bridge's wish away, and no names of a user's."""
    return ("Prefer=", "ReqNodeList=") if is_named(job) and job.names_nodes else ("Prefer=",)


def _others(job: SeenJob) -> list[str] | None:
    """Its licences but for the gate; None if they do not read, so that nothing else reaches a command."""
    if not all(_LICENCE.fullmatch(one) for one in job.licences):
        return None
    return [one for one in job.licences if one.split(":")[0] != GATE]
