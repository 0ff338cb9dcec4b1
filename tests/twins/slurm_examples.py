"""Golden schedules of Slurm's scheduler: machine, options, jobs, and the starts and nodes they have.

Each job runs 0.2 s longer than written. Nothing takes time but what a row says: no clean-up, no cycle. Options have the
names and units of slurm.conf; `beats` are the times of runs that are made, `first_..._s` the first of a row of beats.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

E = 1_800_000_000
"""A multiple of 60."""
TIGHT = {"batch_sched_delay": 1, "sched_interval": 1, "bf_interval": 1, "bf_resolution": 1}
NO_DELAYS = {"KillWait": 2, "clean_up_s": 0.0, "cycle_s": 0.0, "test_s": 0.0, "main_period_s": 1.0}
BACKFILL_ONLY = {**NO_DELAYS, **TIGHT, "started_s": -0.5, "first_backfill_s": 0.5, "beats": {"main": ()}}
BOTH = {**NO_DELAYS, **TIGHT, "started_s": -0.6, "first_main_s": 0.4, "first_backfill_s": 0.5}


@dataclass(frozen=True)
class Written:
    """A job: submission, nodes, run time without the 0.2 s, limit in minutes."""

    submit_s: float
    nodes: int
    run_s: float
    limit_min: int
    partition: str | None = None
    licences: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Example:
    name: str
    nodes: int
    options: dict[str, Any]
    jobs: list[Written]
    starts: dict[int, tuple[float, tuple[int, ...]]]
    """Allocation of a job, and its nodes counted from 1."""
    partitions: dict[str, tuple[int, tuple[int, ...]]] = field(default_factory=dict)
    """Tier and nodes, counted from 1."""
    script_starts: dict[int, float] = field(default_factory=dict)
    """Starts of scripts that differ from the allocation."""
    power: tuple[tuple[float, str, str], ...] = ()
    """Some of what happens to nodes."""


def w(count: int) -> dict[str, int]:
    return {"w": count}


FIRST = [Written(0, 2, 50, 1), Written(0, 1, 50, 2), Written(2, 3, 50, 1), Written(2, 1, 50, 1)]
LICENSED = [
    Written(0, 1, 20, 1, licences=w(2)),
    Written(1, 1, 20, 1, licences=w(3)),
    Written(2, 1, 40, 2, licences=w(1)),
]

EXAMPLES = [
    Example(
        "1a",
        4,
        {**BACKFILL_ONLY, "epoch_s": E},
        FIRST,
        {1: (0.5, (1, 2)), 2: (0.5, (3,)), 3: (51.5, (1, 2, 3)), 4: (2.5, (4,))},
    ),
    Example(
        "1b",
        4,
        {**BACKFILL_ONLY, "epoch_s": E + 1},
        FIRST,
        {1: (0.5, (1, 2)), 2: (0.5, (3,)), 3: (51.5, (1, 2, 3)), 4: (51.5, (4,))},
    ),
    Example(
        "2a",
        3,
        {**BACKFILL_ONLY, "epoch_s": E + 1},
        [Written(0, 2, 90, 2), Written(1, 3, 20, 1), Written(60, 1, 10, 1)],
        {1: (0.5, (1, 2)), 2: (91.5, (1, 2, 3)), 3: (112.5, (1,))},
    ),
    Example(
        "2b",
        3,
        {**BACKFILL_ONLY, "epoch_s": E + 1},
        [Written(0, 2, 90, 2), Written(1, 3, 20, 1), Written(59, 1, 10, 1)],
        {1: (0.5, (1, 2)), 2: (91.5, (1, 2, 3)), 3: (59.5, (3,))},
    ),
    Example(
        "3",
        10,
        {**BACKFILL_ONLY, "epoch_s": E + 1},
        [
            Written(0, 2, 3, 1),
            Written(0, 1, 90, 2),
            Written(0, 3, 3, 1),
            Written(0, 1, 90, 2),
            Written(0, 1, 3, 1),
            Written(0, 1, 90, 2),
            Written(0, 1, 3, 1),
            Written(4, 1, 9, 1),
            Written(4, 2, 9, 1),
            Written(4, 4, 9, 1),
        ],
        {
            1: (0.5, (1, 2)),
            2: (0.5, (3,)),
            3: (0.5, (4, 5, 6)),
            4: (0.5, (7,)),
            5: (0.5, (8,)),
            6: (0.5, (9,)),
            7: (0.5, (10,)),
            8: (4.5, (8,)),
            9: (4.5, (1, 2)),
            10: (4.5, (4, 5, 6, 10)),
        },
    ),
    Example(
        "4",
        4,
        {**NO_DELAYS, "epoch_s": E + 0.5, "started_s": -5.0, "first_main_s": 0.0, "first_backfill_s": 20.0},
        [Written(0.2, 3, 10, 1), Written(0.3, 2, 10, 1), Written(0.4, 1, 30, 5), Written(12.1, 1, 5, 1)],
        {1: (1.0, (1, 2, 3)), 2: (12.0, (1, 2)), 3: (12.0, (3,)), 4: (15.0, (4,))},
    ),
    Example(
        "5",
        4,
        {**BACKFILL_ONLY, "epoch_s": E + 1, "bf_max_job_test": 2},
        [Written(0, 3, 20, 1), Written(1, 4, 5, 1), Written(1, 4, 5, 1), Written(1, 1, 5, 1)],
        {1: (0.5, (1, 2, 3)), 2: (21.5, (1, 2, 3, 4)), 3: (27.5, (1, 2, 3, 4)), 4: (33.5, (1,))},
    ),
    Example(
        "6",
        4,
        {**BOTH, "epoch_s": E, "beats": {"backfill": ()}},
        [
            Written(0, 2, 10, 1, "hi"),
            Written(1, 2, 9, 1, "hi"),
            Written(1, 2, 5, 1, "lo"),
            Written(1, 1, 5, 1, "lo"),
        ],
        {1: (0.4, (1, 2)), 2: (11.4, (1, 2)), 3: (11.4, (3, 4)), 4: (17.4, (3,))},
        {"hi": (2, (1, 2, 3)), "lo": (1, (3, 4))},
    ),
    Example(
        "7",
        4,
        {**BACKFILL_ONLY, "epoch_s": E, "Licenses": w(3)},
        LICENSED,
        {1: (0.5, (1,)), 2: (43.5, (1,)), 3: (2.5, (2,))},
    ),
    Example(
        "8",
        4,
        {**BACKFILL_ONLY, "epoch_s": E, "Licenses": w(3), "bf_licenses": True},
        LICENSED,
        {1: (0.5, (1,)), 2: (21.5, (1,)), 3: (42.5, (1,))},
    ),
    Example(
        "9",
        3,
        {
            **BOTH,
            "epoch_s": E + 1,
            "started_s": -6.6,
            "first_scan_s": 0.2,
            "SuspendTime": 5,
            "SuspendTimeout": 4,
            "SuspendRate": 2,
            "power_save_interval": 1,
            "boot_s": 3.0,
        },
        [Written(0, 3, 2, 1), Written(12, 1, 5, 1), Written(25, 2, 5, 1)],
        {1: (0.4, (1, 2, 3)), 2: (12.4, (3,)), 3: (25.4, (1, 3))},
        script_starts={3: 53.4},
        power=((8.2, "suspend", "n1"), (8.2, "suspend", "n2"), (26.2, "resume", "n1"), (29.2, "up", "n1")),
    ),
    Example(
        "10",
        4,
        {
            **BOTH,
            "epoch_s": E,
            "PriorityType": "priority/multifactor",
            "PriorityWeightAge": 1000,
            "PriorityMaxAge": 120,
            "PriorityWeightJobSize": 1000,
            "PriorityCalcPeriod": 60,
            "first_recompute_s": 0.0,
        },
        [Written(0, 4, 70, 2), Written(1, 1, 5, 1), Written(2, 3, 5, 1), Written(62, 4, 5, 1)],
        {1: (0.4, (1, 2, 3, 4)), 2: (71.4, (4,)), 3: (71.4, (1, 2, 3)), 4: (77.4, (1, 2, 3, 4))},
    ),
]
