"""Small parts that every layer uses: faults and their places, words of messages, files, sums and chance."""

from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from hetsched.chance import stream
from hetsched.checks import (
    Faults,
    can_name_a_file,
    did_you_mean,
    few,
    listed,
    many,
    one_line,
    plain,
    reason_of,
    shown,
    typed,
)
from hetsched.errors import ConfigError, Fault
from hetsched.files import for_csv, frame_sha256, json_sha256, temporary_path, write_whole
from hetsched.tables import CsvText, misfit

# --- Faults --------------------------------------------------------------------------------------------------------


def test_all_faults_come_at_once_with_their_paths():
    faults = Faults("platform")
    faults.add("nodes", 0, "at least 1")
    faults.number("idle_w", -5.0, low=0.0)
    faults.note("tdp_w", "nothing", "watts", row=3)
    assert faults.has("tdp_w", "busy_w")
    assert not faults.has("busy_w", "idle", "platform")
    with pytest.raises(ConfigError) as caught:
        faults.check()
    assert str(caught.value).splitlines() == [
        "platform.nodes: found `0`, expected at least 1",
        "platform.idle_w: found `-5`, expected a number >= 0",
        "platform.tdp_w, row 3: found nothing, expected watts",
    ]
    assert caught.value.faults[2] == ("platform.tdp_w, row 3", "nothing", "watts")
    assert caught.value.details[2] == Fault("platform.tdp_w", "nothing", "watts", row=3)


def test_choices_arrays_and_folders():
    faults = Faults()
    faults.choice("known_draws", "tpd", ("measured", "table", "tdp"))
    faults.choice("known_draws", "tdp", ("measured", "table", "tdp"))
    assert faults.array("cost", [[1, 2.5]], "numbers").tolist() == [[1.0, 2.5]]
    assert faults.array("cost", ["1", "2"], "numbers") is None
    faults.folder("out", "")
    assert [str(fault) for fault in faults.found] == [
        "known_draws: found `tpd`, expected one of measured, table, tdp; did you mean `tdp`?",
        "cost: found `['1', '2']`, expected numbers",
        "out: found ``, expected a folder's name",
    ]


def fault(path, row=None):
    return Fault(path, "`0`", "at least 1", row)


@pytest.mark.parametrize(
    ("path", "place", "joint", "found"),
    [
        ("order", "policies[0]", ".", "policies[0].order"),
        ("[2]", "policies", ".", "policies[2]"),
        ("", "policies[0]", ".", "policies[0]"),
        ("order", "", ".", "order"),
        ("idle_w", "node.toml", ": ", "node.toml: idle_w"),
    ],
)
def test_faults_under_a_place(path, place, joint, found):
    assert fault(path, 7).under(place, joint) == fault(found, 7)


@pytest.mark.parametrize(
    ("path", "old", "new", "found"),
    [
        ("count", "count", "nodes", "nodes"),
        ("counts", "count", "nodes", "counts"),
        ("policy.order", "policy", "", "order"),
        ("policy", "policy", "", ""),
        ("mix[0].count", "mix", "--set mix", "--set mix[0].count"),
        ("policies[0].order", "policies", "--policies", "--policies[0].order"),
        ("policies: easy", "policies", "--policies", "--policies: easy"),
    ],
)
def test_faults_of_a_parameter_that_is_called_otherwise(path, old, new, found):
    assert fault(path, 7).moved(old, new) == fault(found, 7)


def test_faults_of_an_error_are_changed_or_taken_over():
    error = ConfigError([("count", "`0`", "at least 1"), fault("tdp_w", 2)])
    assert [str(one) for one in error.mapped(lambda one: one.hinting("; or more")).details] == [
        "count: found `0`, expected at least 1; or more",
        "tdp_w, row 2: found `0`, expected at least 1; or more",
    ]
    faults, others = Faults(), Faults()
    faults.extend(error, lambda one: one.under("classes[0]"))
    others.extend(faults)
    assert [one.triple[0] for one in others.found] == ["classes[0].count", "classes[0].tdp_w, row 2"]
    assert fault("runs.power_w", 3).at("runs.csv, line 5, power_w") == fault("runs.csv, line 5, power_w")


# --- Words ---------------------------------------------------------------------------------------------------------


def test_values_and_names_in_messages():
    assert [shown(value) for value in ("esay", -1, float("nan"))] == ["`esay`", "`-1`", "`NaN`"]
    assert [typed(value) for value in (3, 3.0, "3", "x", 1e15)] == ["`3`", "`3.0`", "`'3'`", "`x`", "`1e+15`"]
    assert one_line("a\tb\n") == "a\\tb\\n"
    assert listed(["fcfs", "easy"]) == "fcfs, easy"
    assert few(["n1", "n2", "n3", "n4"], most=2) == "n1, n2 and 2 more"
    assert [many(1, "node"), many(2000, "node")] == ["1 node", "2,000 nodes"]


@pytest.mark.parametrize(
    ("name", "known", "hint"),
    [
        ("esay", ["easy", "fcfs"], "; did you mean `easy`?"),
        ("boot_ms", ["boot_s", "boot_w"], "; did you mean `boot_s`?"),
        ("xyz", ["easy", "fcfs"], ""),
    ],
)
def test_hints_to_the_nearest_name(name, known, hint):
    assert did_you_mean(name, known) == hint


def test_plain_numbers():
    assert plain({"depth": Fraction(1, 4), "name": "x"}) == {"depth": 0.25, "name": "x"}
    assert [plain(value) for value in (True, Decimal("0.5"), np.int64(3))] == [True, 0.5, 3]


# --- Files and tables ----------------------------------------------------------------------------------------------


def test_names_of_files_and_why_one_cannot_be_read():
    assert [can_name_a_file(name) for name in ("a.csv", "a\0.csv", "\ud800.csv")] == [True, False, False]
    assert reason_of(FileNotFoundError(2, "No such file or directory")) == "no such file"
    assert reason_of(ValueError("no number")) == "no number"


def test_files_are_written_whole(tmp_path):
    write_whole(tmp_path / "new" / "a.txt", b"all")
    write_whole(tmp_path / "new" / "b.txt", lambda path: path.write_text("all"))
    assert sorted(path.name for path in tmp_path.rglob("*.*")) == ["a.txt", "b.txt"]
    name = temporary_path(Path("out/jobs.parquet")).name
    assert name.startswith(".jobs.parquet.")
    assert name.endswith(".partial")


def test_lists_are_text_in_csv():
    assert for_csv(pl.DataFrame({"nodes": [[3, 5, 8], None]}))["nodes"].to_list() == ["3 5 8", None]


def test_rows_of_text_know_their_lines():
    text = CsvText(b'\xef\xbb\xbfapp,power_w\n\n"a\nb",200\nc,1,2\n,,,\nd\n')
    assert text.header == ["app", "power_w"]
    assert [text.line_of(row) for row in range(3)] == [2, 3, 5]
    assert [(one.first, one.last, one.fields) for one in text.ragged()] == [(5, 5, ["c", "1", "2"]), (7, 7, ["d"])]
    assert [one.fields for one in text.without(text.ragged()).records() if any(one.fields)][1:] == [["a\nb", "200"]]
    assert not text.is_plainly_even
    assert CsvText(b"a;b\n1;2\n\n;;;\n", ";").is_plainly_even
    assert CsvText(b"").header == ()


def test_the_first_word_among_numbers():
    assert misfit(pl.Series("power_w", ["300", "3OO"])) == (1, "3OO")
    assert misfit(pl.Series("power_w", [True])) == (None, "values of type Boolean")


# --- Sums and chance -----------------------------------------------------------------------------------------------


def test_sums_know_values_and_names_only():
    frame = pl.DataFrame({"job_id": [1, 2], "app": ["x", None]})
    assert frame_sha256(frame) == frame_sha256(pl.concat([frame[:1], frame[1:]], rechunk=False))
    assert frame_sha256(frame) != frame_sha256(frame.rename({"app": "user"}))
    assert json_sha256({"a": 1, "b": 2}) == json_sha256({"b": 2, "a": 1})


def test_each_purpose_has_a_stream_of_its_own():
    first, again, other = (stream(7, name).random() for name in ("a", "a", "b"))
    assert first == again != other
