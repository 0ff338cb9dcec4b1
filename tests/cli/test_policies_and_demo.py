"""``hetsched policies`` and ``hetsched demo``."""

import json
import sys

import polars as pl
import pytest

import hetsched as hs
from hetsched.policy import parts


def test_policies_lists_every_preset_and_part(hetsched):
    said = hetsched("policies")
    assert said.code == 0
    assert said.err == ""
    assert said.out.startswith(
        """\
 preset         what it does
 ──────────────────────────────────────────────────────────────────────────────
 fcfs           First come, first served: a job that does not fit blocks all
                behind it.
                fcfs / none / lowest-id
 easy           EASY backfilling: later jobs may start if they do not delay the
                first that waits.
                fcfs / reservations / lowest-id (backfill.depth=1,
                backfill.order=policy)
"""
    )
    words = said.out.split()
    assert set(hs.presets()["name"]) <= set(words)
    assert {name for _, name in parts()} <= set(words)
    assert "depth=1" in words
    assert max(map(len, said.out.splitlines())) <= 80


def test_policies_as_json_are_the_librarys(hetsched):
    found = json.loads(hetsched("policies", "--json").out)
    assert found["summary"] == {"presets": len(found["presets"]), "parts": len(found["parts"])}
    assert [row["name"] for row in found["presets"]] == hs.presets()["name"].to_list()
    assert {(part["role"], part["name"]) for part in found["parts"]} == set(parts())


def test_what_is_taken_for_chance_is_chance_and_nothing_else_is():
    """Two seeds make two schedules under a policy with random parts, and one under every other."""
    jobs = {"job_id": [1, 2, 3], "submit_s": [0, 5, 900], "runtime_s": [60, 60, 60], "node_count": [1, 2, 1]}
    jobs["device"] = ["gpu", "gpu", "gpu"]
    jobs["observed_start_s"] = [0, 5, 900]
    workload = hs.Workload.from_polars(pl.DataFrame(jobs))
    platform = hs.Platform.homogeneous(nodes=40, idle_w=100, tdp_w=300, off_w=10, boot_s=60, shutdown_s=30)
    for role, name in parts():
        policy = hs.Policy(**{"order": "fcfs", "backfill": "none", "placement": "lowest-id", role: name})
        schedules = {str(hs.simulate(workload, platform, policy, seed=s).jobs["nodes"].to_list()) for s in range(8)}
        assert (len(schedules) > 1) == policy.uses_chance, (role, name)


@pytest.mark.slow
def test_the_demo_compares_four_policies_on_the_log_that_is_shipped(hetsched, folder):
    said = hetsched("demo")
    assert said.code == 0
    assert said.err == ""
    assert max(map(len, said.out.splitlines()[1:])) <= 80
    lines = said.out.splitlines()
    assert lines[0].startswith("23,678 jobs read from kestrel-2024-09.parquet; ")
    assert [line.split()[0] for line in lines if line.startswith((" fcfs", " easy", " conservative"))] == [
        *("fcfs", "easy", "conservative", "easy:placement=lowest-power"),
        *("easy", "conservative", "easy:placement=lowest-power"),
    ]
    assert "NREL/raddit" in said.out
    assert "CC BY 4.0" in said.out
    assert sorted(path.name for path in (folder / "hetsched-demo").iterdir()) == [
        "comparison.csv",
        "energy-wait.png",
        "node-map-conservative.png",
        "node-map-easy-placement-lowest-power.png",
        "node-map-easy.png",
        "node-map-fcfs.png",
        "nodes-conservative.png",
        "nodes-easy-placement-lowest-power.png",
        "nodes-easy.png",
        "nodes-fcfs.png",
        "overview-conservative.png",
        "overview-easy-placement-lowest-power.png",
        "overview-easy.png",
        "overview-fcfs.png",
        "ratios.png",
        "report.html",
        "waits.png",
    ]


@pytest.mark.slow
def test_the_demos_sentence_says_what_its_numbers_say(hetsched, monkeypatch):
    for extra in ("matplotlib", "plotly"):
        monkeypatch.setitem(sys.modules, extra, None)
    said = hetsched("demo", "--json", "--seed", 5)
    found = json.loads(said.out)
    ratio = {(row["policy"], row["metric"]): row["ratio"] for row in found["comparison"]}
    for key in (
        ("easy", "mean_wait_s"),
        ("easy", "p95_wait_s"),
        ("easy:placement=lowest-power", "energy_j"),
    ):
        percent = 100 * (ratio[key] - 1)
        assert f"{abs(percent):.1f} % {'lower' if percent < 0 else 'higher'}" in found["finding"]
    assert found["written"] == ["hetsched-demo/comparison.csv"]
    assert "no pictures: plot: found an installation without matplotlib" in said.err
    assert "no page: report: found an installation without plotly" in said.err
