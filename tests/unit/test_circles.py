"""Files import each other in one direction, but for methods that read, write or draw what their class holds."""

import ast
from collections.abc import Collection
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import grimp
import pytest

import hetsched as hs

DEFERRED = {
    ("hetsched.run.result", "hetsched.report.page.runs"): "Result.report: pages are made of results",
    ("hetsched.reported", "hetsched.report.page.document"): "Reported.report: pages are made of what is reported",
}
"""Imports inside of functions, and by `import_module`, that close a circle, and the method that needs them."""


@cache
def imports() -> dict[str, frozenset[str]]:
    """Files by name, each with the files that it imports anywhere; those for type checkers alone do not count."""
    graph = grimp.build_graph("hetsched", exclude_type_checking_imports=True, cache_dir=None)
    # What is loaded when its name is asked for is the package's face.
    found = {
        name: graph.find_modules_directly_imported_by(name) - {"hetsched"} for name in graph.modules - {"hetsched"}
    }
    for name, path in files():
        found[name] |= named_imports(path.read_text(encoding="utf-8")) & graph.modules
    return {name: frozenset(imported) for name, imported in found.items()}


def imports_but(left_out: Collection[tuple[str, str]]) -> dict[str, frozenset[str]]:
    """`imports` without some of them, each of which is there."""
    graph = dict(imports())
    for importer, imported in left_out:
        assert imported in graph[importer]
        graph[importer] -= {imported}
    return graph


def files() -> list[tuple[str, Path]]:
    """Files of the package, but for its face, each with its name."""
    top = Path(hs.__file__).parent
    named = [(".".join(path.relative_to(top.parent).with_suffix("").parts), path) for path in top.rglob("*.py")]
    return [(name.removesuffix(".__init__"), path) for name, path in named if name != "hetsched.__init__"]


def named_imports(source: str) -> set[str]:
    """Names that a source gives to `import_module` as they are."""
    if "import_module" not in source:
        return set()
    calls = (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call) and node.args)
    own = (call for call in calls if ast.unparse(call.func).endswith("import_module"))
    return {call.args[0].value for call in own if isinstance(call.args[0], ast.Constant)}


def test_files_import_each_other_in_one_direction() -> None:
    TopologicalSorter(imports_but(DEFERRED)).prepare()


@pytest.mark.parametrize("one", DEFERRED, ids=DEFERRED.values())
def test_each_import_that_is_left_out_closes_a_circle(one: tuple[str, str]) -> None:
    with pytest.raises(CycleError):
        TopologicalSorter(imports_but(DEFERRED.keys() - {one})).prepare()
