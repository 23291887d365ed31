"""What bad pairs have in common."""

from itertools import permutations

from hypothesis import given
from hypothesis import strategies as st

from gonogo.facts.shapes import shapes

NAMES = ("a", "b", "c", "d")
PAIRS = set(permutations(NAMES, 2))


def found(bad, tried=PAIRS):
    return [(s.kind, s.nodes) for s in shapes(bad, tried, NAMES)]


def of(name, *ends):
    return {p for p in PAIRS if name in [p[end] for end in ends]}


def test_all():
    assert found(PAIRS) == [("all", NAMES)]


def test_one_node_in_both_directions_or_one():
    assert found(of("c", 0, 1)) == [("node", ("c",))]
    assert found(of("c", 1)) == [("into", ("c",))]
    assert found(of("c", 0)) == [("out of", ("c",))]


def test_two_nodes_at_once():
    assert found(of("a", 0, 1) | of("c", 0, 1)) == [("node", ("a",)), ("node", ("c",))]
    assert found(of("a", 1) | of("c", 0)) == [("into", ("a",)), ("out of", ("c",))]


def test_one_pair_is_a_pair_whoever_was_not_tried_with_others():
    assert found({("a", "b"), ("b", "a")}) == [("pairs", ())]
    assert found({("a", "b"), ("b", "a")}, {("a", "b"), ("b", "a"), ("c", "d"), ("d", "c")}) == [("pairs", ())]


def test_the_node_that_all_bad_pairs_share_is_named_even_if_no_other_pair_was_tried():
    tried = {("a", "c"), ("c", "a"), ("b", "c"), ("c", "b")}
    assert [(s.kind, s.nodes) for s in shapes(tried, tried, ("a", "b", "c"))] == [("node", ("c",))]


def test_words():
    (node,), (into,), (pair,) = (shapes(bad, PAIRS, NAMES) for bad in (of("c", 0, 1), of("c", 1), {("a", "b")}))
    assert node.spell(4) == "between c and the other 3 nodes"
    assert into.spell(4) == "into c from the other 3 nodes"
    assert pair.spell(4) == "from a to b"
    (both,) = shapes({("a", "b"), ("b", "a")}, PAIRS, NAMES)
    assert both.spell(4) == "between a and b"


pairs = st.sets(st.sampled_from(sorted(PAIRS)))


@given(pairs, pairs)
def test_every_bad_pair_is_in_exactly_one_shape(bad, more):
    told = [pair for shape in shapes(bad, bad | more, NAMES) for pair in shape.pairs]
    assert sorted(told) == sorted(bad)


@given(pairs)
def test_a_node_is_named_only_if_all_its_pairs_are_bad(bad):
    for shape in shapes(bad, PAIRS, NAMES):
        for name in shape.nodes if shape.kind == "node" else ():
            assert of(name, 0, 1) <= bad
