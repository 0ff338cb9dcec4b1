"""Options of the readers of logs, on verbs that take a log."""

import gzip
import json

import pytest

DUMP = """\
JobID|JobName|Account|State|Submit|Start|End|Elapsed|Timelimit|NNodes|AllocCPUS|NodeList
7|cfd|phys|COMPLETED|2024-05-01T12:00:00|2024-05-01T12:00:10|2024-05-01T12:01:10|00:01:00|00:10:00|2|6|n[2,10]
8|md|chem|COMPLETED|2024-05-01T12:05:00|2024-05-01T12:05:10|2024-05-01T12:06:10|00:01:00|00:10:00|1|2|n2
9|md|chem|CANCELLED by 5|2024-05-01T12:06:00|None|2024-05-01T12:06:10|00:00:00|00:10:00|1|0|None assigned
"""
RECORDS = (
    "05/01/2024 12:01:10;E;7.srv;user=ann queue=work ctime=60 start=70 end=130 exec_host=n2/0*4+n10/0*4 Exit_status=0\n"
)
MACHINE = "NodeName=n[1-16] CPUs=8\nPartitionName=p Nodes=ALL MaxTime=UNLIMITED Default=YES SuspendTime=9\n"
NAMES = "JobID,Account,State%20,Submit,Elapsed,NNodes"


@pytest.fixture
def logs(folder):
    """The folder, with a dump of sacct, its machine, a log of PBS and a table."""
    (folder / "may.sacct").write_text(DUMP)
    (folder / "may.pbs").write_text(RECORDS)
    (folder / "machine").write_text(MACHINE)
    (folder / "own.csv").write_text("job_id,submit_s,runtime_s,node_count\n1,0,60,2\n")
    (folder / "bare.txt").write_text("7|phys|COMPLETED|2024-05-01T12:00:00|00:01:00|2\n")
    (folder / "wide.txt").write_text(DUMP.replace("|", "@@"))
    (folder / "plain.parquet").write_bytes(b"PAR1")
    return folder


def jobs_of(hetsched, log, *options):
    """Columns that a run of the log's jobs keeps."""
    said = hetsched("simulate", log, "--nodes", 16, "--idle-w", 1, "--tdp-w", 2, *options, "--json")
    assert said.code == 0, said.err
    return json.loads(said.out), said.err


def test_a_dump_is_read_with_all_options_of_its_reader(hetsched, logs):
    options = (
        "--time-zone",
        "+02:00",
        "--nodes-from",
        "machine",
        "--shared",
        "--app",
        "Account",
        "--cancelled",
        "drop",
    )
    found, said = jobs_of(hetsched, "may.sacct", *options)
    assert found["trace"]["history"][0] == (
        "read may.sacct with time_zone=+02:00, nodes=16 names, shared=True, app=Account, cancelled=drop"
    )
    assert "1 cancelled before they started dropped" in said
    assert "SuspendTime" not in said, "a machine that only numbers nodes is not warned about"


@pytest.mark.parametrize("verb", [("simulate",), ("compare", "--policies", "fcfs"), ("validate",), ("inspect",)])
def test_every_verb_that_takes_a_log_has_them(hetsched, logs, verb):
    nodes = () if verb == ("inspect",) else ("--nodes", 16)
    said = hetsched(verb[0], "may.sacct", *verb[1:], *nodes, "--time-zone", "Europe/Berlin", "--app", "none", "--json")
    assert said.code in (0, 2)
    assert "unknown option" not in said.err
    assert said.code == 0 or "job" in said.err


def test_applications_may_be_none(hetsched, logs):
    found, _ = jobs_of(hetsched, "may.sacct", "--app", "none")
    assert "app=None" in found["trace"]["history"][0]


def test_a_dump_without_header_is_known_by_the_names_of_its_columns(hetsched, logs):
    found, _ = jobs_of(hetsched, "bare.txt", "--columns", NAMES)
    assert found["summary"]["completed"] == 1
    assert jobs_of(hetsched, "wide.txt", "--delimiter", "@@", "--format", "sacct")[0]["summary"]["jobs"] == 3


def test_a_log_of_pbs_has_a_zone_and_nodes(hetsched, logs):
    found, _ = jobs_of(hetsched, "may.pbs", "--time-zone", "Europe/Berlin", "--nodes-from", "machine", "--shared")
    assert "time_zone=Europe/Berlin, nodes=16 names, shared=True" in found["trace"]["history"][0]


def test_nodes_that_the_machine_does_not_have_are_faults_of_the_log(hetsched, logs):
    (logs / "machine").write_text(MACHINE.replace("1-16", "1-8"))
    said = hetsched("inspect", "may.sacct", "--nodes-from", "machine")
    assert (said.code, len(said.err.splitlines())) == (2, 1)
    assert "may.sacct, line 2, column `NodeList`: found `n10`, expected a node of those" in said.err


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (("own.csv", "--delimiter", ";"), "--delimiter: found `;`, expected --separator, which has the character"),
        (("own.csv", "--time-zone", "UTC"), "--time-zone: found `UTC`, expected nothing: dates in csv logs are UTC"),
        (("own.csv", "--app", "a"), "--app: found `a`, expected --columns app=NAME, which says the column of"),
        (("own.csv", "--shared"), "--shared: found it, expected --columns slots=NAME, which says the column of"),
        (("own.csv", "--columns", "JobID,Submit"), "own.csv: found columns JobID, Submit, expected also `Elapsed`"),
        (("own.csv", "--columns", "a,b"), "--columns: found `a,b`, expected OURS=THEIRS, such as submit_s=Submit"),
        (("own.csv", "--columns", " "), "--columns: found ` `, expected OURS=THEIRS, such as submit_s=Submit"),
        (("may.sacct", "--separator", ";"), "--separator: found `;`, expected --delimiter, which has the text"),
        (("may.sacct", "--columns", "user=User"), "--columns: found `user=User`, expected names of columns as sacct"),
        (("may.sacct", "--time-zone", "Europ"), "--time-zone: found `Europ`, expected the name of a time zone"),
        (("may.sacct", "--app", "Akount"), "may.sacct, line 1: found columns JobID, JobName, Account, State, Submit,"),
        (("may.sacct", "--cancelled", "kep"), "--cancelled: found `kep`, expected one of keep, drop; did you mean"),
        (("may.sacct", "--nodes-from", "none"), "--nodes-from: found no such file as `none`, expected slurm.conf, or"),
        (("may.sacct", "--nodes-from", "own.csv"), "--nodes-from: found `own.csv`, no file of Slurm's, expected"),
        (("may.sacct", "--delimiter", ""), "--delimiter: found ``, expected the text between fields, such as `|`"),
        (("may.pbs", "--app", "x"), "--app: found `x`, expected nothing: jobs of pbs logs have one name, which"),
        (("may.pbs", "--columns", "user=a"), "--columns: found `user=a`, expected nothing: fields of pbs logs are"),
        (("small.swf", "--time-zone", "UTC"), "--time-zone: found `UTC`, expected nothing: only logs of sacct and PBS"),
        (("small.swf", "--nodes-from", "machine"), "--nodes-from: found it, expected nothing: only logs of sacct and"),
        (("small.swf", "--shared"), "--shared: found it, expected nothing: only logs of sacct and PBS count"),
        (("small.swf", "--cancelled", "drop"), "--cancelled: found `drop`, expected nothing: only logs of sacct and"),
        (("plain.parquet", "--delimiter", "|"), "--delimiter: found `|`, expected nothing: parquet logs have no"),
    ],
)  # fmt: skip
def test_an_option_of_another_format_is_refused_in_a_sentence(hetsched, logs, options, line):
    said = hetsched("inspect", *options)
    assert (said.code, said.err[: len(line) + 7]) == (2, f"error: {line}")
    assert len(said.err.splitlines()) == 1


def test_packed_dumps_are_known_by_content(hetsched, logs):
    (logs / "may.txt.gz").write_bytes(gzip.compress(DUMP.encode()))
    assert jobs_of(hetsched, "may.txt.gz", "--time-zone", "-05:00")[0]["summary"]["jobs"] == 3
