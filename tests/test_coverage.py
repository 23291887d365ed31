"""What counts as proven, and what never does."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gonogo.coverage import coverage
from gonogo.model import CLUSTER, Finding, Status, Subject, link, node

OK, FAIL, WARN, UNKNOWN, SKIP = Status.OK, Status.FAIL, Status.WARN, Status.UNKNOWN, Status.SKIP


def finding(status: Status, subject: Subject = CLUSTER, check: str = "NET001", message: str = "m") -> Finding:
    return Finding(status, subject, message, check=check)


def proven(*findings: Finding) -> list[str]:
    return [claim.text for claim in coverage(findings, {"NET001": "Ports are open"}, {}).proven]


def open_claims(*findings: Finding, **more: object) -> list[tuple[str, str]]:
    found = coverage(findings, {"NET001": "Ports are open", "LNK001": "Links carry"}, **{"skipped": {}, **more})  # type: ignore[arg-type]
    return [(claim.text, claim.reason) for claim in found.not_proven]


def test_a_subject_counts_when_something_is_ok_and_nothing_bad() -> None:
    a, b, c, d = map(node, "abcd")
    found = [
        finding(OK, a), finding(WARN, a), finding(OK, b), finding(FAIL, b, "NOD002"), finding(WARN, c), finding(OK, d),
        finding(UNKNOWN, d, "NOD002"),
    ]  # fmt: skip
    assert proven(*found) == ["1 of 4 nodes"]


def test_a_claim_names_the_checks_that_found_something_well() -> None:
    a, b = node("a"), node("b")
    found = [finding(OK, a), finding(SKIP, a, "JOB004"), finding(WARN, a, "NOD002"), finding(SKIP, b, "LNK001")]
    (claim,) = coverage([*found, finding(OK, b, "NOD003")], {}, {}).proven
    assert (claim.text, claim.checks) == ("2 of 2 nodes", ("NET001", "NOD003"))


def test_checks_that_are_ok_on_every_subject_are_counted_where_not_every_subject_is_well() -> None:
    a, b = node("a"), node("b")
    well = [finding(OK, a, "NOD001"), finding(OK, b, "NOD001")]
    broken = [finding(FAIL, a, "NOD002"), finding(FAIL, b, "NOD002")]
    assert proven(*well, *broken) == ["1 check is ok on all 2 nodes"]
    assert proven(*well, *broken, finding(UNKNOWN, CLUSTER, "NOD001")) == []
    assert proven(*well, *broken, finding(UNKNOWN, node("c"), "NOD002")) == []
    assert proven(*well) == ["2 of 2 nodes"]


def test_subjects_that_were_never_ok_are_not_claimed() -> None:
    assert proven(finding(SKIP, node("a")), finding(FAIL, node("b"))) == []


def test_a_kind_is_not_proven_while_a_check_of_that_kind_saw_nothing() -> None:
    reached = finding(OK, link("a", "b"))
    assert proven(reached) == ["1 of 1 links"]
    assert proven(reached, finding(UNKNOWN, CLUSTER, "LNK001")) == []
    assert proven(reached, finding(SKIP, CLUSTER, "LNK001")) == ["1 of 1 links"]


def test_a_link_that_was_reached_and_not_measured_is_not_proven() -> None:
    measured, other = link("a", "b"), link("b", "a")
    reached = [finding(OK, measured), finding(OK, other)]
    assert proven(*reached, finding(OK, measured, "LNK002"))[0] == "1 of 2 links"
    assert proven(*reached, finding(FAIL, measured, "LNK002"))[0] == "1 of 2 links"  # nothing was seen to be well
    assert proven(*reached) == ["2 of 2 links"]


def test_what_holds_for_the_whole_is_told_by_title() -> None:
    assert proven(finding(OK)) == ["Ports are open"]
    assert proven(finding(OK), finding(FAIL)) == []


def test_unknowns_and_skips_are_open_and_alike_ones_share_a_line() -> None:
    assert open_claims(finding(UNKNOWN, message="silent"), finding(SKIP, check="LNK001", message="no floor")) == [
        ("Ports are open", "silent"), ("Links carry", "no floor"),
    ]  # fmt: skip
    alike = [finding(SKIP, check=f"KUB00{n}", message="no cluster") for n in range(5)]
    assert open_claims(*alike) == [("5 checks", "no cluster")]


def test_what_was_left_out_is_open_with_its_reason() -> None:
    found = open_claims(skipped={"LNK001": "noisy"}, not_asked=["A", "B"], cannot_prove=["MTU"], untouched=["prod"])
    assert found == [
        ("Links carry", "noisy"), ("MTU", "not on this kind of target"), ("prod", "found and not touched"),
        ("2 other checks", "not asked for"),
    ]  # fmt: skip


_FINDINGS = st.builds(
    finding, st.sampled_from(Status), st.sampled_from([CLUSTER, node("a"), node("b"), link("a", "b")]),
    st.sampled_from(["NET001", "LNK001", "NOD001"]),
)  # fmt: skip


@given(st.lists(_FINDINGS, max_size=12))
def test_every_unknown_is_listed_as_open(findings: list[Finding]) -> None:
    claimed = {check for claim in coverage(findings, {}, {}).not_proven for check in claim.checks}
    assert {f.check for f in findings if f.status is UNKNOWN} <= claimed
