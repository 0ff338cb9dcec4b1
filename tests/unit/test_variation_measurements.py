"""From measured runs to a table: medians by hand, what is dropped, what is missing, and who is named."""

import gzip
import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hetsched as hs
from hetsched.platform import Measurements

SCHEMA = {"app": pl.String, "node": pl.String, "power_w": pl.Float64, "time_s": pl.Float64}
RUNS = [
    ("hpcg", "n10", 210.0, 63.0),
    ("hpcg", "n1", 200.0, 60.0),
    ("hpcg", "n1", 202.0, 61.0),
    ("hpcg", "n1", 900.0, 60.5),
    ("hpcg", "n2", 190.0, 54.0),
    ("stream", "n1", 180.0, 30.0),
    ("stream", "n2", 170.0, 30.0),
    ("stream", "n10", 175.0, 33.0),
]


def runs(*more, without=()):
    return pl.DataFrame([r for r in RUNS if r not in without] + list(more), schema=SCHEMA, orient="row")


def measured(*more, without=(), **options):
    return Measurements(runs(*more, without=without), **{"time_s": "time_s", **options})


def messages_of(make):
    with pytest.raises(hs.ConfigError) as caught:
        make()
    return str(caught.value).splitlines()


# --- medians


def test_medians_by_hand():
    table = measured().to_table()
    assert table.apps == ("hpcg", "stream")
    # n1 ran hpcg three times: the middle of 200, 202, 900. Nodes in natural order: n1, n2, n10.
    assert table.power_w.tolist() == [[202.0, 190.0, 210.0], [180.0, 170.0, 175.0]]
    # Medians over nodes: 60.5 s of 60.5, 54, 63, and 30 s of 30, 30, 33.
    assert table.time_ratio == pytest.approx(np.array([[1.0, 54 / 60.5, 63 / 60.5], [1.0, 1.0, 1.1]]))


def test_a_node_that_ran_often_weighs_as_much_as_another():
    often = [("stream", "n1", 500.0, 99.0)] * 50
    # stream: n1 now 500 W and 99 s; medians over nodes 175 W and 33 s, not what most runs say.
    cells = measured(*often).cells.filter(pl.col("app") == "stream")
    assert cells["power_ratio"].to_list() == pytest.approx([500 / 175, 170 / 175, 1.0])
    assert cells["time_ratio"].to_list() == pytest.approx([3.0, 30 / 33, 1.0])
    assert cells["runs"].to_list() == [51, 1, 1]


@given(st.randoms(use_true_random=False))
def test_the_order_of_rows_changes_no_value(chance):
    shuffled = runs().sample(fraction=1.0, shuffle=True, seed=chance.randrange(10_000))
    one, other = measured(), Measurements(shuffled, time_s="time_s")
    assert other.nodes == one.nodes
    assert other.cells.sort("app", "node").equals(one.cells.sort("app", "node"))


matrices = st.integers(1, 4).flatmap(
    lambda rows: st.integers(1, 5).flatmap(
        lambda columns: st.lists(
            st.lists(st.floats(1.0, 1000.0), min_size=columns, max_size=columns), min_size=rows, max_size=rows
        )
    )
)


@given(matrices)
def test_one_run_each_is_the_table(watts):
    table = hs.VariationTable([f"a{k}" for k in range(len(watts))], power_w=watts)
    assert Measurements(table.to_polars()).to_table() == table
    assert np.median(Measurements(table.to_polars()).cells["power_ratio"].to_numpy()) > 0


@given(matrices, st.floats(0.01, 100.0))
def test_another_unit_of_time_changes_no_ratio(times, unit):
    frame = hs.VariationTable([f"a{k}" for k in range(len(times))], power_w=times).to_polars()
    ratios = [
        Measurements(frame.with_columns(t=pl.col("power_w") * factor), time_s="t").cells["time_ratio"].to_numpy()
        for factor in (1.0, unit)
    ]
    assert ratios[0] == pytest.approx(ratios[1])


def test_times_alone_make_a_table_of_factors_one():
    table = measured(power_w=None).to_table(cap_w=40)
    assert table.power_ratio.tolist() == np.ones((2, 3)).tolist()
    assert table.time_ratio[1] == pytest.approx([1.0, 1.0, 1.1])
    assert (table.power_w, table.cap_w) == (None, 40)
    assert measured(time_s=None).to_table().time_ratio is None


def test_columns_may_have_any_name():
    frame = runs().rename({"app": "what", "node": "host", "power_w": "watts", "time_s": "seconds"})
    made = Measurements(frame, app="what", node="host", power_w="watts", time_s="seconds")
    assert made.to_table() == measured().to_table()


# --- nodes


def test_names_stand_in_natural_order_and_are_kept():
    assert measured().nodes == ("n1", "n2", "n10")
    assert measured().cells["name"].unique(maintain_order=True).to_list() == ["n1", "n2", "n10"]
    assert "nodes       0 = n1, 1 = n2, 2 = n10" in str(measured())


def test_the_order_can_be_given():
    made = measured(nodes=["n10", "n2", "n1"])
    assert made.nodes == ("n10", "n2", "n1")
    assert made.to_table().power_w[0].tolist() == [210.0, 190.0, 202.0]


def test_runs_of_other_nodes_are_counted_and_nodes_without_runs_are_missing():
    made = measured(nodes=["n1", "n2", "n3"])
    assert made.dropped == {"on nodes that are not in `nodes`": 2}
    assert made.missing.rows() == [("hpcg", 2, "n3"), ("stream", 2, "n3")]


def test_whole_numbers_are_node_numbers():
    frame = pl.DataFrame({"app": ["a", "a"], "node": [3, 0], "power_w": [1.0, 2.0]})
    made = Measurements(frame)
    assert made.nodes == (0, 1, 2, 3)
    assert made.missing["node"].to_list() == [1, 2]
    assert Measurements(frame, nodes=[3, 0]).to_table().power_w.tolist() == [[1.0, 2.0]]
    assert Measurements(frame, nodes=range(5)).missing["node"].to_list() == [1, 2, 4]


def test_numbers_that_are_names_are_distinguished():
    frame = pl.DataFrame({"app": ["a"], "node": [10**9], "power_w": [1.0]})
    assert messages_of(lambda: Measurements(frame)) == [
        (
            "runs.node: found `1000000000`, expected node numbers 0..N-1; where numbers are names, "
            "give `nodes` or cast the column to text"
        )
    ]
    assert messages_of(lambda: Measurements(frame.with_columns(node=-1)))[0].startswith("runs.node: found `-1`")
    assert Measurements(frame.cast({"node": pl.String})).nodes == ("1000000000",)


# --- what is dropped


def test_runs_that_say_nothing_are_dropped_and_counted_once():
    made = measured(
        (None, "n1", 1.0, 1.0),
        ("hpcg", None, 1.0, 1.0),
        ("hpcg", "n1", None, 1.0),
        ("hpcg", "n1", math.nan, math.nan),
        ("hpcg", "n1", math.inf, 1.0),
        ("hpcg", "n1", 0.0, -1.0),
        ("hpcg", "n1", -3.0, 1.0),
        ("hpcg", "n1", 200.0, None),
        ("hpcg", "n1", 200.0, 0.0),
    )
    assert made.dropped == {
        "without application": 1,
        "without node": 1,
        "power_w missing": 2,
        "power_w not finite": 1,
        "power_w not above 0": 2,
        "time_s missing": 1,
        "time_s not above 0": 1,
    }
    assert made.to_table() == measured().to_table()
    assert "dropped     9 runs: 1 without application, 1 without node, 2 power_w missing" in str(made)


def test_a_node_or_application_whose_every_run_was_dropped_is_missing_not_gone():
    made = measured(("fft", "n1", 0.0, 1.0), ("hpcg", "n3", -1.0, 1.0))
    assert made.apps == ("hpcg", "stream", "fft")
    assert made.nodes == ("n1", "n2", "n3", "n10")
    assert len(made.missing) == 4 + 2
    assert "fft on any node" in str(made)


# --- gaps


GAP = ("stream", "n10", 175.0, 33.0)


def test_a_gap_makes_no_table_and_is_named():
    made = measured(without=[GAP])
    assert made.missing.rows() == [("stream", 2, "n10")]
    assert messages_of(made.to_table) == [
        (
            "runs: found no run of stream on n10, expected every application on each of 3 nodes, "
            'or a rule for the rest, such as impute="node-ratio"'
        )
    ]
    assert repr(made) == "<Measurements: 7 runs of 2 applications on 3 nodes, 1 pair missing>"
    assert made.cells["power_w"].to_list()[-1] is None


def test_the_rule_of_the_node_by_hand():
    made = measured(without=[GAP], impute="node-ratio")
    table = made.to_table()
    # n10 draws 210 W under hpcg, the median is 202; medians of stream over n1 and n2: 175 W and 30 s.
    assert table.power_w[1, 2] == pytest.approx(175 * 210 / 202)
    assert table.time_ratio[1, 2] == pytest.approx(63 / 60.5)
    assert made.cells["imputed"].to_list() == [False] * 5 + [True]
    assert "filled in   1 pair by the node's mean ratio over the applications it has" in str(made)
    assert len(made.missing) == 1


def test_the_rule_of_the_application_by_hand():
    table = measured(without=[GAP], impute="app-median").to_table()
    assert (table.power_w[1, 2], table.time_ratio[1, 2]) == (175.0, 1.0)


@pytest.mark.parametrize("impute", ["node-ratio", "app-median"])
def test_what_was_measured_is_never_replaced(impute):
    filled = measured(without=[GAP], impute=impute).cells.drop("imputed")
    plain = measured(without=[GAP]).cells.drop("imputed")
    assert filled[:-1].equals(plain[:-1])


def test_a_node_of_which_nothing_is_known_is_filled_by_one_rule_only():
    nodes = ["n1", "n2", "n10", "n11"]
    assert measured(nodes=nodes, impute="app-median").to_table().time_ratio[:, 3].tolist() == [1.0, 1.0]
    assert messages_of(measured(nodes=nodes, impute="node-ratio").to_table) == [
        f"runs: found no run of {app} on n11, expected every application on each of 4 nodes, "
        'or at least one of them on each node, or impute="app-median"'
        for app in ("hpcg", "stream")
    ]


def test_an_application_without_measurements_is_filled_by_no_rule():
    made = measured(("fft", "n1", 0.0, 1.0), impute="app-median")
    assert messages_of(made.to_table) == [
        "runs: found no run of fft on any node, expected every application on each of 3 nodes, or at least on one node"
    ]


def test_too_few_runs_count_as_none():
    made = measured(min_runs=2)
    assert len(made.missing) == 5
    assert made.cells["power_w"].drop_nulls().to_list() == [202.0]


def test_a_long_list_of_gaps_is_cut():
    nodes = ["n1", "n2", "n10", *(f"x{k}" for k in range(40))]
    assert "n10" not in (line := messages_of(measured(nodes=nodes).to_table)[0])
    assert "no run of hpcg on x0, x1, x2, x3, x4, x5 and 34 more, expected" in line


# --- stragglers


def test_stragglers_are_named_and_kept():
    made = measured(("hpcg", "n3", 100.0, 180.0))
    assert made.stragglers.select("app", "node", "name", "quantity").rows() == [
        ("hpcg", 2, "n3", "time_s"),
        ("hpcg", 2, "n3", "power_w"),
    ]
    # hpcg: medians of 202, 190, 100, 210 W and 60.5, 54, 180, 63 s.
    assert made.stragglers["ratio"].to_list() == pytest.approx([180 / 61.75, 100 / 196])
    assert made.stragglers["app_median"].to_list() == pytest.approx([61.75, 196])
    assert "n3: hpcg time 180 s, 2.91 of the median" in str(made)
    assert measured(("hpcg", "n3", 100.0, 180.0), impute="app-median").to_table().power_w[0, 2] == 100.0


def test_from_where_on_a_node_is_one_can_be_set():
    assert len(measured().stragglers) == 0
    assert "stragglers  none beyond 1.2 times an application's median, or 1/1.2 of it" in str(measured())
    assert measured(straggler_ratio=1.09).stragglers["name"].unique().sort().to_list() == ["n10", "n2"]


# --- files and faults


def test_a_csv_with_holes_is_read(tmp_path):
    path = tmp_path / "runs.csv"
    path.write_text(
        "app,node,power_w,time_s\n7,n1,200,60\n7,n1,,60\n7,n2,NA,60\n7,n2,nan,60\n7,n2,210,-\n7,n2,212,61\n"
    )
    made = hs.read_measurements(path, time_s="time_s")
    assert made.apps == ("7",)
    assert made.dropped == {"power_w missing": 3, "time_s missing": 1}
    assert made.to_table().power_w.tolist() == [[200.0, 212.0]]
    runs().write_parquet(tmp_path / "runs.parquet")
    assert hs.read_measurements(tmp_path / "runs.parquet", time_s="time_s").to_table() == measured().to_table()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"power_w": "watts"}, "power_w: found `watts`, expected one of the columns app, node, power_w, time_s"),
        ({"node": "host"}, "node: found `host`, expected one of the columns"),
        ({"app": "power_w"}, "runs.power_w: found `values of type Float64`, expected text"),
        ({"node": "power_w"}, "runs.power_w: found `values of type Float64`, expected names, or whole numbers from 0"),
        ({"power_w": "node"}, "runs.node, row 0: found `n10`, expected numbers"),
        ({"power_w": None, "time_s": None}, "power_w, time_s: found `neither`, expected a column of watts, of seconds"),
        ({"impute": "mean"}, "impute: found `mean`, expected node-ratio, app-median, or nothing"),
        ({"min_runs": 0}, "min_runs: found `0`, expected a whole number between 1 and"),
        ({"straggler_ratio": 0.5}, "straggler_ratio: found `0.5`, expected a number above 1"),
        ({"straggler_ratio": 1.0}, "straggler_ratio: found `1`, expected a number above 1"),
        ({"straggler_ratio": math.inf}, "straggler_ratio: found `inf`, expected a number above 1"),
        ({"straggler_ratio": "1.2"}, "straggler_ratio: found `1.2`, expected a number above 1"),
        ({"nodes": []}, "nodes: found `[]`, expected a list of names, node 0 first"),
        ({"nodes": "n1"}, "nodes: found `n1`, expected a list of names"),
        ({"nodes": [1, 2]}, "nodes: found `1`, expected names, as in the runs"),
        ({"nodes": 48}, "nodes: found `48`, expected a list of names, node 0 first, or None"),
        ({"nodes": {"n1": 0}}, "nodes: found `{'n1': 0}`, expected a list of names, node 0 first, or None"),
        ({"app": None}, "app: found `None`, expected a column's name"),
        ({"app": 3}, "app: found `3`, expected a column's name"),
        ({"time_s": 3}, "time_s: found `3`, expected a column's name"),
        ({"power_w": "power"}, "power_w: found `power`, expected one of the columns app, node, power_w, time_s; did"),
        ({"nodes": ["n1", "n1"]}, "nodes: found `n1`, expected each name once"),
    ],
)
def test_faults(options, message):
    (found,) = messages_of(lambda: measured(**options))
    assert found.startswith(message)


def test_all_faults_come_at_once():
    found = messages_of(lambda: measured(app="x", node="y", min_runs=0, impute="z"))
    assert [line.split(":")[0] for line in found] == ["min_runs", "impute", "app", "node"]


def test_no_usable_run_at_all():
    (found,) = messages_of(lambda: measured(nodes=["other"]))
    assert found == (
        "runs: found 8 rows and none usable, expected usable runs (dropped: 8 on nodes that are not in `nodes`)"
    )
    assert messages_of(lambda: Measurements(runs().clear()))[0].startswith("runs: found 0 rows and none usable")


def test_files_that_cannot_be_had_are_named(tmp_path):
    for name in ("none.csv", "none.parquet"):
        (found,) = messages_of(lambda name=name: hs.read_measurements(tmp_path / name))
        assert found.startswith(f"{tmp_path / name}: found no such file, expected a file of one row a run")


@pytest.mark.parametrize(
    ("text", "where", "said"),
    [
        ("app;node;power_w\na;n1;200,5\n", ", line 1", "found semicolons between the fields, expected commas between"),
        ("app,node,power_w\na,n1,200\na,n2\n", ", line 3", "found 2 fields in `a,n2`, expected 3 fields"),
        ("app,node,power_w\na,n1,200\na,n2,200,5\n", ", line 3", "found 4 fields in `a,n2,200,5`, expected 3 fields"),
        ("app,node,power_w\n", "", "found no rows, expected rows below the header: app, node, power_w"),
        ("", "", "found an empty file, expected a line with the columns' names"),
        ("app,node,power_w,node\na,n1,200,n2\n", ", line 1", "found column `node` 2 times, expected each column once"),
        (
            'app,node,power_w\na,n1,200\n\n"a\nb",n2,210\na,n3,"200,5"\n',
            ", line 6, power_w",
            "found `200,5`, expected numbers, with a decimal point and no comma",
        ),
        ("app,node,power_w\na,n1,200\na,n2,3OO\n", ", line 3, power_w", "found `3OO`, expected numbers"),
        ("app,node,power_w\na,n1,0\n", "", "found 1 row and none usable, expected usable runs (dropped: 1 power_w not"),
        ('app,node,power_w\na,n1,200\n"a,n2,3\n', ", line 3", "found quotes that do not match ("),
        (b"app,node,power_w\na,n\xe4,200\n", ", line 2", "found bytes that are no UTF-8 text, `b'\\xe4,200"),
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "", "found binary data, expected a text file with commas"),
    ],
)
@pytest.mark.parametrize("suffix", [".csv", ".csv.gz"])
def test_what_is_wrong_in_a_file_is_reported_by_its_line(tmp_path, suffix, text, where, said):
    path = tmp_path / f"runs{suffix}"
    data = text.encode() if isinstance(text, str) else text
    path.write_bytes(gzip.compress(data) if suffix == ".csv.gz" else data)
    (found,) = messages_of(lambda: hs.read_measurements(path))
    assert found.startswith(f"{path}{where}: {said}")
    assert found.isprintable()
    assert "found found" not in found


def test_rows_of_a_table_without_lines_are_reported_by_their_number(tmp_path):
    runs().with_columns(power_w=pl.lit("x")).write_parquet(tmp_path / "runs.parquet")
    (found,) = messages_of(lambda: hs.read_measurements(tmp_path / "runs.parquet"))
    assert found == f"{tmp_path / 'runs.parquet'}, row 0, power_w: found `x`, expected numbers"
    (found,) = messages_of(lambda: hs.read_measurements(tmp_path / "runs.parquet", power_w=None, time_s="power_w"))
    assert found.startswith(f"{tmp_path / 'runs.parquet'}, row 0, power_w: found `x`")
    runs().write_parquet(tmp_path / "runs.parquet")
    (found,) = messages_of(lambda: hs.read_measurements(tmp_path / "runs.parquet", power_w="app"))
    assert found.startswith(f"{tmp_path / 'runs.parquet'}, row 0, app: found `hpcg`")


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("runs.xlsx", "path: found `runs.xlsx`, expected a name ending in .csv, .csv.gz, .csv.zst, .parquet"),
        ("runs.parqet", "path: found `runs.parqet`, expected a name ending in .csv, .csv.gz, .csv.zst, .parquet; did"),
        (None, "path: found `None`, expected the name of a file ending in .csv, .csv.gz, .csv.zst, .parquet"),
        (3, "path: found `3`, expected the name of a file ending in"),
        ("a\0.csv", "path: found `a\\x00.csv`, expected a name without a zero byte"),
    ],
)
def test_other_names_are_refused(path, said):
    (found,) = messages_of(lambda: hs.read_measurements(path))
    assert found.startswith(said)


def test_a_packed_file_that_was_cut_off_is_reported(tmp_path):
    path = tmp_path / "runs.csv.gz"
    path.write_bytes(gzip.compress(b"app,node,power_w\n" + b"a,n1,200\n" * 9)[:-12])
    assert messages_of(lambda: hs.read_measurements(path)) == [
        f"{path}: found gzip data cut short after 24 bytes of text, expected a whole gzip file"
    ]


@pytest.mark.parametrize(
    ("given", "found"), [("runs.csv", "`runs.csv`"), (None, "a NoneType"), (runs().lazy(), "a LazyFrame")]
)
def test_what_is_no_frame_is_reported(given, found):
    assert messages_of(lambda: Measurements(given)) == [
        f"runs: found {found}, expected a polars.DataFrame; read_measurements reads a file"
    ]


def test_too_few_runs_everywhere_are_said_to_be_too_few():
    made = measured(min_runs=100)
    text = str(made)
    assert "nan" not in text
    assert "min_runs    100: 6 missing pairs had runs, but only 1 to 3\n" in text
    assert [line.split() for line in text.splitlines()[-2:]] == [
        ["hpcg", "0", "5", "-", "-", "-", "-"],
        ["stream", "0", "3", "-", "-", "-", "-"],
    ]
    assert messages_of(made.to_table)[0].startswith(
        "runs: found fewer than min_runs=100 runs (at most 3) of hpcg on any node, expected every application"
    )


def test_a_pair_without_any_run_is_not_one_of_too_few():
    assert "min_runs" not in str(measured(without=[GAP]))
    assert "no run of stream on n10" in messages_of(measured(without=[GAP]).to_table)[0]
    # hpcg on n2 and n10, stream on n1 and n2 ran once; stream never ran on n10.
    assert "min_runs    2: 4 missing pairs had runs, but only 1\n" in str(measured(without=[GAP], min_runs=2))


def test_a_table_of_fewer_nodes_than_the_platform_is_refused_with_what_it_lacks():
    platform = hs.Platform.homogeneous(nodes=5, idle_w=100, tdp_w=400)
    assert messages_of(lambda: platform.with_tables(actual=measured().to_table())) == [
        (
            "actual: found `3 nodes`, expected a table of 5 nodes, as the platform has; "
            "nodes 3-4 have no row for any application (hpcg, stream)"
        )
    ]
