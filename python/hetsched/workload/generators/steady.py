"""The second reading of the VAHRM paper's log: weeks of larger and longer jobs that the machine can just serve."""

from __future__ import annotations

from hetsched.checks import Faults
from hetsched.workload.generators.cpu_gpu_log import AFTER_SIZES, BEFORE_SIZES, logged, note_contradictions
from hetsched.workload.generators.generator import Generator
from hetsched.workload.generators.limited import power_law_sizes
from hetsched.workload.generators.parameters import Parameter, taken
from hetsched.workload.jobs import Workload

__all__ = ["GENERATOR", "PARAMETERS", "steady"]

PARAMETERS = (
    *BEFORE_SIZES,
    Parameter("mean_nodes", "mean size", "number", "nodes", 1.001, 1e6),
    *AFTER_SIZES,
)


def steady(
    *,
    nodes: int = 540,
    jobs: int = 10_000,
    load: float = 0.85,
    sr: float = 1.0,
    mix: int | str | None = "5:5-medium",
    mean_nodes: float = 10.0,
    largest_nodes: int = 128,
    mean_runtime_s: float = 18_000.0,
    sigma: float = 1.4,
    longest_s: float | None = 86_400.0,
    walltime_factor: float | None = None,
    seed: int = 0,
) -> Workload:
    """Some six weeks of CPU and GPU jobs on 540 nodes that can just serve them.

    As `overloaded`, but the paper's 10,000 jobs are taken from all of the log's two months, and they are the machine's
    whole work. Assumed of them:

    * **Sizes** 1, 2, 3 ... `largest_nodes`, in proportion to a power of the size that makes the mean `mean_nodes`.
    * **Run lengths** log-normal, those above `longest_s` cut to it, their mean `mean_runtime_s` after that. Both
      readings are of one log, so both have its limit of a day. (Without one the longest of 10,000 runs takes weeks, and
      the makespan is what becomes of it.)
    * **Submissions** as in `overloaded`. The load decides their span: 10,000 jobs of 10 nodes and 5 hours are 45 days
      of 540 nodes at 0.85, and would be a load of 0.63 if they were spread over 61 days; ``jobs=13_440`` fills these.

    Parameters
    ----------
    nodes, jobs, load, sr, mix, walltime_factor, seed
        As in `overloaded`.
    mean_nodes
        Mean size, above 1 and at most the mean of all sizes.
    largest_nodes
        The largest size.
    mean_runtime_s, sigma, longest_s
        As in `overloaded`.

    Raises
    ------
    ConfigError
        As `overloaded`.

    Examples
    --------
    >>> jobs = steady(seed=1).to_polars()
    >>> jobs["node_count"].max() <= 128, round(jobs["submit_s"].max() / 86_400 / 45, 1)
    (True, 1.0)
    """
    faults = Faults()
    values = taken(PARAMETERS, locals(), faults)
    note_contradictions(values, faults)
    if not faults.found and mean_nodes > (1 + largest_nodes) / 2:
        faults.add("mean_nodes", mean_nodes, f"at most {(1 + largest_nodes) / 2:g}, the mean of 1 to {largest_nodes}")
    faults.check()
    return logged("steady", values, power_law_sizes(values["mean_nodes"], values["largest_nodes"]))


GENERATOR = Generator(
    name="steady",
    doc="10,000 CPU and GPU jobs in six weeks on 540 nodes, 0.85 of what they can do.",
    source="VAHRM paper, section VI-B; its log read as 10,000 jobs out of two months",
    parameters=PARAMETERS,
    function=steady,
)
