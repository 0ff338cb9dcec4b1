"""Variation tables: shapes, long frames and files, and faults that name application and node."""

import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hetsched as hs

POWERS = [[200.0, 220.0, 210.0], [180.0, 170.0, 175.0]]


def table(**more):
    return hs.VariationTable(["hpcg", "stream"], **{"power_w": POWERS, **more})


def long(*rows, quantity="power_w"):
    return pl.DataFrame(list(rows), schema=["app", "node", quantity], orient="row")


def messages_of(make):
    with pytest.raises(hs.ConfigError) as caught:
        make()
    return str(caught.value).splitlines()


def test_a_table_as_a_long_frame_by_hand():
    assert table(time_ratio=np.ones((2, 3))).to_polars().rows() == [
        ("hpcg", 0, 200.0, 1.0), ("hpcg", 1, 220.0, 1.0), ("hpcg", 2, 210.0, 1.0),
        ("stream", 0, 180.0, 1.0), ("stream", 1, 170.0, 1.0), ("stream", 2, 175.0, 1.0),
    ]  # fmt: skip
    assert table().to_polars().columns == ["app", "node", "power_w"]


def test_rows_may_stand_in_any_order():
    frame = long(("b", 1, 4.0), ("a", 0, 1.0), ("b", 0, 3.0), ("a", 1, 2.0))
    made = hs.VariationTable.from_polars(frame)
    assert made.apps == ("b", "a")
    assert made.power_w.tolist() == [[3.0, 4.0], [1.0, 2.0]]


@given(st.integers(1, 4), st.integers(1, 5), st.randoms(use_true_random=False), st.booleans(), st.booleans())
def test_frames_and_dictionaries_give_the_table_back(n_apps, n_nodes, chance, is_ratio, has_time):
    apps = [f"app{k}" for k in range(n_apps)]

    def matrix():
        return np.array([[chance.uniform(0.5, 2.0) for _ in range(n_nodes)] for _ in range(n_apps)])

    made = hs.VariationTable(
        apps, **{"power_ratio" if is_ratio else "power_w": matrix()}, time_ratio=matrix() if has_time else None
    )
    shuffled = made.to_polars().sample(fraction=1.0, shuffle=True, seed=chance.randrange(1000))
    assert hs.VariationTable.from_polars(made.to_polars()) == made
    assert hs.VariationTable.from_dict(made.to_dict()) == made
    again = hs.VariationTable.from_polars(shuffled)
    assert again.to_polars().sort("app", "node").equals(made.to_polars().sort("app", "node"))


def test_files_give_the_table_back(tmp_path):
    made = table(time_ratio=np.full((2, 3), 1.25))
    made.to_parquet(tmp_path / "t.parquet")
    made.write(tmp_path / "t.csv")
    for name in ("t.parquet", "t.csv"):
        again = hs.read_table(tmp_path / name)
        assert again == made
        assert again.path == str(tmp_path / name)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"power_w": [[200.0, math.nan, 1.0], [1.0, 1.0, 1.0]]}, "power_w[hpcg, node 1]: found `NaN`, expected watts"),
        ({"power_w": [[1.0, 2.0, 3.0], [-1.0, 1.0, -2.0]]}, "power_w[stream, node 0]: found `-1`, expected watts"),
        ({"power_w": [[1.0, 2.0, 3.0]]}, "power_w: found `shape (1, 3)`, expected shape (2, nodes)"),
        ({"power_w": [1.0, 2.0]}, "power_w: found `shape (2,)`, expected shape (2, nodes)"),
        ({"power_w": [[], []]}, "power_w: found `shape (2, 0)`, expected shape (2, nodes)"),
        ({"power_w": [["a"], ["b"]]}, "power_w: found `[['a'], ['b']]`, expected numbers"),
        ({"power_w": [[1.0], [1.0, 2.0]]}, "power_w: found `[[1.0], [1.0, 2.0]]`, expected numbers"),
        ({"power_w": None}, "power_w, power_ratio: found `neither`, expected exactly one"),
        ({"power_ratio": POWERS}, "power_w, power_ratio: found `both`, expected exactly one"),
        (
            {"power_w": None, "power_ratio": [[1.0, math.inf, 1.0]] * 2},
            "power_ratio[hpcg, node 1]: found `inf`, expected a f",
        ),
        ({"time_ratio": [[1.0, 0.0, 1.0]] * 2}, "time_ratio[hpcg, node 1]: found `0`, expected a factor between"),
        (
            {"time_ratio": [[1.0, 1.0]] * 2},
            "time_ratio: found `shape (2, 2)`, expected the shape of the powers, (2, 3)",
        ),
    ],
)
def test_what_cannot_be_names_application_and_node(more, message):
    (found,) = messages_of(lambda: table(**more))
    assert found.startswith(message)


def test_names_are_checked():
    assert messages_of(lambda: hs.VariationTable(["a", "a"], power_w=[[1.0]] * 2)) == [
        "apps[1]: found `a`, expected each name once"
    ]
    assert messages_of(lambda: hs.VariationTable([""], power_w=[[1.0]])) == ["apps[0]: found ``, expected a name"]
    assert messages_of(lambda: hs.VariationTable("hpcg", power_w=[[1.0]]))[0].startswith(
        "apps: found `hpcg`, expected a l"
    )
    assert messages_of(lambda: hs.VariationTable([], power_w=np.empty((0, 3))))[0].startswith("apps: found `none`")


def test_all_faults_come_at_once():
    found = messages_of(lambda: table(power_w=[[-1.0, 1.0, 1.0]] * 2, time_ratio=[[math.nan, 1.0, 1.0]] * 2))
    assert [line.split(":")[0] for line in found] == ["power_w[hpcg, node 0]", "time_ratio[hpcg, node 0]"]


FRAME_FAULTS = [
    (long(("a", 0, 1.0), ("a", 2, 1.0)), "table: found no row for application a on node 1, expected every application"),
    (long(("a", 0, 1.0), ("a", 0, 2.0)), "table: found more than one row for application a on node 0, expected"),
    (long(("a", 0, 1.0), ("b", 1, 1.0)), "table: found no row for application a on node 1, expected every application"),
    (long(("a", 0, 1.0), ("a", -1, 1.0)), "table.node: found `-1`, expected whole numbers from 0"),
    (long(("a", 0, 1.0), ("a", 10**12, 1.0)), "table.node: found `1000000000000`, expected nodes 0..N-1"),
    (long(("a", 0, 1.0), (None, 1, 1.0)), "table.app: found `nulls`, expected a value in every row"),
    (long(("a", 0, "x")), "table.power_w, row 0: found `x`, expected numbers"),
    (long((1, 0, 2.0)), "table.app: found `values of type Int64`, expected text"),
    (long(("a", 0.5, 2.0)), "table.node: found `values of type Float64`, expected whole numbers from 0"),
    (long(("a", 0, 2.0), quantity="power_kw"), "table.power_kw: found `a column`, expected one of"),
    (
        long(("a", 0, 2.0), quantity="time_ratio"),
        "table.power_w: found `columns app, node, time_ratio`, expected a column",
    ),
    (long(("a", 0, 2.0)).drop("app"), "table.app: found `columns node, power_w`, expected a column `app`"),
    (long(("a", 0, 2.0)).clear(), "table.rows: found `none`, expected one row an application and node"),
    (long(("a", 0, None)).cast({"power_w": pl.Float64}), "power_w[a, node 0]: found `NaN`, expected watts"),
]


@pytest.mark.parametrize(("frame", "message"), FRAME_FAULTS, ids=[message for _, message in FRAME_FAULTS])
def test_faults_of_a_long_frame(frame, message):
    assert messages_of(lambda: hs.VariationTable.from_polars(frame))[0].startswith(message)


def test_every_missing_pair_is_listed_by_application():
    frame = table().to_polars().filter(~((pl.col("app") == "hpcg") & (pl.col("node") < 2)))
    frame = frame.filter(~((pl.col("app") == "stream") & (pl.col("node") == 1)))
    assert messages_of(lambda: hs.VariationTable.from_polars(frame)) == [
        "table: found no row for application hpcg on nodes 0-1, expected every application with each of nodes 0..2",
        "table: found no row for application stream on node 1, expected every application with each of nodes 0..2",
    ]


def test_many_applications_with_gaps_stay_a_short_message():
    frame = pl.concat([long(*((f"a{k}", node, 1.0) for node in range(3) if node != k % 3)) for k in range(40)])
    found = messages_of(lambda: hs.VariationTable.from_polars(frame))
    assert len(found) == 11
    assert found[-1].startswith("table: found no row on some nodes for 30 more applications, expected")


def test_a_table_of_too_few_nodes_says_what_it_lacks():
    platform = hs.Platform.homogeneous(nodes=9, idle_w=100, tdp_w=400)
    assert messages_of(lambda: platform.with_tables(actual=table())) == [
        (
            "actual: found `3 nodes`, expected a table of 9 nodes, as the platform has; "
            "nodes 3-8 have no row for any application (hpcg, stream)"
        )
    ]


def test_files_that_cannot_be_had_are_named(tmp_path):
    (tmp_path / "broken.parquet").write_bytes(b"no parquet")
    for name, found in (("none.csv", "no such file"), ("none.parquet", "no such file"), ("broken.parquet", "parquet:")):
        (message,) = messages_of(lambda name=name: hs.read_table(tmp_path / name))
        assert message.startswith(f"{tmp_path / name}: found {found}")
    (message,) = messages_of(lambda: hs.read_table(tmp_path))
    assert message.startswith(f"{tmp_path}: found a directory")


HEAD = "app,node,power_w\n"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (HEAD, "t.csv: found no rows, expected rows below the header: app, node, power_w"),
        (
            "app;node;power_w\na;0;200,5\n",
            "t.csv, line 1: found semicolons between the fields, expected commas between the fields, and points in nu",
        ),
        ("app\tnode\tpower_w\na\t0\t200\n", "t.csv, line 1: found tabs between the fields, expected commas"),
        (
            HEAD + "a,0,200\na,1,2,3\n",
            "t.csv, line 3: found 4 fields in `a,1,2,3`, expected 3 fields, as the header has, with commas between",
        ),
        (HEAD + "a,0,200\na,1\n", "t.csv, line 3: found 2 fields in `a,1`, expected 3 fields"),
        ("\0\1,\2\n\3,\4\n", "t.csv: found binary data, expected a text file with commas between the fields"),
        ("", "t.csv: found an empty file, expected a line with the columns' names"),
        ("app,node,power_w,\1x\na,0,200,1\n", r"t.csv.\x01x: found `a column`, expected one of app, node"),
    ],
)
def test_a_file_that_is_no_table_is_reported_as_such(tmp_path, monkeypatch, content, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_text(content)
    found = messages_of(lambda: hs.read_table("t.csv"))
    assert found[0].startswith(message)
    assert "".join(found).isprintable()
    assert "found found" not in found[0]


def test_quoted_commas_and_blank_lines_at_the_end_are_no_fault(tmp_path):
    (tmp_path / "t.csv").write_text(f'{HEAD}"a,b",0,200\r\na,0,210\n\n')
    assert hs.read_table(tmp_path / "t.csv").apps == ("a,b", "a")


@pytest.mark.parametrize("name", ["t.xlsx", "t.csv.bak", "t"])
def test_a_file_name_without_a_known_kind_is_refused(tmp_path, name):
    (tmp_path / name).write_bytes(b"PK")
    found = messages_of(lambda: hs.read_table(tmp_path / name))
    suffix = name.removeprefix("t").replace(".csv", "") or "no suffix"
    assert found == [f"{tmp_path / name}: found `{suffix}`, expected a table whose name ends in .csv or .parquet"]


def test_the_fingerprint_knows_the_values_and_not_the_file(tmp_path):
    table().to_parquet(tmp_path / "t.parquet")
    assert hs.read_table(tmp_path / "t.parquet").sha256 == table().sha256
    others = [
        table(time_ratio=np.ones((2, 3))),
        hs.VariationTable(["hpcg", "stream"], power_ratio=POWERS),
        hs.VariationTable(["hpcg", "other"], power_w=POWERS),
    ]
    assert len({table().sha256, *(t.sha256 for t in others)}) == 4


def test_matrices_are_copies_that_cannot_be_changed():
    given_powers = np.array(POWERS)
    made = table(power_w=given_powers)
    given_powers[0, 0] = 0.0
    assert made.power_w[0, 0] == 200.0
    with pytest.raises(ValueError, match="read-only"):
        made.power_w[0, 0] = 0.0


def test_a_word_among_the_watts_of_a_csv_is_named_with_its_row(tmp_path):
    for word in ("nan", "3OO"):
        (tmp_path / "t.csv").write_text(f"app,node,power_w\na,0,300\na,1,{word}\n")
        with pytest.raises(hs.ConfigError, match=rf"t.csv.power_w, row 1: found `{word}`, expected numbers"):
            hs.read_table(tmp_path / "t.csv")
