"""Docstrings open with a noun or a verb, and no text uses a word of the stop list."""

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

QUESTIONS = {
    *("As", "By", "For", "How", "Of", "That", "To", "What", "Whatever", "When", "Where"),
    *("Whether", "Which", "Who", "Whoever", "Why", "With"),
}
"""Words with which a docstring says what follows about its subject, and not what that is."""


OPENING = re.compile(rf"[\"']{{3}}\s*(?:{'|'.join(sorted(QUESTIONS))})\b")


def openings(source: str) -> Iterator[tuple[str, str]]:
    """Each thing in a module with a docstring, and the docstring's first word."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            text = ast.get_docstring(node)
            if text:
                yield getattr(node, "name", "the module"), text.split()[0].strip(",.:")


def sources() -> Iterator[Path]:
    """Each Python source of the project."""
    for folder in ("python", "tests", "tools", "benches", "examples"):
        yield from sorted((ROOT / folder).rglob("*.py"))


def test_every_docstring_opens_with_a_noun_or_a_verb() -> None:
    found = [
        f"{path.relative_to(ROOT)}: {name} opens with {word!r}"
        for path in sources()
        if OPENING.search(source := path.read_text(encoding="utf-8"))
        for name, word in openings(source)
        if word in QUESTIONS
    ]
    assert not found, "\n".join(found)


def test_a_question_word_at_the_opening_is_found() -> None:
    source = '"""Nodes."""\n\ndef count():\n    """How many nodes there are."""\n'
    assert OPENING.search(source)
    assert list(openings(source)) == [("the module", "Nodes"), ("count", "How")]


LITERARY = re.compile(
    r"(?<![^\W_])(anew|befall\w*|befell|beside|dealt|fates?|hungry|lest|of whose|thereof|told|unlike[ _]nodes|whilst"
    r"|whoever)(?![^\W_])",
    re.IGNORECASE,
)
"""Words at which a reader stops; between underscores, too, as names have them."""

MOST_WORDS = 14
"""Longest name of a test, in words."""


def words_of_python(source: str) -> Iterator[tuple[int, str]]:
    """Comments, strings and names of what is defined in a source, each with its line; nothing if no word is there."""
    if not LITERARY.search(source):
        return
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type in (tokenize.COMMENT, tokenize.STRING) or tokenize.tok_name[token.type] == "FSTRING_MIDDLE":
            yield token.start[0], token.string
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            yield node.lineno, node.name


def words_of_page(text: str) -> Iterator[tuple[int, str]]:
    """Lines of a page without the targets of its links, and without code in a line."""
    for number, line in enumerate(text.splitlines(), start=1):
        yield number, re.sub(r"\]\([^)\s]*\)|`[^`]*`", "]", line)


def literary(words: Iterator[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    """Each word of the stop list, with its line."""
    for number, text in words:
        for found in LITERARY.finditer(text):
            yield number + text.count("\n", 0, found.start()), found[0]


def names_of_tests() -> Iterator[tuple[Path, str]]:
    """Each test's file and name."""
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        for name in re.findall(r"^ *(?:async )?def (test_\w+)\(", path.read_text(encoding="utf-8"), flags=re.MULTILINE):
            yield path, name


def test_code_pages_and_names_of_tests_use_the_fields_words() -> None:
    texts = [(path, words_of_python) for path in sorted((ROOT / "python").rglob("*.py"))]
    texts += [(path, words_of_page) for path in sorted((ROOT / "docs").rglob("*.md"))]
    texts += [(ROOT / name, words_of_page) for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")]
    found = [
        f"{path.relative_to(ROOT)}:{number}: {word!r}"
        for path, words in texts
        for number, word in literary(words(path.read_text(encoding="utf-8")))
    ]
    found += [f"{path.relative_to(ROOT)}: {name}" for path, name in names_of_tests() if LITERARY.search(name)]
    assert not found, "\n".join(found)


def test_names_of_tests_are_short() -> None:
    long = [f"{path.name}: {name}" for path, name in names_of_tests() if name.count("_") > MOST_WORDS]
    assert not long, "\n".join(long)


def test_literary_words_in_texts_and_names_are_found() -> None:
    source = 'def is_told(x):\n    """Jobs.\n\n    Planned anew."""\n    return f"{x} beside"  # lest it ends\n'
    assert {word for _, word in literary(words_of_python(source))} == {"told", "anew", "beside", "lest"}
    assert (4, "anew") in literary(words_of_python(source))
    assert list(literary(words_of_page("A [page](beside-slurm.md).\nUnlike nodes, retold."))) == [(2, "Unlike nodes")]
