"""The public face is that of `public_names.txt`, and what editors read of it is that of the code."""

from __future__ import annotations

import ast
import importlib.util
import inspect
from dataclasses import fields
from pathlib import Path

import pytest

import hetsched as hs
from hetsched.run.options import RunOptions


def script(path: Path):
    """A script as a module."""
    spec = importlib.util.spec_from_file_location(f"script_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


golden = script(Path(__file__).with_name("public_names.py"))
stub = script(Path(__file__).parents[2] / "tools" / "write_stub.py")


def test_names_and_parameters_are_those_of_the_table() -> None:
    known = golden.TABLE.read_text(encoding="utf-8").splitlines()
    if importlib.util.find_spec("gymnasium") is None:
        first = next(place for place, line in enumerate(known) if line.startswith("gym: "))
        last = next(place for place, line in enumerate(known) if line.startswith("many: "))
        known = known[:first] + known[last:]
    found = golden.lines()
    gone, new = [one for one in known if one not in found], [one for one in found if one not in known]
    assert (gone, new) == ([], []), "python tests/golden/public_names.py writes the table; look at what changes in it"
    assert found == known


def test_editors_read_the_face_that_the_code_has() -> None:
    assert stub.STUB.read_text(encoding="utf-8") == stub.content(), "python tools/write_stub.py writes the stub"


@pytest.mark.parametrize("name", ["simulate", "compare", "sweep", "meter"])
def test_editors_see_the_options_of_a_run(name: str) -> None:
    tree = ast.parse(stub.STUB.read_text(encoding="utf-8"))
    (function,) = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == name]
    seen = [argument.arg for argument in (*function.args.args, *function.args.kwonlyargs)]
    assert function.args.kwarg is None
    assert seen == list(inspect.signature(getattr(hs, name)).parameters)
    left_out = {"sweep": {"seed"}, "meter": {"seed", "bound", "until_s", "predictor"}}.get(name, set())
    assert {one.name for one in fields(RunOptions)} - left_out <= set(seen)
    assert ast.get_docstring(function) == inspect.getdoc(getattr(hs, name))
