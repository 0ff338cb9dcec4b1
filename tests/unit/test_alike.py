"""Rows that are alike."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from hetsched.bound.alike import alike_rows

rows = st.lists(st.tuples(st.integers(-3, 3), st.sampled_from([0.0, 0.1, 2.5]), st.booleans()), max_size=30)


@given(rows)
def test_groups_are_those_of_numpys_unique_rows(rows: list[tuple[int, float, bool]]) -> None:
    columns = [np.array([row[place] for row in rows], dtype=kind) for place, kind in enumerate((np.int64, float, bool))]
    first, group_of = alike_rows(*columns)
    _, own_first, own_group_of = np.unique(np.column_stack(columns), axis=0, return_index=True, return_inverse=True)
    np.testing.assert_array_equal(first, own_first)
    np.testing.assert_array_equal(group_of, own_group_of.reshape(-1))
