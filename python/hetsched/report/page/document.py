"""`Page`: an HTML page of facts, numbers, tables and charts, with everything that it needs in one file."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.resources import files
from itertools import count
from pathlib import Path
from typing import Any

from hetsched.files import write_whole
from hetsched.report.page.words import printable
from hetsched.reported import check_path, require_page

RULE = (
    "A line over time has at most {bins:,} intervals of equal length: their means; bands reach from the least to the "
    "most in each."
)
"""The rule by which many jobs become few points."""


@dataclass(frozen=True)
class Number:
    """One of the large numbers: its name, its value, and a line of detail."""

    name: str
    value: str
    detail: str = ""


@dataclass(frozen=True)
class Words:
    """A paragraph."""

    text: str
    kind: str = "words"


@dataclass(frozen=True)
class Lines:
    """A list of sentences."""

    lines: Sequence[str]
    kind: str = "list"


_SHORT = 8


@dataclass(frozen=True)
class Grid:
    """A table: the first `words` columns are text, the others are numbers; a cell may have several lines.

    `group` and `member` are as those of a chart.
    """

    label: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    words: int = 1
    note: str = ""
    group: str = ""
    member: str = ""
    kind: str = "grid"

    @property
    def is_numbered(self) -> bool:
        """True if the first column has short names, such as numbers, that need no room."""
        return all(len(row[0]) <= _SHORT for row in self.rows)


@dataclass(frozen=True)
class Chart:
    """A chart: a figure of plotly.js, `data` and `layout`.

    Charts with the same `link` zoom together. Of those of a `group` one is shown, the `member` that a `Choice` says.
    `spoken` says in a sentence what it shows, for those who cannot see it.
    """

    label: str
    spoken: str
    figure: Mapping[str, Any]
    height: int = 320
    link: str = ""
    group: str = ""
    member: str = ""
    note: str = ""
    key: str = ""
    kind: str = "chart"


@dataclass(frozen=True)
class Choice:
    """A list from which a reader chooses what of a group is shown."""

    label: str
    group: str
    members: Sequence[str]
    kind: str = "choice"


Block = Words | Lines | Grid | Chart | Choice


@dataclass(frozen=True)
class Section:
    """A heading and what stands below it."""

    key: str
    title: str
    blocks: Sequence[Block]


@dataclass(frozen=True)
class Page:
    """A page: title, facts, assumptions, the answer in words and large numbers, then sections."""

    title: str
    facts: Sequence[tuple[str, str]] = ()
    assumptions: Sequence[str] = ()
    answer: Sequence[str] = ()
    numbers: Sequence[Number] = ()
    sections: Sequence[Section] = field(default=())
    rule: str = ""

    def html(self) -> str:
        """The page as text, with style, charting library and data in it.

        Raises
        ------
        ConfigError
            If plotly or jinja2 is not installed.
        """
        from jinja2 import Environment  # noqa: PLC0415 -- an extra
        from markupsafe import Markup  # noqa: PLC0415

        from hetsched import __version__  # noqa: PLC0415

        require_page()
        sections, figures = _with_keys(self.sections)
        template = Environment(autoescape=True, finalize=_printable).from_string(_asset("page.html"))
        return template.render(
            page=_Numbered(self, sections),
            version=__version__,
            style=Markup(_asset("page.css")),
            script=Markup(_asset("page.js")),
            library=Markup(_library()),
            charts=Markup(_inert(figures)),
        )

    def write(self, path: str | os.PathLike[str]) -> str:
        """Write the page; gives its name.

        Raises
        ------
        ConfigError
            If `path` is no name of an HTML file, or plotly or jinja2 is not installed.
        OutputError
            If it cannot be written.
        """
        check_path(path)
        write_whole(Path(path), self.html().encode())
        return str(path)


@dataclass(frozen=True)
class _Numbered:
    """The page as its template reads it, with keys at its charts."""

    page: Page
    sections: Sequence[Section]

    def __getattr__(self, name: str) -> Any:
        return getattr(self.page, name)


def _with_keys(sections: Sequence[Section]) -> tuple[list[Section], dict[str, Any]]:
    """The sections with a key at each chart, and the figures by key."""
    numbers, figures, found = count(1), dict[str, Any](), []
    for section in sections:
        blocks: list[Block] = []
        for block in section.blocks:
            own = replace(block, key=f"chart-{next(numbers)}") if isinstance(block, Chart) else block
            if isinstance(own, Chart):
                figures[own.key] = own.figure
            blocks.append(own)
        found.append(replace(section, blocks=blocks))
    return found, figures


def _inert(figures: Mapping[str, Any]) -> str:
    """JSON that ends no script, whatever names are in it."""
    text = json.dumps(figures, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026").replace("\u2028", "\\u2028")


def _printable(value: Any) -> Any:
    """A value of the template without control characters; what is no plain text stays as it is."""
    return printable(value) if type(value) is str else value


@cache
def _asset(name: str) -> str:
    return (files("hetsched") / "data" / "page" / name).read_text(encoding="utf-8")


@cache
def _library() -> str:
    """plotly.js, whose text must not end the script that it is in."""
    from plotly.offline import get_plotlyjs  # noqa: PLC0415 -- an extra, and slow to import

    return str(get_plotlyjs()).replace("</script", "<\\/script")
