"""Write `python/hetsched/__init__.pyi`, which shows editors and type checkers the face of the package.

Names load when they are first used, and functions take the options of a run as ``**options``: neither can be read off
the source. Run it after a change of `hetsched.__all__`, of an option, or of the docstring of a function that takes any:

    python tools/write_stub.py
"""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import hetsched as hs
from hetsched.run.options import RunOptions

# The stub says nothing of what is private.
_FACE = vars(hs)

STUB = Path(hs.__file__).with_suffix(".pyi")

_HEAD = f'"""{(hs.__doc__ or "").splitlines()[0]}"""\n\n# Written by tools/write_stub.py.\n'


def content() -> str:
    """The stub, as ruff formats it."""
    functions = {name: thing for name in hs.__all__ if hasattr(thing := getattr(hs, name), "__signature__")}
    modules = sorted({*_FACE["_MODULES"], *_FACE["_WITH_EXTRAS"]})
    imports = {f"from hetsched import {name}" for name in modules}
    imports |= {f"from hetsched.{home} import {name}" for home, name in _homes() if name not in functions}
    imports |= {line for function in functions.values() for line in _imports(function)}
    names = f"__all__ = {sorted([*hs.__all__, *modules])}"
    return _formatted(
        "\n".join([_HEAD, *sorted(imports), names, "__version__: str", *map(_definition, functions.values())])
    )


def _homes() -> Iterator[tuple[str, str]]:
    """Modules of the names that stand in the stub as they are."""
    for home, names in _FACE["_HOMES"].items():
        if home != "_core":
            yield from ((home, name) for name in names)


def _definition(function: Callable[..., Any]) -> str:
    """The function with its signature and its docstring."""
    raw = "r" if "\\" in (function.__doc__ or "") else ""
    return f'def {function.__name__}{_signature(function)}:\n    {raw}"""{function.__doc__}"""\n'


def _signature(function: Callable[..., Any]) -> str:
    """Parameters with their annotations as the source has them, without quotes."""
    signature = inspect.signature(function)
    shown, is_keyword = [], False
    for one in signature.parameters.values():
        if one.kind is one.KEYWORD_ONLY and not is_keyword:
            shown.append("*")
            is_keyword = True
        default = "" if one.default is one.empty else f" = {one.default!r}"
        shown.append(f"{one.name}: {one.annotation}{default}")
    return f"({', '.join(shown)}) -> {signature.return_annotation}"


def _imports(function: Callable[..., Any]) -> set[str]:
    """Imports of other names in a function's annotations, from where its module, or that of the options, has them."""
    known = _known(RunOptions.__module__) | _known(function.__module__)
    signature = inspect.signature(function)
    texts = [*(str(one.annotation) for one in signature.parameters.values()), str(signature.return_annotation)]
    names = {node.id for text in texts for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name)}
    return {known[name] for name in names - {*hs.__all__} if name in known}


def _known(module: str) -> dict[str, str]:
    """An import for every name that a module imports or defines at its top."""
    file = import_module(module).__file__
    assert file is not None
    found: dict[str, str] = {}
    for node in ast.walk(ast.parse(Path(file).read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            found |= {one.name: f"from {node.module} import {one.name}" for one in node.names}
        elif isinstance(node, ast.Import):
            found |= {one.asname or one.name: f"import {ast.unparse(one)}" for one in node.names}
        elif isinstance(node, ast.Assign):
            names = [target.id for target in node.targets if isinstance(target, ast.Name)]
            found |= {name: f"from {module} import {name}" for name in names if name[0].isupper()}
    return found


def _formatted(text: str) -> str:
    ruff = str(Path(sys.executable).with_name("ruff"))
    for command in (["check", "--fix", "--quiet", "--exit-zero", "--select", "I,RUF022"], ["format", "--quiet"]):
        done = subprocess.run(
            [ruff, *command, "--stdin-filename", str(STUB), "-"],
            input=text,
            capture_output=True,
            check=True,
            encoding="utf-8",
        )
        text = done.stdout
    return text


if __name__ == "__main__":
    STUB.write_text(content(), encoding="utf-8")
