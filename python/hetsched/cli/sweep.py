"""``hetsched sweep``: many runs from a file, as tables of ratios with intervals, and pictures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import hetsched as hs
from hetsched.checks import Faults, did_you_mean, listed, many
from hetsched.cli import options as opt
from hetsched.cli.declare import OUTPUT, argument, option
from hetsched.cli.options import check_output, folder
from hetsched.cli.pictures import draw_sweep
from hetsched.cli.sweep_file import Place, SweepFile, Workloads, in_file
from hetsched.cli.terminal import Screen, changed, command_line

if TYPE_CHECKING:
    import polars as pl

    from hetsched.errors import Fault

_FILE_HELP = "What to run: logs or a generator, machines, policies, settings, seeds; see the how-to about sweeps."
_OUT_HELP = "Keep finished runs there, and write the tables; the same call goes on where it was. Default: as FILE says."
_CELL = ("workload", "platform")
_MOST_TABLES = 12
_TABLE = "comparison.csv"


@dataclass(frozen=True)
class SweepGiven:
    """Options of a sweep."""

    workers: opt.Workers = None
    executor: opt.Executor = None
    out: Annotated[str | None, option("--out", "DIR", _OUT_HELP, OUTPUT, read=folder)] = None
    plot: opt.Plot = None
    report: opt.Report = None
    title: opt.Title = ""


def sweep(
    screen: Screen, faults: Faults, *, file: Annotated[str, argument("FILE.toml", _FILE_HELP)], asked: SweepGiven
) -> None:
    """Run every workload of a file on every machine under every policy and seed, and compare the policies."""
    opt.check_executor(faults, asked.workers, asked.executor)
    opt.check_title(faults, asked.title, asked.report)
    faults.check()
    with changed(lambda fault: _of_option_or_file(file, fault)):
        given = SweepFile.of(file)
        out = given.out if asked.out is None else asked.out
        check_output(out)
        workloads, of_workloads = given.workloads(screen)
        machines, of_machines = given.machines(screen, workloads)
        policies = given.contestants(next(iter(machines.values())).platform)
        baseline = _baseline(given.baseline, policies)
        runs = _runs(given, workloads, machines, policies, workers=asked.workers, executor=asked.executor, out=out)
    table = hs.analysis.ratios_to_baseline(runs, baseline=baseline, metrics=given.metrics, by=_CELL)
    written = [] if out is None else _written(table, out)
    if asked.plot is not None:
        written += draw_sweep(asked.plot, table, {"workload": of_workloads, "platform": of_machines}, baseline)
    if asked.report is not None:
        from hetsched.report.page.sweeps import page_of_sweep

        said = {"title": asked.title, "command": command_line()}
        written.append(page_of_sweep(runs, baseline=baseline, metrics=given.metrics, **said).write(asked.report))
    _show(screen, table, baseline)
    are_machines = len(machines) == max(len(given.platforms), 1)
    screen.say(f"{many(len(runs), 'run')}: {_axes_text(runs, 'machine' if are_machines else 'setting')}")
    screen.give(_value(runs, table, baseline), written)


def _runs(
    given: SweepFile, workloads: Workloads, machines: Mapping[str, Place], policies: Mapping[str, hs.Policy], **how: Any
) -> pl.DataFrame:
    """A row a run, as `hetsched.sweep` gives it."""
    from hetsched.many.axes import axes_of
    from hetsched.many.sweep import swept

    own = Faults()
    axes = axes_of(workloads, {name: one.platform for name, one in machines.items()}, policies, given.seeds, own)
    options = {name: one.options.checked(own) for name, one in machines.items()}
    own.check()
    return swept(axes, options, **how)


def _of_option_or_file(file: str, fault: Fault) -> Fault:
    """A fault of where runs are made at its option; all others are the file's."""
    at_option = fault.moved("executor", "--executor")
    return in_file(file, fault) if at_option == fault else at_option


def _baseline(name: str, policies: Mapping[str, Any]) -> str:
    """The policy whose ratios are 1; the first if none is named."""
    if not name:
        return next(iter(policies))
    if name not in policies:
        raise hs.ConfigError([("baseline", f"`{name}`", f"one of {listed(policies)}{did_you_mean(name, policies)}")])
    return name


def _written(table: pl.DataFrame, out: str) -> list[str]:
    from hetsched.files import write_whole

    path = Path(out) / _TABLE
    write_whole(path, table.write_csv().encode())
    return [str(path), str(Path(out) / "sweep.parquet")]


def _show(screen: Screen, table: pl.DataFrame, baseline: str) -> None:
    """A table of the policies for each workload and machine."""
    from hetsched.report.tables import comparison_table

    cells = table.partition_by(_CELL, maintain_order=True, as_dict=True)
    several = [place for place, name in enumerate(_CELL) if table[name].n_unique() > 1]
    for names, own in list(cells.items())[:_MOST_TABLES]:
        if several:
            screen.head(", ".join(str(names[place]) for place in several))
        screen.show(comparison_table(own, baseline=baseline, width=screen.width))
    if len(cells) > _MOST_TABLES:
        screen.say(f"and {many(len(cells) - _MOST_TABLES, 'more table')}: --out and --json have all")


def _axes_text(runs: pl.DataFrame, places: str) -> str:
    """Numbers of workloads, of machines or settings, of policies and of seeds."""
    workloads, machines, policies, seeds = (runs[name].n_unique() for name in (*_CELL, "policy", "seed"))
    named = "1 policy" if policies == 1 else f"{policies:,} policies"
    return f"{many(workloads, 'workload')} × {many(machines, places)} × {named} × {many(seeds, 'seed')}"


def _value(runs: pl.DataFrame, table: pl.DataFrame, baseline: str) -> dict[str, Any]:
    names = {f"{name}s" if name != "policy" else "policies": runs[name].n_unique() for name in (*_CELL, "policy")}
    summary = {"runs": len(runs), **names, "seeds": runs["seed"].n_unique()}
    return {"summary": summary, "baseline": baseline, "comparison": table.to_dicts(), "runs": runs.to_dicts()}
