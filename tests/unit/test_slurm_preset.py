"""The preset ``slurm``: its settings from a file, arguments and text, and what a run makes of them."""

from __future__ import annotations

import inspect
import json
import os
import pickle
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import hetsched as hs
from hetsched.errors import ConfigError, PolicyWarning
from hetsched.policy.parts import parts
from hetsched.policy.policy import parse_policy
from hetsched.policy.slurm_conf import RELEASES
from hetsched.policy.slurm_options import OPTIONS, Covered
from hetsched.whatif.slurm_lines import fitted

CONF = """\
SelectType=select/cons_tres
SchedulerParameters=bf_interval=9,bf_window=600
NodeName=n[1-2] CPUs=8 Weight=3
NodeName=n[3-6] CPUs=16
PartitionName=work Nodes=ALL
"""
LINES = "2*8*3+4*16*1"


@pytest.fixture(autouse=True)
def conf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Write a slurm.conf to the folder that a test is in."""
    monkeypatch.chdir(tmp_path)
    path = Path("slurm.conf")
    path.write_text(CONF, encoding="utf-8")
    return path


def backfill(policy: hs.Policy) -> dict[str, Any]:
    part = policy.parts["backfill"]
    assert part is not None
    return part


def test_settings_are_those_of_the_file_and_changes_go_first(conf: Path) -> None:
    policy = hs.Policy.from_slurm_conf(conf)
    own = backfill(policy)
    assert policy.name == "slurm:conf=slurm.conf"
    assert (own["bf_interval"], own["bf_window"], own["node_lines"], own["kill_wait"]) == (9, 600, LINES, 30)
    changed = hs.Policy.from_slurm_conf(conf, bf_interval=60, started_s=5.0, release="23.11", order="shortest")
    assert (backfill(changed)["bf_interval"], backfill(changed)["bf_window"]) == (60, 600)
    assert backfill(changed)["priority_type"] == "multifactor"
    assert changed.parts["order"] == {"name": "shortest"}
    assert changed.name.startswith("slurm:conf=slurm.conf:order=shortest:")
    assert backfill(changed)["release"] == "23.11"


def test_a_path_may_have_colons_in_it() -> None:
    Path("a:b").mkdir()
    Path("a:b", "slurm.conf").write_text(CONF, encoding="utf-8")
    policy = parse_policy("slurm:conf=a:b/slurm.conf:bf_window=900")
    assert (backfill(policy)["bf_interval"], backfill(policy)["bf_window"]) == (9, 900)
    assert backfill(parse_policy(policy.name)) == backfill(policy)


def test_every_argument_has_the_default_of_the_engine() -> None:
    known = {one["name"]: json.loads(one["default"]) for one in parts()["backfill", "slurm"]["parameters"]}
    given = inspect.signature(hs.Policy.from_slurm_conf).parameters
    own = {name: one.default for name, one in given.items() if name in known}
    assert own == {name: known[name] for name in own}
    assert len(own) == 10
    covered = {one.parameter for rows in OPTIONS.values() for _, one in rows.values() if isinstance(one, Covered)}
    assert covered <= known.keys()
    beats = {name for name in known if name.endswith("_beats")}
    assert known.keys() - covered - own.keys() - beats == {"suspend_exclude", "node_lines"}


@pytest.mark.parametrize("release", RELEASES)
def test_every_release_is_known(release: str) -> None:
    assert backfill(hs.Policy.preset("slurm", release=release))["release"] == release
    assert backfill(hs.policy.parse_policy(f"slurm:release={release}"))["release"] == release
    assert backfill(hs.Policy(backfill={"name": "slurm", "release": float(release)}))["release"] == release


@pytest.mark.parametrize(
    "policy",
    [
        lambda: hs.Policy.from_slurm_conf("slurm.conf", bf_interval=60, release="24.05", order="vahrm"),
        lambda: hs.Policy.preset("slurm", bf_max_job_test=7, suspend_exclude="0-3,7", node_lines="4*8*1+2*16*10"),
        lambda: hs.Policy.preset("slurm", conf="slurm.conf", beats={"main": [1.0, 2.5], "scan": [3]}),
    ],
)
def test_names_and_dictionaries_lead_back(policy: Any) -> None:
    made = policy()
    assert hs.Policy.from_dict(made.to_dict()) == made
    assert hs.policy.parse_policy(made.name) == made
    assert pickle.loads(pickle.dumps(made)) == made
    Path("slurm.conf").unlink()
    assert hs.Policy.from_dict(made.to_dict()) == made


def test_names_stay_short() -> None:
    beats = {"main": np.arange(0.0, 5000.0), "backfill": list(range(0, 5000, 30))}
    policy = hs.Policy.from_slurm_conf("slurm.conf", beats=beats)
    other = hs.Policy.from_slurm_conf("slurm.conf", beats=beats | {"main": np.arange(0.5, 5000.0)})
    assert len(policy.name) < 150
    assert policy.name != other.name
    assert backfill(policy)["main_beats"][-1] == 4999.0
    unnamed = hs.Policy(**{role: part for role, part in policy.to_dict().items() if role != "name"})
    assert len(unnamed.name) < 250
    assert hs.Policy(backfill="slurm").name == "fcfs/slurm/lowest-id"


def test_beats_are_a_dictionary_a_table_or_a_file() -> None:
    table = pl.DataFrame({"loop": ["main", "scan", "main"], "time_s": [1.0, 2.0, 3.5]})
    table.write_csv("beats.csv")
    for beats in ({"main": [1.0, 3.5], "scan": np.array([2.0])}, table, "beats.csv", Path("beats.csv")):
        own = backfill(hs.Policy.from_slurm_conf("slurm.conf", beats=beats))
        assert (own["main_beats"], own["scan_beats"], own["epilog_beats"]) == ([1.0, 3.5], [2.0], [])
    assert backfill(hs.policy.parse_policy("slurm:beats=beats.csv"))["main_beats"] == [1.0, 3.5]


@pytest.mark.parametrize(
    ("beats", "fault"),
    [
        (
            {"mian": [1]},
            "policy.beats.mian: found `[1]`, expected one of main, backfill, recompute, epilog, scan, grid, clean; did",
        ),
        ({"main": [2, 1]}, "policy.beats.main: found `1` behind `2`, expected ascending seconds on the log's clock"),
        ({"main": [1, np.nan]}, "policy.beats.main: found no list of finite numbers"),
        ({"main": ["a"]}, "policy.beats.main: found `['a']`, expected ascending seconds"),
        (7, "policy.beats: found `int`, expected a dictionary of ascending seconds by loop"),
        (pl.DataFrame({"loop": ["main"]}), "policy.beats: found columns loop, expected columns loop, time_s"),
        ("nowhere.csv", "nowhere.csv: found no such file, expected a dictionary of ascending seconds by loop"),
    ],
)
def test_beats_that_are_none(beats: Any, fault: str) -> None:
    with pytest.raises(ConfigError) as raised:
        hs.Policy.from_slurm_conf("slurm.conf", beats=beats)
    assert str(raised.value).startswith(fault)


@pytest.mark.parametrize(
    ("given", "fault"),
    [
        ({"backfill": "plan"}, "policy.backfill: found `plan`, expected nothing with conf"),
        ({"release": "23.12"}, "policy.release: found `23.12`, expected one of 22.05, 23.02"),
        ({"unsupported": "no"}, "policy.unsupported: found `no`, expected one of error, warn"),
        ({"bf_intervall": 3}, "policy.bf_intervall: found `3`, expected one of"),
        ({"beats": {"main": [3]}, "main_beats": [3]}, "policy.beats.main: found beats, expected nothing with main_be"),
    ],
)
def test_arguments_that_cannot_be(given: dict[str, Any], fault: str) -> None:
    with pytest.raises(ConfigError) as raised:
        hs.Policy.from_slurm_conf("slurm.conf", **given)
    assert str(raised.value).startswith(fault)


def test_what_only_slurm_takes() -> None:
    with pytest.raises(ConfigError, match=r"slurm takes `conf`, as in slurm:conf=slurm\.conf$"):
        hs.Policy.preset("easy", conf="slurm.conf")
    with pytest.raises(ConfigError, match=r"policy\.unsupported: found `warn`, expected conf with it"):
        hs.Policy.preset("slurm", unsupported="warn")
    with pytest.raises(ConfigError, match=r"policy\.conf: found `7`, expected the path of a slurm\.conf"):
        hs.policy.parse_policy("slurm:conf=7")


def test_another_sleep_is_refused() -> None:
    for sleep in ("timeout", {"name": "timeout", "min_idle_s": 60}):
        with pytest.raises(ConfigError, match=r"policy\.sleep: found `timeout`, expected none: backfill `slurm` has a"):
            hs.Policy.preset("slurm", sleep=sleep)


def test_warnings_point_to_the_caller(conf: Path) -> None:
    conf.write_text(f"Wombat=3\n{CONF}", encoding="utf-8")
    for make in (lambda: hs.Policy.from_slurm_conf(conf), lambda: hs.Policy.preset("slurm", conf=os.fspath(conf))):
        with pytest.warns(PolicyWarning, match=r"^slurm\.conf: not known, and left out: `Wombat` \(line 1\)$") as found:
            make()
        assert {warning.filename for warning in found} == {__file__}
    conf.write_text(f"PreemptType=preempt/qos\n{CONF}", encoding="utf-8")
    with pytest.warns(PolicyWarning, match="PreemptType=preempt/qos"):
        hs.Policy.from_slurm_conf(conf, unsupported="warn")


def test_a_file_that_has_changed_is_read_again(conf: Path) -> None:
    jobs = pl.DataFrame({"job_id": [1], "submit_s": [0], "runtime_s": [5], "walltime_s": [60], "node_count": [1]})
    workload, platform = hs.Workload.from_polars(jobs), hs.Platform.homogeneous(6, 100, 400)
    for interval in (9, 11):
        conf.write_text(CONF.replace("bf_interval=9", f"bf_interval={interval}"), encoding="utf-8")
        result = hs.simulate(workload, platform, "slurm:conf=slurm.conf")
        assert result.provenance["policy"]["backfill"]["bf_interval"] == interval


def test_a_file_of_a_policy_names_one_next_to_it(tmp_path: Path) -> None:
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "slurm.conf").write_text(CONF.replace("=9", "=8"), encoding="utf-8")
    text = '[policy]\npreset = "slurm"\nconf = "slurm.conf"\nstarted_s = 3.0\n'
    (tmp_path / "site" / "policy.toml").write_text(text, encoding="utf-8")
    own = backfill(hs.Policy.from_toml("site/policy.toml"))
    assert (own["bf_interval"], own["started_s"]) == (8, 3.0)


def test_nodes_that_sleep_count_as_such() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not hs.Policy.from_slurm_conf("slurm.conf")._puts_to_sleep
        assert hs.Policy.from_slurm_conf("slurm.conf", suspend_time=600)._puts_to_sleep
    jobs = pl.DataFrame({"job_id": [1], "submit_s": [0], "runtime_s": [5], "walltime_s": [60], "node_count": [1]})
    with pytest.raises(ConfigError, match="no boot_s, shutdown_s, off_w"):
        hs.simulate(
            hs.Workload.from_polars(jobs),
            hs.Platform.homogeneous(6, 100, 400),
            hs.Policy.preset("slurm", suspend_time=60),
        )


def test_lines_of_another_machine_are_refused() -> None:
    jobs = pl.DataFrame({"job_id": [1], "submit_s": [0], "runtime_s": [5], "walltime_s": [60], "node_count": [1]})
    with pytest.raises(ConfigError, match=r"node_lines: found lines of 6 nodes under slurm:conf=slurm.conf, expected"):
        hs.simulate(hs.Workload.from_polars(jobs), hs.Platform.homogeneous(7, 100, 400), "slurm:conf=slurm.conf")


def test_limits_of_several_users_are_refused() -> None:
    jobs = pl.DataFrame({"job_id": [1, 2], "submit_s": [0, 100], "runtime_s": [5, 5], "node_count": [1, 1]})
    platform, policy = hs.Platform.homogeneous(6, 100, 400), hs.Policy.preset("slurm", bf_max_job_user=20)
    one = hs.Workload.from_polars(jobs.with_columns(user=pl.lit("ann")))
    assert hs.simulate(one, platform, policy).summary()["completed"] == 2
    two = hs.Workload.from_polars(jobs.with_columns(user=pl.Series(["ann", "bo"])), source="log.csv")
    with pytest.raises(
        ConfigError, match=r"bf_max_job_user: found 20, and 2 users in log\.csv, expected 0, or a log of"
    ):
        hs.simulate(two, platform, policy)


def test_lines_are_those_of_the_classes_if_there_are_none() -> None:
    jobs = pl.DataFrame({"job_id": [1], "submit_s": [0], "runtime_s": [5], "walltime_s": [60], "node_count": [1]})
    classes = [
        hs.NodeClass("a", 2, idle_w=100, tdp_w=400, weight=9),
        hs.NodeClass("b", 3, idle_w=100, tdp_w=400),
    ]
    result = hs.simulate(hs.Workload.from_polars(jobs), hs.Platform(classes), "slurm")
    assert result.provenance["policy"]["backfill"]["node_lines"] == "2*1*9+3*1*1"
    assert result.jobs["nodes"].to_list() == [[2]]


def test_what_ifs_pass_changed_classes_on_to_the_lines() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        platform = hs.Platform.from_slurm("slurm.conf")
    policy = hs.Policy.from_slurm_conf("slurm.conf")

    def lines(changed: hs.Platform, own: hs.Policy = policy) -> str:
        return str(backfill(fitted(own, changed, today=(policy, platform)))["node_lines"])

    assert lines(platform) == LINES
    # Names of nodes are as many as nodes.
    plain = [{key: value for key, value in one.to_dict().items() if key != "node_names"} for one in platform.classes]
    assert lines(hs.Platform([plain[0] | {"count": 5}, plain[1]])) == "2*8*3+2*8*3+1*8*3+4*16*1"
    assert lines(hs.Platform([plain[1] | {"weight": 20}])) == "4*16*20"
    assert lines(hs.Platform.homogeneous(6, 100, 400)) == ""
    own = hs.Policy.from_slurm_conf("slurm.conf", node_lines="7*4*1")
    assert lines(hs.Platform.homogeneous(7, 100, 400), own) == "7*4*1"
