"""``hetsched compare``: one log under several policies, as ratios to one of them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hetsched.checks import Faults, did_you_mean, listed
from hetsched.cli import options as opt
from hetsched.cli.inputs import Inputs
from hetsched.cli.own_policy import policy_of
from hetsched.cli.pictures import check_folder, check_plot, draw_comparison
from hetsched.cli.run_options import RunTexts, in_contract, of_policy, policies_in
from hetsched.cli.terminal import Screen, noted, renamed
from hetsched.errors import ConfigError

if TYPE_CHECKING:
    from hetsched.platform import Platform
    from hetsched.policy import Policy
    from hetsched.run.options import RunOptions
    from hetsched.workload import Workload

_POLICY = "Policies"


@opt.takes_groups
def compare(
    *,
    policies: Annotated[
        str,
        typer.Option(
            "--policies",
            metavar="A,B,…",
            help="Presets, NAME:PARAM=VALUE, or FILE.py:NAME for your own, with commas between; see hetsched policies.",
            autocompletion=opt.complete_policies,
            rich_help_panel=_POLICY,
        ),
    ],
    baseline: Annotated[
        str | None,
        typer.Option(
            "--baseline",
            metavar="A",
            help="The one whose ratios are 1; default: the first.",
            autocompletion=opt.complete_policy,
            rich_help_panel=_POLICY,
        ),
    ] = None,
    metrics: Annotated[
        str | None,
        typer.Option(
            "--metrics",
            metavar="KEY,…",
            help="What to compare by, such as p95_wait_s: keys of the summary.",
            autocompletion=opt.complete_metrics,
            rich_help_panel=_POLICY,
        ),
    ] = None,
    seeds: Annotated[
        str,
        typer.Option(
            "--seeds", metavar="K", help="Runs of each policy that uses chance, for intervals.", rich_help_panel=_POLICY
        ),
    ] = "1",
    inputs: Inputs,
    run: RunTexts,
    out: opt.Out = None,
    plot: opt.Plot = None,
    as_json: opt.Json = False,
    debug: opt.Debug = False,
) -> None:
    """Schedule a job log under several policies, and show them beside each other."""
    del debug
    from hetsched.many.compare import Keep, compared  # noqa: PLC0415 -- polars is slow to import
    from hetsched.report.tables import comparison_table  # noqa: PLC0415

    screen = Screen(as_json=as_json)
    window, faults = inputs.log.window, Faults()
    inputs.check(faults)
    run.check(faults, has_table=inputs.has_table)
    window.check(faults, until_s=run.until_s, bound=run.bound, has_contract=run.noted_contract(faults))
    repeats = opt.whole(faults, "--seeds", seeds, low=1, high=10_000)
    keys = _metrics(faults, metrics, run)
    window.check_metrics(faults, keys or ())
    contestants = policies_in(faults, policies)
    base = _baseline(faults, baseline, contestants)
    if out is not None:
        faults.folder("--out", out)
    check_plot(faults, plot)
    faults.check()
    check_folder(out)

    options = run.options()
    workload, machine = inputs.read(screen)
    run.check_inputs(workload, machine.platform)
    run.check_contract(workload, machine.platform, options)
    with in_contract(run.contract_file):
        _check_budgets(contestants, workload, machine.platform, options)
    measured = window.measured(workload)
    with renamed({"predictor": f"--predictor {run.predictor}"}):
        result = compared(
            workload,
            machine.platform,
            {policy.name: policy for policy in contestants},
            baseline=base,
            options=options,
            seeds=repeats or 1,
            metrics=keys,
            keep=Keep(None if measured is None else (measured.from_s, measured.until_s), drawn=plot is not None),
            folder=None if out is None else Path(out),
            change=opt.OTHER_DRAWS,
        )
    written = [] if out is None else [str(Path(out) / "comparison.csv")]
    if plot is not None:
        written += draw_comparison(plot, result.table, result.outcomes, baseline=base)
    screen.show(comparison_table(result.table, baseline=base, width=screen.width))
    for note in [*([] if measured is None else [measured.note]), *result.notes]:
        screen.say(note)
    for path in written:
        screen.say(f"wrote {path}")
    screen.give({**result.to_dict(), "assumed": machine.assumed_w, "written": written})


def _metrics(faults: Faults, text: str | None, run: RunTexts) -> tuple[str, ...] | None:
    """The keys asked for; None: those of every comparison."""
    from hetsched.run.metrics import OF_BOUND, metrics_named  # noqa: PLC0415

    if text is None:
        return None
    keys = tuple(key.strip() for key in text.split(","))
    with noted(faults):
        metrics_named(keys, parameter="--metrics")
    for key in [key for key in keys if key in OF_BOUND] if not run.bound else []:
        faults.add("--metrics", key, "--bound beside it, which computes it")
    is_priced = run.events is not None or run.contract is not None
    for key in sorted({"cost", "carbon_kg"} & set(keys)) if not is_priced else ():
        faults.add("--metrics", key, "--events or --contract beside it, with prices or carbon intensities")
    for key in sorted({"over_budget_kwh", "penalty"} & set(keys)) if not is_priced else ():
        faults.add("--metrics", key, "--contract beside it, with limits")
    return keys


def _check_budgets(policies: list[Policy], workload: Workload, platform: Platform, options: RunOptions) -> None:
    """Refuse budgets below the idle machine's draw before the first run: each policy on none of the jobs."""
    from hetsched.run.simulation import simulate  # noqa: PLC0415
    from hetsched.workload.clock import unix_zero  # noqa: PLC0415

    faults, events, contract = Faults(), options.events, options.contract
    if contract is not None:
        # Without jobs a log may not say its clock.
        contract = contract.starting(unix_zero(workload))
    for policy in policies:
        if policy.parts["power"] is not None or events is not None or contract is not None:
            with noted(faults), of_policy(policy.name):
                simulate(workload.head(0), platform, policy, events=events, contract=contract)
    faults.check()


def _baseline(faults: Faults, text: str | None, policies: list[Policy]) -> str:
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
