"""The machine: node classes, the platform they make up, and tables of how its nodes differ."""

from hetsched.platform.measurements import Measurements
from hetsched.platform.node_class import NodeClass
from hetsched.platform.platform import Platform
from hetsched.platform.sampling import Normal, Sample, resample_table, sample_components, sample_table
from hetsched.platform.variation import VariationTable

__all__ = [
    "Measurements",
    "NodeClass",
    "Normal",
    "Platform",
    "Sample",
    "VariationTable",
    "resample_table",
    "sample_components",
    "sample_table",
]
