"""NET008 through the kernel, on recorded runs."""

from judged import recorded


def test_all_are_held_at_once():
    found = recorded("healthy").of("NET008")
    assert {f.status for f in found} == {"ok"} and "holds 5 of 5 connections" in found[0].message


def test_what_connects_only_alone_fails():
    bad = recorded("few-connections").bad("NET008")
    assert bad and all(subject.endswith("->node2") for subject in bad)


def test_a_closed_port_is_no_limit():
    for bundle in ("rendezvous-port-dropped", "inbound-dropped"):
        assert not recorded(bundle).of("NET008", "fail")
