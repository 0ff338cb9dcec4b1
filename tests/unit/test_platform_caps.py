"""Platforms that know power caps: tables by cap or a model, kept through files, pickles and sums, and their faults."""

from __future__ import annotations

import inspect
import json
import math
import pickle
import re
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import hetsched as hs
from hetsched import _core
from hetsched.power.forecast import predicted_by

HAS_CAPS = "cap_tables" in inspect.signature(_core.Machine).parameters and hasattr(_core.Records, "take_segments")
needs_caps = pytest.mark.skipif(not HAS_CAPS, reason="the engine runs no jobs under power caps yet")

PLAIN = hs.Platform.homogeneous(nodes=2, idle_w=50, tdp_w=250)
FREE = hs.VariationTable(["cpu", "mem"], power_w=[[200.0, 210.0], [200.0, 190.0]], cap_w=math.inf)
TABLES = {math.inf: FREE, 150.0: FREE.under_cap(150, static_w=50), 100.0: FREE.under_cap(100, static_w=50)}
BY_CAP = PLAIN.with_tables(actual=TABLES)
MODEL = PLAIN.with_cap_model(static_w=[40.0, 50.0], exponent=2, bound_ratio={"cpu": 1, "mem": 0.5})


def frame_of(tables: dict[float, hs.VariationTable]) -> pl.DataFrame:
    frames = [one.to_polars().with_columns(cap_w=pl.lit(cap)) for cap, one in tables.items()]
    return pl.concat([one.select("app", "node", "power_w", "time_ratio", "cap_w") for one in frames])


def test_tables_by_cap_ascend_and_the_one_without_a_cap_is_the_platforms_table() -> None:
    assert BY_CAP.actual is not None
    assert list(BY_CAP.actual_by_cap or {}) == [100.0, 150.0, math.inf]
    assert BY_CAP.actual == FREE
    assert (BY_CAP.predicted, BY_CAP.predicted_by_cap, BY_CAP.has_caps) == (None, None, True)
    assert repr(BY_CAP) == "<Platform: 2 nodes, actual tables by 3 caps>"
    assert repr(MODEL) == "<Platform: 2 nodes, cap model>"
    assert (PLAIN.has_caps, PLAIN.cap_model, PLAIN.actual_by_cap) == (False, None, None)


def test_applications_stand_as_in_the_table_without_a_cap() -> None:
    turned = hs.VariationTable(["mem", "cpu"], power_w=[[150.0, 140.0], [150.0, 149.0]])
    made = PLAIN.with_tables(actual={math.inf: FREE, 150: turned}, predicted={150: turned, math.inf: FREE})
    assert made.actual_by_cap is not None
    assert made.predicted_by_cap is not None
    assert made.actual_by_cap[150.0].apps == made.predicted_by_cap[150.0].apps == ("cpu", "mem")
    assert made.actual_by_cap[150.0].power_w.tolist() == [[150.0, 149.0], [150.0, 140.0]]


def test_by_cap_gives_what_with_tables_takes() -> None:
    filled = {
        cap: one if one.time_ratio is not None else one.under_cap(1e5, static_w=50) for cap, one in TABLES.items()
    }
    read = PLAIN.with_tables(actual=hs.VariationTable.by_cap(frame_of(filled)))
    assert list(read.actual_by_cap or {}) == [100.0, 150.0, math.inf]


@pytest.mark.parametrize("platform", [BY_CAP, MODEL, BY_CAP.with_tables(actual=TABLES, predicted=TABLES)])
def test_a_platform_with_caps_is_itself_through_dictionaries_json_and_pickles(platform: hs.Platform) -> None:
    again = [
        hs.Platform.from_dict(platform.to_dict()),
        hs.Platform.from_dict(json.loads(json.dumps(platform._content()))),
        pickle.loads(pickle.dumps(platform)),
        platform.with_known_draws("tdp").with_known_draws("measured"),
    ]
    for one in again:
        assert one == platform
        assert hash(one) == hash(platform)
        assert (one.sha256, one._tables_sha256) == (platform.sha256, platform._tables_sha256)
        assert one != PLAIN


def test_checksums_distinguish_caps() -> None:
    other = PLAIN.with_cap_model(static_w=[40.0, 51.0], exponent=2, bound_ratio={"cpu": 1, "mem": 0.5})
    assert len({PLAIN.sha256, MODEL.sha256, other.sha256}) == 3
    two = PLAIN.with_tables(actual={cap: TABLES[cap] for cap in (150.0, math.inf)})
    assert two.sha256 == BY_CAP.sha256
    assert two._tables_sha256 != BY_CAP._tables_sha256
    assert PLAIN.with_tables(actual=FREE)._tables_sha256 == {"actual": FREE.sha256, "predicted": None}


def test_a_file_says_the_model_and_the_tables(tmp_path: Path) -> None:
    (tmp_path / "p.toml").write_text(
        "nodes = 2\nidle_w = 50\ntdp_w = 250\n[cap_model]\nstatic_w = [40, 50]\nexponent = 2\n"
        "bound_ratio = { cpu = 1, mem = 0.5 }\n"
    )
    assert hs.Platform.from_toml(tmp_path / "p.toml") == MODEL
    capped = {cap: one.under_cap(1e5, static_w=50) if one is FREE else one for cap, one in TABLES.items()}
    frame_of(capped).write_csv(tmp_path / "caps.csv")
    (tmp_path / "q.toml").write_text('nodes = 2\nidle_w = 50\ntdp_w = 250\nactual = "caps.csv"\ncap_w = "all"\n')
    read = hs.Platform.from_toml(tmp_path / "q.toml")
    assert list(read.actual_by_cap or {}) == [100.0, 150.0, math.inf]
    assert read.actual is not None
    assert read.actual.power_w.tolist() == FREE.power_w.tolist()


@pytest.mark.parametrize(
    ("tables", "message"),
    [
        ({"actual": {150.0: TABLES[150.0]}}, "actual: found caps of 150 W, expected a table without a cap among them"),
        ({"actual": {}}, "actual: found no tables, expected a table without a cap"),
        ({"actual": {**TABLES, -1.0: FREE}}, "actual: found the key -1.0, expected watts above 0 as keys"),
        ({"actual": {**TABLES, "150": FREE}}, "actual: found the key '150', expected watts above 0 as keys"),
        ({"actual": {**TABLES, 120.0: TABLES[100.0]}}, "actual[120.0]: found a table under a cap of 100 W"),
        ({"actual": {**TABLES, 120.0: "t.csv"}}, "actual[120.0]: found a str, expected a VariationTable"),
        (
            {"actual": {**TABLES, 120.0: hs.VariationTable(["cpu"], power_w=[[1.0, 1.0]])}},
            "actual[120]: found `no application mem`",
        ),
        ({"actual": TABLES, "predicted": FREE}, "predicted: found a single table, expected a table for each cap"),
        ({"actual": FREE, "predicted": TABLES}, "predicted: found tables by cap, expected a single table"),
        (
            {"actual": TABLES, "predicted": {math.inf: FREE}},
            "predicted: found caps of inf W, expected those of `actual`, 100, 150, inf W",
        ),
        (
            {"actual": {math.inf: hs.VariationTable(["a"], power_w=[[1.0]])}},
            "actual: found `1 node`, expected a table of 2",
        ),
    ],
)
def test_faults_of_tables_by_cap(tables: dict[str, Any], message: str) -> None:
    with pytest.raises(hs.ConfigError, match=re.escape(message)):
        PLAIN.with_tables(**tables)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        ({}, "static_w, static_ratio: found neither, expected exactly one of the two"),
        ({"static_w": 5, "static_ratio": 0.5}, "static_w, static_ratio: found both, expected exactly one"),
        (
            {"static_w": [1.0, 2.0, 3.0]},
            "static_w: found `3 values`, expected one number, or one for each of the 2 nodes",
        ),
        ({"static_w": [1.0, -2.0]}, "static_w[1]: found `-2`, expected a number between 0 and 1e+06"),
        ({"static_w": "much"}, "static_w: found"),
        ({"static_ratio": 1.5}, "static_ratio: found `1.5`, expected a number between 0 and 1"),
        ({"static_w": 5, "exponent": 0.5}, "exponent: found `0.5`, expected a number between 1 and 10"),
        ({"static_w": 5, "bound_ratio": 2}, "bound_ratio: found `2`, expected a number between 0 and 1"),
        ({"static_w": 5, "bound_ratio": {"cpu": 2}}, "bound_ratio[cpu]: found `2`, expected a number between 0 and 1"),
        (
            {"static_w": 5, "least_speed_ratio": 0},
            "least_speed_ratio: found `0`, expected a number between 0.001 and 1",
        ),
    ],
)
def test_faults_of_a_cap_model(model: dict[str, Any], message: str) -> None:
    with pytest.raises(hs.ConfigError, match="^" + re.escape(message)):
        PLAIN.with_cap_model(**model)
    with pytest.raises(hs.ConfigError, match=re.escape(message)):
        hs.Platform(PLAIN.classes, cap_model=model)


def test_nodes_that_jobs_share_have_caps_too() -> None:
    shared = hs.Platform.homogeneous(nodes=2, idle_w=50, tdp_w=250, slots=4, exclusive=False)
    assert shared.with_cap_model(static_w=50).has_caps
    assert shared.with_tables(actual=TABLES).has_caps
    assert not shared.has_caps


def test_faults_of_what_does_not_go_together() -> None:
    with pytest.raises(hs.ConfigError, match="a model with tables by cap"):
        BY_CAP.with_cap_model(static_w=50)
    with pytest.raises(hs.ConfigError, match="a model with tables by cap"):
        MODEL.with_tables(actual=TABLES)
    with pytest.raises(hs.ConfigError, match=r"bound_ratio: found nothing for mem, expected a share"):
        PLAIN.with_tables(actual=FREE).with_cap_model(static_w=50, bound_ratio={"cpu": 1.0})
    with pytest.raises(hs.ConfigError, match=r"cap_model\.static: found `5`"):
        hs.Platform.from_dict({"nodes": 2, "idle_w": 50, "tdp_w": 250, "cap_model": {"static": 5}})
    with pytest.raises(hs.ConfigError, match=r"actual\[0\]: found no cap_w"):
        hs.Platform.from_dict(
            {"nodes": 2, "idle_w": 50, "tdp_w": 250, "actual": [{"apps": ["a"], "power_w": [[1, 1]]}]}
        )


def test_a_star_stands_for_all_other_applications() -> None:
    made = PLAIN.with_tables(actual=FREE).with_cap_model(static_w=50, bound_ratio={"cpu": 1.0, "*": 0.5})
    assert made.cap_model is not None
    assert made.cap_model["bound_ratio"] == {"*": 0.5, "cpu": 1.0}


def test_a_model_goes_to_the_engine_as_one_value_a_node() -> None:
    with_table = PLAIN.with_cap_model(static_w=40).with_tables(actual=FREE)
    assert with_table.cap_model == {
        "static_w": 40.0,
        "exponent": 1.0,
        "bound_ratio": 1.0,
        "least_speed_ratio": 0.2,
    }
    told = with_table._draws.core(2)["cap_model"]
    assert told["static_w"].tolist() == [40.0, 40.0]
    assert told["static_ratio"] is None
    share = PLAIN.with_cap_model(static_ratio=0.25)._draws.core(2)["cap_model"]
    assert (share["static_w"], share["static_ratio"]) == (None, 0.25)
    assert [cap for cap, _, _ in BY_CAP._draws.core(2)["cap_tables"]] == [100.0, 150.0, math.inf]


def test_a_predictor_is_asked_for_each_cap() -> None:
    noisy = predicted_by(BY_CAP, hs.power.Noisy(0.1, seed=3))
    assert noisy.predicted_by_cap is not None
    assert list(noisy.predicted_by_cap) == [100.0, 150.0, math.inf]
    assert noisy.predicted_by_cap[150.0] != BY_CAP.actual_by_cap[150.0]
    with pytest.raises(hs.ConfigError, match=r"predictor: found a single table with tables by cap"):
        predicted_by(BY_CAP, FREE)


def jobs(**more: list[Any]) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "job_id": [1, 2],
            "submit_s": [0, 0],
            "runtime_s": [100, 100],
            "node_count": [1, 1],
            "app": ["cpu", "mem"],
            **more,
        }
    )


def test_jobs_bring_caps_that_are_checked_kept_and_given_back() -> None:
    workload = hs.Workload.from_polars(jobs(cap_w=[150, None]))
    assert workload.to_polars()["cap_w"].to_list() == [150.0, None]
    assert np.isnan(workload._caps()["cap_w"]).tolist() == [False, True]
    assert hs.Workload.from_polars(jobs(cap_w=[None, None]))._caps() == {}
    result = hs.simulate(hs.Workload.from_polars(jobs(cap_w=pl.Series([None, None], dtype=pl.Float64))), PLAIN)
    assert result.jobs["cap_w"].to_list() == [None, None]


@pytest.mark.parametrize(("value", "found"), [(0.0, "`0`"), (-5.0, "`-5`"), (2e6, "`2e+06`"), (float("nan"), "`NaN`")])
def test_a_cap_of_a_job_is_watts_above_zero(value: float, found: str) -> None:
    message = f"row 1, column `cap_w`: found {found}, expected watts above 0 to 1e"
    with pytest.raises(hs.TraceError, match=re.escape(message[:-2]).replace(re.escape(found), ".*")):
        hs.Workload.from_polars(jobs(cap_w=[100.0, value]))
    with pytest.raises(hs.TraceError, match=r"`cap_w`, in watts"):
        hs.Workload.from_polars(jobs(cap_kw=[0.1, 0.2]))


def test_caps_of_jobs_need_a_platform_that_knows_them() -> None:
    workload = hs.Workload.from_polars(jobs(cap_w=[150.0, None]))
    with pytest.raises(hs.ConfigError, match=r"workload.cap_w: found 150 of job 1, expected none: the platform has"):
        hs.simulate(workload, PLAIN)


@pytest.mark.parametrize("bound", [True, "all"])
def test_no_bound_of_the_window_is_known_under_caps(bound: object) -> None:
    with pytest.raises(hs.ConfigError, match=rf'bound: found `{bound}`, expected False or "starts": no window'):
        hs.simulate(hs.Workload.from_polars(jobs()), BY_CAP, bound=bound)


@needs_caps
def test_jobs_that_caps_slow_are_left_out_of_the_bound_given_the_starts() -> None:
    workload = hs.Workload.from_polars(jobs(cap_w=[150.0, None]))
    result = hs.simulate(workload, BY_CAP, bound="starts")
    summary, (capped, free) = result.summary(), result.jobs["energy_j"].to_list()
    assert (summary["bound_left_out_jobs"], summary["bound_left_out_energy_j"]) == (1, capped)
    assert 0 < summary["energy_bound_starts_j"] <= free


@needs_caps
def test_a_session_keeps_tables_by_cap(tmp_path: Path) -> None:
    workload = hs.Workload.from_polars(jobs(cap_w=[150.0, None]))
    session = hs.Session(workload, BY_CAP)
    session.step_until(10.0)
    session.save(tmp_path / "s.hetsched")
    again = hs.Session.load(tmp_path / "s.hetsched").run()
    assert again == session.run()
    assert again.provenance["tables"]["caps_w"] == [100.0, 150.0]
    assert again.jobs["end_s"].to_list() == [150.0, 100.0]
    assert again.jobs["lowest_cap_w"].to_list() == [150.0, None]


@needs_caps
def test_sweeps_know_platforms_with_caps_apart() -> None:
    workload = hs.Workload.from_polars(jobs(cap_w=[100.0, 150.0]))
    table = hs.sweep(workload, {"tables": BY_CAP, "model": MODEL}, "easy", workers=2, progress=None)
    assert table["energy_j"].n_unique() == 2
