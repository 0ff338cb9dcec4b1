"""Parts in Python that tests share: in a module of their own, so that other processes can import them."""

import numpy as np


class Shortest:
    """As the part `shortest`."""

    def rank(self, jobs, view):
        return jobs.planned_s


class Counting:
    """Keeps count of its calls: a run must not see those of another."""

    def __init__(self):
        self.calls = 0

    def rank(self, jobs, view):
        self.calls += 1
        return np.full(len(jobs), -float(self.calls))


class Chance:
    """Any order at all."""

    def seed(self, rng):
        self._rng = rng

    def rank(self, jobs, view):
        return self._rng.random(len(jobs))


class LowestId:
    """As the part `lowest-id`."""

    def choose(self, job, free, view):
        return free[: job.node_count]


class FirstFit:
    """First come, first served by whatever fits."""

    def decide(self, view):
        free, starts, queue = view.free_slots.copy(), [], view.queue
        for job_id, count, need in zip(queue.job_id, queue.node_count, queue.slots, strict=True):
            nodes = np.flatnonzero(free >= need)[:count]
            if len(nodes) == count:
                free[nodes] -= need
                starts.append((job_id, nodes))
        return starts
