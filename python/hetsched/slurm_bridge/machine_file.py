"""A platform's file of a partition: what scontrol says of its nodes, without its own names among their features."""

from __future__ import annotations

import re
import tempfile
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hetsched.errors import ConfigError, PlatformWarning
from hetsched.platform import Platform
from hetsched.slurm_bridge.calls import Slurm
from hetsched.slurm_bridge.facts import record_text
from hetsched.slurm_bridge.nodes import read_nodes

_NAME = re.compile(r"^NodeName=(\S+)", re.MULTILINE)
_FEATURES = re.compile(r"^( *(?:AvailableFeatures|ActiveFeatures)=)(\S*)", re.MULTILINE)


def read_platform_of(slurm: Slurm, partition: str, watts: Mapping[str, Any]) -> Platform:
    """The nodes of a partition as a platform, in Slurm's order.

    Parameters
    ----------
    slurm
        The cluster.
    partition
        Its partition.
    watts
        Draws of nodes, as `Platform.from_slurm` takes them.

    Raises
    ------
    CallError
        If Slurm gives no answer.
    ConfigError
        If the partition has no nodes.
    """
    own = {node.name for node in read_nodes(slurm, partition)}
    if not own:
        raise ConfigError([("partition", f"`{partition}`", "a partition with nodes")])
    text = partition_text(record_text(slurm, "node"), own)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "nodes.txt"
        path.write_text(text, encoding="utf-8")
        with warnings.catch_warnings():
            # States of nodes are left out on purpose, and the command says which watts were assumed.
            warnings.simplefilter("ignore", PlatformWarning)
            whole = Platform.from_slurm(path, **watts)
    # Queues are Slurm's business, and each of these nodes is of one partition.
    return Platform(whole.classes, exclusive=True)


def partition_text(text: str, names: set[str]) -> str:
    """The records of ``scontrol show node`` that are about these nodes, in which no feature is a node's own name."""
    records = [record.strip() for record in re.split(r"\n\s*\n", text)]
    return "\n\n".join(_without_own(record) for record in records if _name(record) in names) + "\n"


def _name(record: str) -> str:
    found = _NAME.search(record)
    return found[1] if found else ""


def _without_own(record: str) -> str:
    """A node's record without its name among its features."""
    name = _name(record)

    def others(line: re.Match[str]) -> str:
        return line[1] + (",".join(feature for feature in line[2].split(",") if feature != name) or "(null)")

    return _FEATURES.sub(others, record)
