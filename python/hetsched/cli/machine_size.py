"""Number of nodes from a log's header: sizes in the log are processors, and nodes have several of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hetsched.checks import shown
from hetsched.errors import ConfigError

_FAR = 2
"""Where nodes differ, their mean number of processors may be this factor from what most of them have."""


def header_nodes(header: Mapping[str, Any], *, procs_per_node: int | None, log: str) -> tuple[int, str]:
    """The number of nodes, and a sentence on its source."""
    from hetsched.text import many  # noqa: PLC0415 -- polars is slow to import

    nodes, procs = header.get("max_nodes") or 0, header.get("max_procs") or 0
    if procs_per_node is None:
        if nodes == procs != 0:
            return nodes, f"{many(nodes, 'node')}, as the log's header says (MaxNodes)"
        if procs:
            return procs, f"{many(procs, 'processor')}, each taken as a node (MaxProcs)"
    elif nodes:
        _refuse_contradiction(nodes, procs, procs_per_node)
        return nodes, f"{many(nodes, 'node')}, as the log's header says (MaxNodes)"
    elif procs:
        count = -(-procs // procs_per_node)
        return count, f"{many(count, 'node')}, as the log's header says (MaxProcs / {procs_per_node})"
    expected = f"how many nodes the machine has: {log} does not say it"
    if nodes:
        expected = (
            f"how many processors the machine has, or --procs-per-node P: {log} says MaxNodes {nodes} only, "
            "and its sizes are processors"
        )
    raise ConfigError([("--nodes", "nothing", expected)])


def processors_hint(header: Mapping[str, Any]) -> str:
    """A hint where processors are taken as nodes though the header has fewer nodes; else empty."""
    nodes, procs = header.get("max_nodes") or 0, header.get("max_procs") or 0
    if not 0 < nodes < procs:
        return ""
    each, rest = divmod(procs, nodes)
    has = f"{nodes:,} nodes of {each} processors: --procs-per-node {each}"
    if rest:
        has = f"{nodes:,} nodes of {procs / nodes:.3g} processors on average: --procs-per-node {each} or {each + 1}"
    return f"the header says {has} schedules whole nodes; idle and TDP watts are per processor as it stands"


def _refuse_contradiction(nodes: int, procs: int, procs_per_node: int) -> None:
    """Raise if nodes of so many processors contradict the header."""
    each, rest = divmod(procs, nodes)
    is_near = nodes * procs_per_node < _FAR * procs and procs < _FAR * nodes * procs_per_node
    if not procs or (is_near if rest else each == procs_per_node):
        return
    found = f"{shown(procs_per_node)}, with MaxNodes {nodes} and MaxProcs {procs} in the log's header"
    fits = f"{each} or {each + 1}" if rest else str(each)
    raise ConfigError(
        [("--procs-per-node", found, f"{fits}, which these two make; --nodes N says the size without them")]
    )
