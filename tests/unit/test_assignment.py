"""The assignment functions as a user meets them: what goes in, what comes out, and what is refused."""

import _thread
import dataclasses
import threading
import time

import numpy as np
import pytest

from hetsched.assignment import assign, assign_types
from hetsched.errors import ConfigError

INF = np.inf


def message(function, *arguments):
    with pytest.raises(ConfigError) as caught:
        function(*arguments)
    return str(caught.value)


def test_by_hand():
    # Each of the three rows has its cheapest entry in column 0; the sums of all six permutations are
    # 4+0+2, 4+5+2, 1+2+2, 1+5+3, 3+2+2 and 3+0+3: the third is least.
    found = assign([[4, 1, 3], [2, 0, 5], [3, 2, 2]])
    assert found.columns.tolist() == [1, 0, 2]
    assert found.cost == 5.0


def test_types_come_out_as_one_array_each():
    found = assign_types([[1, 2, 3, 4], [9, 1, 9, 9], [0, 0, 0, 0]], [2, 1, 0])
    assert [columns.tolist() for columns in found.columns] == [[0, 2], [1], []]
    assert found.cost == 5.0
    assert found.row_duals.shape == (3,)
    assert found.column_duals.shape == (4,)


def test_what_comes_out_has_the_types_that_index():
    found = assign(np.ones((2, 3), dtype=np.float32))
    assert found.columns.dtype == np.intp
    assert isinstance(found.cost, float)
    assert found.row_duals.dtype == found.column_duals.dtype == np.float64
    assert assign_types([[1, 2]], [1]).columns[0].dtype == np.intp
    with pytest.raises(dataclasses.FrozenInstanceError):
        found.cost = 1.0


@pytest.mark.parametrize("shape", [(1, 1), (5, 5), (7, 31), (200, 200)])
def test_equal_costs_give_the_identity(shape):
    found = assign(np.full(shape, -2.5))
    assert found.columns.tolist() == list(range(shape[0]))


@pytest.mark.parametrize("shape", [(0, 0), (0, 4)])
def test_nothing_to_place_costs_nothing(shape):
    found = assign(np.empty(shape))
    assert (found.columns.size, str(found.cost), found.row_duals.size) == (0, "0.0", 0)
    assert found.column_duals.tolist() == [0.0] * shape[1]


def test_any_layout_of_the_matrix_is_taken_and_left_as_it_is():
    rng = np.random.default_rng(3)
    cost = rng.random((40, 60))
    before = cost.copy()
    wanted = assign(cost).columns.tolist()
    assert assign(np.asfortranarray(cost)).columns.tolist() == wanted
    assert assign(np.repeat(cost, 2, axis=1)[:, ::2]).columns.tolist() == wanted
    assert assign(cost.tolist()).columns.tolist() == wanted
    assert (cost == before).all()


def test_the_longest_job_takes_the_cheapest_node():
    # Rows are multiples of one: by the rearrangement inequality the sorted matching is the cheapest.
    rng = np.random.default_rng(5)
    lengths, watts = rng.lognormal(8.0, 1.5, 80), rng.normal(300.0, 15.0, 100)
    found = assign(np.outer(lengths, watts))
    wanted = np.empty(80, dtype=np.intp)
    wanted[np.argsort(-lengths)] = np.argsort(watts)[:80]
    assert (found.columns == wanted).all()


def test_the_same_question_has_the_same_answer():
    cost = np.random.default_rng(0).integers(0, 4, (120, 150)).astype(float)
    first, second = assign(cost), assign(cost.copy())
    assert (first.columns == second.columns).all()
    assert (first.column_duals == second.column_duals).all()


@pytest.mark.parametrize(
    ("cost", "said"),
    [
        (
            [[1.0, np.nan], [1.0, 2.0]],
            "cost: found NaN in row 0, column 1, expected numbers of at most 1e300 in size, or +inf where",
        ),
        (
            [[1.0, 2.0], [1.0, -INF]],
            "cost: found -inf in row 1, column 1, expected numbers of at most 1e300 in size, or +inf where",
        ),
        ([[1.0], [2.0]], "cost: found shape (2, 1), expected at least as many columns as rows"),
        ([1.0, 2.0], "cost: found an array of shape (2,), expected a matrix"),
        (3.0, "cost: found an array of shape (), expected a matrix"),
        ([[1.0, 2.0], [1.0]], "cost: found `[[1.0, 2.0], [1.0]]`, expected a matrix of numbers"),
        ([["a", "b"]], "cost: found `[['a', 'b']]`, expected a matrix of numbers"),
        (np.array([[1j, 2]]), "cost: found `an array of complex128`, expected a matrix of numbers"),
    ],
)
def test_what_is_no_matrix_of_costs_is_refused(cost, said):
    assert message(assign, cost).startswith(said)
    if said.find("shape (2, 1)") < 0:
        assert message(assign_types, cost, [1, 1]).startswith(said)


def test_a_row_that_cannot_be_placed_is_named_with_those_it_competes_with():
    cost = np.ones((4, 5))
    cost[[1, 3], 1:] = INF
    assert message(assign, cost) == (
        "cost: found no column left for row 3: rows 1, 3 can use only column 0, expected a column for every row"
    )
    assert message(assign_types, cost, [0, 2, 1, 0]) == (
        "cost: found no column left for row 1: row 1 (2 times in all) can use only column 0, "
        "expected a column for every row"
    )


@pytest.mark.parametrize(
    ("counts", "said"),
    [
        ([1, -1], "counts[1]: found `-1`, expected a whole number, 0 or more"),
        ([0.5, 1], "counts[0]: found `0.5`, expected a whole number, 0 or more"),
        ([np.nan, INF], "counts[0]: found `NaN`, expected a whole number, 0 or more\ncounts[1]: found `inf`"),
        ([2, 2], "counts: found 4 in all, expected at most 3, the number of columns of `cost`"),
        ([1], "counts: found an array of shape (1,), expected shape (2,), one a row of `cost`"),
        (["a", "b"], "counts: found `['a', 'b']`, expected whole numbers"),
    ],
)
def test_counts_that_cannot_be_are_refused(counts, said):
    assert message(assign_types, np.ones((2, 3)), counts).startswith(said)


@pytest.mark.slow
def test_ctrl_c_ends_a_long_search_and_other_threads_go_on():
    # Points in the plane make long paths: some seconds' work.
    rng = np.random.default_rng(2)
    cost = np.abs(rng.random((4000, 1, 2)) - rng.random((1, 4000, 2))).sum(axis=-1)
    # By the time that this thread computes: others may have the machine meanwhile.
    clock = time.pthread_getcpuclockid(threading.get_ident())
    pressed = []

    def press():
        pressed.append(time.clock_gettime(clock))
        _thread.interrupt_main()

    timer = threading.Timer(0.2, press)

    def search():
        timer.start()
        assign(cost)

    # Whenever the key is pressed, that is within.
    with pytest.raises(KeyboardInterrupt):
        search()
    timer.join()
    assert time.clock_gettime(clock) - pressed[0] < 1.0
