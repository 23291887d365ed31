"""LNK004 through the kernel, on recorded runs."""

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
