"""Rows of every experiment's quick run, as they were found, and what is compared of them.

As a program:

* without arguments, runs all experiments quickly and writes `reproduce.json` and `runs/` again; do that only after a
  change that is meant to change numbers, and say in the changelog which
* with a folder that holds ``NAME.json`` as ``hetsched reproduce NAME --json`` gives it, runs each NAME at full size and
  prints every row that differs; names behind the folder choose among them
* with two folders, compares the files of the same names, and runs nothing
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import known_runs

from hetsched.experiments import EXPERIMENTS, reproduce

TABLE = Path(__file__).with_name("reproduce.json")
COLUMNS = ("quantity", "paper", "here", "low", "high", "reproduced")
Row = list[Any]


def rows_of(report: Mapping[str, Any]) -> list[Row]:
    """A report's rows, as `Report.to_dict` has it: in the order of `COLUMNS`, numbers to nine digits."""
    return [
        [row["quantity"], row["paper"], *map(_short, (row["here"], *row["interval"])), row["reproduced"]]
        for row in report["rows"]
    ]


def _short(number: float) -> float:
    return float(f"{number:.9g}")


def known() -> dict[str, list[Row]]:
    """The table: an experiment's rows by its name."""
    found: dict[str, list[Row]] = json.loads(TABLE.read_text(encoding="utf-8"))
    return found


def differences(expected: Sequence[Row], found: Sequence[Row]) -> Iterator[str]:
    """A line for each row that differs or is in one of the two alone."""
    asked, given = ({row[0]: row for row in rows} for rows in (expected, found))
    for quantity in [*asked, *(name for name in given if name not in asked)]:
        if quantity not in given or quantity not in asked:
            yield f"{quantity}: {'gone' if quantity in asked else 'new'}"
            continue
        changed = [
            f"{name} {old!r} -> {new!r}"
            for name, old, new in zip(COLUMNS, asked[quantity], given[quantity], strict=True)
            if not known_runs.alike(old, new)
        ]
        if changed:
            yield f"{quantity}: {', '.join(changed)}"
    if list(asked) != list(given) and set(asked) == set(given):
        yield "the same rows in another order"


def write(tables: Mapping[str, Sequence[Row]]) -> None:
    """Write the table, a line a row."""
    parts = (
        f"{json.dumps(name)}: [\n" + ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows) + "\n]"
        for name, rows in tables.items()
    )
    TABLE.write_text("{\n" + ",\n".join(parts) + "\n}\n", encoding="utf-8")


def _read(path: Path) -> list[Row]:
    return rows_of(json.loads(path.read_text(encoding="utf-8")))


def _compare(old: Path, new: Path | None, names: Sequence[str]) -> int:
    """Print what differs; the number of rows that do."""
    count = 0
    for path in sorted(old.glob("*.json")):
        if (names and path.stem not in names) or not path.stat().st_size:
            continue
        found = rows_of(reproduce(path.stem).to_dict()) if new is None else _read(new / path.name)
        changed = list(differences(_read(path), found))
        print(f"{path.stem}: {len(found)} rows, {len(changed)} differ", *changed, sep="\n  ", flush=True)
        count += len(changed)
    return count


def main(arguments: Sequence[str]) -> int:
    """Write the table and the runs, or compare."""
    if arguments:
        old, *rest = arguments
        new = Path(rest.pop(0)) if rest and Path(rest[0]).is_dir() else None
        return min(_compare(Path(old), new, rest), 1)
    reports = {name: known_runs.run(name) for name in EXPERIMENTS}
    for report in reports.values():
        known_runs.write(report)
    write({name: rows_of(known_runs.without_beside(report).to_dict()) for name, report in reports.items()})
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
