"""Launchers: the words that start a command on its nodes, on this machine or as a step of a Slurm allocation.

Both are run by the same local shim, so that the claim, the status and the journal of a job are on one machine.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from hetsched.live import cgroups
from hetsched.live.allocation import Question
from hetsched.live.commands import Command
from hetsched.live.environment import Given, environment_of
from hetsched.live.machine import Nodes
from hetsched.live.points import VARIABLE
from hetsched.live.sealed import sync_folder, write_json

SHIM = str(Path(__file__).with_name("shim.py"))


class Launcher(Protocol):
    """A way to start commands."""

    @property
    def name(self) -> str:
        """Its word on the command line."""
        ...

    @property
    def nodes(self) -> Nodes:
        """The nodes that it starts commands on."""
        ...

    def words(self, command: Command, given: Given) -> list[str]:
        """The program and its arguments."""
        ...

    def affinity(self, given: Given) -> Sequence[int] | None:
        """CPUs that the program is held to; None: it is not."""
        ...

    def ending(self, code: int) -> tuple[int | None, int | None]:
        """Exit code and signal of the command, by the exit code of the words."""
        ...

    def question(self) -> Question | None:
        """The question whether its nodes are still there, put to Slurm; None if they always are."""
        ...

    @property
    def handed_on(self) -> Sequence[str]:
        """Beginnings of names of settings that the words need."""
        ...


@dataclass(frozen=True)
class Local:
    """Commands of this machine."""

    nodes: Nodes
    name: str = "local"
    handed_on: Sequence[str] = ()

    def words(self, command: Command, given: Given) -> list[str]:
        """The command itself."""
        del given
        return list(command.argv)

    def affinity(self, given: Given) -> Sequence[int] | None:
        """The CPUs of its nodes; where nodes are slots only, all are for everybody."""
        return None if self.nodes.are_slots else given.cpus

    def ending(self, code: int) -> tuple[int | None, int | None]:
        """The code itself."""
        return code, None

    def question(self) -> None:
        """None: this machine is there."""


@dataclass(frozen=True)
class Srun:
    """Steps of a Slurm allocation."""

    nodes: Nodes
    name: str = "srun"
    handed_on: Sequence[str] = ("SLURM_",)

    def words(self, command: Command, given: Given) -> list[str]:
        """One `srun` for all nodes of the job, which runs the command once on each of them."""
        count = str(len(given.nodes))
        cpus = min(len(self.nodes.cpus[node]) for node in given.nodes)
        each = [f"--cpus-per-task={cpus}"] if cpus else []
        names = ",".join(given.names)
        place = ["-w", names, "-N", count, "-n", count, "--ntasks-per-node=1", *each]
        name = ["-J", f"hs-{given.job}.{given.attempt}"]
        return ["srun", "--overlap", "--exact", *place, *name, *command.argv]

    def affinity(self, given: Given) -> Sequence[int] | None:
        """Slurm's own business."""
        del given
        return None

    def ending(self, code: int) -> tuple[int | None, int | None]:
        """`srun` gives 128 + n of a command that signal n ended; no signal is behind codes such as 255."""
        return (None, code - 128) if 128 < code < 128 + signal.NSIG else (code, None)

    def question(self) -> Question:
        """The question whether the allocation has ended."""
        return Question(self.nodes.allocation)


_OF_SHIMS = ("PATH", "LD_LIBRARY_PATH", VARIABLE)
"""Settings that a shim itself gets: without the second one a Python out of a module does not find its own library."""


def attempt_folder(folder: str, job: int, attempt: int) -> str:
    """The folder of one attempt of a job."""
    return f"{folder}/jobs/{job}.{attempt}"


@dataclass(frozen=True)
class Terms:
    """Terms that are the same for all commands of a run."""

    grace_s: float = 5.0
    exports: bool = False
    cgroups: str | None = None
    """Folder in which control groups of jobs can be made."""
    holds_memory: bool = False
    """True if jobs are held to the memory that they ask for, where control groups can do so."""


def spec_of(command: Command, given: Given, launcher: Launcher, terms: Terms) -> dict[str, Any]:
    """The description of what the shim is to run."""
    own = attempt_folder(given.folder, given.job, given.attempt)
    affinity = launcher.affinity(given)
    group = None if terms.cgroups is None else f"{terms.cgroups}/{given.job}.{given.attempt}"
    return {
        "job": given.job,
        "attempt": given.attempt,
        "argv": launcher.words(command, given),
        "cwd": command.cwd,
        "env": environment_of(given, command.env, exports=terms.exports, others=launcher.handed_on),
        **command.files(given.job, given.attempt, own),
        "cpus": None if affinity is None else list(affinity),
        "limit_s": command.limit_s,
        "grace_s": terms.grace_s,
        "cgroup": group,
        "allocation": launcher.nodes.allocation,
        "memory_gb": command.memory_gb if terms.holds_memory else None,
    }


def write_spec(folder: str, spec: dict[str, Any]) -> None:
    """Make the folder of an attempt, with what is to be run; only its user may read what is in the environment."""
    runs = Path(folder).parent
    is_first = not runs.exists()
    Path(folder).mkdir(parents=True, exist_ok=True)
    write_json(f"{folder}/spec.json", spec, mode=0o600)
    # Without the folder's own name a machine that stops would forget that the run was claimed.
    for parent in (runs, runs.parent) if is_first else (runs,):
        sync_folder(str(parent))


def launch(folder: str, spec: dict[str, Any]) -> subprocess.Popen[bytes]:
    """Start the shim of an attempt: in a session of its own, and without any of this process's files."""
    cgroups.make(spec["cgroup"], spec["memory_gb"], spec["cpus"])
    kept = {name: value for name, value in os.environ.items() if name in _OF_SHIMS}
    # Handed on as blocked: before it is ready these would end it.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGUSR1, signal.SIGUSR2))
    try:
        return subprocess.Popen(
            [sys.executable, "-I", "-S", SHIM, folder],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/",
            env=kept,
            close_fds=True,
            start_new_session=True,
        )
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
