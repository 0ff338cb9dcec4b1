"""Options of runs: those that `hetsched.run.options` declares, and files and predictors given by name."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated

import hetsched as hs
from hetsched.checks import Faults, did_you_mean, listed, read_toml, shown
from hetsched.cli.declare import MACHINE, RUN, completing, number, option
from hetsched.cli.terminal import changed, inside, noted
from hetsched.errors import ConfigError
from hetsched.params import parameters_of
from hetsched.run.options import RunOptions

if TYPE_CHECKING:
    from hetsched.cli.inputs import Inputs
    from hetsched.power.forecast import AnyPredictor


def _events_file(faults: Faults, option: str, text: str) -> str:
    from hetsched.tables import ENDINGS, kind_of

    if not kind_of(text):
        ends = listed(ending for endings in ENDINGS.values() for ending in endings)
        faults.add(option, text, f"a file of events whose name ends in one of {ends}")
    return text


def _contract_file(faults: Faults, option: str, text: str) -> str:
    if not text.lower().endswith(".toml"):
        faults.add(option, text, "a contract's file, whose name ends in .toml")
    return text


class Predictor:
    """The predictor that was asked for: ``ideal``, ``noisy:ERROR``, ``history``, or a table's file."""

    def __init__(self, faults: Faults, option: str, text: str) -> None:
        from hetsched.tables import kind_of

        self.option, self.text = option, text
        self.is_table = kind_of(text) in ("csv", "parquet")
        self._name, _, ratio = text.partition(":")
        self._error_ratio = 0.0
        if self.is_table or text in ("ideal", "history"):
            return
        if self._name != "noisy":
            hint = did_you_mean(self._name, ("ideal", "history", "noisy"))
            faults.add(option, text, f"ideal, noisy:ERROR, history or a table ending in .csv or .parquet{hint}")
            return
        own = Faults()
        self._error_ratio = number("a share", 0.0)(own, option, ratio) or 0.0
        if own.found:
            faults.add(option, text, "noisy:ERROR with a number from 0, such as noisy:0.1")

    def check_inputs(self, workload: hs.Workload, platform: hs.Platform) -> None:
        """Refuse to predict where there is nothing to predict: no table, and no job that brings a measured draw."""
        if platform.actual is not None and self.text != "history":
            return
        jobs = workload.to_polars()
        if "power_w" not in jobs.columns or not (jobs["power_w"] > 0).any():
            other = "" if self.text == "history" else ", or --table as well"
            raise ConfigError([(self.option, shown(self.text), f"a log whose jobs bring power_w{other}")])

    def made(self, seed: int) -> AnyPredictor:
        """The source of predictions, as `hetsched.simulate` takes it."""
        if self.is_table:
            with inside(self.text):
                return hs.read_table(self.text)
        if self.text == "ideal":
            return self.text
        from hetsched.power import History, Noisy

        return History() if self.text == "history" else Noisy(error_ratio=self._error_ratio, seed=seed)


_MEANING = {name: one.doc.rstrip(".") for name, one in parameters_of(RunOptions).items()}
_EVENTS_HELP = f"{_MEANING['events']}: a file ending in .csv, .parquet or .toml."
_CONTRACT_HELP = f"{_MEANING['contract']}; also read out of the table [contract] of --events."
_PREDICTORS = ("ideal", "history", "noisy:")
_PREDICTOR_HELP = (
    "Predicted draws that decisions use: ideal, noisy:ERROR, history (of earlier jobs' power_w), or a table's file. "
    "Default: as --table and --known-draws say."
)


@dataclass(frozen=True)
class RunGiven:
    """The options of a run as they were given."""

    plain: RunOptions
    predictor: Annotated[
        Predictor | None,
        option("--predictor", "HOW", _PREDICTOR_HELP, MACHINE, read=Predictor, complete=completing(_PREDICTORS)),
    ] = None
    events: Annotated[str | None, option("--events", "F", _EVENTS_HELP, RUN, read=_events_file)] = None
    contract: Annotated[str | None, option("--contract", "F.toml", _CONTRACT_HELP, RUN, read=_contract_file)] = None

    def check(self, faults: Faults, inputs: Inputs) -> None:
        """Note what does not fit the run's other options, or each other."""
        if self.predictor is not None and self.predictor.is_table and not inputs.has_table:
            expected = "--table as well: predictions are of what a table says"
            faults.add(self.predictor.option, self.predictor.text, expected)
        has_contract = False
        with noted(faults):
            has_contract = self.has_contract
        inputs.log.window.check(faults, until_s=self.plain.until_s, bound=self.plain.bound, has_contract=has_contract)

    def options(self) -> RunOptions:
        """The options with what their files say; raises ConfigError if a file cannot be read."""
        return replace(
            self.plain,
            predictor=None if self.predictor is None else self.predictor.made(self.plain.seed),
            events=None if self.events is None else hs.read_events(self.events),
            contract=self._contract(),
        )

    def _contract(self) -> hs.Contract | None:

        if not self.has_contract:
            return None
        with inside(self.contract_file):
            return hs.Contract.from_toml(self.contract_file)

    @property
    def has_contract(self) -> bool:
        """True if the run has a contract, in a file of its own or in that of its events."""
        if self.contract is not None or self.events is None or not self.events.lower().endswith(".toml"):
            return self.contract is not None
        return "contract" in read_toml(self.events)

    @property
    def contract_file(self) -> str:
        """The file that the contract is in."""
        return self.contract or self.events or ""

    @property
    def given_names(self) -> dict[str, str]:
        """Options by the library's names of what they give, for errors."""
        return {} if self.predictor is None else {"predictor": f"{self.predictor.option} {self.predictor.text}"}

    def check_inputs(self, workload: hs.Workload, platform: hs.Platform) -> None:
        """Refuse a predictor that has nothing to predict."""
        if self.predictor is not None:
            self.predictor.check_inputs(workload, platform)

    def check_metrics(self, faults: Faults, place: str, keys: Sequence[str], *, settings: Collection[str] = ()) -> None:
        """Note metrics that there are not, and those that need what these runs do not have; some have `settings`."""
        from hetsched.run.metrics import METRICS, metrics_named, missing_of_bound

        with noted(faults):
            metrics_named(keys, parameter=place)
        missing = missing_of_bound(self.plain.bound, "--bound", "--bound starts")
        if self.events is None and self.contract is None and not {"events", "contract"} & {*settings}:
            missing["prices"] = "--events or --contract as well, with prices or carbon intensities"
            missing["limits"] = "--contract as well, with limits"
        for key in keys:
            if key in METRICS and (needs := METRICS[key].needs) in missing:
                faults.add(place, key, missing[needs])

    def check_contract(self, workload: hs.Workload, platform: hs.Platform, options: RunOptions) -> None:
        """Refuse a contract whose dates say nothing on this log's clock."""
        from hetsched.features.feature import terms_of

        with self.in_contract():
            terms_of(workload, platform, options)

    def in_contract(self) -> AbstractContextManager[None]:
        """Name the file of the contract that an error raised in the block is about."""
        path = self.contract_file
        return changed(
            lambda fault: fault.moved("contract", "").under(path, ": ") if fault.is_of("contract") else fault
        )
