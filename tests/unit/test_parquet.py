"""Parquet files that damage has made claim what they cannot hold: an error of ours, and never the interpreter's end."""

import hashlib
import io
import json
import os
import random
import subprocess
import sys
from datetime import datetime

import polars as pl
import pytest

import hetsched as hs
from hetsched.tables import DamagedParquetError, read_parquet

N = 40
FRAME = pl.DataFrame(
    {
        "job_id": range(N),
        "submit_s": [k + 0.25 for k in range(N)],
        "runtime_s": [k + 10.0 for k in range(N)],
        "node_count": [1] * N,
        "app": ["a", "b"] * (N // 2),
        "nodes": [[k, k + 1][: k % 3] for k in range(N)],
        "rare": [k if k % 7 else None for k in range(N)],
        "flag": [True, None] * (N // 2),
    }
)


def written(frame=FRAME, **options):
    file = io.BytesIO()
    frame.write_parquet(file, **options)
    return file.getvalue()


def with_negative_page(data):
    """The file, of so many rows, with the sign of the number of values of its last page turned round."""
    # Field 5 of a page's header is that of a page of data, and its first field the number, as a zigzag number.
    place = data.rindex(bytes([0x2C, 0x15, 2 * N])) + 2
    return data[:place] + bytes([data[place] | 1]) + data[place + 1 :]


_READ = """
import sys
import hetsched as hs
try:
    print(eval(sys.argv[1])(sys.argv[2]))
except hs.HetschedError as error:
    print(error)
"""


def read_apart(reader, path):
    """Output of reading in a process of its own."""
    command = [sys.executable, "-c", _READ, reader, str(path)]
    done = subprocess.run(command, capture_output=True, check=False, text=True)
    assert done.returncode == 0, done.stderr[-300:]
    return done.stdout.strip()


SAYS = "damaged inside: it claims pages of more values than their columns"


@pytest.mark.parametrize("reader", ["hs.read_parquet", "hs.read_table"])
def test_fewer_values_than_none_do_not_end_the_interpreter(tmp_path, reader):
    path = tmp_path / "a.parquet"
    table = pl.DataFrame({"app": ["a"] * N, "node": range(N), "power_w": [k + 200.5 for k in range(N)]})
    path.write_bytes(with_negative_page(written(FRAME.select(pl.all().exclude("nodes", "rare", "flag")))))
    if reader == "hs.read_table":
        path.write_bytes(with_negative_page(written(table)))
    said = read_apart(reader, path)
    assert said.startswith(str(path))
    assert SAYS in said


def test_nor_in_a_result(tmp_path):
    jobs = hs.Workload.from_polars(FRAME.select("job_id", "submit_s", "runtime_s", "node_count", "app"))
    hs.simulate(jobs, hs.Platform.homogeneous(N, 10, 20)).write(tmp_path)
    path = tmp_path / "nodes.parquet"
    path.write_bytes(with_negative_page(path.read_bytes()))
    # Who damages a file on purpose writes its sum again.
    summary = json.loads((tmp_path / "summary.json").read_text())
    summary["files"][path.name] = hashlib.sha256(path.read_bytes()).hexdigest()
    (tmp_path / "summary.json").write_text(json.dumps(summary))
    assert read_apart("hs.read_result", tmp_path) == f"{path}: found {SAYS}, expected a file written by Result.write"


_READ_ALL = """
import sys
from hetsched.tables import read_parquet
from hetsched.files import UNREADABLE
data = sys.stdin.buffer.read()
size = int(sys.argv[1])
for first in range(0, len(data), size):
    try:
        read_parquet(data[first : first + size])
    except UNREADABLE:
        pass
"""


@pytest.mark.parametrize("compression", ["zstd", "uncompressed"])
def test_no_damage_ends_the_interpreter(compression):
    whole = written(FRAME.select("submit_s", "app", "rare"), compression=compression)
    draw = random.Random(1)
    # Each byte with its lowest bit turned, which is the sign of a number; and a few bytes of any value.
    places = [[(place, whole[place] ^ 1)] for place in range(len(whole))]
    places += [
        [(draw.randrange(len(whole)), draw.randrange(256)) for _ in range(draw.randint(1, 4))] for _ in range(400)
    ]
    damaged = []
    for changes in places:
        data = bytearray(whole)
        for place, value in changes:
            data[place] = value
        damaged.append(bytes(data))
    command = [sys.executable, "-c", _READ_ALL, str(len(whole))]
    done = subprocess.run(command, input=b"".join(damaged), capture_output=True, check=False)
    assert done.returncode == 0, done.stderr[-300:]


# --- Files that are what they should be ----------------------------------------------------------------------------

TYPES = pl.DataFrame(
    {
        "list": [[1, 2], [], None],
        "struct": [{"a": 1, "b": "x"}, {"a": None, "b": "y"}, None],
        "when": [datetime(2024, 1, 1), None, datetime(2024, 1, 2)],
        "bytes": [b"", b"\0", None],
        "nothing": pl.Series([None, None, None], dtype=pl.String),
        "small": pl.Series([1, 2, 3], dtype=pl.Int8),
        "kind": pl.Series(["a", "b", "a"], dtype=pl.Categorical),
        "price": pl.Series(["1.10", "2.00", None]).cast(pl.Decimal(20, 2)),
    }
)


@pytest.mark.parametrize("compression", ["zstd", "uncompressed", "snappy", "gzip", "lz4"])
@pytest.mark.parametrize(
    "frame",
    [FRAME, FRAME[:0], TYPES, FRAME.select("app"), pl.select(constant=pl.repeat(7, 300_000))],
    ids=["jobs", "empty", "types", "text", "constant"],
)
def test_whole_files_are_read(frame, compression):
    assert read_parquet(written(frame, compression=compression)).equals(frame)
    assert read_parquet(written(frame, compression=compression, row_group_size=1000, data_page_size=500)).equals(frame)


def test_more_values_than_memory_holds_are_refused(monkeypatch):
    data = written()
    monkeypatch.setattr("hetsched.tables._memory", lambda: 1000)
    with pytest.raises(DamagedParquetError, match="more values than memory can hold"):
        read_parquet(data)


@pytest.mark.parametrize("size", [0, 3, 4, 8, 11, 12, 100])
def test_cut_files_and_other_files_are_reported(size):
    for data in (written()[:size], bytes(size), b"PAR1" + bytes(size) + b"\xff\xff\xff\xffPAR1", b"PAR1" * (size + 1)):
        with pytest.raises((DamagedParquetError, pl.exceptions.PolarsError, OSError)):
            read_parquet(data)


def test_a_small_file_of_many_equal_rows_is_refused_where_memory_is_limited(tmp_path):
    rows = 40_000_000
    frame = pl.select(job_id=pl.repeat(1, rows, dtype=pl.Int64), submit_s=pl.repeat(0.0, rows))
    frame.write_parquet(tmp_path / "b.parquet", compression="zstd")
    code = f"""
import resource
import hetsched as hs

resource.setrlimit(resource.RLIMIT_AS, (2**30 + 2**29,) * 2)
for read in (hs.read_parquet, hs.read_table, hs.read_events):
    try:
        read({str(tmp_path / "b.parquet")!r})
    except hs.HetschedError as error:
        print(error)
"""
    limits = {**os.environ, "POLARS_MAX_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=limits)
    said = ran.stdout.splitlines()
    assert len(said) == 3
    assert all("damaged inside: it claims more values than memory can hold" in line for line in said)
    assert (tmp_path / "b.parquet").stat().st_size < 2**20
