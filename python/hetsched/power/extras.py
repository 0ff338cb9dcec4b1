"""Libraries that only some learners need."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from hetsched.errors import ConfigError

__all__ = ["needed"]


def needed(module: str) -> Any:
    """A module of a library that may not be installed.

    Parameters
    ----------
    module
        Its name, such as ``"sklearn.base"``.

    Raises
    ------
    ConfigError
        If it is not there; says how to install it.

    Examples
    --------
    >>> needed("a_library_that_nobody_has")
    Traceback (most recent call last):
    hetsched.errors.ConfigError: a_library_that_nobody_has: found no such library, expected it installed: \
pip install "hetsched[models]"
    """
    try:
        return import_module(module)
    except ImportError as error:
        library = _NAMES.get(module.partition(".")[0], module)
        # A library that is there but lacks one of its own (such as libgomp) says so itself.
        found = "no such library" if isinstance(error, ModuleNotFoundError) else f"one that does not load ({error})"
        raise ConfigError([(library, found, 'it installed: pip install "hetsched[models]"')]) from None


_NAMES = {"sklearn": "scikit-learn"}
