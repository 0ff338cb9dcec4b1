"""``hetsched slurm platform``: a platform's file of the nodes that a running Slurm has."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from hetsched.checks import Faults, many
from hetsched.cli.declare import MACHINE, OUTPUT, number, option
from hetsched.cli.options import check_output, file
from hetsched.cli.slurm_options import Partition, slurm
from hetsched.cli.terminal import Screen, renamed
from hetsched.params import ASSUMED_W


def platform(
    screen: Screen,
    faults: Faults,
    *,
    partition: Partition,
    out: Annotated[str, option("--out", "F.toml", "Write the platform there.", OUTPUT, read=file)],
    idle_w: Annotated[
        float | None,
        option("--idle-w", "W", "Draw of an idle node, assumed if not given.", MACHINE, read=number("watts")),
    ] = None,
    tdp_w: Annotated[
        float | None,
        option("--tdp-w", "W", "Draw of a busy node, assumed if not given.", MACHINE, read=number("watts")),
    ] = None,
) -> None:
    """Write the nodes of a partition as a platform's file."""
    from hetsched.files import write_whole
    from hetsched.slurm_bridge.machine_file import read_platform_of
    from hetsched.toml import toml

    faults.check()
    check_output(files=[out])
    watts = {name: value for name, value in (("idle_w", idle_w), ("tdp_w", tdp_w)) if value is not None}
    with renamed({"partition": "--partition", "idle_w": "--idle-w", "tdp_w": "--tdp-w"}):
        made = read_platform_of(slurm(), partition, watts)
    write_whole(Path(out), toml(made.to_dict()).encode())
    if assumed := {name: value for name, value in ASSUMED_W.items() if name not in watts}:
        said = " and ".join(f"{name.removesuffix('_w')} {value:g} W" for name, value in assumed.items())
        screen.say(f"assumed: {said} a node, as Slurm knows none; give --idle-w and --tdp-w")
    screen.say(f"{many(made.nodes, 'node')} of {many(len(made.classes), 'kind')}")
    screen.give({"platform": made.to_dict(), "assumed": assumed}, [out])
