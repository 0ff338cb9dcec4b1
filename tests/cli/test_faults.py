"""Every mistake ends in one line a fault on standard error, exit 2, and nothing is written; what fails, in exit 1."""

import errno
import gzip
from pathlib import Path

import polars as pl
import pytest
from messages import without_warnings

import hetsched as hs
from hetsched.cli.app import VERBS
from hetsched.errors import SimulationError
from hetsched.report import canvas

GOOD = "1 0 -1 60 4 -1 -1 4 120 -1 1 3 1 7 1 -1 -1 -1\n"
PRESETS = (
    "fcfs, easy, easy-sjbf, fair-share, conservative, sjf, ljf, random, sequence, naive, paa, coa, swa, pool, "
    "vu-fcfs, vu-fcfs-b, cva-fcfs, cva-fcfs-b, cgva-fcfs, cgva-fcfs-b, vahrm, hetsched, replay, "
    "power-slurm, nqsv, slurm"
)
PACKED = "text in Standard Workload Format, plain or packed by gzip or zstd"
SECONDS = "seconds from 0 to 1e12, or -1 for unknown"
LOGS = (
    ".swf, .swf.gz, .swf.zst, .parquet, .json, .json.gz, .json.zst, .pbs, .pbs.gz, .pbs.zst, "
    ".csv, .csv.gz, .csv.zst, .sacct, .sacct.gz, .sacct.zst"
)


def line_with_runtime(text):
    return f"; MaxProcs: 16\n{GOOD.replace(' 60 ', f' {text} ')}".encode()


PICTURE = "a name ending in .png, .svg, .pdf, or a folder (/ at its end, if a dot is in it)"
VERBS_THAT_WRITE = (
    "demo --out",
    "simulate small.swf --out",
    "simulate small.swf --plot",
    "compare small.swf --policies fcfs,easy --out",
    "compare small.swf --policies fcfs,easy --plot",
    "generate poisson --out",
    "generate poisson --plot",
    "reproduce coa-single --out",
    "power fit counters.csv watts.csv --out",
    "power predict model.npz counters.csv --out",
    "power evaluate counters.csv watts.csv --plot",
)


@pytest.mark.parametrize(
    ("name", "content", "line"),
    [
        ("log.swf", b"", f"log.swf: found an empty file, expected {PACKED}"),
        ("log.swf", bytes(range(256)), f"log.swf, line 1: found binary data, expected {PACKED}"),
        (
            "log.swf",
            line_with_runtime("12:30"),
            f"log.swf, line 2, field 4 (run time): found `12:30`, expected {SECONDS}",
        ),
        (
            "log.swf",
            line_with_runtime("1e300"),
            f"log.swf, line 2, field 4 (run time): found `1e300`, expected {SECONDS}",
        ),
        ("log.swf", line_with_runtime("NaN"), f"log.swf, line 2, field 4 (run time): found `NaN`, expected {SECONDS}"),
        ("log.swf", line_with_runtime("-5"), f"log.swf, line 2, field 4 (run time): found `-5`, expected {SECONDS}"),
        (
            "log.swf",
            line_with_runtime("60").replace(b" -1\n", b"\n"),
            "log.swf, line 2: found 17 fields in `1 0 -1 60 4 -1 -1 4 120 -1 1 3 1 7 1 -1 …`, expected 18 fields",
        ),
        (
            "log.swf",
            (GOOD + GOOD).encode(),
            (
                "log.swf, line 2, field 1 (job number): found `1`, the number of the job on line 1, "
                "expected a number that no other job has"
            ),
        ),
        (
            "log.swf.gz",
            gzip.compress(GOOD.encode() * 1000, mtime=0)[:60],
            "log.swf.gz: found gzip data cut short after ... of text, expected a whole gzip file",
        ),
        (
            "log.csv",
            b"job_id,submit_s,runtime_s,node_count\n1,0,60,2\n2,5,x,1\n",
            "log.csv, line 3, column `runtime_s`: found `x`, expected seconds from 0 to 1e+12",
        ),
    ],
    ids=["empty", "binary", "letters", "1e300", "NaN", "negative", "17-fields", "repeated", "cut-short", "csv"],
)
def test_a_bad_log_is_named_with_line_field_and_value(hetsched, folder, name, content, line):
    (folder / name).write_bytes(content)
    said = hetsched("simulate", name, "--nodes", 8, "--out", "out", "--plot", "pictures")
    start, _, end = line.partition("...")
    assert said.err.startswith(f"error: {start}")
    assert said.err.endswith(end)
    assert len(said.err.splitlines()) == 1
    assert (said.code, said.out) == (2, "")
    assert sorted(path.name for path in folder.iterdir()) == sorted([name, "small.swf"])


@pytest.mark.parametrize(
    ("arguments", "lines"),
    [
        ("none.swf", [f"none.swf: found no such file, expected a job log ({LOGS})"]),
        (".", [f".: found a directory, expected a job log ({LOGS})"]),
        ("small.swf --nodes 0", ["--nodes: found `0`, expected a whole number, at least 1"]),
        ("small.swf --nodes 8.5", ["--nodes: found `8.5`, expected a whole number, at least 1"]),
        ("small.swf --policy esay", [f"--policy: found `esay`, expected one of {PRESETS}; did you mean `easy`?"]),
        (
            "small.swf --set dept=3",
            [
                (
                    "policy.dept: found `3`, expected one of order, backfill, placement, power, sleep, "
                    "backfill.depth, backfill.order; did you mean `depth`?"
                )
            ],
        ),
        ("small.swf --set depth=0", ['policy.backfill.depth: found 0, expected a whole number from 1, or "unbounded"']),
        ("small.swf --set depth", ["--set: found `depth`, expected PARAM=VALUE, such as depth=4"]),
        (
            "small.swf --policy easy:placement=lowestpower",
            [
                (
                    "policy.placement: found `lowestpower`, expected one of lowest-id, observed, random, lowest-power, "
                    "lowest-power-cpu, best-rank, opportunity-cost, assignment, sliding-window, pools; "
                    "did you mean `lowest-power`?"
                )
            ],
        ),
        ("small.swf --nodse 8", ["unknown option --nodse; did you mean `--nodes`?"]),
        ("small.swf --boot-s 60", ["unknown option --boot-s; see hetsched simulate --help"]),
        ("small.swf --xyzzy", ["unknown option --xyzzy; see hetsched simulate --help"]),
        ("small.swf --idle-kw 0.2", ["unknown option --idle-kw; did you mean `--idle-w`?"]),
        ("small.swf --idle-w 200W", ["--idle-w: found `200W`, expected watts as a plain number, such as 200"]),
        ("small.swf --until-s 3h", ["--until-s: found `3h`, expected seconds as a plain number, such as 200"]),
        (
            "small.swf --set budget_kw=3",
            [
                (
                    "policy.budget_kw: found `3`, expected one of order, backfill, placement, power, sleep, "
                    "backfill.depth, backfill.order"
                )
            ],
        ),
        ("small.swf --idle-w nan", ["--idle-w: found `NaN`, expected a number between 0 and 1e+06"]),
        ("small.swf --tdp-w -3", ["--tdp-w: found `-3`, expected a number between 0 and 1e+06"]),
        ("small.swf --idle-w 500", ["--tdp-w (assumed): found `400`, expected at least the idle draw, 500 W"]),
        (
            "small.swf --on-unknown-app nominl",
            ["--on-unknown-app: found `nominl`, expected one of error, nominal; did you mean `nominal`?"],
        ),
        (
            "small.swf --format cvs",
            ["--format: found `cvs`, expected one of swf, parquet, batsim, pbs, csv, sacct; did you mean `csv`?"],
        ),
        ("small.swf --plot a.jpg", [f"--plot: found `a.jpg`, expected {PICTURE}"]),
        ("small.swf --plot out/a.foo", [f"--plot: found `out/a.foo`, expected {PICTURE}"]),
        ("small.swf --plot small.swf", [f"--plot: found `small.swf`, expected {PICTURE}"]),
        (
            "small.swf --plot= --out=",
            ["--out: found ``, expected a folder's name", f"--plot: found ``, expected {PICTURE}"],
        ),
        ("small.swf --csv", ["--csv: found no --out, expected a folder for it: --out DIR"]),
        ("small.swf --nodes", ["--nodes: found nothing, expected a value"]),
        ("small.swf more", ["unexpected argument more; see hetsched simulate --help"]),
        ("", ["missing argument TRACE; see hetsched simulate --help"]),
        (
            "small.swf --nodes x --tdp-w 300W --seed -1 --policy esay --procs-per-node 0",
            [
                "--procs-per-node: found `0`, expected a whole number, at least 1",
                "--nodes: found `x`, expected a whole number, at least 1",
                "--tdp-w: found `300W`, expected watts as a plain number, such as 300",
                "--seed: found `-1`, expected a whole number between 0 and 18446744073709551615",
                f"--policy: found `esay`, expected one of {PRESETS}; did you mean `easy`?",
            ],
        ),
        (
            "small.swf --policy= --cap-w 280",
            [
                "--cap-w: found `280`, expected nothing without --table; a platform's file says it as cap_w",
                f"--policy: found ``, expected one of {PRESETS}",
            ],
        ),
        (
            "small.swf --table t.csv --cap-w nan",
            ["--cap-w: found `NaN`, expected watts above 0, or inf: without a cap"],
        ),
        (
            "small.swf --policy pool:measured=true:u_l=0.3",
            ["policy.placement.u_l: found `0.3`, expected nothing with measured=true, which measures it"],
        ),
        ("small.swf --policy vahrm:beta=1.5", ["policy.order.beta: found 1.5, expected a number from 0 to 1"]),
        (
            "small.swf --policy vahrm --set beta=-1 --set pcr=x --set first_run=maybe",
            [
                "policy.order.beta: found -1, expected a number from 0 to 1",
                "policy.order.first_run: found `maybe`, expected true or false",
                "policy.power.pcr: found `x`, expected a number above 0, up to 1000",
            ],
        ),
        (
            "small.swf --policy vu-fcfs:budget_w=5000:pcr=0.5",
            ["policy.power.pcr: found 0.5, expected nothing with budget_w"],
        ),
        ("small.swf --platform none.toml", ["none.toml: found no such file, expected a TOML file"]),
    ],
)
def test_a_bad_option_is_named_with_what_would_be_right(hetsched, folder, arguments, lines):
    said = hetsched("simulate", *arguments.split())
    assert said.err.splitlines() == [f"error: {line}" for line in lines]
    assert (said.code, said.out) == (2, "")
    assert [path.name for path in folder.iterdir()] == ["small.swf"]


@pytest.mark.parametrize(
    ("policy", "line"),
    [
        (
            "vahrm:power.pcr=0.2",
            (
                "policy.power.pcr: found 0.2, expected at least 0.2500: "
                "the idle machine draws 1600 W, and nothing could start under 1280 W"
            ),
        ),
        (
            "vu-fcfs-b:power.budget_w=1500",
            (
                "policy.power.budget_w: found 1500, expected at least 1600 W: "
                "the idle machine draws 1600 W, and nothing could start under 1500 W"
            ),
        ),
    ],
)
def test_a_budget_below_the_idle_machine_is_refused_before_the_run(hetsched, folder, policy, line):
    simulate = ("simulate", "small.swf", "--policy", policy)
    # Of several policies it is said which, and before the first of them runs.
    compare = ("compare", "small.swf", "--policies", f"fcfs,{policy}")
    for verb, whose in ((simulate, ""), (compare, f"--policies: {policy}: ")):
        said = hetsched(*verb, "--nodes", 16, "--idle-w", 100, "--tdp-w", 400, "--out", "out")
        assert said.err.splitlines()[-1] == f"error: {whose}{line}"
        assert sum("error" in told for told in said.err.splitlines()) == 1
        assert said.code == 2
        assert "energy" not in said.out
        assert [path.name for path in folder.iterdir()] == ["small.swf"]


@pytest.mark.parametrize(
    ("column", "value", "expected"),
    [("device", "tpu", "`cpu`, `gpu` or nothing"), ("first_run", "yes", "true or false")],
)
def test_a_word_that_a_column_has_not_is_named_with_those_it_has(hetsched, folder, column, value, expected):
    (folder / "log.csv").write_text(f"job_id,submit_s,runtime_s,node_count,{column}\n1,0,60,2,{value}\n")
    said = hetsched("simulate", "log.csv", "--nodes", 4, "--policy", "vahrm:first_run=true", "--out", "out")
    assert said.err == f"error: log.csv, line 2, column `{column}`: found `{value}`, expected {expected}"
    assert (said.code, said.out) == (2, "")
    assert not (folder / "out").exists()


@pytest.mark.parametrize(
    ("apps", "watts", "line"),
    [
        (
            ["7", "8"],
            [[200.0] * 4, [200.0] * 4],
            (
                "--table t.parquet: found `4 nodes`, expected a table of 16 nodes, as the platform has; "
                "nodes 4-15 have no row for any application (7, 8)"
            ),
        ),
        (
            ["7"],
            [[200.0] * 15 + [float("nan")]],
            "t.parquet: power_w[7, node 15]: found `NaN`, expected watts between 0 and 1e+06",
        ),
        (
            ["7"],
            [[-3.0] * 16],
            "t.parquet: power_w[7, node 0]: found `-3`, expected watts between 0 and 1e+06 (and 15 more)",
        ),
    ],
    ids=["nodes", "NaN", "negative"],
)
def test_a_bad_table_is_named_with_application_and_node(hetsched, folder, apps, watts, line):
    rows = [(app, node, w) for app, own in zip(apps, watts, strict=True) for node, w in enumerate(own)]
    pl.DataFrame(rows, schema=["app", "node", "power_w"], orient="row").write_parquet("t.parquet")
    said = hetsched("simulate", "small.swf", "--table", "t.parquet", "--idle-w", 90, "--tdp-w", 300)
    assert said.err == f"error: {line}"
    assert said.code == 2


def test_a_table_that_lacks_an_application_names_it_and_a_job(hetsched, folder):
    pl.DataFrame({"app": ["7"] * 16, "node": range(16), "power_w": [200.0] * 16}).write_parquet("t.parquet")
    said = hetsched("simulate", "small.swf", "--table", "t.parquet", "--out", "out")
    assert said.code == 2
    assert len(said.err.splitlines()) == 1
    assert "`8`" in said.err
    assert "job 3" in said.err
    assert not (folder / "out").exists()
    assert hetsched("simulate", "small.swf", "--table", "t.parquet", "--on-unknown-app", "nominal").code == 0


def test_a_wrong_unit_is_reported_with_the_right_one(hetsched, folder):
    (folder / "node.toml").write_text("nodes = 8\nidle_kw = 1\nidle_w = 90\ntdp_w = 400\n")
    said = hetsched("simulate", "small.swf", "--platform", "node.toml")
    assert said.err.startswith("error: node.toml: idle_kw: found `1`, expected one of nodes, idle_w, ")
    assert said.err.endswith("; did you mean `idle_w`?")
    assert said.code == 2


@pytest.mark.parametrize(
    ("arguments", "lines"),
    [
        ("simulat small.swf", ["unknown command `simulat`; did you mean `simulate`?"]),
        (
            "frobnicate",
            [
                (
                    "unknown command `frobnicate`; known: simulate, run, compare, whatif, sweep, report, import, "
                    "inspect, validate, generate, provision, policies, machines, reproduce, demo, power, slurm, new"
                )
            ],
        ),
        ("compare small.swf", ["missing option --policies; see hetsched compare --help"]),
        ("policies more", ["unexpected argument more; see hetsched policies --help"]),
        ("demo --seed x", ["--seed: found `x`, expected a whole number, at least 0"]),
        (
            "compare small.swf --policies fcfs,esay,fcfs --seeds 0 --metrics mean_wait",
            [
                "--seeds: found `0`, expected a whole number between 1 and 10000",
                "--metrics: found `mean_wait`, expected a metric; did you mean `mean_wait_s`?",
                f"--policies: found `esay`, expected one of {PRESETS}; did you mean `easy`?",
                "--policies: found `fcfs`, expected each policy once",
            ],
        ),
        (
            "compare small.swf --policies pool:u_l=2,easy:foo,swa:window=0 --metrics energy_bound_j",
            [
                "--metrics: found `energy_bound_j`, expected --bound as well, which computes it",
                "--policies: pool:u_l=2: policy.placement.u_l: found 2, expected a share from 0 to 1",
                "--policies: easy:foo: found `foo`, expected PARAM=VALUE, such as placement=lowest-power",
                "--policies: swa:window=0: policy.placement.window: found 0, expected a whole number from 1",
            ],
        ),
        (
            "compare small.swf --policies fcfs,easy --baseline eesy",
            ["--baseline: found `eesy`, expected one of --policies: fcfs, easy; did you mean `easy`?"],
        ),
    ],
)
def test_a_bad_command_line_is_one_line_a_fault(hetsched, arguments, lines):
    said = hetsched(*arguments.split())
    assert said.err.splitlines() == [f"error: {line}" for line in lines]
    assert (said.code, said.out) == (2, "")


def test_a_log_that_does_not_say_how_large_its_machine_is_needs_an_option(hetsched, folder):
    (folder / "bare.swf").write_text(GOOD)
    said = hetsched("simulate", "bare.swf")
    assert (
        said.err == "error: --nodes: found nothing, expected how many nodes the machine has: bare.swf does not say it"
    )
    assert said.code == 2


def test_a_folder_of_pictures_may_have_a_dot_in_its_name(hetsched, folder, monkeypatch):
    monkeypatch.setattr(canvas, "picture_bytes", lambda figure, suffix: b"")
    (folder / "there.d").mkdir()
    for place in ("there.d", "new.d/", "load-0.5", ".hidden"):
        assert hetsched("simulate", "small.swf", "--plot", place).code == 0
        assert (folder / place / "power.png").exists()


@pytest.mark.parametrize("verb", VERBS_THAT_WRITE, ids=lambda verb: verb.split(" --")[0])
def test_an_empty_name_is_refused_by_every_verb_and_nothing_is_written(hetsched, folder, verb):
    *words, option = verb.split()
    said = hetsched(*words, option, "")
    (line,) = said.err.splitlines()
    assert line.startswith(f"error: {option}: found ``, expected a ")
    assert (said.code, said.out) == (2, "")
    assert [path.name for path in folder.iterdir()] == ["small.swf"]


@pytest.mark.parametrize("option", ["--out", "--plot"])
@pytest.mark.parametrize("place", ["small.swf", "small.swf/below"])
def test_a_file_in_place_of_a_folder_is_reported_before_the_run(hetsched, option, place):
    if (option, place) == ("--plot", "small.swf"):
        place = "small.swf/picture.png"
    said = hetsched("simulate", "small.swf", option, place)
    assert said.code == 1
    assert said.out == ""
    assert said.err.startswith(f"error: {Path(place).parent if place.endswith('png') else place}: cannot be written: ")
    assert said.err.endswith("not a folder")


@pytest.mark.parametrize("verb", ["simulate small.swf", "compare small.swf --policies fcfs,easy"])
def test_a_full_disk_is_reported_and_nothing_is_left(hetsched, folder, monkeypatch, verb):
    def full(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(pl.DataFrame, "write_parquet", full)
    said = hetsched(*verb.split(), "--out", "out")
    assert said.code == 1
    (line,) = without_warnings(said.err)
    assert line.startswith("error: out/")
    assert line.endswith("jobs.parquet: cannot be written: No space left on device")
    assert [path for path in folder.rglob("*") if path.is_file()] == [folder / "small.swf"]


def test_a_full_disk_under_a_picture_is_reported_and_nothing_is_left(hetsched, folder, monkeypatch):
    def full(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    said = hetsched("simulate", "small.swf", "--plot", "run.png")
    assert without_warnings(said.err) == ["error: run.png: cannot be written: No space left on device"]
    assert said.code == 1
    assert [path.name for path in folder.iterdir()] == ["small.swf"]


def test_a_traceback_is_shown_only_where_it_is_asked_for(hetsched):
    assert "Traceback" not in hetsched("simulate", "small.swf", "--policy", "esay").err
    said = hetsched("simulate", "small.swf", "--policy", "esay", "--debug")
    assert said.code == 2
    assert said.err.startswith("Traceback (most recent call last):")
    assert said.err.splitlines()[-1].startswith("error: --policy: found `esay`")


@pytest.mark.parametrize(
    ("raised", "line"),
    [
        (SimulationError("easy, job 3 at 60 s: it asks for 4 nodes"), "easy, job 3 at 60 s: it asks for 4 nodes"),
        (MemoryError(), "not enough memory for this run"),
        (
            ZeroDivisionError("ours"),
            "hetsched itself failed: ZeroDivisionError: ours (--debug shows where; please report it)",
        ),
    ],
)
def test_what_fails_during_a_run_is_one_line_and_exit_1(hetsched, monkeypatch, raised, line):
    def fails(*_, **__):
        raise raised

    monkeypatch.setattr(hs, "simulate", fails)
    said = hetsched("simulate", "small.swf", "--idle-w", 90, "--tdp-w", 300)
    assert said.err == f"error: {line}"
    assert said.code == 1


def test_control_characters_in_a_name_stay_out_of_the_terminal(hetsched):
    said = hetsched("simulate", "a\nb\x1b[31m.swf", "--nodes", 8)
    assert said.err.startswith("error: a b [31m.swf: found no such file")


def half(text):
    """The text as Python has it where its last byte is no UTF-8."""
    return text.encode("latin-1").decode("utf-8", "surrogateescape")


def test_a_log_whose_name_is_no_utf_8_is_read(hetsched, folder):
    (folder / half("caf\xe9.swf")).write_bytes((folder / "small.swf").read_bytes())
    said = hetsched("simulate", half("caf\xe9.swf"), "--out", "run")
    assert said.code == 0
    assert "5 jobs read from caf\\xe9.swf" in said.out
    assert hs.read_result(folder / "run").provenance["trace"]["name"] == "caf\\xe9.swf"


@pytest.mark.parametrize(
    ("option", "line"),
    [
        ("--until", "--until: found `\\udce9`, expected seconds on the log's clock, or a date such as"),
        ("--from", "--from: found `\\udce9`, expected seconds on the log's clock, or a date such as"),
        ("--set", "policy.backfill.depth: found `\\udce9`, expected text of whole characters"),
        ("--separator", "--separator: found `\\udce9`, expected one character, such as"),
    ],
)
def test_values_that_are_no_utf_8_are_refused(hetsched, folder, option, line):
    (folder / "log.csv").write_text("job_id,submit_s,runtime_s,node_count\n1,0,1,1\n")
    value = half("depth=\xe9" if option == "--set" else "\xe9")
    said = hetsched("simulate", "log.csv", "--nodes", 2, option, value)
    assert said.code == 2
    assert said.err.startswith(f"error: {line}")


def test_names_too_long_for_a_file_are_bad_input(hetsched):
    name = "x" * 300
    for given in (
        ["small.swf", "--platform", f"{name}.toml"],
        [f"{name}.swf"],
        ["small.swf", "--events", f"{name}.csv"],
    ):
        said = hetsched("simulate", *given)
        assert said.code == 2, given
        assert name in said.err


def test_a_message_repeats_no_endless_value_and_keeps_what_is_expected(hetsched):
    said = hetsched("simulate", f"{'x' * 100_000}.csv", "--nodes", 2)
    assert said.code == 2
    assert len(said.err) < 4100
    assert said.err.startswith("error: xxx")
    assert said.err.endswith(f"expected a job log ({LOGS})")


def test_polars_without_threads_is_refused(hetsched, monkeypatch):
    monkeypatch.setenv("POLARS_MAX_THREADS", "0")
    said = hetsched("simulate", "small.swf")
    assert said.code == 2
    assert said.err == "error: POLARS_MAX_THREADS: found `0`, expected a number of threads from 1, or no such variable"


@pytest.mark.usefixtures("folder")
def test_an_empty_name_of_a_machines_file_is_refused(hetsched):
    said = hetsched("machines", "kestrel", "--out", "")
    assert (said.code, said.err) == (2, "error: --out: found ``, expected a file's name")


def test_every_verb_has_help_and_so_has_the_command(hetsched):
    for verb in VERBS:
        said = hetsched(verb, "--help")
        assert said.code == 0
        assert f"Usage: hetsched {verb}" in said.out
        assert max(map(len, said.out.splitlines())) <= 80
    said = hetsched("--help")
    assert said.code == 0
    assert "Usage: hetsched [OPTIONS] COMMAND" in said.out
    assert all(f" {verb} " in said.out for verb in VERBS)
