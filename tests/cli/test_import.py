"""``hetsched import``: its screen, its JSON, the file that it writes, and what is refused."""

import gzip
import json
from pathlib import Path

import polars as pl
import pytest
from test_job_log import DUMP, MACHINE, RECORDS

import hetsched as hs

DUMPS = Path(__file__).parents[2].parent / "shared" / "slurm" / "dumps"
BATSIM = (
    '{"nb_res": 4, "jobs": [{"id": "w0!7", "subtime": 5, "res": 2, "profile": "p", "walltime": 100}], '
    '"profiles": {"p": {"type": "delay", "delay": 60}}}'
)
OWN = "id,submit_s,runtime_s,n,team\n1,0,60,2,red\n1,5,60,1,blue\n"


@pytest.fixture
def logs(folder):
    """The folder with a log of every format."""
    (folder / "may.txt").write_text(DUMP)
    (folder / "may.log").write_text(RECORDS)
    (folder / "w.json").write_text(BATSIM)
    (folder / "own.csv").write_text(OWN)
    (folder / "machine").write_text(MACHINE)
    return folder


LOGS = {
    "sacct": ("may.txt", "--time-zone", "Europe/Berlin", "--nodes-from", "machine"),
    "pbs": ("may.log", "--shared"),
    "batsim": ("w.json",),
    "swf": ("small.swf",),
    "csv": ("own.csv", "--columns", "job_id=#row,log_id=id,node_count=n"),
}


@pytest.mark.parametrize("kind", LOGS)
def test_what_is_written_is_what_was_read(hetsched, logs, kind):
    log, *options = LOGS[kind]
    said = hetsched("import", log, *options, "--out", "trace.parquet", "--json")
    assert said.code == 0, said.err
    found = json.loads(said.out)
    assert (next(iter(found)), found["format"], found["written"]) == ("summary", kind, ["trace.parquet"])
    given = {"time_zone": "Europe/Berlin", "nodes": hs.Platform.from_slurm("machine", idle_w=1, tdp_w=2)}
    given = given if kind == "sacct" else {"shared": True} if kind == "pbs" else {}
    columns = {"#row": "job_id", "id": "log_id", "n": "node_count"} if kind == "csv" else None
    read = hs.read_jobs(log, **given, columns=columns)
    back = hs.read_jobs("trace.parquet")
    assert back == read
    assert back.report.get("node_names") == read.report.get("node_names")
    assert (back.report.get("header") or {}).get("max_nodes") == (read.report.get("header") or {}).get("max_nodes")
    assert found["summary"]["jobs"] == len(read)


@pytest.mark.parametrize("kind", LOGS)
def test_the_screen_has_at_most_24_lines_of_80_columns(hetsched, logs, kind):
    said = hetsched("import", *LOGS[kind], "--out", "trace.parquet")
    lines = said.out.splitlines()
    assert (said.code, said.err) == (0, "")
    assert len(lines) <= 24
    assert max(map(len, lines)) <= 80
    assert lines[-1] == "wrote trace.parquet"


def test_a_dumps_account(hetsched, logs):
    said = hetsched("import", "may.txt", "--time-zone", "Europe/Berlin")
    assert said.out.splitlines() == [
        "may.txt (sacct): 3 rows read, 3 jobs kept",
        "kept      1 of runtime 0 kept",
        "columns   job_id,log_id=JobID submit_s=Submit observed_start_s=Start",
        "          observed_end_s,cancel_s=End runtime_s=Elapsed walltime_s=Timelimit",
        "          node_count=NNodes observed_nodes=NodeList cpus=AllocCPUS",
        "          account=Account app=JobName trace_state=State",
        "assumed   local times are of Europe/Berlin; 1 that never ran has a length of 0",
        "          s; jobs hold whole nodes",
        "submitted 2024-05-01 10:00:00 UTC to 2024-05-01 10:06:00 UTC",
        "started   2024-05-01 10:00:10 UTC to 2024-05-01 10:05:10 UTC",
        "nodes     2 seen: n[2,10]",
        "known     of jobs walltime 100 %, energy 0 %, nodes 66 %, start 66 %",
        "nothing written; --out trace.parquet keeps the jobs for other verbs",
    ]


def test_columns_that_are_not_used_are_named(hetsched, logs):
    (logs / "may.txt").write_text(DUMP.replace("Account", "Comment"))
    found = json.loads(hetsched("import", "may.txt", "--app", "none", "--json").out)
    assert found["unused"] == ["JobName", "Comment"]
    found = json.loads(hetsched("import", "may.txt", "--app", "Comment", "--json").out)
    assert (found["columns"]["app"], found["unused"]) == ("Comment", ["JobName"])
    found = json.loads(hetsched("import", "own.csv", "--columns", "job_id=#row,node_count=n", "--json").out)
    assert (found["columns"]["job_id"], found["own"]) == ("#row", ["id", "team"])


def test_a_part_is_kept_if_that_is_asked_for(hetsched, logs):
    said = hetsched("import", "may.log", "may.log")
    assert (said.code, "unexpected argument" in said.err) == (2, True)
    said = hetsched("import", "may.txt", "--from", "2024-05-01T12:03", "--out", "late.csv")
    assert "2 of 3 jobs were submitted within --from and --until" in said.out
    assert len(hs.read_jobs("late.csv")) == 2


def test_what_swf_has_no_place_for_is_said(hetsched, logs):
    said = hetsched("import", "may.txt", "--out", "may.swf")
    assert "lost      cancel_s observed_nodes observed_end_s" in said.out
    assert len(hs.read_swf("may.swf")) == 3


def test_the_next_verb_knows_the_machine_and_the_clock(hetsched, logs):
    (logs / "a.swf").write_text(
        "; MaxNodes: 4\n; MaxProcs: 16\n; UnixStartTime: 1714521600\n" + (logs / "small.swf").read_text()
    )
    assert hetsched("import", "a.swf", "--procs-per-node", 4, "--out", "a.parquet").code == 0
    out = hetsched("simulate", "a.parquet", "--idle-w", 1, "--tdp-w", 2, "--from", "2024-05-01").out
    assert "4 nodes, as the log's header says (MaxNodes)" in out
    moved = hs.read_jobs("a.swf").scale_arrivals(2)
    moved.write("moved.parquet")
    assert "does not say the date of its second 0" in hetsched("simulate", "moved.parquet", "--from", "2024-05-01").err


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "found"),
        (gzip.compress(DUMP.encode(), mtime=0)[:80], "packed data cut short"),
        (DUMP.encode("utf-16"), "UTF-16"),
        (DUMP.replace("12:00:10|2024", "12:x0:10|2024", 1).encode(), "line 2, column `Start`"),
        (b"\0\1\2\3" * 50, "found"),
        (b'{"jobs": [', "JSON"),
    ],
)
def test_a_bad_file_is_one_line_and_nothing_is_written(hetsched, folder, content, said):
    (folder / "bad.sacct").write_bytes(content)
    before = sorted(folder.iterdir())
    found = hetsched("import", "bad.sacct", "--out", "trace.parquet")
    assert (found.code, found.out, len(found.err.splitlines())) == (2, "", 1)
    assert said in found.err
    assert sorted(folder.iterdir()) == before


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        ((), "missing argument FILE; see hetsched import --help"),
        (("nothere.csv",), "nothere.csv: found no such file, expected a job log"),
        (("may.txt", "--out", "x.pq"), "--out: found `x.pq`, expected a name ending in .swf, .swf.gz, .parquet, .csv"),
        (("own.csv", "--out", "own.csv"), "--out: found `own.csv`, expected another file than the log itself"),
        (("machine",), "machine: found a name that tells no format, expected a job log; a machine's file is for"),
        (("own.csv", "--columns", "node_count=n"), "own.csv, column `job_id`: found columns id, submit_s, runtime_s,"),
        (("own.csv", "--columns", "user=#row"), "--columns: found `user=#row`, expected job_id=#row, which numbers"),
        (("own.csv", "--columns", "kestral"), "--columns: found `kestral`, expected OURS=THEIRS, such as submit_s="),
        (("own.csv", "--columns", "kestrel"), "own.csv, column `submit`: found columns id, submit_s, runtime_s, n,"),
        (("own.csv", "--columns", "job_id=id,node_count=n"), "own.csv, line 3, column `job_id`: found `1`, expected a"),
    ],
)  # fmt: skip
def test_faults_are_one_line(hetsched, logs, arguments, line):
    said = hetsched("import", *arguments)
    assert (said.code, said.err[: len(line) + 7]) == (2, f"error: {line}")
    assert len(said.err.splitlines()) == 1


def test_metadata_that_hetsched_did_not_write_is_refused(hetsched, logs):
    frame = hs.read_jobs("small.swf").to_polars()
    for note in ("[1]", "{", '{"header": [1]}'):
        frame.write_parquet("own.parquet", metadata={"hetsched": note})
        said = hetsched("import", "own.parquet")
        assert (said.code, "own.parquet, metadata `hetsched`: found something else" in said.err) == (2, True)
    frame.write_parquet("own.parquet", metadata={"other": "x"})
    assert hetsched("import", "own.parquet").code == 0


@pytest.mark.skipif(not DUMPS.is_dir(), reason="the dumps are not part of the repository")
@pytest.mark.parametrize("name", ["first.txt", "second-chicago.txt", "second.json"])
def test_dumps_of_a_real_cluster(hetsched, folder, name):
    said = hetsched("import", DUMPS / name, "--nodes-from", DUMPS / "nodes.txt", "--out", "trace.parquet")
    lines = said.out.splitlines()
    assert (said.code, len(lines) <= 24, max(map(len, lines)) <= 80) == (0, True, True)
    machine = hs.Platform.from_slurm(DUMPS / "nodes.txt", idle_w=1, tdp_w=2)
    read = hs.read_sacct(DUMPS / name, nodes=machine)
    back = hs.read_jobs("trace.parquet")
    assert back == read
    assert back.report["node_names"] == list(machine.node_names)
    found = json.loads(hetsched("import", DUMPS / name, "--json").out)["summary"]
    gone = sum(count for key, count in found.items() if key.startswith("dropped_"))
    counted = [found.get(key, 0) for key in ("steps", "merged", "bad_lines")]
    assert found["jobs"] == found["rows"] - sum(counted) - gone + found.get("expanded", 0)
    assert pl.read_parquet("trace.parquet").height == found["jobs"]
