"""The command as a process: Ctrl-C, pipes that close, disks that are full, a terminal."""

import fcntl
import os
import pty
import re
import resource
import signal
import struct
import termios
import time
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from messages import without_warnings

import hetsched as hs
from hetsched.cli import app
from hetsched.many import progress

# A second is promised. A run that is not stopped ends by itself with another exit code, however busy the machine.
STOPPED_WITHIN_S = 300.0


def at_length_only(*values):
    """A case that is much like another one, and takes a process of a second."""
    return pytest.param(*values, marks=pytest.mark.at_length_only)


def hopeless_log(folder):
    """Twice as much work as the machine can do: conservative backfilling plans a deep queue again at every end."""
    rng = np.random.default_rng(0)
    count = 40_000
    runtime_s = rng.integers(10, 20_000, count)
    jobs = {
        "job_id": np.arange(count),
        "submit_s": np.arange(count) * 10,
        "runtime_s": runtime_s,
        "walltime_s": 2 * runtime_s,
        "node_count": rng.integers(1, 60, count),
    }
    pl.DataFrame(jobs).write_parquet(folder / "hopeless.parquet")
    return "hopeless.parquet"


def used_s(pid):
    """Seconds of a core that a process has used."""
    words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, words[11:13])) / os.sysconf("SC_CLK_TCK")


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="reads /proc")
@pytest.mark.parametrize("verb", [["simulate", "--policy"], ["compare", "--policies"]])
def test_ctrl_c_stops_a_run_and_leaves_nothing(process, folder, verb):
    log = hopeless_log(folder)
    run = process(verb[0], log, verb[1], "conservative", "--nodes", 600, "--out", "out", bufsize=1)
    assert run.stdout.readline().startswith("40,000 jobs read")
    before = used_s(run.pid)
    while used_s(run.pid) < before + 0.5:
        time.sleep(0.02)
    run.send_signal(signal.SIGINT)
    _, err = run.communicate(timeout=STOPPED_WITHIN_S)
    assert run.returncode == 130
    assert without_warnings(err) == ["interrupted"]
    assert [path for path in folder.rglob("*") if path.is_file() and path.name not in (log, "small.swf")] == []


INTERRUPTS_ITSELF = """
import os, signal, sys

def hook(event, arguments):
    if event == "import" and arguments[0] == os.environ["INTERRUPTED_AT"]:
        os.environ["INTERRUPTED_AT"] = ""
        os.kill(os.getpid(), signal.SIGINT)

sys.addaudithook(hook)
"""


@pytest.mark.parametrize(
    "module",
    [
        "hetsched.cli.app",
        at_length_only("typer"),
        at_length_only("hetsched.cli.inputs"),
        at_length_only("polars"),
        "hetsched.workload",
    ],
)
def test_ctrl_c_while_parts_are_loaded_is_as_any_other(process, folder, monkeypatch, module):
    (folder / "early").mkdir()
    (folder / "early" / "sitecustomize.py").write_text(INTERRUPTS_ITSELF)
    monkeypatch.setenv("INTERRUPTED_AT", module)
    run = process("simulate", "small.swf", "--out", "out", first_path=folder / "early")
    assert run.communicate(timeout=60) == ("", "interrupted\n")
    assert run.returncode == 130
    assert not (folder / "out").exists()


def test_ctrl_c_while_the_commands_are_made_is_as_any_other(hetsched, monkeypatch):
    def interrupted():
        raise KeyboardInterrupt

    monkeypatch.setattr(app, "_app", interrupted)
    said = hetsched("simulate", "small.swf")
    assert (said.code, said.out, said.err) == (130, "", "interrupted")


TELLS_THAT_IT_HAS_BEGUN = """
import sys
from pathlib import Path

def hook(event, arguments):
    if event == "import" and arguments[0] == "hetsched.cli.app":
        Path("begun").touch()

sys.addaudithook(hook)
"""


@pytest.mark.parametrize("delay_s", [0.0, at_length_only(0.05), 0.15, at_length_only(0.3), at_length_only(0.55)])
def test_ctrl_c_at_any_moment_says_interrupted(process, folder, delay_s):
    log = hopeless_log(folder)
    (folder / "early").mkdir()
    (folder / "early" / "sitecustomize.py").write_text(TELLS_THAT_IT_HAS_BEGUN)
    run = process("simulate", log, "--policy", "conservative", "--nodes", 600, first_path=folder / "early")
    while not (folder / "begun").exists():
        time.sleep(0.005)
    time.sleep(delay_s)
    run.send_signal(signal.SIGINT)
    _, err = run.communicate(timeout=STOPPED_WITHIN_S)
    assert (run.returncode, without_warnings(err)) == (130, ["interrupted"])


CTRL_C_IN_A_DESTRUCTOR = """
import signal
import sys

class Lost:
    def __del__(self):
        signal.raise_signal(signal.SIGINT)

def hook(event, arguments):
    if event == "import" and arguments[0] == "hetsched.cli.run_options":
        Lost()

sys.addaudithook(hook)
"""


def test_ctrl_c_that_python_drops_comes_again(process, folder):
    (folder / "early").mkdir()
    (folder / "early" / "sitecustomize.py").write_text(CTRL_C_IN_A_DESTRUCTOR)
    log = hopeless_log(folder)
    run = process("simulate", log, "--policy", "conservative", "--nodes", 600, first_path=folder / "early")
    _, err = run.communicate(timeout=STOPPED_WITHIN_S)
    assert (run.returncode, without_warnings(err)) == (130, ["interrupted"])


RUN = ["simulate", "small.swf", "--out", "out"]


@pytest.mark.parametrize(
    ("arguments", "closed"),
    [
        at_length_only(RUN, ">&-"),
        (RUN, "2>&-"),
        at_length_only(RUN, ">&- 2>&-"),
        (RUN, "<&- >&- 2>&-"),
        at_length_only(["policies", "--json"], ">&- 2>&-"),
        (["--version"], "<&- >&- 2>&-"),
    ],
)
def test_streams_that_were_closed_before_it_began_take_all_and_keep_nothing(process, folder, arguments, closed):
    run = process(*arguments, redirection=closed)
    out, err = run.communicate(timeout=60)
    assert run.returncode == 0
    assert without_warnings(err) == []
    assert (out == "") == (closed != "2>&-")
    if "out" in arguments:
        assert hs.read_result("out").summary()["completed"] == 3


def test_an_error_without_a_stream_has_its_exit_code(process):
    run = process("simulate", "none.swf", redirection=">&- 2>&-")
    assert run.communicate(timeout=60) == ("", "")
    assert run.returncode == 2


def test_a_reader_that_has_seen_enough_does_not_disturb_the_run(process, folder):
    read_end, write_end = os.pipe()
    run = process("simulate", "small.swf", "--out", "out", stdout=write_end)
    os.close(write_end)
    os.close(read_end)
    _, err = run.communicate(timeout=60)
    assert (run.returncode, without_warnings(err)) == (0, [])
    assert (folder / "out" / "summary.json").exists()


@pytest.mark.parametrize("arguments", [["policies", "--json"], ["--version"], at_length_only(["policies"])])
def test_a_closed_pipe_says_nothing(process, arguments):
    read_end, write_end = os.pipe()
    os.close(read_end)
    run = process(*arguments, stdout=write_end)
    os.close(write_end)
    assert run.communicate(timeout=60)[1] == ""


@pytest.mark.parametrize(
    "arguments", [["simulate", "small.swf"], at_length_only(["policies", "--json"]), ["--version"]]
)
def test_standard_output_that_is_full_is_an_error(process, arguments):
    with open("/dev/full", "w") as full:
        run = process(*arguments, stdout=full)
        _, err = run.communicate(timeout=60)
    assert err == "error: standard output: No space left on device\n"
    assert run.returncode == 1


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_json_that_a_disk_cuts_is_an_error_however_python_buffers(process, folder, monkeypatch, unbuffered):
    monkeypatch.setenv("PYTHONUNBUFFERED", unbuffered)
    limit = 12_288

    def small_files():
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    with open(folder / "cut.json", "wb") as cut:
        run = process("policies", "--json", stdout=cut, preexec_fn=small_files)
        _, err = run.communicate(timeout=60)
    assert (folder / "cut.json").stat().st_size <= limit
    assert err == "error: standard output: File too large\n"
    assert run.returncode == 1


def test_a_width_of_zero_is_one_that_is_not_known(hetsched, monkeypatch):
    monkeypatch.setenv("COLUMNS", "0")
    said = hetsched("policies").out
    monkeypatch.setenv("COLUMNS", "80")
    assert said == hetsched("policies").out != ""


def test_names_give_a_terminal_no_orders(hetsched, folder):
    odd = folder / "a\x1b[31mb\x9b31mc.swf"
    odd.write_bytes((folder / "small.swf").read_bytes())
    said = hetsched("simulate", odd.name)
    assert "a [31mb 31mc.swf" in said.out
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", said.out + said.err)


def on_a_terminal(process, *arguments, columns=80, **options):
    """Output of the command on a terminal, and its exit code."""
    controller, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    run = process(*arguments, stdout=terminal, stderr=terminal, **options)
    os.close(terminal)
    shown = b""
    while True:
        try:
            part = os.read(controller, 65536)
        except OSError:
            break
        if not part:
            break
        shown += part
    os.close(controller)
    return run.wait(timeout=60), shown.decode()


def test_a_terminal_gets_colour_and_no_line_too_long_for_it(process, monkeypatch):
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("COLUMNS", raising=False)
    code, shown = on_a_terminal(process, "simulate", "small.swf")
    assert code == 0
    assert "\x1b[1m" in shown
    plain = pl.Series([shown]).str.replace_all(r"\x1b\[[0-9;?]*[a-zA-Z]", "").item()
    assert max(len(line) for line in plain.splitlines()) <= 80
    assert "killed at their walltime" in plain


def test_a_warning_is_wrapped_on_a_terminal_only(process, hetsched, folder, monkeypatch):
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("COLUMNS", raising=False)
    jobs = {"job_id": [1], "submit_s": [0], "runtime_s": [60], "node_count": [1], "power_w": [5000.0]}
    pl.DataFrame(jobs).write_parquet("own.parquet")
    arguments = ("simulate", "own.parquet", "--nodes", 4, "--idle-w", 100, "--tdp-w", 400)
    warning = (
        "warning: measured draws (power_w) above twice the nodes' TDP of 400 W: 1 of 1 job, up to 5,000 W a node; "
        "a job's power_w is the watts of one node, not of all"
    )
    code, shown = on_a_terminal(process, *arguments, columns=60)
    lines = [line.rstrip() for line in re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", shown).splitlines()]
    assert code == 0
    assert max(map(len, lines)) <= 60
    assert warning in " ".join(lines)
    said = hetsched(*arguments)
    assert (said.err, warning in said.out) == (warning, False)


@pytest.mark.parametrize(("patience_s", "is_shown"), [(0.0, True), (3600.0, False)])
def test_a_run_beyond_a_second_shows_progress_on_a_terminal(process, folder, monkeypatch, patience_s, is_shown):
    assert progress._PATIENCE_S == 1.0
    (folder / "early").mkdir()
    text = f"from hetsched.many import progress\nprogress._PATIENCE_S = {patience_s}\n"
    (folder / "early" / "sitecustomize.py").write_text(text)
    monkeypatch.setenv("TERM", "xterm-256color")
    arguments = ("simulate", hopeless_log(folder), "--policy", "conservative", "--nodes", 600, "--until-s", 90_000)
    code, shown = on_a_terminal(process, *arguments, first_path=folder / "early")
    assert code == 0
    assert ("jobs/s" in shown) == is_shown
    if is_shown:
        assert re.search(r"jobs/s +(\x1b\[[0-9;]*m)*(\d+:)?\d\d:\d\d", shown), "and the time that is left"


def test_a_pipe_shows_no_progress(hetsched, folder, monkeypatch):
    monkeypatch.setattr(progress, "_PATIENCE_S", 0.0)
    arguments = ("simulate", hopeless_log(folder), "--policy", "conservative", "--nodes", 600, "--until-s", 90_000)
    said = hetsched(*arguments)
    assert (said.code, "jobs/s" in said.out + said.err) == (0, False)


def test_the_version_is_the_librarys(process):
    first, second = process("--version").communicate(timeout=60)[0].splitlines()
    assert first == f"hetsched {hs.__version__}"
    assert re.fullmatch(
        r"(commit [0-9a-f]{12}|built from a working copy), CPython 3\.\d+\.\S+, with(out)? [a-z ]+", second
    )


def test_of_all_verbs_the_one_that_is_called_is_imported(process, monkeypatch, folder):
    (folder / "early").mkdir()
    tells = "import atexit, sys; atexit.register(lambda: print(*sorted(sys.modules), file=sys.stderr))"
    (folder / "early" / "sitecustomize.py").write_text(tells)
    modules = {verb: f"hetsched.cli.{verb}" for verb in app.VERBS}
    modules.update(
        {f"{word} {verb}": f"hetsched.cli.{word}_{verb}" for word, (_, all_) in app.FAMILIES.items() for verb in all_}
    )
    for called in ("--version", "demo", "power predict"):
        run = process(*called.split(), "--help" if called in modules else "--version", first_path=folder / "early")
        imported = run.communicate(timeout=60)[1].split()
        assert [verb for verb, module in modules.items() if module in imported] == [called] * (called in modules)


def test_the_shell_is_offered_policies(process, monkeypatch):
    monkeypatch.setenv("_HETSCHED_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", "hetsched compare a.swf --policies fcfs,s")
    monkeypatch.setenv("COMP_CWORD", "4")
    assert process().communicate(timeout=60)[0].split() == ["fcfs,sjf", "fcfs,sequence", "fcfs,swa", "fcfs,slurm"]
