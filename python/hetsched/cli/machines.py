"""``hetsched machines``: the machines that come with hetsched, and their files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from hetsched.checks import Faults, can_name_a_file, shown
from hetsched.cli import options as opt
from hetsched.cli.pictures import check_folder
from hetsched.cli.terminal import Screen
from hetsched.errors import ConfigError


def _complete_name(incomplete: str) -> list[str]:
    return [name for name in opt.complete_platform() if name.startswith(incomplete)]


def machines(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[NAME]",
            show_default=False,
            help="Show this machine's file, with the source of every number. Without it: all machines.",
            autocompletion=_complete_name,
        ),
    ] = None,
    *,
    out: Annotated[
        str | None,
        typer.Option("--out", "--copy", metavar="F.toml", help="Write the file there, to change it."),
    ] = None,
    as_json: opt.Json = False,
    debug: opt.Debug = False,
) -> None:
    """List the machines that come with hetsched, show the file of one, or copy it."""
    del debug
    screen = Screen(as_json=as_json)
    if name is None:
        faults = Faults()
        if out is not None:
            faults.note("NAME", "none", "the machine whose file to write")
        faults.check()
        _list(screen)
    else:
        _one(screen, name, out)


def _list(screen: Screen) -> None:
    from hetsched.platform.shipped import machine_names  # noqa: PLC0415 -- polars is slow to import
    from hetsched.report.tables import machines_table  # noqa: PLC0415

    rows = [_row(name) for name in machine_names()]
    screen.show(machines_table(rows))
    if not screen.as_json:
        screen.tell(
            "A machine's name goes where a platform's file does: --platform NAME. Its file: hetsched machines NAME"
        )
    screen.give({"summary": {"machines": len(rows)}, "machines": rows})


def _row(name: str) -> dict[str, Any]:
    from hetsched.platform import Platform  # noqa: PLC0415
    from hetsched.platform.shipped import about_machine  # noqa: PLC0415

    platform, about = Platform.shipped(name), about_machine(name)
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
    from hetsched.files import write_whole  # noqa: PLC0415
    from hetsched.platform import Platform  # noqa: PLC0415
    from hetsched.platform.shipped import machine_text  # noqa: PLC0415

    text = machine_text(name, parameter="NAME")
    if out is not None:
        if not out or not can_name_a_file(out):
            raise ConfigError([("--out", shown(out), "a file's name")])
        check_folder(str(Path(out).parent))
        write_whole(Path(out), text.encode())
        screen.say(f"wrote {out}")
    elif not screen.as_json:
        typer.echo(text, nl=False)
    written = [] if out is None else [out]
    screen.give({"summary": _row(name), "platform": Platform.shipped(name).to_dict(), "written": written})
