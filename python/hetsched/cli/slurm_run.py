"""``hetsched slurm run``: a policy watches a Slurm, and says what it would do."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from hetsched.checks import Faults, many, one_line
from hetsched.cli import options as opt
from hetsched.cli.declare import MACHINE, OUTPUT, RUN, choice, flag, number, option, whole
from hetsched.cli.named_policies import BASE, PolicyGiven, policy_of
from hetsched.cli.options import check_output, complete_platform
from hetsched.cli.platforms import platform_of
from hetsched.cli.slurm_options import SLURM, EventsPath, Partition, slurm
from hetsched.cli.terminal import FAILED, Screen, renamed
from hetsched.errors import ConfigError, LiveError

if TYPE_CHECKING:
    from hetsched.slurm_bridge.bridge import Bridge
    from hetsched.slurm_bridge.events import Events
    from hetsched.slurm_bridge.facts import Facts
    from hetsched.slurm_bridge.gate import Gate
    from hetsched.slurm_bridge.hands import Hands
    from hetsched.slurm_bridge.machine import BridgeMachine
    from hetsched.slurm_bridge.power_cap import PowerCap
    from hetsched.slurm_bridge.sleepers import Sleepers
    from hetsched.slurm_bridge.standing import Site

_PLATFORM_HELP = "The partition's nodes, as slurm platform writes them."
_ACT_HELP = "Hold jobs back by the gate, and release them as decided; without it nothing is changed."
_LEASE_HELP = "With --act: seconds after which Slurm goes on by its own rules if the bridge is gone."
_CAP_HELP = "With --act: watts that running jobs may have at a time, by a licence watts that each job asks for."
_PLACEMENT_HELP = "With --act: wish for nodes, which Slurm may not meet, or name them, and wait for these alone."
_AWAKE_HELP = (
    "With --act: switch nodes off and on as the policy decides, so many stay awake; default: that is left to Slurm."
)
_UNLIMITED_HELP = "Walltime that a policy plans with for jobs without a limit; default: a year."


DEFAULT_LEASE_S = 120.0


@dataclass(frozen=True)
class ActGiven:
    """Options of a bridge that acts."""

    act: Annotated[bool, flag("--act", _ACT_HELP, SLURM)] = False
    lease_s: Annotated[float | None, option("--lease-s", "S", _LEASE_HELP, SLURM, read=number("seconds", 30, 3600))] = (
        None
    )
    cap_w: Annotated[int | None, option("--cap-w", "W", _CAP_HELP, SLURM, read=whole(0))] = None
    min_awake: Annotated[int | None, option("--min-awake", "N", _AWAKE_HELP, SLURM, read=whole(0))] = None
    placement: Annotated[
        str | None, choice("--placement", ("wish", "named"), _PLACEMENT_HELP, SLURM, metavar="wish|named")
    ] = None

    def check(self, faults: Faults) -> None:
        """Note options that count with --act only."""
        given = {"--lease-s": self.lease_s, "--cap-w": self.cap_w, "--min-awake": self.min_awake}
        for name, value in (given | {"--placement": self.placement}).items():
            if value is not None and not self.act:
                faults.add(name, value, "nothing without --act: a dry run holds nobody back")


@dataclass(frozen=True)
class Means:
    """The means of a bridge that acts: its leases, and how nodes are given and switched."""

    gate: Gate
    cap: PowerCap | None
    sleepers: Sleepers | None
    is_named: bool


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
        str, option("--fallback", "NAME", "The policy that takes over after ten errors in a row.", RUN)
    ] = BASE
    app_by: Annotated[
        str | None,
        choice("--app-by", ("name", "account"), "What a job's application in the platform's table is known by.", RUN),
    ] = None
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
    acts: ActGiven,
    events: EventsPath = None,
) -> None:
    """Say what a policy would release in a partition, and where; with --act, hold jobs back and release them."""
    import typer

    acts.check(faults)
    chosen = policy.chosen(faults)
    faults.check()
    check_output(journal)
    assert chosen is not None
    from hetsched.live.lock import Held
    from hetsched.slurm_bridge.bridge import Bridge
    from hetsched.slurm_bridge.facts import has_accounting
    from hetsched.slurm_bridge.readings import Reader
    from hetsched.slurm_bridge.run import BridgeClock
    from hetsched.slurm_bridge.standing import Site

    fallback = policy_of(beats.fallback)
    machine = _machine(platform, beats)
    lock = Held(journal, "--journal", "bridge")
    site = Site(partition, needs_gate=acts.act)
    settings = _settings(screen)
    means = _means(site, machine, journal, acts) if acts.act else None
    hands = None if means is None else _hands(means, site, machine, journal, screen)
    heard = _events(events, settings, screen)
    bridge = Bridge(
        site,
        machine,
        chosen,
        source=Reader(slurm(), partition, machine.applications, has_accounting(settings)),
        folder=journal,
        clock=BridgeClock(),
        real=time.time,
        say=screen.say,
        fallback=fallback,
        hands=hands,
        seed=beats.seed,
    )
    if means is not None:
        # Last: whatever is wrong with the rest has been said, and no job is held back for nothing.
        means.gate.take(time.sleep)
    try:
        good = _beats(bridge, beats, heard)
    finally:
        if acts.act:
            screen.say("the gate ends by itself; `hetsched slurm leave` takes it away at once")
        lock.close()
    screen.give({"beats": beats.beats, "readings": good}, [journal])
    if good == 0:
        screen.say(f"{many(beats.beats or 0, 'reading')}, none of them good")
        raise typer.Exit(FAILED)


def _machine(platform: str, beats: BeatsGiven) -> BridgeMachine:
    """The platform as the bridge knows it; faults in it name the option that gave it."""
    from hetsched.slurm_bridge.applications import Applications
    from hetsched.slurm_bridge.machine import FOREVER_S, BridgeMachine

    with renamed(
        {f"platform.{name}": f"--platform {platform}: {name}" for name in ("node_names", "exclusive", "queue")}
    ):
        nodes = platform_of(platform, {})
        return BridgeMachine(nodes, beats.unlimited_s or FOREVER_S, Applications.of(nodes, beats.app_by))


def _beats(bridge: Bridge, beats: BeatsGiven, heard: Events | None) -> int:
    """Make all beats; gives the good ones."""
    from hetsched.slurm_bridge.pace import Pace
    from hetsched.slurm_bridge.run import run_beats

    hasten = None if heard is None else heard.sleep
    try:
        return run_beats(bridge, Pace(beats.beat_s), beats=beats.beats, hasten=hasten)
    finally:
        bridge.close()
        if heard is not None:
            heard.close()


def _settings(screen: Screen) -> dict[str, str]:
    """Settings of the cluster; none if it gives no answer yet, which a bridge that only watches may wait for."""
    from hetsched.slurm_bridge.facts import read_settings

    try:
        return read_settings(slurm())
    except LiveError as error:
        screen.say(f"settings: {one_line(str(error))}; how forgotten jobs ended is not asked for")
        return {}


def _events(path: str | None, settings: dict[str, str], screen: Screen) -> Events | None:
    """The socket for events, if there is to be one."""
    import os
    from pathlib import Path

    from hetsched.slurm_bridge.events import Events
    from hetsched.slurm_bridge.facts import slurm_user

    if path is None:
        return None
    own = {os.geteuid(), 0}
    user = slurm_user(settings)
    return Events(str(Path(path).absolute()), own if user is None else own | {user}, say=screen.say)


def _means(site: Site, machine: BridgeMachine, journal: str, acts: ActGiven) -> Means:
    """The means of a bridge that acts, its gate not taken yet, once the cluster is ready for them."""
    import getpass

    from hetsched.slurm_bridge.doctor import checks_of
    from hetsched.slurm_bridge.facts import read_facts
    from hetsched.slurm_bridge.gate import Gate
    from hetsched.slurm_bridge.power_cap import WATTS, PowerCap
    from hetsched.slurm_bridge.standing import GATE

    own = slurm()
    facts = read_facts(own, site.partition)
    checks = [check for check in checks_of(facts, site.partition) if not check.is_well]
    if checks:
        raise ConfigError(
            [("--act", f"{one.name}: {one.words}", "what `hetsched slurm doctor` asks for") for one in checks]
        )
    user, lease_s, cap = getpass.getuser(), acts.lease_s or DEFAULT_LEASE_S, None
    if acts.cap_w is not None:
        watts = facts.licences.get(WATTS)
        cap = PowerCap(own, total=watts, cap_w=acts.cap_w, lease_s=lease_s, user=user, real=time.time)
    gate = Gate(own, total=facts.licences[GATE], lease_s=lease_s, user=user, real=time.time, folder=journal)
    return Means(gate, cap, _sleepers(acts, facts, machine), is_named=acts.placement == "named")


def _sleepers(acts: ActGiven, facts: Facts, machine: BridgeMachine) -> Sleepers | None:
    """The hands for nodes that are switched off and on, if they are to be."""
    from hetsched.slurm_bridge.sleepers import Sleepers

    if acts.min_awake is None:
        return None
    if facts.settings.get("SuspendProgram", "(null)") in ("(null)", ""):
        raise ConfigError(
            [("--min-awake", str(acts.min_awake), "nothing: this Slurm has no power saving (SuspendProgram)")]
        )
    return Sleepers(machine.numbers, min_awake=acts.min_awake, now=time.monotonic)


def _hands(means: Means, site: Site, machine: BridgeMachine, journal: str, screen: Screen) -> Hands:
    """The hands of a bridge that acts."""
    from hetsched.slurm_bridge.hands import Hands
    from hetsched.slurm_bridge.log import Log

    if means.is_named:
        screen.say(
            "named nodes: have cron call `hetsched slurm sweep`, or jobs wait for nodes lost after a bridge's end"
        )
    return Hands(
        slurm(),
        means.gate,
        site,
        machine.names,
        log=Log(journal, real=time.time),
        say=screen.say,
        cap=means.cap,
        named=means.is_named,
        sleepers=means.sleepers,
    )
