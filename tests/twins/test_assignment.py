"""The assignment functions against scipy's solver, and every answer against its own certificate."""

import itertools
import re

import hypothesis.extra.numpy as hnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment

from hetsched.assignment import assign, assign_types
from hetsched.errors import ConfigError

ELEMENTS = st.one_of(
    st.integers(0, 5).map(float),
    st.floats(-1e3, 1e3),
    st.just(np.inf),
)
SHAPES = st.tuples(st.integers(1, 40), st.integers(0, 40)).map(lambda pair: (pair[0], sum(pair)))
MATRICES = SHAPES.flatmap(lambda shape: hnp.arrays(np.float64, shape, elements=ELEMENTS, fill=st.just(3.0)))
SCALES = st.sampled_from([1e-9, 1.0, 1e12])


def twin(cost):
    """Least cost that scipy finds; None if there is no matching."""
    try:
        rows, columns = linear_sum_assignment(cost)
    except ValueError:
        return None
    return cost[rows, columns].sum()


def check_certificate(cost, rows, columns, found):
    """Check by sums and comparisons alone: the duals bound every matching from below, and this one meets the bound."""
    slack = 1e-10 * np.abs(cost[np.isfinite(cost)]).max(initial=0.0)
    reduced = cost - found.row_duals[:, None] - found.column_duals
    assert (reduced >= -slack).all()
    assert (np.abs(reduced[rows, columns]) <= slack).all()
    assert (found.column_duals <= 0.0).all()
    free = np.ones(cost.shape[1], dtype=bool)
    free[columns] = False
    assert (found.column_duals[free] == 0.0).all()
    assert len(set(columns.tolist())) == len(columns)
    assert found.cost == pytest.approx(cost[rows, columns].sum(), rel=1e-12, abs=slack)


@given(MATRICES, SCALES)
def test_costs_what_scipy_finds(cost, scale):
    cost = cost * scale
    wanted = twin(cost)
    if wanted is None:
        with pytest.raises(ConfigError, match="no column left for row"):
            assign(cost)
        return
    found = assign(cost)
    assert found.cost == pytest.approx(wanted, rel=1e-10, abs=1e-10 * scale * 1e3)
    check_certificate(cost, np.arange(len(cost)), found.columns, found)


@given(st.data(), st.integers(1, 6), st.integers(8, 60), SCALES)
def test_types_cost_what_scipy_finds_for_all_rows(data, kinds, width, scale):
    cost = scale * data.draw(hnp.arrays(np.float64, (kinds, width), elements=ELEMENTS))
    counts = np.array(data.draw(st.lists(st.integers(0, width // kinds), min_size=kinds, max_size=kinds)))
    wanted = twin(np.repeat(cost, counts, axis=0))
    if wanted is None:
        with pytest.raises(ConfigError, match="no column left for row"):
            assign_types(cost, counts)
        return
    found = assign_types(cost, counts)
    assert [len(columns) for columns in found.columns] == counts.tolist()
    assert all((np.diff(columns) > 0).all() for columns in found.columns)
    assert found.cost == pytest.approx(wanted, rel=1e-10, abs=1e-10 * scale * 1e3)
    columns = np.concatenate(found.columns) if kinds else np.empty(0, dtype=np.intp)
    check_certificate(cost, np.repeat(np.arange(kinds), counts), columns, found)


@given(st.data(), st.integers(1, 8), st.integers(0, 6))
def test_what_cannot_be_placed_has_too_few_columns(data, p, more):
    """Hall: the rows that the error names can use fewer columns between them than they are."""
    cost = data.draw(hnp.arrays(np.float64, (p, p + more), elements=ELEMENTS))
    crowd = data.draw(st.lists(st.integers(0, p - 1), min_size=1, unique=True))
    cost[crowd, len(crowd) - 1 :] = np.inf
    with pytest.raises(ConfigError) as caught:
        assign(cost)
    named = re.search(r"for row (\d+): (.*) can use", str(caught.value))
    rows = list(range(p)) if named[2] == "all rows together" else [int(row) for row in re.findall(r"\d+", named[2])]
    assert int(named[1]) in rows
    assert np.isfinite(cost[rows]).any(axis=0).sum() < len(rows)


def applications(rng, rows, columns, *, count, lengths):
    """Joules of jobs of few applications on nodes that differ: watts x length."""
    watts = 300.0 * rng.normal(1.0, 0.05, columns) * rng.normal(1.0, 0.03, (count, columns))
    return lengths(rows)[:, None] * watts[rng.integers(0, count, rows)]


LARGER = {
    "uniform": lambda rng, p, q: rng.random((p, q)),
    "whole": lambda rng, p, q: rng.integers(0, 1000, (p, q)).astype(float),
    "few whole": lambda rng, p, q: rng.integers(0, 3, (p, q)).astype(float),
    "plane": lambda rng, p, q: np.linalg.norm(rng.random((p, 1, 2)) - rng.random((1, q, 2)), axis=-1),
    "one cheap column": lambda rng, p, q: rng.random((p, q)) - 9.0 * (np.arange(q) == q // 2),
    "dear columns": lambda rng, p, q: rng.random((p, q)) + 20.0 * rng.random(q),
    "products": lambda _, p, q: np.outer(np.arange(1.0, p + 1), np.arange(1.0, q + 1)),
    "sums": lambda rng, p, q: rng.random((p, 1)) + rng.random((1, q)),
    "types": lambda rng, p, q: applications(rng, p, q, count=6, lengths=np.ones),
    "lengths": lambda rng, p, q: applications(rng, p, q, count=6, lengths=lambda n: rng.lognormal(8.0, 1.5, n)),
    "nearly lengths": lambda rng, p, q: (
        applications(rng, p, q, count=6, lengths=lambda n: rng.lognormal(8.0, 1.5, n)) + rng.random((p, q))
    ),
    "mostly forbidden": lambda rng, p, q: np.where(
        (rng.random((p, q)) < 0.95) & (np.arange(p)[:, None] != np.arange(q)), np.inf, rng.random((p, q))
    ),
}


@pytest.mark.parametrize("shape", [(300, 300), (270, 300), (60, 700)])
@pytest.mark.parametrize("kind", LARGER)
def test_larger_matrices_of_every_kind(kind, shape):
    cost = LARGER[kind](np.random.default_rng(11), *shape)
    found = assign(cost)
    assert found.cost == pytest.approx(twin(cost), rel=1e-10)
    check_certificate(cost, np.arange(shape[0]), found.columns, found)


@pytest.mark.parametrize("seed", range(40))
def test_forbidden_pairs_among_rows_that_are_multiples(seed):
    """Jobs of one application whose lengths differ, some of which may not go to some nodes."""
    rng = np.random.default_rng(seed)
    rows = int(rng.integers(16, 40))
    columns = rows + int(rng.integers(0, 20))
    cost = np.outer(rng.integers(1, 60, rows), 100.0 + rng.permutation(columns))
    forbidden = rng.integers(0, 6)
    cost[rng.integers(0, rows, forbidden), rng.integers(0, columns, forbidden)] = np.inf
    if seed % 4 == 0:
        cost[1:, : columns - rows + 2] = np.inf
    counts = np.ones(rows, dtype=int)
    expected = twin(cost)
    if expected is None:
        for solve in (lambda: assign(cost), lambda: assign_types(cost, counts)):
            with pytest.raises(ConfigError):
                solve()
        return
    found = assign(cost)
    assert np.isfinite(cost[np.arange(rows), found.columns]).all()
    assert found.cost == pytest.approx(expected, rel=1e-12)
    assert assign_types(cost, counts).cost == pytest.approx(expected, rel=1e-12)


def test_every_small_matrix_of_three_values():
    """All 3 x 3 matrices of 0, 1 and +inf, against the best of the six permutations."""
    permutations = np.array(list(itertools.permutations(range(3))))
    for values in itertools.product([0.0, 1.0, np.inf], repeat=9):
        cost = np.array(values).reshape(3, 3)
        wanted = cost[np.arange(3), permutations].sum(axis=1).min()
        try:
            assert assign(cost).cost == wanted
        except ConfigError:
            assert np.isinf(wanted)
