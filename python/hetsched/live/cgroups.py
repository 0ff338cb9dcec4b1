"""Control groups (version 2) of jobs, where the system lets us make them: no process leaves one by forking."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress

_KILL = "cgroup.kill"


def usable_folder(name: str) -> str | None:
    """A folder below this process's own group in which groups can be made; None if there is no such."""
    with suppress(OSError):
        folder = f"{_own_group()}/{name}"
        os.makedirs(folder, exist_ok=True)
        # On the root of an old kernel there is none to kill by.
        if os.path.exists(f"{folder}/{_KILL}") and os.access(f"{folder}/cgroup.procs", os.W_OK):
            _hand_down(folder)
            return folder
        os.rmdir(folder)
    return None


def _own_group() -> str:
    with open("/proc/self/cgroup", encoding="ascii") as file:
        path = next((line[3:].rstrip("\n") for line in file if line.startswith("0::")), None)
    if path is None:
        raise FileNotFoundError("no group of version 2")
    with open("/proc/self/mounts", encoding="utf-8") as file:
        mounts = [words[1] for line in file if (words := line.split())[2] == "cgroup2"]
    if not mounts:
        raise FileNotFoundError("no file system of groups")
    return mounts[0] + path.rstrip("/")


def can_limit_memory(folder: str | None) -> bool:
    """True if groups in this folder can have limits of memory, which the system has to hand down to them."""
    if folder is None:
        return False
    for group in (os.path.dirname(folder), folder):
        try:
            control = os.open(f"{group}/cgroup.subtree_control", os.O_WRONLY | os.O_CLOEXEC)
        except OSError:
            return False
        try:
            os.write(control, b"+memory")
        except OSError:
            return False
        finally:
            os.close(control)
    return True


def _hand_down(folder: str) -> None:
    """Let groups in a folder have the controllers that it has itself, each one that it has."""
    for controller in ("cpuset", "memory"):
        with suppress(OSError), open(f"{folder}/cgroup.subtree_control", "w", encoding="ascii") as file:
            file.write(f"+{controller}")


def make(path: str | None, memory_gb: float | None = None, cpus: Sequence[int] | None = None) -> None:
    """Make a group, with its memory and CPUs where these are ours to give; affinity alone a command may change."""
    if path is None:
        return
    with suppress(OSError):
        os.mkdir(path)
    if memory_gb is not None:
        with suppress(OSError), open(f"{path}/memory.max", "w", encoding="ascii") as file:
            file.write(str(int(memory_gb * 1e9)))
    if cpus:
        with suppress(OSError), open(f"{path}/cpuset.cpus", "w", encoding="ascii") as file:
            file.write(",".join(map(str, cpus)))


def kill(path: str | None) -> None:
    """Kill all processes of a group."""
    if path is not None:
        with suppress(OSError), open(f"{path}/{_KILL}", "w", encoding="ascii") as file:
            file.write("1")


def ran_out_of_memory(path: str | None) -> bool:
    """True if a process of a group was killed because its memory was used up."""
    if path is None:
        return False
    with suppress(OSError), open(f"{path}/memory.events", encoding="ascii") as file:
        return any(line.split()[0] == "oom_kill" and line.split()[1] != "0" for line in file)
    return False


def remove(path: str | None) -> None:
    """Remove a group that has no processes."""
    if path is not None:
        with suppress(OSError):
            os.rmdir(path)
