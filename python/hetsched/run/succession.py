"""Runs that go on under another policy: whether their options and their jobs mean the same to both."""

from __future__ import annotations

from hetsched.checks import Faults
from hetsched.policy import Policy


def check_succession(before: Policy, policy: Policy) -> None:
    """Raise if the policy cannot go on with a run that began under another one."""
    faults = Faults()
    if ("observed_starts" in before.needs) != ("observed_starts" in policy.needs):
        expected = (
            "two policies that repeat the log, or two that do not: a replay kills no job and knows neither queues nor "
            "what jobs ask for"
        )
        faults.note("policy", f"`{policy.name}` after `{before.name}`", expected)
    faults.check()
