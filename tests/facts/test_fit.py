"""The fit finds the latency and bandwidth that made the points, and physics bounds what can be expected."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gonogo.facts.fit import Fit, busbw, busbw_bound, busbw_factor, fit

SIZES = [1 << power for power in range(10, 27)]
alphas = st.floats(1e-6, 1e-1)
betas = st.floats(1e6, 1e11)


@given(alphas, betas)
def test_exact_points_give_back_what_made_them(alpha, beta):
    found = fit([(size, alpha + size / beta) for size in SIZES])
    assert found.alpha_seconds == pytest.approx(alpha, rel=1e-3, abs=1e-3 * SIZES[0] / beta)
    assert found.seconds(SIZES[-1]) == pytest.approx(alpha + SIZES[-1] / beta, rel=1e-6)
    assert found.residual < 1e-6


@given(st.integers(0, 1000))
def test_noise_of_ten_percent_moves_neither_far(seed):
    rng = random.Random(seed)
    alpha, beta = 200e-6, 1.2e9
    found = fit([(size, (alpha + size / beta) * rng.uniform(0.9, 1.1)) for size in SIZES])
    assert found.alpha_seconds == pytest.approx(alpha, rel=0.15)
    assert found.beta_bytes_per_second == pytest.approx(beta, rel=0.15)
    assert found.residual < 0.1


@given(st.lists(st.tuples(st.integers(1, 1 << 40), st.floats(1e-9, 1e6)), max_size=30))
def test_whatever_is_measured_nothing_is_negative(points):
    found = fit(points)
    if found is None:
        assert len({size for size, _ in points}) < 2
    else:
        assert found.alpha_seconds >= 0 and found.beta_bytes_per_second > 0
        assert math.isfinite(found.alpha_seconds) and math.isfinite(found.residual)


def test_time_that_falls_with_size_has_no_slope():
    found = fit([(1000, 2.0), (2000, 1.0)])
    assert found.beta_bytes_per_second == math.inf and 1.0 < found.alpha_seconds < 2.0


def test_too_little_is_no_fit():
    assert fit([]) is None
    assert fit([(1000, 1.0), (1000, 2.0)]) is None
    assert fit([(1000, 0.0), (2000, 1.0)]) is None


def test_half_of_the_bandwidth_is_reached_where_latency_equals_transfer():
    line = Fit(1e-3, 1e9, 0.0)
    assert line.half_bandwidth_bytes == 1e6
    assert 1e6 / line.seconds(1e6) == pytest.approx(0.5e9)


@pytest.mark.parametrize(
    ("op", "ranks", "factor"),
    [("all_reduce", 4, 1.5), ("all_reduce", 1, 0), ("all_gather", 4, 0.75), ("broadcast", 8, 1), ("barrier", 4, 0)],
)
def test_factors(op, ranks, factor):
    assert busbw_factor(op, ranks) == factor


def test_an_unknown_op_has_no_factor():
    with pytest.raises(ValueError, match="'all_reduc'"):
        busbw_factor("all_reduc", 4)


def test_busbw_is_gigabytes_a_second():
    assert busbw("all_reduce", 64 << 20, 0.1, 4) == pytest.approx(1.00663, rel=1e-4)
    assert busbw("all_reduce", 64 << 20, 0.0, 4) == 0.0


@given(st.integers(2, 64), st.integers(1, 8))
def test_no_ring_exceeds_the_bound(nodes, per_node):
    """A ring over all ranks crosses each node's link once in each direction: busbw is the link's speed at most."""
    assert busbw_bound(100, nodes, nodes * per_node) >= 100 / 8 * (1 - 1e-12)


def test_one_node_has_no_bound():
    assert busbw_bound(100, 1, 8) == math.inf
