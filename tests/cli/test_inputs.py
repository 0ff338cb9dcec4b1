"""Machines that logs tell of, logs from standard input, columns of other names, and lines that are skipped."""

import gzip
import io
import json
import sys
from types import SimpleNamespace

import polars as pl
import pytest

from hetsched.cli.inputs import header_nodes

LINE = "{} 0 -1 60 {} -1 -1 {} 120 -1 1 3 1 7 1 -1 -1 -1\n"


def log(header, *sizes):
    return "".join(f"; {line}\n" for line in header) + "".join(
        LINE.format(job, size, size) for job, size in enumerate(sizes, 1)
    )


@pytest.fixture
def stdin(monkeypatch):
    """Gives bytes to standard input."""

    def give(content):
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(content)))

    return give


@pytest.mark.parametrize("procs", [4, 16])
def test_a_header_that_contradicts_the_option_is_an_error_that_names_both(hetsched, folder, procs):
    (folder / "a.swf").write_text(log(["MaxNodes: 100", "MaxProcs: 800"], 8))
    said = hetsched("simulate", "a.swf", "--procs-per-node", procs)
    assert said.code == 2
    assert said.err == (
        f"error: --procs-per-node: found `{procs}`, with MaxNodes 100 and MaxProcs 800 in the log's header, "
        "expected 8, which these two make; --nodes N says the size without them"
    )
    assert hetsched("simulate", "a.swf", "--procs-per-node", procs, "--nodes", 50).code == 0


def test_whole_nodes_are_offered_where_the_header_has_them(hetsched, folder):
    (folder / "a.swf").write_text(log(["MaxNodes: 100", "MaxProcs: 800"], 8))
    hint = (
        "the header says 100 nodes of 8 processors: --procs-per-node 8 schedules whole nodes; "
        "idle and TDP watts are per processor as it stands"
    )
    lines = hetsched("simulate", "a.swf", "--idle-w", 1, "--tdp-w", 2).out.splitlines()
    assert lines[1:3] == ["800 processors, each taken as a node (MaxProcs)", hint]
    assert hint in hetsched("compare", "a.swf", "--policies", "fcfs,easy", "--nodes", 100).out
    lines = hetsched("simulate", "a.swf", "--procs-per-node", 8).out.splitlines()
    assert lines[1] == "100 nodes, as the log's header says (MaxNodes)"
    assert not any("schedules whole nodes" in line for line in lines)


@pytest.mark.parametrize(
    ("header", "procs_per_node", "nodes", "note"),
    [
        ({"max_nodes": 100, "max_procs": 100}, None, 100, "100 nodes, as the log's header says (MaxNodes)"),
        ({"max_procs": 100}, None, 100, "100 processors, each taken as a node (MaxProcs)"),
        ({"max_nodes": 57, "max_procs": 178}, 4, 57, "57 nodes, as the log's header says (MaxNodes)"),
        ({"max_nodes": 57}, 4, 57, "57 nodes, as the log's header says (MaxNodes)"),
        ({"max_procs": 30}, 4, 8, "8 nodes, as the log's header says (MaxProcs / 4)"),
        # Taken literally, however small the log's jobs are.
        ({"max_procs": 30_000_000}, None, 30_000_000, "30,000,000 processors, each taken as a node (MaxProcs)"),
    ],
)
def test_the_size_of_the_machine_is_what_the_header_says(header, procs_per_node, nodes, note):
    assert header_nodes(header, procs_per_node=procs_per_node, log="a.swf") == (nodes, note)


def test_nodes_of_several_sizes_contradict_only_what_is_far_off(hetsched, folder):
    (folder / "a.swf").write_text(log(["MaxNodes: 57", "MaxProcs: 178"], 8))
    said = hetsched("simulate", "a.swf", "--procs-per-node", 1)
    assert (said.code, "MaxProcs 178 in the log's header, expected 3 or 4, which" in said.err) == (2, True)
    assert "--procs-per-node 3 or 4 schedules whole nodes" in hetsched("simulate", "a.swf").out


def test_a_header_of_nodes_alone_does_not_say_how_many_processors_there_are(hetsched, folder):
    (folder / "a.swf").write_text(log(["MaxNodes: 256"], 8))
    said = hetsched("simulate", "a.swf")
    assert (said.code, "a.swf says MaxNodes 256 only, and its sizes are processors" in said.err) == (2, True)


@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "gzip"])
@pytest.mark.parametrize("verb", [("simulate",), ("compare", "--policies", "fcfs,easy")])
def test_a_log_comes_through_standard_input(hetsched, folder, stdin, verb, pack):
    stdin(pack((folder / "small.swf").read_bytes()))
    piped = hetsched(*verb, "-")
    assert piped.out == hetsched(*verb, "small.swf").out.replace("small.swf", "standard input")
    assert (piped.code, piped.out.startswith("5 jobs read from standard input; ")) == (0, True)


def test_a_process_reads_its_standard_input(process, folder):
    with open(folder / "small.swf", "rb") as file:
        out, _ = process("simulate", "-", "--json", stdin=file).communicate()
    assert json.loads(out)["summary"]["jobs"] == 5


def test_parquet_and_csv_come_through_standard_input(hetsched, stdin):
    jobs = pl.DataFrame({"job_id": [1], "submit_s": [0], "runtime_s": [60], "node_count": [2]})
    file = io.BytesIO()
    jobs.write_parquet(file)
    for content, options in (
        (file.getvalue(), ()),
        (jobs.write_csv().encode(), ("--format", "csv")),
        (jobs.write_csv(separator=";").encode(), ("--separator", ";")),
        (jobs.rename({"node_count": "n"}).write_csv().encode(), ("--columns", "node_count=n")),
    ):
        stdin(content)
        said = hetsched("simulate", "-", "--nodes", 4, *options, "--json")
        assert (said.code, json.loads(said.out)["summary"]["completed"]) == (0, 1)
    stdin(b"1 0 x\n")
    assert hetsched("simulate", "-", "--nodes", 4).err.startswith("error: standard input, line 1, field 3 (wait time)")


def test_columns_and_separator_of_a_sites_own(hetsched, folder):
    (folder / "march.csv").write_text(
        "JobID;Submit;Elapsed;NNodes;Limit\n1;2025-03-03T08:00:00;01:00:00;2;1-00:00:00\n"
    )
    names = "job_id=JobID,submit_s=Submit, runtime_s=Elapsed,node_count=NNodes,walltime_s=Limit"
    said = hetsched("simulate", "march.csv", "--columns", names, "--separator", "semicolon", "--nodes", 4)
    assert said.code == 0
    assert said.out.splitlines()[0] == (
        "1 job read from march.csv; submit_s read from dates (UTC); runtime_s, walltime_s read from spans"
    )
    pl.DataFrame({"id": [1], "submit_s": [0], "runtime_s": [60], "n": [2]}).write_parquet("own.parquet")
    assert hetsched("simulate", "own.parquet", "--columns", "job_id=id,node_count=n", "--nodes", 4).code == 0


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (("--columns", "submt_s=Submit"), "--columns: found `submt_s=Submit`, expected one of hetsched's columns"),
        (("--columns", "Submit=submit_s"), "--columns: found `Submit=submit_s`, expected hetsched's name first"),
        (("--columns", "submit_s"), "--columns: found `submit_s`, expected OURS=THEIRS, such as submit_s=Submit, with"),
        (("--columns", "user=a,queue=a"), "--columns: found `queue=a`, expected each column once"),
        (("--separator", ";;"), "--separator: found `;;`, expected one character, or tab"),
        (("--format", "swf", "--lenient", "--columns", "user=a"), "--columns: found `user=a`, expected nothing:"),
        (("--format", "parquet", "--lenient"), "--lenient: found it, expected nothing: parquet logs have no lines"),
        (("--format", "parquet", "--separator", ";"), "--separator: found `;`, expected nothing: parquet logs have no"),
        (("--columns", "user=Usr"), "own.csv, column `Usr`: found columns User, t, expected a column `Usr` to be read"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_that_way_is_reported(hetsched, folder, options, line):
    (folder / "own.csv").write_text("User,t\nann,1\n")
    said = hetsched("simulate", "own.csv", "--nodes", 4, *options)
    assert (said.code, said.err[: len(line) + 7]) == (2, f"error: {line}")
    assert len(said.err.splitlines()) == 1


def test_bad_lines_are_skipped_if_that_is_asked_for(hetsched, folder):
    (folder / "a.swf").write_text(log(["MaxProcs: 8"], 1, 2, 3, 4, 5) + "6 0\n7 x\n8 0 -1 1h\n9 y\n")
    assert hetsched("simulate", "a.swf").err.startswith(
        "error: a.swf, line 7: found 2 fields in `6 0`, expected 18 fields"
    )
    lines = hetsched("simulate", "a.swf", "--lenient").out.splitlines()
    assert lines[:5] == [
        "5 jobs read from a.swf; lines skipped as bad: 4",
        "skipped: line 7: found 2 fields in `6 0`, expected 18 fields",
        "skipped: line 8, field 2 (submit time): found `x`, expected seconds, at most 1e12",
        "skipped: line 9, field 4 (run time): found `1h`, expected seconds from 0 to 1e12, or -1 for unknown",
        "8 processors, each taken as a node (MaxProcs)",
    ]


# Two nodes; see tests/unit/test_window.py. Second 0 is 2024-05-01.
WINDOWED = "; MaxProcs: 2\n; UnixStartTime: 1714521600\n" + "".join(
    f"{job} {submit} -1 {runtime} {size} -1 -1 {size} -1 -1 1 1 1 1 1 -1 -1 -1\n"
    for job, submit, runtime, size in ((1, 0, 100, 2), (2, 50, 100, 1), (3, 150, 30, 1), (4, 400, 100, 2))
)
WATTS = ("--idle-w", 100, "--tdp-w", 300)


def test_a_run_is_measured_over_a_window_and_says_so(hetsched, folder):
    (folder / "w.swf").write_text(WINDOWED)
    said = hetsched("simulate", "w.swf", *WATTS, "--warm-up-s", 50, "--cool-down-s", 210, "--json")
    summary = json.loads(said.out)["summary"]
    assert (summary["energy_j"], summary["jobs"], summary["mean_wait_s"]) == (72000.0, 2, 25.0)
    note = (
        "measured from 2024-05-01 00:00:50 UTC to 2024-05-01 00:03:10 UTC; "
        "1 job of warm-up and 1 of cool-down run but do not count"
    )
    assert said.err.splitlines()[-1] == note
    out = hetsched("simulate", "w.swf", *WATTS, "--warmup-s", 50, "--cooldown-s", 210).out
    assert note in out
    assert "makespan" not in out
    compared = ("compare", "w.swf", *WATTS, "--policies", "fcfs,easy", "--warmup-s", 50, "--cooldown-s", 210)
    assert note in hetsched(*compared).out
    rows = json.loads(hetsched(*compared, "--json").out)["comparison"]
    assert [row["mean"] for row in rows if row["metric"] == "energy_j"] == [72000.0, 72000.0]
    assert note in hetsched(*compared, "--plot", "pictures/").out


def test_from_and_until_choose_jobs_by_seconds_or_dates(hetsched, folder):
    (folder / "w.swf").write_text(WINDOWED)
    for times in (
        ("--from", 50, "--until", 400),
        ("--from", "2024-05-01T00:00:50", "--until", "2024-05-01 02:06:40+02:00"),
    ):
        said = hetsched("simulate", "w.swf", *WATTS, *times, "--json")
        found = json.loads(said.out)
        assert found["summary"]["jobs"] == 2
        assert found["trace"]["history"][-1] == "between(50, 400)"
        assert "2 of these jobs were submitted within --from and --until" in said.err
    assert json.loads(hetsched("simulate", "w.swf", "--from", 150, "--json").out)["summary"]["jobs"] == 2
    assert json.loads(hetsched("simulate", "w.swf", "--until", 150, "--json").out)["summary"]["jobs"] == 2


def test_dates_choose_from_a_csv_that_has_dates(hetsched, folder):
    days = [f"{day},2024-05-0{day},60,1" for day in range(1, 6)]
    (folder / "may.csv").write_text("\n".join(["job_id,submit_s,runtime_s,node_count", *days, ""]))
    said = hetsched("simulate", "may.csv", "--nodes", 2, "--from", "2024-05-02", "--until", "2024-05-05", "--json")
    assert json.loads(said.out)["summary"]["jobs"] == 3


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (("--from", "May"), "--from: found `May`, expected seconds on the log's clock, or a date such as"),
        (("--warmup-s", "-5"), "--warmup-s: found `-5`, expected a number between 0 and 1e+12"),
        (("--warmup-s", "1h"), "--warmup-s: found `1h`, expected seconds as a plain number"),
        (("--warmup-s", "1", "--until-s", "9"), "--until-s: found `9`, expected nothing with a measuring window"),
        (("--warmup-s", "1", "--bound"), "--bound: found it, expected nothing with a measuring window"),
        (("--cooldown-s", "1040"), "--cooldown-s: found `1040`, expected a part of the 1030 s from the first submit"),
        (("--from", "2000"), "--from: found `2000`, expected a time with jobs: the log's are submitted from 0 s to 1"),
        (("--until", "2024-05-01"), "--until: found `2024-05-01`, expected seconds on the log's clock: small.swf"),
    ],
)  # fmt: skip
def test_a_window_that_cannot_be_is_reported(hetsched, options, line):
    said = hetsched("simulate", "small.swf", *options)
    assert (said.code, said.err.splitlines()[-1][: len(line) + 7]) == (2, f"error: {line}")


def test_only_what_a_window_has_is_compared_over_it(hetsched):
    said = hetsched("compare", "small.swf", "--policies", "fcfs", "--warmup-s", 5, "--metrics", "makespan_s,energy_j")
    assert said.err.startswith("error: --metrics: found `makespan_s`, expected what a window has: jobs, completed")


SLURM = "NodeName=n[1-16]\nPartitionName=1 Nodes=ALL\n"


def test_a_platform_of_slurms_files_is_known_by_its_content(hetsched, folder):
    (folder / "machine").write_text(SLURM.replace("PartitionName=1", "SuspendTime=60\nPartitionName=1"))
    said = hetsched("simulate", "small.swf", "--platform", "machine", "--idle-w", "90", "--json", "--out", "out")
    assert said.code == 0
    assert "warning: machine: left out, as a platform has no place for it: SuspendTime;" in said.err.replace("\n", " ")
    assert "assumed, as these files have no watts: tdp_w=400 a node" in said.err.replace("\n  ", " ").replace("\n", " ")
    given = json.loads(said.out)
    assert given["assumed"] == {"tdp_w": 400.0}
    assert pl.read_parquet(folder / "out" / "nodes.parquet")["node_name"].to_list() == [f"n{k}" for k in range(1, 17)]


def test_a_platform_of_several_files_of_slurms(hetsched, folder):
    nodes, partitions = SLURM.splitlines()
    (folder / "a").write_text(nodes)
    (folder / "b").write_text(partitions)
    watts = ("--idle-w", "90", "--tdp-w", "300")
    said = hetsched("simulate", "small.swf", "--platform", "a,b", *watts)
    assert (said.code, "assumed" in said.err, "left out" in said.err) == (0, False, False)
    (folder / "a").write_text("NodeName=n[1-16\n")
    said = hetsched("simulate", "small.swf", "--platform", "a,b", *watts)
    assert said.code == 2
    assert "a, line 1, NodeName: found a bracket that is not closed in `n[1-16`" in said.err
    assert hetsched("simulate", "small.swf", "--platform", "a,c", *watts).code == 2
