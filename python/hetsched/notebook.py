"""HTML of results and inputs where a notebook shows them: a title, facts and small tables, all names as text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape

_LINE = "padding: 2px 12px 2px 0; text-align: left; vertical-align: top"
_NUMBER = "padding: 2px 12px 2px 0; text-align: right; vertical-align: top"


def card(title: str, facts: Mapping[str, str] | None = None, *more: str, notes: Iterable[str] = ()) -> str:
    """A title, facts below it, HTML that was made before, and notes.

    Examples
    --------
    >>> card("Two <jobs>", {"jobs": "2"}).count("&lt;jobs&gt;")
    1
    """
    own = [] if not facts else [table([], [[name, value] for name, value in facts.items()])]
    lines = "".join(f"<p>{escape(note)}</p>" for note in notes)
    return f"<div><p><b>{escape(title)}</b></p>{''.join([*own, *more])}{lines}</div>"


def table(header: Sequence[str], rows: Iterable[Sequence[str]], *, words: int = 1) -> str:
    """A table: the first `words` columns are text, the others are numbers."""
    head = "".join(_cell("th", name, place < words) for place, name in enumerate(header))
    body = "".join(
        f"<tr>{''.join(_cell('td', text, place < words) for place, text in enumerate(row))}</tr>" for row in rows
    )
    return f"<table>{f'<thead><tr>{head}</tr></thead>' if header else ''}<tbody>{body}</tbody></table>"


def _cell(kind: str, text: str, is_words: bool) -> str:
    return f'<{kind} style="{_LINE if is_words else _NUMBER}">{escape(text)}</{kind}>'
