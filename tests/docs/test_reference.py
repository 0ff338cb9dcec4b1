"""The reference says what the program says: its generated parts are up to date, its other tables name what is there."""

import importlib.util
import re
import sys
from pathlib import Path

import pytest

import hetsched as hs
from hetsched.cli.app import commands

ROOT = Path(__file__).resolve().parents[2]
REFERENCE = ROOT / "docs" / "reference"
PAGES = sorted(REFERENCE.glob("*.md"))


@pytest.fixture(scope="module")
def tool():
    """The script that writes the generated parts."""
    spec = importlib.util.spec_from_file_location("write_reference", ROOT / "tools" / "write_reference.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["write_reference"] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules["write_reference"]


def first_cells(page: str) -> list[str]:
    """The first cells of a page's tables."""
    return re.findall(r"^\| ((?:[^|\\]|\\.)+) \|", (REFERENCE / page).read_text(encoding="utf-8"), re.MULTILINE)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_generated_parts_are_up_to_date(tool, page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert text == tool.written(text), "python tools/write_reference.py writes them"


def test_every_kind_of_part_is_used(tool) -> None:
    used = {found[1].split()[0] for page in PAGES for found in tool.REGION.findall(page.read_text(encoding="utf-8"))}
    assert used == set(tool.WRITERS)


def test_what_is_written_by_hand_is_kept_and_the_rest_is_not(tool) -> None:
    table = "| part | x | more |\n|---|---|---|\n| `fcfs` | old | by \\| hand |\n"
    page = f"# A\n\n<!-- generated: parts order -->\n{table}<!-- end -->\n"
    after = tool.written(page)
    assert "| `fcfs` | earliest submit first | by \\| hand |\n" in after
    assert "| `vahrm` | `beta` | | `0.000244140625` | a number from 0 to 1 |" in after
    assert tool.written(after) == after


def test_every_option_that_the_page_explains_is_one() -> None:
    known = {word for _, command in commands() for one in command.params for word in one.opts}
    explained = {word for cell in first_cells("command-line.md") for word in re.findall(r"--[a-z][a-z-]+", cell)}
    assert len(explained) > 60
    assert explained - known - {"--version"} == set()


def test_every_option_of_the_command_line_has_a_line() -> None:
    known = {
        word
        for _, command in commands()
        for one in command.params
        if one.param_type_name == "option"
        for word in one.opts
    }
    listed = {word for cell in first_cells("options.md") for word in re.findall(r"--[a-z][a-z-]+", cell)}
    assert known == listed


def test_every_metric_stands_in_the_table_and_no_other() -> None:
    text = (REFERENCE / "python.md").read_text(encoding="utf-8").partition("\n## Metrics\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| ((?:`\w+`(?:, )?)+) \|", text, re.MULTILINE)
    listed = [key for row in rows for key in re.findall(r"`(\w+)`", row)]
    assert sorted(listed) == sorted(hs.analysis.METRICS)
