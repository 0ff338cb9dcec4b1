"""Several policies in one option, ``easy,coa,hetsched:beta=0``: read, and named in the faults of one of them."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from hetsched.checks import Faults, shown
from hetsched.cli.faults import changed, noted
from hetsched.errors import Fault

if TYPE_CHECKING:
    from hetsched.policy import Policy


def policies_in(faults: Faults, text: str) -> list[Policy]:
    """The policies asked for with ``--policies``."""
    from hetsched.policy import parse_policy  # noqa: PLC0415 -- polars is slow to import

    found: list[Policy] = []
    for name in text.split(","):
        with noted(faults), of_policy(name):
            policy = parse_policy(name)
            if policy.name in [other.name for other in found]:
                faults.add("--policies", policy.name, "each policy once")
            else:
                found.append(policy)
    return found


def of_policy(name: str) -> AbstractContextManager[None]:
    """Name the policy that an error raised in the block is about, unless the fault shows it."""

    def in_list(fault: Fault) -> Fault:
        place = "--policies" if fault.found == shown(name) else f"--policies: {name}"
        return fault.at(place) if fault.path == "policy" else fault.under(place, ": ")

    return changed(in_list)
