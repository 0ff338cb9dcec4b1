"""Words that arguments take, as types: annotations use them, and checks read them (`typing.get_args`)."""

from __future__ import annotations

from typing import Literal, TypeAlias

__all__ = [
    "Allocation",
    "Arrivals",
    "BelowIdle",
    "Bound",
    "Cancelled",
    "CurveScale",
    "Direction",
    "Illegal",
    "Impute",
    "KnownDraws",
    "LearnerName",
    "MetricNeeds",
    "NamedApps",
    "OnBadLine",
    "OnFailure",
    "OnUnknownApp",
    "OnUnsupported",
    "ParameterKind",
    "PowerModelName",
    "QueueOrder",
    "RenderMode",
    "SplitName",
    "Unfit",
    "UpTimes",
    "Verdict",
    "Walltimes",
]

Allocation: TypeAlias = Literal["concentrate", "spread"]
"""Nodes that a plan takes first for a queue's jobs: those with the fewest free slots, or with the most."""

Arrivals: TypeAlias = Literal["none", "resample"]
"""Jobs that may be submitted later: none, or as many as in the weeks before."""

BelowIdle: TypeAlias = Literal["keep", "clip"]
"""Watts of a device below its idle draw are kept, or set to it."""

Bound: TypeAlias = Literal["starts", "all"]
"""Bounds of a run other than that of its window: given its starts, or both."""

Cancelled: TypeAlias = Literal["keep", "drop"]
"""Jobs of a log that were cancelled before they ran are kept with a length of 0, or left out."""

CurveScale: TypeAlias = Literal["plain", "root", "log"]
"""Scales on which a curve of a power model reads a feature."""

Direction: TypeAlias = Literal["lower", "higher", "neither"]
"""Values of a metric that are better."""

Illegal: TypeAlias = Literal["error", "noop"]
"""An illegal action of an agent is an error, or taken as "nothing more now"."""

Impute: TypeAlias = Literal["node-ratio", "app-median"]
"""Stand-ins for an application that was not measured on a node."""

KnownDraws: TypeAlias = Literal["measured", "table", "tdp"]
"""Knowledge of a job's own draw: the measurement, the table only, or nothing (the TDP of its nodes stands for it)."""

LearnerName: TypeAlias = Literal["linear", "random_forest", "lightgbm"]
"""Learners of the stages of power models."""

MetricNeeds: TypeAlias = Literal["", "bound", "starts", "prices", "limits", "pue", "baseline"]
"""What a run needs for a metric; empty: nothing."""

NamedApps: TypeAlias = Literal["keep", "replace"]
"""Applications that a log names are kept, or replaced, where jobs are given applications by likeness."""

OnBadLine: TypeAlias = Literal["error", "skip"]
"""A line of a job log that is malformed is an error, or is skipped and counted."""

OnFailure: TypeAlias = Literal["fail", "requeue"]
"""Jobs on a node that fails end as failed, or are queued again."""

OnUnknownApp: TypeAlias = Literal["error", "nominal"]
"""An application that a table does not hold is an error, or runs at nominal draw and speed."""

OnUnsupported: TypeAlias = Literal["error", "warn"]
"""Options of a slurm.conf that are not simulated are an error, or left out with a warning."""

ParameterKind: TypeAlias = Literal["printed", "assumed", "measured"]
"""Sources of an experiment's parameter: the paper, an assumption, or a measurement."""

PowerModelName: TypeAlias = Literal["two-stage", "single-stage", "power-ratio", "shared-response"]
"""Kinds of power models, as commands write them."""

QueueOrder: TypeAlias = Literal["fcfs", "smallest", "largest", "shortest", "longest", "smallest-area"]
"""Orders that a queue may have of its own."""

RenderMode: TypeAlias = Literal["ansi", "rgb_array"]
"""Forms in which an environment shows a run: text, or a picture."""

SplitName: TypeAlias = Literal["in_sample", "leave_one_app_out", "new_device"]
"""Parts of the data that a power model is not fitted on."""

Unfit: TypeAlias = Literal["wait", "reject"]
"""Jobs that fit between no two windows of a contract wait, or are rejected."""

UpTimes: TypeAlias = Literal["exponential", "weibull"]
"""Distributions of the time between a node's repair and its next failure."""

Verdict: TypeAlias = Literal["yes", "shape", "no", "uncertain", "not tested"]
"""Results of a claim: it holds, in shape only, or does not; the repetitions do not decide it, or nothing was run."""

Walltimes: TypeAlias = Literal["fixed", "stretch"]
"""Walltimes hold as they are, or as long as the job's nodes take for what the walltime allows at nominal speed."""


def __dir__() -> list[str]:
    return sorted(__all__)
