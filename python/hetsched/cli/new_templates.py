"""What `hetsched new policy` writes: a part for each role, and its test. NAME and CLASS are replaced."""

from __future__ import annotations

_ORDER = '''"""An order of jobs: small ones first, but none waits for ever."""

import numpy as np


class CLASS:
    """The smallest nodes x planned length first; a job that has waited longer than `patience_s` goes first.

    Parameters
    ----------
    patience_s
        Seconds.
    """

    # When ranks change: "never" (a job keeps the rank with which it joined), "each-pass", or seconds.
    changes = "each-pass"

    def __init__(self, patience_s=86_400.0):
        self.patience_s = patience_s

    def rank(self, jobs, view):
        """One number a job, the lowest first. `jobs` has columns: job_id, submit_s, planned_s, node_count and more."""
        wait_s = view.now_s - jobs.submit_s
        area = jobs.node_count * jobs.planned_s
        return np.where(wait_s > self.patience_s, -wait_s, area)
'''

_BACKFILL = '''"""Which jobs may start before others: short ones."""

import numpy as np


class CLASS:
    """The head of the queue is tried first; behind it, whatever is planned to be over within `short_s`.

    Parameters
    ----------
    short_s
        Seconds.
    """

    def __init__(self, short_s=3_600.0):
        self.short_s = short_s

    def select(self, queue, view):
        """The job_ids to try now, in order; `queue` stands in policy order. A job that does not fit is passed over."""
        is_tried = queue.planned_s <= self.short_s
        is_tried[0] = True
        return queue.job_id[np.flatnonzero(is_tried)]
'''

_PLACEMENT = '''"""A choice of nodes: those that are predicted to draw least."""

import numpy as np


class CLASS:
    """The free nodes with the lowest predicted watts for the job's application; ties to the lower number."""

    def choose(self, job, free, view):
        """As many of the `free` nodes as the job asks for, or None: then the job waits."""
        watts = view.predicted_w(job.app)[free]
        return free[np.argsort(watts, kind="stable")[: job.node_count]]
'''

_SCHEDULER = '''"""A whole scheduler: first come, first served."""

import numpy as np


class CLASS:
    """Jobs start in order of submission, on the free nodes of lowest number; one that does not fit blocks the rest."""

    def decide(self, view):
        """Which jobs start now, as (job_id, nodes), in order."""
        queue, free_slots, starts = view.queue, view.free_slots.copy(), []
        for job_id, count, slots in zip(queue.job_id, queue.node_count, queue.slots):
            nodes = np.flatnonzero(free_slots >= slots)[:count]
            if len(nodes) < count:
                break
            free_slots[nodes] -= slots
            starts.append((job_id, nodes))
        return starts
'''

TEMPLATES = {"order": _ORDER, "backfill": _BACKFILL, "placement": _PLACEMENT, "scheduler": _SCHEDULER}
"""By role, the text of a file with one part that works."""

_RUN = '''

def run(policy, node_count=(2, 2, 1)):
    """Three jobs on two nodes that are not alike."""
    jobs = {"job_id": [1, 2, 3], "submit_s": [0, 1, 2], "runtime_s": [60, 600, 30]}
    workload = hs.Workload.from_polars(pl.DataFrame({**jobs, "node_count": node_count, "app": "heat"}))
    table = hs.VariationTable(["heat"], power_w=[[310.0, 290.0]])
    platform = hs.Platform.homogeneous(nodes=2, idle_w=100, tdp_w=400).with_tables(actual=table)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # so small a log may be too much for so small a machine
        return hs.simulate(workload, platform, policy).jobs

'''

_CHECKS = {
    "order": """
def test_the_small_job_goes_first():
    jobs = run(hs.Policy(order=CLASS()))
    assert jobs["start_s"].to_list() == [0, 90, 60]


def test_unless_another_has_waited_too_long():
    jobs = run(hs.Policy(order=CLASS(patience_s=10)))
    assert jobs["start_s"].to_list() == [0, 60, 660]
""",
    "backfill": """
def test_a_short_job_starts_beside_one_that_does_not_fit():
    jobs = run(hs.Policy(backfill=CLASS(short_s=30)), node_count=[1, 2, 1])
    assert jobs["start_s"].to_list() == [0, 60, 2]


def test_one_that_is_not_short_waits():
    jobs = run(hs.Policy(backfill=CLASS(short_s=29)), node_count=[1, 2, 1])
    assert jobs["start_s"].to_list() == [0, 60, 660]
""",
    "placement": """
def test_a_job_gets_the_node_that_draws_least():
    jobs = run(hs.Policy(placement=CLASS()))
    assert jobs["nodes"].to_list() == [[0, 1], [0, 1], [1]]
""",
    "scheduler": """
def test_jobs_start_in_order_of_submission():
    jobs = run(CLASS())
    assert jobs["start_s"].to_list() == [0, 60, 660]
""",
}


def text_of_test(role: str) -> str:
    """The text of a part's test."""
    return f'''"""Tests of CLASS: run them with pytest."""

import warnings

import polars as pl

import hetsched as hs
from hetsched.testing import conformance
from NAME import CLASS


def test_it_conforms():
    """Over many small runs: schedules keep their laws, and the same run is the same again."""
    conformance(CLASS)
{_RUN}{_CHECKS[role]}'''
