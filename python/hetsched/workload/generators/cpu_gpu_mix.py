"""CPU and GPU jobs in the nine mixes of the VAHRM paper's Table III."""

from __future__ import annotations

import numbers
from dataclasses import dataclass

import numpy as np
import polars as pl

from hetsched.checks import Faults, did_you_mean, listed

__all__ = ["MIXES", "CpuGpuMix", "cpu_gpu_mix"]

_RATIOS = ("9:1", "5:5", "1:9")
_POWERS = ("small", "medium", "large")

MIXES: tuple[str, ...] = tuple(f"{ratio}-{power}" for ratio in _RATIOS for power in _POWERS)
"""The mixes by name, CPU:GPU and power: workload 0 to 8 of the table."""


@dataclass(frozen=True)
class CpuGpuMix:
    """One mix: so many CPU and GPU jobs, of one application each.

    Parameters
    ----------
    cpu_tenths
        How many of ten jobs are CPU jobs.
    power
        ``"small"``: job types 1 and 4 of the paper's Table IV; ``"medium"``: 2 and 5; ``"large"``: 3 and 6.

    Examples
    --------
    >>> str(CpuGpuMix(9, "small"))
    '9:1-small'
    """

    cpu_tenths: int
    power: str

    def drawn(self, rng: np.random.Generator, count: int) -> pl.DataFrame:
        """Application and device of that many jobs: ``app`` (``cpu-small`` ...), ``device`` (``cpu`` or ``gpu``).

        Shares are exact, rounded to whole jobs. The jobs that get a CPU are those of the lowest of `count` uniform
        draws, so that with one seed every CPU job of 1:9 is one of 5:5, and every one of those is one of 9:1.

        Parameters
        ----------
        rng
            Where chance comes from.
        count
            How many.

        Examples
        --------
        >>> CpuGpuMix(5, "large").drawn(np.random.default_rng(0), 4)["app"].sort().to_list()
        ['cpu-large', 'cpu-large', 'gpu-large', 'gpu-large']
        """
        is_gpu = np.ones(count, dtype=np.int64)
        is_gpu[np.argsort(rng.random(count), kind="stable")[: (self.cpu_tenths * count + 5) // 10]] = 0
        device = pl.Series("device", ["cpu", "gpu"]).gather(is_gpu)
        return pl.DataFrame({"app": device + f"-{self.power}", "device": device})

    def __str__(self) -> str:
        return f"{self.cpu_tenths}:{10 - self.cpu_tenths}-{self.power}"


def cpu_gpu_mix(value: object, parameter: str, faults: Faults) -> CpuGpuMix | None:
    """A mix from what a user gave: a workload's number, its name, or either as text.

    Parameters
    ----------
    value
        As given.
    parameter
        Its name, for messages.
    faults
        Notes what is none.

    Examples
    --------
    >>> faults = Faults()
    >>> cpu_gpu_mix(8, "mix", faults) == cpu_gpu_mix("1:9-large", "mix", faults) == cpu_gpu_mix("8", "mix", faults)
    True
    >>> _ = cpu_gpu_mix("9:1-smal", "mix", faults)
    >>> faults.found[0].expected.endswith("; did you mean `9:1-small`?")
    True
    """
    if isinstance(value, CpuGpuMix):
        return value
    is_number = isinstance(value, numbers.Integral) and not isinstance(value, bool)
    text = str(value) if is_number or isinstance(value, str) else ""
    if text in MIXES:
        ratio, _, power = text.partition("-")
        return CpuGpuMix(int(ratio.partition(":")[0]), power)
    if text.isdecimal() and int(text) < len(MIXES):
        return cpu_gpu_mix(MIXES[int(text)], parameter, faults)
    faults.add(parameter, value, f"{MIX_RANGE}{did_you_mean(text, MIXES)}")
    return None


MIX_RANGE = f"0 to {len(MIXES) - 1}, or one of {listed(MIXES)}"
"""What `cpu_gpu_mix` takes, in words."""
