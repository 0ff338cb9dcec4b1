"""How reports become files: whole or not at all."""

from __future__ import annotations

from pathlib import Path

from hetsched.errors import OutputError

__all__ = ["write_whole"]


def write_whole(path: Path, content: bytes) -> None:
    """Write a file under a temporary name, then rename it, so that no half of it is ever found.

    Parameters
    ----------
    path
        The file; its folder is made if it is not there.
    content
        All of it.

    Raises
    ------
    OutputError
        If it cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_whole(Path(folder) / "new" / "a.txt", b"all")
    ...     [path.name for path in Path(folder).rglob("*.*")]
    ['a.txt']
    """
    temporary = path.with_name(f".{path.name}.partial")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        raise OutputError(str(path), f"{path.parent} is not a folder") from None
    except OSError as error:
        raise OutputError(str(path), error.strerror or str(error)) from None
    try:
        temporary.write_bytes(content)
        temporary.replace(path)
    except OSError as error:
        raise OutputError(str(path), error.strerror or str(error)) from None
    finally:
        temporary.unlink(missing_ok=True)
