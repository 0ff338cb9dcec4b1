"""Golden schedules and hand-checked cases of the plain reference for Slurm's scheduler."""

from __future__ import annotations

import pytest
from plain_slurm import Result, simulate
from plain_slurm_state import Job, Node, Options, Partition
from slurm_examples import EXAMPLES, Example, Written


def jobs_of(written: list[Written]) -> list[Job]:
    return [
        Job(i, one.submit_s, one.nodes, one.run_s + 0.2, 60 * one.limit_min, one.partition, one.licences)
        for i, one in enumerate(written, 1)
    ]


def machine_of(example: Example) -> tuple[list[Node], list[Partition], Options, list[Job]]:
    nodes = [Node(f"n{i}") for i in range(1, example.nodes + 1)]
    written = example.partitions or {"batch": (1, tuple(range(1, example.nodes + 1)))}
    partitions = [Partition(name, tuple(n - 1 for n in of), tier) for name, (tier, of) in written.items()]
    return nodes, partitions, Options(**example.options), jobs_of(example.jobs)


def run_example(example: Example) -> Result:
    return simulate(*machine_of(example))


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
def test_golden_schedule(example: Example) -> None:
    result = run_example(example)
    found = {number: (job.start_s, tuple(n + 1 for n in job.nodes)) for number, job in result.jobs.items()}
    assert found == example.starts
    for number, job in result.jobs.items():
        assert job.script_start_s == example.script_starts.get(number, job.start_s)
    assert set(example.power) <= set(result.power)
