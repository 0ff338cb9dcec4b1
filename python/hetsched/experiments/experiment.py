"""Parts of an experiment, its report, and the files that hold a report."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import polars as pl

from hetsched.files import write_files
from hetsched.naming import named_in
from hetsched.policy import Policy
from hetsched.report.experiment import panel_figure
from hetsched.report.page.document import Page
from hetsched.report.page.reproductions import page_of_reproduction
from hetsched.reported import Reported
from hetsched.typing import ParameterKind, Verdict

T = TypeVar("T")
Floats = npt.NDArray[np.float64]


@named_in("hetsched.experiments")
@dataclass(frozen=True)
class Row:
    """A claim: a quantity, the paper's value if it prints one, ours, and the verdict.

    Parameters
    ----------
    quantity
        Its name, with the unit.
    paper
        The paper's value; None where it prints none.
    here
        Ours: the mean over the repetitions.
    interval
        Ends of its 95 % confidence interval over the repetitions.
    reproduced
        ``"yes"``, ``"shape"``, ``"no"``, ``"uncertain"`` or ``"not tested"``, as `hetsched.experiments.claims` judges;
        None in rows of a user's own policies, of which nothing is claimed, and in every row of a quick run.
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
        """Plain values for JSON."""
        return {**vars(self), "interval": list(self.interval)}

    def unjudged(self) -> Row:
        """The same numbers without a verdict: few repetitions or small traces decide nothing of the full run."""
        return self if self.reproduced is None else replace(self, reproduced=None, reason="a quick run: no verdict")


@dataclass(frozen=True)
class Parameter:
    """A value that decides an outcome: a number, a text, or a mapping of such."""

    name: str  # with its unit as suffix
    value: Any
    note: str  # where it is from
    kind: ParameterKind = "assumed"  # printed by the paper, assumed by us, or measured in the runs

    def __post_init__(self) -> None:
        object.__setattr__(self, "value", _plain(self.value))

    @property
    def is_printed(self) -> bool:
        """True if the paper prints it; all others are assumed, or measured."""
        return self.kind == "printed"

    @property
    def is_measured(self) -> bool:
        """True if it comes from the runs."""
        return self.kind == "measured"


def _plain(value: Any) -> Any:
    """Lists and dictionaries, as JSON holds them, in place of tuples and other mappings."""
    if isinstance(value, Mapping):
        return {key: _plain(one) for key, one in value.items()}
    return [_plain(one) for one in value] if isinstance(value, tuple | list) else value


def printed(name: str, value: Any, more: str = "") -> Parameter:
    """A parameter that the paper prints."""
    return Parameter(name, value, f"printed: {more}" if more else "printed", "printed")


def assumed(name: str, value: Any, more: str = "") -> Parameter:
    """A parameter that the paper does not print."""
    return Parameter(name, value, f"assumed: {more}" if more else "assumed", "assumed")


def measured(name: str, value: Any, more: str) -> Parameter:
    """A parameter that comes from the runs."""
    return Parameter(name, value, f"measured: {more}", "measured")


class Parameters(list[Parameter]):
    """Parameters of an experiment, in order; what declares one returns its value, for the code to use.

    >>> parameters = Parameters()
    >>> nodes = parameters.printed("nodes", 665, "drawn again in each repetition")
    >>> nodes, [one.note for one in parameters]
    (665, ['printed: drawn again in each repetition'])
    """

    def printed(self, name: str, value: T, more: str = "") -> T:
        """A parameter that the paper prints."""
        return self.noted(name, value, printed(name, value, more).note, "printed")

    def assumed(self, name: str, value: T, more: str = "") -> T:
        """A parameter that the paper does not print."""
        return self.noted(name, value, assumed(name, value, more).note)

    def noted(self, name: str, value: T, note: str, kind: ParameterKind = "assumed") -> T:
        """A parameter with a note of its own."""
        self.append(Parameter(name, value, note, kind))
        return value


@dataclass(frozen=True)
class Repetition:
    """Origin of a repetition's runs."""

    seed: int  # all their chance comes from it
    is_quick: bool = False  # smaller, where the whole would take long
    number: int = 0  # its place among the repetitions; the seed follows from it
    policies: Mapping[str, Policy] = field(default_factory=dict)  # a user's own, by label
    logs: Mapping[str, str] = field(default_factory=dict)  # files in place of its workloads, with their sha256


@named_in("hetsched.experiments")
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
        From the label in the frames to a policy as `hetsched.simulate` takes it.
    repeat
        From a repetition to its runs: a row each, with ``scenario`` and ``policy`` (a label), the keys of the
        run's summary, and whatever else the rows are made from.
    rows
        From the frame of all runs to the table.
    savings
        From the same frame to the data of the figure, as `draw` takes it. A column ``figure`` separates several.
    repetitions, quick_repetitions
        How many draws of machine and workload, at least 2.
    yours
        From the frame of all runs and the label of a user's own policy to its numbers, by quantity. None: the
        experiment runs no policies.
    draw
        From one figure's rows of `savings`, and its title as a keyword, to the figure.
    measured
        From the frame of all runs to parameters that come from it.
    further
        From a repetition to more of its runs, which take so long that quick runs leave them out.
    further_repetitions
        The number of repetitions, the first of a full run, that have them.
    quick_parameters
        Parameters of quick runs in place of those of the same names.
    logs
        From a folder to its logs, each with the sha256 of its content. None: the experiment has its own workloads.
    baseline, no_shares
        The label against which placement is held apart from timing, in runs with a bound given their starts; or why
        there are no such shares, as the end of a sentence.
    """

    name: str
    source: str
    parameters: Sequence[Parameter]
    policies: Mapping[str, Any]
    repeat: Callable[[Repetition], list[dict[str, Any]]]
    rows: Callable[[pl.DataFrame], list[Row]]
    savings: Callable[[pl.DataFrame], pl.DataFrame]
    repetitions: int = 40
    quick_repetitions: int = 3
    yours: Callable[[pl.DataFrame, str], Mapping[str, Floats]] | None = None
    draw: Callable[..., Any] = panel_figure
    measured: Callable[[pl.DataFrame], Sequence[Parameter]] = lambda _frame: ()
    further: Callable[[Repetition], list[dict[str, Any]]] = lambda _repetition: []
    further_repetitions: int = 0
    quick_parameters: Sequence[Parameter] = ()
    logs: Callable[[str], Mapping[str, str]] | None = None
    baseline: str = ""
    no_shares: str = ""


@named_in("hetsched.experiments")
@dataclass(frozen=True)
class Report(Reported):
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
        The data of the figures, and the function that draws them, as `Experiment` has them.
    source
        The paper.
    shares
        Shares of placement and timing, with the waits, by scenario and policy: ``scenario, policy``,
        ``attained_percent, saved_percent, placement_percent, timing_percent``, each with half its 95 % interval as
        ``…_half``, and ``mean_turnaround_s, mean_wait_s, max_wait_s, large_mean_wait_s, large_max_wait_s``.
    no_shares
        Why there are none.
    """

    name: str
    seed: int
    rows: Sequence[Row]
    parameters: Sequence[Parameter]
    runs: pl.DataFrame
    savings: pl.DataFrame
    draw: Callable[..., Any] = panel_figure
    source: str = ""
    shares: pl.DataFrame = field(default_factory=pl.DataFrame)
    no_shares: str = ""

    def _page(self, *, title: str = "", assumed: Sequence[str] = (), command: str = "") -> Page:
        return page_of_reproduction(self, title=title, assumed=assumed, command=command)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON: ``name, seed, rows, parameters, shares``, or ``no_shares``."""
        return {
            "name": self.name,
            "seed": self.seed,
            "rows": [row.to_dict() for row in self.rows],
            "parameters": {parameter.name: parameter.value for parameter in self.parameters},
            **({"no_shares": self.no_shares} if self.no_shares else {"shares": self.shares.to_dicts()}),
        }

    @property
    def table(self) -> pl.DataFrame:
        """One row a quantity: ``quantity, paper, here, low, high, reproduced, reason``."""
        numbers = dict.fromkeys(("paper", "here", "low", "high"), pl.Float64)
        return pl.DataFrame(
            [(row.quantity, row.paper, row.here, *row.interval, row.reproduced, row.reason) for row in self.rows],
            schema={"quantity": pl.String, **numbers, "reproduced": pl.String, "reason": pl.String},
            orient="row",
        )

    def write(self, folder: str | os.PathLike[str]) -> list[str]:
        """Write the report to a folder, each file whole or not at all; gives their names.

        ``table.csv``, ``rows.json``, ``parameters.csv``, ``runs.parquet``, ``shares.csv`` if there are shares and,
        with matplotlib, ``figure.png`` or, where there are several, ``figure-NAME.png`` each.

        Raises
        ------
        OutputError
            If a file cannot be written.
        """
        runs = io.BytesIO()
        self.runs.write_parquet(runs)
        parameters = [
            {"parameter": one.name, "value": json.dumps(one.value, ensure_ascii=False), "note": one.note}
            for one in self.parameters
        ]
        contents = {
            "table.csv": self.table.write_csv().encode(),
            "rows.json": (json.dumps(self.to_dict(), indent=2, allow_nan=False, ensure_ascii=False) + "\n").encode(),
            "parameters.csv": pl.DataFrame(parameters).write_csv().encode(),
            "runs.parquet": runs.getvalue(),
            **({"shares.csv": self.shares.write_csv().encode()} if len(self.shares) else {}),
            **(_pictures(self) if can_draw() else {}),
        }
        return write_files(folder, contents)


def can_draw() -> bool:
    """True if the figure can be made: matplotlib is an extra."""
    return find_spec("matplotlib") is not None


def _pictures(report: Report) -> dict[str, bytes]:
    from hetsched.report.canvas import picture_bytes  # noqa: PLC0415 -- only with matplotlib

    frames = {"figure.png": report.savings}
    if "figure" in report.savings.columns:
        figures = report.savings.group_by("figure", maintain_order=True)
        frames = {f"figure-{name}.png": own for (name,), own in figures}
    return {name: picture_bytes(report.draw(own, title=report.name), ".png") for name, own in frames.items()}
