"""Machines of which there is no bound."""

from __future__ import annotations

from hetsched.checks import Faults
from hetsched.platform import Platform


def check_bound(bound: object, platform: Platform, faults: Faults) -> None:
    """Note what a machine has no bound of: this one, ``True``, ``"starts"`` or ``"all"``."""
    if bound is False:
        return
    if not platform.exclusive:
        faults.add("bound", bound, "False where jobs share nodes: the bound is of whole nodes")
    elif platform.has_caps and bound != "starts":
        faults.add("bound", bound, 'False or "starts": no window\'s bound is known for nodes under power caps')
