"""``hetsched whatif``: a log on today's machine and on others, every setting against today."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Annotated, Any

import hetsched as hs
from hetsched.checks import Faults, many
from hetsched.cli import options as opt
from hetsched.cli.declare import OUTPUT, argument, flag, option
from hetsched.cli.inputs import Inputs, MeasuredLog
from hetsched.cli.named_policies import BASE, policy_of
from hetsched.cli.options import check_output, folder, only_of_a_log, picture
from hetsched.cli.run_options import RunGiven
from hetsched.cli.terminal import Screen, changed, command_line, inside, noted, renamed
from hetsched.cli.window import UnmeasuredWindow
from hetsched.errors import Fault

_SETTINGS, _POLICY = "Settings", "Policy"
_TRACE_HELP = "Job log, as for hetsched simulate; or the folder of a result, which is today's then."
_SET_HELP = (
    "Values of a key, such as nodes=+10%,800, backfill.depth=1,16 or sleep=timeout:min_idle_s=600; with ; between "
    "values that have commas. Given several times, every combination is run."
)
_POLICY_HELP = "Today's: a preset, NAME:PARAM=VALUE, or FILE.py:NAME; default: easy."
_METRICS_HELP = "Keys of the summary that settings are compared in; default: energy_j,mean_wait_s,p95_wait_s."
_KEYS_HELP = "List the keys of settings and their values, and run nothing."
_OUT_HELP = "Keep finished runs there, and write the tables as CSV; the same call goes on where it was."
_PLOT_HELP = "Draw energy against wait: a .png, .svg or .pdf."


@dataclass(frozen=True)
class AskedLog(MeasuredLog):
    """A log that need not be given; its runs are compared as a whole."""

    trace: Annotated[str, argument("TRACE", _TRACE_HELP)] = ""
    window: UnmeasuredWindow = field(default_factory=UnmeasuredWindow)


@dataclass(frozen=True)
class TodaysInputs(Inputs):
    """The options of today's workload and machine."""

    log: AskedLog


@dataclass(frozen=True)
class TodaysPolicy:
    """The policy of today."""

    policy: Annotated[str | None, option("--policy", "NAME", _POLICY_HELP, _POLICY, complete=opt.complete_policy)] = (
        None
    )
    policy_file: Annotated[str | None, option("--policy-file", "F.toml", "The same from a file.", _POLICY)] = None

    def chosen(self, faults: Faults) -> hs.Policy | None:
        """The policy; None for the usual one, or if it is faulty, which is noted."""
        if self.policy is not None and self.policy_file is not None:
            faults.add("--policy", self.policy, "nothing with --policy-file, which says it all")
        elif self.policy_file is not None:
            with noted(faults), inside(self.policy_file):
                return hs.Policy.from_toml(self.policy_file)
        elif self.policy is not None:
            with noted(faults, {"policy": "--policy"}):
                return policy_of(self.policy)
        return None


def _metrics(faults: Faults, option: str, text: str) -> tuple[str, ...]:
    from hetsched.run.metrics import metrics_named

    keys = tuple(key.strip() for key in text.split(","))
    with noted(faults):
        metrics_named(keys, parameter=option)
    return keys


@dataclass(frozen=True)
class Asked:
    """Options of the comparison."""

    settings: Annotated[Sequence[str], option("--set", "KEY=V,…", _SET_HELP, _SETTINGS, is_list=True)] = ()
    keys: Annotated[bool, flag("--keys", _KEYS_HELP, _SETTINGS)] = False
    metrics: Annotated[
        tuple[str, ...] | None,
        option("--metrics", "KEY,…", _METRICS_HELP, _SETTINGS, read=_metrics, complete=opt.complete_metrics),
    ] = None
    workers: opt.Workers = None
    executor: opt.Executor = None
    out: Annotated[str | None, option("--out", "DIR", _OUT_HELP, OUTPUT, read=folder)] = None
    plot: Annotated[str | None, option("--plot", "FILE", _PLOT_HELP, OUTPUT, read=picture)] = None
    report: opt.Report = None
    title: opt.Title = ""

    @property
    def options(self) -> dict[str, Any]:
        """Options of `hetsched.what_if` that are given."""
        given = {"workers": self.workers, "executor": self.executor, "out": self.out, "metrics": self.metrics}
        return {name: value for name, value in given.items() if value is not None}

    def values(self, faults: Faults) -> dict[str, Any]:
        """Texts of values by key."""
        found: dict[str, Any] = {}
        for text in self.settings:
            key, equals, values = (part.strip() for part in text.partition("="))
            each = [value.strip() for value in values.rstrip(";").split(";" if ";" in values else ",")]
            if not equals or not key or not all(each):
                faults.add("--set", text, "KEY=VALUE,VALUE such as nodes=+10%,800")
            elif key in found:
                faults.add("--set", text, f"{key} once, with all its values")
            else:
                found[key] = each
        if not self.settings:
            faults.note("--set", "nothing", "KEY=VALUE,…: see hetsched whatif --keys")
        with noted(faults, {"policy": "--set policy"}):
            if ".py" in "".join(found.get("policy", ())):
                found["policy"] = {text: policy_of(text) for text in found["policy"]}
        return found


def whatif(
    screen: Screen,
    faults: Faults,
    *,
    asked: Asked,
    policy: TodaysPolicy,
    inputs: TodaysInputs,
    run: RunGiven,
) -> None:
    """Run a job log under other settings of its machine, policy and budget, each against today."""
    if asked.keys:
        faults.check()
        _show_keys(screen)
        return
    is_result = Path(inputs.log.trace).is_dir() and inputs.log.trace != ""
    settings = asked.values(faults)
    _check(faults, asked, inputs, run, settings, is_result=is_result)
    if is_result:
        only_of_a_log(faults, inputs, policy)
    today = policy.chosen(faults)
    faults.check()
    check_output(asked.out, files=[asked.plot])

    with changed(_of_option), renamed(run.given_names), run.in_contract():
        options = {"settings": settings, **asked.options}
        assumed: Sequence[str] = ()
        if is_result:
            found = _of_result(inputs, run, options)
        else:
            found, assumed = _of_log(screen, inputs, run, today, options)
    written = [] if asked.out is None else found.write(asked.out)
    if asked.plot is not None:
        from hetsched.report.canvas import save
        from hetsched.report.whatifs import setting_figure

        save(setting_figure(found.table, found.metrics), asked.plot)
        written.append(asked.plot)
    if asked.report is not None:
        written.append(found._page(title=asked.title, assumed=assumed, command=command_line()).write(asked.report))
    _show(screen, found)
    screen.give(found.to_dict(), written)


def _show_keys(screen: Screen) -> None:
    from hetsched.report.whatifs import keys_table
    from hetsched.whatif.keys import keys_of, rows_of_keys

    rows = rows_of_keys(keys_of())
    screen.show(keys_table(rows, width=screen.width))
    screen.tell("CLASS and QUEUE stand for names of the machine's node classes and queues.")
    screen.tell("A number may be a change of today's: +10% or -5%.")
    screen.tell("A parameter that only one role has may stand alone: depth is backfill.depth.")
    screen.give({"summary": {"keys": len(rows)}, "keys": [{"key": name, "values": form} for name, form in rows]})


def _check(
    faults: Faults, asked: Asked, inputs: TodaysInputs, run: RunGiven, settings: Mapping[str, Any], *, is_result: bool
) -> None:
    """Note what is wrong before a log of hours is read."""
    from hetsched.whatif.settings import axes_of

    if not inputs.log.trace:
        faults.note("TRACE", "nothing", "a job log, or the folder of a result")
    opt.check_title(faults, asked.title, asked.report)
    opt.check_executor(faults, asked.workers, asked.executor)
    if asked.plot is not None and asked.metrics is not None and len(asked.metrics) < 2:
        faults.add("--plot", asked.plot, "two metrics at least, one an axis")
    if not is_result:
        inputs.check(faults)
    run.check(faults, inputs)
    if settings and inputs.platform is None and not is_result:
        own = Faults()
        axes_of(settings, hs.Platform.homogeneous(nodes=1, idle_w=0.0, tdp_w=0.0), own)
        faults.extend(own, _of_option)


def _of_result(inputs: TodaysInputs, run: RunGiven, options: Mapping[str, Any]) -> hs.WhatIf:
    """Settings against the run of a result, with the options that are given again."""
    own, defaults = vars(run.options()), {one.name: one.default for one in fields(run.plain)}
    given = {name: value for name, value in own.items() if value != defaults[name]}
    return hs.what_if(hs.read_result(inputs.log.trace), **options, **given)


def _of_log(
    screen: Screen, inputs: TodaysInputs, run: RunGiven, today: hs.Policy | None, options: Mapping[str, Any]
) -> tuple[hs.WhatIf, Sequence[str]]:
    """Settings of a log against today, and what was assumed of its machine."""
    own = vars(run.options())
    workload, machine = inputs.read(screen)
    run.check_inputs(workload, machine.platform)
    return hs.what_if(workload, machine.platform, today or BASE, **options, **own), machine.notes


def _show(screen: Screen, found: hs.WhatIf) -> None:
    from hetsched.report.whatifs import setting_table

    screen.head(f"{many(len(found.table) - 1, 'setting')} against today")
    screen.show(setting_table(found.table, found.changes, width=screen.width))
    for note in found.notes:
        screen.tell(note)


def _of_option(fault: Fault) -> Fault:
    """A fault of a setting at the option that gave it."""
    for place in ("metrics", "workers", "executor"):
        fault = fault.moved(place, f"--{place}")
    if fault.path.startswith("settings"):
        rest = fault.path.removeprefix("settings").lstrip("., ")
        return fault.at(f"--set {rest}".rstrip())
    return fault
