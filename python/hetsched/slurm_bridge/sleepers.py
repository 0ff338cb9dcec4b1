"""Orders to switch nodes off and on, as a policy that puts nodes to sleep has them.

Only nodes that have idled in two readings are switched off, one a second at most, and never so many that fewer than a
given number are awake. Slurm itself wakes a node for a job; one that the policy wakes is switched on before.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from hetsched.slurm_bridge.nodes import SeenNode
from hetsched.slurm_bridge.picture import Picture, Rest

LEAST_GAP_S = 1.0
"""Seconds between two orders to switch a node off."""

_ASLEEP = frozenset({"powered_down", "powering_down", "power_down"})


class Sleepers:
    """The nodes that this bridge has switched off, and those that idled in the last reading.

    Parameters
    ----------
    numbers
        Nodes of the platform by name.
    min_awake
        Nodes that stay awake whatever the policy decides.
    now
        Seconds that never go back.
    """

    def __init__(self, numbers: Mapping[str, int], *, min_awake: int, now: Callable[[], float]) -> None:
        self._numbers, self._min_awake, self._now = numbers, min_awake, now
        self._idle: frozenset[str] = frozenset()
        self._off: set[str] = set()
        self._last_s = -LEAST_GAP_S

    def orders(self, picture: Picture, nodes: Sequence[SeenNode]) -> list[tuple[str, ...]]:
        """Words of scontrol that follow from a reading."""
        own = [node for node in nodes if node.name in self._numbers]
        words = [_to(node.name, "POWER_UP") for node in self._woken(picture, own)]
        idled, self._idle = self._idle, frozenset(node.name for node in own if node.state.lower() == "idle")
        awake = sum(node.serves and not _flags(node) & _ASLEEP for node in own)
        tired = [
            node.name
            for node in own
            if picture.resting.get(self._numbers[node.name]) is Rest.OFF and node.name in self._idle & idled
        ]
        if tired and awake > self._min_awake and self._now() - self._last_s >= LEAST_GAP_S:
            self._last_s = self._now()
            self._off.add(tired[0])
            words.append(_to(tired[0], "POWER_DOWN"))
        return words

    def _woken(self, picture: Picture, nodes: Sequence[SeenNode]) -> list[SeenNode]:
        """Nodes that this bridge has switched off and the policy has awake; those that wake are forgotten."""
        wanted = [node for node in nodes if picture.resting.get(self._numbers[node.name]) in (None, Rest.WAKING)]
        self._off -= {node.name for node in wanted if not _flags(node) & _ASLEEP}
        # One that is going down cannot be switched on before it is off.
        return [node for node in wanted if node.name in self._off and "powered_down" in _flags(node)]


def _flags(node: SeenNode) -> frozenset[str]:
    return frozenset(node.state.lower().split("+")[1:])


def _to(name: str, state: str) -> tuple[str, ...]:
    return ("update", f"NodeName={name}", f"State={state}")
