"""The multi-node workload of the COA/SWA paper: HPCG on one and on eight nodes, short and ten times longer."""

from __future__ import annotations

from hetsched.checks import Faults
from hetsched.workload.generators.distributions import LONGEST_S, Fixed
from hetsched.workload.generators.generator import Generator
from hetsched.workload.generators.mixes import JobClass
from hetsched.workload.generators.parameters import NODES, SEED, WALLTIME_FACTOR, Parameter, taken
from hetsched.workload.generators.utilization_targeted import CONTROL, submitted_to_target
from hetsched.workload.jobs import Workload

__all__ = ["GENERATOR", "PARAMETERS", "swa_multi"]

PARAMETERS = (
    NODES,
    Parameter("runtime_s", "run length of one iteration of HPCG", "number", "seconds", 1e-3, 1e6),
    Parameter("long_ratio", "run length of B and D over that of A and C", low=1.0, high=1e4),
    Parameter("copies", "how often the mix is taken", "whole", "", 1, 10_000),
    *CONTROL,
    WALLTIME_FACTOR,
    SEED,
)


def swa_multi(
    *,
    nodes: int = 665,
    utilization: float = 0.8,
    runtime_s: float = 140.5,
    long_ratio: float = 10.0,
    copies: int = 1,
    fluctuation: float = 0.04,
    fluctuation_s: float | None = None,
    ramp_s: float | None = None,
    interval_s: float = 10.0,
    walltime_factor: float | None = None,
    seed: int = 0,
) -> Workload:
    """Jobs A, B, C, D on 665 nodes (COA/SWA paper, Table 5).

    A: 774 jobs of 1 node, 1 iteration; B: 1,043 of 1 node, 10 iterations; C: 17 of 8 nodes, 1 iteration; D: 51 of 8
    nodes, 10 iterations. Assumed: an iteration takes 140.5 s at nominal speed, the middle of the 130 to 151 s that the
    paper measured for 104 × 104 × 104 points without a cap, also on 8 nodes (208³ points, as many a node); what a cap
    adds is the variation table's time factor. All are the application ``hpcg``.

    Parameters
    ----------
    nodes, utilization
        As in `utilization_targeted`; the paper's free scenario is 0.4.
    runtime_s
        Of A and C, seconds.
    long_ratio
        How much longer B and D run.
    copies
        How often the mix is taken: one is 4,100 s of 532 busy nodes, and filling and emptying are a large part of that.
    fluctuation, fluctuation_s, ramp_s, interval_s, walltime_factor, seed
        As in `utilization_targeted`.

    Raises
    ------
    ConfigError
        With every fault.

    Examples
    --------
    >>> swa_multi(seed=1).to_polars()["node_count"].value_counts(sort=True).rows()
    [(1, 1817), (8, 68)]
    """
    given = locals()
    faults = Faults()
    values = taken(PARAMETERS, given, faults)
    if not faults.found and runtime_s * long_ratio > LONGEST_S:
        most = f"at most {LONGEST_S / runtime_s:g}: no run is longer than {LONGEST_S:g} s"
        faults.add("long_ratio", long_ratio, most)
    faults.check()
    short_s, long_s = values["runtime_s"], values["runtime_s"] * values["long_ratio"]
    rows = ((774, 1, short_s), (1043, 1, long_s), (17, 8, short_s), (51, 8, long_s))
    mix = tuple(JobClass(count * values["copies"], "hpcg", size, Fixed(length)) for count, size, length in rows)
    return submitted_to_target("swa-multi", PARAMETERS, given, mix)


GENERATOR = Generator(
    name="swa-multi",
    doc="1,885 HPCG jobs of 1 and 8 nodes, short and ten times longer, on 665 nodes.",
    source="Zhou, Fukazawa & Nakashima, Energy Aware Scheduler of Single/Multi-node Jobs, Table 5",
    parameters=PARAMETERS,
    function=swa_multi,
)
