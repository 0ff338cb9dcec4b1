"""Declared parameters: checks, plain values, ranges in words and texts of a command line."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Annotated, Literal, get_args

import numpy as np
import pytest

import hetsched as hs
from hetsched.checks import Faults
from hetsched.params import Declared, Parameter, Record, choice, flag, number, parameters_of, settled, whole, word
from hetsched.typing import Impute
from hetsched.variation.measured_cells import IMPUTE


@dataclass(frozen=True)
class Pump(Record):
    name: str = field(metadata=word())
    count: int = field(metadata=whole(1, 9))
    flow: float = field(default=1.0, metadata=number(0.0, 5.0, "water moved", "l/s"))
    is_on: bool = field(default=False, metadata=flag())
    mode: str = field(default="slow", metadata=choice(Literal["slow", "fast"]))
    limit: float | None = field(default=None, metadata=number(0.0))

    def _check(self, values, faults):
        if not faults.has("flow", "limit") and values["limit"] is not None and values["flow"] > values["limit"]:
            faults.add("flow", self.flow, "at most the limit")


def texts(faults):
    return [str(fault) for fault in faults.found]


def test_a_record_holds_plain_values():
    pump = Pump("p", np.int64(3), 2, is_on=np.True_, limit=np.float64(4))
    assert pump == Pump("p", 3, 2.0, is_on=True, limit=4.0)
    assert [type(value) for value in vars(pump).values()] == [str, int, float, bool, str, float]


def test_a_record_reports_all_its_faults_at_once():
    with pytest.raises(hs.ConfigError) as raised:
        Pump("", 0, math.nan, is_on="no", mode="fsat", limit=None)
    assert str(raised.value).splitlines() == [
        "name: found ``, expected a name",
        "count: found `0`, expected a whole number between 1 and 9",
        "flow: found `NaN`, expected a number between 0 and 5",
        "is_on: found `no`, expected true or false",
        "mode: found `fsat`, expected one of slow, fast; did you mean `fast`?",
    ]


@pytest.mark.parametrize("wrong", [[1], {"a": 1}, np.array(["slow"]), None, 3])
def test_a_choice_takes_nothing_but_its_words(wrong):
    with pytest.raises(hs.ConfigError, match=r"^mode: found .*, expected one of slow, fast"):
        Pump("p", 1, mode=wrong)


def test_values_are_checked_together():
    with pytest.raises(hs.ConfigError, match="flow: found `3`, expected at most the limit"):
        Pump("p", 1, flow=3.0, limit=2.0)


def test_declared_options_are_checked_with_others():
    @dataclass(frozen=True)
    class Options(Declared):
        seed: int = field(default=0, metadata=whole(0, 9))
        until: float | None = field(default=None, metadata=number(0.0))

    faults = Faults()
    assert Options(np.int64(3), 2).checked(faults) == Options(3, 2.0)
    assert not faults.found
    wrong = Options(-1, "x")
    assert wrong.checked(faults) is wrong
    assert texts(faults) == [
        "seed: found `-1`, expected a whole number between 0 and 9",
        "until: found `x`, expected a number >= 0",
    ]


def test_parameters_of_a_function_are_read_from_its_annotations():
    def pumped(
        plain: str,
        flow: Annotated[float, Parameter("water moved", "l/s", 0.0, 5.0)] = 1.0,
        count: Annotated[int | None, Parameter("pumps", absent="as many as needed")] = None,
    ):
        del plain, flow, count

    found = parameters_of(pumped)
    assert {name: (one.kind, one.default) for name, one in found.items()} == {
        "flow": (float, 1.0),
        "count": (int, None),
    }
    faults = Faults()
    assert settled(pumped, {"flow": 9, "count": 2}, faults) == {"flow": None, "count": 2}
    assert texts(faults) == ["flow: found `9`, expected a number between 0 and 5"]


@pytest.mark.parametrize(
    ("parameter", "text", "value"),
    [
        (whole(0, 9, absent="all"), "7", 7),
        (whole(0, 9, absent="all"), "none", None),
        (number(0.0), "1e3", 1000.0),
        (flag(), "true", True),
        (word(), "7", "7"),
    ],
)
def test_values_of_texts(parameter, text, value):
    faults = Faults()
    assert parameter.from_text(text, faults) == value
    assert not faults.found


@pytest.mark.parametrize(
    ("parameter", "text", "expected"),
    [
        (whole(0, 9, absent="all"), "7.0", "a whole number from 0 to 9; none: all"),
        (number(1.0), "none", "a number from 1"),
        (flag(), "yes", "true or false"),
    ],
)
def test_texts_that_are_no_values(parameter, text, expected):
    faults = Faults()
    assert parameter.from_text(text, faults) is None
    assert [fault.expected for fault in faults.found] == [expected]


def test_words_of_a_type_are_those_of_the_table_that_explains_them():
    assert get_args(Impute) == tuple(IMPUTE)
