"""The options of runs on the command line, and what they ask for; lists of policies among them."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from hetsched.checks import Faults, did_you_mean, listed, read_toml, shown
from hetsched.cli import options as opt
from hetsched.cli.options import chosen, number, whole
from hetsched.cli.own_policy import policy_of
from hetsched.cli.terminal import changed, inside, noted
from hetsched.errors import ConfigError, Fault

if TYPE_CHECKING:
    from hetsched.contract import Contract
    from hetsched.platform import Platform
    from hetsched.platform.predictor import AnyPredictor
    from hetsched.policy import Policy
    from hetsched.run.events import Events
    from hetsched.run.options import RunOptions
    from hetsched.workload import Workload

_RUN = "Run"
_PREDICTORS = ("ideal", "history")
_TABLES = (".csv", ".csv.gz", ".csv.zst", ".parquet")
_EVENTS = (*_TABLES, ".toml")

# As in `hetsched.run.options`, which takes longer to import than help may.
_WALLTIMES = ("fixed", "stretch")
_UNKNOWN_APP = ("error", "nominal")
_ON_FAILURE = ("fail", "requeue")

Predictor = Annotated[
    str | None,
    typer.Option(
        "--predictor",
        metavar="HOW",
        help="What decisions believe: ideal, noisy:ERROR, history (of earlier jobs' power_w), or a table's file. "
        "Default: as --table and --known-draws say.",
        autocompletion=lambda incomplete: [form for form in (*_PREDICTORS, "noisy:") if form.startswith(incomplete)],
        rich_help_panel="Machine",
    ),
]
UntilSeconds = Annotated[
    str | None,
    typer.Option("--until-s", metavar="T", help="Stop at this second of the log's clock.", rich_help_panel=_RUN),
]
NoKill = Annotated[
    bool,
    typer.Option("--no-kill-at-walltime", metavar="", help="Let jobs run past their walltime.", rich_help_panel=_RUN),
]
KillGrace = Annotated[
    str,
    typer.Option(
        "--kill-grace-s",
        metavar="T",
        help="Kill jobs this long after their walltime; plans go by the walltime.",
        rich_help_panel=_RUN,
    ),
]
Walltimes = Annotated[
    str,
    typer.Option(
        "--walltimes",
        metavar="fixed|stretch",
        help="stretch: walltimes were meant for nominal speed, and are longer on slower nodes.",
        autocompletion=lambda: list(_WALLTIMES),
        rich_help_panel=_RUN,
    ),
]
OnUnknownApp = Annotated[
    str,
    typer.Option(
        "--on-unknown-app",
        metavar="error|nominal",
        help="What to do with an application that the table does not hold.",
        autocompletion=lambda: list(_UNKNOWN_APP),
        rich_help_panel=_RUN,
    ),
]
Bound = Annotated[
    bool,
    typer.Option(
        "--bound",
        metavar="",
        help="Also compute the least job energy that any placement could reach.",
        rich_help_panel=_RUN,
    ),
]
EventsFile = Annotated[
    str | None,
    typer.Option(
        "--events",
        metavar="F",
        help="Budgets, prices, carbon intensities and failures in time: a file ending in .csv, .parquet or .toml.",
        rich_help_panel=_RUN,
    ),
]


ContractFile = Annotated[
    str | None,
    typer.Option(
        "--contract",
        metavar="F.toml",
        help="Limits, prices and carbon intensities by the wall clock, which every policy is metered against; also "
        "read out of the table [contract] of --events.",
        rich_help_panel=_RUN,
    ),
]
OnFailure = Annotated[
    str,
    typer.Option(
        "--on-failure",
        metavar="fail|requeue",
        help="What becomes of jobs on nodes that fail: they end as failed, or are queued again in their old place.",
        autocompletion=lambda: list(_ON_FAILURE),
        rich_help_panel=_RUN,
    ),
]


@dataclass(frozen=True)
class RunTexts:
    """The options of a run as they were given, and its predictor."""

    predictor: Predictor = None
    seed: opt.Seed = "0"
    until_s: UntilSeconds = None
    no_kill_at_walltime: NoKill = False
    kill_grace_s: KillGrace = "0"
    walltimes: Walltimes = "fixed"
    on_unknown_app: OnUnknownApp = "error"
    bound: Bound = False
    events: EventsFile = None
    on_failure: OnFailure = "fail"
    contract: ContractFile = None

    def check(self, faults: Faults, *, has_table: bool) -> None:
        """Note what is invalid before anything is read; `has_table`: whether a table or a platform is given."""
        self._check_predictor(faults, has_table=has_table)
        chosen(faults, "--on-unknown-app", self.on_unknown_app, _UNKNOWN_APP)
        chosen(faults, "--walltimes", self.walltimes, _WALLTIMES)
        chosen(faults, "--on-failure", self.on_failure, _ON_FAILURE)
        for option, text, low in (("--kill-grace-s", self.kill_grace_s, 0.0), ("--until-s", self.until_s, -1e12)):
            value = number(faults, option, text, unit="seconds")
            if value is not None:
                faults.number(option, value, low=low, high=1e12)
        if self.events is not None and not self.events.lower().endswith(_EVENTS):
            faults.add("--events", self.events, f"a file of events whose name ends in one of {listed(_EVENTS)}")
        if self.contract is not None and not self.contract.lower().endswith(".toml"):
            faults.add("--contract", self.contract, "a contract's file, whose name ends in .toml")
        whole(faults, "--seed", self.seed, low=0, high=2**64 - 1)

    def options(self) -> RunOptions:
        """The options, of which `check` found nothing wrong; raises ConfigError if a file cannot be read."""
        from hetsched.run.options import RunOptions  # noqa: PLC0415 -- polars is slow to import

        return RunOptions(
            seed=self._seed,
            kill_at_walltime=not self.no_kill_at_walltime,
            kill_grace_s=float(self.kill_grace_s),
            walltimes=self.walltimes,  # type: ignore[arg-type]
            on_unknown_app=self.on_unknown_app,  # type: ignore[arg-type]
            bound=self.bound,
            until_s=None if self.until_s is None else float(self.until_s),
            predictor=self._predictor(),
            events=self._events(),
            on_failure=self.on_failure,  # type: ignore[arg-type]
            contract=self._contract(),
        )

    def _events(self) -> Events | None:
        if self.events is None:
            return None
        from hetsched.run.events import Events  # noqa: PLC0415 -- polars is slow to import

        return Events.read(self.events)

    def _contract(self) -> Contract | None:
        from hetsched.contract import Contract  # noqa: PLC0415 -- numpy is slow to import

        if not self.has_contract:
            return None
        with inside(self.contract_file):
            return Contract.from_toml(self.contract_file)

    @property
    def _tells_contract(self) -> bool:
        """True if the file of events has a contract in it."""
        return (
            self.events is not None and self.events.lower().endswith(".toml") and "contract" in read_toml(self.events)
        )

    def noted_contract(self, faults: Faults) -> bool:
        """The same; notes what is wrong with the file that may have one."""
        with noted(faults):
            return self.has_contract
        return False

    @property
    def has_contract(self) -> bool:
        """True if the run has a contract, in either file."""
        return self.contract is not None or self._tells_contract

    @property
    def _seed(self) -> int:
        return int(self.seed)

    def _check_predictor(self, faults: Faults, *, has_table: bool) -> None:
        if self.predictor is None or self.predictor in _PREDICTORS:
            return
        if self.predictor.lower().endswith(_TABLES):
            if not has_table:
                faults.add("--predictor", self.predictor, "--table beside it: predictions are of what a table says")
            return
        name, _, ratio = self.predictor.partition(":")
        if name != "noisy":
            hint = did_you_mean(name, (*_PREDICTORS, "noisy"))
            expected = f"ideal, noisy:ERROR, history or a table ending in .csv or .parquet{hint}"
            faults.add("--predictor", self.predictor, expected)
            return
        own = Faults()
        error = number(own, "--predictor noisy", ratio, unit="a share")
        if error is not None:
            own.number("--predictor noisy", error, low=0.0)
        if own.found:
            faults.add("--predictor", self.predictor, "noisy:ERROR with a number from 0, such as noisy:0.1")

    @property
    def contract_file(self) -> str:
        """The file that the contract stands in."""
        return self.contract or self.events or ""

    def check_contract(self, workload: Workload, platform: Platform, options: RunOptions) -> None:
        """Refuse a contract whose dates say nothing on this log's clock."""
        from hetsched.features.feature import terms_of  # noqa: PLC0415 -- polars is slow to import

        with in_contract(self.contract_file):
            terms_of(workload, platform, options)

    def check_inputs(self, workload: Workload, platform: Platform) -> None:
        """Refuse a predictor that has nothing to predict: no table, and no job that brings a measured draw."""
        if self.predictor is None or (platform.actual is not None and self.predictor != "history"):
            return
        jobs = workload.to_polars()
        if "power_w" not in jobs.columns or not (jobs["power_w"] > 0).any():
            other = "" if self.predictor == "history" else ", or --table beside it"
            expected = f"a log whose jobs bring power_w{other}"
            raise ConfigError([("--predictor", shown(self.predictor), expected)])

    def _predictor(self) -> AnyPredictor | None:
        """Source of predictions, as `hetsched.simulate` takes it."""
        if self.predictor is None or self.predictor == "ideal":
            return self.predictor
        if self.predictor.lower().endswith(_TABLES):
            from hetsched.platform import VariationTable  # noqa: PLC0415 -- polars is slow to import

            with inside(self.predictor):
                return VariationTable.read(self.predictor)
        from hetsched.power import History, Noisy  # noqa: PLC0415

        if self.predictor == "history":
            return History()
        return Noisy(error_ratio=float(self.predictor.partition(":")[2]), seed=self._seed)


def in_contract(path: str) -> AbstractContextManager[None]:
    """Name the file of the contract that an error raised in the block is about."""
    return changed(lambda fault: fault.moved("contract", "").under(path, ": ") if fault.is_of("contract") else fault)


def policies_in(faults: Faults, text: str) -> list[Policy]:
    """The policies asked for with ``--policies``."""
    found: list[Policy] = []
    for name in text.split(","):
        with noted(faults), of_policy(name):
            policy = policy_of(name)
            if policy.name in [other.name for other in found]:
                faults.add("--policies", policy.name, "each policy once")
            else:
                found.append(policy)
    return found


def of_policy(name: str) -> AbstractContextManager[None]:
    """Name the policy that an error raised in the block is about, unless the fault shows it."""

    def in_list(fault: Fault) -> Fault:
        place = "--policies" if fault.found == shown(name) else f"--policies: {name}"
        return fault.at(place) if fault.path == "policy" else fault.under(place, ": ")

    return changed(in_list)
