"""``hetsched compare``: one log under several policies, as ratios to one of them."""

from __future__ import annotations

from collections.abc import Sequence
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
    from hetsched.run.options import RunOptions

_POLICIES = "Policies"
_POLICIES_HELP = "Presets, NAME:PARAM=VALUE, or FILE.py:NAME for your own, with commas between; see hetsched policies."
_BASELINE_HELP = "Policy whose ratios are 1; default: the first."
_METRICS_HELP = "Metrics to compare, such as p95_wait_s: keys of the summary."
_SEEDS_HELP = "Runs per policy that draws random numbers, for confidence intervals."


def compare(
    screen: Screen,
    faults: Faults,
    *,
    policies: Annotated[str, option("--policies", "A,B,…", _POLICIES_HELP, _POLICIES, complete=opt.complete_policies)],
    baseline: Annotated[
        str | None, option("--baseline", "A", _BASELINE_HELP, _POLICIES, complete=opt.complete_policy)
    ] = None,
    metrics: Annotated[
        str | None, option("--metrics", "KEY,…", _METRICS_HELP, _POLICIES, complete=opt.complete_metrics)
    ] = None,
    seeds: Annotated[int, option("--seeds", "K", _SEEDS_HELP, _POLICIES, read=whole(1, 10_000))] = 1,
    inputs: Inputs,
    run: RunGiven,
    out: opt.Out = None,
    plot: opt.Plot = None,
    report: opt.Report = None,
    title: opt.Title = "",
) -> None:
    """Schedule a job log under several policies, and show them side by side."""
    from hetsched.many.compare import compared
    from hetsched.many.outcome import Keep
    from hetsched.report.tables import comparison_table

    inputs.check(faults)
    run.check(faults, inputs)
    window = inputs.log.window
    keys = None if metrics is None else _metrics(faults, metrics, run)
    window.check_metrics(faults, keys or ())
    contestants = policies_of(faults, "--policies", policies)
    base = _baseline(faults, baseline, contestants)
    opt.check_title(faults, title, report)
    faults.check()
    check_output(out)

    options = run.options()
    workload, machine = inputs.read(screen)
    _check_runs(contestants, workload, machine, run, options)
    measured = window.measured(workload)
    with renamed(run.given_names):
        result = compared(
            workload,
            machine.platform,
            {policy.name: policy for policy in contestants},
            baseline=base,
            options=options,
            seeds=seeds,
            metrics=keys,
            keep=Keep(
                None if measured is None else (measured.from_s, measured.until_s),
                drawn=plot is not None,
                shown=report is not None,
            ),
            folder=None if out is None else Path(out),
            change=OTHER_DRAWS,
        )
    written = [] if out is None else [str(Path(out) / "comparison.csv")]
    if plot is not None:
        written += draw_comparison(plot, result.table, result._outcomes, baseline=base)
    if report is not None:
        written.append(result._page(title=title, assumed=machine.notes, command=command_line()).write(report))
    screen.show(comparison_table(result.table, baseline=base, width=screen.width, currency=result.currency))
    for note in [*([] if measured is None else [measured.note]), *result.notes]:
        screen.say(note)
    screen.give({**result.to_dict(), "assumed": machine.assumed_w}, written)


def _metrics(faults: Faults, text: str, run: RunGiven) -> tuple[str, ...]:
    """The keys asked for; notes those that do not exist, or need what these runs do not have."""
    from hetsched.run.metrics import METRICS, metrics_named

    keys = tuple(key.strip() for key in text.split(","))
    with noted(faults):
        metrics_named(keys, parameter="--metrics")
    missing = {} if run.plain.bound else {"bound": "--bound as well, which computes it"}
    if run.events is None and run.contract is None:
        missing["prices"] = "--events or --contract as well, with prices or carbon intensities"
        missing["limits"] = "--contract as well, with limits"
    for key in keys:
        if key in METRICS and (needs := METRICS[key].needs) in missing:
            faults.add("--metrics", key, missing[needs])
    return keys


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
