"""Roles in a policy that objects of your own can take: one protocol a role, with one method each.

Wherever a part's name is taken, so is an object with its role's method: ``Policy(order=MyOrder())``,
``Policy.preset("easy", placement=MyPlacement())``. A whole scheduler is given as a policy itself:
``simulate(workload, platform, MyScheduler())``. Nothing has to be inherited from; the protocols say what is asked, and
let type checkers check it. docs/how-to/your-own-policy.md writes one of each.

A run works on a copy of the object: by its own ``fork()`` if it has one, else by `copy.deepcopy`. So runs share
nothing, and the same object gives the same run again. An object that has a method ``seed(rng)`` is given a
`numpy.random.Generator` of the run's own before the run begins; its attribute ``uses_chance`` (default: whether it has
that method) says whether another seed can make another schedule.

Jobs and views are read while the method runs. Their arrays are read-only copies, and last.

An object in any role may have a method ``learn(ended, view)``, which is given the jobs that have ended; see `Learner`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from hetsched import _core

__all__ = [
    "Allocator",
    "Analyzer",
    "Backfill",
    "Ended",
    "Job",
    "Jobs",
    "Learner",
    "Monitor",
    "Order",
    "Placement",
    "Profile",
    "Rest",
    "Running",
    "Scheduler",
    "Sizing",
    "Sleep",
    "Standby",
    "View",
]

Ended = _core.Ended
Job = _core.Job
Jobs = _core.Jobs
Profile = _core.Profile
Running = _core.Running
Standby = _core.Standby
View = _core.View


class Learner(Protocol):
    """Learns of jobs that have ended, whatever its role: a method that any object may have."""

    def learn(self, ended: Ended, view: View, /) -> None:
        """Takes note of the jobs that have ended since it was last called.

        Called when a pass begins, if any has ended, and before the object is asked anything in it. It is called once
        for an object in several roles.

        Parameters
        ----------
        ended
            In order of their ends, with the columns of all jobs and ``start_s, end_s``; ``runtime_s``, how long they
            ran but for the time in which they were suspended; ``used_node_s``, the node-seconds that they used; and
            ``requeued``: whether the job is in the queue again, so that only an attempt of it is over. ``power_w`` is
            what they were measured to draw, W a node.
        view
            The machine, and what runs.
        """


class Order(Protocol):
    """Ranks the jobs of the queue.

    An attribute ``changes`` says when ranks change: ``"never"`` (the default: a job keeps the rank with which it
    joined), ``"each-pass"``, or seconds: then all that wait are ranked again at the first pass at or after each
    multiple of these on the log's clock.
    """

    def rank(self, jobs: Jobs, view: View, /) -> npt.ArrayLike:
        """One number a job, the lowest first; ties go to the earlier submit, then the earlier row of the log.

        Parameters
        ----------
        jobs
            The jobs that join the queue in this pass, or all that wait where ranks change. Where a power budget looks
            for the job that comes last: jobs that run.
        view
            The machine, and what runs.

        Returns
        -------
        array of float
            As many numbers as jobs, none of them NaN.
        """


class Backfill(Protocol):
    """Says which of the jobs that wait are tried now, and so which may start before others.

    ``view.profile()`` is what is free from now on (`Profile`), in which an object can reserve what it plans.
    """

    def select(self, queue: Jobs, view: View, /) -> npt.ArrayLike:
        """The jobs to try, in this order.

        Each starts if it fits next to those before it: its nodes are free, the placement accepts it, and a power budget
        has room for it. One that does not fit is passed over.

        Parameters
        ----------
        queue
            The jobs that wait, in policy order; also ``view.queue``.
        view
            The machine, and what runs.

        Returns
        -------
        array of int
            Values of ``queue.job_id``, each once at most.
        """


class Placement(Protocol):
    """Chooses the nodes of a job."""

    def choose(self, job: Job, free: npt.NDArray[np.int64], view: View, /) -> npt.ArrayLike | None:
        """The nodes of a job that is about to start.

        Parameters
        ----------
        job
            The job; its ``node_count`` says how many nodes it asks for.
        free
            The nodes that are free for it, ascending: at least as many. Those of jobs that this pass has started
            already are not among them.
        view
            The machine as it was when the pass began, and what runs.

        Returns
        -------
        array of int, or None
            As many nodes of `free` as the job asks for, in any order. None: it refuses, and the job waits like one that
            does not fit.
        """


class Allocator(Protocol):
    """Splits the watts of a budget between the jobs that run: ``power={"name": "system-budget", "allocator": ...}``.

    It is asked at the end of every pass, or as ``allocator_interval_s`` says. An attribute ``least_cap_w`` is the
    lowest cap that it sets, W a node, with which jobs count when they start. None (the default): they count without
    caps. Where there is a cap model in place of tables by cap it must be given.
    """

    def allot(self, runs: Running, watts: float, view: View, /) -> npt.ArrayLike:
        """One cap for each running job, or for each of their nodes.

        Parameters
        ----------
        runs
            The jobs that run and do not stand still, with ``runs.draw_w(cap_w)``, ``runs.node_draw_w(cap_w)`` and
            ``runs.slowdown(cap_w)`` under any caps: one for all, one a job, or one for each of ``runs.nodes``.
        watts
            What they may draw together beyond the idle machine.
        view
            The machine.

        Returns
        -------
        array of float
            One a job, or one for each of ``runs.nodes``: W a node, infinite for none, not below ``least_cap_w`` or the
            lowest cap of the tables. If the predicted draws pass `watts`, those under the least caps must, too.
        """


class Analyzer(Protocol):
    """Says how long jobs will run, and perhaps what they will draw (``analyzer=``).

    A policy plans with that in place of walltimes and of measured draws. It is the power analyzer of the
    overprovisioned Slurm: how long a job takes and what it draws under a cap follow from what
    is said here: by the platform's cap model from its run time, draw and bound ratio, or by its tables by cap. Jobs run
    as long as they do, are killed at their walltimes, and draw what they draw, whatever is said here.

    Three more methods may be there:

    ``draws(jobs, view)``
        Watts from 0 to 1e6 that a node draws without a cap while it serves each of the jobs; NaN where nothing is said.
        They replace the draws that jobs bring along: a table of watts comes before both, factors multiply
        them. A job that brings a draw of which nothing is said counts as under ``known_draws="tdp"``, unless that says
        ``"table"``. Under a budget a job is rejected that can never fit by its draw, once it has been asked about.
    ``bound_ratios(jobs, view)``
        Shares from 0 to 1 of each job's run time that stretch with the clock, where the platform has a cap model; NaN:
        as that says of its application. Asked in addition to ``draws``, and only of use for the jobs of which that says
        something.
    ``learn(ended, view)``
        As in any role (`Learner`). One that takes three arguments, ``learn(jobs, runtime_s, view)``, gets only jobs
        that do not run again, and how long they ran (whole attempts, also of jobs that were killed).
    """

    def estimate(self, jobs: Jobs, view: View, /) -> npt.ArrayLike:
        """Estimate how long jobs will run.

        Parameters
        ----------
        jobs
            The jobs that have joined the queue since it was last asked. ``jobs.planned_s`` is what they ask for.
        view
            The machine, and what runs.

        Returns
        -------
        array of float
            Seconds at nominal speed, from 0, one a job. A job is planned no longer than its walltime, and no shorter
            than 1 us; one that outlasts its plan counts as ending now.
        """


class Monitor(Protocol):
    """Measures the machine's draw, where the policy does something about draws above its budget.

    ``power={"name": "system-budget", "on_excess": "suspend", "monitor": ...}``.
    """

    def read(self, draw_w: float, view: View, /) -> float:
        """The watts that it shows.

        Asked at the beginning of each pass, whenever the draw is compared with the budget, and after each thing that is
        done about it. What the machine draws does not change by it, nor does what results show of that.

        Parameters
        ----------
        draw_w
            What the machine draws, W.
        view
            The machine, and what runs.
        """


class Sizing(Protocol):
    """Chooses how many nodes jobs get that can run on more or fewer: ``backfill={"name": ..., "sizing": ...}``.

    An object with a method ``resizes(runs, watts, view)``, too, changes the sizes of malleable jobs that run. It is
    asked in each pass in which one runs and is not suspended, before `sizes`, and gives a number of nodes for each of
    `runs` (`Running`: those jobs, by start), from its ``min_nodes`` to its ``max_nodes``. A job that gets fewer gives
    up those with the highest numbers at once. Then, in the order of `runs`, those that get more have theirs chosen by
    the placement among the free ones; there must be as many (``len(view.free)`` and those given up), and what they
    claim must be within `watts` and what others have given up. ``view.queue`` holds the jobs that wait; those that
    have come since the last pass are the last. What is left of a job takes ``runs.size_time_ratio`` at the new size
    over that at the old one times as long, and its ``resize_s`` more.
    """

    def sizes(self, queue: Jobs, watts: float, view: View, /) -> npt.ArrayLike:
        """On how many nodes each job that waits would run from now on.

        Asked before the starts of each pass in which a job waits and something is free. A size lasts until another is
        chosen or the job has started. Jobs run as fast on other nodes as their log says:
        ``queue.size_time_ratio(sizes)``.

        Parameters
        ----------
        queue
            The jobs that wait, in policy order, with ``min_nodes``, ``max_nodes`` (both on this machine),
            ``asked_nodes`` and ``node_count``, the size chosen last.
        watts
            What may be drawn beyond what runs claims and the idle machine draws; infinite without a budget.
        view
            The machine, and what runs.

        Returns
        -------
        array of int
            One a job, from its ``min_nodes`` to its ``max_nodes``. A job waits while it does not fit at its size.
        """


class Rest(NamedTuple):
    """An answer of a sleep part.

    Parameters
    ----------
    sleep
        Nodes of ``nodes.idle`` that go to sleep now.
    wake
        Nodes of ``nodes.off`` that are woken now, before any job needs them.
    again_s
        When to be asked again if there is no pass before, seconds on the log's clock.
    """

    sleep: npt.ArrayLike = ()
    wake: npt.ArrayLike = ()
    again_s: float = math.inf


class Sleep(Protocol):
    """Chooses which idle nodes are switched off, and which are switched on before jobs need them.

    Off nodes that planned jobs need are woken as under the part ``planned``, whatever it says. Where the backfill
    counts nodes, they are woken for the jobs that it would start or hold nodes for if all nodes were on.
    """

    def rest(self, nodes: Standby, view: View, /) -> Rest | npt.ArrayLike:
        """The nodes to put to sleep, and to wake.

        Asked at the end of every pass, after its starts and wake-ups.

        Parameters
        ----------
        nodes
            Columns of the nodes that idle: ``idle`` (their numbers, ascending) ``, idle_since_s, next_start_s`` (of the
            next job that is planned on it, infinite without one, now if it was woken for a job that still waits; where
            the backfill counts nodes: when it would be lacking if all idle nodes above it slept)
            ``, break_even_s`` (how long it must be idle for sleep to save energy). The numbers of nodes that are
            ``off``, ``booting`` and ``shutting_down``. How many nodes are
            ``spare`` (on or booting, and needed by no planned job within the time to wake one) and ``free`` (on or not,
            besides those of running jobs and of jobs that wait only for nodes to boot). ``arrived``: the jobs that came
            since it was last asked.
        view
            The machine, what runs, and what waits (``view.queue``).

        Returns
        -------
        Rest, or array of int
            An array: the nodes to put to sleep.
        """


class Scheduler(Protocol):
    """Decides everything: which jobs start, when and where."""

    def decide(self, view: View, /) -> Iterable[tuple[int, npt.ArrayLike]]:
        """The jobs to start now.

        Asked in every pass in which a job waits and something is free.

        Parameters
        ----------
        view
            ``view.queue`` holds the jobs that wait, by submit, then row of the log; ``view.free`` the free nodes.

        Returns
        -------
        list of (job_id, nodes)
            In the order in which they start. Nodes of a job that starts are busy for those behind it.
        """


def __dir__() -> list[str]:
    return sorted(__all__)
