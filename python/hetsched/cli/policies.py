"""``hetsched policies``: the presets and their parts."""

from __future__ import annotations

from hetsched.cli import options as opt
from hetsched.cli.terminal import Screen


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
