"""Runs that go on under another policy: whether jobs and nodes mean the same to both."""

from __future__ import annotations

from hetsched.checks import Faults
from hetsched.platform import Platform
from hetsched.policy import Policy
from hetsched.run.eligibility import cells_of
from hetsched.run.queueing import has_queues
from hetsched.workload import Workload


def check_succession(workload: Workload, platform: Platform, before: Policy, policy: Policy) -> None:
    """Raise if the policy cannot go on with a run that began under another one."""
    faults = Faults("policy")
    if has_queues(platform, before) != has_queues(platform, policy):
        faults.note("name", f"`{policy.name}` after `{before.name}`", f"{_BOTH}: queues give walltimes and limits")
    elif (cells_of(workload, platform, before) is None) != (cells_of(workload, platform, policy) is None):
        faults.note("name", f"`{policy.name}` after `{before.name}`", f"{_BOTH}: jobs ask for features or GPUs")
    faults.check()


_BOTH = "two policies that repeat the log, or two that do not"
