"""Who is late, from steps that are made up."""

import random

from hypothesis import given
from hypothesis import strategies as st

from gonogo.links.pace import WARM_UP_STEPS, judge

NAMES = tuple("abcde")


def look(own, waits=None, noise=0.0, steps=10, seed=0):
    """Steps of ranks with these own times; each waits for the last one unless told otherwise."""
    dice, last = random.Random(seed), max(own.values())
    waits = waits or {name: last - mine + 0.01 for name, mine in own.items()}
    return {n: [(mine * (1 + noise * dice.gauss(0, 1)), waits[n]) for _ in range(steps)] for n, mine in own.items()}


def late(*looks):
    return {name for name, pace in judge(looks).items() if pace.is_late}


EVEN = dict.fromkeys(NAMES, 0.1)


def test_one_that_takes_twice_as_long_is_late():
    assert late(look({**EVEN, "c": 0.2}, noise=0.05)) == {"c"}


def test_two_of_five_are_both_late():
    assert late(look({**EVEN, "b": 0.3, "c": 0.3})) == {"b", "c"}


def test_even_ranks_are_never_late_however_slow_and_noisy():
    for seed in range(200):
        assert not late(look(dict.fromkeys(NAMES, 2.0), noise=0.3, seed=seed))


def test_what_noise_explains_is_no_lateness():
    steps = look({**EVEN, "c": 0.16}, noise=0.6)
    assert late(look({**EVEN, "c": 0.16})) == {"c"} and not late(steps)


def test_one_for_which_nobody_waits_is_not_late():
    assert not late(look({**EVEN, "c": 0.3}, waits=dict.fromkeys(NAMES, 0.05)))


def test_late_is_who_is_late_in_every_look():
    assert late(look({**EVEN, "c": 0.3}), look({**EVEN, "c": 0.3})) == {"c"}
    assert not late(look({**EVEN, "c": 0.3}), look(EVEN))
    assert not late(look({**EVEN, "c": 0.3}), look({**EVEN, "b": 0.3}))


def test_batches_that_come_in_bunches_count_by_their_mean():
    bunches = {n: [(0.1, 0.5)] * 12 for n in "ab"} | {"c": [(1.1, 0.0), (0.1, 0.0)] * 6}
    assert late(bunches) == {"c"}


def test_two_ranks_or_few_steps_tell_nothing():
    assert judge([look({"a": 0.1, "b": 9.0})])["b"].others is None
    assert judge([look({**EVEN, "c": 9.0}, steps=WARM_UP_STEPS + 3)]) == {}


@given(st.lists(st.lists(st.floats(0, 1e6), min_size=6, max_size=9), min_size=0, max_size=6))
def test_any_times_are_judged(rows):
    for pace in judge([{str(n): [(t, 0.0) for t in row] for n, row in enumerate(rows)}]).values():
        assert pace.own >= 0 and pace.bar > 0
