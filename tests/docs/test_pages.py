"""README and every page under docs/: their examples run, in the order they stand, in one folder a page.

Blocks marked ``python`` run: statements, or a session with ``>>>`` whose output must be the same. Of blocks marked
``console``, the lines that start with ``$ hetsched`` run and must succeed. What stands below such a line, or in a block
marked ``text`` next below statements or lines that ran, is what they print, but for space and how long it took; a line
of ``…`` stands for anything, and where there is one more may stand before and behind. A block below a line that is
nothing but a name in back quotes and a colon is a file of that name, there before the first example.
Examples that read ``../shared`` are left out where that folder is missing; ``<!-- skip: next "reason" -->`` leaves out
the next one.
"""

import contextlib
import doctest
import io
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from unittest import SkipTest

import numpy as np
import pytest
from sybil import Document, Example, Region
from sybil.example import SybilFailure
from sybil.parsers.markdown import CodeBlockParser, PythonCodeBlockParser, SkipParser

import hetsched as hs
from hetsched.cli import main

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
SAME_BUT_FOR_SPACE = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
TOOK = re.compile(r"\bin \d+\.\d+ s\b")
SHOWN_FILE = re.compile(r"^`([\w.-]+)`:\n\n```\w+\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def calls(block: str) -> list[tuple[list[str], str]]:
    """The words of each call of hetsched in a console block and what it prints; a backslash continues a line."""
    found: list[tuple[list[str], str]] = []
    for line in re.sub(r"\\\n\s*", "", block).splitlines():
        if line.startswith("$ "):
            found.append((shlex.split(line.removeprefix("$ "), comments=True), ""))
        elif found:
            found[-1] = (found[-1][0], f"{found[-1][1]}{line}\n")
    return [(call, said) for call, said in found if call and call[0] == "hetsched"]


def hetsched_command() -> list[str]:
    """The command of the environment that runs the tests; the package's own where that has installed none."""
    beside = Path(sys.executable).with_name("hetsched")
    return [str(beside)] if beside.exists() else [sys.executable, "-m", "hetsched"]


def run_calls(example: Example) -> str:
    """Runs a console block in this process; what failed, or nothing."""
    for call, want in calls(example.parsed):
        if is_readable(" ".join(call)):
            with printed(example) as said:
                code = main(call[1:])
            if code != 0:
                return f"{shlex.join(call)}\nexit {code}"
            if want and (difference := differs(want, said.getvalue())):
                return f"{shlex.join(call)}\n{difference}"
    return ""


@contextlib.contextmanager
def printed(example: Example) -> Iterator[io.StringIO]:
    """Keeps what a block prints for a block of text next below it."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        yield said
    # Behind the block is the end of its fence.
    example.namespace["printed"] = (example.end, said.getvalue())


def python_blocks(document: Document) -> Iterator[Region]:
    """Blocks of Python, of which statements keep what they print."""
    for region in PythonCodeBlockParser(doctest_optionflags=SAME_BUT_FOR_SPACE)(document):
        if not isinstance(region.parsed, doctest.Example):
            region.evaluator = keeping(region.evaluator)
        yield region


def keeping(evaluate: Callable[[Example], str | None]) -> Callable[[Example], str | None]:
    """The same, and what it prints is kept."""

    def run(example: Example) -> str | None:
        with printed(example):
            return evaluate(example)

    return run


def compare_text(example: Example) -> str:
    """Compares a block of text with what the block next above it printed, if that ran."""
    end, said = example.namespace.get("printed", (-1, ""))
    is_next = end >= 0 and not example.document.text[end : example.start].strip("` \n")
    return differs(example.parsed, said) if is_next and not example.parsed.startswith("$ ") else ""


def differs(want: str, got: str) -> str:
    """The difference between a text and what was printed, or nothing; a line of `…` stands for anything."""
    checker, shown = doctest.OutputChecker(), TOOK.sub("in 0 s", want.replace("…\n", "...\n"))
    ends = (
        [(before, behind) for before in ("", "...\n") for behind in ("", "...\n")] if "...\n" in shown else [("", "")]
    )
    allowed = [f"{before}{shown}{behind}" for before, behind in ends]
    printed = TOOK.sub("in 0 s", got)
    if any(checker.check_output(one, printed, SAME_BUT_FOR_SPACE) for one in allowed):
        return ""
    return checker.output_difference(doctest.Example("", shown), printed, doctest.REPORT_NDIFF)


def is_readable(text: str) -> bool:
    """True if the data that an example reads is here."""
    return "../shared" not in text or Path("../shared").is_dir()


PARSERS = [
    python_blocks,
    CodeBlockParser(language="console", evaluator=run_calls),
    CodeBlockParser(language="text", evaluator=compare_text),
    SkipParser(),
]


# What is shown as an example must not be what runs warn of.
@pytest.mark.filterwarnings("error::hetsched.errors.RunWarning")
@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
@pytest.mark.usefixtures("blank_pictures", "few_tries", "shared_reports")
def test_every_example_of_a_page_runs(page: Path, workplace: Path) -> None:
    if page.name == "learn-a-policy.md":
        pytest.importorskip("gymnasium")
    for name, content in SHOWN_FILE.findall(page.read_text(encoding="utf-8")):
        (workplace / name).write_text(content, encoding="utf-8")
    document = Document.parse(str(page), *PARSERS)
    for example in document.examples():
        source = example.parsed.source if isinstance(example.parsed, doctest.Example) else str(example.parsed)
        if is_readable(source):
            with contextlib.suppress(SkipTest):  # sybil's word for an example with a reason to be left out
                example.evaluate()
    if page.name == "learn-a-policy.md":
        check_what_was_learned(page, document.namespace["found"])


ROW = re.compile(r"^\| ([^|]+) \| ([\d.]+) \| ([+-][\d.]+) ± ([\d.]+) \| ([\d.]+) \|$", re.MULTILINE)
NEAR_H = 0.05
"""Of a mean wait of half an hour: last digits of sums may differ elsewhere, and a few choices with them."""


def check_what_was_learned(page: Path, found: dict[str, np.ndarray]) -> None:
    """The agent beats a random one beyond chance, and the page's table says what was found."""
    gains_h = found["random"][:, 0] - found["learned, training seed 0"][:, 0]
    assert gains_h.mean() - half_width(gains_h) > 0.1
    rows = {name: tuple(map(float, numbers)) for name, *numbers in ROW.findall(page.read_text(encoding="utf-8"))}
    assert len(rows) == 10
    for name, waits_h in found.items():
        mean_h, gain_h, half_h, longest_h = rows[name]
        change_h = waits_h[:, 0] - found["`easy`"][:, 0]
        assert waits_h[:, 0].mean() == pytest.approx(mean_h, abs=NEAR_H)
        assert change_h.mean() == pytest.approx(gain_h, abs=NEAR_H)
        assert half_width(change_h) == pytest.approx(half_h, abs=NEAR_H)
        assert waits_h[:, 1].mean() == pytest.approx(longest_h, rel=0.1)


def half_width(values: np.ndarray) -> float:
    """Half of the 95 % interval of a mean over fifty values."""
    return float(2.01 * values.std(ddof=1) / np.sqrt(len(values)))


def test_the_command_of_this_environment_runs(workplace: Path) -> None:
    # The package under test, also where it is found by a path relative to another folder.
    environment = {**os.environ, "PYTHONPATH": str(Path(hs.__file__).parents[1])}
    said = subprocess.check_output([*hetsched_command(), "--version"], env=environment, encoding="utf-8")
    assert said.startswith(f"hetsched {hs.__version__}\n")


def test_calls_are_found_in_console_blocks() -> None:
    block = "$ hetsched simulate a.swf \\\n    --nodes 4\njobs  12\n$ ls out\n$ hetsched policies  # all of them\n"
    simulated = (["hetsched", "simulate", "a.swf", "--nodes", "4"], "jobs  12\n")
    assert calls(block) == [simulated, (["hetsched", "policies"], "")]


@pytest.mark.parametrize(
    ("block", "fault"),
    [
        ("```console\n$ hetsched machines\nno such line\n```\n", "no such line"),
        ("```console\n$ hetsched machines\n```\n\n```text\n…\nno such line\n```\n", "no such line"),
        ("```python\nprint(1)\n```\n\n```text\n2\n```\n", "1"),
        ("```python\nprint('in 0.3 s')\n```\n\n```text\nin 5.1 s\n```\n", None),
        ("```python\nprint('a', 'b', sep=chr(10))\n```\n\n```text\n…\nb\n```\n", None),
        ("```python\nprint('a', 'b', 'c', 'd', sep=chr(10))\n```\n\n```text\nb\n…\nd\n```\n", None),
        ("```python\nprint('a', 'b', sep=chr(10))\n```\n\n```text\nb\n```\n", "a"),
        ("```python\nprint(1)\n```\n\nWords.\n\n```text\n2\n```\n", None),
    ],
)
def test_what_a_page_shows_as_printed_is_compared(workplace: Path, block: str, fault: str | None) -> None:
    page = workplace / "page.md"
    page.write_text(block)
    with contextlib.nullcontext() if fault is None else pytest.raises(SybilFailure, match=fault):
        for example in Document.parse(str(page), *PARSERS).examples():
            example.evaluate()


def test_a_call_that_fails_fails_the_page(workplace: Path) -> None:
    page = workplace / "page.md"
    page.write_text("```console\n$ hetsched no-such-verb\n```\n")
    (example,) = Document.parse(str(page), *PARSERS).examples()
    with pytest.raises(AssertionError, match="exit 2"):
        example.evaluate()


def tables(text: str) -> list[list[str]]:
    """The tables of a page, each as its lines; code blocks hold none."""
    found: list[list[str]] = [[]]
    for line in re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL).splitlines():
        if line.startswith("|"):
            found[-1].append(line)
        elif found[-1]:
            found.append([])
    return [lines for lines in found if lines]


def cells(row: str) -> int:
    """Number of a row's cells as GitHub counts: a bar parts them also inside of code, unless behind a backslash."""
    return len(re.findall(r"(?<!\\)\|", row)) - 1


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_row_of_a_table_has_its_headers_cells(page: Path) -> None:
    for header, rule, *rows in (lines if len(lines) > 1 else [*lines, ""] for lines in tables(page.read_text("utf-8"))):
        assert re.fullmatch(r"\|(:?-+:?\|)+", rule), f"no header above: {header}"
        wrong = [row for row in (header, *rows) if cells(row) != cells(rule) or not row.endswith("|")]
        assert wrong == []


def test_rows_are_counted_as_github_counts_them() -> None:
    text = "| a | b |\n|---|---|\n| `x\\|y` | z |\n\ntext\n\n| lost |\n\n```text\n| no | table\n```\n"
    assert tables(text) == [["| a | b |", "|---|---|", "| `x\\|y` | z |"], ["| lost |"]]
    assert [cells(row) for row in ("| `x\\|y` | z |", "| `x|y` | z |", "| | |")] == [2, 3, 2]


def anchors(text: str) -> set[str]:
    """Anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)$", re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


LINKED = [*PAGES, *(ROOT / name for name in ("CONTRIBUTING.md", "CHANGELOG.md"))]


@pytest.mark.parametrize("page", LINKED, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_to_a_page_leads_to_a_page_and_a_heading(page: Path) -> None:
    for path, anchor in re.findall(r"\]\((?!https?:)([^)#\s]*)#?([^)\s]*)\)", page.read_text("utf-8")):
        target = (page.parent / path) if path else page
        assert target.is_file(), f"no file {path}"
        assert not anchor or anchor in anchors(target.read_text("utf-8")), f"no heading {path}#{anchor}"
