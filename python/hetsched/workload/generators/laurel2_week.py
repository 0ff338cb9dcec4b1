"""A week of Laurel 2 in the classes in which the COA/SWA paper tells it."""

from __future__ import annotations

from hetsched.checks import Faults
from hetsched.workload.generators.distributions import LogUniform
from hetsched.workload.generators.generator import Generator
from hetsched.workload.generators.mixes import JobClass
from hetsched.workload.generators.parameters import NODES, SEED, WALLTIME_FACTOR, Parameter, taken
from hetsched.workload.generators.utilization_targeted import CONTROL, submitted_to_target
from hetsched.workload.jobs import Workload

__all__ = ["GENERATOR", "PARAMETERS", "laurel2_week"]

_COUNTS = ((10_472, 7_749, 10_437), (253, 172, 516), (1, 0, 3))
"""Jobs of 1, 2 to 8 and more nodes, by run length: under 360 s, to 3,600 s, over."""

PARAMETERS = (
    NODES,
    Parameter("shortest_s", "shortest run", "number", "seconds", 1e-3, 360.0),
    Parameter("longest_s", "longest run", "number", "seconds", 3600.0, 1e8),
    Parameter("largest_nodes", "nodes of the largest job", "whole", "nodes", 9, 2**31 - 1),
    Parameter("app", "application of all jobs", "text"),
    *CONTROL,
    WALLTIME_FACTOR,
    SEED,
)


def laurel2_week(
    *,
    nodes: int = 665,
    utilization: float = 0.8,
    shortest_s: float = 1.0,
    longest_s: float = 86_400.0,
    largest_nodes: int = 32,
    app: str = "hpcg",
    fluctuation: float = 0.04,
    fluctuation_s: float | None = None,
    ramp_s: float | None = None,
    interval_s: float = 10.0,
    walltime_factor: float | None = None,
    seed: int = 0,
) -> Workload:
    """29,603 jobs in the classes of the COA/SWA paper's Table 4 (Laurel 2, 18 to 25 September 2019).

    The table counts jobs by nodes (1, 2 to 8, more) and run length (under 360 s, to 3,600 s, over). Assumed within a
    class: run lengths log-uniform from its lower to its upper end, the open ends being `shortest_s` and `longest_s`;
    node counts with probability in proportion to 1 / nodes (log-uniform), the open end being `largest_nodes`; and
    submission to a target, as in the paper's simulation. With the defaults the jobs last about a week on 665 nodes at
    80 %, as they did on the machine they come from.

    Parameters
    ----------
    nodes, utilization
        As in `utilization_targeted`.
    shortest_s, longest_s
        Ends of the run lengths, seconds.
    largest_nodes
        End of the node counts, at least 9.
    app
        What all jobs are called; the paper runs HPCG in their place.
    fluctuation, fluctuation_s, ramp_s, interval_s, walltime_factor, seed
        As in `utilization_targeted`.

    Raises
    ------
    ConfigError
        With every fault.

    Examples
    --------
    >>> jobs = laurel2_week(seed=1).to_polars()
    >>> len(jobs), jobs.filter((pl.col("node_count") == 1) & (pl.col("runtime_s") > 3600)).height
    (29603, 10437)
    """
    given = locals()
    faults = Faults()
    values = taken(PARAMETERS, given, faults)
    if not faults.found and largest_nodes > nodes:
        faults.add("largest_nodes", largest_nodes, f"at most the {nodes} nodes there are")
    faults.check()
    ends_s = ((values["shortest_s"], 360.0), (360.0, 3600.0), (3600.0, values["longest_s"]))
    sizes = ({1: 1.0}, _log_uniform(2, 8), _log_uniform(9, values["largest_nodes"]))
    mix = tuple(
        JobClass(count, values["app"], size, LogUniform(*ends))
        for size, counts in zip(sizes, _COUNTS, strict=True)
        for ends, count in zip(ends_s, counts, strict=True)
    )
    return submitted_to_target("laurel2-week", PARAMETERS, given, mix)


def _log_uniform(low: int, high: int) -> dict[int, float]:
    """Shares of node counts in proportion to 1 / nodes, both ends included.

    Examples
    --------
    >>> _log_uniform(1, 2) == {1: 2 / 3, 2: 1 / 3}
    True
    """
    weights = {size: 1.0 / size for size in range(low, high + 1)}
    total = sum(weights.values())
    return {size: weight / total for size, weight in weights.items()}


GENERATOR = Generator(
    name="laurel2-week",
    doc="29,603 jobs in the classes of a week of the machine Laurel 2.",
    source="Zhou, Fukazawa & Nakashima, Energy Aware Scheduler of Single/Multi-node Jobs, Table 4",
    parameters=PARAMETERS,
    function=laurel2_week,
)
