"""Laws of the plain reference for Slurm's scheduler, over drawn machines."""

from __future__ import annotations

from itertools import combinations

from hypothesis import given, settings
from plain_slurm import simulate
from slurm_cases import LICENCE, Case, cases


@settings(max_examples=3 * settings().max_examples)
@given(cases())
def test_runs_are_legal(case: Case) -> None:
    """Whole runs on nodes of the partition, no node held twice, no licence used twice, no start before submission."""
    result = simulate(case.nodes, case.partitions, case.options, case.jobs)
    by_name = {partition.name: partition for partition in case.partitions}
    runs = []
    for job in case.jobs:
        done = result.jobs[job.id]
        if done.end_s is None or done.start_s is None or done.script_start_s is None:
            assert any(what == "down" for _, what, _ in result.power), "it never ended"
            continue
        assert job.submit_s <= done.start_s <= done.script_start_s <= done.end_s
        assert len(done.nodes) == job.nodes
        assert set(done.nodes) <= set(by_name[job.partition or ""].nodes)
        for first in job.after:
            assert done.start_s >= (result.jobs[first].end_s or 0)
        runs.append((job, done.start_s, done.end_s, set(done.nodes)))
    for (_, start, end, on), (_, other_start, other_end, other_on) in combinations(runs, 2):
        assert not on & other_on or start >= other_end or other_start >= end
    for _, start, _, _ in runs:
        used = sum(job.licences.get(LICENCE, 0) for job, begin, end, _ in runs if begin <= start < end)
        assert used <= case.options.Licenses.get(LICENCE, 0) or not used


@settings(max_examples=2 * settings().max_examples)
@given(cases(power=False, overruns=False, releases=("22.05",)))
def test_starts_are_on_beats(case: Case) -> None:
    """Without an Epilog: main at 0.4, backfill at 0.5."""
    result = simulate(case.nodes, case.partitions, case.options, case.jobs)
    fractions = {round((done.start_s or 0.0) % 1, 6) for done in result.jobs.values()}
    assert fractions <= {0.4, 0.5} or case.options.Epilog
