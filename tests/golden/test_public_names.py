"""The public face is that of `public_names.txt`."""

from __future__ import annotations

import importlib.util
from pathlib import Path

_spec = importlib.util.spec_from_file_location("golden_public_names", Path(__file__).with_name("public_names.py"))
assert _spec is not None
assert _spec.loader is not None
golden = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(golden)


def test_names_and_parameters_are_those_of_the_table() -> None:
    known = golden.TABLE.read_text(encoding="utf-8").splitlines()
    if importlib.util.find_spec("gymnasium") is None:
        first = next(place for place, line in enumerate(known) if line.startswith("gym: "))
        last = next(place for place, line in enumerate(known) if line.startswith("many: "))
        known = known[:first] + known[last:]
    found = golden.lines()
    gone, new = [one for one in known if one not in found], [one for one in found if one not in known]
    assert (gone, new) == ([], []), "python tests/golden/public_names.py writes the table; look at what changes in it"
    assert found == known
