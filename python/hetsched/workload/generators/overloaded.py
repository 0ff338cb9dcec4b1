"""The first reading of the VAHRM paper's log: a few days of more work than the machine can do."""

from __future__ import annotations

from hetsched.checks import Faults
from hetsched.workload.generators.cpu_gpu_log import AFTER_SIZES, BEFORE_SIZES, logged, note_contradictions
from hetsched.workload.generators.generator import Generator
from hetsched.workload.generators.limited import geometric_sizes
from hetsched.workload.generators.parameters import Parameter, taken
from hetsched.workload.jobs import Workload

__all__ = ["GENERATOR", "PARAMETERS", "overloaded"]

PARAMETERS = (
    *BEFORE_SIZES,
    Parameter("size_ratio", "how frequent a size 2^k is over the one before", low=1e-3, high=10.0),
    *AFTER_SIZES,
)


def overloaded(
    *,
    nodes: int = 540,
    jobs: int = 10_000,
    load: float = 1.2,
    sr: float = 1.0,
    mix: int | str | None = "5:5-medium",
    size_ratio: float = 0.69,
    largest_nodes: int = 64,
    mean_runtime_s: float = 3600.0,
    sigma: float = 1.8,
    longest_s: float | None = 86_400.0,
    walltime_factor: float | None = None,
    seed: int = 0,
) -> Workload:
    """Some five days of CPU and GPU jobs on 540 nodes that are asked for more than they can do.

    The VAHRM paper takes 10,000 of the 118,890 records that TSUBAME3.0 logged in June and July 2019 and does not say
    which; the log is not public. Here they follow each other, as 10,000 do in five days of the log; `steady` is the
    other reading. Assumed of them:

    * **Sizes** 1, 2, 4 ... `largest_nodes`, each `size_ratio` times as frequent as the one before: 7.5 nodes on
      average. (Read as a probability of success, 0.69 would give 1.8 nodes and all jobs in a little over a day.)
    * **Run lengths** log-normal, those above `longest_s` cut to it, as jobs that reach a queue's limit are; their mean
      is `mean_runtime_s` after that, and before it 13 % more.
    * **Submissions** of a Poisson process from second 0 on, scaled so that the offered load, from the first to the
      last, is `load`, exactly; then divided by `sr`, so that it is ``load × sr``.
    * **Users and queues** none: jobs that a user repeats are what `app` says, or flags drawn by `flag_first_runs`.

    With one seed, submissions, sizes and run lengths are the same for all mixes, and CPU jobs of a mix with few of them
    are CPU jobs of one with more.

    Parameters
    ----------
    nodes
        Of the machine.
    jobs
        How many, at least 2.
    load
        Offered load where `sr` is 1.
    sr
        The paper's shrink ratio of submission times. (Of any workload: `Workload.scale_arrivals`.)
    mix
        Workload 0 to 8 of the paper's Table III, or its name, ``"9:1-small"`` (CPU:GPU and power). Fills ``app``
        (``cpu-small`` ... ``gpu-large``: job types 1 to 6 of Table IV) and ``device``. None: neither is known.
    size_ratio
        From a size to twice the size.
    largest_nodes
        No job is larger.
    mean_runtime_s, sigma
        Mean of the run lengths, seconds; standard deviation of their logarithms.
    longest_s
        The longest run, seconds. None: no limit.
    walltime_factor
        Requested over run time, at least 1. None: no job asks for a time, and backfilling knows run lengths exactly.
    seed
        All chance comes from it.

    Raises
    ------
    ConfigError
        With every fault: a value out of its range, parameters that contradict each other, times longer than any
        workload holds.

    Examples
    --------
    >>> workload = overloaded(mix="9:1-small", seed=1)
    >>> workload.to_polars()["app"].value_counts(sort=True).rows()
    [('cpu-small', 9000), ('gpu-small', 1000)]
    >>> round(workload.offered_load(hs.Platform.homogeneous(nodes=540, idle_w=320, tdp_w=1440)), 6)
    1.2
    """
    faults = Faults()
    values = taken(PARAMETERS, locals(), faults)
    note_contradictions(values, faults)
    faults.check()
    return logged("overloaded", values, geometric_sizes(values["size_ratio"], values["largest_nodes"]))


GENERATOR = Generator(
    name="overloaded",
    doc="10,000 CPU and GPU jobs in five days on 540 nodes, 1.2 times what they can do.",
    source="VAHRM paper, section VI-B; its log read as 10,000 jobs in a row",
    parameters=PARAMETERS,
    function=overloaded,
)
