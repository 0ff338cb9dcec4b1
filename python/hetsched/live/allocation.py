"""Allocations of Slurm: whether one has ended, and the sentence that its nodes are down with then."""

from __future__ import annotations

import os
import re
import subprocess

_PATIENCE_S = 5.0
_ALIVE = ("CONFIGURING", "RESIZING", "RUNNING", "SIGNALING", "STAGE_OUT", "STOPPED", "SUSPENDED")
"""States of Slurm's job in which its nodes are there; a job that is requeued waits."""


def has_ended(allocation: str) -> bool:
    """True if Slurm says that an allocation has ended; where it says nothing, it may go on."""
    words = ["squeue", "-h", "-j", allocation, "-o", "%T"]
    try:
        answer = subprocess.run(
            words,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_PATIENCE_S,
            check=False,
            stdin=subprocess.DEVNULL,
            env={**os.environ, "LC_ALL": "C"},
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    if answer.returncode:
        return "Invalid job id" in answer.stderr
    return answer.stdout.strip() not in _ALIVE


def end_of(allocation: str) -> str:
    """The reason for which nodes of an allocation are down once it has ended."""
    return f"Slurm's job {allocation} is over"


def is_end_of_another(why: str, allocation: str) -> bool:
    """True if nodes were down as an allocation had ended that is not this one."""
    return why != end_of(allocation) and re.fullmatch(end_of(r"\S+"), why) is not None
