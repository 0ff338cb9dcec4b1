"""``swa-multi``: jobs of one and of eight nodes under a 40 W cap (COA/SWA paper, section 3.2, Table 5 and Fig. 13).

Jobs A, B, C and D of HPCG on 665 nodes at utilization 0.8 (busy) and 0.4 (free). Under the cap all nodes draw alike
and differ in speed, and a job of eight nodes runs at its slowest.
"""

from __future__ import annotations

from typing import Any

import polars as pl

from hetsched.experiments.capped import (
    JOINT,
    NODES,
    PARAMETERS,
    POLICIES,
    SOURCE,
    SUBMIT_INTERVAL_S,
    against_paa,
    beyond,
    drawn,
    repeated,
    savings,
    why,
    yours,
)
from hetsched.experiments.claims import statement, value
from hetsched.experiments.experiment import Experiment, Parameter, Repetition, Row
from hetsched.experiments.runs import Runs
from hetsched.workload.generators import swa_multi

__all__ = ["EXPERIMENT"]

RUNTIME_S = 325.0
LONG_RATIO = 10.0
PAPER_SWA_FREE = 5.36


def _repeat(repetition: Repetition) -> list[dict[str, Any]]:
    return repeated(
        repetition,
        lambda utilization: swa_multi(
            nodes=NODES,
            utilization=utilization,
            runtime_s=RUNTIME_S,
            long_ratio=LONG_RATIO,
            interval_s=SUBMIT_INTERVAL_S,
            seed=repetition.seed,
        ),
    )


def _rows(frame: pl.DataFrame) -> list[Row]:
    runs = Runs(frame, baseline="naive")
    swa, paa = savings(runs, "swa"), savings(runs, "paa")
    return [
        value("SWA saving, free, %", swa["free"], paper=PAPER_SWA_FREE, undisclosed=JOINT),
        statement("SWA saving, busy, %", swa["busy"], claim="SWA saves against naive"),
        statement("PAA saving, free, %", paa["free"], claim="PAA saves against naive"),
        statement("PAA saving, busy, %", paa["busy"], claim="PAA saves against naive"),
        *against_paa(swa, paa),
        statement("PAA free - busy, points", paa["free"] - paa["busy"], claim="PAA saves more when free"),
        *why(runs),
        *beyond(runs),
    ]


EXPERIMENT = Experiment(
    name="swa-multi",
    source=SOURCE,
    parameters=(
        Parameter("jobs", {"A": 774, "B": 1043, "C": 17, "D": 51}, "printed; A, B of 1 node, C, D of 8"),
        Parameter("runtime_s", RUNTIME_S, "of A and C, nominal: the middle of the printed range under the cap"),
        Parameter("long_ratio", LONG_RATIO, "printed: 10 times the iterations in B and D"),
        *PARAMETERS,
    ),
    policies=POLICIES,
    repetitions=100,
    quick_repetitions=6,
    repeat=_repeat,
    rows=_rows,
    yours=yours,
    savings=lambda frame: drawn(frame, paper={("free", "swa"): PAPER_SWA_FREE}),
)
"""Table 5 and Figure 13 of the paper."""
