"""``hetsched generate``: everything it says, what it writes, and how mistakes end."""

import json

import polars as pl
import pytest

import hetsched as hs
from hetsched.workload import GENERATORS, generate, poisson
from hetsched.workload.writers.registry import WRITERS

MIX = "mix=8 stream 1 60; 4 hpcg 2 120"
NAMES = ", ".join(GENERATORS)
SUFFIXES = tuple(WRITERS)


def test_help_names_every_kind_of_file_that_is_written(hetsched):
    words = " ".join(word for word in hetsched("generate", "--help").out.split() if word != "│")
    *others, last = SUFFIXES
    assert f"{', '.join(others)} or {last}" in words


def test_a_mix_is_described_and_written(hetsched, folder):
    # Twelve jobs: 8 x 60 + 4 x 2 x 120 = 1,440 node-seconds, mean length 480 + 480 over 12.
    said = hetsched(
        "generate", "utilization-targeted", "--nodes", 16, "--utilization", 1, "--set", MIX, "--set", "ramp_s=0",
        "--set", "fluctuation=0", "--out", "small-mix.swf",
    )  # fmt: skip
    assert (said.code, said.err) == (0, "")
    # 16 nodes hold all 8 + 8 nodes at once, so everything is submitted at 0.
    assert "utilization-targeted: 12 jobs for 16 nodes" in said.out
    assert cells(said.out, "run length") == ["1.333 min", "1.000 min", "1.000 min", "2.000 min", "2.000 min"]
    assert cells(said.out, "nodes") == ["1.333", "1", "1", "2", "2"]
    assert cells(said.out, "node-seconds") == ["120", "60", "60", "240", "240"]
    assert cells(said.out, "stream") == ["8", "1.000 min", "33.33 %"]
    assert cells(said.out, "hpcg") == ["4", "2.000 min", "66.67 %"]
    assert said.out.splitlines()[-2:] == ["submitted over 0 s, offered load –", "wrote small-mix.swf"]
    assert max(map(len, said.out.splitlines())) <= 80
    assert len(hs.read_swf("small-mix.swf")) == 12


def cells(out, name):
    """The row of a table that begins with `name`, without it."""
    row = next(line for line in out.splitlines() if line.strip().startswith(f"{name}  "))
    return [cell.strip() for cell in row.strip().removeprefix(name).split("   ") if cell.strip()]


def test_json_is_one_object_that_says_how_to_make_it_again(hetsched, folder):
    said = hetsched(
        "generate", "poisson", "--jobs", 50, "--load", 0.5, "--seed", 3, "--json", "--out", "a/jobs.parquet"
    )
    found = json.loads(said.out)
    workload = poisson(jobs=50, load=0.5, seed=3)
    assert list(found) == ["summary", "generator", "seed", "parameters", "notes", "quantities", "sha256", "written"]
    assert found["sha256"] == workload.sha256
    assert generate(found["generator"], **found["parameters"]) == workload
    assert found["summary"]["jobs"] == 50
    assert found["quantities"]["runtime_s"]["mean"] == pytest.approx(workload.to_polars()["runtime_s"].mean())
    assert found["written"] == ["a/jobs.parquet"]
    assert pl.read_parquet("a/jobs.parquet").equals(workload.to_polars())
    assert said.err.splitlines()[-1] == "wrote a/jobs.parquet"


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_what_is_generated_is_what_simulate_reads(hetsched, folder, suffix):
    assert hetsched("generate", "swa-multi", "--seed", 2, "--out", f"jobs{suffix}").code == 0
    nodes = () if suffix.startswith(".swf") else ("--nodes", 665)
    said = hetsched("simulate", f"jobs{suffix}", *nodes, "--policy", "fcfs", "--json")
    summary = json.loads(said.out)["summary"]
    assert (summary["completed"], summary["max_wait_s"]) == (774 + 1043 + 17 + 51, 0.0)


def test_a_picture_is_drawn_and_nothing_else_written(hetsched, folder):
    said = hetsched("generate", "lublin-feitelson", "--jobs", 200, "--plot", "model.png")
    assert said.out.endswith("wrote model.png")
    assert (folder / "model.png").read_bytes().startswith(b"\x89PNG")
    assert sorted(path.name for path in folder.iterdir()) == ["model.png", "small.swf"]


def test_without_a_kind_all_are_listed_with_their_parameters(hetsched):
    said = hetsched("generate")
    assert (said.code, said.err) == (0, "")
    assert max(map(len, said.out.splitlines())) <= 80
    words = set(said.out.split())
    for row in GENERATORS.values():
        assert {row.name, *(parameter.name for parameter in row.parameters)} <= words | {
            word.partition("=")[0] for word in words
        }
    found = json.loads(hetsched("generate", "--json").out)
    assert found["summary"] == {"generators": len(GENERATORS)}
    assert [row["name"] for row in found["generators"]] == list(GENERATORS)
    defaults = {one["name"]: one["default"] for one in found["generators"][0]["parameters"]}
    assert defaults["nodes"] == GENERATORS["utilization-targeted"].default("nodes")


@pytest.mark.parametrize(
    ("arguments", "lines"),
    [
        (["poison"], [f"KIND: found `poison`, expected one of {NAMES}; did you mean `poisson`?"]),
        (["--jobs", "3"], [f"KIND: found none, expected one of {NAMES}"]),
        (
            ["poisson", "--out", "jobs.swg", "--plot", "a.jpg"],
            [
                f"--out: found `jobs.swg`, expected a name ending in {', '.join(SUFFIXES)}; did you mean `.swf`?",
                "--plot: found `a.jpg`, expected a name ending in .png, .svg, .pdf",
            ],
        ),
        (
            [
                "poisson",
                "--jobs",
                "many",
                "--utilization",
                "0.5",
                "--set",
                "sizs=3",
                "--set",
                "load",
                "--set",
                "jobs=3",
            ],
            [
                "--jobs: found `many`, expected a whole number from 1",
                (
                    "--utilization: found `0.5`, expected a parameter of poisson: nodes, jobs, load, rate_per_h, "
                    "runtime_s, sizes, apps, walltime_factor, seed"
                ),
                "--set: found `load`, expected NAME=VALUE, such as seed=4",
                (
                    "--set sizs: found `3`, expected a parameter of poisson: nodes, jobs, load, rate_per_h, runtime_s, "
                    "sizes, apps, walltime_factor, seed; did you mean `sizes`?"
                ),
                "--set jobs: found `3`, expected --jobs or --set jobs, not both",
            ],
        ),
        (
            ["swa-multi", "--nodes", "4", "--utilization", "2", "--set", "long_ratio=0.5"],
            [
                "--utilization: found `2`, expected a number between 0.01 and 1",
                "--set long_ratio: found `0.5`, expected a number between 1 and 10000",
            ],
        ),
        (
            ["poisson", "--set", "load=0.5", "--set", "load=0.9", "--set", "sizes=2", "--set", "sizes=2"],
            [
                "--set load: found `0.9`, expected --set load once; it is given twice",
                "--set sizes: found `2`, expected --set sizes once; it is given twice",
            ],
        ),
        (
            [
                "utilization-targeted",
                "--jobs",
                "-2",
                "--set",
                "foo=1",
                "--set",
                "ramp_s=-1",
                "--set",
                "nodes=0",
                "--set",
                "mix=3 a 0 60; 4 b 1 uniform:9:8",
            ],
            [
                "--jobs: found `-2`, expected a whole number between 1 and 100000000",
                (
                    "--set foo: found `1`, expected a parameter of utilization-targeted: mix, nodes, jobs, "
                    "utilization, fluctuation, fluctuation_s, ramp_s, interval_s, walltime_factor, seed"
                ),
                "--set ramp_s: found `-1`, expected a number between 0 and 1e+09",
                "--set nodes: found `0`, expected a whole number between 1 and 2147483647",
                "--set mix[0].node_count: found `0`, expected a whole number between 1 and 2147483647",
                (
                    "--set mix[1].runtime_s: found `uniform:9:8`, expected LOW at most the high end, 8, "
                    "as in uniform:LOW:HIGH"
                ),
            ],
        ),
        (
            ["poisson", "--set", "runtime_s=1e15"],
            ["--set runtime_s: found `1e15`, expected SECONDS above 0 and at most 1e+09, as in fixed:SECONDS"],
        ),
        (["swa-multi", "--nodes", "4"], ["--nodes: found `4`, expected at least 8, as the largest jobs need"]),
        (["poisson", "--laod", "1"], ["unknown option --laod; did you mean `--load`?"]),
    ],
)
def test_every_mistake_is_a_line_and_nothing_is_written(hetsched, folder, arguments, lines):
    said = hetsched("generate", *arguments, *(() if "--out" in arguments else ("--out", "jobs.csv")))
    assert (said.code, said.out) == (2, "")
    assert sorted(said.err.splitlines()) == sorted(f"error: {line}" for line in lines)
    assert [path.name for path in folder.iterdir()] == ["small.swf"]


def test_a_target_with_less_room_is_reported(hetsched):
    made = ("generate", "utilization-targeted", "--nodes", 50, "--jobs", 200)
    told = "fluctuation 0.03 in place of 0.04: the target stays within 0 and 1"
    assert told in hetsched(*made, "--utilization", 0.97).out.splitlines()
    said = hetsched(*made, "--utilization", 0.97, "--json")
    assert json.loads(said.out)["parameters"]["fluctuation"] == 0.03
    assert told in said.err.splitlines()
    for more in (("--utilization", 0.8), ("--utilization", 0.97, "--set", "fluctuation=0.03")):
        assert "fluctuation" not in hetsched(*made, *more).out


def test_a_mix_that_is_too_short_for_its_target_is_reported(hetsched):
    # 91 jobs of one node never fill 80 % of 1,990.
    made = ("generate", "utilization-targeted", "--jobs", 91)
    told = [line for line in hetsched(*made).out.splitlines() if "too short" in line]
    assert len(told) == 1
    assert told[0].startswith("the mix is too short to reach 80 %: its last job is submitted after 10 s, with 91 of")
    said = hetsched(*made, "--json")
    assert json.loads(said.out)["notes"] == told
    assert told[0] in said.err.splitlines()
    enough = hetsched("generate", "utilization-targeted")
    assert "too short" not in enough.out + enough.err


def test_nodes_of_a_log_of_processors_are_found_again(hetsched, folder):
    # Two jobs of 8 processors on 4 nodes of 8: a node each, two stay idle for the 60 s.
    log = "; MaxNodes: 4\n; MaxProcs: 32\n" + "".join(
        f"{job} 0 0 60 8 -1 -1 8 -1 -1 1 -1 -1 -1 -1 -1 -1 -1\n" for job in (1, 2)
    )
    hs.read_swf(log.encode(), procs_per_node=8).write("nodes.swf")
    said = hetsched("simulate", "nodes.swf", "--idle-w", 100, "--tdp-w", 300, "--policy", "fcfs", "--json")
    assert "4 nodes, as the log's header says" in said.err
    assert json.loads(said.out)["summary"]["idle_energy_j"] == 2 * 60 * 100


def test_output_that_cannot_be_written_is_known_before_the_work(hetsched, folder):
    said = hetsched("generate", "poisson", "--out", "small.swf/jobs.swf")
    assert (said.code, said.out) == (1, "")
    assert said.err == "error: small.swf: cannot be written: not a folder"
