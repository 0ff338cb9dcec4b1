"""``hetsched policies``: the presets and their parts; and lists of policies in options of other verbs."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from hetsched.checks import Faults, shown
from hetsched.cli import options as opt
from hetsched.cli.terminal import Screen, changed, noted
from hetsched.errors import Fault

if TYPE_CHECKING:
    from hetsched.policy import Policy


def policies(as_json: opt.Json = False, debug: opt.Debug = False) -> None:
    """List the presets, and the parts of policies with their parameters."""
    del debug
    from hetsched.policy import PRESETS, parts, presets  # noqa: PLC0415 -- polars is slow to import
    from hetsched.report.tables import parts_table, presets_table  # noqa: PLC0415

    screen = Screen(as_json=as_json)
    screen.show(presets_table(width=screen.width))
    screen.show(parts_table(width=screen.width))
    if not as_json:
        screen.say(
            "Parts and parameters of a preset can be changed, as in\n--policy easy:placement=lowest-power:depth=4"
        )
    rows = [{**row, "doc": PRESETS[row["name"]].doc} for row in presets().iter_rows(named=True)]
    summary = {"presets": len(rows), "parts": len(parts())}
    screen.give({"summary": summary, "presets": rows, "parts": list(parts().values())})


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
