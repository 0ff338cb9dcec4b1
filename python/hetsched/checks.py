"""Strict reading of configuration, from TOML or Python, with all faults reported at once.

This module collects faults with their paths, finds the name that a misspelt one was meant to be, shows counts and long
lists, and reads TOML; the parameters of a platform or a policy are their own business.
"""

from __future__ import annotations

import difflib
import inspect
import math
import numbers
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from itertools import islice, zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hetsched.errors import ConfigError, Fault

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

if TYPE_CHECKING:
    import numpy.typing as npt

_MOST_WRITTEN = 10**1000


def one_line(text: str, *, limit: int = 300) -> str:
    r"""Text fit for a line of a message: no control characters, and not endless."""
    printable = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text[:limit])
    return printable if len(text) <= limit else printable + "..."


def shown(value: object) -> str:
    """A value as an error message shows it: short, and in back quotes."""
    if isinstance(value, float):
        # As people write it: -60 and 1e+13 in place of -60.0 and 10000000000000.0.
        text = "NaN" if math.isnan(value) else f"{value:.12g}"
    elif isinstance(value, int) and abs(value) >= _MOST_WRITTEN:
        # Python writes no number of thousands of digits.
        text = f"a whole number of {math.log10(abs(value)):,.0f} digits"
    else:
        # Numpy's scalars print as their plain value only through str().
        text = str(value) if isinstance(value, str | numbers.Number) else repr(value)
    return f"`{one_line(text, limit=60)}`"


def typed(value: object) -> str:
    """A value as `shown`, but as Python writes it where its type is wrong: ``"3"`` in quotes, 3.0 with its point."""
    plain = shown(value)
    if isinstance(value, str):
        return f"`{value!r}`" if plain.strip("`").lstrip("-").replace(".", "", 1).isdecimal() else plain
    is_whole = isinstance(value, float) and plain.strip("`-").isdecimal()
    return f"`{plain.strip('`')}.0`" if is_whole else plain


def listed(names: Iterable[str]) -> str:
    """Names as a message lists them."""
    return one_line(", ".join(names), limit=500)


def plain(value: Any) -> Any:
    """A number or flag as Python's own kind, which JSON can hold; also those in a dictionary. All else as it is."""
    if isinstance(value, Mapping):
        return {key: plain(one) for key, one in value.items()}
    # Numpy's scalars are known by what they have, so that a check of options need not wait for it to load.
    if getattr(value, "shape", None) == () and callable(getattr(value, "item", None)):
        value = value.item()
    if isinstance(value, bool):
        return value
    if isinstance(value, numbers.Integral):
        return int(value)
    return _float(value) if isinstance(value, numbers.Real | Decimal) else value


def _float(value: Any) -> float:
    """The nearest float; infinite beyond the largest."""
    try:
        return float(value)
    except OverflowError:
        return math.copysign(math.inf, 1 if value > 0 else -1)


def is_whole_text(text: str) -> bool:
    """True if a text has no lone surrogates, which bytes that are not UTF-8 become in names and on the command line."""
    return not any("\ud800" <= letter <= "\udfff" for letter in text)


def is_name(value: object) -> bool:
    """True if a value is a non-empty text without lone surrogates."""
    return isinstance(value, str) and value != "" and is_whole_text(value)


def whole_text(text: str) -> str:
    r"""The text with halves of characters written out: ``caf\xe9.csv``."""
    if is_whole_text(text):
        return text
    try:
        return text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    except UnicodeEncodeError:
        return text.encode("utf-8", "backslashreplace").decode()


def can_name_a_file(text: str) -> bool:
    r"""True if it can be a file's name: no half character and no zero byte."""
    try:
        return b"\0" not in os.fsencode(text)
    except UnicodeEncodeError:
        return False


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A hint to the known name nearest to `name`, ready to be put behind a message; empty if none is near.

    A name that differs in its unit only (``idle_kw``) is taken for the one with the right unit (``idle_w``). The dashes
    before options make none like another.
    """
    candidates = list(known)
    folded = [_folded(candidate) for candidate in candidates]
    near = difflib.get_close_matches(_folded(name), folded, n=1)
    for candidate, plain in zip(candidates, folded, strict=True):
        if near and plain == near[0]:
            return f"; did you mean {shown(candidate)}?"
    return ""


def _folded(name: str) -> str:
    return name.lower().replace("_", "-").lstrip("-")


def exists(path: str | Path) -> bool:
    """True if there is such a file or folder; False for names that no file can have, where `Path` raises."""
    try:
        return Path(path).exists()
    except (OSError, ValueError):
        return False


_LONGEST_WORD = 12


class Faults:
    """Collects the faults of one configuration, to report them all at once."""

    def __init__(self, path: str = "") -> None:
        self.path = path
        self.found: list[Fault] = []

    def add(self, parameter: str, value: object, expected: str, *, row: int | None = None) -> None:
        """Note that `parameter` is `value` where `expected` was asked for."""
        self.note(parameter, shown(value), expected, row=row)

    def note(self, parameter: str, found: str, expected: str, *, row: int | None = None) -> None:
        """Note a fault whose value is reported in words: not in back quotes."""
        self.found.append(Fault(f"{self.path}.{parameter}" if self.path else parameter, found, expected, row))

    def some(
        self,
        parameter: str,
        found: Iterable[str],
        count: int,
        expected: str,
        *,
        most: int = 10,
        rows: Iterable[int] = (),
        rest: str = "{} more such jobs",
        of_rest: str | None = None,
    ) -> None:
        """Note the first of `count` faults of a kind, in tables with their `rows`, and how many more there are."""
        for text, row in islice(zip_longest(found, rows), most):
            self.note(parameter, text, expected, row=row)
        if count > most:
            self.note(parameter, rest.format(f"{count - most:,}"), expected if of_rest is None else of_rest)

    def extend(self, inner: ConfigError | Faults, change: Callable[[Fault], Fault] = lambda fault: fault) -> None:
        """Take over the faults found further in, each changed as their place asks for."""
        self.found += map(change, inner.details if isinstance(inner, ConfigError) else inner.found)

    def has(self, *parameters: str) -> bool:
        """True if any of `parameters` is at fault."""
        paths = [f"{self.path}.{name}" if self.path else name for name in parameters]
        return any(fault.is_of(path) for fault in self.found for path in paths)

    def number(self, parameter: str, value: object, *, low: float, high: float = math.inf) -> None:
        """Note a fault unless `value` is a finite number between `low` and `high`, both included."""
        if isinstance(value, bool) or not isinstance(value, numbers.Real) or not low <= _float(value) <= high:
            bounds = f">= {low:g}" if math.isinf(high) else f"between {low:g} and {high:g}"
            self.note(parameter, typed(value) if isinstance(value, str) else shown(value), f"a number {bounds}")
        elif math.isinf(_float(value)):
            self.add(parameter, value, "a finite number")

    def whole(self, parameter: str, value: object, *, low: int, high: int) -> None:
        """Note a fault unless `value` is a whole number between `low` and `high`, both included."""
        if isinstance(value, bool) or not isinstance(value, numbers.Integral) or not low <= int(value) <= high:
            self.note(parameter, typed(value), f"a whole number between {low} and {high}")

    def flag(self, parameter: str, value: object) -> None:
        """Note a fault unless `value` is true or false."""
        if not isinstance(value, bool):
            self.add(parameter, value, "true or false")

    def choice(self, parameter: str, value: object, known: Sequence[str]) -> None:
        """Note a fault unless `value` is one of `known`."""
        if value not in known:
            self.add(parameter, value, f"one of {listed(known)}{did_you_mean(str(value), known)}")

    def word(self, parameter: str, value: object, example: str) -> None:
        """Note a fault unless `value` is None or a short printable text without spaces."""
        is_word = isinstance(value, str) and 0 < len(value) <= _LONGEST_WORD and value.isprintable()
        if value is not None and not (is_word and not any(map(str.isspace, str(value)))):
            self.add(parameter, value, f"a word such as {example}, of up to {_LONGEST_WORD} characters")

    def array(self, parameter: str, given: npt.ArrayLike, expected: str) -> npt.NDArray[Any] | None:
        """The value as an array of real numbers; notes a fault and gives None if it is none."""
        import numpy as np  # noqa: PLC0415 -- slow to import, and checks of options need no arrays

        try:
            found = np.asarray(given)
        except ValueError:  # rows of unequal length
            self.add(parameter, given, expected)
            return None
        # Text and objects would convert where they can, complex numbers lose a part.
        if found.dtype.kind not in "biuf":
            self.add(parameter, given if isinstance(given, list | tuple) else f"an array of {found.dtype}", expected)
            return None
        return found

    def folder(self, parameter: str, value: object) -> None:
        """Note a fault unless `value` can be a folder's name; an empty one would be the current folder."""
        name = os.fspath(value) if isinstance(value, os.PathLike) else value
        if not isinstance(name, str) or not name or not can_name_a_file(name):
            self.add(parameter, value, "a folder's name")

    def function(self, parameter: str, value: object, *arguments: str, also: str = "None") -> None:
        """Note a fault unless `value` is a function of such arguments, or None."""
        if value is None:
            return
        expected = f"a function of ({', '.join(arguments)}), or {also}"
        if not callable(value):
            self.add(parameter, value, expected)
        elif not _takes(value, len(arguments)):
            self.note(parameter, "a function of other arguments", expected)

    def unknown_keys(self, given: Mapping[str, Any], known: Iterable[str]) -> None:
        """Note every key of `given` that is not in `known`, with the one that was probably meant."""
        names = list(known)
        for key in given:
            if key not in names:
                self.add(str(key), given[key], f"one of {listed(names)}{did_you_mean(str(key), names)}")

    def check(self) -> None:
        """Raise everything that was noted."""
        if self.found:
            raise ConfigError(self.found)


def _takes(function: Callable[..., object], count: int) -> bool:
    """True if a function can be called with so many arguments, as far as its signature says."""
    try:
        inspect.signature(function).bind(*range(count))
    except TypeError:
        return False
    except ValueError:  # one of C's, which does not say
        return True
    return True


def read_toml(path: str | Path) -> dict[str, Any]:
    """The content of a TOML file."""
    try:
        return tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, TypeError, UnicodeEncodeError) as error:
        found = reason_of(error)
    except UnicodeDecodeError:
        found = "bytes that are no UTF-8 text"
    except RecursionError:
        found = "no valid TOML (brackets in brackets, too many to be followed)"
    except ValueError as error:  # of TOML, and of numbers of thousands of digits
        found = f"no valid TOML ({reason_of(error)})" if can_name_a_file(str(path)) else reason_of(error)
    raise ConfigError([(one_line(str(path)), found, "a TOML file")])


def reason_of(error: BaseException) -> str:
    """Reason why a file could not be read or written, in a few words."""
    # Known by its name: a check of options need not wait for polars to load.
    if type(error).__name__ == "PanicException":
        return "damaged inside"
    for kind, words in _REASONS.items():
        if isinstance(error, kind):
            return words
    # Raised on opening a name with half a character or a zero byte in it.
    if isinstance(error, UnicodeEncodeError) or (isinstance(error, ValueError) and "null byte" in str(error)):
        return "a name that no file can have"
    system = getattr(error, "strerror", None)
    return one_line(str(system or error).partition("\n")[0])


_REASONS: dict[type[OSError], str] = {
    FileNotFoundError: "no such file",
    IsADirectoryError: "a directory",
    NotADirectoryError: "not a folder",
}


def few(names: Sequence[str], *, most: int = 6) -> str:
    """Names as a message lists them, of many only the first and how many more there are."""
    return listed(names[:most]) + and_more(len(names) - most)


def and_more(left: int, what: str = "") -> str:
    """Ending of a list of which `left` are not shown: ``and 3 more``; nothing if all are."""
    return f" and {left:,} more{what}" if left > 0 else ""


def more_in_brackets(left: int, what: str = "") -> str:
    """Ending of a message on the first of several: ``(and 3 more)``; nothing if it is the only one."""
    return f" (and {left:,} more{what})" if left > 0 else ""


def runs_of(numbers: Iterable[int]) -> list[tuple[int, int]]:
    """Ascending numbers as runs of neighbours, the first and the last of each.

    Examples
    --------
    >>> runs_of([0, 1, 2, 7])
    [(0, 2), (7, 7)]
    """
    runs: list[tuple[int, int]] = []
    for number in numbers:
        if runs and runs[-1][1] + 1 == number:
            runs[-1] = (runs[-1][0], number)
        else:
            runs.append((number, number))
    return runs


def run_text(first: int, last: int) -> str:
    """A run of numbers as text: ``0-2``, or ``7`` of a single one."""
    return str(first) if first == last else f"{first}-{last}"


def many(count: int, word: str) -> str:
    """A number of things."""
    return f"{count:,} {word}{'' if count == 1 else 's'}"
