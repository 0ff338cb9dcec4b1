"""How files are written: whole or not at all."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from hetsched.config import reason_of, shown
from hetsched.errors import OutputError
from hetsched.unreadable import UNREADABLE

__all__ = ["write_whole"]


def write_whole(path: Path, content: bytes | Callable[[Path], object]) -> None:
    """Write a file under a temporary name, then rename it, so that no half of it is ever found.

    Parameters
    ----------
    path
        The file; its folder is made if it is not there.
    content
        All of it, or what writes it to the path that it is given.

    Raises
    ------
    OutputError
        If it cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_whole(Path(folder) / "new" / "a.txt", b"all")
    ...     write_whole(Path(folder) / "new" / "b.txt", lambda path: path.write_text("all"))
    ...     sorted(path.name for path in Path(folder).rglob("*.*"))
    ['a.txt', 'b.txt']
    """
    if "\0" in str(path):
        raise OutputError(shown(str(path)), "no file has a zero byte in its name")
    temporary = path.with_name(f".{path.name}.partial")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, bytes):
            temporary.write_bytes(content)
        else:
            content(temporary)
        temporary.replace(path)
    except FileExistsError:
        raise OutputError(str(path), f"{path.parent} is not a folder") from None
    except UNREADABLE as error:
        raise OutputError(str(path), reason_of(error)) from None
    finally:
        # Where nothing could be written there may be nothing to remove either.
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
