"""Files of users' own as modules, under names that nothing else has, and carried along to other processes."""

from __future__ import annotations

import hashlib
import re
import sys
import threading
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.abc import SourceLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from types import ModuleType

FOLDERS: list[str] = []
"""Folders of files that have been loaded, which are searched for modules since then."""

_PREFIX = "policy_file"
_NAME = re.compile(rf"{_PREFIX}_[0-9a-f]{{8}}_(.*)")
_lock = threading.RLock()


@dataclass(frozen=True)
class OwnFile:
    """A file of Python: its name, and what it says."""

    path: str
    source: bytes

    @classmethod
    def read(cls, path: str) -> OwnFile:
        """The file of this name; raises OSError if it cannot be read."""
        return cls(path, Path(path).read_bytes())

    @property
    def module_name(self) -> str:
        """Name of its module: a name as ``json`` or ``mine`` may be that of another module, here or elsewhere."""
        content = hashlib.sha256(self.path.encode("utf-8", "surrogateescape") + b"\0" + self.source)
        return f"{_PREFIX}_{content.hexdigest()[:8]}_{Path(self.path).stem}"

    def module(self) -> ModuleType:
        """Its module, run once however often it is asked for; raises what the file raises."""
        with _lock:
            name = self.module_name
            if name in sys.modules:
                return sys.modules[name]
            spec = spec_from_loader(name, _Loader(self))
            assert spec is not None
            assert spec.loader is not None
            module = module_from_spec(spec)
            sys.modules[name] = module
            # Modules in its folder can be imported, as if it were run as a script.
            folder = str(Path(self.path).parent)
            FOLDERS.append(folder)
            sys.path.insert(0, folder)
            try:
                spec.loader.exec_module(module)
            except BaseException:
                del sys.modules[name]
                raise
            return module


class _Loader(SourceLoader):
    """The source of a file, as the import system asks for it."""

    def __init__(self, file: OwnFile) -> None:
        self.file = file

    def get_filename(self, fullname: str) -> str:
        del fullname
        return self.file.path

    def get_data(self, path: str | bytes) -> bytes:
        del path
        return self.file.source


class Modules(tuple[OwnFile, ...]):
    """Files whose modules are there wherever this is unpickled, before what stands behind it."""

    __slots__ = ()

    @classmethod
    def of(cls, objects: Iterable[object]) -> Modules:
        """The files that the classes of these objects are from."""
        names = {kind.__module__: None for one in objects for kind in type(one).__mro__}
        loaders = (getattr(sys.modules.get(name), "__loader__", None) for name in names)
        return cls(loader.file for loader in loaders if isinstance(loader, _Loader))

    def __reduce__(self) -> tuple[object, ...]:
        return _loaded, (tuple(self),)


def _loaded(files: tuple[OwnFile, ...]) -> Modules:
    for file in files:
        file.module()
    return Modules(files)


def shown_module(name: str) -> str:
    """The name of a module as its user knows it: of a file that of the file."""
    found = _NAME.fullmatch(name)
    return found[1] if found else name
