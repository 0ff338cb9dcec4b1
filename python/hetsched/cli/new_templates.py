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

_ALLOCATOR = '''"""How a power budget is split: one cap for all nodes."""

import numpy as np


class CLASS:
    """The highest of a few caps under which all running jobs together stay within the watts.

    Parameters
    ----------
    caps_w
        Watts a node. The lowest of them is what jobs count with when they start.
    """

    def __init__(self, caps_w=(250.0, 290.0, 350.0)):
        self.caps_w = caps_w

    @property
    def least_cap_w(self):
        """The lowest cap it sets."""
        return min(self.caps_w)

    def allot(self, runs, watts, view):
        """One cap for each running job, W a node. `watts` is what they may draw beyond the idle machine."""
        for cap_w in sorted([np.inf, *self.caps_w], reverse=True):
            if runs.draw_w(cap_w).sum() <= watts:
                break
        return np.full(len(runs), cap_w)
'''

_MONITOR = '''"""What is measured of the machine's draw: too little."""


class CLASS:
    """A sensor that shows a share less than the machine draws.

    Parameters
    ----------
    bias_ratio
        The share that it does not see.
    """

    def __init__(self, bias_ratio=0.1):
        self.bias_ratio = bias_ratio

    def read(self, draw_w, view):
        """The watts that it shows."""
        return draw_w * (1 - self.bias_ratio)
'''

_ANALYZER = '''"""How long jobs will run: as long as their user's last two did."""

import numpy as np


class CLASS:
    """The mean of the last two runtimes of the user (Tsafrir, Etsion and Feitelson, TPDS 2007).

    A job of a user of whom fewer are over is planned as long as it asks for.
    """

    def __init__(self):
        self._last = {}

    def learn(self, ended, view):
        """Learn from jobs that have ended, when a pass begins. Objects in other roles may have this method, too."""
        for user, ran in zip(ended.user, ended.runtime_s):
            self._last.setdefault(user, []).append(ran)
            self._last[user] = self._last[user][-2:]

    def estimate(self, jobs, view):
        """Seconds a job."""
        last = [self._last.get(user, []) for user in jobs.user]
        return np.array([np.mean(two) if len(two) == 2 else asked for two, asked in zip(last, jobs.planned_s)])
'''

_SLEEP = '''"""Which idle nodes sleep: those that have idled for long, but a few stay on."""

import math

from hetsched.roles import Rest


class CLASS:
    """Nodes go to sleep after a time, all but a reserve.

    Parameters
    ----------
    idle_s
        How long a node idles before.
    reserve
        How many nodes stay on that no planned job needs.
    """

    def __init__(self, idle_s=600.0, reserve=1):
        self.idle_s = idle_s
        self.reserve = reserve

    def rest(self, nodes, view):
        """The nodes that go to sleep, highest first, those that are woken, and when to be asked again."""
        ripe_s = nodes.idle_since_s + self.idle_s
        is_far = nodes.next_start_s - view.now_s > nodes.break_even_s
        ready = nodes.idle[is_far & (ripe_s <= view.now_s)][::-1]
        return Rest(
            sleep=ready[: max(0, nodes.spare - self.reserve)],
            wake=nodes.off[: max(0, self.reserve - nodes.spare)],
            again_s=ripe_s[ripe_s > view.now_s].min(initial=math.inf),
        )
'''

_SIZING = '''"""On how many nodes jobs run that can run on more or fewer: on no more than pays."""

import numpy as np


class CLASS:
    """As many nodes as keep a job's efficiency, its speed-up over its nodes, above a share of what it is on fewest.

    Parameters
    ----------
    least_ratio
        The share.
    """

    def __init__(self, least_ratio=0.5):
        self.least_ratio = least_ratio

    def sizes(self, queue, watts, view):
        """A number of nodes for each job that waits."""
        sizes = queue.min_nodes.copy()
        at_fewest = queue.min_nodes * queue.size_time_ratio(sizes.tolist())
        for count in range(1, view.nodes + 1):
            tried = np.clip(count, queue.min_nodes, queue.max_nodes)
            efficiency = at_fewest / (tried * queue.size_time_ratio(tried.tolist()))
            sizes = np.where(efficiency >= self.least_ratio, np.maximum(sizes, tried), sizes)
        return np.minimum(sizes, np.maximum(len(view.free), queue.min_nodes))
'''

TEMPLATES = {
    "order": _ORDER,
    "backfill": _BACKFILL,
    "placement": _PLACEMENT,
    "scheduler": _SCHEDULER,
    "allocator": _ALLOCATOR,
    "sizing": _SIZING,
    "monitor": _MONITOR,
    "analyzer": _ANALYZER,
    "sleep": _SLEEP,
}
"""By role, the text of a file with one part that works."""

ON_A_BUDGET = ("allocator", "monitor")
"""Roles that there are only under a power budget."""

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

_RUN_ON_A_BUDGET = '''

def run(budget_w, **power):
    """Two jobs on two nodes, which draw more than is predicted, under a power budget."""
    jobs = {"job_id": [1, 2], "submit_s": [0, 1], "runtime_s": [60, 600], "node_count": [2, 2]}
    workload = hs.Workload.from_polars(pl.DataFrame({**jobs, "app": "heat"}))
    actual = hs.VariationTable(["heat"], power_w=[[310.0, 290.0]])
    predicted = hs.VariationTable(["heat"], power_w=[[300.0, 280.0]])
    platform = hs.Platform.homogeneous(nodes=2, idle_w=100, tdp_w=400).with_tables(actual=actual, predicted=predicted)
    policy = hs.Policy(power={"name": "system-budget", "budget_w": budget_w, **power})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # so small a log may be too much for so small a machine
        return hs.simulate(workload, platform.with_cap_model(static_w=100.0), policy)

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
    "allocator": """
def test_the_cap_is_as_high_as_the_budget_allows():
    caps_w = [run(budget_w, allocator=CLASS()).segments["cap_w"][0] for budget_w in (580, 579, 569)]
    assert caps_w == [None, 290, 250]
""",
    "sizing": """
def nodes_of(**parameters):
    jobs = {"job_id": [1, 2], "submit_s": [0, 500], "runtime_s": [100, 100], "node_count": [1, 1]}
    ranges = {"min_nodes": [1, 1], "max_nodes": [8, 8], "speedup": ["amdahl"] * 2, "serial_ratio": [0.5, 0.0]}
    platform = hs.Platform.homogeneous(nodes=8, idle_w=100, tdp_w=400)
    policy = hs.Policy(backfill={"name": "reservations", "sizing": CLASS(**parameters)})
    return hs.simulate(hs.Workload.from_polars(pl.DataFrame({**jobs, **ranges})), platform, policy).jobs["nodes"]


def test_a_job_gets_no_more_nodes_than_it_uses_well():
    # Half of job 1 is serial: on 3 nodes it is 1.5 times as fast, half as efficient. Job 2 is as efficient on all 8.
    assert nodes_of(least_ratio=0.5).list.len().to_list() == [3, 8]
""",
    "analyzer": """
def test_jobs_are_planned_as_long_as_those_of_the_user_before():
    # Two runs of 10 s; then one of 10 s beside the head, which asks for so much that it would be in its way.
    jobs = {"job_id": [1, 2, 3, 4, 5], "submit_s": [0, 0, 20, 21, 22], "node_count": [1, 1, 1, 2, 1]}
    times = {"runtime_s": [10, 10, 30, 5, 10], "walltime_s": [100, 100, 30, 5, 100]}
    users = {"user": ["ann", "ann", "bo", "bo", "ann"]}
    workload = hs.Workload.from_polars(pl.DataFrame({**jobs, **times, **users}))
    platform = hs.Platform.homogeneous(nodes=2, idle_w=100, tdp_w=400)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # so small a log may be too much for so small a machine
        asked = hs.simulate(workload, platform, "easy").jobs["start_s"][4]
        known = hs.simulate(workload, platform, hs.Policy.preset("easy", analyzer=CLASS())).jobs["start_s"][4]
    assert (asked, known) == (55, 22)
""",
    "sleep": """
def asleep_s(**parameters):
    jobs = {"job_id": [1, 2], "submit_s": [0, 5000], "runtime_s": [100, 100], "node_count": [1, 1]}
    platform = hs.Platform.homogeneous(nodes=3, idle_w=100, tdp_w=400, boot_s=60, shutdown_s=60, off_w=9)
    policy = hs.Policy.preset("easy", sleep=CLASS(**parameters))
    return hs.simulate(hs.Workload.from_polars(pl.DataFrame(jobs)), platform, policy).nodes["off_s"].to_list()


def test_nodes_sleep_once_they_have_idled_for_long():
    assert asleep_s(idle_s=600, reserve=0) == [4240, 4500, 4500]


def test_the_reserve_stays_on():
    assert asleep_s(idle_s=600, reserve=1)[0] == 0
""",
    "monitor": """
def test_a_draw_that_is_not_seen_raises_no_alarm():
    alerts = [run(590, on_excess="kill", monitor=CLASS(bias)).summary()["alerts"] for bias in (0.0, 0.1)]
    assert alerts == [2, 0]
""",
}


def text_of_test(role: str) -> str:
    """The text of a part's test."""
    run = _RUN_ON_A_BUDGET if role in ON_A_BUDGET else _RUN
    return f'''"""Tests of CLASS: run them with pytest."""

import warnings

import polars as pl

import hetsched as hs
from hetsched.testing import conformance
from NAME import CLASS


def test_it_conforms():
    """Over many small runs: schedules keep their laws, and the same run is the same again."""
    conformance(CLASS)
{run}{_CHECKS[role]}'''
