"""Changes of a machine: another number of nodes, other nodes, other queues."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from hetsched.checks import Faults, shown
from hetsched.platform import NodeClass, Platform, Queue, VariationTable
from hetsched.platform.draws import CapModel
from hetsched.platform.queues import nodes_text

Ints = npt.NDArray[np.int64]


def with_nodes(platform: Platform, nodes: int) -> Platform:
    """The platform with another number of nodes, each class with its share of them, rounded by largest remainder."""
    counts = [one.count for one in platform.classes]
    exact = [count * nodes / platform.nodes for count in counts]
    shares = [int(share) for share in exact]
    by_rest = sorted(range(len(counts)), key=lambda place: (shares[place] - exact[place], place))
    for place in by_rest[: nodes - sum(shares)]:
        shares[place] += 1
    return with_counts(platform, shares)


def with_counts(platform: Platform, counts: Sequence[int]) -> Platform:
    """The platform with so many nodes in each class.

    Of a class that shrinks the last nodes go; one that grows has copies of its nodes, from the first on, behind them.
    A copy draws as its original does, has its columns of tables, and is in its racks and queues. A class without nodes
    is left out.
    """
    sources = [np.arange(count) % one.count for one, count in zip(platform.classes, counts, strict=True)]
    first = np.cumsum([0, *(one.count for one in platform.classes)])[:-1]
    source = np.concatenate([own + start for own, start in zip(sources, first, strict=True)])
    classes = [_resized(one, own) for one, own in zip(platform.classes, sources, strict=True) if len(own)]
    options = platform._options
    tables = {name: _tables(options[name], source) for name in ("actual", "predicted")}
    model = options["cap_model"]
    if isinstance(model, CapModel) and isinstance(model.static_w, tuple):
        model = replace(model, static_w=tuple(model.static_w[node] for node in source))
    queues = None if platform.queues is None else _moved(platform.queues, source)
    return Platform(classes, **{**options, **tables, "cap_model": model, "queues": queues})


def _resized(own: NodeClass, source: Ints) -> NodeClass:
    """A class of copies of these nodes of its own, by number."""
    changes: dict[str, Any] = {"count": len(source)}
    if isinstance(own.idle_w, tuple):
        changes["idle_w"] = tuple(own.idle_w[node] for node in source)
    if own.racks is not None and not isinstance(own.racks, str):
        kept = {name: np.flatnonzero(np.isin(source, nodes)) for name, nodes in own.rack_nodes.items()}
        changes["racks"] = {name: nodes_text(nodes.tolist()) for name, nodes in kept.items() if len(nodes)} or None
    if own.node_names is not None:
        changes["node_names"] = _names(own.node_names, source)
    return replace(own, **changes)


def _names(names: Sequence[str], source: Ints) -> tuple[str, ...]:
    """The originals' names, and of copies the same with ``-copy`` behind it, numbered from the second on."""
    found = []
    for place, node in enumerate(source):
        copy = place // len(names)
        found.append(names[node] + ("" if not copy else "-copy" if copy == 1 else f"-copy{copy}"))
    return tuple(found)


def _tables(given: Any, source: Ints) -> Any:
    """A table, or tables by cap, of copies of these nodes."""
    if isinstance(given, Mapping):
        return {cap_w: _tables(table, source) for cap_w, table in given.items()}
    if not isinstance(given, VariationTable):
        return None
    matrices = {
        name: values[:, source]
        for name in ("power_w", "power_ratio", "time_ratio")
        if (values := getattr(given, name)) is not None
    }
    return VariationTable(given.apps, **matrices, cap_w=given.cap_w)


def _moved(queues: Sequence[Queue], source: Ints) -> list[Queue]:
    """The queues with the copies of their nodes; limits above their numbers of nodes are lowered to these."""
    faults, found = Faults(), []
    for queue in queues:
        nodes = np.flatnonzero(np.isin(source, queue.numbers)).tolist()
        if not nodes:
            faults.note("", "no node", f"at least one of queue {shown(queue.name)}")
            continue
        most = None if queue.max_nodes is None else min(queue.max_nodes, len(nodes))
        found.append(replace(queue, nodes=nodes, max_nodes=most))
    faults.check()
    return found


def with_class(platform: Platform, name: str, change: Callable[[NodeClass], NodeClass]) -> Platform:
    """The platform with a class changed, or with all of them if none is named."""
    classes = [change(one) if name in ("", one.name) else one for one in platform.classes]
    return Platform(classes, **platform._options)


def with_queue(platform: Platform, name: str, change: Callable[[Queue], Queue]) -> Platform:
    """The platform with one queue changed."""
    assert platform.queues is not None
    return platform._with(queues=[change(one) if one.name == name else one for one in platform.queues])
