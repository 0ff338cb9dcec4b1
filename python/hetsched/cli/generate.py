"""``hetsched generate``: a workload made rather than recorded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import hetsched as hs
from hetsched.checks import Faults, did_you_mean, listed
from hetsched.cli.declare import OUTPUT, argument, option
from hetsched.cli.options import check_output, file_ending_in, picture
from hetsched.cli.terminal import Screen, renamed
from hetsched.errors import Fault

if TYPE_CHECKING:
    from hetsched.workload.generators import Generator

_JOBS = "Jobs"
_KIND_HELP = "A model or a published mix, such as poisson. Without it: all of them, with their parameters."
_LOAD_HELP = "Offered load, 1 = all the nodes can do; for models."
_UTILIZATION_HELP = "Share of busy nodes to keep, 0 to 1; for mixes submitted to a target."


def _complete_kind(incomplete: str) -> list[tuple[str, str]]:
    return [(name, one.doc) for name, one in hs.workload.GENERATORS.items() if name.startswith(incomplete)]


def _trace(faults: Faults, option: str, text: str) -> str:
    from hetsched.workload.writers.registry import WRITERS

    return file_ending_in(WRITERS, faults, option, text)


def generate(
    screen: Screen,
    faults: Faults,
    *,
    kind: Annotated[str | None, argument("[KIND]", _KIND_HELP, complete=_complete_kind)] = None,
    nodes: Annotated[str | None, option("--nodes", "N", "Nodes of the machine it is made for.", _JOBS)] = None,
    jobs: Annotated[str | None, option("--jobs", "J", "Number of jobs.", _JOBS)] = None,
    load: Annotated[str | None, option("--load", "L", _LOAD_HELP, _JOBS)] = None,
    utilization: Annotated[str | None, option("--utilization", "U", _UTILIZATION_HELP, _JOBS)] = None,
    settings: Annotated[
        Sequence[str], option("--set", "NAME=VALUE", "Any parameter of the kind.", _JOBS, is_list=True)
    ] = (),
    seed: Annotated[str | None, option("--seed", "S", "Seed of all random numbers; default: 0.", _JOBS)] = None,
    out: Annotated[
        str | None,
        option("--out", "FILE", "Write the jobs there: .swf, .swf.gz, .parquet or .csv.", OUTPUT, read=_trace),
    ] = None,
    plot: Annotated[
        str | None, option("--plot", "FILE", "Draw the workload: .png, .svg or .pdf.", OUTPUT, read=picture)
    ] = None,
) -> None:
    """Make a workload from a model or a published mix, describe it, and write it as a job log."""
    options = {"nodes": nodes, "jobs": jobs, "load": load, "utilization": utilization, "seed": seed}
    given = {name: text for name, text in options.items() if text is not None}
    if kind is None:
        if given or settings or out or plot:
            faults.note("KIND", "none", f"one of {listed(hs.workload.GENERATORS)}")
        faults.check()
        _list_kinds(screen)
        return
    generators = hs.workload.GENERATORS
    faults.choice("KIND", kind, list(generators))
    parameters = _parameters(faults, generators[kind], given, settings) if kind in generators else {}
    faults.check()
    check_output(files=[out, plot])
    generator = generators[kind]
    with renamed({name: f"--{name}" if name in given else f"--set {name}" for name in parameters}):
        workload = generator.function(**parameters)
    _tell_fluctuation(screen, generator, parameters, workload)
    for note in workload.report["notes"]:
        screen.say(note)
    _show(screen, workload, _written(workload, out=out, plot=plot))


def _parameters(
    faults: Faults, generator: Generator, given: Mapping[str, str], settings: Sequence[str]
) -> dict[str, Any]:
    """The values that were given for a generator's parameters."""
    known = {parameter.name: parameter for parameter in generator.parameters}
    texts = [(f"--{name}", name, text) for name, text in given.items()]
    for setting in settings:
        name, equals, text = setting.partition("=")
        if not equals:
            faults.add("--set", setting, "NAME=VALUE, such as seed=4")
        else:
            texts.append((f"--set {name}", name, text))
    values: dict[str, Any] = {}
    for place, name, text in texts:
        if name not in known:
            faults.add(place, text, f"a parameter of {generator.name}: {listed(known)}{did_you_mean(name, known)}")
        elif name in values and name in given:
            faults.add(place, text, f"--{name} or --set {name}, not both")
        elif name in values:
            faults.add(place, text, f"--set {name} once; it is given twice")
        else:
            own = Faults()
            values[name] = known[name].from_text(text, own)
            if not own.found:
                # Checked here already, so that faults of all parameters are reported at once.
                known[name].settle(values[name], own)
            # `mix[0].count` becomes `--set mix[0].count`.
            faults.extend(own, partial(Fault.moved, old=name, new=place))
    return values


def _tell_fluctuation(screen: Screen, generator: Generator, parameters: dict[str, Any], workload: hs.Workload) -> None:
    """Say it if a target has less room to wander than was asked for."""
    found = workload.report["parameters"].get("fluctuation")
    if found is not None and found < (asked := parameters.get("fluctuation", generator.default("fluctuation"))):
        screen.say(f"fluctuation {found:g} in place of {asked:g}: the target stays within 0 and 1")


def _list_kinds(screen: Screen) -> None:
    from hetsched.report.workload import generators_table
    from hetsched.workload.generators.parameters import as_text

    screen.show(generators_table(list(hs.workload.GENERATORS.values())))
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
        for generator in hs.workload.GENERATORS.values()
    ]
    screen.give({"summary": {"generators": len(rows)}, "generators": rows})


def _forms() -> str:
    from hetsched.workload.generators.distributions import DISTRIBUTIONS

    return listed(one.form for one in DISTRIBUTIONS.values())


def _written(workload: hs.Workload, *, out: str | None, plot: str | None) -> list[str]:
    """Write what was asked for; gives the names."""
    written = []
    if out is not None:
        workload.write(out)
        written.append(out)
    if plot is not None:
        from hetsched.report.canvas import save
        from hetsched.report.workload import workload_overview

        nodes = workload.report["header"]["max_nodes"]
        title = f"{workload.report['generator']}, {nodes:,} nodes"
        save(workload_overview(workload.to_polars(), nodes=nodes, title=title), plot)
        written.append(plot)
    return written


def _show(screen: Screen, workload: hs.Workload, written: list[str]) -> None:
    from hetsched.report.workload import apps_table, workload_table

    about, summary = workload.report, _summary(workload)
    title = f"{about['generator']}: {len(workload):,} jobs for {about['header']['max_nodes']:,} nodes"
    screen.show(workload_table(workload, title=title))
    if (apps := apps_table(workload.to_polars())) is not None:
        screen.show(apps)
    metrics = hs.analysis.METRICS
    span, load = metrics["makespan_s"].text(summary["span_s"]), metrics[_LOAD].text(summary[_LOAD])
    screen.say(f"submitted over {span}, offered load {load}")
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
        },
        written,
    )


_LOAD = "offered_load_ratio"


def _summary(workload: hs.Workload) -> dict[str, Any]:

    jobs = workload.to_polars()
    nodes = workload.report["header"]["max_nodes"]
    shared: dict[str, Any] = {"slots": int(jobs["slots"].max()), "exclusive": False} if "slots" in jobs.columns else {}  # type: ignore[arg-type]
    machine = hs.Platform.homogeneous(nodes=nodes, idle_w=0.0, tdp_w=1.0, **shared)
    return {
        "jobs": len(jobs),
        "span_s": float(jobs["submit_s"][-1] - jobs["submit_s"][0]),
        _LOAD: workload.offered_load(machine),
        "area_node_s": float((jobs["node_count"] * jobs["runtime_s"]).sum()),
        "applications": jobs["app"].n_unique() if "app" in jobs.columns else 0,
    }
