"""Several policies in one option, ``easy,coa,hetsched:beta=0``: read, and named in the faults of one of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from hetsched.checks import Faults, shown
from hetsched.cli.faults import noted
from hetsched.errors import ConfigError, Fault

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


@contextmanager
def of_policy(name: str) -> Iterator[None]:
    """Say of faults raised in the block which of the policies they belong to, where they don't show it."""
    try:
        yield
    except ConfigError as error:
        raise error.mapped(lambda fault: _in_list(fault, name)) from error


def _in_list(fault: Fault, name: str) -> Fault:
    place = "--policies" if fault.found == shown(name) else f"--policies: {name}"
    return fault.at(place) if fault.path == "policy" else fault.under(place, ": ")
