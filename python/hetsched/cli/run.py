"""``hetsched run``: real commands on this machine, or in a Slurm allocation, under a policy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import hetsched as hs
from hetsched.checks import Faults, few, many, shown
from hetsched.cli import options as opt
from hetsched.cli.declare import LOG, MACHINE, OUTPUT, RUN, argument, choice, flag, given_in, number, option, whole
from hetsched.cli.inputs import Machine
from hetsched.cli.named_policies import PolicyGiven
from hetsched.cli.options import MOST_SEED, check_output, complete_platform
from hetsched.cli.platforms import platform_of
from hetsched.cli.run_status import show_status
from hetsched.cli.terminal import FAILED, INTERRUPTED, Screen, noted, renamed
from hetsched.errors import ConfigError
from hetsched.many.progress import Bars
from hetsched.params import ASSUMED_W

if TYPE_CHECKING:
    from hetsched.live.machine import Nodes
    from hetsched.live.plan import Plan
    from hetsched.live.reading import RealJobs
    from hetsched.live.running import LiveRun

_SECONDS = number("seconds", 0.0, 1e9)
_WORKLOAD_HELP = "Jobs with their commands: .csv, .parquet, .toml, or a folder of job scripts."
_NODES_HELP = "Number of nodes, equal shares of the CPUs; more than CPUs: slots. Default: one a CPU."
_LAUNCHER_HELP = "Start commands here, or as steps of the Slurm allocation around."
_POWER_HELP = "Measured by the processors' counters (RAPL), or as the platform says; auto: measured if it can be."
_CAPS_HELP = "Set the policy's caps as limits of the processors (RAPL), for which it needs the right to write them."
_EXPORT_HELP = "Hand all settings of this environment on, not only PATH, HOME, LANG, USER and TMPDIR."
_LOST_HELP = "Jobs whose end is not known, as the machine was restarted: failed, or run once more."
_WITHIN_HELP = "Milliseconds in which to decide; longer steps are counted, those above 5 s broken off."
_FALLBACK_HELP = "Preset that takes over when the policy has failed 10 times in a row."
_FAILED_HELP = "With --resume: run jobs once more that failed or came to their walltime."
_STATUS_HELP = "Show what runs and what waits in the run in this folder, from any shell."
_CANCEL_HELP = "With --status: have these jobs cancelled, 7,9 or several times; now, or when the run goes on."
_RESUME_HELP = "Go on with the run in this folder, whatever ended it; takes all else from there."


def _all(faults: Faults, option: str, text: str) -> bool:
    if text != "ALL":
        faults.add(option, text, "ALL")
    return True


def _jobs(faults: Faults, option: str, text: str) -> list[int]:
    numbers = [part.strip() for part in text.split(",")]
    if not all(part.isdecimal() for part in numbers):
        faults.add(option, text, "numbers of jobs, such as 7,9")
        return []
    return [int(part) for part in numbers]


def _preset(faults: Faults, option: str, text: str) -> str:
    with noted(faults, {"policy": option}):
        hs.policy.parse_policy(text)
    return text


@dataclass(frozen=True)
class MachineGiven:
    """The nodes that commands run on."""

    launcher: Annotated[str, choice("--launcher", ("local", "srun"), _LAUNCHER_HELP, MACHINE)] = "local"
    nodes: Annotated[int | None, option("--nodes", "N", _NODES_HELP, MACHINE, read=whole(1, 100_000))] = None
    cpus_per_node: Annotated[
        int | None, option("--cpus-per-node", "C", "CPUs of each node.", MACHINE, read=whole(1, 100_000))
    ] = None
    platform: Annotated[
        str | None,
        option("--platform", "F|NAME", "Nodes and their draws, as of simulate.", MACHINE, complete=complete_platform),
    ] = None
    idle_w: Annotated[
        float | None,
        option("--idle-w", "W", "Draw of an idle node, assumed if not given.", MACHINE, read=number("watts")),
    ] = None
    tdp_w: Annotated[
        float | None,
        option("--tdp-w", "W", "Draw of a busy node, assumed if not given.", MACHINE, read=number("watts")),
    ] = None
    power: Annotated[str, choice("--power", ("auto", "rapl", "model", "none"), _POWER_HELP, MACHINE)] = "auto"
    acts_caps: Annotated[bool, flag("--act-caps", _CAPS_HELP, MACHINE)] = False

    def check(self, faults: Faults) -> None:
        """Note what does not fit together."""
        names = ("nodes", "idle_w", "tdp_w") if self.platform is not None else ()
        if self.launcher == "srun":
            names = (*dict.fromkeys((*names, "nodes", "cpus_per_node")),)
        for name in names:
            if (value := getattr(self, name)) is not None:
                other = "--platform, whose file says it" if self.platform is not None else "--launcher srun"
                faults.add(f"--{name.replace('_', '-')}", value, f"nothing with {other}")

    def made(self, faults: Faults) -> tuple[Machine, Nodes]:
        """The machine, and where its nodes are."""
        from hetsched.live.caps import capped_zones
        from hetsched.live.machine import allocated_nodes, local_nodes
        from hetsched.live.power import Rapl

        platform = None if self.platform is None else platform_of(self.platform, self._watts)
        count = self.nodes if platform is None else platform.nodes
        if self.launcher == "srun":
            nodes = allocated_nodes(faults)
            if nodes is not None and count is not None and len(nodes) != count:
                faults.add("--platform", f"{count} nodes", f"{len(nodes)}, those of the allocation")
        else:
            nodes = local_nodes(faults, nodes=count, cpus_per_node=self.cpus_per_node)
        if self.power == "rapl":
            Rapl.of(faults=faults)
        if self.acts_caps and self.launcher == "srun":
            faults.add("--act-caps", "it", "nothing with --launcher srun, whose nodes are other machines")
        elif self.acts_caps:
            capped_zones(faults)
        faults.check()
        assert nodes is not None
        return (self._machine(len(nodes)) if platform is None else Machine(platform, (), {})), nodes

    @property
    def _watts(self) -> dict[str, float]:
        return {name: getattr(self, name) for name in ASSUMED_W if getattr(self, name) is not None}

    def _machine(self, nodes: int) -> Machine:
        watts = ASSUMED_W | self._watts
        assumed = {name: value for name, value in ASSUMED_W.items() if name not in self._watts}
        words = " and ".join(f"{name.removesuffix('_w')} {value:g} W" for name, value in assumed.items())
        notes = (f"assumed: {words} a node; give --idle-w and --tdp-w for the machine's own",) if assumed else ()
        with renamed({"idle_w": "--idle-w", "tdp_w": "--tdp-w"}):
            platform = hs.Platform.homogeneous(nodes=nodes, idle_w=watts["idle_w"], tdp_w=watts["tdp_w"])
        return Machine(platform, notes, assumed)


@dataclass(frozen=True)
class CommandsGiven:
    """The jobs, and how their commands are run."""

    workload: Annotated[str | None, argument("WORKLOAD", _WORKLOAD_HELP)] = None
    default_walltime_s: Annotated[
        float | None,
        option("--default-walltime", "S", "Walltime of jobs that bring none.", LOG, read=number("seconds", 1e-6, 1e9)),
    ] = None
    submit_at_once: Annotated[bool, flag("--submit-at-once", "Submit all jobs at the start.", LOG)] = False
    grace_s: Annotated[
        float, option("--grace-s", "S", "Seconds between SIGTERM and SIGKILL at a walltime.", RUN, read=_SECONDS)
    ] = 5.0
    most_running: Annotated[
        int | None, option("--max-jobs", "N", "Most jobs at a time; default: 4 a CPU.", RUN, read=whole(1, 100_000))
    ] = None
    exports: Annotated[bool | None, option("--export", "ALL", _EXPORT_HELP, RUN, read=_all)] = None
    holds_memory: Annotated[
        bool, flag("--memory", "Hold jobs to their memory_gb by control groups, or refuse to run.", RUN)
    ] = False
    on_failure: Annotated[str, choice("--on-failure", ("fail", "requeue"), _LOST_HELP, RUN)] = "fail"
    decide_within_ms: Annotated[
        float, option("--decide-within", "MS", _WITHIN_HELP, RUN, read=number("milliseconds", 1e-3, 5000.0))
    ] = 50.0
    fallback: Annotated[
        str, option("--fallback", "NAME", _FALLBACK_HELP, RUN, read=_preset, complete=opt.complete_policy)
    ] = "easy"
    seed: Annotated[int, opt.seed(MOST_SEED)] = 0

    def read(self) -> RealJobs:
        """The jobs; raises ConfigError for those that cannot be run."""
        from hetsched.live.reading import read_commands

        assert self.workload is not None
        jobs = read_commands(
            self.workload, default_walltime_s=self.default_walltime_s, submit_at_once=self.submit_at_once
        )
        frame = jobs.frame
        without = frame.filter(frame["walltime_s"].is_null()) if "walltime_s" in frame.columns else frame
        if len(without):
            found = f"no walltime of {many(len(without), 'job')}, job {without['job_id'][0]} the first"
            expected = "a column walltime_s, or --default-walltime S: a policy plans by it"
            raise ConfigError([(self.workload, found, expected)])
        return jobs

    def plan(self, jobs: RealJobs, machine: MachineGiven, nodes: Nodes) -> Plan:
        """The way they are run."""
        from hetsched.live.hands import Limits
        from hetsched.live.launchers import Terms
        from hetsched.live.plan import Plan

        limits = Limits() if self.most_running is None else Limits(self.most_running)
        terms = Terms(self.grace_s, bool(self.exports), holds_memory=self.holds_memory)
        return Plan(
            jobs.commands,
            machine.launcher,
            nodes,
            jobs.source,
            terms,
            limits,
            requeues_lost=self.on_failure == "requeue",
            power=machine.power,
            acts_caps=machine.acts_caps,
            decide_within_s=self.decide_within_ms / 1e3,
            fallback=hs.policy.parse_policy(self.fallback).to_dict(),
        )


def run(
    screen: Screen,
    faults: Faults,
    *,
    jobs: CommandsGiven,
    policy: PolicyGiven,
    machine: MachineGiven,
    out: Annotated[
        str | None, option("--out", "DIR", "Keep the run there: journal, outputs, result.", OUTPUT, read=opt.folder)
    ] = None,
    resume: Annotated[str | None, option("--resume", "DIR", _RESUME_HELP, RUN, read=opt.folder)] = None,
    failed: Annotated[bool, flag("--failed", _FAILED_HELP, RUN)] = False,
    status: Annotated[str | None, option("--status", "DIR", _STATUS_HELP, OUTPUT, read=opt.folder)] = None,
    cancel: Annotated[list[int] | None, option("--cancel", "JOBS", _CANCEL_HELP, OUTPUT, read=_jobs)] = None,
    strict: Annotated[bool, flag("--strict", "Exit with 1 if a job did not complete.", OUTPUT)] = False,
) -> None:
    """Run real commands under a policy, on this machine or in a Slurm allocation."""
    if cancel is not None and status is None:
        faults.add("--cancel", cancel, "--status DIR as well: the run that they are jobs of")
    if failed and resume is None:
        faults.add("--failed", "it", "--resume DIR as well: the run to go on with")
    of_folder = next((name for name, given in (("--status", status), ("--resume", resume)) if given is not None), None)
    if of_folder is not None:
        given = {**given_in(jobs), **({} if out is None else {"--out": out}), **given_in(policy), **given_in(machine)}
        given |= {"--resume": resume} if status is not None and resume is not None else {}
        for name, value in given.items():
            faults.note(
                name, "it" if value is True else shown(value), f"nothing with {of_folder}, whose folder says it"
            )
    else:
        for name, value in (("WORKLOAD", jobs.workload), ("--out", out)):
            if value is None:
                faults.note(name, "nothing", "jobs to run" if name == "WORKLOAD" else "a folder for the run")
    machine.check(faults)
    chosen = policy.chosen(faults)
    faults.check()
    assert chosen is not None
    if status is not None:
        show_status(screen, status, cancel)
        return
    from hetsched.live.running import begun

    with Bars() as bars:
        told = _Progress(bars)
        if resume is not None:
            made = _resumed(resume, told, screen, again=failed)
        else:
            assert out is not None
            check_output(out)
            own = _Prepared.of(screen, faults, jobs, machine)
            made = begun(out, own.jobs, own.platform, chosen, plan=own.plan, seed=own.seed, tell=told, say=screen.warn)
        try:
            is_whole = made.run()
        except Exception:
            screen.warn(f"what runs goes on by itself; to go on: hetsched run --resume {made.folder}")
            raise
    _end(screen, made, strict=strict, is_whole=is_whole)


class _Progress:
    """A bar of jobs that are over, with how many run and wait, and the watts of the machine."""

    def __init__(self, bars: Bars) -> None:
        self._tell = bars.bar("run", unit="jobs")

    def __call__(self, made: LiveRun) -> None:
        own = made.executor
        watts = "" if made.power_w is None else f", {made.power_w:,.0f} W"
        self._tell(len(own.states), own.jobs, note=f"{len(own.running)} running, {own.waiting} waiting{watts}")


@dataclass(frozen=True)
class _Prepared:
    """Everything that a run begins with."""

    jobs: RealJobs
    platform: hs.Platform
    plan: Plan
    seed: int

    @classmethod
    def of(cls, screen: Screen, faults: Faults, given: CommandsGiven, machine: MachineGiven) -> _Prepared:
        """Read the jobs and the machine, and say what was assumed."""
        made, nodes = machine.made(faults)
        jobs = given.read()
        for line in (nodes.note, *made.notes, *jobs.notes):
            screen.say(line)
        return cls(jobs, made.platform, given.plan(jobs, machine, nodes), given.seed)


def _resumed(folder: str, told: _Progress, screen: Screen, *, again: bool) -> LiveRun:
    from hetsched.live.running import resumed

    made = resumed(folder, tell=told, say=screen.warn)
    screen.say(
        f"resumed at {made.clock.t_us / 1e6:,.1f} s: {len(made.executor.states)} of {made.executor.jobs} jobs over"
    )
    if again:
        screen.say(f"{many(made.executor.run_again(('failed', 'timeout')), 'job')} to be run once more")
    return made


def _end(screen: Screen, made: LiveRun, *, strict: bool, is_whole: bool) -> None:
    """Write the result and show it; an interrupted run says how to go on."""
    import typer

    if not is_whole and made.executor.is_cut_off and not made.executor.interrupts:
        screen.warn(f"to go on in another allocation: hetsched run --resume {made.folder}")
        raise typer.Exit(FAILED)
    if not is_whole:
        screen.warn(f"to go on: hetsched run --resume {made.folder}")
        raise typer.Exit(INTERRUPTED)
    from hetsched.report.tables import summary_table

    result = made.result()
    result.write(made.folder)
    made.close()
    summary, provenance = result.summary(), result.provenance
    name = made.setting.policy.name
    if "fallback" in provenance:
        name += f", from {provenance['fallback']['since_s']:,.0f} s on {provenance['fallback']['policy']['name']},"
    screen.head(f"{name} on {many(len(made.plan.nodes), 'node')}, real jobs")
    screen.show(summary_table(summary))
    _note_failures(screen, result, made.folder)
    screen.say(_power_note(provenance["power"]))
    _note_steps(screen, provenance["steps"])
    screen.give({"summary": summary, **provenance}, [made.folder])
    others = sum(state != "completed" for state in made.executor.states.values())
    if pending := made.executor.jobs - len(made.executor.states):
        screen.warn(f"{many(pending, 'job')} never started, and nothing would start them")
    if strict and (others or pending):
        raise typer.Exit(FAILED)


def _note_failures(screen: Screen, result: hs.Result, folder: str) -> None:
    """Say which jobs that ran did not complete, why, and where their output is."""
    import polars as pl

    ran = result.jobs.filter(pl.col("start_s").is_not_null(), pl.col("state") != "completed")
    names = [f"job {job} ({reason or state})" for job, state, reason in ran.select("job_id", "state", "reason").rows()]
    if names:
        screen.say(f"not completed: {few(names)}; output in {folder}/jobs, unless a job names its files")


def _note_steps(screen: Screen, steps: dict[str, Any]) -> None:
    if steps["slow"]:
        longer = (
            f"{steps['slow']:,} of {many(steps['count'], 'step')} took longer than {steps['decide_within_ms']:g} ms"
        )
        screen.say(f"{longer}, at most {steps['longest_ms']:,.0f} ms")
    if steps["broken_off"]:
        screen.say(f"{many(steps['broken_off'], 'step')} broken off, and nothing was decided in them")


def _power_note(power: dict[str, Any]) -> str:
    if power["source"] == "rapl":
        return f"the processors' counters (RAPL) measured {power['machine_j']:,.0f} J; energy above is the platform's"
    if power["source"] == "none":
        return "power was not asked for; energy above is the platform's"
    return "energy is the platform's: what it says that idle and busy nodes draw"
