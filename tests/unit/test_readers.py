"""From files to workloads: columns, renaming, and errors that name the file, the line and the field."""

import datetime as dt
import gzip
import io

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hetsched as hs
from hetsched.workload import read_jobs
from hetsched.workload.formats import FORMATS, READERS, Format, format_of
from hetsched.workload.formats.raw import as_workload, contents

HEADER = "job_id,submit_s,runtime_s,node_count"


def csv(*lines, header=HEADER):
    return "\n".join([header, *lines, ""]).encode()


def swf(*rows):
    """An SWF log of (job, submit, run, processors, requested time) rows."""
    line = "{} {} -1 {} {} -1 -1 {} {} -1 1 3 1 7 1 -1 -1 -1"
    return (
        "\n".join([line.format(job, submit, run, n, n, limit) for job, submit, run, n, limit in rows]).encode() + b"\n"
    )


def parquet(**columns):
    file = io.BytesIO()
    pl.DataFrame(columns).write_parquet(file)
    return file.getvalue()


def test_csv_by_hand():
    w = hs.read_csv(csv("1,0,60,2", "2,5.5,1e2,1"))
    assert w.to_polars().rows() == [(1, 0.0, 60.0, 2), (2, 5.5, 100.0, 1)]


def test_csv_with_a_sites_own_names_and_an_own_column():
    log = csv("7;2024-08-30 00:00:10;60;2;x", header="JobID;Submit;Elapsed;NNodes;Partition").replace(b";", b"|")
    names = {"JobID": "job_id", "Submit": "submit_s", "Elapsed": "runtime_s", "NNodes": "node_count"}
    w = hs.read_csv(log, columns=names, separator="|")
    submit = dt.datetime(2024, 8, 30, 0, 0, 10, tzinfo=dt.timezone.utc).timestamp()
    assert w.to_polars().row(0, named=True) == {
        "job_id": 7, "submit_s": submit, "runtime_s": 60.0, "node_count": 2, "Partition": "x",
    }  # fmt: skip


@pytest.mark.parametrize(
    "dates", [("2024-08-30 00:00:10", "2024-08-30 00:00:11"), ("2024-08-30T00:00:10Z", "2024-08-30T00:00:11Z")]
)
def test_csv_dates_are_utc(dates):
    w = hs.read_csv(csv(*(f"{k},{date},60,2" for k, date in enumerate(dates))))
    first = dt.datetime(2024, 8, 30, 0, 0, 10, tzinfo=dt.timezone.utc).timestamp()
    assert w.to_polars()["submit_s"].to_list() == [first, first + 1]


def test_csv_fields_may_have_blanks_around_numbers_and_empty_fields_are_null():
    w = hs.read_csv(csv("1, 0 ,60, 2,", "2,5,60,1, 30", header=HEADER + ",walltime_s"))
    assert w.to_polars()["walltime_s"].to_list() == [None, 30.0]


def test_csv_users_that_are_numbers_keep_their_zeros():
    assert hs.read_csv(csv("1,0,60,2,007", header=HEADER + ",user")).to_polars()["user"].to_list() == ["007"]


def test_blank_lines_are_no_jobs_and_do_not_shift_line_numbers():
    assert len(hs.read_csv(csv("1,0,60,2", "", "2,5,60,1", ""))) == 2
    with pytest.raises(hs.TraceError, match=r"bytes, line 5, column `node_count`: found `0`"):
        hs.read_csv(csv("1,0,60,2", "", "", "2,5,60,0"))


def test_lines_are_counted_through_quoted_line_breaks():
    log = csv('1,0,60,2,"a\nb"', "2,5,-60,1,c", header=HEADER + ",note")
    with pytest.raises(hs.TraceError, match=r"bytes, line 4, column `runtime_s`: found `-60`"):
        hs.read_csv(log)


CSV_FAULTS = [
    (b"", "bytes: found an empty file, expected a CSV file with a line of column names"),
    (csv("1,0,12:30,2"), "bytes, line 2, column `runtime_s`: found `12:30`, expected seconds from 0 to 1e+12"),
    (
        csv("1,2024-08-30 00:00:10,60,2", "2,yesterday,60,2"),
        "bytes, line 3, column `submit_s`: found `yesterday`, expected",
    ),
    (
        csv("1,today,60,2", "2,yesterday,60,2"),
        "bytes, line 2, column `submit_s`: found `today` (and 1 more), expected secon",
    ),
    (csv("1,0,60,2", "2,0,sixty,2"), "bytes, line 3, column `runtime_s`: found `sixty`, expected seconds"),
    (csv("1,0,1e300,2"), "bytes, line 2, column `runtime_s`: found `1e+300`, expected seconds from 0 to 1e+12"),
    (csv("1,0,nan,2"), "bytes, line 2, column `runtime_s`: found `NaN`, expected seconds"),
    (csv("1,0,,2"), "bytes, line 2, column `runtime_s`: found nothing, expected seconds"),
    (csv("1,0,60,2.5"), "bytes, line 2, column `node_count`: found `2.5`, expected a whole number from 1"),
    (
        csv("1,0,60,2", "1,0,60,2"),
        "bytes, line 3, column `job_id`: found `1`, expected a number of its own; line 2 has it",
    ),
    (csv("1,0,60,2", "2,0,60"), "bytes, line 3: found 3 fields, expected 4 fields, as the first line has"),
    (csv("1,0,60,2", "2,0,60,2,5"), "bytes, line 3: found 5 fields, expected 4 fields, as the first line has"),
    (csv('1,0,"60"'), "bytes, line 2: found 3 fields, expected 4 fields, as the first line has"),
    (
        csv("1,0,60,2,3", header=HEADER + ",job_id"),
        "bytes, line 1: found column `job_id` twice, expected each column name",
    ),
    (
        csv("1,0,60", header="job_id,submit_s,runtime_s"),
        "bytes, column `node_count`: found columns job_id, submit_s, runt",
    ),
    (
        gzip.compress(csv("1,0,60,2") * 50, mtime=0)[:40],
        "bytes: found gzip data cut short after 30 bytes of text, expected a whole gzip file",
    ),
]


@pytest.mark.parametrize(("log", "message"), CSV_FAULTS, ids=[message[:50] for _, message in CSV_FAULTS])
def test_csv_faults_name_line_field_and_value(log, message):
    with pytest.raises(hs.TraceError) as caught:
        hs.read_csv(log)
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)


def test_a_column_that_the_file_lacks_is_guessed():
    with pytest.raises(
        hs.TraceError, match="expected a column `Node` to be read as `node_count`; did you mean `Nodes`"
    ):
        hs.read_csv(csv("1", header="Nodes"), columns={"Node": "node_count"})
    with pytest.raises(hs.TraceError, match=r"goes from the file's name to hetsched's: {'Nodes': 'node_count'}"):
        hs.read_csv(csv("1", header="Nodes"), columns={"node_count": "Nodes"})


def test_two_columns_of_one_name_are_refused():
    with pytest.raises(hs.TraceError, match="column `node_count`: found columns n, node_count for it"):
        hs.read_csv(csv("1,2", header="n,node_count"), columns={"n": "node_count"})


def test_parquet_with_dates_spans_and_own_names():
    log = parquet(
        id=[1, 2],
        submit=[dt.datetime(1970, 1, 1, 1, tzinfo=dt.timezone.utc)] * 2,
        run=[dt.timedelta(seconds=90)] * 2,
        nodes=[1, 2],
    )
    names = {"id": "job_id", "submit": "submit_s", "run": "runtime_s", "nodes": "node_count"}
    assert hs.read_parquet(log, columns=names).to_polars().rows() == [(1, 3600.0, 90.0, 1), (2, 3600.0, 90.0, 2)]


def test_parquet_faults():
    for content in (b"", b"not parquet", parquet(job_id=[1])[:-9]):
        with pytest.raises(hs.TraceError, match=r"bytes: found no Parquet \(.*\), expected a Parquet file"):
            hs.read_parquet(content)
    bad = parquet(job_id=[1, 2], submit_s=[0, 0], runtime_s=[1, -1], node_count=[1, 1])
    with pytest.raises(hs.TraceError, match="bytes, row 1, column `runtime_s`: found `-1`"):
        hs.read_parquet(bad)


@pytest.mark.parametrize("read", [hs.read_swf, hs.read_csv, hs.read_parquet, hs.read_sacct])
def test_files_that_cannot_be_had_are_named(read, tmp_path):
    with pytest.raises(hs.TraceError, match=f"{tmp_path}/none.swf: found no such file, expected a"):
        read(tmp_path / "none.swf")
    with pytest.raises(hs.TraceError, match=f"{tmp_path}: found a directory, expected a"):
        read(tmp_path)


def test_the_source_is_known_by_its_content(tmp_path):
    path = tmp_path / "log.csv"
    path.write_bytes(csv("1,0,60,2"))
    by_path, by_content = hs.read_csv(path), hs.read_csv(path.read_bytes())
    assert by_path.source_sha256 == by_content.source_sha256
    assert by_path.sha256 == by_content.sha256
    assert by_path.report.line().startswith("1 job read from log.csv")


def zstd(content):
    """A zstd frame that stores up to 255 bytes as they are: magic, one-byte length, and one raw block, the last."""
    assert len(content) < 256
    return b"\x28\xb5\x2f\xfd\x20" + bytes([len(content)]) + (len(content) << 3 | 1).to_bytes(3, "little") + content


@pytest.mark.parametrize("suffix", READERS)
def test_every_format_is_reported_by_its_name(suffix, tmp_path):
    path = tmp_path / f"My.Log{suffix.upper()}"
    one_job = {"job_id": [1], "submit_s": [0], "runtime_s": [60], "node_count": [2]}
    plain = {"swf": swf((1, 0, 60, 2, 90)), "csv": csv("1,0,60,2"), "parquet": parquet(**one_job)}
    plain["sacct"] = b"JobID|Submit|Elapsed|NNodes\n1|0|00:01:00|2\n"
    pack = {".gz": gzip.compress, ".zst": zstd}.get(path.suffix.lower(), bytes)
    plain["batsim"] = (
        b'{"jobs":[{"id":1,"subtime":0,"res":2,"profile":"p"}],"profiles":{"p":{"type":"delay","delay":1}}}'
    )
    plain["pbs"] = b"05/01/2024 12:01:10;E;7;ctime=60 start=70 end=130 Resource_List.nodect=2 Exit_status=0\n"
    # A dump of sacct in JSON is longer than this zstd takes; its text has an ending of its own.
    others = [f.name for f in FORMATS.values() if suffix in f.suffixes]
    for of_suffix in [name for name in others if name != "sacct" or not suffix.startswith(".json")]:
        path.write_bytes(pack(plain[of_suffix]))
        assert read_jobs(path).to_polars()["node_count"].to_list() == [2]


def test_a_format_can_be_said(tmp_path):
    path = tmp_path / "jobs.txt"
    path.write_bytes(b"id;submitted\n1;0\n")
    with pytest.raises(hs.TraceError, match="found columns id;submitted"):
        read_jobs(path, format="csv")
    with pytest.raises(hs.ConfigError, match=r"format: found `.*jobs\.txt`, expected a name ending in \.swf"):
        read_jobs(path)
    with pytest.raises(
        hs.ConfigError,
        match="found `parket`, expected one of swf, parquet, batsim, pbs, csv, sacct; did you mean `parquet`",
    ):
        read_jobs(path, format="parket")


@pytest.mark.parametrize("pack", [bytes, gzip.compress, zstd], ids=["plain", "gzip", "zstd"])
@pytest.mark.parametrize(
    ("content", "format"),
    [
        (
            b'{"jobs":[{"id":1,"subtime":0,"res":2,"profile":"p"}],"profiles":{"p":{"type":"delay","delay":1}}}',
            "batsim",
        ),
        (b"05/01/2024 12:01:10;E;7;ctime=60 start=70 end=130 Resource_List.nodect=2 Exit_status=0\n", "pbs"),
        (b"; Version: 2.2\n" + swf((1, 0, 60, 2, 90)), "swf"),
        (b"\n" + swf((1, 0, 60, 2, 90)), "swf"),
        (csv("1,0,60,2"), "csv"),
        (b'"node_count"|submit_s|runtime_s|job_id\n2|0|60|1\n', "csv"),
    ],
)
def test_content_tells_the_format_where_the_name_does_not(content, format, pack, tmp_path):
    path = tmp_path / "jobs.log"
    path.write_bytes(pack(content))
    assert format_of(path, None).name == format_of(pack(content), None).name == format
    options = {"separator": "|"} if b"|" in content else {}
    read = hs.read_jobs(path, **options)
    assert read == hs.read_jobs(pack(content), **options) == hs.read_jobs(path, format=format, **options)
    assert read.to_polars()["node_count"].to_list() == [2]


def test_json_with_a_job_id_is_no_csv():
    content = b'{"meta":{},"jobs":[{"job_id":1,"time":{"elapsed":60},"association":{}}]}'
    assert format_of(content, None).name == "sacct"


def test_a_missing_or_damaged_file_of_unknown_name_has_no_format(tmp_path):
    cut = tmp_path / "cut.log"
    for packed in (gzip.compress(csv("1,0,60,2"))[:3], zstd(csv("1,0,60,2"))[:9], b"\x1f\x8b\xff\xff\xff"):
        cut.write_bytes(packed)
        with pytest.raises(hs.ConfigError, match=r"found `.*cut\.log`, expected a name ending in"):
            hs.read_jobs(cut)
    with pytest.raises(hs.ConfigError, match=r"found `.*none`, expected a name ending in"):
        hs.read_jobs(tmp_path / "none")


def test_formats_of_one_ending_are_distinguished_by_content(monkeypatch, tmp_path):
    bars = Format("bars", (".csv",), "bars", hs.read_csv, recognizes=lambda head: head.startswith(b"Id|"))
    monkeypatch.setitem(FORMATS, "bars", bars)
    path = tmp_path / "jobs.csv"
    for content, name in ((b"Id|Nodes\n", "bars"), (csv("1,0,60,2"), "csv"), (b"neither\n", "csv")):
        path.write_bytes(content)
        assert format_of(path, None).name == name


def test_an_option_of_another_format_is_refused_and_none_is_not_given(tmp_path):
    path = tmp_path / "jobs.csv"
    path.write_bytes(csv("1,0,60,2"))
    assert len(read_jobs(path, procs_per_node=None)) == 1
    with pytest.raises(
        hs.ConfigError, match="procs_per_node: found `4`, expected options of csv logs: columns, separator"
    ):
        read_jobs(path, procs_per_node=4)


def test_swf_by_hand():
    w = hs.read_swf(swf((1, 0, 60, 4, 90), (2, 10, 30, 5, -1)), procs_per_node=4)
    table = w.to_polars().select("job_id", "submit_s", "runtime_s", "node_count", "walltime_s", "app", "user")
    assert table.rows() == [(1, 0.0, 60.0, 1, 90.0, "7", "3"), (2, 10.0, 30.0, 2, None, "7", "3")]
    assert w.history == ("read bytes with procs_per_node=4",)


def test_swf_columns_are_those_that_from_polars_makes():
    w = hs.read_swf(swf((1, 0, 60, 4, 90), (2, 10, 30, 5, -1)))
    assert w.to_polars().equals(hs.Workload.from_polars(w.to_polars()).to_polars())
    assert w.to_polars().schema == hs.Workload.from_polars(w.to_polars()).to_polars().schema


@pytest.mark.parametrize("procs", [0, -4, 2.5, "4", True])
def test_processors_a_node_are_a_whole_number_from_one(procs):
    with pytest.raises(hs.ConfigError, match="procs_per_node: found"):
        hs.read_swf(swf((1, 0, 60, 4, 90)), procs_per_node=procs)


@st.composite
def damaged(draw, content):
    """The content with a few bytes changed, cut out or put in."""
    data = bytearray(content)
    for _ in range(draw(st.integers(1, 5))):
        at = draw(st.integers(0, len(data)))
        data[at : at + draw(st.integers(0, 9))] = draw(
            st.binary(max_size=3) | st.sampled_from([b'"', b",", b"\n", b"-"])
        )
    return bytes(data)


def said(read, content):
    """Answer of the reader: a report, or a trace error; anything else goes through."""
    try:
        return read(content).report.line()
    except hs.TraceError as error:
        return str(error)


JOBS = [f"{k},{3 * k},{k},1,u{k}" for k in range(20)]
LOG = csv(*JOBS, header=HEADER + ",user")


@pytest.mark.filterwarnings("ignore")
@given(damaged(LOG) | damaged(gzip.compress(LOG, mtime=0)) | st.binary(max_size=200))
def test_no_csv_does_more_than_a_trace_error_of_one_line(content):
    assert "\n" not in said(hs.read_csv, content)


@given(damaged(parquet(job_id=range(20), submit_s=range(20), runtime_s=range(20), node_count=[1] * 20)))
def test_no_parquet_does_more_than_a_trace_error_of_one_line(content):
    assert "\n" not in said(hs.read_parquet, content)


def test_a_format_is_one_row_that_says_its_options_and_its_first_bytes(monkeypatch):
    def read(source, *, scale=1):
        """Jobs of a second each, one a byte after the first two."""
        data, name, sha256 = contents(source, "ticks")
        rows = range(len(data) - 2)
        jobs = pl.DataFrame({"job_id": rows, "submit_s": rows, "node_count": [scale] * len(rows)})
        frame = jobs.with_columns(runtime_s=pl.lit(1.0))
        return as_workload(frame, source=name, sha256=sha256, settings={"scale": scale})

    monkeypatch.setitem(FORMATS, "ticks", Format("ticks", (".ticks",), "a job a byte", read, magic=b"TK"))
    assert FORMATS["ticks"].options == ("scale",)
    assert len(read_jobs(b"TK...")) == 3
    assert read_jobs(b"TK...", scale=4).to_polars()["node_count"].to_list() == [4, 4, 4]
    with pytest.raises(hs.ConfigError, match="separator: found `;`, expected options of ticks logs: scale"):
        read_jobs(b"TK...", separator=";")
    # Without first bytes of their own, logs are told apart by the options that were given.
    assert read_jobs(csv("1,0,60,2"), separator=",").history == ("read bytes",)


def test_every_format_says_what_it_is():
    assert all(f.doc and f.suffixes for f in FORMATS.values())
