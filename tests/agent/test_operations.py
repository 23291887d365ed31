"""The patterns tell a right result from any wrong one that a network or a memory makes."""

from __future__ import annotations

import os

import pytest

try:
    import torch
except ImportError:
    if os.environ.get("CI"):
        raise
    pytest.skip("torch is not installed: pip install gonogo[torch]", allow_module_level=True)

from hypothesis import given
from hypothesis import strategies as st

from gonogo.agent.group import Group
from gonogo.agent.operations import OPERATIONS, Pattern, largest_group

DTYPES = [torch.float32, torch.bfloat16, torch.int64]


def pattern(ranks: int, dtype=torch.float32) -> Pattern:
    return Pattern(dtype, Group(0, ranks, [f"node{i}" for i in range(ranks)], torch.device("cpu")))


def filled(values: Pattern, source: int | None, count: int, start: int = 0):
    out = torch.empty(count, dtype=values.dtype)
    values.fill(out, source, start)
    return out


@given(st.integers(1, 64), st.sampled_from(DTYPES), st.integers(1, 3000), st.integers(0, 10**7))
def test_the_sum_of_all_ranks_is_exact_in_any_order(ranks, dtype, count, start):
    values = pattern(ranks, dtype)
    total = torch.zeros(count, dtype=dtype)
    for rank in reversed(range(ranks)):
        total += filled(values, rank, count, start)
    assert values.compare(total, None, start) == (0, 0.0)


@given(st.integers(2, 32), st.data())
def test_a_missing_and_a_doubled_rank_show(ranks, data):
    values = pattern(ranks)
    missing, doubled = data.draw(st.permutations(range(ranks)))[:2]
    total = filled(values, None, 4096) - filled(values, missing, 4096) + filled(values, doubled, 4096)
    assert values.compare(total, None, 0)[0] > 4000


@given(st.integers(0, 100_000), st.sampled_from(DTYPES))
def test_a_single_changed_element_shows(where, dtype):
    values = pattern(4, dtype)
    out = filled(values, None, 100_001)
    out[where] += 1
    assert values.compare(out, None, 0) == (1, 1.0)


@given(st.integers(3, 16))
def test_parts_in_each_others_places_show(power):
    size = 1 << power
    values = pattern(4)
    out = filled(values, None, 2 * size)
    swapped = torch.cat([out[size:], out[:size]])
    assert values.compare(swapped, None, 0)[0] > size


def test_nan_and_zeros_and_another_type_of_equal_size_are_wrong():
    values = pattern(4)
    assert values.compare(torch.full((100,), float("nan")), None, 0)[0] == 100
    assert values.compare(torch.zeros(100), None, 0)[0] == 100
    as_integers = (filled(values, 0, 100).view(torch.int32) + filled(values, 1, 100).view(torch.int32)).view(
        torch.float32
    )
    assert values.compare(as_integers, None, 0)[0] > 90


@given(st.sampled_from(DTYPES))
def test_up_to_the_largest_group_ranks_differ_and_sums_are_exact(dtype):
    values = pattern(min(largest_group(dtype), 300), dtype)
    assert values.modulus >= 2
    assert float(values.period(None).double().max()) <= {torch.bfloat16: 256}.get(dtype, 1 << 24)


@given(st.integers(1, 9), st.integers(1, 50), st.sampled_from(sorted(OPERATIONS)))
def test_expected_segments_cover_the_whole_result_once(ranks, share, op):
    elements = share * ranks
    for rank in range(ranks):
        group = Group(rank, ranks, [], torch.device("cpu"))
        segments = OPERATIONS[op].expected(group, elements)
        covered = [place for s in segments for place in range(s.begin, s.begin + s.count)]
        wanted = 0 if op == "barrier" else share if OPERATIONS[op].gets_share else elements
        assert covered == list(range(wanted))


@pytest.mark.parametrize("culprit", range(5))
def test_a_flipped_bit_in_a_sum_tells_whose_it_was(culprit):
    values, left = pattern(5), set(range(5))
    for start in range(1, 60):
        out, given = filled(values, None, 100, start), filled(values, culprit, 100, start)
        before = float(given[77])
        given.view(torch.int32)[77] ^= 1 << 22
        out[77] += float(given[77]) - before
        left &= values.suspects(out, start)
        assert culprit in left
    assert left == {culprit}


def test_a_sum_that_no_flipped_bit_explains_names_nobody():
    values = pattern(4)
    out = filled(values, None, 100)
    out[3:60] += 12345
    assert values.suspects(out, 0) == set()
