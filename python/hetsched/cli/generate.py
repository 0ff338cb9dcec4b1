"""``hetsched generate``: a workload made rather than recorded."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hetsched.checks import Faults, did_you_mean, listed
from hetsched.cli import options as opt
from hetsched.cli.pictures import check_folder, check_picture
from hetsched.cli.terminal import Screen, renamed
from hetsched.errors import Fault

if TYPE_CHECKING:
    from hetsched.workload import Workload
    from hetsched.workload.generators import Generator

# Named here again, as the table of generators is slow to import and help is wanted at once.
KINDS = (
    "utilization-targeted",
    "poisson",
    "lublin-feitelson",
    "coa-single",
    "swa-multi",
    "laurel2-week",
    "fft2d",
    "overloaded",
    "overloaded-large",
    "steady",
    "aoba",
)
"""Names of the generators."""

SUFFIXES = (".swf", ".swf.gz", ".parquet", ".csv")
"""Endings of the files that workloads are written to."""

_JOBS, _OUTPUT = "Jobs", "Output"


def _complete_kind(incomplete: str) -> list[str]:
    return [kind for kind in KINDS if kind.startswith(incomplete)]


def generate(
    kind: Annotated[
        str | None,
        typer.Argument(
            metavar="[KIND]",
            show_default=False,
            help=f"One of {', '.join(KINDS)}. Without it: all of them, with their parameters.",
            autocompletion=_complete_kind,
        ),
    ] = None,
    *,
    nodes: Annotated[
        str | None,
        typer.Option("--nodes", metavar="N", help="Nodes of the machine it is made for.", rich_help_panel=_JOBS),
    ] = None,
    jobs: Annotated[
        str | None, typer.Option("--jobs", metavar="J", help="How many jobs.", rich_help_panel=_JOBS)
    ] = None,
    load: Annotated[
        str | None,
        typer.Option(
            "--load", metavar="L", help="Offered load, 1 = all the nodes can do; of models.", rich_help_panel=_JOBS
        ),
    ] = None,
    utilization: Annotated[
        str | None,
        typer.Option(
            "--utilization",
            metavar="U",
            help="Share of busy nodes to keep, 0 to 1; of mixes submitted to a target.",
            rich_help_panel=_JOBS,
        ),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="Any parameter of the kind.", rich_help_panel=_JOBS),
    ] = None,
    seed: Annotated[
        str | None,
        typer.Option("--seed", metavar="S", help="All chance comes from it; default: 0.", rich_help_panel=_JOBS),
    ] = None,
    out: Annotated[
        str | None,
        typer.Option(
            "--out",
            metavar="FILE",
            help="Write the jobs there: .swf, .swf.gz, .parquet or .csv.",
            rich_help_panel=_OUTPUT,
        ),
    ] = None,
    plot: Annotated[
        str | None,
        typer.Option("--plot", metavar="FILE", help="Draw the workload: .png, .svg or .pdf.", rich_help_panel=_OUTPUT),
    ] = None,
    as_json: opt.Json = False,
    debug: opt.Debug = False,
) -> None:
    """Make a workload from a model or a published mix, describe it, and write it as a job log."""
    del debug
    screen = Screen(as_json=as_json)
    options = {"nodes": nodes, "jobs": jobs, "load": load, "utilization": utilization, "seed": seed}
    given = {name: text for name, text in options.items() if text is not None}
    faults = Faults()
    if kind is None:
        _refuse_options(faults, given, settings, out=out, plot=plot)
        faults.check()
        _list_kinds(screen)
        return
    _check_names(faults, kind, out=out, plot=plot)
    generator, parameters = _parameters(faults, kind, given, settings or [])
    faults.check()
    for file in (out, plot):
        check_folder(None if file is None else str(Path(file).parent))
    assert generator is not None
    with renamed({name: f"--{name}" if name in given else f"--set {name}" for name in parameters}):
        workload = generator.function(**parameters)
    _tell_fluctuation(screen, generator, parameters, workload)
    for note in workload.report["notes"]:
        screen.say(note)
    _show(screen, workload, _written(workload, out=out, plot=plot))


def _refuse_options(
    faults: Faults, given: dict[str, str], settings: list[str] | None, *, out: str | None, plot: str | None
) -> None:
    files = {name: value for name, value in (("out", out), ("plot", plot)) if value is not None}
    if given or settings or files:
        faults.note("KIND", "none", f"one of {listed(KINDS)}")


def _check_names(faults: Faults, kind: str, *, out: str | None, plot: str | None) -> None:
    if kind not in KINDS:
        faults.add("KIND", kind, f"one of {listed(KINDS)}{did_you_mean(kind, KINDS)}")
    if out is not None and not out.lower().endswith(SUFFIXES):
        suffix = "".join(Path(out).suffixes[-2:]).lower()
        faults.add("--out", out, f"a name ending in {listed(SUFFIXES)}{did_you_mean(suffix, SUFFIXES)}")
    check_picture(faults, plot)


def _parameters(
    faults: Faults, kind: str, given: dict[str, str], settings: list[str]
) -> tuple[Generator | None, dict[str, Any]]:
    """The generator and the values that were given for its parameters."""
    from hetsched.workload.generators import GENERATORS  # noqa: PLC0415 -- polars is slow to import

    generator = GENERATORS.get(kind)
    if generator is None:
        return None, {}
    known = {parameter.name: parameter for parameter in generator.parameters}
    texts = [(f"--{name}", name, text) for name, text in given.items()]
    for setting in settings:
        name, equals, text = setting.partition("=")
        if not equals:
            faults.add("--set", setting, "NAME=VALUE, such as seed=4")
        else:
            texts.append((f"--set {name}", name, text))
    values: dict[str, Any] = {}
    for option, name, text in texts:
        if name not in known:
            faults.add(option, text, f"a parameter of {kind}: {listed(known)}{did_you_mean(name, known)}")
        elif name in values and name in given:
            faults.add(option, text, f"--{name} or --set {name}, not both")
        elif name in values:
            faults.add(option, text, f"--set {name} once; it is given twice")
        else:
            own = Faults()
            values[name] = known[name].from_text(text, own)
            if not own.found:
                # Checked here already, so that what is wrong with one is told beside what is wrong with others.
                known[name].settle(values[name], own)
            # `mix[0].count` becomes `--set mix[0].count`.
            faults.extend(own, partial(Fault.moved, old=name, new=option))
    return generator, values


def _tell_fluctuation(screen: Screen, generator: Generator, parameters: dict[str, Any], workload: Workload) -> None:
    """Say it if a target has less room to wander than was asked for."""
    found = workload.report["parameters"].get("fluctuation")
    if found is not None and found < (asked := parameters.get("fluctuation", generator.default("fluctuation"))):
        screen.say(f"fluctuation {found:g} in place of {asked:g}: the target stays within 0 and 1")


def _list_kinds(screen: Screen) -> None:
    from hetsched.report.workload import generators_table  # noqa: PLC0415
    from hetsched.workload.generators import GENERATORS  # noqa: PLC0415
    from hetsched.workload.generators.parameters import as_text  # noqa: PLC0415

    screen.show(generators_table(list(GENERATORS.values())))
    if not screen.as_json:
        screen.tell(f"Before a parameter's meaning stands its default. Distributions of run lengths: {_forms()}.")
    rows = [
        {
            "name": generator.name,
            "doc": generator.doc,
            "source": generator.source,
            "parameters": [
                {
                    "name": parameter.name,
                    "unit": parameter.unit,
                    "default": as_text(generator.default(parameter.name)),
                    "range": parameter.range,
                    "doc": parameter.doc,
                }
                for parameter in generator.parameters
            ],
        }
        for generator in GENERATORS.values()
    ]
    screen.give({"summary": {"generators": len(rows)}, "generators": rows})


def _forms() -> str:
    from hetsched.workload.generators.distributions import DISTRIBUTIONS  # noqa: PLC0415

    return listed(one.form for one in DISTRIBUTIONS.values())


def _written(workload: Workload, *, out: str | None, plot: str | None) -> list[str]:
    """Write what was asked for; gives the names."""
    from hetsched.workload import write_trace  # noqa: PLC0415

    written = []
    if out is not None:
        write_trace(workload, out)
        written.append(out)
    if plot is not None:
        from hetsched.report.canvas import save  # noqa: PLC0415
        from hetsched.report.workload import workload_overview  # noqa: PLC0415

        nodes = workload.report["header"]["max_nodes"]
        title = f"{workload.report['generator']}, {nodes:,} nodes"
        save(workload_overview(workload.to_polars(), nodes=nodes, title=title), plot)
        written.append(plot)
    return written


def _show(screen: Screen, workload: Workload, written: list[str]) -> None:
    from hetsched.analysis import METRICS  # noqa: PLC0415
    from hetsched.report.workload import apps_table, workload_table  # noqa: PLC0415

    about, summary = workload.report, _summary(workload)
    title = f"{about['generator']}: {len(workload):,} jobs for {about['header']['max_nodes']:,} nodes"
    screen.show(workload_table(workload, title=title))
    if (apps := apps_table(workload.to_polars())) is not None:
        screen.show(apps)
    span, load = (METRICS[key].text(summary[name]) for key, name in (("makespan_s", "span_s"), (_LOAD, _LOAD)))
    screen.say(f"submitted over {span}, offered load {load}")
    for path in written:
        screen.say(f"wrote {path}")
    rows = workload.describe().rows(named=True)
    screen.give(
        {
            "summary": summary,
            "generator": about["generator"],
            "seed": about["seed"],
            "parameters": about["parameters"],
            "notes": about["notes"],
            "quantities": {row.pop("quantity"): row for row in rows},
            "sha256": workload.sha256,
            "written": written,
        }
    )


_LOAD = "offered_load_ratio"


def _summary(workload: Workload) -> dict[str, Any]:
    from hetsched.platform import Platform  # noqa: PLC0415

    jobs = workload.to_polars()
    nodes = workload.report["header"]["max_nodes"]
    shared: dict[str, Any] = {"slots": int(jobs["slots"].max()), "exclusive": False} if "slots" in jobs.columns else {}  # type: ignore[arg-type]
    machine = Platform.homogeneous(nodes=nodes, idle_w=0.0, tdp_w=1.0, **shared)
    return {
        "jobs": len(jobs),
        "span_s": float(jobs["submit_s"][-1] - jobs["submit_s"][0]),
        _LOAD: workload.offered_load(machine),
        "area_node_s": float((jobs["node_count"] * jobs["runtime_s"]).sum()),
        "applications": jobs["app"].n_unique() if "app" in jobs.columns else 0,
    }
