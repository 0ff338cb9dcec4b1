"""The environment of a job's command: a few settings of this process, its own, and what it has been given to run on."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

KEPT = ("PATH", "HOME", "LANG", "USER", "TMPDIR")
"""Settings of this process that every command gets."""


@dataclass(frozen=True)
class Given:
    """Nodes, CPUs and cap that one run of a job has been given."""

    job: int
    attempt: int
    nodes: Sequence[int]
    names: Sequence[str]
    cpus: Sequence[int]
    cap_w: float | None
    threads: int
    """Its share of the CPUs: where nodes are slots, all of them have the same ones."""
    folder: str
    """The folder of the whole run."""

    @property
    def mark(self) -> dict[str, str]:
        """Settings by which a process is known to be of this run of this job."""
        return {
            "HETSCHED_JOB_ID": str(self.job),
            "HETSCHED_ATTEMPT": str(self.attempt),
            "HETSCHED_DIR": self.folder,
        }


def environment_of(
    given: Given, own: Mapping[str, str], *, exports: bool, others: Sequence[str] = ()
) -> dict[str, str]:
    """Settings of a command: this process's (all with `exports`, or else a few), its `own`, and what it was `given`.

    `others` are beginnings of names of settings that are handed on, too.
    """
    outer = os.environ
    kept = {name: value for name, value in outer.items() if exports or name in KEPT or name.startswith(tuple(others))}
    threads = {"OMP_NUM_THREADS": str(given.threads)} if given.threads else {}
    cap = {} if given.cap_w is None else {"HETSCHED_CAP_W": f"{given.cap_w:g}"}
    return {
        **threads,
        **kept,
        **own,
        **given.mark,
        "HETSCHED_NODES": ",".join(map(str, given.nodes)),
        "HETSCHED_NODE_NAMES": ",".join(given.names),
        "HETSCHED_CPUS": ",".join(map(str, given.cpus)),
        **cap,
    }
