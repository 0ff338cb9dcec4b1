"""Events as people write them: dates, spans, ranges of nodes and racks, in frames and in every kind of file."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import polars as pl
import pytest

import hetsched as hs

ZERO = datetime(2007, 2, 1, tzinfo=timezone.utc)
JOBS = pl.DataFrame(
    {"job_id": [1, 2], "submit_s": [ZERO, ZERO + timedelta(hours=1)], "runtime_s": [3600] * 2, "node_count": [1, 1]}
)
DATED = hs.Workload.from_polars(JOBS)
SECONDS = hs.Workload.from_polars(JOBS.with_columns(submit_s=pl.Series([0.0, 3600.0])))
RACKS = hs.Platform(
    [
        hs.NodeClass("a", 4, 100, 300, racks={"r1": "0-1", "r2": "2-3"}),
        {"name": "b", "count": 2, "idle_w": 100, "tdp_w": 300, "racks": "r2"},
    ]
)
PLAIN = hs.Platform.homogeneous(nodes=6, idle_w=100, tdp_w=300)
ZERO_S = ZERO.timestamp()


def rows(events: hs.Events, platform: hs.Platform = PLAIN, workload: hs.Workload = DATED) -> list[tuple]:
    """Rows on the log's clock, in hours after its first submit."""
    frame = events.on(workload, platform).to_polars()
    first_s = workload.to_polars()["submit_s"][0]
    return [
        ((time_s - first_s) / 3600, kind, node, None if until_s is None else (until_s - first_s) / 3600)
        for time_s, kind, node, until_s in frame.select("time_s", "kind", "node", "until_s").rows()
    ]


CSV = """time_s,kind,nodes,value,for_s
2007-02-01T17:00:00Z,budget,,1500,03:00:00
2007-02-01T02:00:00+01:00,maintenance,"0-1,4",,1-00:00:00
"""
# In a CSV file without announced_s maintenance is known at its beginning.
EXPECTED = [(1, "maintenance", 0, 25), (1, "maintenance", 1, 25), (1, "maintenance", 4, 25), (17, "budget", None, 20)]


def test_dates_spans_and_ranges_in_every_kind_of_file(tmp_path):
    (tmp_path / "e.csv").write_text(CSV)
    (tmp_path / "e.toml").write_text("""
        [[events]]
        time_s = 2007-02-01T17:00:00Z
        kind = "budget"
        value = 1500
        for_s = 10800
        [[events]]
        time_s = "2007-02-01 02:00+01"
        kind = "maintenance"
        nodes = "0-1,4"
        until_s = 2007-02-02T01:00:00Z
    """)
    frame = pl.DataFrame(
        {
            "time_s": [ZERO + timedelta(hours=17), ZERO + timedelta(hours=1)],
            "kind": ["budget", "maintenance"],
            "nodes": pl.Series([None, [0, 1, 4]], dtype=pl.List(pl.Int64)),
            "value": [1500.0, None],
            "for_s": [timedelta(hours=3), timedelta(days=1)],
        }
    )
    frame.write_parquet(tmp_path / "e.parquet")
    for name in ("e.csv", "e.toml", "e.parquet"):
        assert rows(hs.read_events(tmp_path / name)) == EXPECTED, name
    assert rows(hs.Events.from_polars(frame)) == EXPECTED


def test_dates_without_an_offset_are_of_a_time_zone(tmp_path):
    text = "time_s,kind,value\n2007-02-01T17:00,budget,1500\n2007-07-01T17:00,budget,1400\n"
    (tmp_path / "e.csv").write_text(text)
    (tmp_path / "e.toml").write_text(
        'timezone = "Europe/Berlin"\n[[events]]\ntime_s = 2007-02-01T17:00:00\nkind = "budget"\nvalue = 1500\n'
    )
    assert rows(hs.read_events(tmp_path / "e.csv"))[0][0] == 17
    berlin = rows(hs.read_events(tmp_path / "e.csv", timezone="Europe/Berlin"))
    assert [one[0] for one in berlin] == [16, 150 * 24 + 15]
    assert rows(hs.read_events(tmp_path / "e.toml"))[0][0] == 16
    naive = pl.DataFrame({"time_s": [datetime(2007, 2, 1, 17)], "kind": ["budget"], "value": [1.0]})
    assert rows(hs.Events.from_polars(naive, timezone="Europe/Berlin"))[0][0] == 16
    with pytest.raises(hs.ConfigError, match="timezone: found `Berlin`, expected the name of a time zone such as"):
        hs.Events.from_polars(naive, timezone="Berlin")


def failure(**more: object) -> hs.Events:
    return hs.Events.from_polars(pl.DataFrame({"time_s": [3600.0], "kind": ["node_failed"], **more}))


def test_a_rack_fails_in_one_row_and_is_repaired():
    events = failure(rack=["r2"], for_s=["04:00:00"])
    assert len(events) == 2
    expected = [(5, "node_repaired", node, None) for node in (2, 3, 4, 5)]
    found = rows(events, RACKS, SECONDS)
    assert found == [(1, "node_failed", node, None) for node in (2, 3, 4, 5)] + expected
    by_number = failure(nodes=["2-5"], until_s=[5 * 3600.0])
    assert events.on(SECONDS, RACKS) == by_number
    one = hs.simulate(SECONDS, RACKS, "easy", events=events)
    assert one.jobs.equals(hs.simulate(SECONDS, RACKS, "easy", events=by_number).jobs)
    assert one.provenance["options"] == hs.simulate(SECONDS, RACKS, "easy", events=by_number).provenance["options"]


def test_seconds_and_dates_run_together():
    budgets = hs.Events.from_polars(
        pl.DataFrame({"time_s": ["2007-02-01T01:00"], "kind": ["budget"], "value": [900.0], "for_s": ["02:00:00"]})
    )
    late = hs.Events.from_polars(pl.DataFrame({"time_s": [ZERO_S + 1800], "kind": ["price"], "value": [2.0]}))
    both = budgets + late
    assert rows(both)[0][0] == 0.5
    policy = "easy:power=system-budget"
    result = hs.simulate(DATED, PLAIN, policy, events=both)
    assert result.summary()["over_budget_s"] == 0
    assert result.jobs["start_s"].to_list() == [ZERO_S, ZERO_S + 3600]
    assert hs.Events.from_polars(both.to_polars()) == both


def test_a_budget_follows_prices_with_dates():
    times = ["2007-02-01T00:00", "2007-02-01T08:00"]
    prices = hs.Events.from_polars(pl.DataFrame({"time_s": times, "kind": ["price"] * 2, "value": [0.1, 0.3]}))
    found = hs.Events.budget_from_price(prices, low_w=1000, high_w=2000, threshold=0.2)
    assert rows(found) == [(0, "budget", None, 8), (8, "budget", None, None)]
    mixed = prices + hs.Events.from_polars(pl.DataFrame({"time_s": [0.0], "kind": ["price"], "value": [0.1]}))
    with pytest.raises(hs.ConfigError, match="prices: found rows with dates and rows with seconds"):
        hs.Events.budget_from_price(mixed, low_w=1000, high_w=2000, threshold=0.2)


def test_a_sweep_and_a_session_take_them():
    events = failure(rack=["r1"], for_s=["00:30:00"]) + hs.Events.from_polars(
        pl.DataFrame({"time_s": ["2007-02-01"], "kind": ["price"], "value": [2.0]})
    )
    told = hs.Contract(price_per_kwh=None, carbon_g_per_kwh=1, starts="2007-02-01T00:00")
    found = hs.sweep(SECONDS, RACKS, ["easy"], events=events, contract=told, workers=1, progress=None)
    result = hs.simulate(SECONDS, RACKS, "easy", events=events, contract=told)
    assert found["cost"][0] == result.summary()["cost"] > 0
    session = hs.Session(SECONDS, RACKS, "easy", contract=told)
    session.inject(failure(rack=["r1"], for_s=["00:30:00"]))
    assert session.run().jobs.equals(result.jobs)


FAULTS = [
    (
        {"time_s": ["soon"], "node": [1]},
        r"events.time_s, row 0: found `soon`, expected seconds up to 1e\+12, or a date such as",
    ),
    ({"nodes": ["1-"]}, r"events.nodes, row 0: found `1-`, expected nodes such as `0-71`"),
    ({"nodes": ["1"], "node": [1]}, "events.nodes, row 0: found `1`, expected nothing with node"),
    ({"rack": ["r"], "node": [1]}, "events.rack, row 0: found `r`, expected nothing with node or nodes"),
    (
        {"node": [1], "for_s": ["soon"]},
        "events.for_s, row 0: found `soon`, expected seconds above 0, or a span such as",
    ),
    (
        {"node": [1], "for_s": [1], "until_s": [9e3]},
        "events.for_s, row 0: found `1`, expected nothing with until_s",
    ),
    ({"node": [1], "until_s": ["2007-02-01"]}, "events.until_s, row 0: .* expected a date where time_s is one"),
]


@pytest.mark.parametrize(("more", "message"), FAULTS)
def test_faults_are_reported_with_their_rows(more, message):
    with pytest.raises(hs.ConfigError, match=message):
        failure(**more)


def test_what_a_run_does_not_know_is_reported():
    with pytest.raises(hs.ConfigError, match=r"events.rack: found `r3`, expected one of the platform's racks: r1, r2"):
        hs.simulate(SECONDS, RACKS, "easy", events=failure(rack=["r3"]))
    with pytest.raises(hs.ConfigError, match=r"events.rack: found `r3`, expected no rack: the platform names none"):
        hs.simulate(SECONDS, PLAIN, "easy", events=failure(rack=["r3"]))
    dated = hs.Events.from_polars(pl.DataFrame({"time_s": ["2007-02-01"], "kind": ["price"], "value": [2.0]}))
    with pytest.raises(
        hs.ConfigError, match=r"events.time_s: found the date 2007-02-01T00:00:00 .UTC., expected seconds"
    ):
        hs.simulate(SECONDS, PLAIN, "easy", events=dated)


def test_racks_of_a_class():
    assert RACKS.racks == {"r1": [0, 1], "r2": [2, 3, 4, 5]}
    assert hs.Platform.from_dict(RACKS.to_dict()) == RACKS
    assert hs.Platform.homogeneous(nodes=2, idle_w=1, tdp_w=2, racks="x").racks == {"x": [0, 1]}
    with pytest.raises(hs.ConfigError) as error:
        hs.NodeClass("a", 4, 100, 300, racks={"r1": "0-1", "r2": "0", "r3": "7", "r4": "x"})
    assert [fault[0] for fault in error.value.faults] == ["racks.r2", "racks.r3", "racks.r4"]
