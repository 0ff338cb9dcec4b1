"""Lines of nodes of a policy from a slurm.conf, on a machine that a setting has changed."""

from __future__ import annotations

from hetsched.platform import NodeClass, Platform
from hetsched.policy import Policy
from hetsched.policy.node_lines import by_class, lines_in, text_of


def fitted(policy: Policy, platform: Platform, *, today: tuple[Policy, Platform]) -> Policy:
    """The policy with lines of nodes of a changed machine, if it has those of today's.

    Classes that have another number of nodes, or another weight, pass that on to their lines. On a machine of other
    classes lines are those of its classes.
    """
    lines, before = _lines_of(policy), today[1]
    if not lines or platform is before or lines != _lines_of(today[0]):
        return policy
    after = {one.name: one for one in platform.classes}
    if sum(count for count, _, _ in lines_in(lines)) != before.nodes or not after.keys() <= set(_names(before)):
        return _with(policy, "")
    counts = [after[name].count if name in after else 0 for name in _names(before)]
    own = by_class(lines_in(lines), [one.count for one in before.classes], counts)
    kept = [
        (count, cpus, _weight(weight, old, after[old.name]))
        for old, lines_of_class in zip(before.classes, own, strict=True)
        for count, cpus, weight in lines_of_class
    ]
    return _with(policy, text_of(kept))


def _weight(of_line: int, old: NodeClass, new: NodeClass) -> int:
    return of_line if new.weight is None or new.weight == old.weight else new.weight


def _names(platform: Platform) -> list[str]:
    return [one.name for one in platform.classes]


def _lines_of(policy: Policy) -> str:
    return str((policy.parts["backfill"] or {}).get("node_lines", ""))


def _with(policy: Policy, lines: str) -> Policy:
    return policy._changed(backfill={**(policy.parts["backfill"] or {}), "node_lines": lines})
