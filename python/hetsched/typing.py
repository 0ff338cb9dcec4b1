"""Words that arguments take, as types: annotations use them, and checks read them (`typing.get_args`)."""

from __future__ import annotations

from typing import Literal, TypeAlias

OnFailure: TypeAlias = Literal["fail", "requeue"]
"""Jobs on a node that fails end as failed, or are queued again."""

OnUnknownApp: TypeAlias = Literal["error", "nominal"]
"""An application that a table does not hold is an error, or runs at nominal draw and speed."""

Walltimes: TypeAlias = Literal["fixed", "stretch"]
"""Walltimes hold as they are, or as long as the job's nodes take for what the walltime allows at nominal speed."""

KnownDraws: TypeAlias = Literal["measured", "table", "tdp"]
"""What decisions know of a job's draw before it has run: its measured draw, a table's, or the nodes' TDP."""

LearnerName: TypeAlias = Literal["linear", "random_forest", "lightgbm"]
"""Learners of the stages of power models."""

PowerModelName: TypeAlias = Literal["two-stage", "single-stage", "power-ratio", "shared-response"]
"""Kinds of power models."""

SplitName: TypeAlias = Literal["in_sample", "leave_one_app_out", "new_device"]
"""Parts of the measured data that a power model is not fitted on when it is evaluated."""

Allocation: TypeAlias = Literal["concentrate", "spread"]
"""Nodes that a plan takes first for a queue's jobs: those with the fewest free slots, or with the most."""

QueueOrder: TypeAlias = Literal["fcfs", "smallest", "largest", "shortest", "longest", "smallest-area"]
"""Orders that a queue may have of its own."""

BelowIdle: TypeAlias = Literal["keep", "clip"]
"""Watts of a device below its idle draw are kept, or set to it."""

UpTimes: TypeAlias = Literal["exponential", "weibull"]
"""Distributions of the time between a node's repair and its next failure."""

Unfit: TypeAlias = Literal["wait", "reject"]
"""Jobs that fit between no two windows of a contract wait, or are rejected."""
