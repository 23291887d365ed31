"""NET007 through the kernel, on recorded runs."""

from judged import judged, recorded, with_fields


def test_each_node_claims_its_own_address():
    assert {f.status for f in recorded("healthy").of("NET007")} == {"ok"}


def test_a_second_address_that_is_anothers_fails():
    (odd,) = recorded("address-taken-twice").of("NET007", "fail")
    assert str(odd.subject) == "node/node2" and "claims 10.77.0.2, which is node1's" in odd.message


def test_a_neighbour_that_is_elsewhere_fails_where_others_know_better():
    (odd,) = recorded("neighbour-stale").of("NET007", "fail")
    assert str(odd.subject) == "node/node2" and "02:00:00:00:00:99" in odd.message


def test_who_answers_for_all_is_a_router_and_nobody_stale():
    def proxied(fields):
        for entry in fields.get("neighbours", ()):
            entry["mac"] = "ee:ee:ee:ee:ee:ee"
        return fields

    assert {f.status for f in judged("healthy", proxied, only=("NET007",)).of("NET007")} == {"ok"}


def test_untold_addresses_are_unknown():
    found = judged("healthy", with_fields({"local_addresses": []}, kind="info", node="node1"), only=("NET007",))
    assert [str(f.subject) for f in found.of("NET007", "unknown")] == ["node/node1"]
