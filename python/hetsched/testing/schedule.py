"""`check_schedule`: which laws a run is held to."""

from __future__ import annotations

from hetsched.platform import Platform
from hetsched.run.events import Events
from hetsched.run.result import Result
from hetsched.testing.facts import Facts
from hetsched.testing.laws import check_laws
from hetsched.testing.preemption_laws import check_preemption
from hetsched.testing.sleep_laws import check_sleep
from hetsched.testing.start_laws import check_eligibility, check_queues
from hetsched.testing.stretch_laws import check_stretches
from hetsched.workload import Workload

_OF_FEATURES = (check_eligibility, check_sleep, check_queues, check_preemption)
"""Laws that hold whatever stretches jobs run in."""


def check_schedule(result: Result, workload: Workload, platform: Platform, *, events: Events | None = None) -> None:
    """Check a result against the laws of a run.

    Everything is recomputed from the inputs and the start and nodes of each job: no slot serves two jobs at once; no
    job starts before its submission; each job runs on nodes that have what it asks for, and licences and shared GPUs
    and memory are never overdrawn; each job has as many nodes as it asked for and ends when it must (its runtime at
    the pace of its slowest node, rounded up to a microsecond, or its walltime); times, states, energies, nodes,
    timeline and summary follow; and the energy balances three ways. Under a policy that profiles, first runs and no
    others take longer. In a replay, no job starts before its observed start. In a metered schedule with given ends,
    states agree with the ends. No job starts before what it waits for, nor after it was cancelled, and no array is
    over its limit; jobs that depend on others end as these let them; attempts that were lost cost what is said, and no
    job runs on a node that is down. Nodes that sleep make no step that they cannot make, take their time, serve no job
    before they are on, and cost what their states cost. Under a power budget, summary and timeline agree about it; and
    where predictions are exact, the system never draws more.

    Where jobs do not run in one stretch (power caps, emergencies, budgets in time) the segments are checked: those of
    an attempt abut and cover it, no node serves two, each draws and is as fast as tables or model say under its cap,
    their energies sum to the job's and, with the idle nodes', to the system's, speeds add up to the job's work but for
    a microsecond a change, events show what states show, and the draw is within the budget in force where predictions
    are exact and no budget falls unforeseen. A contract's bill is not recomputed.

    Where queues preempt, jobs stand still only from the start of an urgent job on one of their nodes on; the
    stretches in which a job ran sum to its work; no one uses the slots of a suspended job but jobs of queues that
    preempt its own; and it draws nothing.

    Parameters
    ----------
    result
        Of a run.
    workload, platform
        The run's inputs.
    events
        Those that the run was given: they say which falls of the budget are known beforehand.

    Raises
    ------
    AssertionError
        At the first broken law, naming job, node and instant.

    Notes
    -----
    Energy and timeline are recomputed only where all nodes stayed powered; the other laws always apply.

    Examples
    --------
    >>> import polars as pl, hetsched as hs
    >>> jobs = pl.DataFrame({"job_id": [1, 2], "submit_s": [0, 90], "runtime_s": [60, 30], "node_count": [1, 2]})
    >>> workload = hs.Workload.from_polars(jobs)
    >>> platform = hs.Platform.homogeneous(nodes=2, idle_w=100.0, tdp_w=300.0)
    >>> check_schedule(hs.simulate(workload, platform, policy="easy"), workload, platform)
    """
    run, segments = Facts(result, workload, platform), result.segments
    for law in _OF_FEATURES:
        law(run)
    # Attempts that a failure ended run in one stretch; on shared nodes so do others but under caps and in emergencies.
    may_change = platform.exclusive or not {"lowest_cap_w", "suspended_s"}.isdisjoint(run.jobs.columns)
    is_stretched = result.has_segments and len(segments) and may_change and not run.has_outages and not run.makes_way
    if is_stretched:
        check_stretches(run, segments, events)
    if not is_stretched or (run.profiles is not None and "attempts" not in run.jobs.columns):
        check_laws(run)
