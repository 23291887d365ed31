"""Arbitration: what is contradicted goes, the special stands before the general, two faults are two."""

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from judged import judged, recorded

from gonogo import registry
from gonogo.causes.arbitrate import arbitrate, unexplained
from gonogo.kernel import Cause, Step
from gonogo.model import Certainty, Diagnosis, Evidence, Finding, FindingKey, Status, link, node


def fail(check, subject):
    return Finding(Status.FAIL, subject, "It is broken.", check=check)


def says(cause, *keys, subjects=None, certainty=Certainty.ESTABLISHED, contradicts=(), commands=("look",)):
    subjects = subjects or tuple(dict.fromkeys(k.subject for k in keys)) or (node("a"),)
    evidence = (Evidence(f"{cause} was seen on {subjects[0]}", "agents/a.jsonl", 1),)
    return Diagnosis(
        cause, certainty, f"{cause}.", subjects, evidence, tuple(keys), tuple(contradicts), commands=commands
    )


def causes(**refines):
    def nothing() -> int:
        return 0

    step = Step.of("cause", "nothing", nothing)
    return [Cause(id, step, tuple(r)) for id, r in ((k.replace("__", "."), v) for k, v in refines.items())]


NET, LNK = FindingKey("NET001", link("a", "b")), FindingKey("LNK002", link("a", "b"))
OTHER_NET = FindingKey("NET001", link("c", "d"))
COL, JOB = FindingKey("COL002", node("a")), FindingKey("JOB001", node("a"))


def names(diagnoses):
    return [d.cause for d in diagnoses]


def test_what_is_contradicted_is_dropped():
    wrong = says("network.port_blocked", NET, contradicts=(Evidence("the port answers"),))
    assert names(arbitrate([wrong, says("job.rank_died", JOB)], [], {})) == ["job.rank_died"]


def test_the_general_gives_way_to_the_special():
    known = causes(network__port_blocked=(), network__one_way_blocked=("network.port_blocked",))
    general, special = says("network.port_blocked", NET, COL), says("network.one_way_blocked", NET, COL)
    assert names(arbitrate([general, special], [], known)) == ["network.one_way_blocked"]


def test_the_general_keeps_what_the_special_does_not_explain():
    known = causes(network__port_blocked=(), network__one_way_blocked=("network.port_blocked",))
    general = says("network.port_blocked", NET, OTHER_NET, COL)
    found = arbitrate([general, says("network.one_way_blocked", NET, COL)], [], known)
    (kept,) = (d for d in found if d.cause == "network.port_blocked")
    assert kept.explains == (OTHER_NET, COL)


def test_a_shared_consequence_does_not_make_the_general_give_way():
    """A job that fails for two reasons: the special one explains the job, not the other blocked link."""
    known = causes(network__port_blocked=(), network__one_way_blocked=("network.port_blocked",))
    general, special = says("network.port_blocked", OTHER_NET, COL), says("network.one_way_blocked", NET, COL)
    assert set(names(arbitrate([general, special], [], known))) == {"network.port_blocked", "network.one_way_blocked"}


def test_refinement_reaches_over_a_middle_that_is_silent():
    known = causes(network__port_blocked=(), network__one_way_blocked=("network.port_blocked",),
                   network__sg_node_to_node_blocked=("network.one_way_blocked",))  # fmt: skip
    found = arbitrate([says("network.port_blocked", NET), says("network.sg_node_to_node_blocked", NET)], [], known)
    assert names(found) == ["network.sg_node_to_node_blocked"]


def test_what_is_explained_is_nested():
    root = says("network.mtu_mismatch", LNK, COL)
    late = says("job.rank_stalled", COL)
    (found,) = arbitrate([late, root], [], {})
    assert found.cause == "network.mtu_mismatch" and names(found.consequences) == ["job.rank_stalled"]


def test_two_independent_faults_are_both_named():
    """They share a consequence; each has a finding of its own."""
    blocked, died = says("network.port_blocked", NET, COL), says("job.rank_died", JOB, COL)
    assert names(arbitrate([died, blocked], [], {})) == ["network.port_blocked", "job.rank_died"]


def test_two_of_one_layer_never_hide_each_other():
    same = says("network.port_blocked", NET), says("network.one_way_blocked", NET)
    assert len(arbitrate(same, [], {})) == 2


def test_names_and_ports_come_before_links_and_links_before_jobs():
    told = [
        says("train.ranks_diverge", FindingKey("TRN003", node("a"))),
        says("job.rank_died", JOB),
        says("network.link_slow", LNK),
        says("job.rendezvous_dns_not_ready", FindingKey("NET003", node("b"))),
    ]
    assert names(arbitrate(told, [], {})) == [
        "job.rendezvous_dns_not_ready", "network.link_slow", "job.rank_died", "train.ranks_diverge",
    ]  # fmt: skip


def test_of_one_layer_the_one_that_explains_more_comes_first():
    more, less = says("network.port_blocked", NET, COL), says("network.name_unresolved", OTHER_NET)
    assert names(arbitrate([less, more], [], {})) == ["network.port_blocked", "network.name_unresolved"]


def alike(*names):
    return [says("job.port_in_use", FindingKey("NET006", node(name)), commands=(f"ss on {name}",)) for name in names]


def test_more_than_half_of_the_nodes_alike_are_said_once():
    findings = [fail("NET006", node(name)) for name in "abcd"]
    (found,) = arbitrate(alike("a", "b", "c"), findings, {})
    assert found.summary.startswith(
        "3 of 4 nodes fail alike: suspect what they share (the image, the plan or the check"
    )
    assert found.subjects == (node("a"), node("b"), node("c"))
    assert len(found.explains) == 3 and found.commands == ("ss on a", "ss on b", "ss on c")


def test_half_of_the_nodes_are_still_said_one_by_one():
    findings = [fail("NET006", node(name)) for name in "abcd"]
    assert len(arbitrate(alike("a", "b"), findings, {})) == 2


def test_what_no_diagnosis_explains_is_told():
    findings = [fail("NET001", link("a", "b")), fail("JOB001", node("a"))]
    assert unexplained([says("network.port_blocked", NET)], findings) == (findings[1],)


CAUSES = causes(
    network__port_blocked=(), network__one_way_blocked=("network.port_blocked",), network__link_slow=(),
    job__rank_died=(), job__rank_stalled=("job.rank_died",), train__ranks_diverge=(),
)  # fmt: skip
keys = st.builds(
    FindingKey,
    st.sampled_from(["NET001", "NET003", "LNK002", "COL002", "JOB001", "TRN003"]),
    st.one_of(st.builds(node, st.sampled_from("abc")), st.builds(link, st.sampled_from("ab"), st.sampled_from("bc"))),
)
diagnoses = st.lists(
    st.builds(
        lambda cause, explained, certainty, against: says(cause, *explained, certainty=certainty, contradicts=against),
        st.sampled_from(sorted(c.id for c in CAUSES)),
        st.lists(keys, min_size=1, max_size=4, unique=True),
        st.sampled_from(list(Certainty)),
        st.sampled_from([(), (), (), (Evidence("no"),)]),
    ),
    max_size=6,
)


def everything(found):
    for d in found:
        yield d
        yield from everything(d.consequences)


@given(diagnoses)
@settings(max_examples=200, deadline=None)
def test_any_order_of_input_gives_the_same_answer(told):
    answers = {repr(arbitrate(order, [], CAUSES)) for order in itertools.islice(itertools.permutations(told), 24)}
    assert len(answers) == 1


@given(diagnoses)
@settings(max_examples=200, deadline=None)
def test_nothing_is_lost_but_what_is_contradicted_or_told_better(told):
    """Whatever finding an uncontradicted diagnosis explains stays explained; nothing appears from nowhere."""
    found = list(everything(arbitrate(told, [], CAUSES)))
    before = {key for d in told if not d.contradicts for key in d.explains}
    special = {"network.one_way_blocked", "job.rank_stalled"}
    kept = {key for d in found for key in d.explains}
    assert kept <= before
    assert {key for d in told if not d.contradicts and d.cause in special for key in d.explains} <= kept
    assert not any(d.contradicts for d in found)


@given(diagnoses)
@settings(max_examples=200, deadline=None)
def test_a_consequence_is_later_than_its_root_and_explained_by_it(told):
    for root in arbitrate(told, [], CAUSES):
        for under in root.consequences:
            assert set(under.explains) <= set(root.explains)
            assert under.cause != root.cause


@given(diagnoses)
@settings(max_examples=100, deadline=None)
def test_arbitrating_twice_changes_nothing(told):
    once = arbitrate(told, [], CAUSES)
    assert arbitrate(once, [], CAUSES) == once


def test_what_explains_nothing_that_was_looked_at_is_not_told():
    assert arbitrate([says("network.port_blocked")], [], []) == ()


@pytest.mark.parametrize(
    ("bundle", "check", "cause"),
    [("packets-lost", "LNK002", "network.packet_loss"), ("few-connections", "NET001", "network.connections_limited"),
     ("mtu-black-hole", "COL002", "network.mtu_mismatch"), ("only-rendezvous-port", "NOD001", "")],
)  # fmt: skip
def test_one_check_alone_leads_to_the_cause_that_all_lead_to(bundle, check, cause):
    """What the run can parse of its documents is there for causes, whatever was asked for."""
    found = judged(bundle, only=(check,)).diagnoses
    assert names(found) == ([cause] if cause else [])
    if cause:
        (among_all,) = (d for d in recorded(bundle).diagnoses if d.cause == cause)
        assert found[0].commands == among_all.commands


def test_a_cause_s_other_teller_refines_as_well():
    """pod.oom_killed told by pods of the cluster goes before a shared memory that was too small."""
    known = registry.load()
    shm, oom = says("pod.shm_too_small", JOB), says("pod.oom_killed", JOB)
    assert names(arbitrate([shm, oom], [], known.every_cause)) == ["pod.oom_killed"]
