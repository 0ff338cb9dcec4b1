"""Sentences about what was decided and what Slurm did."""

from __future__ import annotations

from collections.abc import Sequence

from hetsched.checks import many
from hetsched.hostlists import folded
from hetsched.live import Cap, Decision, Reject, Sleep, Start, Wake


def nodes_text(nodes: Sequence[int], names: Sequence[str]) -> str:
    """Names of nodes, as Slurm writes them: ``n4,n7``, or ``n[4-7]`` if there are many."""
    own = [names[node] for node in nodes]
    return ",".join(own) if len(own) <= 2 else folded(own)


def release(job: str, nodes: str, reason: str, *, acts: bool = False) -> str:
    """The line about a start, of a dry run or of a bridge that acts.

    Examples
    --------
    >>> release("1234", "n4,n7", "2 of 5 free nodes, after 31 s in the queue")
    'would release 1234 on n4,n7: 2 of 5 free nodes, after 31 s in the queue'
    """
    return f"{'release' if acts else 'would release'} {job} on {nodes}: {reason}"


def reason_of_start(start: Start, *, free: int, wait_s: float, policy: str) -> str:
    """The reason of a start in a sentence: the policy's choice, and from what."""
    capped = "" if start.cap_w is None else f", capped to {start.cap_w:g} W a node"
    return (
        f"{policy} takes {len(start.nodes):,} of {many(free, 'free node')}{capped}, after {wait_s:,.0f} s in the queue"
    )


def started(job: str, nodes: str, decided: str | None, lag_s: float) -> str:
    """A sentence about a start by Slurm, next to what was decided.

    Examples
    --------
    >>> started("7", "n1", None, 0), started("7", "n1", "n1", 2.04), started("7", "n1", "n2", 2.04)
    ('Slurm started 7 on n1, not decided yet', 'Slurm started 7 on n1, as decided 2.0 s before', \
'Slurm started 7 on n1; decided 2.0 s before was n2')
    """
    if decided is None:
        return f"Slurm started {job} on {nodes}, not decided yet"
    if decided == nodes:
        return f"Slurm started {job} on {nodes}, as decided {lag_s:.1f} s before"
    return f"Slurm started {job} on {nodes}; decided {lag_s:.1f} s before was {decided}"


def not_carried_out(decision: Decision, job: str, names: Sequence[str]) -> str:
    """The line about a decision that a bridge has no means to carry out."""
    match decision:
        case Reject():
            return f"{job} would never start: it asks for what the machine does not have ({decision.why})"
        case Wake() | Sleep():
            return f"{decision.kind} of {nodes_text(decision.nodes, names)}: left to Slurm's own power saving"
        case Cap():
            return f"cap of {job}: Slurm cannot cap what runs"
    return f"{decision.kind} of {job}: not carried out, a job that runs is left alone"
