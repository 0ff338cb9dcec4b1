"""Jobs to run, read from tables, TOML and folders of job scripts; each fault at its place."""

import polars as pl
import pytest

from hetsched.errors import ConfigError, TraceError
from hetsched.live.reading import read_commands
from hetsched.tables import CsvText


def written(folder, name, text):
    """A file with a text."""
    path = folder / name
    path.write_text(text)
    return str(path)


def refused(path, **options):
    """The faults of a file."""
    with pytest.raises(ConfigError) as error:
        read_commands(path, **options)
    return str(error.value)


def test_a_table_says_what_to_run(tmp_path):
    text = """\
job_id,submit_s,nodes,walltime_s,command,env,shell
7,1.5,2,60,"echo 'a b' c","A=1 B='x y'",
8,0,1,30,"echo $A | cat",,true
"""
    jobs = read_commands(written(tmp_path, "jobs.csv", text))
    assert jobs.frame.columns == ["job_id", "submit_s", "node_count", "walltime_s"]
    assert jobs.frame["job_id"].to_list() == [8, 7]
    assert jobs.commands[7].argv == ("echo", "a b", "c")
    assert jobs.commands[7].env == {"A": "1", "B": "x y"}
    assert jobs.commands[7].limit_s == 60
    assert jobs.commands[8].argv == ("/bin/sh", "-c", "echo $A | cat")


def test_parquet_holds_lists_of_words(tmp_path):
    frame = pl.DataFrame({"command": [["echo", "a b"], ["true"]], "submit_s": [0, 1], "runtime_s": [99.0, 98.0]})
    frame.write_parquet(tmp_path / "jobs.parquet")
    jobs = read_commands(str(tmp_path / "jobs.parquet"), default_walltime_s=5)
    assert [one.argv for one in jobs.commands.values()] == [("echo", "a b"), ("true",)]
    assert "runtime_s" not in jobs.frame.columns
    assert jobs.frame["walltime_s"].to_list() == [5.0, 5.0]
    assert jobs.commands[1].limit_s == 5


def test_toml_repeats_jobs(tmp_path):
    text = """
[[job]]
command = ["echo", "x"]
repeat = 3
env = { A = "1" }
[[job]]
command = "true"
nodes = 2
submit_s = 4
"""
    jobs = read_commands(written(tmp_path, "jobs.toml", text))
    assert jobs.frame["job_id"].to_list() == [1, 2, 3, 4]
    assert jobs.frame["node_count"].to_list() == [1, 1, 1, 2]
    assert jobs.commands[3].env == {"A": "1"}
    at_once = read_commands(written(tmp_path, "jobs.toml", text), submit_at_once=True)
    assert at_once.frame["submit_s"].to_list() == [0.0] * 4


def test_a_folder_of_job_scripts(tmp_path):
    lines = ["#!/bin/sh", "#HETSCHED --nodes 2 --time 10", "#HETSCHED --submit-s=3.5 --walltime-s 90", "", "echo"]
    written(tmp_path, "b-2.sh", "\n".join([*lines, "#HETSCHED --nodes 9"]))
    slurm = "#!/bin/bash\n#SBATCH -N 3-5 --time=1-00:00:00\n#SBATCH --output=%j.out --mail-type=ALL\n#SBATCH -p big\n"
    written(tmp_path, "b-10.sh", slurm)
    jobs = read_commands(str(tmp_path))
    assert jobs.frame["node_count"].to_list() == [3, 2]
    assert jobs.frame["submit_s"].to_list() == [0.0, 3.5]
    assert jobs.frame["walltime_s"].to_list() == [86400.0, 90.0]
    assert jobs.commands[1].argv == ("/bin/sh", str(tmp_path / "b-2.sh"))
    assert jobs.commands[2].stdout == "{job_id}.out"
    assert jobs.notes == ["options of #SBATCH without a meaning here: --mail-type"]


def test_a_script_of_a_row(tmp_path):
    written(tmp_path, "one.sh", "#!/bin/sh -e\n#HETSCHED --nodes 2 --time 10\n")
    path = written(tmp_path, "jobs.toml", '[[job]]\nscript = "one.sh"\nnode_count = 4\n')
    jobs = read_commands(path)
    assert jobs.commands[1].argv == ("/bin/sh", "-e", str(tmp_path / "one.sh"))
    assert jobs.frame.select("node_count", "walltime_s").row(0) == (4, 600.0)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("command\n/no/such/program\n", "line 2, command: found `/no/such/program`, expected a program; there is no"),
        ("command\nno-such-program x\n", "line 2, command: found `no-such-program`, expected a program; there is none"),
        ("command\n/etc/passwd\n", "line 2, command: found `/etc/passwd`, expected a program; this file is not exec"),
        ('command\n"echo \'a"\n', "line 2, command: found `echo 'a` (No closing quotation), expected words"),
        ("command,submit_s\n,3\n", "line 2, command: found nothing, expected a program with its arguments"),
        ("command,cwd\ntrue,/no/such\n", "line 2, cwd: found `/no/such`, expected a folder"),
        ("command,env\ntrue,A\n", "line 2, env: found `A`, expected words such as K=V"),
    ],
)
def test_rows_that_cannot_be_run_are_named(tmp_path, text, message):
    path = written(tmp_path, "jobs.csv", text)
    assert refused(path).startswith(f"{path}, {message}")


def test_faults_of_all_rows_are_reported_at_once(tmp_path):
    path = written(tmp_path, "jobs.toml", '[[job]]\ncommand = "no-such"\nrepeat = 9\n[[job]]\ncwd = "/no"\n')
    assert refused(path).split("\n") == [
        f"{path}, job[0], command: found `no-such`, expected a program; there is none of this name in PATH",
        f"{path}, job[1], command: found nothing, expected a program with its arguments",
        f"{path}, job[1], cwd: found `/no`, expected a folder",
    ]


def test_jobs_whose_nodes_may_change_are_refused(tmp_path):
    path = written(
        tmp_path, "jobs.csv", "command,nodes,min_nodes,max_nodes,speedup,malleable\ntrue,2,1,2,linear,true\n"
    )
    assert (
        refused(path)
        == f"{path}, line 2, malleable: found `true`, expected false: the nodes of a command do not change"
    )


def test_a_zero_byte_is_refused(tmp_path):
    path = written(tmp_path, "jobs.toml", '[[job]]\ncommand = ["echo", "a\\u0000b"]\n')
    assert "expected words without a zero byte" in refused(path)


def test_values_of_the_job_table_are_held_to_it(tmp_path):
    path = written(tmp_path, "jobs.csv", "command,walltime_s,job_id\ntrue,60,1\ntrue,x,2\n")
    with pytest.raises(TraceError, match="line 3, column `walltime_s`: found `x`"):
        read_commands(path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("echo\n", "line 1: found `echo`, expected a line such as #!/bin/sh"),
        (
            "#!/bin/sh\n#HETSCHED --nods 2\n",
            "line 2: found `--nods`, expected --nodes, --time, or a column of job tables ",
        ),
        ("#!/bin/sh\n#HETSCHED --nodes x\n", "line 2, --nodes: found `x`, expected a number of nodes"),
        ("#!/bin/sh\n#SBATCH --array=1-9%2\n", "line 2, --array: found `1-9%2`, expected one job a script: `repeat`"),
        ("#!/bin/sh\n#SBATCH -a 0-3\n", "line 2, --array: found `0-3`, expected one job a script"),
        ("#!/bin/sh\n#SBATCH --time=soon\n", "line 2, --time: found `soon`, expected minutes, or a time such as"),
        ("#!/bin/sh\n#HETSCHED --time\n", "line 2, --time: found nothing, expected a value"),
    ],
)
def test_lines_of_scripts_that_do_not_read_are_named(tmp_path, text, message):
    path = written(tmp_path, "job.sh", text)
    assert refused(str(tmp_path)).startswith(f"{path}, {message}")


@pytest.mark.parametrize("text", ["job = 3", "", "jobs = []"])
def test_toml_without_jobs_is_refused(tmp_path, text):
    path = written(tmp_path, "jobs.toml", text)
    assert all(line.startswith(f"{path}, job") for line in refused(path).splitlines())


def test_what_is_no_table_of_jobs_is_refused(tmp_path):
    assert refused(str(tmp_path / "jobs.swf")).startswith("WORKLOAD: found ")
    assert refused(str(tmp_path)).startswith("WORKLOAD: found ")


def test_columns_that_are_misspelt(tmp_path):
    text = "[[job]]\ncommand = 'true'\nwalltime = 3\nrepeat = 4\n" * 3
    (line,) = refused(written(tmp_path, "jobs.toml", text)).splitlines()
    assert "jobs.toml, job[0], walltime: found an unknown column, as in 2 more, expected a column of job" in line
    assert line.endswith("did you mean `walltime_s`?")
    found = refused(written(tmp_path, "jobs.csv", "comand,walltime_s\ntrue,3\n"))
    assert found.endswith("found no column command, expected what to run in a column command; did you mean `comand`?")
    found = refused(written(tmp_path, "jobs.csv", "submit_s\n3\n"))
    assert found.endswith("found no column command, expected what to run in a column command")
    jobs = read_commands(written(tmp_path, "jobs.csv", 'command,nodez,"o\no"\ntrue,3,1\n'))
    assert jobs.notes == ["column nodez is not read; did you mean `nodes`?", "column o\\no is not read"]


def test_a_table_is_looked_through_as_often_however_many_rows_it_has(tmp_path, monkeypatch):
    seen = []
    records = CsvText.records
    monkeypatch.setattr(CsvText, "records", lambda *given, **more: seen.append(1) or records(*given, **more))
    (tmp_path / "job.sh").write_text("#!/bin/sh\n#HETSCHED --time 1 --nodes 2\n")
    for rows in (2, 60):
        before = len(seen)
        text = "script,walltime_s,nodes\n" + "job.sh,,\n" * (rows - 1) + "job.sh,5,1\n"
        jobs = read_commands(written(tmp_path, "jobs.csv", text))
        assert jobs.frame["walltime_s"].to_list() == [60.0] * (rows - 1) + [5.0]
        assert jobs.frame["node_count"].to_list() == [2] * (rows - 1) + [1]
        if rows == 2:
            few = len(seen) - before
    assert len(seen) - before == few
    with pytest.raises(ConfigError, match=r"jobs\.csv, line 61, command: found nothing"):
        read_commands(written(tmp_path, "jobs.csv", "command,walltime_s\n" + "true,1\n" * 59 + ",1\n"))


@pytest.mark.parametrize("default_s", [None, 60.0])
def test_a_limit_below_zero_is_no_limit_that_anybody_means(tmp_path, default_s):
    csv = written(tmp_path, "jobs.csv", "command,walltime_s\ntrue,5\ntrue,-5\ntrue,\ntrue,0\n")
    said = refused(csv, default_walltime_s=default_s)
    assert "line 3, walltime_s: found `-5`" in said
    assert "line 5, walltime_s: found `0`" in said
    assert said.count("expected seconds above 0, or nothing") == 2
    toml = written(tmp_path, "jobs.toml", '[[job]]\ncommand = "true"\nwalltime_s = -1\nrepeat = 3\n')
    assert refused(toml).count("job[0], walltime_s: found `-1`") == 1
