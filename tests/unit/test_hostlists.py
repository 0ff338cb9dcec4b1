"""Host lists: what they stand for, how names are folded into one, and the order of names (readers page, rule 8)."""

from __future__ import annotations

import re
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hetsched import hostlists
from hetsched.hostlists import HostListError, expanded, folded, natural_key


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("c1", ["c1"]),
        ("c[1-3,07]", ["c1", "c2", "c3", "c07"]),
        ("r[1-2]n[01-02]", ["r1n01", "r1n02", "r2n01", "r2n02"]),
        ("a,b", ["a", "b"]),
        ("a,b[8-11],c", ["a", "b8", "b9", "b10", "b11", "c"]),
        ("b[08-11]", ["b08", "b09", "b10", "b11"]),
        ("b[098-101]", ["b098", "b099", "b100", "b101"]),
        ("n[1-2]-ib.site", ["n1-ib.site", "n2-ib.site"]),
        ("n[7]", ["n7"]),
        ("[1-2]", ["1", "2"]),
        ("n[1,1]", ["n1", "n1"]),
        ("n{}[1-2]", ["n{}1", "n{}2"]),
        # As Slurm reads them: separators that follow each other are one.
        ("a,,b,", ["a", "b"]),
        ("a[1-2],,b,", ["a1", "a2", "b"]),
    ],
)
def test_expanded(text: str, names: list[str]) -> None:
    assert expanded(text) == names


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "found no name in ``"),
        (",", "found no name in `,`"),
        ("c[1-3", "found a bracket that is not closed in `c[1-3`"),
        ("c1]", "found a bracket that closes none in `c1]`"),
        ("c[1-[2]]", "found a bracket within brackets in `c[1-[2]]`"),
        ("c[]", "found nothing between commas or brackets in `c[]`"),
        ("c[1,,2]", "found nothing between commas or brackets in `c[1,,2]`"),
        ("a,c[3-1]", "found `3-1` in `c[3-1]`, expected the smaller number first"),
        ("c[a-b]", "found `a-b` in `c[a-b]`"),
        ("c[1-2-3]", "found `1-2-3` in `c[1-2-3]`"),
        ("c[-1]", "found `-1` in `c[-1]`"),
        ("c[1-]", "found `1-` in `c[1-]`"),
        ("c[\u0661-\u0663]", "found `\u0661-\u0663` in"),
        ("None assigned", "found ` ` in `None assigned`"),
        ("a\x00b", "found `\\x00` in"),
        ("c[1-1000001]", "found 1,000,001 names in `c[1-1000001]`, expected at most 1,000,000"),
        ("c[0-999][0-999][0-9]", "found 10,000,000 names"),
        ("c[1-99999999999999999999]", "found 99,999,999,999,999,999,999 names"),
        (f"c[{'1' * 5000}]", "found `1111"),
        (f"{'a' * 300}[1-1000000]", "found a name of more than 255 letters"),
    ],
)
def test_lists_that_do_not_read(text: str, message: str) -> None:
    with pytest.raises(HostListError, match=re.escape(message)):
        expanded(text)


def test_a_bound_of_ones_own() -> None:
    assert len(expanded("c[1-5]", most=5)) == 5
    with pytest.raises(HostListError, match="6 names"):
        expanded("c[1-6]", most=5)
    with pytest.raises(HostListError, match="3 names"):
        expanded("a,b,c", most=2)


@pytest.mark.parametrize(
    ("names", "text"),
    [
        ([], ""),
        (["c1"], "c1"),
        (["c9", "c10"], "c[9-10]"),
        (["c09", "c10"], "c[09-10]"),
        (["c9", "c010"], "c[9,010]"),
        (["c2", "c1"], "c[2,1]"),
        (["a", "b"], "a,b"),
        (["a", "a"], "a,a"),
        (["r1n1", "r1n2", "r2n1", "r2n2"], "r[1-2]n[1-2]"),
        (["r1n1", "r1n2", "r2n1"], "r1n[1-2],r2n1"),
        (["r1n1", "r2n1"], "r[1-2]n1"),
        (["r1-ib", "r2-ib", "r2"], "r[1-2]-ib,r2"),
    ],
)
def test_folded(names: list[str], text: str) -> None:
    assert folded(names) == text
    assert names == [] or expanded(text) == names


NAMES = st.from_regex(r"[a-c]{0,2}[0-9]{1,3}([.-]?[0-9a-b]{1,3})?|[a-cé{}-]{1,4}|1{19,22}", fullmatch=True)


@given(st.lists(NAMES, min_size=1, max_size=40))
def test_a_fold_stands_for_its_names(names: list[str]) -> None:
    assert expanded(folded(names)) == names


@given(st.integers(0, 12), st.integers(0, 120), st.integers(1, 3), st.integers(0, 3), st.integers(0, 3))
def test_a_product_counts_its_last_range_fastest(low: int, high: int, width: int, outer: int, more: int) -> None:
    first, racks = str(low).zfill(width), range(outer, outer + more + 1)
    high = max(low, high)
    numbers = [str(n).rjust(len(first), "0") for n in range(low, high + 1)]
    text = f"r[{outer}-{outer + more}]n[{first}-{high}]"
    assert expanded(text) == [f"r{rack}n{number}" for rack, number in product(racks, numbers)]


@given(st.text("ac[]019-, \x00", max_size=30))
def test_hostile_text_is_read_or_refused(text: str) -> None:
    try:
        names = expanded(text, most=1000)
    except HostListError as error:
        message = str(error)
        names = []
    else:
        message = ""
        assert 0 < len(names) <= 1000
        assert expanded(folded(names)) == names
    assert bool(names) != message.startswith("found ")


def compared(one: str, other: str) -> int:
    """-1, 0 or 1 as people would put them, letter by letter."""
    a = b = 0
    while a < len(one) and b < len(other):
        if one[a].isdigit() and other[b].isdigit():
            left, right = re.match("[0-9]+", one[a:]), re.match("[0-9]+", other[b:])
            assert left is not None
            assert right is not None
            if int(left[0]) != int(right[0]):
                return -1 if int(left[0]) < int(right[0]) else 1
            a, b = a + left.end(), b + right.end()
        elif one[a] != other[b]:
            if one[a].isdigit() != other[b].isdigit():
                return -1 if one[a].isdigit() else 1
            return -1 if one[a] < other[b] else 1
        else:
            a, b = a + 1, b + 1
    return (len(one) - a > 0) - (len(other) - b > 0)


@given(st.text("ab-019", max_size=8), st.text("ab-019", max_size=8))
def test_the_natural_order(one: str, other: str) -> None:
    by_hand = compared(one, other) or (one > other) - (one < other)
    keys = natural_key(one), natural_key(other)
    assert (keys[0] > keys[1]) - (keys[0] < keys[1]) == by_hand


def test_numbers_of_any_length_are_sorted() -> None:
    names = ["n" + "9" * 6000, "n10", "n1" + "0" * 6000, "n9"]
    assert sorted(names, key=natural_key) == ["n9", "n10", names[0], names[2]]
    assert hostlists.MOST_NAMES == 1_000_000
