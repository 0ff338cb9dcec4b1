"""Workloads written as job logs: what each format keeps, what SWF loses, and that nothing is half written."""

import gzip

import polars as pl
import pytest
from hypothesis import given

import hetsched as hs
from hetsched.errors import OutputError
from hetsched.testing import workloads
from hetsched.workload import GENERATORS, generate, poisson, read_jobs
from hetsched.workload.writers.registry import WRITERS
from hetsched.workload.writers.swf import LOST_COLUMNS, swf_parts


def ticks(jobs):
    """The columns that every format keeps, times in whole microseconds: the engine's ticks."""
    return jobs.select("job_id", (pl.col("submit_s", "runtime_s") * 1e6).round().cast(pl.Int64), "node_count")


@pytest.mark.parametrize("suffix", WRITERS)
@pytest.mark.parametrize("kind", ["swa-multi", "poisson"])
def test_what_was_written_is_read_back(tmp_path, kind, suffix):
    workload = generate(kind, seed=4)
    workload.write(tmp_path / f"jobs{suffix}")
    read = read_jobs(tmp_path / f"jobs{suffix}")
    if suffix.startswith(".swf"):
        # The format allows decimals.
        assert ticks(read.to_polars()).equals(ticks(workload.to_polars()))
        assert read.report["header"]["max_nodes"] == read.report["header"]["max_procs"]
        assert read.report["header"]["max_nodes"] == GENERATORS[kind].default("nodes")
        assert read.report["jobs"] == read.report["lines"] - header_lines(tmp_path / f"jobs{suffix}")
    else:
        assert read == workload
    assert [path.name for path in tmp_path.iterdir()] == [f"jobs{suffix}"]


def header_lines(path):
    content = path.read_bytes()
    text = gzip.decompress(content) if path.suffix == ".gz" else content
    return sum(line.startswith(b";") for line in text.splitlines())


@pytest.mark.parametrize("suffix", WRITERS)
def test_the_same_workload_gives_the_same_bytes(tmp_path, suffix):
    for name in ("a", "b"):
        generate("poisson", jobs=50, seed=1).write(tmp_path / f"{name}{suffix}")
    assert (tmp_path / f"a{suffix}").read_bytes() == (tmp_path / f"b{suffix}").read_bytes()


def test_a_line_by_hand():
    jobs = pl.DataFrame(
        {
            "job_id": [1, 2],
            "submit_s": [0.0, 1.25],
            "runtime_s": [60.0, 3600.000001],
            "node_count": [4, 1],
            "walltime_s": [120.0, None],
            "user": ["7", None],
            "queue": ["night", "day"],
            "app": ["stream", "hpcg"],
            "depends_on": [None, 1],
            "trace_status": [None, 5],
            "observed_start_s": [2.0, None],
            "power_w": [300.0, 200.0],
        }
    )
    # Fields: job, submit, wait, run, allocated, -, -, requested, time, -, status, user, -, executable, queue, -,
    # preceding job, -. Names that are numbers stay; others are counted in alphabetical order.
    assert swf_text(hs.Workload.from_polars(jobs).to_polars(), header=[("MaxNodes", 8)]).splitlines() == [
        "; Version: 2.2",
        "; MaxJobs: 2",
        "; MaxRecords: 2",
        "; MaxNodes: 8",
        "; Note: queue 1 is day",
        "; Note: queue 2 is night",
        "; Note: executable 1 is hpcg",
        "; Note: executable 2 is stream",
        "1 0 2 60 4 -1 -1 4 120 -1 -1 7 -1 2 2 -1 -1 -1",
        "2 1.25 -1 3600.000001 1 -1 -1 1 -1 -1 5 -1 -1 1 1 -1 1 -1",
    ]


@given(workload=workloads(max_jobs=12))
def test_every_workload_keeps_in_swf_what_the_format_has_fields_for(workload):
    jobs = workload.to_polars().with_columns(pl.col("runtime_s").round(6))
    if not len(jobs):
        return
    read = hs.read_swf(swf_text(jobs).encode()).to_polars()
    assert ticks(read).equals(ticks(jobs))
    if "walltime_s" in jobs.columns:
        difference = (read["walltime_s"] - jobs["walltime_s"]).abs()
        assert difference.null_count() == jobs["walltime_s"].null_count()
        assert (difference.drop_nulls() <= 5.1e-7).all()
    if "app" in jobs.columns:
        # Names may have changed, which jobs share one has not.
        pairs = pl.DataFrame({"before": jobs["app"], "after": read["app"]}).unique()
        assert pairs["before"].n_unique() == pairs["after"].n_unique() == len(pairs)
    assert not set(LOST_COLUMNS) & set(read.columns)


def test_the_header_says_how_to_make_it_again():
    text = swf_lines(poisson(nodes=8, jobs=3, load=0.5, seed=9))
    notes = dict(line.removeprefix("; Note: ").split(" = ") for line in text if " = " in line)
    assert "; Note: generator poisson" in text
    assert "; MaxNodes: 8" in text
    assert notes["load"] == "0.5"
    assert notes["seed"] == "9"
    assert notes["runtime_s"] == "exponential:3600"
    assert set(notes) == {parameter.name for parameter in GENERATORS["poisson"].parameters}


def test_what_was_done_to_a_workload_is_noted():
    text = swf_lines(poisson(nodes=8, jobs=3, seed=9).scale_arrivals(2).head(2))
    assert [line for line in text if line.startswith("; Note: ")][-2:] == [
        "; Note: scale_arrivals(2)",
        "; Note: head(2)",
    ]
    assert "; MaxJobs: 2" in text


PROCESSORS = b"; MaxNodes: 4\n; MaxProcs: 32\n1 0 0 60 8 -1 -1 8 -1 -1 1 -1 -1 -1 -1 -1 -1 -1\n"


@pytest.mark.parametrize(
    ("header", "found"),
    [
        (PROCESSORS, [(4, 4), "; Note: MaxProcs was 32, 8 processors a node"]),
        # 30 processors fill three nodes and a part of a fourth.
        (
            PROCESSORS.replace(b"; MaxNodes: 4\n", b"").replace(b"32", b"30"),
            [(4, 4), "; Note: MaxProcs was 30, 8 processors a node"],
        ),
        (PROCESSORS.replace(b"; MaxProcs: 32\n", b""), [(4, 4), None]),
        (PROCESSORS.split(b"\n", 2)[2], [(None, None), None]),
    ],
)
def test_a_log_of_processors_is_written_with_its_nodes_as_processors(header, found):
    nodes, note = found
    text = swf_bytes(hs.read_swf(header, procs_per_node=8))
    read = hs.read_swf(text)
    assert read.to_polars()["node_count"].to_list() == [1]
    assert (read.report["header"]["max_nodes"], read.report["header"]["max_procs"]) == nodes
    notes = [line for line in text.decode().splitlines() if "MaxProcs was" in line]
    assert notes == ([] if note is None else [note])
    # What was written in nodes once is not divided again.
    assert swf_bytes(read).decode().count("MaxProcs: 4") == (0 if nodes[0] is None else 1)


@pytest.mark.parametrize("options", [{}, {"procs_per_node": 1}])
def test_where_a_processor_is_a_node_the_header_stays(options):
    text = swf_bytes(hs.read_swf(PROCESSORS, **options)).decode()
    assert "; MaxProcs: 32\n" in text
    assert "MaxProcs was" not in text


@pytest.mark.parametrize(
    "names",
    [
        ["7", "007"],
        ["0", "00", "000"],
        ["1", "01", "2"],
        ["0", "10", "7"],
        ["٣", "3"],
        ["9" * 17, "9" * 18],
        ["-1", "1"],
    ],
)
def test_no_two_names_come_back_as_one(names):
    jobs = pl.DataFrame({"job_id": [1], "submit_s": [0.0], "runtime_s": [1.0], "node_count": [1]})
    jobs = jobs.join(pl.DataFrame({"user": names}), how="cross").with_columns(job_id=pl.int_range(1, len(names) + 1))
    text = swf_text(hs.Workload.from_polars(jobs).to_polars())
    users = hs.read_swf(text.encode()).to_polars()["user"].to_list()
    assert len(set(users)) == len(names)
    assert None not in users
    # Names that a reader gives back as they are stay; else a comment says which is which.
    notes = dict(line.removeprefix("; Note: user ").split(" is ") for line in text.splitlines() if "user " in line)
    assert [notes.get(user, user) for user in users] == names


def swf_text(jobs, header=()):
    return "".join(swf_parts(jobs, header=header))


def swf_lines(workload):
    return swf_bytes(workload).decode().splitlines()


def swf_bytes(workload):
    return b"".join(WRITERS[".swf"](workload))


@pytest.mark.parametrize("suffix", [".swf", ".swf.gz", ".csv"])
def test_a_large_log_is_written_in_parts_between_which_it_can_be_interrupted(tmp_path, monkeypatch, suffix):
    workload = poisson(jobs=120_000, apps="hpcg:1,stream:1", seed=1)
    assert len(list(WRITERS[suffix](workload))) > 3
    if suffix == ".swf":
        assert max(part.count(b"\n") for part in WRITERS[suffix](workload)) <= 50_000
        assert swf_bytes(workload).decode().splitlines()[-1] == swf_text(workload.to_polars()).splitlines()[-1]

    def interrupted(made):
        parts = parts_of(made)
        yield next(parts)
        yield next(parts)
        raise KeyboardInterrupt

    parts_of = WRITERS[suffix]
    monkeypatch.setitem(WRITERS, suffix, interrupted)
    with pytest.raises(KeyboardInterrupt):
        workload.write(tmp_path / f"jobs{suffix}")
    assert list(tmp_path.iterdir()) == []


def test_a_packed_log_is_the_plain_one_packed(tmp_path):
    workload = poisson(jobs=120_000, seed=1)
    workload.write(tmp_path / "jobs.swf.gz")
    assert gzip.decompress((tmp_path / "jobs.swf.gz").read_bytes()) == swf_bytes(workload)


@pytest.mark.parametrize(
    ("path", "said"),
    [
        (None, "path: found `None`, expected a name ending in .swf"),
        ("", "path: found `.`, expected a name ending in .swf"),
    ],
)
def test_a_workload_is_not_written_without_a_name(path, said):
    with pytest.raises(hs.ConfigError) as caught:
        poisson(jobs=2).write(path)
    assert str(caught.value).startswith(said)


def test_a_zero_byte_in_a_name_is_reported():
    with pytest.raises(OutputError, match=r"^`a\\x00\.swf`: cannot be written: no file has a zero byte in its name$"):
        poisson(jobs=2).write("a\0.swf")


def test_other_names_and_places_are_refused_and_leave_nothing_behind(tmp_path):
    workload = poisson(jobs=3)
    with pytest.raises(hs.ConfigError, match=r"expected a name ending in \.swf, \.swf\.gz, \.parquet, \.csv"):
        workload.write(tmp_path / "jobs.txt")
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="cannot be written"):
        workload.write(tmp_path / "file" / "jobs.swf")
    (tmp_path / "jobs.swf").mkdir()
    with pytest.raises(OutputError, match="cannot be written"):
        workload.write(tmp_path / "jobs.swf")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "jobs.swf"]


def test_a_number_below_zero_has_no_place_in_swf():
    jobs = pl.DataFrame({"job_id": [3, -1], "submit_s": [0, 1], "runtime_s": [1, 1], "node_count": [1, 1]})
    with pytest.raises(hs.TraceError, match=r"row 1, column `job_id`: found `-1`, expected at least 0"):
        swf_text(hs.Workload.from_polars(jobs).to_polars())
