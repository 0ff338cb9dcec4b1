"""``swa-history``: a week of Laurel 2 under the cap (COA/SWA paper, Table 4 and the question of its conclusion).

The paper counts a week's jobs by size and length, then evaluates a mix that leaves out jobs of seconds and of hours,
and asks: "When a workload includes jobs lasting for hours and jobs only executing for few seconds, it must be
considered that whether SWA still saves energy or not." Here the whole week runs.
"""

from __future__ import annotations

from typing import Any

import polars as pl

from hetsched.experiments.capped import (
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
from hetsched.experiments.claims import statement
from hetsched.experiments.experiment import Experiment, Parameter, Repetition, Row
from hetsched.experiments.runs import Runs
from hetsched.workload.generators import laurel2_week

__all__ = ["EXPERIMENT"]

SHORTEST_S, LONGEST_S, LARGEST_NODES = 1.0, 86_400.0, 32
BORDERS_S = (360.0, 3600.0)
_CLASSES = {"class_0_j": "under 360 s", "class_1_j": "of 360 to 3,600 s", "class_2_j": "over 3,600 s"}


def _repeat(repetition: Repetition) -> list[dict[str, Any]]:
    return repeated(
        repetition,
        lambda utilization: laurel2_week(
            nodes=NODES,
            utilization=utilization,
            shortest_s=SHORTEST_S,
            longest_s=LONGEST_S,
            largest_nodes=LARGEST_NODES,
            interval_s=SUBMIT_INTERVAL_S,
            seed=repetition.seed,
        ),
        borders_s=BORDERS_S,
    )


def _rows(frame: pl.DataFrame) -> list[Row]:
    runs = Runs(frame, baseline="naive")
    swa, paa = savings(runs, "swa"), savings(runs, "paa")
    open_question = "SWA still saves when jobs last seconds and hours (the paper's open question)"
    return [
        statement("SWA saving, busy, %", swa["busy"], claim=open_question),
        statement("SWA saving, free, %", swa["free"], claim=open_question),
        statement("PAA saving, busy, %", paa["busy"], claim="PAA saves against naive"),
        statement("PAA saving, free, %", paa["free"], claim="PAA saves against naive"),
        *against_paa(swa, paa),
        *_by_length(runs),
        *why(runs),
        *beyond(runs),
    ]


def _by_length(runs: Runs) -> list[Row]:
    """Who saves: jobs of seconds, of minutes, or of hours."""
    return [
        statement(
            f"SWA saving on jobs {length}, {state}, %", runs.saving("swa", state, column=column), claim="they save, too"
        )
        for state in ("busy", "free")
        for column, length in _CLASSES.items()
    ]


EXPERIMENT = Experiment(
    name="swa-history",
    source=SOURCE,
    parameters=(
        Parameter(
            "jobs", {"1": [10472, 7749, 10437], "2-8": [253, 172, 516], ">8": [1, 0, 3]}, "printed: by nodes and length"
        ),
        Parameter("length_classes_s", [SHORTEST_S, *BORDERS_S, LONGEST_S], "inner borders printed, ends assumed"),
        Parameter("lengths", "log-uniform in a class", "assumed; as they would be under the cap"),
        Parameter("sizes", "log-uniform in a class", "assumed"),
        Parameter("largest_nodes", LARGEST_NODES, "assumed"),
        *PARAMETERS,
    ),
    policies=POLICIES,
    repetitions=30,
    quick_repetitions=4,
    repeat=_repeat,
    rows=_rows,
    yours=yours,
    savings=lambda frame: drawn(frame, paper={}),
)
"""Table 4 of the paper, which it prints and does not run."""
