"""A run of a sweep as plain values: a spec in, a row out."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from hetsched import __version__
from hetsched.checks import Faults, reason_of, shown
from hetsched.engine import engine
from hetsched.errors import ConfigError, TraceError
from hetsched.files import UNREADABLE, json_sha256, write_whole
from hetsched.many.axes import Axes, Options, Platforms, Policies, Seeds, Workloads, axes_of, on_clock_of
from hetsched.many.carried import content_of, held
from hetsched.many.store import code_sha256
from hetsched.naming import named_in
from hetsched.platform import Platform
from hetsched.policy import Policy
from hetsched.power.forecast import believed
from hetsched.run.simulation import run_of, simulate
from hetsched.workload import Workload
from hetsched.workload.describe import Report
from hetsched.workload.schema import COLUMNS

if TYPE_CHECKING:
    from typing_extensions import Unpack
from hetsched.run.options import RunKeywords, RunOptions, takes_run_options


@dataclass(frozen=True)
class Plan:
    """A run of a sweep before its inputs are files.

    Parameters
    ----------
    workload, platform, policy
        Their names on the sweep's axes.
    seed
        The seed.
    key
        Sha256 over everything that decides the run's summary, the version and the bytes of the compiled module among
        it; names don't, and without chance the seed does not.
    """

    workload: str
    platform: str
    policy: str
    seed: int
    key: str

    @property
    def names(self) -> dict[str, Any]:
        """Its places on the axes."""
        return {"workload": self.workload, "platform": self.platform, "policy": self.policy, "seed": self.seed}

    def __str__(self) -> str:
        names = f"workload `{self.workload}`, platform `{self.platform}`, policy `{self.policy}`"
        return f"{names}, seed {self.seed}"


@named_in("hetsched.many")
@dataclass(frozen=True)
class Spec(Plan):
    """A run as plain values, for any process that can read its files. Made by `specs`, run by `run_one`.

    Parameters
    ----------
    workload_file, platform_file
        Where its inputs are.
    composition
        The policy, as `Policy.to_dict` gives it; the `Policy` itself where parts of it are Python objects.
    options
        More keyword options of `hetsched.simulate`.
    engine
        Package whose engine the run is for; None: hetsched's own.
    """

    workload_file: str
    platform_file: str
    composition: dict[str, Any] | Policy = field(hash=False)
    options: dict[str, Any] = field(hash=False)
    engine: str | None = None

    @property
    def files(self) -> tuple[str, ...]:
        """The files that it reads."""
        return self.workload_file, self.platform_file

    def execute(self) -> dict[str, Any]:
        """The run's summary."""
        options = RunOptions(seed=self.seed, **self.options)
        return run_of(*self._inputs(), options).execute().summary()

    def _inputs(self) -> tuple[Workload, Platform, Policy]:
        check_engine(self.engine)
        workload, platform = read_workload(self.workload_file, self.workload), read_platform(self.platform_file)
        composition = self.composition
        policy = composition if isinstance(composition, Policy) else Policy.from_dict(composition)
        return workload, platform, policy


@takes_run_options(without=("seed",))
def specs(
    workloads: Workloads,
    platforms: Platforms,
    policies: Policies,
    *,
    folder: str | os.PathLike[str],
    seeds: Seeds = 1,
    **options: Unpack[RunKeywords],
) -> list[Spec]:
    """The runs of a sweep one by one, for an engine of your own to hand out: ``engine.map(run_one, specs(...))``.

    Parameters
    ----------
    workloads, platforms, policies, seeds
        As in `hetsched.sweep`.
    folder
        Where each workload and platform is written to, once. The caller of `run_one` must be able to read it under
        the same path.
    **options
        More keyword options of `hetsched.simulate`, such as ``until_s``.

    Returns
    -------
    list of Spec
        In the order of the rows of `hetsched.sweep`. Equal keys stand for equal runs: all seeds of a policy without
        chance have one.

    Raises
    ------
    ConfigError
        If an axis, an option or the name of the folder is invalid; lists all that is.
    OutputError
        If `folder` cannot be written to.

    Examples
    --------
    >>> import tempfile
    >>> import polars as pl
    >>> import hetsched as hs
    >>> jobs = pl.DataFrame({"job_id": [1, 2], "submit_s": [0, 100], "runtime_s": [60, 30], "node_count": [2, 1]})
    >>> log, machine = hs.Workload.from_polars(jobs), hs.Platform.homogeneous(nodes=2, idle_w=100, tdp_w=300)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     rows = list(map(run_one, specs(log, machine, ["fcfs", "random"], folder=folder, seeds=2)))
    >>> [(row["policy"], row["seed"], row["energy_j"]) for row in rows]
    [('fcfs', 0, 56000.0), ('fcfs', 1, 56000.0), ('random', 0, 56000.0), ('random', 1, 56000.0)]
    """
    faults = Faults()
    axes = axes_of(workloads, platforms, policies, seeds, faults)
    checked = sweep_options(options, faults)
    faults.folder("folder", folder)
    faults.check()
    own = dict.fromkeys(axes.platforms, checked)
    return written(plan_of(axes, own), axes, own, Path(folder).absolute())


def sweep_options(given: Mapping[str, Any], faults: Faults) -> RunOptions:
    """The options of all runs of a sweep; notes unknown names, and values that `simulate` does not take."""
    known = [one.name for one in fields(RunOptions) if one.name != "seed"]
    faults.unknown_keys(given, known)
    return RunOptions(**{name: given[name] for name in given if name in known}).checked(faults)


def plan_of(axes: Axes, options: Options) -> list[Plan]:
    """Every run of a sweep with its key, in the order of its rows."""
    workloads = {id(workload): workload for workload in axes.distinct_workloads.values()}
    platforms = {name: platform_sha256(platform) for name, platform in axes.platforms.items()}
    beliefs = {(w, p): belief_of(workloads[w], axes.platforms[p], options[p]) for w, p in product(workloads, platforms)}
    own = {
        (*pair, name): deciding(dated.under(policy))
        for pair, dated in _options_of(axes, options).items()
        for name, policy in axes.policies.items()
    }

    def key(workload: str, platform: str, policy_name: str, seed: int) -> str:
        jobs = axes.workloads[workload][seed]
        decides, belief = own[id(jobs), platform, policy_name], beliefs[id(jobs), platform]
        return run_key(jobs, platforms[platform], axes.policies[policy_name], seed, options=decides, belief=belief)

    names = product(axes.workloads, axes.platforms, axes.policies, axes.seeds)
    return [Plan(w, p, policy, seed, key(w, p, policy, seed)) for w, p, policy, seed in names]


def run_key(
    workload: Workload,
    platform: str,
    policy: Policy,
    seed: int,
    *,
    options: Mapping[str, Any],
    belief: Sequence[str | None],
) -> str:
    """Sha256 over everything that decides a run's summary: its platform's sum, `deciding` options, a `belief_of`."""
    decides = [workload.sha256, platform, policy.parts, seed if policy.uses_chance else None, options, *belief]
    return json_sha256([__version__, code_sha256(), *decides])


def deciding(options: RunOptions) -> dict[str, Any]:
    """The options that decide a run, without its seed; of a predictor counts what it gives, not its name."""
    return {name: value for name, value in options.record().items() if name not in ("seed", "predictor")}


def _options_of(axes: Axes, options: Options) -> dict[tuple[int, str], RunOptions]:
    """Options by workload (its `id`) and platform: dates and racks are resolved, which files of runs do not hold."""
    pairs = product(axes.distinct_workloads.values(), axes.platforms)
    return {
        (id(workload), name): on_clock_of(options[name], workload, axes.platforms[name]) for workload, name in pairs
    }


def belief_of(workload: Workload, platform: Platform, options: RunOptions) -> list[str | None]:
    """The decisive part of a predictor: the tables and draws that it gives, not its name."""
    if options.predictor is None:
        return []
    platform, forecast = believed(workload, platform, options.predictor)
    draws = None if forecast is None else hashlib.sha256(forecast.known_w.tobytes()).hexdigest()
    return [platform._tables_sha256["predicted"], draws]


def written(plans: Sequence[Plan], axes: Axes, options: Options, folder: Path) -> list[Spec]:
    """The plans as specs, with each workload and platform that they need written once to the folder."""
    drawn = {(plan.workload, plan.seed): axes.workloads[plan.workload][plan.seed] for plan in plans}
    files = {id(workload): write_workload(workload, folder) for workload in drawn.values()}
    platforms = {name: write_platform(axes.platforms[name], folder) for name in {plan.platform for plan in plans}}
    policies = {name: policy if policy.own else policy.to_dict() for name, policy in axes.policies.items()}
    own = {
        pair: {name: value for name, value in vars(dated).items() if name != "seed"}
        for pair, dated in _options_of(axes, options).items()
    }
    numbers = {(plan.workload, plan.seed): id(drawn[plan.workload, plan.seed]) for plan in plans}
    return [
        Spec(
            **vars(plan),
            workload_file=files[numbers[plan.workload, plan.seed]],
            platform_file=platforms[plan.platform],
            composition=policies[plan.policy],
            options=own[numbers[plan.workload, plan.seed], plan.platform],
            engine=engine().package,
        )
        for plan in plans
    ]


def check_engine(package: str | None) -> None:
    """Raise a ConfigError if this process has another engine than a run is for."""
    own = "hetsched's own"
    if package != engine().package:
        raise ConfigError([("engine", engine().package or own, f"{package or own}, which the spec was made with")])


def run_one(spec: Spec) -> dict[str, Any]:
    """Run a spec: a row as `hetsched.sweep` gives it.

    The last two workloads and platforms stay in memory for the next call.

    Parameters
    ----------
    spec
        From `specs`.

    Returns
    -------
    dict
        ``workload, platform, policy, seed``, and the keys of `Result.summary`.

    Raises
    ------
    ConfigError
        If it is no spec.
    TraceError
        If a file of its inputs is not there any more.
    HetschedError
        As `hetsched.simulate`.

    Warns
    -----
    RunWarning
        As `hetsched.simulate`.
    """
    if not _is_spec(spec):
        found = shown(spec) if isinstance(spec, str) else f"a {type(spec).__name__}"
        raise ConfigError([("spec", found, "a Spec, as `specs` makes them")])
    return {**spec.names, **simulate(*spec._inputs(), seed=spec.seed, **spec.options).summary()}


def _is_spec(given: object) -> bool:
    return isinstance(given, Spec)


def write_workload(workload: Workload, folder: Path) -> str:
    """Write what a run needs of a workload, unless it is there already; gives the file's path."""
    path = folder / f"{workload.sha256}.arrow"
    frame = workload.to_polars()
    known = frame.select(name for name in frame.columns if name in COLUMNS)
    if not path.exists():
        write_whole(path, lambda temporary: known.write_ipc(temporary, compression="uncompressed"))
    return str(path)


def write_platform(platform: Platform, folder: Path) -> str:
    """Write a platform with the content of its tables, unless it is there already; gives the file's path."""
    path = folder / f"{platform_sha256(platform)}.json"
    if not path.exists():
        content = json.dumps(platform._content())
        write_whole(path, lambda temporary: temporary.write_text(content, encoding="utf-8"))
    return str(path)


def platform_sha256(platform: Platform) -> str:
    """Sha256 over the nodes and the tables."""
    return json_sha256([platform.sha256, *platform._tables_sha256.values()])


@held
def read_workload(path: str, name: str) -> Workload:
    """A workload from `write_workload`; held for the next run on it."""
    with unless_gone(path, "the jobs"):
        frame = pl.read_ipc(content_of(path)).rechunk()
    return Workload(frame, source=name, report=Report(name, {"jobs": len(frame)}), history=[f"read {name}"])


@held
def read_platform(path: str) -> Platform:
    """A platform from `write_platform`; held for the next run on it."""
    with unless_gone(path, "the platform"):
        found = content_of(path)
        text = Path(found).read_bytes() if isinstance(found, str) else found.read()
        content: dict[str, Any] = json.loads(text)
    return Platform.from_dict(content)


@contextmanager
def unless_gone(path: str, what: str) -> Iterator[None]:
    """Name a file of inputs that cannot be read any more."""
    try:
        yield
    except (*UNREADABLE, ValueError) as error:
        expected = f"{what} that `specs` wrote there; keep its folder until all runs are done"
        raise TraceError(file=path, found=reason_of(error), expected=expected) from None
