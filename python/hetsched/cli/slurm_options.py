"""Options of the verbs about a Slurm that runs."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, TypeAlias

from hetsched.checks import Faults
from hetsched.cli.declare import option

if TYPE_CHECKING:
    from hetsched.slurm_bridge.calls import Slurm

SLURM = "Slurm"
_NAME = re.compile(r"[A-Za-z0-9_.][A-Za-z0-9_.-]{0,63}")


def partition_name(faults: Faults, option: str, text: str) -> str:
    """The name of a partition: no option of Slurm's commands, and no list."""
    if not _NAME.fullmatch(text):
        faults.add(option, text, "the name of one partition")
    return text


Partition: TypeAlias = Annotated[str, option("--partition", "NAME", "The partition.", SLURM, read=partition_name)]

EventsPath: TypeAlias = Annotated[
    str | None,
    option("--events", "FILE", "A socket on which hooks of Slurm tell of starts and ends: a reading at once.", SLURM),
]


def slurm() -> Slurm:
    """The Slurm that PATH and SLURM_CONF lead to."""
    from hetsched.slurm_bridge.calls import Slurm

    return Slurm()
