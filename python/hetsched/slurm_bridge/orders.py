"""Orders that follow from a reading and the picture: which jobs to let go, and which to hold back again.

They need no memory of what was sent but for the attempt: an order that got lost is seen, and given again.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hetsched.slurm_bridge.jobs import JobKey, SeenJob
from hetsched.slurm_bridge.picture import Phase, Picture
from hetsched.slurm_bridge.readings import Reading
from hetsched.slurm_bridge.standing import BAND, GATE, Site, Standing, standing_of

TOP = 4_294_967_290
"""The priority of the first job that is let go; each next one has one less."""

_HALF = (TOP - BAND) // 2
_NAMED_TOP = BAND + _HALF
"""The priority of the first job that is let go for named nodes: by the range its names are known for the bridge's."""

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
    releases, others = [], []
    for job in reading.jobs:
        standing, entry = standing_of(job, site), picture.entries.get(job.key)
        is_decided = entry is not None and entry.phase is Phase.DECIDED
        if is_decided and entry is not None:
            is_new = standing is Standing.GATED or sent.get(job.key) != entry.attempt
            if standing in (Standing.GATED, Standing.RELEASED) and is_new:
                own = [names[node] for node in entry.nodes]
                order = release_of(job, own, entry.attempt, entry.decision, named=named)
                releases.append((entry.decision, order))
        elif standing in (Standing.RELEASED, Standing.REQUEUED):
            others.append(hold_of(job))
    return [order for _, order in sorted(releases, key=lambda pair: pair[0]) if order is not None] + [
        order for order in others if order is not None
    ]


def release_of(job: SeenJob, nodes: Sequence[str], attempt: int, decision: int, *, named: bool = False) -> Order | None:
    """The order that lets a job go, with a wish for its nodes or for these alone; None if its licences do not read."""
    own = _others(job)
    if own is None:
        return None
    wish = "|".join(nodes)
    # While a wish is tried, it replaces the job's own constraint, which the nodes might not satisfy.
    if len(wish) > MOST_WISH or job.constraint is not None:
        wish = ""
    if named and wish and (is_named(job) or not job.names_nodes):
        words = (f"JobId={job.key.id}", f"Licenses={','.join(own)}", f"ReqNodeList={','.join(nodes)}", "Prefer=")
        return Order(job.key, attempt, (*words, f"Priority={_NAMED_TOP - decision % _HALF}"), decision)
    priority = TOP - decision % _HALF
    words = (f"JobId={job.key.id}", f"Licenses={','.join(own)}", f"Prefer={wish}", f"Priority={priority}")
    return Order(job.key, attempt, words, decision)


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
