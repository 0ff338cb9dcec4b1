"""The diffs of the page on architecture apply to a copy of the code, and what they add works."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import settings

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "background" / "architecture.md").read_text(encoding="utf-8")
IS_AT_LENGTH = settings.get_current_profile_name() == "long"
DIFFS = dict(re.findall(r"^### ([^\n]*)\n(?:(?!^###).)*?^```diff\n(.*?)^```$", PAGE, flags=re.MULTILINE | re.DOTALL))

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git applies the diffs")

JOBS = "\n".join(
    json.dumps({"job_id": number, "submit_s": 10 * number, "runtime_s": 60, "node_count": 1 + number % 2})
    for number in range(1, 9)
)


def patched(folder: Path, title: str, *tops: str) -> Path:
    """A copy of some of the project's folders, with the page's diff of that title applied.

    What Python has compiled goes along: only what the diff changes is compiled again.
    """
    ignored = shutil.ignore_patterns("*.so", "target")
    for top in tops:
        shutil.copytree(ROOT / top, folder / top, ignore=ignored)
        for extension in (ROOT / top).rglob("*.so"):
            (folder / extension.relative_to(ROOT)).symlink_to(extension)
    apply(folder, title)
    return folder


def apply(folder: Path, title: str) -> None:
    """Applies the page's diff of that title to a copy."""
    done = subprocess.run(
        ["git", "apply", "--whitespace=nowarn", "-"],
        cwd=folder,
        input=DIFFS[title],
        # The copy may lie inside of a repository, whose index knows nothing of it.
        env={**os.environ, "GIT_DIR": os.devnull},
        encoding="utf-8",
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


NAMES = re.findall(
    r"^\| `(\w+)` \| [^|]+ \| `([\w/]+\.rs)` \|$", PAGE.partition("### Names")[2].partition("\n## ")[0], re.MULTILINE
)


def test_each_name_stands_once_in_the_file_that_the_page_names():
    core = ROOT / "rust" / "core" / "src"
    sources = {file.relative_to(core).as_posix(): file.read_text(encoding="utf-8") for file in core.rglob("*.rs")}
    homes = {
        name: [
            file
            for file, source in sources.items()
            if re.search(rf"^pub (?:struct|enum|trait) {name}\b", source, re.MULTILINE)
        ]
        for name, _ in NAMES
    }
    assert len(homes) == len(NAMES) > 30
    assert homes == {name: [file] for name, file in NAMES}


CALLS = """
import json, sys
from hetsched.cli import main

for call in json.loads(sys.argv[1]):
    assert main(call) == 0
    print("\f", end="", flush=True)
"""


def said(folder: Path, *calls: list[str]) -> list[str]:
    """Output of each call of the copy's command, one after the other in one process."""
    done = ran(folder, CALLS, json.dumps(calls))
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.split("\f")[:-1]


def said_by_python(folder: Path, *programs: str) -> list[str]:
    """The last line of what each program says or raises that knows the jobs of the log and a machine."""
    done = ran(folder, RUN + "".join(f"told({program!r})\n" for program in programs))
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def ran(folder: Path, program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """A program that imports the copy."""
    return subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program, *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder / "python"), "COLUMNS": "100"},
        encoding="utf-8",
        capture_output=True,
        check=False,
        timeout=300,
    )


@pytest.fixture
def log(tmp_path: Path) -> str:
    """A small log in CSV."""
    rows = [json.loads(line) for line in JOBS.splitlines()]
    lines = [",".join(rows[0]), *(",".join(map(str, row.values())) for row in rows)]
    (tmp_path / "jobs.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return "jobs.csv"


def test_the_page_has_a_diff_for_each_addition() -> None:
    of_runs = ["A placement", "A preset", "A run option", "A column of the jobs", "A feature"]
    titles = [*of_runs, "A trace format", "A metric", "A generator", "An experiment", "A verb"]
    assert list(DIFFS) == titles


def test_a_preset_is_compared(tmp_path: Path, log: str) -> None:
    copy = patched(tmp_path, "A preset", "python")
    (compared,) = said(copy, ["compare", log, "--nodes", "4", "--policies", "easy,easy-large"])
    assert "easy-large" in compared


FILES = {
    "A placement": 3,
    "A preset": 1,
    "A run option": 5,
    "A column of the jobs": 1,
    "A feature": 3,
    "A trace format": 2,
    "A metric": 1,
    "A generator": 2,
    "An experiment": 2,
    "A verb": 2,
}
"""Files of code that each addition changes: for most a new one and a row. A run option has a field, its place in the
engine, and what passes it there, with its stub."""


def test_an_addition_changes_few_files() -> None:
    assert {title: diff.count("\n+++ b/") + diff.startswith("+++ b/") for title, diff in DIFFS.items()} == FILES


DROPPED = "jobs.drop('deadline_s')"
RUN = """
import inspect, sys, polars as pl, hetsched as hs
jobs = pl.read_csv("jobs.csv").with_columns(deadline_s=pl.col("submit_s") + 61.0)
machine = hs.Platform.homogeneous(nodes=2, idle_w=100, tdp_w=300)

def told(program):
    try:
        exec(program)
    except Exception as error:
        print(str(error).splitlines()[-1])

"""


def test_a_run_option_is_checked_and_reaches_the_engine(tmp_path: Path, log: str) -> None:
    copy = patched(tmp_path, "A run option", "python", "rust")
    assert all("--longest-s" in shown for shown in said(copy, ["simulate", "--help"], ["compare", "--help"]))
    shown = [f"print('longest_s' in inspect.signature(hs.{function}).parameters)" for function in ("simulate", "sweep")]
    run = "hs.simulate(hs.Workload.from_polars(jobs), machine, longest_s={})"
    *is_shown, refused, unknown = said_by_python(copy, *shown, run.format(-1), run.format(5))
    assert is_shown == ["True", "True"]
    assert refused == "longest_s: found `-1`, expected a number between 0 and 1e+12"
    # The engine of the copy has not been compiled again: it does not know the option that it is given.
    assert "unexpected keyword argument 'longest_s'" in unknown


def test_a_column_of_the_jobs_is_read_and_checked(tmp_path: Path, log: str) -> None:
    copy = patched(tmp_path, "A column of the jobs", "python")
    schema = "print(hs.workload.schema()['name'].to_list())"
    text = "print(hs.Workload.from_polars(jobs.with_columns(deadline_s=pl.lit('soon'))))"
    names, refused = said_by_python(copy, schema, text)
    assert "deadline_s" in names
    assert "column `deadline_s`: found values of type String such as `soon`, expected seconds" in refused


def test_a_feature_is_in_play_where_jobs_ask_for_it(tmp_path: Path, log: str) -> None:
    copy = patched(tmp_path, "A feature", "python")
    run = "summary = hs.simulate(hs.Workload.from_polars({}), machine).summary()"
    asked = f"{run.format('jobs')}; print(summary['late_jobs'])"
    other = f"{run.format(DROPPED)}; print('late_jobs' in summary)"
    late, is_there = said_by_python(copy, asked, other)
    assert int(late) > 0
    assert is_there == "False"


def test_a_trace_format_reads_a_file(tmp_path: Path) -> None:
    copy = patched(tmp_path, "A trace format", "python")
    (copy / "jobs.jsonl").write_text(JOBS, encoding="utf-8")
    (found,) = said(copy, ["simulate", "jobs.jsonl", "--nodes", "4"])
    assert "8 jobs read from jobs.jsonl" in found


def test_a_metric_is_compared(tmp_path: Path, log: str) -> None:
    copy = patched(tmp_path, "A metric", "python")
    compare = ["compare", log, "--nodes", "4", "--policies", "fcfs,easy", "--metrics", "p99_wait_s"]
    compared, simulated = said(copy, compare, ["simulate", log, "--nodes", "4"])
    assert "percentile" in compared
    assert "99th percentile of waits" in simulated


def test_a_generator_generates(tmp_path: Path) -> None:
    copy = patched(tmp_path, "A generator", "python")
    made = ["generate", "burst", "--nodes", "4", "--jobs", "7", "--out", "burst.swf"]
    listed, found = said(copy, ["generate"], made)
    assert "burst" in listed
    assert "7 jobs" in found


def test_an_experiment_is_reproduced(tmp_path: Path) -> None:
    copy = patched(tmp_path, "An experiment", "python")
    (found,) = said(copy, ["reproduce", "backfilling", "--repetitions", "4", "--out", "out"])
    assert "mean wait under EASY" in found
    assert "claim holds" in found
    assert (copy / "out" / "table.csv").is_file()


def test_a_verb_is_listed_and_runs(tmp_path: Path) -> None:
    copy = patched(tmp_path, "A verb", "python")
    listed, found = said(copy, ["--help"], ["metrics"])
    assert "List the metrics of a run." in listed
    assert "mean_wait_s: mean wait" in found


def test_a_placement_applies(tmp_path: Path) -> None:
    copy = patched(tmp_path, "A placement", "rust")
    assert '"highest-id"' in (copy / "rust/core/src/policy/registry/placements.rs").read_text(encoding="utf-8")


@pytest.mark.at_length
@pytest.mark.skipif(not IS_AT_LENGTH, reason="compiled in `make fuzz`; `make test` applies the diffs")
@pytest.mark.skipif(shutil.which("cargo") is None, reason="cargo compiles the engine")
def test_what_is_added_in_rust_compiles(tmp_path: Path) -> None:
    copy = patched(tmp_path, "A placement", "benches", "python", "rust")
    apply(copy, "A run option")
    for name in ("Cargo.toml", "Cargo.lock", "clippy.toml"):
        shutil.copy(ROOT / name, copy / name)
    done = subprocess.run(
        ["cargo", "check", "--quiet", "--offline", "--package", "hetsched-py"],
        cwd=copy,
        # Dependencies are those that clippy has compiled.
        env={**os.environ, "CARGO_TARGET_DIR": str(ROOT / "target")},
        encoding="utf-8",
        capture_output=True,
        check=False,
    )
    if "--offline" in done.stderr:
        pytest.skip("crates that the engine needs are not here")
    assert done.returncode == 0, done.stderr


def test_the_page_shows_the_layers_that_the_linter_checks() -> None:
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    layers = re.search(r"^layers = \[\n(.*?)^\]", project, flags=re.MULTILINE | re.DOTALL)
    shown = re.search(r"^```text\n(cli\n.*?)^```$", PAGE, flags=re.MULTILINE | re.DOTALL)
    assert layers is not None
    assert shown is not None
    # In brackets: not built yet.
    checked = [re.sub(r" \| \(\w+\)", "", layer) for layer in re.findall(r'"(.*)"', layers[1])]
    assert shown[1].splitlines() == checked


def test_the_page_names_every_package() -> None:
    packages = {path.parent.name for path in (ROOT / "python" / "hetsched").glob("*/__init__.py")}
    named = set(re.findall(r"^\| `(\w+)` \|", PAGE.partition("\n## The engine")[0], flags=re.MULTILINE))
    assert packages <= named
    assert named - packages <= {"bound"}
