"""``hetsched compare``: one log under several policies, as ratios to one of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import hetsched as hs
from hetsched.checks import Faults, did_you_mean, listed
from hetsched.cli import options as opt
from hetsched.cli.declare import option, whole
from hetsched.cli.inputs import OTHER_DRAWS, Inputs, Machine
from hetsched.cli.named_policies import of_policy, policies_of, policy_of
from hetsched.cli.options import check_output
from hetsched.cli.pictures import draw_comparison
from hetsched.cli.run_options import RunGiven
from hetsched.cli.terminal import Screen, command_line, noted, renamed
from hetsched.errors import ConfigError

if TYPE_CHECKING:
    from hetsched.cli.window import Window
    from hetsched.many.outcome import Keep
    from hetsched.run.options import RunOptions

_POLICIES = "Policies"
_POLICIES_HELP = "Presets, NAME:PARAM=VALUE, or FILE.py:NAME for your own, with commas between; see hetsched policies."
_BASELINE_HELP = "Policy whose ratios are 1; default: the first."
_METRICS_HELP = (
    "Metrics to compare: keys of the summary, and longer_waits; default: energy, and the mean, 95th percentile and "
    "longest wait, with the jobs that wait over an hour longer than under the baseline."
)
_SEEDS_HELP = "Runs per policy that draws random numbers, for confidence intervals."


def _keys(faults: Faults, option: str, text: str) -> tuple[str, ...]:
    """Keys with commas between."""
    del faults, option
    return tuple(key.strip() for key in text.split(","))


@dataclass(frozen=True)
class Contest:
    """The policies, and how they are compared."""

    policies: Annotated[str, option("--policies", "A,B,…", _POLICIES_HELP, _POLICIES, complete=opt.complete_policies)]
    baseline: Annotated[
        str | None, option("--baseline", "A", _BASELINE_HELP, _POLICIES, complete=opt.complete_policy)
    ] = None
    metrics: Annotated[
        tuple[str, ...] | None,
        option("--metrics", "KEY,…", _METRICS_HELP, _POLICIES, read=_keys, complete=opt.complete_metrics),
    ] = None
    seeds: Annotated[int, option("--seeds", "K", _SEEDS_HELP, _POLICIES, read=whole(1, 10_000))] = 1


@dataclass(frozen=True)
class Wanted:
    """Files that are wanted of a comparison."""

    out: opt.Out = None
    plot: opt.Plot = None
    report: opt.Report = None
    title: opt.Title = ""

    def keep(self, measured: Window | None) -> Keep:
        """The part of each run that these files need."""
        from hetsched.many.outcome import Keep

        window = None if measured is None else (measured.from_s, measured.until_s)
        return Keep(window, drawn=self.plot is not None, shown=self.report is not None)

    def write(self, found: hs.Comparison, machine: Machine) -> list[str]:
        """Write the pictures and the page; gives the names of all files, those of the comparison first."""
        written = [] if self.out is None else [str(Path(self.out) / "comparison.csv")]
        if self.plot is not None:
            written += draw_comparison(self.plot, found.table, found._outcomes, baseline=found.baseline)
        if self.report is not None:
            page = found._page(title=self.title, assumed=machine.notes, command=command_line())
            written.append(page.write(self.report))
        return written


def compare(
    screen: Screen,
    faults: Faults,
    *,
    contest: Contest,
    inputs: Inputs,
    run: RunGiven,
    executor: opt.Executor = None,
    wanted: Wanted,
) -> None:
    """Schedule a job log under several policies, and show them side by side."""
    from hetsched.many.compare import compared
    from hetsched.report.tables import comparison_table, shares_tables

    policies, baseline = _checked(faults, contest, inputs, run, wanted)
    options = run.options()
    workload, machine = inputs.read(screen)
    _check_runs(list(policies.values()), workload, machine, run, options)
    measured = inputs.log.window.measured(workload)
    with renamed({**run.given_names, "executor": "--executor"}):
        found = compared(
            workload,
            machine.platform,
            policies,
            baseline=baseline,
            options=options,
            seeds=contest.seeds,
            metrics=contest.metrics,
            keep=wanted.keep(measured),
            folder=None if wanted.out is None else Path(wanted.out),
            where=executor,
            change=OTHER_DRAWS,
        )
    written = wanted.write(found, machine)
    screen.show(comparison_table(found.table, baseline=baseline, width=screen.width, currency=found.currency))
    if not found.shares.is_empty():
        screen.show(shares_tables(found.shares))
    for note in [*([] if measured is None else [measured.note]), *found.notes]:
        screen.say(note)
    screen.give({**found.to_dict(), "assumed": machine.assumed_w}, written)


def _checked(
    faults: Faults, contest: Contest, inputs: Inputs, run: RunGiven, wanted: Wanted
) -> tuple[dict[str, hs.Policy], str]:
    """The policies by name and the baseline's name, once all options are known to be right."""
    inputs.check(faults)
    run.check(faults, inputs)
    if contest.metrics is not None:
        run.check_metrics(faults, "--metrics", contest.metrics)
        inputs.log.window.check_metrics(faults, contest.metrics)
    policies = policies_of(faults, "--policies", contest.policies)
    baseline = _baseline(faults, contest.baseline, policies)
    opt.check_title(faults, wanted.title, wanted.report)
    faults.check()
    check_output(wanted.out)
    return {policy.name: policy for policy in policies}, baseline


def _check_runs(
    policies: Sequence[hs.Policy], workload: hs.Workload, machine: Machine, run: RunGiven, options: RunOptions
) -> None:
    """Refuse what can be seen before the first run: nothing to predict, dates of a contract, too low budgets."""
    run.check_inputs(workload, machine.platform)
    run.check_contract(workload, machine.platform, options)
    with run.in_contract():
        _check_budgets(policies, workload, machine, options)


def _check_budgets(policies: Sequence[hs.Policy], workload: hs.Workload, machine: Machine, options: RunOptions) -> None:
    """Refuse budgets below the idle machine's draw: each policy on none of the jobs."""
    from hetsched.workload.clock import unix_zero

    faults, events, contract = Faults(), options.events, options.contract
    if contract is not None:
        # Without jobs a log may not say its clock.
        contract = contract.starting(unix_zero(workload))
    for policy in policies:
        if policy.parts["power"] is not None or events is not None or contract is not None:
            with noted(faults), of_policy(policy.name):
                hs.simulate(workload.head(0), machine.platform, policy, events=events, contract=contract)
    faults.check()


def _baseline(faults: Faults, text: str | None, policies: Sequence[hs.Policy]) -> str:
    """The baseline's name; notes it if it is not one of the policies."""
    names = [policy.name for policy in policies]
    if text is None or not names:
        return names[0] if names else ""
    try:
        name = policy_of(text).name
    except ConfigError:
        name = text
    if name not in names and not faults.found:
        faults.add("--baseline", text, f"one of --policies: {listed(names)}{did_you_mean(text, names)}")
    return name
