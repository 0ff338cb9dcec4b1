"""Node classes and platforms: defaults, files, and faults that are all told at once."""

import math

import numpy as np
import pytest

import hetsched as hs
from hetsched.platform import NodeClass

TABLE = hs.VariationTable(["hpcg", "*"], power_w=[[200.0, 210.0], [190.0, 195.0]], time_ratio=[[1.0, 1.1], [1.0, 1.0]])


def two_nodes(**more):
    return hs.Platform.homogeneous(nodes=2, idle_w=100, tdp_w=250, **more)


def faults_of(make):
    with pytest.raises(hs.ConfigError) as caught:
        make()
    return caught.value.faults


def test_a_homogeneous_platform_by_hand():
    platform = two_nodes(slots=4)
    assert len(platform) == platform.nodes == 2
    assert platform.idle_w.tolist() == [100.0, 100.0]
    assert platform.tdp_w.tolist() == [250.0, 250.0]
    assert platform.slots.tolist() == [4, 4]
    assert platform.exclusive


def test_idle_draw_may_differ_by_node():
    platform = hs.Platform.homogeneous(nodes=3, idle_w=np.array([90, 100, 110]), tdp_w=250)
    assert platform.idle_w.tolist() == [90.0, 100.0, 110.0]
    assert platform.classes[0].per_node("boot_w").tolist() == [90.0, 100.0, 110.0]
    assert hs.Platform.from_dict(platform.to_dict()) == platform


def test_idle_draw_by_node_is_handed_out_to_the_classes_in_order():
    classes = [NodeClass("a", 1, 0, 250), NodeClass("b", 2, 0, 500)]
    platform = hs.Platform(classes, idle_w=[10, 20, 30])
    assert [c.idle_w for c in platform.classes] == [(10.0,), (20.0, 30.0)]
    assert platform.idle_w.tolist() == [10.0, 20.0, 30.0]


def test_what_is_not_given_is_drawn_as_the_docstring_says():
    node = NodeClass("n", 1, idle_w=100, tdp_w=250, off_w=5)
    assert node.per_node("busy_w").tolist() == [250.0]
    assert node.per_node("down_w").tolist() == [5.0]
    assert node.per_node("boot_w").tolist() == [100.0]
    assert node.per_node("shutdown_w").tolist() == [100.0]
    assert NodeClass("n", 1, 100, 250, busy_w=0.0).per_node("busy_w").tolist() == [0.0]


NODE_FAULTS = [
    ({"count": 0}, ("count", "`0`")),
    ({"count": 2.5}, ("count", "`2.5`")),
    ({"count": True}, ("count", "`True`")),
    ({"idle_w": -1}, ("idle_w", "`-1`")),
    ({"idle_w": math.nan}, ("idle_w", "`NaN`")),
    ({"idle_w": "100"}, ("idle_w", "`'100'`")),
    ({"idle_w": [100.0, -1.0]}, ("idle_w[1]", "`-1`")),
    ({"idle_w": [100.0, math.nan]}, ("idle_w[1]", "`NaN`")),
    ({"idle_w": [100.0]}, ("idle_w", "`1 values`")),
    ({"idle_w": ["a", "b"]}, ("idle_w", "`['a', 'b']`")),
    ({"tdp_w": 50}, ("tdp_w", "`50`")),
    ({"tdp_w": math.inf}, ("tdp_w", "`inf`")),
    ({"tdp_w": None}, ("tdp_w", "`None`")),
    ({"busy_w": -5}, ("busy_w", "`-5`")),
    ({"slots": 0}, ("slots", "`0`")),
    ({"boot_s": -1}, ("boot_s", "`-1`")),
    ({"off_w": math.nan}, ("off_w", "`NaN`")),
    ({"name": ""}, ("name", "``")),
]


@pytest.mark.parametrize(("changed", "fault"), NODE_FAULTS, ids=[str(changed) for changed, _ in NODE_FAULTS])
def test_what_a_node_cannot_be_is_named_with_its_value(changed, fault):
    good = {"name": "n", "count": 2, "idle_w": 100, "tdp_w": 250}
    (found,) = faults_of(lambda: NodeClass(**{**good, **changed}))
    assert found[:2] == fault


def test_all_faults_come_at_once():
    faults = faults_of(lambda: hs.Platform.homogeneous(nodes=0, idle_w=-1, tdp_w="much", slots=0))
    assert [name for name, _, _ in faults] == ["nodes", "tdp_w", "slots", "idle_w"]
    message = str(hs.ConfigError(faults))
    assert message.count("\n") == 3


def test_a_platform_from_toml(tmp_path):
    TABLE.to_parquet(tmp_path / "table.parquet")
    (tmp_path / "machine.toml").write_text(
        """
        exclusive = false
        actual = "table.parquet"

        [[classes]]
        name = "cpu"
        count = 1
        idle_w = 100
        tdp_w = 250.0
        slots = 8

        [[classes]]
        name = "gpu"
        count = 1
        idle_w = [300]
        tdp_w = 1400
        boot_s = 120
        """
    )
    platform = hs.Platform.from_toml(tmp_path / "machine.toml")
    assert platform.idle_w.tolist() == [100.0, 300.0]
    assert platform.slots.tolist() == [8, 1]
    assert not platform.exclusive
    assert platform.actual == TABLE
    assert platform.to_dict()["actual"] == str(tmp_path / "table.parquet")
    assert hs.Platform.from_dict(platform.to_dict()) == platform


def test_a_platform_of_one_make_from_toml(tmp_path):
    (tmp_path / "machine.toml").write_text("nodes = 2\nidle_w = 100\ntdp_w = 250\n")
    assert hs.Platform.from_toml(tmp_path / "machine.toml") == two_nodes()


def test_tables_in_memory_go_into_the_dictionary():
    platform = two_nodes(actual=TABLE, predicted=TABLE)
    again = hs.Platform.from_dict(platform.to_dict())
    assert again == platform
    assert again.predicted == TABLE


TOML_FAULTS = [
    ("nodes = 2\nidle_w = 100\n", ["tdp_w"]),
    ("nodes = 2\nidle_kw = 1\ntdp_w = 250\n", ["idle_kw", "idle_w"]),
    ("nodes = 2\nidle_w = 100\ntdp_w = 250\nboot_ms = 5\nexclusve = true\n", ["boot_ms", "exclusve"]),
    ("nodes = 2\nidle_w = 100\ntdp_w = 250\nexclusive = 1\n", ["exclusive"]),
    ("[[classes]]\nname = 'a'\ncount = 0\nidle_w = 1\ntdp_w = 2\n[[classes]]\ncount = 1\n", [
        "classes[0].count", "classes[1].name", "classes[1].idle_w", "classes[1].tdp_w"]),
    ("classes = []\n", ["classes"]),
    ("classes = 3\n", ["classes"]),
    ("nodes = 2\nidle_w = 100\ntdp_w = 250\nactual = 3\n", ["actual"]),
    ("nodes = 2\nidle_w = 100\ntdp_w = 250\n[actual]\napps = ['a']\npower = [[1, 2]]\n", ["actual.power"]),
]  # fmt: skip


@pytest.mark.parametrize(("text", "names"), TOML_FAULTS, ids=[text for text, _ in TOML_FAULTS])
def test_faults_of_a_file_carry_their_paths(text, names, tmp_path):
    (tmp_path / "machine.toml").write_text(text)
    faults = faults_of(lambda: hs.Platform.from_toml(tmp_path / "machine.toml"))
    assert [name for name, _, _ in faults] == names


def test_an_unknown_key_is_guessed():
    ((_, _, expected),) = faults_of(
        lambda: hs.Platform.from_dict({"nodes": 1, "idle_w": 1, "tdp_w": 2, "shutdown_ms": 5})
    )
    assert expected.endswith("did you mean `shutdown_s`?")


def test_files_that_cannot_be_had_are_named(tmp_path):
    (tmp_path / "broken.toml").write_text("nodes = = 2\n")
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe\x00")
    for name, found in (("none.toml", "no such file"), ("broken.toml", "no valid TOML"), ("binary.toml", "bytes that")):
        ((parameter, value, _),) = faults_of(lambda name=name: hs.Platform.from_toml(tmp_path / name))
        assert parameter == str(tmp_path / name)
        assert value.startswith(found)
    ((parameter, value, _),) = faults_of(lambda: hs.Platform.from_toml(tmp_path))
    assert (parameter, value) == (str(tmp_path), "a directory")
    platform = {"nodes": 1, "idle_w": 1, "tdp_w": 2, "actual": "none.parquet"}
    ((parameter, value, _),) = faults_of(lambda: hs.Platform.from_dict(platform, folder=tmp_path))
    assert (parameter, value) == (str(tmp_path / "none.parquet"), "no such file")


def test_a_table_has_as_many_nodes_as_the_platform():
    with pytest.raises(hs.ConfigError, match=r"actual: found `2 nodes`, expected a table of 3 nodes"):
        hs.Platform.homogeneous(nodes=3, idle_w=100, tdp_w=250, actual=TABLE)


def test_predictions_need_the_same_applications_and_an_actual_table():
    with pytest.raises(hs.ConfigError, match="predicted: found `a table`, expected an actual table"):
        two_nodes(predicted=TABLE)
    other = hs.VariationTable(["hpcg", "stream"], power_w=[[1.0, 2.0], [3.0, 4.0]])
    faults = faults_of(lambda: two_nodes(actual=TABLE, predicted=other))
    assert [value for _, value, _ in faults] == ["`no application *`", "`application stream`"]


def test_predictions_are_brought_into_the_actual_tables_order():
    predicted = hs.VariationTable(["*", "hpcg"], power_w=[[1.0, 2.0], [3.0, 4.0]])
    platform = two_nodes().with_tables(actual=TABLE, predicted=predicted)
    assert platform.predicted.apps == ("hpcg", "*")
    assert platform.predicted.power_w.tolist() == [[3.0, 4.0], [1.0, 2.0]]


def test_with_tables_gives_a_new_platform_and_can_take_tables_away():
    bare = two_nodes()
    tabled = bare.with_tables(actual=TABLE)
    assert bare.actual is None
    assert tabled.actual == TABLE
    assert tabled.with_tables(actual=None) == bare


def test_the_fingerprint_knows_the_nodes_but_not_the_tables():
    assert two_nodes().sha256 == two_nodes(actual=TABLE).sha256
    others = [
        two_nodes(busy_w=200),
        two_nodes(exclusive=False),
        hs.Platform.homogeneous(nodes=3, idle_w=100, tdp_w=250),
    ]
    assert len({two_nodes().sha256, *(p.sha256 for p in others)}) == 4
    assert two_nodes() == two_nodes()
    assert two_nodes() != two_nodes(actual=TABLE)


def test_columns_of_a_platform_cannot_be_changed():
    with pytest.raises(ValueError, match="read-only"):
        two_nodes().idle_w[0] = 5
