"""Names of the package load when they are first used, and a public module lists just its public names."""

import ast
import importlib
import importlib.util
import inspect
import operator
import pickle
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import get_args

import pytest

import hetsched as hs

MODULES = [name for name in dir(hs) if isinstance(getattr(hs, name), ModuleType)]


EXPRESSIONS = [
    "hs.workload.poisson",
    "hs.platform.Normal",
    "hs.analysis.ratios_to_baseline",
    "hs.many.run_one",
    "hs.experiments.reproduce",
    "hs.strategies.DynamicSharing",
    "hs.errors.RunWarning",
]
ALONE = """
import sys
import numpy, polars

sys.path.insert(0, sys.argv[1])
for expression in sys.argv[2:]:
    import hetsched as hs

    print(eval(expression).__name__, flush=True)
    del hs
    for name in [name for name in sys.modules if name.partition(".")[0] == "hetsched" and name != "hetsched._core"]:
        del sys.modules[name]
"""
"""What hetsched itself imports is imported once, and hetsched's own modules for each expression."""


def test_a_package_is_there_after_importing_hetsched_alone():
    words = [sys.executable, "-c", ALONE, str(Path(hs.__file__).parents[1]), *EXPRESSIONS]
    found = subprocess.run(words, capture_output=True, check=True, text=True)
    assert found.stdout.split() == [expression.rpartition(".")[2] for expression in EXPRESSIONS]


def test_what_is_not_there_is_said():
    with pytest.raises(AttributeError, match="module 'hetsched' has no attribute 'smulate'"):
        _ = hs.smulate
    for name in ("many", "report", "experiments", "testing"):
        with pytest.raises(AttributeError, match=f"module 'hetsched.{name}' has no attribute 'smulate'"):
            _ = getattr(hs, name).smulate


def test_every_public_name_loads():
    assert all(getattr(hs, name) is not None for name in hs.__all__)


def test_completion_lists_names_and_packages():
    listed = dir(hs)
    assert listed == sorted(listed)
    assert {*hs.__all__, "power", "workload", "testing", "errors", "strategies"} <= set(listed)
    assert all(getattr(hs, name) is not None for name in listed)
    assert ("gym" in listed) == (importlib.util.find_spec("gymnasium") is not None)


@pytest.mark.parametrize("name", [*MODULES, *(f"report.{name}" for name in hs.report.__all__)])
def test_a_public_module_lists_its_public_names_and_no_others(name):
    module = operator.attrgetter(name)(hs)
    assert dir(module) == sorted(module.__all__)
    assert all(getattr(module, one) is not None for one in module.__all__)


def test_a_module_is_not_named_like_a_function_of_another():
    functions = {name for name in hs.__all__ if inspect.isfunction(getattr(hs, name))}
    inner = {one for name in MODULES for one in dir(getattr(hs, name)) if getattr(hs, one, None) is None}
    assert not functions & {*MODULES, *inner}
    for name in MODULES:
        module = getattr(hs, name)
        assert all(getattr(module, one) is getattr(hs, one) for one in functions & set(dir(module)))


def test_a_public_class_says_that_it_is_from_where_users_import_it():
    faces = {"hetsched": hs, **{f"hetsched.{name}": getattr(hs, name) for name in MODULES}}
    for face in faces.values():
        for name in face.__all__:
            cls = getattr(face, name)
            # The identity of an object in a role is the file that defines its class.
            if inspect.isclass(cls) and cls.__module__.startswith("hetsched") and face is not hs.strategies:
                assert getattr(importlib.import_module(cls.__module__), cls.__name__) is cls
                assert cls.__module__ in faces, cls
                assert pickle.loads(pickle.dumps(cls)) is cls
    assert repr(hs.Platform) == "<class 'hetsched.Platform'>"
    assert repr(hs.roles.View) == "<class 'hetsched.roles.View'>"
    assert repr(hs.power.TwoStage) == "<class 'hetsched.power.TwoStage'>"


def test_all_words_of_arguments_are_listed():
    words = [name for name, value in vars(hs.typing).items() if get_args(value) and not name.startswith("_")]
    assert sorted(words) == dir(hs.typing)


def test_words_of_arguments_are_types_of_one_module():
    package = Path(hs.__file__).parent
    found = [
        f"{path.relative_to(package)}:{node.lineno}"
        for path in package.rglob("*.py")
        if path.name != "typing.py" and "Literal[" in (source := path.read_text(encoding="utf-8"))
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Subscript) and ast.unparse(node.value).endswith("Literal")
        if any(isinstance(one, ast.Constant) and isinstance(one.value, str) for one in ast.walk(node.slice))
    ]
    assert not found


@pytest.mark.parametrize("name", ["bound", "cli", "variation", "whatif"])
def test_a_package_below_the_face_lists_what_others_import_from_it(name):
    package = importlib.import_module(f"hetsched.{name}")
    assert dir(package) == sorted(package.__all__)
