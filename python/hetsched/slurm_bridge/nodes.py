"""Nodes as ``sinfo`` shows them."""

from __future__ import annotations

from dataclasses import dataclass

from hetsched.slurm_bridge.calls import Slurm
from hetsched.slurm_bridge.jobs import NONE
from hetsched.slurm_bridge.tables import Column, format_of, rows_of

COLUMNS = (Column("NodeList", 256), Column("StateComplete", 128), Column("Features", 1024))

SERVING = frozenset({"idle", "allocated", "mixed", "completing"})
_NO_HINDRANCE = frozenset(
    {"cloud", "planned", "powered_down", "powering_down", "powering_up", "power_down", "power_up", "completing"}
)
"""Flags of nodes that serve jobs; Slurm itself wakes those that sleep."""


@dataclass(frozen=True)
class SeenNode:
    """A node of the partition."""

    name: str
    state: str
    """In words such as ``idle+drain``."""
    features: tuple[str, ...]

    @property
    def serves(self) -> bool:
        """True if a job may start on it, once it is free.

        Examples
        --------
        >>> [SeenNode("n1", state, ()).serves for state in ("idle", "allocated+drain", "idle+powered_down", "down")]
        [True, False, True, False]
        """
        base, *flags = self.state.lower().split("+")
        return base in SERVING and _NO_HINDRANCE.issuperset(flags)


def words_of(partition: str) -> tuple[str, ...]:
    """The command that shows the nodes of a partition."""
    return ("sinfo", "-h", "-N", "-p", partition, "-O", format_of(COLUMNS))


def read_nodes(slurm: Slurm, partition: str) -> list[SeenNode]:
    """The nodes of a partition, none if there is no such partition; raises CallError and TableError."""
    return nodes_of(slurm.call(*words_of(partition)).checked().out)


def nodes_of(text: str) -> list[SeenNode]:
    """The nodes of a table; raises TableError if it does not read."""
    found = {
        name: SeenNode(name, state, () if features in NONE else tuple(features.split(",")))
        for name, state, features in rows_of(text, COLUMNS, "sinfo")
    }
    return list(found.values())
