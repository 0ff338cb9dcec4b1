"""``hetsched policies``: the presets and their parts."""

from __future__ import annotations

import hetsched as hs
from hetsched.cli.terminal import Screen


def policies(screen: Screen) -> None:
    """List the presets, and the parts of policies with their parameters."""
    from hetsched.report.tables import parts_table, presets_table

    screen.show(presets_table(width=screen.width))
    screen.show(parts_table(width=screen.width))
    if not screen.as_json:
        screen.say(
            "Parts and parameters of a preset can be changed, as in\n--policy easy:placement=lowest-power:depth=4"
        )
    parts = hs.policy.parts()
    rows = [{**row, "doc": hs.policy.PRESETS[row["name"]].doc} for row in hs.presets().iter_rows(named=True)]
    summary = {"presets": len(rows), "parts": len(parts)}
    screen.give({"summary": summary, "presets": rows, "parts": list(parts.values())})
