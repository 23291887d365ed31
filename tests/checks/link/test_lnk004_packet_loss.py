"""LNK004 through the kernel, on recorded runs."""

import pytest
from judged import HEALTHY, judged, recorded, where


def test_busy_links_resend_little():
    for bundle in HEALTHY:
        assert {f.status for f in recorded(bundle).of("LNK004")} <= {"ok", "skip"}


def test_five_percent_are_seen_on_the_links_of_one_node():
    bad = recorded("packets-lost").bad("LNK004")
    assert bad and all("node2" in subject for subject in bad)


def test_few_segments_say_nothing():
    def short(fields):
        if where(fields, step="links", kind="throughput"):
            return {**fields, "bytes": 8949 * 100, "retransmits": 5}
        return fields

    assert {f.status for f in judged("healthy", short, only=("LNK004",)).of("LNK004")} == {"ok"}


def test_a_link_on_which_no_message_was_sent_has_segments_as_long_as_its_nodes_other_links():
    def unsaid(fields):
        streamed_only = fields["step"] == "links" and {fields["node"], fields.get("peer")} == {"node0", "node2"}
        return None if streamed_only and fields["kind"] == "message" else fields

    assert judged("packets-lost", unsaid, only=("LNK004",)).bad("LNK004") == recorded("packets-lost").bad("LNK004")


@pytest.mark.parametrize(
    ("waits", "resent", "status"), [(0.0, 0.012, "fail"), (0.5, 0.012, "warn"), (0.5, 0.05, "fail"), (0.5, 0.002, "ok")]
)
def test_what_is_resent_to_an_end_without_a_cpu_counts_less(waits, resent, status):
    def busy(fields):
        if where(fields, step="links", kind="throughput", node="node1", peer="node0"):
            segments = fields["bytes"] // 8949
            return {**fields, "waits": [waits] * len(fields["slices"]), "retransmits": round(segments * resent)}
        return fields

    found = {str(f.subject): f for f in judged("healthy", busy, only=("LNK004",)).of("LNK004")}
    finding = found["link/node0->node1"]
    assert finding.status == status and ("measure again on idle nodes" in finding.message) == (status == "warn")
