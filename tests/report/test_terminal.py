"""What a person reads."""

from __future__ import annotations

import dataclasses
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from reports import DIAGNOSES, FINDINGS, GO, REPORT

from gonogo.model import CLUSTER, Claim, Coverage, Diagnosis, Evidence, Finding, Report, Status, Verdict
from gonogo.report.terminal import render

PAGE = """\
gonogo verify · this machine, 3 nodes in network namespaces · plan vision · standard · run k7f3 · 42 s

NO-GO   2 root causes explain 6 of 7 failed findings and the only undetermined one

1  network.port_blocked                                                                            established
   Port 29500 is dropped between all 3 nodes: 6 of 6 directions.
   evidence    node1 → node0: no answer on port 29500 after 3 s, dropped  agents/node1.jsonl:57
               node1 → node0: no answer on port 29500 after 3 s, dropped  agents/node1.jsonl:57
               node1 → node0: no answer on port 29500 after 3 s, dropped  agents/node1.jsonl:57
               node1 → node0: no answer on port 29500 after 3 s, dropped  agents/node1.jsonl:57
               node1 → node0: no answer on port 29500 after 3 s, dropped  agents/node1.jsonl:57
               and 2 more
   explains    NET001 ×6
   leads to    job.rank_died: Rank 3 gave up.
   run         nsenter --net=/proc/$(pgrep -f gonogo:node0)/ns/net nft list ruleset  # long as it is: one line

2  train.diverged                                                                                   hypothesis
   Rank 3 computes wrong numbers.
   but         its parameters agree
   to be sure  Run gonogo verify --only train there.

not explained by a root cause
✗ TRN002    rank/3  The loss of rank 3 is nan.
! NOD004    node/node2  node2 has 64 MiB of /dev/shm.

measured    all_reduce, 3 ranks: alpha 2.3 ms · busbw 1.25 GB/s at 64 MiB
            link: throughput 5.5 Gbit/s (1.5 to 9.5 over 2)
            train: loss inf
proven      1 of 3 nodes
not proven  what waits for the root causes: TRN001
            12 checks: not asked for
next        mend 1, then: gonogo verify -f 'my plan.yaml' --nodes 3 --only network,train
"""


def test_the_whole_page() -> None:
    assert render(REPORT, width=110) == PAGE


def test_a_go_on_this_machine_says_so_and_names_the_context_that_it_left_alone() -> None:
    text = render(GO)
    assert (
        "\nGO, this machine only   3 of 3 nodes, level standard, kube context prod was found and not touched\n" in text
    )
    assert "next" not in text


@pytest.mark.parametrize("width", [40, 80, 120])
@pytest.mark.parametrize("unicode", [True, False])
def test_lines_fit_but_for_commands(width: int, unicode: bool) -> None:
    for line in render(REPORT, width=width, unicode=unicode, wide=True).splitlines():
        assert len(line) <= width or "nsenter" in line or line.startswith("next  ")


def test_ascii_is_ascii_and_says_the_same() -> None:
    text = render(REPORT, width=110, unicode=False)
    assert text.isascii()
    assert "node1 -> node0" in text
    assert "NET001 x6" in text


def test_colour_only_where_it_is_taken() -> None:
    colored = render(REPORT, width=110, color=True)
    assert "\x1b[1;31mNO-GO" in colored
    assert re.sub(r"\x1b\[[0-9;]*m", "", colored).split() == PAGE.split()


def test_wide_shows_every_finding_and_all_evidence() -> None:
    text = render(REPORT, width=110, wide=True)
    assert text.count("agents/node1.jsonl:57") == 7
    assert all(f.message in text for f in FINDINGS)


def _report(findings: tuple[Finding, ...], diagnoses: tuple[Diagnosis, ...] = ()) -> Report:
    verdict = Verdict.of(f.status for f in findings)
    return dataclasses.replace(REPORT, verdict=verdict, findings=findings, diagnoses=diagnoses)


@pytest.mark.parametrize(
    ("report", "line"),
    [
        (_report(FINDINGS[5:], DIAGNOSES[:1]), "NO-GO   1 root cause explains all 6 failed findings"),
        (_report(FINDINGS[5:6], DIAGNOSES[:1]), "NO-GO   1 root cause explains the only failed finding"),
        (_report(FINDINGS[4:]), "NO-GO   7 failed findings, no known cause"),
        (_report(FINDINGS[:1]), "UNDECIDED   1 undetermined finding, no known cause"),
        (_report(FINDINGS[:1], DIAGNOSES[:1]), "UNDECIDED   1 root cause explains the only undetermined finding"),
        (_report(()), "UNDECIDED   nothing was looked at"),
    ],
)
def test_the_verdicts_line(report: Report, line: str) -> None:
    assert line in render(report, width=110).splitlines()


def test_what_several_checks_say_alike_is_said_once() -> None:
    lost = tuple(Finding(Status.UNKNOWN, CLUSTER, "No agent started.", check=f"NOD00{n}") for n in range(3))
    text = render(_report(lost), width=110)
    assert "\n? NOD000    No agent started.  also NOD001, NOD002\n" in text
    assert text.count("No agent started.") == 1


def test_a_long_line_of_evidence_is_cut_unless_wide() -> None:
    diagnosis = dataclasses.replace(DIAGNOSES[0], evidence=(Evidence("word " * 100 + "end", "rank0.log", 7),))
    text = render(_report(FINDINGS[5:], (diagnosis,)))
    assert "word… rank0.log:7" in " ".join(text.split())
    assert "word end rank0.log:7" in " ".join(render(_report(FINDINGS[5:], (diagnosis,)), wide=True).split())


def test_of_many_commands_the_first_are_shown() -> None:
    diagnosis = dataclasses.replace(DIAGNOSES[0], commands=tuple(f"mend node{n}" for n in range(9)))
    text = render(_report(FINDINGS[5:], (diagnosis,)))
    assert text.count("mend node") == 6
    assert "and 3 more: -o wide" in text
    assert render(_report(FINDINGS[5:], (diagnosis,)), wide=True).count("mend node") == 9


def test_the_same_command_for_several_nodes_is_one_line() -> None:
    commands = tuple(f"{c}  # on node{n}" for c in ("nft list ruleset", "iptables -I INPUT") for n in range(4))
    diagnosis = dataclasses.replace(DIAGNOSES[0], commands=("uname -r", *commands))
    shown = [line[15:] for line in render(_report(FINDINGS[5:], (diagnosis,))).splitlines() if "node0, " in line]
    on = "# on node0, node1, node2, node3"
    assert shown == [f"nft list ruleset  {on}", f"iptables -I INPUT  {on}"]


def test_of_very_many_nodes_the_rest_is_counted() -> None:
    diagnosis = dataclasses.replace(DIAGNOSES[0], commands=tuple(f"reboot  # on node{n:02}" for n in range(20)))
    report = _report(FINDINGS[5:], (diagnosis,))
    assert "node06 and 13 more: -o wide\n" in render(report)
    assert "node19\n" in render(report, wide=True)


def test_no_line_ends_inside_of_a_number_or_before_its_unit() -> None:
    text = "clocks differ by 13 639 027 776 bytes or 12.6 GB or 48 058 files/s or 3 min 20 s, on port 29500 of 4 nodes"
    for width in range(40, 90):
        diagnosis = dataclasses.replace(DIAGNOSES[0], summary=text)
        lines = render(_report(FINDINGS[5:], (diagnosis,)), width=width).splitlines()
        assert not [line for line in lines if re.search(r"(\b13|639|027|776|12\.6|48|058|or 3|\b20)$", line)], width
        assert text in " ".join(" ".join(lines).split())


def test_wide_names_each_finding_once() -> None:
    text = render(_report(FINDINGS), width=200, wide=True)
    assert all(text.partition("measured")[0].count(f.message) == 1 for f in FINDINGS)


def test_what_root_causes_explain_adds_up() -> None:
    lost = tuple(Finding(Status.UNKNOWN, CLUSTER, "waits", check=f"COL00{n}") for n in range(3))
    warned = Finding(Status.WARN, CLUSTER, "slow", check="LNK001")
    keys = (*(f.key for f in FINDINGS[5:]), *(f.key for f in lost[:2]), warned.key)
    diagnosis = dataclasses.replace(DIAGNOSES[0], explains=keys, consequences=())
    text = render(_report((*FINDINGS[5:], *lost, warned), (diagnosis,)), width=120)
    assert "1 root cause explains all 6 failed findings, 2 of 3 undetermined ones and the only warning\n" in text


def test_many_skips_are_counted_and_what_is_unknown_is_always_told() -> None:
    ids = [f"EFA{n:03}" for n in range(1, 8)]
    skips = [Finding(Status.SKIP, CLUSTER, f"No node has EFA: {id}.", check=id) for id in ids]
    unknown = Finding(Status.UNKNOWN, CLUSTER, "Nobody said.", check="KUB001")
    claims = (*(Claim("EFA", f.message, (f.check,)) for f in skips), Claim("Whether", "Nobody said.", ("KUB001",)))
    report = dataclasses.replace(
        GO, findings=(*GO.findings, *skips, unknown), coverage=Coverage(GO.coverage.proven, claims)
    )
    page, wide = render(report), render(report, wide=True)
    assert f"7 more, skipped for reasons that -o wide gives: {', '.join(ids)}" in " ".join(page.split())
    assert "No node has EFA" not in page.partition("not proven")[2] and "KUB001" in page
    assert all(f"No node has EFA: {id}." in wide.partition("not proven")[2] for id in ids)


def test_an_interrupted_run_says_so() -> None:
    report = dataclasses.replace(REPORT, run=dataclasses.replace(REPORT.run, interrupted=True))
    assert "interrupted: this is what was known by then" in render(report)


_ANY = st.text(max_size=60)


@given(_ANY, _ANY, _ANY)
def test_foreign_text_can_not_drive_the_terminal(message: str, evidence: str, command: str) -> None:
    found = Finding(Status.FAIL, CLUSTER, message + "\x1b[2J\r\n", check="NET001")
    diagnosis = dataclasses.replace(
        DIAGNOSES[0], summary=message, evidence=(Evidence(evidence + "\x1b]0;x\x07", evidence, 1),), commands=(command,)
    )
    report = dataclasses.replace(
        _report((found,), (diagnosis,)), coverage=Coverage((Claim(message),), (Claim(evidence, command),))
    )
    assert all(line.isprintable() for line in render(report).split("\n"))
