"""Public classes say that they are from the module that users import them from, not from the file that defines them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

_Class = TypeVar("_Class", bound=type)


def named_in(module: str) -> Callable[[_Class], _Class]:
    """Decorator that sets a class's module, which `repr`, tracebacks, help and pickles show; `_defined_in` is its own.

    Not for classes of objects in the roles of a policy, whose identity in a result is the file that defines them.

    Examples
    --------
    >>> import hetsched as hs
    >>> hs.Platform, hs.Platform._defined_in
    (<class 'hetsched.Platform'>, 'hetsched.platform.platform')
    """

    def name(cls: _Class) -> _Class:
        cls._defined_in, cls.__module__ = cls.__module__, module  # type: ignore[attr-defined]
        return cls

    return name
