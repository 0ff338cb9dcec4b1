"""Every example in a docstring runs and prints what it says."""

import doctest
import importlib
import importlib.util
import inspect
import pkgutil
from functools import cache
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import hetsched as hs
from hetsched.testing import conforming


class Finder(doctest.DocTestFinder):
    """Finds examples of public classes in the module that defines them, not in the one that they say they are from."""

    def _from_module(self, module, thing):
        if inspect.isclass(thing) and "_defined_in" in vars(thing):
            return thing._defined_in == module.__name__
        return super()._from_module(module, thing)


SAME_BUT_FOR_SPACE = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


#: Modules that need a package which is not always installed.
OF_EXTRAS = {
    "hetsched.gym": "gymnasium",
    "hetsched.many.on_dask": "distributed",
    "hetsched.many.on_mpi": "mpi4py",
}


@cache
def examples() -> list[doctest.DocTest]:
    """One entry a docstring with examples; they may use `hs`, `np`, `pl` and whatever their module knows."""
    names = ["hetsched", *(module.name for module in pkgutil.walk_packages(hs.__path__, "hetsched."))]
    finder = Finder(exclude_empty=True)
    found = []
    for name in names:
        if any(name.startswith(own) and importlib.util.find_spec(extra) is None for own, extra in OF_EXTRAS.items()):
            continue
        if name.rpartition(".")[2] not in ("__main__", "_core") and has_examples(name):
            module = importlib.import_module(name)
            found += finder.find(module, name, extraglobs={"hs": hs, "np": np, "pl": pl})
    return [docstring for docstring in found if docstring.examples]


def has_examples(name: str) -> bool:
    """True if the file of a module has any: others are not imported, as every worker of the tests asks."""
    return ">>>" in Path(importlib.util.find_spec(name).origin).read_text(encoding="utf-8")


@pytest.mark.parametrize("docstring", examples(), ids=lambda docstring: docstring.name.removeprefix("hetsched."))
@pytest.mark.usefixtures("workplace")
def test_the_examples_of_a_docstring_run(docstring: doctest.DocTest, monkeypatch: pytest.MonkeyPatch) -> None:
    # By then the inputs that show a part's fault are as small as they are shown.
    monkeypatch.setattr(conforming, "_MOST_TRIES", 30)
    said: list[str] = []
    outcome = doctest.DocTestRunner(optionflags=SAME_BUT_FOR_SPACE).run(docstring, out=said.append)
    assert outcome.failed == 0, "".join(said)


def test_docstrings_are_found_in_every_layer() -> None:
    layers = {docstring.name.split(".")[1] for docstring in examples()}
    assert layers >= {"analysis", "errors", "platform", "policy", "run", "workload"}
