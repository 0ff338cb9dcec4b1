"""``hetsched slurm run``: a policy watches a Slurm, and says what it would do."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Annotated

from hetsched.checks import Faults, many
from hetsched.cli import options as opt
from hetsched.cli.declare import MACHINE, OUTPUT, RUN, flag, number, option, whole
from hetsched.cli.named_policies import BASE, PolicyGiven, policy_of
from hetsched.cli.options import check_output, complete_platform
from hetsched.cli.platforms import platform_of
from hetsched.cli.slurm_options import SLURM, Partition, slurm
from hetsched.cli.terminal import FAILED, Screen, renamed

_PLATFORM_HELP = "The partition's nodes, as slurm platform writes them."
_ACT_HELP = "Hold jobs back and release them as decided; not there yet."
_UNLIMITED_HELP = "Walltime that a policy plans with for jobs without a limit; default: a year."


@dataclass(frozen=True)
class BeatsGiven:
    """The pace of readings."""

    beat_s: Annotated[
        float, option("--beat-s", "S", "Seconds between readings.", RUN, read=number("seconds", 0.1, 3600))
    ] = 1.0
    beats: Annotated[
        int | None, option("--beats", "N", "End after so many readings; default: never.", RUN, read=whole(1))
    ] = None
    unlimited_s: Annotated[
        float | None, option("--default-walltime", "S", _UNLIMITED_HELP, RUN, read=number("seconds", 1, 1e9))
    ] = None
    fallback: Annotated[
        str, option("--fallback", "NAME", "The policy that takes over after ten errors in a row; default: easy.", RUN)
    ] = BASE
    seed: Annotated[int, opt.seed(2**63)] = 0


def run(
    screen: Screen,
    faults: Faults,
    *,
    partition: Partition,
    platform: Annotated[str, option("--platform", "F|NAME", _PLATFORM_HELP, MACHINE, complete=complete_platform)],
    journal: Annotated[str, option("--journal", "DIR", "Keep journals and the log there.", OUTPUT, read=opt.folder)],
    policy: PolicyGiven,
    beats: BeatsGiven,
    act: Annotated[bool, flag("--act", _ACT_HELP, SLURM)] = False,
) -> None:
    """Watch a partition, and say at each change what a policy would release, and where; Slurm is left alone."""
    import typer

    if act:
        faults.note("--act", "given", "nothing: holding and releasing jobs is not there yet, only the dry run is")
    chosen = policy.chosen(faults)
    faults.check()
    check_output(journal)
    assert chosen is not None
    from hetsched.slurm_bridge.bridge import Bridge
    from hetsched.slurm_bridge.machine import FOREVER_S, BridgeMachine
    from hetsched.slurm_bridge.pace import Pace
    from hetsched.slurm_bridge.readings import Reader
    from hetsched.slurm_bridge.run import BridgeClock, OneBridge, run_beats
    from hetsched.slurm_bridge.standing import Site

    fallback = policy_of(beats.fallback)
    with renamed(
        {f"platform.{name}": f"--platform {platform}: {name}" for name in ("node_names", "exclusive", "queue")}
    ):
        machine = BridgeMachine(platform_of(platform, {}), beats.unlimited_s or FOREVER_S)
    lock = OneBridge(journal)
    bridge = Bridge(
        Site(partition, needs_gate=False),
        machine,
        chosen,
        source=Reader(slurm(), partition),
        folder=journal,
        clock=BridgeClock(),
        real=time.time,
        say=screen.say,
        fallback=fallback,
        seed=beats.seed,
    )
    try:
        good = run_beats(bridge, Pace(beats.beat_s), beats=beats.beats)
    finally:
        bridge.close()
        lock.close()
    screen.give({"beats": beats.beats, "readings": good}, [journal])
    if good == 0:
        screen.say(f"{many(beats.beats or 0, 'reading')}, none of them good")
        raise typer.Exit(FAILED)
