"""Notices and decisions as JSON objects."""

from __future__ import annotations

import json
from dataclasses import fields

import pytest

from hetsched.errors import LiveError
from hetsched.live import Ended, Notice, Start, StartFailed, Tick
from hetsched.live.decisions import DECISIONS, decision_of
from hetsched.live.notices import NOTICES, notice_of

_EXAMPLES = {"int": 3, "str": "why", "float": 1.5, "tuple[int, ...]": (0, 2), "float | None": 2.5, "int | None": 9}


def _records(kinds):
    return [kind(**{field.name: _EXAMPLES[field.type] for field in fields(kind)}) for kind in kinds.values()]


@pytest.mark.parametrize("record", _records(NOTICES), ids=lambda record: record.kind)
def test_notices_survive_json(record):
    assert notice_of(json.loads(json.dumps(record.to_json()))) == record
    assert isinstance(record, Notice)


@pytest.mark.parametrize("record", _records(DECISIONS), ids=lambda record: record.kind)
def test_decisions_survive_json(record):
    assert decision_of(json.loads(json.dumps(record.to_json()))) == record


def test_optional_fields_are_left_out():
    assert Ended(7, 1, "completed").to_json() == {"kind": "ended", "job": 7, "attempt": 1, "state": "completed"}
    assert decision_of({"kind": "start", "job": 7, "attempt": 1, "nodes": [0], "number": 4}) == Start(
        7, 1, (0,), number=4
    )
    assert notice_of({"kind": "start_failed", "job": 7, "attempt": 1, "why": ""}) == StartFailed(7, 1, "", ())
    assert notice_of({"kind": "tick"}) == Tick()


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ([], "notice: found `[]`, expected an object whose `kind` is one of ended"),
        ({"kind": "begun"}, "notice: found `'begun'`, expected an object"),
        ({"kind": ["tick"]}, "notice: found"),
        ({"kind": "submitted"}, "submitted: found no `job`, expected job"),
        ({"kind": "submitted", "job": True}, "submitted.job: found `True`, expected an integer"),
        ({"kind": "submitted", "job": 1, "size": 2}, "submitted: found a field `size`, expected job"),
        ({"kind": "node_up", "nodes": [1.5]}, "node_up.nodes: found `[1.5]`, expected a list of integers"),
        ({"kind": "power", "watts": "many"}, "power.watts: found `'many'`, expected a number"),
    ],
)
def test_other_objects_are_refused(values, text):
    with pytest.raises(LiveError) as raised:
        notice_of(values)
    assert str(raised.value).startswith(text)
