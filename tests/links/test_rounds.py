"""Every pair once, nobody twice in a round, for any number of nodes."""

from __future__ import annotations

from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from gonogo.links.group import together
from gonogo.links.rounds import batches, rounds, second_look

COUNTS = st.integers(1, 64)


def names(n: int) -> list[str]:
    return [f"node{i}" for i in range(n)]


@given(COUNTS)
def test_all_rounds_hold_every_pair_once(n: int) -> None:
    plan = rounds(names(n))
    pairs = [frozenset(pair) for pairs in plan for pair in pairs]
    assert len(pairs) == len(set(pairs)) == n * (n - 1) // 2
    assert set(pairs) == {frozenset(pair) for pair in combinations(names(n), 2)}
    assert len(plan) == (0 if n < 2 else n - 1 + n % 2)


@given(COUNTS, st.integers(0, 70))
def test_nobody_is_twice_in_a_round_and_at_most_one_sits_out(n: int, count: int) -> None:
    for pairs in rounds(names(n), count):
        busy = [name for pair in pairs for name in pair]
        assert len(busy) == len(set(busy)) == n - n % 2


@given(COUNTS, st.integers(1, 70))
def test_some_rounds_are_the_first_of_all(n: int, count: int) -> None:
    assert rounds(names(n), count) == rounds(names(n))[:count]


@given(COUNTS, st.integers(0, 40))
def test_batches_hold_the_round_and_no_more_at_once_than_allowed(n: int, at_once: int) -> None:
    for pairs in rounds(names(n), 1):
        cut = list(batches(pairs, at_once))
        assert [pair for batch in cut for pair in batch] == pairs
        assert all(len(batch) <= (at_once or len(pairs)) for batch in cut)


@given(st.integers(0, 8), st.integers(0, 8), st.integers(1, 3))
def test_suspects_meet_good_nodes_that_they_have_not_met_and_accused_pairs_meet_again(s: int, g: int, k: int) -> None:
    suspects, good = [f"bad{i}" for i in range(s)], [f"good{i}" for i in range(g)]
    met = [(b, good[0]) for b in suspects] if good else []
    accused = [("bad0", "bad1")] if s > 1 else []
    plan = second_look(suspects, good, met, accused, partners=k)
    for pairs in plan:
        busy = [name for pair in pairs for name in pair]
        assert len(busy) == len(set(busy))
    found = [pair for pairs in plan for pair in pairs]
    for suspect in suspects:
        partners = [b for a, b in found if a == suspect and b in good]
        assert len(partners) == len(set(partners)) == min(k, g)
        assert g <= k or good[0] not in partners
    assert all(pair in found for pair in accused)


@given(st.integers(2, 24), st.data())
def test_the_group_reaches_itself_and_nobody_more_fits_in(n: int, data: st.DataObject) -> None:
    nodes = names(n)
    one = st.sampled_from(nodes)
    broken = dict.fromkeys(data.draw(st.sets(st.tuples(one, one), max_size=30)), "port 29500 is silent")
    members, left_out = together(nodes, broken)
    assert sorted([*members, *left_out]) == sorted(nodes)
    assert not [(a, b) for a in members for b in members if (a, b) in broken]
    for other in left_out:
        assert any((a, b) in broken for m in [*members, other] for a, b in ((m, other), (other, m)))
        assert "port 29500 is silent" in left_out[other]


@given(st.integers(3, 64), st.data())
def test_one_node_that_nobody_reaches_is_the_only_one_left_out(n: int, data: st.DataObject) -> None:
    nodes = names(n)
    bad = data.draw(st.sampled_from(nodes))
    members, left_out = together(nodes, {(a, bad): "silent" for a in nodes if a != bad})
    assert members == [a for a in nodes if a != bad] and list(left_out) == [bad]
