"""What is known of a generator: its row in the table of all."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hetsched.workload.generators.parameters import Parameter
from hetsched.workload.jobs import Workload

__all__ = ["Generator"]


@dataclass(frozen=True)
class Generator:
    """One generator.

    Parameters
    ----------
    name
        As in ``generate(name)`` and ``hetsched generate NAME``.
    doc
        What it makes, in a line.
    source
        Where it is described.
    parameters
        In the order in which they are listed; the function takes each by its name.
    function
        Makes the workload.

    Examples
    --------
    >>> from hetsched.workload.generators import GENERATORS
    >>> GENERATORS["coa-single"].default("nodes")
    1990
    """

    name: str
    doc: str
    source: str
    parameters: tuple[Parameter, ...]
    function: Callable[..., Workload]

    def default(self, parameter: str) -> Any:
        """What a parameter is if it is not given."""
        return inspect.signature(self.function).parameters[parameter].default
