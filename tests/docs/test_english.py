"""Docstrings open with a noun or a verb."""

import ast
from collections.abc import Iterator
from pathlib import Path

import hetsched as hs

QUESTIONS = {
    *("As", "By", "For", "How", "Of", "That", "To", "What", "Whatever", "When", "Where"),
    *("Whether", "Which", "Who", "Whoever", "Why", "With"),
}
"""Words with which a docstring says what follows about its subject, and not what that is."""


def openings(source: str) -> Iterator[tuple[str, str]]:
    """Each thing in a module with a docstring, and the docstring's first word."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            text = ast.get_docstring(node)
            if text:
                yield getattr(node, "name", "the module"), text.split()[0].strip(",.:")


def test_every_docstring_opens_with_a_noun_or_a_verb() -> None:
    package = Path(hs.__file__).parent
    found = [
        f"{path.relative_to(package)}: {name} opens with {word!r}"
        for path in sorted(package.rglob("*.py"))
        for name, word in openings(path.read_text(encoding="utf-8"))
        if word in QUESTIONS
    ]
    assert not found, "\n".join(found)


def test_a_question_word_at_the_opening_is_found() -> None:
    source = '"""Nodes."""\n\ndef count():\n    """How many nodes there are."""\n'
    assert list(openings(source)) == [("the module", "Nodes"), ("count", "How")]
