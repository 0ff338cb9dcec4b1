"""Differences between nodes of one kind: power and time by application and node, measured, sampled, under caps."""

from hetsched.variation.measurements import Measurements
from hetsched.variation.sampling import Normal, Sample, resample_table, sample_components, sample_table
from hetsched.variation.table import VariationTable

__all__ = [
    "Measurements",
    "Normal",
    "Sample",
    "VariationTable",
    "resample_table",
    "sample_components",
    "sample_table",
]


def __dir__() -> list[str]:
    return sorted(__all__)
