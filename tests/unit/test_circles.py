"""Files import each other in one direction, at the top, inside of functions and for type checkers alike."""

import ast
from collections.abc import Iterator
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import grimp

import hetsched as hs

BY_NAME = {
    "hetsched.cli.app": "verbs, a file each",
    "hetsched.engine": "the extension, or that of an installed package",
    "hetsched.experiments": "names of its face, when one is asked for",
    "hetsched.experiments.registry": "experiments, by its rows",
    "hetsched.features.feature": "features in play, by its rows",
    "hetsched.live": "names of its face, when one is asked for",
    "hetsched.power.models.trees": "libraries of an extra",
    "hetsched.report": "names of its face, when one is asked for",
    "hetsched.reported": "the page of a run, which is made of its result",
    "hetsched.testing": "names of its face, when one is asked for",
}
"""Files that import others by names which they work out, and what those are: no graph shows these imports."""


@cache
def imports() -> dict[str, frozenset[str]]:
    """Files by name, each with the files that it imports anywhere."""
    graph = grimp.build_graph("hetsched", exclude_type_checking_imports=False, cache_dir=None)
    # What is loaded when its name is asked for is the package's face.
    found = {
        name: graph.find_modules_directly_imported_by(name) - {"hetsched"} for name in graph.modules - {"hetsched"}
    }
    for name, path in files():
        found[name] |= {own.value for own in named_imports(path) if isinstance(own, ast.Constant)} & graph.modules
    return {name: frozenset(imported) for name, imported in found.items()}


def files() -> list[tuple[str, Path]]:
    """Files of the package, but for its face, each with its name."""
    top = Path(hs.__file__).parent
    named = [(".".join(path.relative_to(top.parent).with_suffix("").parts), path) for path in top.rglob("*.py")]
    return [(name.removesuffix(".__init__"), path) for name, path in named if name != "hetsched.__init__"]


def named_imports(path: Path) -> Iterator[ast.expr]:
    """Names, as they are written, that a file gives to `import_module`."""
    source = path.read_text(encoding="utf-8")
    if "import_module" in source:
        calls = (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call) and node.args)
        yield from (call.args[0] for call in calls if ast.unparse(call.func).endswith("import_module"))


def test_files_import_each_other_in_one_direction() -> None:
    TopologicalSorter(imports()).prepare()


def test_files_that_import_others_by_names_they_work_out_are_known() -> None:
    worked_out = {
        name for name, path in files() if any(not isinstance(own, ast.Constant) for own in named_imports(path))
    }
    assert worked_out == BY_NAME.keys()
