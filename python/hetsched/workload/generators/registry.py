"""Every generator by name, with what it needs to know.

What lists or calls generators by name reads this table: the command line, its help, the tests. A new generator is a
module with a function and its parameters, and a row here.
"""

from __future__ import annotations

from typing import Any

from hetsched.checks import Faults, did_you_mean, listed
from hetsched.errors import ConfigError
from hetsched.workload.generators.coa_single import GENERATOR as COA_SINGLE
from hetsched.workload.generators.fft2d import GENERATOR as FFT2D
from hetsched.workload.generators.generator import Generator
from hetsched.workload.generators.laurel2_week import GENERATOR as LAUREL2_WEEK
from hetsched.workload.generators.lublin_feitelson import GENERATOR as LUBLIN_FEITELSON
from hetsched.workload.generators.overloaded import GENERATOR as OVERLOADED
from hetsched.workload.generators.poisson import GENERATOR as POISSON
from hetsched.workload.generators.steady import GENERATOR as STEADY
from hetsched.workload.generators.swa_multi import GENERATOR as SWA_MULTI
from hetsched.workload.generators.utilization_targeted import GENERATOR as UTILIZATION_TARGETED
from hetsched.workload.jobs import Workload

__all__ = ["GENERATORS", "generate"]

GENERATORS: dict[str, Generator] = {
    row.name: row
    for row in (
        UTILIZATION_TARGETED,
        POISSON,
        LUBLIN_FEITELSON,
        COA_SINGLE,
        SWA_MULTI,
        LAUREL2_WEEK,
        FFT2D,
        OVERLOADED,
        STEADY,
    )
}
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
