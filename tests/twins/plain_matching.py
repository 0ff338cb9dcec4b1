"""A placement that matches all jobs of a pass to nodes at once, by somebody else's solver.

Each job has as many nodes of each cell as the pass has counted for it. Of all matchings that keep to these numbers the
one of least weight is taken: the energy that each job is predicted to take on each of its nodes, as if that node were
its slowest.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from scipy.optimize import linear_sum_assignment

if TYPE_CHECKING:
    from plain_jobs import Job
    from plain_machine import Machine
    from plain_nodes import Place

Split = Mapping["Place", int]
"""Nodes of each cell."""


def weight(machine: Machine, job: Job, node: int) -> float:
    """Watts × seconds: communication takes as long on each node."""
    draws = machine.draws
    watts = draws.predicted_w(job.app, node, job.own_cap)
    return watts * (job.runtime * draws.predicted_factor(job.app, node, job.own_cap) + job.comm)


def match(
    machine: Machine, starts: Sequence[tuple[Job, Split]], free: Mapping[Place, Sequence[int]]
) -> dict[int, list[int]]:
    """Nodes of each job, by its row.

    All cells are one problem, in which a job must not have nodes beyond its split: a row for each of its nodes there,
    which may not go elsewhere.
    """
    nodes = sorted(node for own in free.values() for node in own)
    rows = [(job, cell) for job, split in starts for cell, count in split.items() for _ in range(count)]
    costs = np.full((len(rows), len(nodes)), np.inf)
    for row, (job, cell) in enumerate(rows):
        for column, node in enumerate(nodes):
            if node in free[cell]:
                costs[row, column] = weight(machine, job, node)
    found: dict[int, list[int]] = {job.row: [] for job, _ in starts}
    alike: dict[bytes, list[tuple[int, int]]] = {}
    for row, column in zip(*linear_sum_assignment(costs), strict=True):
        alike.setdefault(costs[row].tobytes(), []).append((int(row), nodes[column]))
    for pairs in alike.values():
        # Jobs alike have the same choice: the nodes go out by number, in the order of the starts.
        for (row, _), node in zip(sorted(pairs), sorted(node for _, node in pairs), strict=True):
            found[rows[row][0].row].append(node)
    return {row: sorted(own) for row, own in found.items()}
