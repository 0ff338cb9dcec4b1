"""Power caps: tables of several caps in one file, and what a cap does to nodes that draw more."""

import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hetsched as hs
from hetsched.variation.under_cap import slowdown, speed_under_cap

HPCG = hs.VariationTable(["hpcg", "stream"], power_w=[[240.0, 220.0, 190.0], [180.0, 170.0, 175.0]])


def messages_of(make):
    with pytest.raises(hs.ConfigError) as caught:
        make()
    return str(caught.value).splitlines()


def capped(*caps):
    return pl.concat([HPCG.under_cap(cap, static_ratio=0.3).to_polars() for cap in caps])


@pytest.fixture
def two_caps(tmp_path):
    capped(150.0, 200.0).write_parquet(tmp_path / "t.parquet")
    capped(150.0, 200.0).write_csv(tmp_path / "t.csv")
    return tmp_path


# --- files


@given(st.lists(st.floats(1e-300, 1e6), min_size=1, max_size=8), st.sampled_from([None, 1e-3, 40.0, math.inf]))
def test_csv_keeps_every_digit_and_the_cap(tmp_path_factory, watts, cap_w):
    path = tmp_path_factory.mktemp("t") / "t.csv"
    made = hs.VariationTable(["7"], power_w=[watts], cap_w=cap_w)
    made.write(path)
    again = hs.read_table(path)
    assert again == made
    assert again.cap_w == cap_w
    assert hs.VariationTable.from_dict(made.to_dict()) == made


def test_only_a_table_with_a_cap_has_its_column():
    assert HPCG.cap_w is None
    assert "cap_w" not in HPCG.to_polars().columns
    assert HPCG.under_cap(200, static_w=0).to_polars()["cap_w"].to_list() == [200.0] * 6


NODES = {"nodes": 3, "idle_w": 50, "tdp_w": 300}


def test_a_platform_takes_one_cap_of_its_tables(two_caps):
    files = {"actual": "t.csv", "predicted": "t.parquet"}
    platform = hs.Platform.from_dict({**NODES, **files, "cap_w": 200}, folder=two_caps)
    assert platform.actual == platform.predicted == HPCG.under_cap(200, static_ratio=0.3)
    assert hs.Platform.from_dict(platform.to_dict()) == platform
    found = messages_of(lambda: hs.Platform.from_dict({**NODES, "actual": "t.csv"}, folder=two_caps))
    assert found == [
        (
            f"{two_caps / 't.csv'}.cap_w: found `2 caps and none asked for`, expected one of 150, 200; "
            "as the key `cap_w` next to `actual`"
        )
    ]


def test_a_cap_without_a_tables_file_is_refused():
    table = HPCG.under_cap(200, static_w=0).to_dict()
    for more in ({}, {"actual": table}):
        assert messages_of(lambda more=more: hs.Platform.from_dict({**NODES, **more, "cap_w": 200})) == [
            "cap_w: found `200`, expected nothing without the file of a table as `actual` or `predicted`"
        ]
    assert messages_of(lambda: hs.Platform.from_dict({**NODES, "actual": "t.csv", "cap_w": -1}))[0].startswith(
        "cap_w: found `-1`, expected watts above 0"
    )


def test_predictions_hold_under_the_cap_of_what_is_charged():
    bare = hs.Platform.homogeneous(**NODES)
    low, high = (HPCG.under_cap(cap, static_ratio=0.3) for cap in (150, 200))
    assert messages_of(lambda: bare.with_tables(actual=low, predicted=high)) == [
        "predicted: found `a cap of 200 W`, expected the cap of the actual table, 150 W"
    ]
    for actual, predicted in ((low, low), (low, HPCG), (HPCG, high)):
        assert bare.with_tables(actual=actual, predicted=predicted).predicted == predicted


@pytest.mark.parametrize("name", ["t.parquet", "t.csv"])
def test_one_cap_is_read_out_of_several(two_caps, name):
    for cap in (150, 200.0):
        read = hs.read_table(two_caps / name, cap_w=cap)
        assert read == HPCG.under_cap(cap, static_ratio=0.3)
        # A platform's file names a table by its path alone, which would not say which cap is meant.
        assert read.path is None


def test_every_cap_is_a_table():
    tables = hs.VariationTable.by_cap(capped(200.0, 150.0, math.inf))
    assert list(tables) == [150.0, 200.0, math.inf]
    assert tables[150.0] == HPCG.under_cap(150.0, static_ratio=0.3)
    assert tables[math.inf].power_w.tolist() == HPCG.power_w.tolist()
    assert [table.cap_w for table in tables.values()] == list(tables)


def test_a_cap_that_is_not_there_lists_those_that_are(two_caps):
    path = two_caps / "t.parquet"
    assert messages_of(lambda: hs.read_table(path)) == [
        f"{path}.cap_w: found `2 caps and none asked for`, expected one of 150, 200"
    ]
    assert messages_of(lambda: hs.read_table(path, cap_w=40)) == [f"{path}.cap_w: found `40`, expected one of 150, 200"]
    assert messages_of(lambda: hs.VariationTable.from_polars(HPCG.to_polars(), cap_w=40)) == [
        "table.cap_w: found `columns app, node, power_w`, expected a column `cap_w`"
    ]
    assert messages_of(lambda: hs.VariationTable.by_cap(HPCG.to_polars()))[0].startswith("table.cap_w: found `columns")


@pytest.mark.parametrize("wrong", [0.0, -5.0, math.nan, None])
def test_a_column_of_caps_holds_watts(wrong):
    frame = pl.DataFrame({"app": "a", "node": [0, 0], "power_w": 1.0, "cap_w": [40.0, wrong]}, strict=False)
    (found,) = messages_of(lambda: hs.VariationTable.by_cap(frame))
    assert found.startswith("table.cap_w, row 1: found `")
    assert found.endswith("expected watts above 0, or infinite: without a cap")


def test_a_gap_under_one_cap_names_the_cap():
    frame = capped(150.0, 200.0)[:-1]
    (found,) = messages_of(lambda: hs.VariationTable.by_cap(frame))
    assert found.startswith("table, cap 200 W: found no row for application stream on node 2, expected")


@pytest.mark.parametrize("wrong", [0, -1.0, math.nan, "40", True])
def test_what_is_no_cap(wrong):
    (found,) = messages_of(lambda: hs.VariationTable(["a"], power_w=[[1.0]], cap_w=wrong))
    assert found.startswith("cap_w: found")


# --- what a cap does


def test_half_the_dynamic_watts_by_hand():
    table = hs.VariationTable(["a"], power_w=[[180.0, 280.0, 480.0]], time_ratio=[[1.0, 1.0, 1.1]])
    # 80 W are static. Under 180 W, 100 W remain of 100, 200, 400: speeds 1, 1/2, 1/4 where watts follow the speed.
    linear = table.under_cap(180.0, static_w=80.0)
    assert linear.power_w.tolist() == [[180.0, 180.0, 180.0]]
    assert linear.time_ratio == pytest.approx(np.array([[1.0, 2.0, 4.4]]))
    # With their square: 1, sqrt(1/2), 1/2. Half of the time waits for memory.
    square = table.under_cap(180.0, static_w=80.0, exponent=2, bound_ratio=0.5)
    assert square.time_ratio == pytest.approx(np.array([[1.0, 0.5 * math.sqrt(2) + 0.5, 1.1 * 1.5]]))


def test_each_application_has_its_share_and_each_node_its_static_watts():
    capped = HPCG.under_cap(170, static_w=[70.0, 70.0, 90.0], bound_ratio={"stream": 0.0, "hpcg": 1.0})
    assert capped.time_ratio[0] == pytest.approx([170 / 100, 150 / 100, 100 / 80])
    assert capped.time_ratio[1].tolist() == [1.0, 1.0, 1.0]
    assert capped.power_w[1].tolist() == [170.0, 170.0, 170.0]


models = st.fixed_dictionaries(
    {
        "static_ratio": st.floats(0, 0.9),
        "exponent": st.floats(1, 3),
        "bound_ratio": st.floats(0, 1),
        "least_speed_ratio": st.just(1e-3),
    }
)
powers = st.lists(st.floats(50, 500), min_size=1, max_size=6)


@given(powers, models, st.floats(0, 500))
def test_a_cap_that_binds_no_job_changes_nothing(watts, model, above):
    table = hs.VariationTable(["a"], power_w=[watts], time_ratio=[np.linspace(0.9, 1.1, len(watts))])
    for cap_w in (max(watts), max(watts) + above, math.inf):
        same = table.under_cap(cap_w, **model)
        assert same.power_w.tolist() == table.power_w.tolist()
        assert same.time_ratio.tolist() == table.time_ratio.tolist()


@given(powers, models, st.floats(0.5, 1.1), st.floats(0.5, 1.1))
def test_a_lower_cap_draws_less_and_takes_longer(watts, model, one, other):
    low, high = sorted((one * max(watts), other * max(watts)))
    table = hs.VariationTable(["a"], power_w=[watts])
    tight, loose = (table.under_cap(cap, **{**model, "static_ratio": 0.4}) for cap in (low, high))
    assert (tight.power_w <= loose.power_w).all()
    assert (tight.power_w <= low).all()
    assert (tight.time_ratio >= loose.time_ratio).all()
    assert (loose.time_ratio >= 1).all()


@given(powers, models, st.floats(0.5, 1.0))
def test_the_hungrier_node_is_the_slower_one_under_a_cap(watts, model, share):
    table = hs.VariationTable(["a"], power_w=[sorted(watts)])
    times = table.under_cap(share * max(watts), **{**model, "static_ratio": 0.1}).time_ratio[0]
    # Equal but for rounding where no share of the runtime follows the clock.
    assert (np.diff(times) >= -1e-12).all()


@given(st.floats(50, 500), models, st.floats(0.3, 1.0))
def test_the_watts_at_the_speed_under_a_cap_are_the_cap(watts, model, share):
    static, exponent = model["static_ratio"] * watts * 0.3, model["exponent"]
    cap = share * watts
    speed = speed_under_cap([watts], cap, static_w=static, exponent=exponent)
    assert static + (watts - static) * speed**exponent == pytest.approx(cap)


@given(st.floats(50, 500), st.floats(0.3, 1.0), st.floats(1, 3))
def test_all_clock_and_no_static_watts_cost_no_energy_at_exponent_one(watts, share, exponent):
    speed = speed_under_cap([watts], share * watts, static_w=0.0, exponent=exponent)
    energy = share * watts * slowdown(speed)
    # E = P f**a / f: the same at a = 1, less the lower the speed above it.
    assert energy == pytest.approx(watts * speed ** (exponent - 1))
    assert (energy <= watts * (1 + 1e-12)).all()


@given(powers, models, st.floats(0.1, 1.0))
def test_the_least_cap_in_the_message_works_and_a_watt_less_does_not(watts, model, least):
    table = hs.VariationTable(["a"], power_w=[watts])
    model = {**model, "least_speed_ratio": least}
    needs = max(w * (model["static_ratio"] + (1 - model["static_ratio"]) * least ** model["exponent"]) for w in watts)
    if needs > 1.5:
        (found,) = messages_of(lambda: table.under_cap(needs - 1, **model))
        enough = float(found.split("at least ")[1].split(" W")[0])
        assert enough == pytest.approx(needs, abs=2e-3)
        assert table.under_cap(enough, **model).cap_w == enough


def test_a_cap_below_what_a_node_needs_names_it():
    assert messages_of(lambda: HPCG.under_cap(90, static_w=80.0, least_speed_ratio=0.5)) == [
        (
            "cap_w: found `90`, expected at least 160 W: application hpcg on node 0 draws that at the lowest speed, "
            "0.5 of nominal (240 W at nominal speed, 80 W of it static)"
        )
    ]
    # Static watts above the draw are all of it.
    assert messages_of(lambda: HPCG.under_cap(200, static_w=500.0))[0].startswith("cap_w: found `200`, expected at le")


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({}, "static_w, static_ratio: found `neither`, expected exactly one of the two"),
        ({"static_w": 1.0, "static_ratio": 0.1}, "static_w, static_ratio: found `both`, expected exactly one"),
        ({"static_ratio": 1.5}, "static_ratio: found `1.5`, expected a number between 0 and 1"),
        (
            {"static_w": [1.0, 2.0]},
            "static_w: found `shape (2,)`, expected one number, one a node (3), or shape (2, 3)",
        ),
        ({"static_w": [1.0, -2.0, 0.0]}, "static_w: found `-2`, expected watts >= 0"),
        ({"static_w": "much"}, "static_w: found `much`, expected one number"),
        ({"static_w": 0, "exponent": 0.5}, "exponent: found `0.5`, expected a number between 1 and 10"),
        ({"static_w": 0, "bound_ratio": 2}, "bound_ratio: found `2`, expected a number between 0 and 1"),
        ({"static_w": 0, "bound_ratio": {"hpcg": 1}}, "bound_ratio: found `nothing for stream`, expected a share"),
        (
            {"static_w": 0, "bound_ratio": {"hpcg": 1, "stream": 1, "strem": 1}},
            "bound_ratio[strem]: found `1`, expected one of hpcg, stream; did you mean `stream`?",
        ),
        ({"static_w": 0, "least_speed_ratio": 0}, "least_speed_ratio: found `0`, expected a number between 0.001"),
        ({"static_w": 0, "cap_w": math.nan}, "cap_w: found `NaN`, expected watts above 0"),
        ({"static_w": 0, "cap_w": None}, "cap_w: found `None`, expected watts above 0"),
    ],
)
def test_faults_of_a_cap(more, message):
    (found,) = messages_of(lambda: HPCG.under_cap(**{"cap_w": 200, **more}))
    assert found.startswith(message)


def test_all_faults_come_at_once():
    ratios = hs.VariationTable(["a"], power_ratio=[[1.0]], cap_w=40)
    found = messages_of(lambda: ratios.under_cap(-1, exponent=0, bound_ratio=-1))
    assert [line.split(":")[0] for line in found] == [
        "power_ratio", "table", "cap_w", "exponent", "static_w, static_ratio", "bound_ratio",
    ]  # fmt: skip


def test_a_capped_table_is_not_capped_again():
    once = HPCG.under_cap(200, static_w=0)
    assert messages_of(lambda: once.under_cap(150, static_w=0)) == [
        "table: found `watts under a cap of 200 W`, expected watts at nominal speed"
    ]
    assert HPCG.under_cap(math.inf, static_w=0).under_cap(200, static_w=0) == once


def test_a_run_under_a_cap_charges_the_cap_and_the_longer_time():
    # One job of 100 s on node 0: 240 W, 200 W under the cap; 80 W static, so 120 of 160 dynamic watts: 4/3 of the time.
    jobs = hs.Workload.from_polars(
        pl.DataFrame({"job_id": [1], "submit_s": [0.0], "runtime_s": [100.0], "node_count": [1], "app": ["hpcg"]})
    )
    platform = hs.Platform.homogeneous(nodes=3, idle_w=50, tdp_w=300)
    ran = hs.simulate(jobs, platform.with_tables(actual=HPCG.under_cap(200, static_w=80.0)), "fcfs").jobs
    assert ran["runtime_s"].item() == pytest.approx(100 * 4 / 3, abs=1e-6)
    assert ran["energy_j"].item() == pytest.approx(200 * 100 * 4 / 3, abs=1e-3)
