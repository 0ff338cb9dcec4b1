"""Tables: names folded at their marks, metrics in full, and no column lost at any width."""

import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from rich.console import Console

from hetsched.analysis import METRICS, ratios_to_baseline
from hetsched.policy import parts
from hetsched.report.tables import comparison_table, folded, parts_table, presets_table, summary_table

LONG = "conservative:placement=sliding-window:placement.on_miss=wait"
NAMES = ["fcfs", LONG, "swa:placement.on_miss=wait:placement.window=1"]


def lines_of(table, width):
    console = Console(width=width, color_system=None, markup=False, highlight=False)
    with console.capture() as captured:
        console.print(table)
    return [line.rstrip() for line in captured.get().splitlines()]


@given(st.text("ab:/=_-. ", max_size=60), st.integers(5, 40), st.sampled_from(["", "  "]))
@example(" =::::", 5, "")  # a space in front of what fills the line
def test_folding_loses_nothing_and_keeps_to_the_width(text, width, indent):
    lines = folded(text, width, indent=indent)
    assert "".join("".join(lines).split()) == "".join(text.split())
    assert max(map(len, lines)) <= width


@given(st.lists(st.text("abc", min_size=1, max_size=12), min_size=1, max_size=8), st.sampled_from(" :/"))
def test_words_that_fit_are_not_broken(words, mark):
    lines = folded(mark.join(words), 14)
    assert [word for line in lines for word in line.replace(mark, " ").split()] == words


def test_names_are_folded_behind_the_coarsest_mark_that_helps():
    text = "swa:placement.on_miss=wait:placement.window=1 on 48 nodes"
    assert folded(text, 40) == ["swa:placement.on_miss=wait:", "placement.window=1 on 48 nodes"]
    assert folded("fcfs:placement=sliding-window", 20) == ["fcfs:placement=", "sliding-window"]
    assert folded("90 %", 4, indent="  ") == ["90 %"]


def runs_of(keys):
    values = {key: [1234.5, 2345.6, 3456.7] for key in keys}
    return ratios_to_baseline(pl.DataFrame({"policy": NAMES, **values}), baseline="fcfs", metrics=keys)


@pytest.mark.parametrize("width", [50, 60, 80, 120])
@pytest.mark.parametrize("keys", [("energy_j", "job_energy_j", "mean_wait_s", "p95_wait_s"), tuple(METRICS)[8:]])
def test_a_comparison_shows_every_metric_and_name_at_every_width(width, keys):
    lines = lines_of(comparison_table(runs_of(keys), baseline="fcfs", width=width), width)
    assert max(map(len, lines)) <= width
    shown = "\n".join(lines)
    assert "…" not in shown
    assert all(word in shown for key in keys for word in METRICS[key].title.split())
    pieces = [piece for name in NAMES for piece in ("swa:", "conservative:", "on_miss=wait", "window=1")]
    assert all(piece in shown for piece in pieces)
    # A value and a ratio of every metric under the third policy.
    last = [line for line in lines if "window=1" in line]
    assert sum(len(line.split()) - 1 for line in last) == 2 * len(keys)


@given(
    st.integers(60, 120),
    st.floats(3.6, 3.6e15),
    st.floats(1e-3, 1.0),
    st.integers(1, 1_000_000),
)
@example(60, 3.6e15, 1e-3, 1_000_000)
@example(120, 3.6, 1.0, 1)
def test_tables_hold_small_and_large_numbers(width, joules, share, jobs):
    largest = {
        key: float(joules if key.endswith("_j") else 1e9 * joules if key.endswith("_js") else jobs) for key in METRICS
    }
    values = {key: [value, value * share, 0.0] for key, value in largest.items()}
    table = ratios_to_baseline(pl.DataFrame({"policy": NAMES, **values}), baseline="fcfs", metrics=tuple(METRICS))
    shown = lines_of(comparison_table(table, baseline="fcfs", width=width), width)
    shown += lines_of(summary_table(largest), width)
    assert max(map(len, shown)) <= width
    text = "\n".join(shown)
    assert "…" not in text
    assert "h h" not in text


def test_the_headers_of_a_comparison_are_titles_in_full():
    lines = lines_of(comparison_table(runs_of(["job_energy_j"]), baseline="fcfs"), 80)
    assert "energy of" in " ".join(lines)
    assert "nodes at" in " ".join(lines)


@pytest.mark.parametrize("width", [60, 80, 120])
def test_every_parameter_is_listed_with_its_default(width):
    lines = lines_of(parts_table(width=width), width)
    joined = "".join("".join(line.split()) for line in lines)
    assert "…" not in joined
    for part in parts().values():
        for parameter in part["parameters"]:
            default = parameter["default"].strip('"')
            name = f"{parameter['name']}="
            # Where there is little room the longest names are broken.
            first = [line.split()[0] if line.split() else "" for line in lines]
            rows = [k for k, word in enumerate(first) if word.startswith(name) or word == name[: max(len(word), 10)]]
            assert any(default in " ".join(lines[k : k + 2]) for k in rows), parameter["name"]
    assert "…" not in "".join(lines_of(presets_table(width=width), width))
