"""What an experiment is made of, and what comes out of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import polars as pl

from hetsched.policy import Policy
from hetsched.report.experiment_figure import experiment_figure

__all__ = ["Experiment", "Parameter", "Repetition", "Report", "Row", "Verdict"]

Verdict = Literal["yes", "shape", "no", "uncertain"]


@dataclass(frozen=True)
class Row:
    """A quantity beside what the paper says of it. Made by `hetsched.experiments.claims`, which judges.

    Parameters
    ----------
    quantity
        What it is, with its unit.
    paper
        The paper's value; None where it prints none.
    here
        Ours: the mean over the repetitions.
    interval
        Ends of its 95 % confidence interval over the repetitions.
    reproduced
        ``"yes"``, ``"shape"``, ``"no"`` or ``"uncertain"``; None where nobody claims anything of the number.
    reason
        Why, in words.
    """

    quantity: str
    paper: float | None
    here: float
    interval: tuple[float, float]
    reproduced: Verdict | None
    reason: str

    def to_dict(self) -> dict[str, Any]:
        """As JSON holds it."""
        return {**vars(self), "interval": list(self.interval)}


@dataclass(frozen=True)
class Parameter:
    """A value that decides an outcome.

    Parameters
    ----------
    name
        With its unit as suffix.
    value
        A number, a text, or a mapping of such.
    note
        Where it is from: begins with ``printed`` if the paper prints it and with ``measured`` if the runs tell it; else
        says what is assumed and why.
    """

    name: str
    value: Any
    note: str

    @property
    def is_printed(self) -> bool:
        """Whether the paper prints it; what it does not print is assumed, or measured."""
        return self.note.startswith("printed")

    @property
    def is_measured(self) -> bool:
        """Whether it comes from the runs: what a reader must know of them to judge the rows."""
        return self.note.startswith("measured")


@dataclass(frozen=True)
class Repetition:
    """What the runs of a repetition are made from.

    Parameters
    ----------
    seed
        All their chance comes from it.
    is_quick
        Whether they shall be smaller, where the whole would take long.
    policies
        A user's own, by label, to be run beside the experiment's.
    """

    seed: int
    is_quick: bool = False
    policies: Mapping[str, Policy] = field(default_factory=dict)


@dataclass(frozen=True)
class Experiment:
    """A published experiment, ready to be run.

    Parameters
    ----------
    name
        As in ``hetsched reproduce NAME``.
    source
        The paper.
    parameters
        Every free parameter with its value.
    policies
        What is run: from the label in the frames to a policy as `hetsched.simulate` takes it.
    repetitions, quick_repetitions
        How many draws of machine and workload, at least 2.
    repeat
        From a repetition to its runs: a row each, with ``scenario`` and ``policy`` (a label), the keys of the
        run's summary, and whatever else the rows are made from.
    rows
        From the frame of all runs to the table.
    savings
        From the same frame to what is drawn: ``panel, label, saving`` (one row a repetition), and ``paper`` and
        ``attainable`` where known, all in percent; or what `draw` takes. A column ``figure`` tells several apart.
    draw
        From one figure's rows of it, and its title as a keyword, to the figure.
    measured
        From the frame of all runs to what must be known of them.
    beside
        From a repetition to more of its runs, which take so long that quick runs leave them out.
    beside_repetitions
        In how many of the first repetitions of a full run they are.
    quick_parameters
        What quick runs have in place of the parameters of the same names.
    yours
        From the frame of all runs to rows of a user's own policies among them. None: the experiment runs no policies.
    """

    name: str
    source: str
    parameters: Sequence[Parameter]
    policies: Mapping[str, Any]
    repetitions: int
    quick_repetitions: int
    repeat: Callable[[Repetition], list[dict[str, Any]]]
    rows: Callable[[pl.DataFrame], list[Row]]
    savings: Callable[[pl.DataFrame], pl.DataFrame]
    draw: Callable[..., Any] = experiment_figure
    measured: Callable[[pl.DataFrame], Sequence[Parameter]] = lambda _frame: ()
    beside: Callable[[Repetition], list[dict[str, Any]]] = lambda _repetition: []
    beside_repetitions: int = 0
    quick_parameters: Sequence[Parameter] = ()
    yours: Callable[[pl.DataFrame], list[Row]] | None = None


@dataclass(frozen=True)
class Report:
    """An experiment's outcome.

    Parameters
    ----------
    name, seed
        Of the experiment, and what all its chance comes from.
    rows
        The table.
    parameters
        Every parameter, printed, free and measured, with its value.
    runs
        The raw frame, a row a run.
    savings, draw
        What is drawn, and how, as `Experiment` has them.
    """

    name: str
    seed: int
    rows: Sequence[Row]
    parameters: Sequence[Parameter]
    runs: pl.DataFrame
    savings: pl.DataFrame
    draw: Callable[..., Any] = experiment_figure

    def to_dict(self) -> dict[str, Any]:
        """As JSON holds it: ``name, seed, rows, parameters``."""
        return {
            "name": self.name,
            "seed": self.seed,
            "rows": [row.to_dict() for row in self.rows],
            "parameters": {parameter.name: parameter.value for parameter in self.parameters},
        }

    def table(self) -> pl.DataFrame:
        """One row a quantity: ``quantity, paper, here, low, high, reproduced, reason``."""
        rows = [
            {
                "quantity": row.quantity,
                "paper": row.paper,
                "here": row.here,
                "low": row.interval[0],
                "high": row.interval[1],
                "reproduced": row.reproduced,
                "reason": row.reason,
            }
            for row in self.rows
        ]
        schema = {"quantity": pl.String, **dict.fromkeys(("paper", "here", "low", "high"), pl.Float64)}
        return pl.DataFrame(rows, schema={**schema, "reproduced": pl.String, "reason": pl.String})
