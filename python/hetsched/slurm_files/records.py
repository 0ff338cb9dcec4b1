r"""Files about a Slurm machine as records: slurm.conf with what it includes, and what ``scontrol show`` prints.

The grammar of slurm.conf is that of Slurm's `src/common/parse_config.c`: comments from ``#`` (not ``\#``), lines that
go on after ``\``, ``Key=value`` with values in double quotes where they hold blanks, keys in any case.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from hetsched.checks import Faults, reason_of, shown, whole_text

_PAIR = re.compile(r'\s*([A-Za-z0-9_.]+)\s*[-+*/]?=\s*(?:"([^"]*)"|(\S+))(?=\s|$)')
_INCLUDE = re.compile(r"\s*include\s+(\S.*?)\s*$", re.IGNORECASE)
_COMMENT = re.compile(r"(?<!\\)((?:\\\\)*)#.*")
_DEEPEST = 20

_OF_SCONTROL = re.compile(
    r"^(?:[^#\n]*[ \t])?(?:CPUTot|CPUAlloc|CfgTRES|AvailableFeatures|TotalCPUs|TotalNodes)=",
    re.MULTILINE | re.IGNORECASE,
)
_RECORD = re.compile(r"^(?:NodeName|PartitionName)=", re.MULTILINE)
_KEY = re.compile(r"(?:(?<=\s)|^)([A-Za-z]\w*)=")

_OF_SLURM = re.compile(r"^\s*(?:(?:NodeName|PartitionName)\s*=|Include\s+\S)", re.MULTILINE | re.IGNORECASE)

_ALIASES = {"feature": "features", "availablefeatures": "features", "priority": "prioritytier"}
"""Keys of one meaning; ``Priority`` is the earlier name of the tier."""

_WITH_LINES = ("nodename", "partitionname", "nodeset", "downnodes", "frontendname")
"""Keys that the rest of their line belongs to."""


@dataclass(frozen=True)
class Value:
    """A value with the key it has in the file, and its place; None: the file says that there is none."""

    key: str
    text: str | None
    file: str
    line: int

    @property
    def place(self) -> str:
        """Place as messages name it."""
        return f"{self.file}, line {self.line}, {self.key}"


@dataclass(frozen=True)
class Record:
    """A node line, a partition, a set of nodes: its name and its values by key in lower case."""

    kind: str
    name: Value
    values: dict[str, Value]
    is_shown: bool = False
    """True if it is printed by ``scontrol``, which shows what was not set as well."""

    def value(self, *keys: str) -> Value | None:
        """The first value that is there and not nothing."""
        return next((one for key in keys if (one := self.values.get(key)) is not None and one.text), None)


@dataclass
class SlurmFiles:
    """Records of some files in their order, and the settings outside of records."""

    records: list[Record] = field(default_factory=list)
    settings: dict[str, Value] = field(default_factory=dict)
    replaced: list[tuple[Value, Value]] = field(default_factory=list)
    """Settings that do not count, each with the later one that does."""
    _defaults: dict[str, dict[str, Value]] = field(default_factory=dict)

    def of_kind(self, kind: str) -> list[Record]:
        """The records of a kind: ``nodename``, ``partitionname``, ``nodeset`` …."""
        return [record for record in self.records if record.kind == kind]

    def read(self, path: Path, faults: Faults) -> None:
        """Add a file, which its content tells to be slurm.conf or what ``scontrol`` prints."""
        name = whole_text(str(path))
        text = _text_of(path, name, "slurm.conf, or what `scontrol show node` or `show partition` prints", faults)
        if text is None:
            return
        if text.lstrip()[:1] in ("{", "["):
            faults.note(name, "JSON", "slurm.conf, or what scontrol prints without --json")
        elif _OF_SCONTROL.search(text):
            self.records += _shown_records(text, name, faults)
        else:
            self._defaults = {}
            self._read_conf(text, path, name, (path.resolve(),), faults)

    def _read_conf(self, text: str, path: Path, name: str, within: tuple[Path, ...], faults: Faults) -> None:
        for line, content in _lines(text):
            if (include := _INCLUDE.match(content)) is not None:
                self._include(include[1].strip('"'), path, Value("Include", include[1], name, line), within, faults)
            else:
                self._take(list(_pairs(content, name, line, faults)))

    def _include(self, name: str, path: Path, where: Value, within: tuple[Path, ...], faults: Faults) -> None:
        inner = path.parent / name
        if inner.resolve() in within or len(within) >= _DEEPEST:
            faults.note(where.place, f"{shown(name)}, which includes this file", "files that do not include each other")
            return
        called = whole_text(str(inner))
        text = _text_of(inner, where.place, f"a file next to {where.file}", faults, named=shown(name))
        if text is not None:
            self._read_conf(text, inner, called, (*within, inner.resolve()), faults)

    def _take(self, pairs: list[Value]) -> None:
        """A line's pairs: settings, until one of them begins a record."""
        for place, pair in enumerate(pairs):
            kind = pair.key.lower()
            if kind in _WITH_LINES:
                self._add_record(kind, pair, {_plain(one.key): one for one in pairs[place + 1 :]})
                return
            if (before := self.settings.get(kind)) is not None:
                self.replaced.append((before, pair))
            self.settings[kind] = pair

    def _add_record(self, kind: str, name: Value, values: dict[str, Value]) -> None:
        values = self._defaults.get(kind, {}) | values
        if name.text is not None and name.text.upper() == "DEFAULT":
            self._defaults[kind] = values
        else:
            self.records.append(Record(kind, name, values))


def is_slurm(path: str) -> bool:
    """True if a file is about a Slurm machine, as its content says."""
    if path.endswith(".toml"):
        return False
    text = _text_of(Path(path), path, "", Faults())
    return text is not None and _OF_SLURM.search(text) is not None


def _plain(key: str) -> str:
    return _ALIASES.get(key.lower(), key.lower())


def _text_of(path: Path, place: str, expected: str, faults: Faults, *, named: str = "") -> str | None:
    """A file's text; None if it cannot be read, which is noted."""
    try:
        data = path.read_bytes()
    except (OSError, ValueError) as error:
        faults.note(place, f"{reason_of(error)}{f' {named}' if named else ''}", expected)
        return None
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        faults.note(place, "UTF-16", f"{expected}, in UTF-8")
        return None
    return data.decode("utf-8-sig", errors="replace").replace("\r\n", "\n")


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """Lines of slurm.conf without comments and empty ones, those that go on put together, by their first number."""
    begun, first = "", 0
    for number, line in enumerate(text.split("\n"), 1):
        first = first or number
        content = _COMMENT.sub(r"\1", line).replace(r"\#", "#")
        bare = content.rstrip()
        goes_on = (len(bare) - len(bare.rstrip("\\"))) % 2 == 1
        begun += bare.rstrip("\\") if goes_on else content
        if not goes_on:
            if begun.strip():
                yield first, begun
            begun, first = "", 0
    if begun.strip():
        yield first, begun


def _pairs(content: str, file: str, line: int, faults: Faults) -> Iterator[Value]:
    at, content = 0, content.rstrip()
    while at < len(content):
        pair = _PAIR.match(content, at)
        if pair is None:
            rest = content[at:].split()
            faults.note(f"{file}, line {line}", shown(rest[0]), 'Key=value, with values such as "a b" in double quotes')
            return
        yield Value(pair[1], pair[3] if pair[2] is None else pair[2], file, line)
        at = pair.end()


def _shown_records(text: str, file: str, faults: Faults) -> Iterator[Record]:
    """Records as ``scontrol`` prints them, each on a line or on several; of a key the first counts."""
    starts = [found.start() for found in _RECORD.finditer(text)]
    before = text[: starts[0]] if starts else text
    if before.strip():
        line = text[: len(before) - len(before.lstrip())].count("\n") + 1
        faults.note(f"{file}, line {line}", shown(before.split()[0]), "NodeName=… or PartitionName=…")
    line = before.count("\n") + 1
    for start, end in zip(starts, [*starts[1:], len(text)], strict=True):
        yield _shown_record(text[start:end], file, line)
        line += text.count("\n", start, end)


def _shown_record(text: str, file: str, line: int) -> Record:
    keys = list(_KEY.finditer(text))
    values: dict[str, Value] = {}
    for key, end in zip(keys, [*(other.start() for other in keys[1:]), len(text)], strict=True):
        content = text[key.end() : end].strip()
        own = Value(key[1], None if content == "(null)" else content, file, line + text.count("\n", 0, key.start()))
        values.setdefault(_plain(key[1]), own)
    kind = keys[0][1].lower()
    return Record(kind, values.pop(kind), values, is_shown=True)
