"""``--predictor``: where a run's predictions come from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from hetsched.cli.faults import inside
from hetsched.cli.options import number
from hetsched.config import Faults, did_you_mean

if TYPE_CHECKING:
    from hetsched.platform.predictor import Predictor
    from hetsched.platform.variation import VariationTable

__all__ = ["PredictorChoice", "PredictorOption"]

_TABLES = (".csv", ".csv.gz", ".csv.zst", ".parquet")

PredictorOption = Annotated[
    str | None,
    typer.Option(
        "--predictor",
        metavar="HOW",
        help="What decisions believe: ideal, noisy:ERROR, or a table's file. Default: as --table says.",
        autocompletion=lambda incomplete: [form for form in ("ideal", "noisy:") if form.startswith(incomplete)],
        rich_help_panel="Machine",
    ),
]


@dataclass(frozen=True)
class PredictorChoice:
    """What ``--predictor`` asks for.

    Parameters
    ----------
    text
        As given. None: nothing.

    Examples
    --------
    >>> PredictorChoice("noisy:0.1").made(seed=7)
    Noisy(error_ratio=0.1, seed=7)
    """

    text: str | None

    def check(self, faults: Faults, *, has_machine: bool) -> None:
        """Note what cannot be, before anything is read.

        Parameters
        ----------
        faults
            Where to note it.
        has_machine
            Whether a table, or a platform that may name one, was given.
        """
        if self.text is None:
            return
        if not has_machine:
            faults.add("--predictor", self.text, "--table beside it: predictions are of what a table says")
        if self.text == "ideal" or self.text.lower().endswith(_TABLES):
            return
        name, _, ratio = self.text.partition(":")
        if name != "noisy":
            hint = did_you_mean(name, ("ideal", "noisy"))
            faults.add("--predictor", self.text, f"ideal, noisy:ERROR or a table ending in .csv or .parquet{hint}")
            return
        own = Faults()
        error = number(own, "--predictor noisy", ratio, unit="a share")
        if error is not None:
            own.number("--predictor noisy", error, low=0.0)
        if own.found:
            faults.add("--predictor", self.text, "noisy:ERROR with a number from 0, such as noisy:0.1")

    def made(self, *, seed: int) -> Predictor | VariationTable | str | None:
        """What `hetsched.simulate` takes.

        Parameters
        ----------
        seed
            Of a noisy predictor's draws.

        Raises
        ------
        ConfigError
            If a table's file cannot be read.
        """
        if self.text is None or self.text == "ideal":
            return self.text
        if self.text.lower().endswith(_TABLES):
            from hetsched.platform import VariationTable  # noqa: PLC0415 -- polars is slow to import

            with inside(self.text):
                return VariationTable.read(self.text)
        from hetsched.power import Noisy  # noqa: PLC0415

        return Noisy(error_ratio=float(self.text.partition(":")[2]), seed=seed)
