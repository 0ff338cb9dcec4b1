"""Blocks of pages that no test runs: each kind with the reason, so that an example cannot be forgotten."""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FILE_NAME = re.compile(r"`[\w.-]+`:$")
SKIP = re.compile(r"<!-- skip: next.*-->$")

COMMANDS = {
    ".venv/bin/python": "tools and tests of the project: the gate runs them",
    ".venv/bin/ruff": "the gate",
    "cargo": "the gate",
    "cat": "logs of a server of PBS",
    "export": "before `sacct`",
    "hetsched": "after an installation; the test of the command runs `--version`",
    "make": "the gate itself, and builds of minutes",
    "pip": "installs",
    "python": "benches: `make bench`",
    "python3": "installs",
    "sacct": "a Slurm cluster",
}
"""First words of lines behind `$` in blocks where no line is a call that a test makes."""

LANGUAGES = {
    "diff": "applied to a copy of the code by test_architecture.py",
    "rust": "compared with the example's source by test_part_in_rust.py",
    "sh": "benches: `make bench`",
    "text": "what is printed, or a drawing: compared where it stands next below what prints it",
    "json": "a piece of a file",
    "toml": "a piece of a file: read as TOML below",
    "yaml": "a piece of a file of another program",
}

SKIPPED = {
    "docs/how-to/learn-a-policy.md": "a module of the reader's own",
    "README.md": "a log that the project may not ship: run where ../shared has it",
}


def blocks() -> Iterator[tuple[str, str, str, str]]:
    """Page, language, content, and the line above, of every block."""
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for found in FENCE.finditer(text):
            above = text[: found.start()].rstrip().rpartition("\n")[2]
            yield str(page.relative_to(ROOT)), found[1], found[2], above


def test_every_block_runs_or_says_why_it_does_not() -> None:
    unknown = [
        f"{page}: {language} {content.splitlines()[0]}"
        for page, language, content, above in blocks()
        if not (runs(language, content) or FILE_NAME.search(above) or language in LANGUAGES)
        and not (language == "console" and words(content) <= {*COMMANDS})
    ]
    assert unknown == []


def runs(language: str, content: str) -> bool:
    return language in ("python", "pycon") or (language == "console" and words(content) == {"hetsched"})


def words(content: str) -> set[str]:
    """First words of the commands of a console block."""
    joined = re.sub(r"\\\n\s*", "", content)
    return {line.split()[1] for line in joined.splitlines() if line.startswith("$ ")}


def test_every_reason_is_used() -> None:
    found = list(blocks())
    used = {word for _, language, content, _ in found if language == "console" for word in words(content)}
    assert {*COMMANDS} - used == set()
    assert {*LANGUAGES} - {language for _, language, _, _ in found} == set()


def test_examples_that_are_skipped_are_few_and_known() -> None:
    assert {page for page, _, _, above in blocks() if SKIP.search(above)} == {*SKIPPED}


@pytest.mark.parametrize(
    ("page", "content"), [(page, content) for page, language, content, _ in blocks() if language == "toml"]
)
def test_every_block_of_toml_is_toml(page: str, content: str) -> None:
    assert tomllib.loads(content), page
