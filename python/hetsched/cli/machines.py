"""``hetsched machines``: the machines that come with hetsched, and their files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

import hetsched as hs
from hetsched.checks import Faults
from hetsched.cli.declare import argument, option
from hetsched.cli.options import check_output, complete_platform, file
from hetsched.cli.terminal import Screen

_NAME_HELP = "Show this machine's file, with the source of every number. Without it: all machines."


def machines(
    screen: Screen,
    faults: Faults,
    *,
    name: Annotated[str | None, argument("[NAME]", _NAME_HELP, complete=complete_platform)] = None,
    out: Annotated[
        str | None, option("--out --copy", "F.toml", "Write the file there, to change it.", read=file)
    ] = None,
) -> None:
    """List the machines that come with hetsched, show the file of one, or copy it."""
    if name is None and out is not None:
        faults.note("NAME", "none", "the machine whose file to write")
    faults.check()
    if name is None:
        _list(screen)
    else:
        _one(screen, name, out)


def _list(screen: Screen) -> None:
    from hetsched.platform.reading import machine_names
    from hetsched.report.tables import machines_table

    rows = [_row(name) for name in machine_names()]
    screen.show(machines_table(rows))
    if not screen.as_json:
        screen.tell(
            "A machine's name goes where a platform's file does: --platform NAME. Its file: hetsched machines NAME"
        )
    screen.give({"summary": {"machines": len(rows)}, "machines": rows})


def _row(name: str) -> dict[str, Any]:
    from hetsched.platform.reading import about_machine

    platform, about = hs.Platform.shipped(name), about_machine(name)
    tdp_w = float(sum(one.per_node("tdp_w").sum() for one in platform.classes))
    return {
        "name": name,
        "about": about.title,
        "nodes": platform.nodes,
        "classes": {one.name: one.count for one in platform.classes},
        "queues": [] if platform.queues is None else [queue.name for queue in platform.queues],
        "idle_w": float(platform.idle_w.sum()),
        "tdp_w": tdp_w,
        "source": about.source,
    }


def _one(screen: Screen, name: str, out: str | None) -> None:
    from hetsched.files import write_whole
    from hetsched.platform.reading import machine_text

    text = machine_text(name, parameter="NAME")
    if out is not None:
        check_output(files=[out])
        write_whole(Path(out), text.encode())
    elif not screen.as_json:
        typer.echo(text, nl=False)
    summary = {"summary": _row(name), "platform": hs.Platform.shipped(name).to_dict()}
    screen.give(summary, [] if out is None else [out])
