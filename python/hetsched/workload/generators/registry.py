"""Every generator by name, with what it needs to know.

What lists or calls generators by name reads this table: the command line, its help, the tests. A new generator is a
function whose parameters are annotated (see `parameters`), and a row here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hetsched.checks import Faults, did_you_mean, listed
from hetsched.errors import ConfigError
from hetsched.params import Parameter, parameters_of
from hetsched.workload.generators.aoba import aoba
from hetsched.workload.generators.cpu_gpu_log import overloaded, overloaded_large, steady
from hetsched.workload.generators.lublin_feitelson import lublin_feitelson
from hetsched.workload.generators.parameters import kind_of
from hetsched.workload.generators.poisson import poisson
from hetsched.workload.generators.published import coa_single, fft2d, laurel2_week, swa_multi
from hetsched.workload.generators.utilization_targeted import utilization_targeted
from hetsched.workload.jobs import Workload


@dataclass(frozen=True)
class Generator:
    """One generator.

    Parameters
    ----------
    function
        Makes the workload.
    doc
        What it makes, in a line.
    source
        Where it is described.

    Examples
    --------
    >>> from hetsched.workload.generators import GENERATORS
    >>> GENERATORS["coa-single"].default("nodes")
    1990
    """

    function: Callable[..., Workload]
    doc: str
    source: str

    @property
    def name(self) -> str:
        """Name, as in ``generate(name)`` and ``hetsched generate NAME``."""
        return kind_of(self.function)

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """In the order in which they are listed; the function takes each by its name."""
        return tuple(parameters_of(self.function).values())

    def default(self, parameter: str) -> Any:
        """Value of a parameter that is not given."""
        return parameters_of(self.function)[parameter].default


_COA_SWA = "Zhou, Fukazawa & Nakashima, Energy Aware Scheduler of Single/Multi-node Jobs"

# fmt: off
_ROWS = (
    Generator(utilization_targeted, "A mix of jobs, submitted so that utilization fluctuates around a target.",
              f"{_COA_SWA}, section 2.2.1"),
    Generator(poisson, "Independent jobs: exponential times between submissions.", "queueing theory"),
    Generator(lublin_feitelson, "Rigid jobs as modelled after four logs, with a daily cycle.",
              "Lublin & Feitelson, JPDC 63(11), 2003"),
    Generator(coa_single, "5,700 STREAM and 3,400 HPCG jobs of one node on 1,990 nodes.", f"{_COA_SWA}, Table 3"),
    Generator(swa_multi, "1,885 HPCG jobs of 1 and 8 nodes, short and ten times longer, on 665 nodes.",
              f"{_COA_SWA}, Table 5"),
    Generator(laurel2_week, "29,603 jobs in the classes of a week of the machine Laurel 2.", f"{_COA_SWA}, Table 4"),
    Generator(fft2d, "31,152 FFT2D jobs of two sizes on 2,000 nodes.",
              "Li, Fukazawa, Nakashima & Nanri, IPSJ SIG Notes 2018-HPC-166(3), Table 5"),
    Generator(overloaded, "10,000 CPU and GPU jobs in 28 hours on 540 nodes, 1.2 times what they can do.",
              "VAHRM paper, section VI-B; its log read as 10,000 jobs in a row"),
    Generator(overloaded_large, "10,000 larger CPU and GPU jobs in five days, 1.2 times what 540 nodes can do.",
              "VAHRM paper, section VI-B; its log read as 10,000 jobs in a row"),
    Generator(steady, "10,000 CPU and GPU jobs in six weeks on 540 nodes, 0.85 of what they can do.",
              "VAHRM paper, section VI-B; its log read as 10,000 jobs out of two months"),
    Generator(aoba, "Jobs for AOBA's six queues: 10,000 in six quiet weeks, or 1,500 in two busy days.",
              "Ohmura et al., Building a Digital Twin of Job Scheduling and Power Management on an HPC System"),
)
# fmt: on

GENERATORS: dict[str, Generator] = {row.name: row for row in _ROWS}
"""Every generator by its name."""


def generate(kind: str, **parameters: Any) -> Workload:
    """Make a workload by a generator's name.

    Parameters
    ----------
    kind
        One of `GENERATORS`.
    **parameters
        Of that generator; those not given have their defaults.

    Raises
    ------
    ConfigError
        If there is no such generator or parameter, or a value is out of its range.

    Examples
    --------
    >>> len(generate("poisson", jobs=10, seed=1))
    10
    >>> generate("poison")
    Traceback (most recent call last):
    hetsched.errors.ConfigError: kind: found `poison`, expected one of ...; did you mean `poisson`?
    """
    if kind not in GENERATORS:
        raise ConfigError([("kind", f"`{kind}`", f"one of {listed(GENERATORS)}{did_you_mean(kind, GENERATORS)}")])
    generator = GENERATORS[kind]
    faults = Faults()
    faults.unknown_keys(parameters, [parameter.name for parameter in generator.parameters])
    faults.check()
    return generator.function(**parameters)
