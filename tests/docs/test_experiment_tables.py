"""Tables of experiments on the pages: rows, values of papers and words of verdicts are those of the program."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
HEAD = "| quantity | paper | here ± 95 % | reproduced |"
JUDGED = {"yes", "shape", "no", "uncertain", "not tested"}
CLAIMED = {"claim holds", "claim fails", "uncertain", "not tested"}
OTHERWISE = {"tsmva", "vahrm-error", "sleep", "hetsched"}
"""Experiments with tables of another shape throughout."""


def rows_of(page: Path) -> Iterator[tuple[str, ...]]:
    """Cells of each row of a page's tables of experiments."""
    is_inside = False
    for line in page.read_text(encoding="utf-8").splitlines():
        is_inside = line == HEAD or (is_inside and line.startswith("|"))
        if is_inside and line != HEAD and not line.startswith("|---"):
            yield tuple(cell.strip() for cell in line[1:-1].split(" | "))


TABLES = [row for page in sorted((ROOT / "docs/background").glob("*.md")) for row in rows_of(page)]
KNOWN = json.loads((ROOT / "tests/golden/reproduce.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", [name for name in KNOWN if name not in OTHERWISE])
def test_every_row_of_an_experiment_stands_on_a_page_with_the_papers_value(name):
    asked = {(row[0], "–" if row[1] is None else f"{row[1]:g}") for row in KNOWN[name]}
    assert asked
    assert asked - {(quantity, paper) for quantity, paper, _, _ in TABLES} == set()


def test_verdicts_are_worded_as_the_program_words_them():
    assert len(TABLES) > 400
    wrong = [row for row in TABLES if row[3] not in (CLAIMED if row[1] == "–" else JUDGED)]
    assert wrong == []


def test_pages_have_no_row_that_the_program_does_not_print():
    # Quick runs, of which the table is, leave fitted models out.
    known = {row[0] for rows in KNOWN.values() for row in rows}
    assert [row[0] for row in TABLES if row[0] not in known and "fitted TSMVA" not in row[0]] == []
