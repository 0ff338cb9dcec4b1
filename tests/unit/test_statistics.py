"""Student's t: against its distribution in closed form, and against what a confidence interval promises."""

import math

import numpy as np
import pytest

from hetsched.analysis import mean_and_half_width, student_t_quantile


def central_probability(t, degrees):
    """P(|T| <= t) for whole degrees of freedom: Abramowitz & Stegun 26.7.3 and 26.7.4."""
    theta = math.atan(t / math.sqrt(degrees))
    sine, cosine = math.sin(theta), math.cos(theta)
    if degrees % 2:
        term, total = cosine, 0.0
        for k in range(1, degrees - 1, 2):
            total += term
            term *= cosine**2 * (k + 1) / (k + 2)
        return 2 / math.pi * (theta + sine * total)
    term, total = 1.0, 0.0
    for k in range(0, degrees - 1, 2):
        total += term
        term *= cosine**2 * (k + 1) / (k + 2)
    return sine * total


@pytest.mark.parametrize("degrees", [*range(1, 31), 35, 40, 50, 60, 100, 120, 200, 1000])
def test_quantile_leaves_a_fortieth_on_either_side(degrees):
    assert central_probability(student_t_quantile(degrees), degrees) == pytest.approx(0.95, abs=1e-12)


def test_quantile_falls_towards_the_normal_distributions():
    quantiles = [student_t_quantile(degrees) for degrees in range(1, 500)]
    assert quantiles == sorted(quantiles, reverse=True)
    assert student_t_quantile(10**9) == pytest.approx(1.959964, abs=1e-6)


def test_no_degrees_of_freedom_are_refused():
    with pytest.raises(ValueError, match="0 degrees"):
        student_t_quantile(0)


def test_half_width_by_hand():
    # Mean 12, deviations -2, 0, 2: s = 2, standard error 2 / sqrt(3), t(2) = 4.302653.
    mean, half_width = mean_and_half_width([10.0, 12.0, 14.0])
    assert mean == 12.0
    assert half_width == pytest.approx(4.302653 * 2 / math.sqrt(3))


def test_one_run_has_no_interval_and_equal_runs_one_of_length_zero():
    assert mean_and_half_width([5.0]) == (5.0, None)
    assert mean_and_half_width([5.0, 5.0, 5.0]) == (5.0, 0.0)


def test_nineteen_of_twenty_intervals_hold_the_true_mean():
    rng = np.random.default_rng(1)
    samples = rng.normal(loc=7.0, scale=3.0, size=(20_000, 4))
    held = sum(abs(mean - 7.0) <= width for mean, width in map(mean_and_half_width, samples))
    # Four standard errors of a share of 0.95 in 20,000 are 0.006.
    assert held / len(samples) == pytest.approx(0.95, abs=0.006)
