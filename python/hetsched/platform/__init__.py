"""The machine: node classes, devices, the platform they make up, and tables of the differences between its nodes."""

from hetsched.platform.device_sampling import DeviceSample, sample_devices
from hetsched.platform.devices import TSUBAME3_JOBS_W, DeviceClass, DeviceNodes, tsubame3
from hetsched.platform.node_class import NodeClass
from hetsched.platform.platform import Platform, read_platform
from hetsched.platform.queues import Queue
from hetsched.variation.measurements import Measurements, read_measurements
from hetsched.variation.sampling import Normal, Sample, resample_table, sample_components, sample_table
from hetsched.variation.table import VariationTable, read_table

__all__ = [
    "TSUBAME3_JOBS_W",
    "DeviceClass",
    "DeviceNodes",
    "DeviceSample",
    "Measurements",
    "NodeClass",
    "Normal",
    "Platform",
    "Queue",
    "Sample",
    "VariationTable",
    "read_measurements",
    "read_platform",
    "read_table",
    "resample_table",
    "sample_components",
    "sample_devices",
    "sample_table",
    "tsubame3",
]


def __dir__() -> list[str]:
    return sorted(__all__)
