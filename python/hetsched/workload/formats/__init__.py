"""Job logs as files hold them: one module a format, which reads it, and a table of them all."""

from hetsched.workload.formats.batsim import read_batsim
from hetsched.workload.formats.csv import read_csv
from hetsched.workload.formats.parquet import read_parquet
from hetsched.workload.formats.pbs import read_pbs
from hetsched.workload.formats.raw import Format
from hetsched.workload.formats.registry import FORMATS, READERS, format_of, read_jobs
from hetsched.workload.formats.sacct import read_sacct
from hetsched.workload.formats.swf import read_swf

__all__ = [
    "FORMATS",
    "READERS",
    "Format",
    "format_of",
    "read_batsim",
    "read_csv",
    "read_jobs",
    "read_parquet",
    "read_pbs",
    "read_sacct",
    "read_swf",
]
