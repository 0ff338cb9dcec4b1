"""``--predictor``: where a run's predictions come from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hetsched.checks import Faults, did_you_mean, shown
from hetsched.cli.faults import inside
from hetsched.cli.options import number
from hetsched.errors import ConfigError

if TYPE_CHECKING:
    from hetsched.platform import Platform
    from hetsched.platform.predictor import AnyPredictor
    from hetsched.workload import Workload

_NAMES = ("ideal", "history")
_TABLES = (".csv", ".csv.gz", ".csv.zst", ".parquet")

PredictorOption = Annotated[
    str | None,
    typer.Option(
        "--predictor",
        metavar="HOW",
        help="What decisions believe: ideal, noisy:ERROR, history (of earlier jobs' power_w), or a table's file. "
        "Default: as --table and --known-draws say.",
        autocompletion=lambda incomplete: [form for form in (*_NAMES, "noisy:") if form.startswith(incomplete)],
        rich_help_panel="Machine",
    ),
]


@dataclass(frozen=True)
class PredictorChoice:
    """What ``--predictor`` asks for."""

    text: str | None

    def check(self, faults: Faults, *, has_table: bool) -> None:
        """Note what is invalid, before anything is read (`has_table`: or a platform that may name one)."""
        if self.text is None or self.text in _NAMES:
            return
        if self.text.lower().endswith(_TABLES):
            if not has_table:
                faults.add("--predictor", self.text, "--table beside it: predictions are of what a table says")
            return
        name, _, ratio = self.text.partition(":")
        if name != "noisy":
            hint = did_you_mean(name, (*_NAMES, "noisy"))
            expected = f"ideal, noisy:ERROR, history or a table ending in .csv or .parquet{hint}"
            faults.add("--predictor", self.text, expected)
            return
        own = Faults()
        error = number(own, "--predictor noisy", ratio, unit="a share")
        if error is not None:
            own.number("--predictor noisy", error, low=0.0)
        if own.found:
            faults.add("--predictor", self.text, "noisy:ERROR with a number from 0, such as noisy:0.1")

    def check_inputs(self, workload: Workload, platform: Platform) -> None:
        """Refuse a predictor that finds nothing to predict."""
        if self.text is None or (platform.actual is not None and self.text != "history"):
            return
        jobs = workload.to_polars()
        if "power_w" not in jobs.columns or not (jobs["power_w"] > 0).any():
            expected = "a log whose jobs bring power_w" + ("" if self.text == "history" else ", or --table beside it")
            raise ConfigError([("--predictor", shown(self.text), expected)])

    def made(self, *, seed: Any) -> AnyPredictor | None:
        """What `hetsched.simulate` takes."""
        if self.text is None or self.text == "ideal":
            return self.text
        if self.text.lower().endswith(_TABLES):
            from hetsched.platform import VariationTable  # noqa: PLC0415 -- polars is slow to import

            with inside(self.text):
                return VariationTable.read(self.text)
        from hetsched.power import History, Noisy  # noqa: PLC0415

        if self.text == "history":
            return History()
        return Noisy(error_ratio=float(self.text.partition(":")[2]), seed=seed)
