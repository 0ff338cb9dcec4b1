"""Parts in Python that tests share: in a module of their own, so that other processes can import them."""

import numpy as np


class Shortest:
    """Twin of the part `shortest`."""

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
    """Twin of the part `lowest-id`."""

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


class AllInOrder:
    """Twin of the backfill `first-fit`."""

    def select(self, queue, view):
        return queue.job_id


class Easy:
    """Twin of the backfill `reservations` with depth 1, where jobs get whole nodes and there is no budget."""

    def select(self, queue, view):
        free, chosen, place = len(view.free), [], 0
        counts, planned_s, ids = queue.node_count, queue.planned_s, queue.job_id
        ends = list(zip(view.running.planned_end_s, view.running.node_count, strict=True))
        while place < len(queue) and counts[place] <= free:
            free -= counts[place]
            ends.append((view.now_s + planned_s[place], counts[place]))
            chosen.append(ids[place])
            place += 1
        if place == len(queue):
            return chosen
        # The head's start by the plan, and what is left next to it then.
        shadow_s, extra = np.inf, -1
        freed = free
        for end_s, count in sorted((max(end_s, view.now_s), count) for end_s, count in ends):
            if end_s > shadow_s:
                break
            freed += count
            if freed >= counts[place]:
                shadow_s, extra = end_s, freed - counts[place]
        for later in range(place + 1, len(queue)):
            is_short = micros(view.now_s) + micros(planned_s[later]) <= micros(shadow_s)
            if counts[later] <= free and (is_short or counts[later] <= extra):
                chosen.append(ids[later])
                free -= counts[later]
                extra -= 0 if is_short else counts[later]
        return chosen


def micros(seconds):
    """Whole microseconds, in which the engine counts."""
    return np.rint(seconds * 1e6)
