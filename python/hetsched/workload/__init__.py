"""The jobs of a run: the job table's schema, its checks, its transforms, and the readers that fill it."""

from hetsched.workload.readers import read_csv, read_parquet, read_swf, read_trace
from hetsched.workload.report import Report
from hetsched.workload.schema import COLUMNS, Column, schema
from hetsched.workload.table import Workload

__all__ = [
    "COLUMNS",
    "Column",
    "Report",
    "Workload",
    "read_csv",
    "read_parquet",
    "read_swf",
    "read_trace",
    "schema",
]
