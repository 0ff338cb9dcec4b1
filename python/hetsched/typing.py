"""Words that arguments take, as types: annotations use them, and checks read them (`typing.get_args`)."""

from __future__ import annotations

from typing import Literal, TypeAlias

OnFailure: TypeAlias = Literal["fail", "requeue"]
"""Jobs on a node that fails end as failed, or are queued again."""

OnUnknownApp: TypeAlias = Literal["error", "nominal"]
"""An application that a table does not hold is an error, or runs at nominal draw and speed."""

Walltimes: TypeAlias = Literal["fixed", "stretch"]
"""Walltimes hold as they are, or as long as the job's nodes take for what the walltime allows at nominal speed."""

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

Illegal: TypeAlias = Literal["error", "noop"]
"""An illegal action of an agent is an error, or taken as "nothing more now"."""

RenderMode: TypeAlias = Literal["ansi", "rgb_array"]
"""Forms in which an environment shows a run: text, or a picture."""
