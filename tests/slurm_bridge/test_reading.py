"""Readings: recorded tables of a real Slurm 22.05.8, hostile and damaged text, and commands that fail."""

import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hetsched.errors import LiveError
from hetsched.live.processes import look
from hetsched.slurm_bridge import jobs as jobs_module
from hetsched.slurm_bridge import nodes as nodes_module
from hetsched.slurm_bridge.calls import Answer, CallError, Slurm
from hetsched.slurm_bridge.jobs import (
    COLUMNS,
    MOST_ASKED,
    MOST_ELEMENTS,
    JobTables,
    elements_of,
    jobs_of,
    limit_of,
    read_accounted_ends,
    read_ends,
)
from hetsched.slurm_bridge.nodes import nodes_of
from hetsched.slurm_bridge.readings import Reader
from hetsched.slurm_bridge.standing import JobKey, Site, Standing, standing_of
from hetsched.slurm_bridge.tables import SEPARATOR, Column, TableError, format_of, rows_of

DATA = Path(__file__).parents[1] / "data" / "slurm_bridge"
QUEUE = (DATA / "queue.squeue").read_text()
NODES = (DATA / "queue.sinfo").read_text()


def table(**values):
    """A row of squeue's table as Slurm would print it."""
    own = {
        "JobID": "7",
        "ArrayJobID": "7",
        "ArrayTaskID": "N/A",
        "SubmitTime": "1795724217",
        "UserID": "0",
        "State": "PENDING",
        "Reason": "None",
        "Partition": "batch",
        "NumNodes": "1",
        "TimeLimit": "5:00",
        "EligibleTime": "1795724217",
        "StartTime": "N/A",
        "RestartCnt": "0",
        "PriorityLong": "10",
        "HetJobID": "N/A",
        "Feature": "(null)",
        "Licenses": "(null)",
        "ReqNodes": "",
        "NodeList": "",
    }
    return "".join(f"{(own | values)[c.name]:>{c.width}}"[: c.width] + SEPARATOR for c in COLUMNS) + "\n"


def test_the_recorded_queue_reads():
    found = {job.key.id: job for job in jobs_of(QUEUE)}
    assert list(found) == ["13", "14", "15", "16_1", "16_2", "17_1", "17_2", "17_3", "17_4", "18"]
    assert found["13"].nodes == ("n1", "n2")
    assert found["13"].state == "RUNNING"
    assert found["14"].asks_for("hetsched")
    assert found["14"].limit_s == 86_700
    assert found["14"].node_count == 3
    # A user gave 15 a name with a line end, a separator and a bar in it.
    assert (found["15"].reason, found["15"].limit_s) == ("JobHeldUser", None)
    assert found["16_1"].reason == "Dependency"
    assert [found[name].eligible_s is None for name in ("13", "14", "15", "16_1")] == [False, False, True, True]
    assert (found["14"].constraint, found["18"].constraint) == (None, "cpu")
    assert found["17_1"].key == JobKey(1795725200, "17_1", 0)
    assert not any(found[name].asks_for("hetsched") for name in found if name != "14")


def test_the_recorded_nodes_read():
    found = nodes_of(NODES)
    assert [(node.name, node.state, node.serves) for node in found] == [
        ("n1", "allocated", True),
        ("n2", "allocated", True),
        ("n3", "allocated", True),
        ("n4", "idle+drain", False),
    ]
    assert found[3].features == ("n4", "cpu")


def test_states_of_nodes():
    serving = (
        "idle",
        "mixed",
        "allocated",
        "completing",
        "idle+powered_down",
        "idle+cloud+powering_up",
        "idle+planned",
    )
    others = (
        "down",
        "idle+drain",
        "down+not_responding",
        "idle+not_responding",
        "idle+maintenance",
        "unknown",
        "",
        "+",
    )
    for state in (*serving, *others):
        assert nodes_module.SeenNode("n", state, ()).serves == (state in serving), state


def test_no_column_holds_what_users_write():
    for hostile in (
        "Name",
        "Comment",
        "Account",
        "UserName",
        "WorkDir",
        "Command",
        "WCKey",
        "AdminComment",
        "MCSLabel",
    ):
        assert all(column.name.lower() != hostile.lower() for column in COLUMNS)


@pytest.mark.parametrize(
    ("values", "found"),
    [
        ({"JobID": "7;rm"}, "the job id `7;rm`"),
        ({"JobID": "-7"}, "the job id `-7`"),
        ({"ArrayTaskID": "1-x"}, "job 7, ArrayTaskID: found `1-x`, expected numbers such as 1-9,12"),
        ({"ArrayTaskID": "%2"}, "ArrayTaskID"),
        ({"ArrayTaskID": "1,,2"}, "ArrayTaskID"),
        ({"SubmitTime": "Unknown"}, "found `Unknown`, expected a whole number"),
        ({"NumNodes": "many"}, "NumNodes: found `many`"),
        ({"NodeList": "n[3-1]"}, "the smaller number first"),
        ({"NodeList": "n[1-2"}, "a bracket that is not closed"),
        ({"NodeList": "n" * 2000}, "may have been cut off"),
        ({"RestartCnt": "\x1b[2J"}, "found `\\x1b[2J`, expected a whole number"),
        ({"State": "X" * 20}, "may have been cut off"),
    ],
)
def test_what_does_not_read_is_refused_as_a_whole(values, found):
    with pytest.raises(TableError) as caught:
        jobs_of(table() + table(**({"JobID": "8"} | values)))
    assert found in str(caught.value)


def test_a_job_twice_is_refused():
    with pytest.raises(TableError, match="found job 7 twice"):
        jobs_of(table() + table())


_ROWS = st.lists(
    st.tuples(st.integers(1, 6), st.sampled_from(["PENDING", "RUNNING"]), st.sampled_from(["", "hetsched:1"])),
    unique_by=lambda row: row[0],
)


@given(st.lists(_ROWS, max_size=5))
def test_tables_read_one_after_another_are_what_each_is_alone(readings):
    tables = JobTables()
    for rows in readings:
        text = "".join(table(JobID=str(job), State=state, Licenses=licences) for job, state, licences in rows)
        assert tables.read(text) == jobs_of(text)
    if readings and readings[-1]:
        with pytest.raises(TableError, match="twice"):
            tables.read(text + text[: len(table())])


@pytest.mark.parametrize("name", ["Partition", "Feature", "Licenses"])
def test_what_a_user_makes_too_long_spoils_no_reading_but_leaves_his_job_alone(name):
    long = ("hetsched:1," * 50)[:256] if name == "Licenses" else "batch," * 50
    found = jobs_of(table(Licenses="hetsched:1") + table(JobID="8", **({"Licenses": "hetsched:1"} | {name: long})))
    site = Site("batch", needs_gate=True)
    assert standing_of(found[0], site) is Standing.GATED
    assert (standing_of(found[1], site) is Standing.FOREIGN) == (name != "Feature")
    if name == "Feature":
        assert found[1].constraint is not None


def test_a_torn_table_is_refused():
    for cut in (1, 5, 400, len(table()) + 3):
        with pytest.raises(TableError):
            jobs_of((table() + table(JobID="8"))[:-cut])


def test_counts_and_limits():
    assert [
        limit_of(text) for text in ("1-00:05:00", "5:00", "1:00:00", "UNLIMITED", "Partition_Limit", "", "x:00")
    ] == [
        86_700,
        300,
        3600,
        None,
        None,
        None,
        None,
    ]
    assert jobs_of(table(NumNodes="2-4"))[0].node_count == 2


@given(st.lists(st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=5).map(str.strip), min_size=3))
def test_rows_are_what_was_written(values):
    columns = [Column(f"C{number}", 6) for number in range(len(values))]
    line = "".join(f"{value:>6}{SEPARATOR}" for value in values)
    assert list(rows_of(f"{line}\n", columns, "x")) == [tuple(values)]
    assert format_of(columns).count(SEPARATOR) == len(values)


@given(st.sets(st.integers(0, 400)), st.none() | st.integers(1, 30), st.booleans())
def test_of_an_array_as_many_elements_count_as_may_start(elements, most, is_cut):
    ranges, ordered = [], sorted(elements or {0})
    for one in ordered:
        if ranges and one == ranges[-1][1] + 1:
            ranges[-1][1] = one
        else:
            ranges.append([one, one])
    text = ",".join(f"{first}-{last}" if last > first else f"{first}" for first, last in ranges)
    shown = f"{text}{',...' if is_cut else ''}{'' if most is None else f'%{most}'}"
    assert elements_of(shown, "") == ordered[: min(most or MOST_ELEMENTS, MOST_ELEMENTS)]


def test_a_large_array_is_one_row_and_its_first_elements():
    jobs = jobs_of(table(ArrayTaskID="0-4000000000") + table(JobID="8", ArrayTaskID="4000000001", State="RUNNING"))
    assert [job.key.id for job in jobs] == [*(f"7_{one}" for one in range(MOST_ELEMENTS)), "7_4000000001"]
    assert [job.state for job in jobs[-2:]] == ["PENDING", "RUNNING"]


@given(st.text(max_size=300))
def test_rubbish_is_refused_or_empty(text):
    try:
        assert jobs_of(text) == []
    except LiveError:
        return
    assert text.strip("\n") == ""


def test_a_command_gets_its_words_as_they_are(commands):
    commands("squeue", "print(sys.argv[1:], os.environ['LC_ALL'], 'SQUEUE_FORMAT' in os.environ, sys.stdin.read())")
    answer = Slurm().call("squeue", "-j", "$(touch /tmp/x); *", text="more")
    assert answer.out == "['-j', '$(touch /tmp/x); *'] C False more\n"


def test_formats_of_the_environment_do_not_count(commands, monkeypatch):
    monkeypatch.setenv("SQUEUE_FORMAT2", "name")
    commands("squeue", "print([name for name in os.environ if name.startswith('SQUEUE')])")
    assert Slurm().call("squeue").out == "[]\n"


def test_an_absent_command_is_named(commands):
    with pytest.raises(CallError, match="squeue: no such command in PATH"):
        Slurm().call("squeue")


def test_a_slow_command_is_ended_with_all_it_started(commands, tmp_path):
    script = "p = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
    commands("squeue", f"{script}open({str(tmp_path / 'pid')!r}, 'w').write(str(p.pid))\ntime.sleep(600)")
    # On a busy machine it takes longer to start another process.
    for limit_s in (1, 4, 16, 64):
        with pytest.raises(CallError, match=f"did not answer within {limit_s} s"):
            Slurm(limit_s=float(limit_s)).call("squeue")
        if (tmp_path / "pid").exists() and (tmp_path / "pid").read_text():
            break
    pid = int((tmp_path / "pid").read_text())
    end = time.monotonic() + 120
    while (seen := look(pid)) is not None and not seen.is_dead:
        assert time.monotonic() < end, "what it has started lives"
        time.sleep(0.02)


@pytest.mark.parametrize(
    ("script", "found"),
    [
        ("sys.exit('slurm_load_jobs error: Unable to contact slurm controller')", "Unable to contact"),
        ("os.kill(os.getpid(), signal.SIGKILL)", "exit code -9"),
        ("print('rubbish')", "expected 19 columns"),
        ("sys.stdout.buffer.write(bytes(range(256)))", "whose last line has no end"),
        ("print(end='x')", "whose last line has no end"),
    ],
)
def test_a_failing_command_is_no_reading(commands, script, found):
    commands("squeue", script)
    commands("sinfo", "")
    with pytest.raises(LiveError) as caught:
        Reader(Slurm(), "batch").read()
    assert found in str(caught.value)


def test_a_reading_by_commands(commands):
    commands("squeue", f"assert sys.argv[1:] == {list(jobs_module.WORDS[1:])!r}\nsys.stdout.write({QUEUE!r})")
    commands("sinfo", f"sys.stdout.write({NODES!r})")
    reading = Reader(Slurm(), "batch").read()
    assert (len(reading.jobs), len(reading.nodes)) == (10, 4)


def test_ends_of_jobs(commands):
    values = ("9", "5", "2", "TIMEOUT")
    row = "".join(f"{value:>{c.width}}{SEPARATOR}" for value, c in zip(values, jobs_module._ENDS, strict=True))
    commands("squeue", f"assert sys.argv[sys.argv.index('-j') + 1] == '5_2,9', sys.argv\nprint({row!r})")
    keys = [JobKey(1, "5_2", 0), JobKey(1, "9", 0)]
    assert Reader(Slurm(), "batch").ends(keys) == {"5_2": "TIMEOUT"}
    commands("squeue", "sys.exit('slurm_load_jobs error: Invalid job id specified')")
    assert Reader(Slurm(), "batch").ends(keys) == {}
    assert Reader(Slurm(), "batch").ends([]) == {}


def test_accounting_knows_what_squeue_has_forgotten(commands):
    commands("squeue", "sys.exit('slurm_load_jobs error: Invalid job id specified')")
    commands("sacct", "print('5_2|TIMEOUT\\n9|CANCELLED by 0')")
    keys = [JobKey(1, "5_2", 0), JobKey(1, "9", 0), JobKey(1, "10", 0)]
    assert Reader(Slurm(), "batch").ends(keys) == {}
    assert Reader(Slurm(), "batch", has_accounting=True).ends(keys) == {"5_2": "TIMEOUT", "9": "CANCELLED"}
    commands("sacct", "print('9|COMPLETED|x')")
    with pytest.raises(TableError, match="sacct, line 1"):
        Reader(Slurm(), "batch", has_accounting=True).ends(keys)
    commands("sacct", "sys.exit('sacct: error: slurm_persist_conn_open')")
    assert Reader(Slurm(), "batch", has_accounting=True).ends(keys) == {}


def test_the_ends_of_many_jobs_are_asked_for_in_several_calls():
    keys = [JobKey(0, str(number), 0) for number in range(1, 2 * MOST_ASKED + 7)]
    asked = []

    class Counting:
        def call(self, *words):
            ids = words[words.index("-j") + 1].split(",")
            asked.append(len(ids))
            if words[0] == "sacct":
                return Answer(words, 0, "".join(f"{one}|TIMEOUT\n" for one in ids), "", 0.0)
            rows = "".join(
                SEPARATOR.join(
                    text.ljust(width) for text, width in ((one, 12), ("N/A", 12), ("N/A", 12), ("COMPLETED", 20))
                )
                + SEPARATOR
                + "\n"
                for one in ids
            )
            return Answer(words, 0, rows, "", 0.0)

    assert read_ends(Counting(), keys) == {key.id: "COMPLETED" for key in keys}
    assert read_accounted_ends(Counting(), keys) == {key.id: "TIMEOUT" for key in keys}
    assert asked == 2 * [MOST_ASKED, MOST_ASKED, 6]
    assert read_ends(Counting(), []) == {}
