"""What people paste into a ticket, and what CI posts on a pull request."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token
from reports import DIAGNOSES, FINDINGS, GO, REPORT

from gonogo.model import CLUSTER, Claim, Coverage, Diagnosis, Evidence, Figure, Finding, Report, Status, Verdict, node
from gonogo.report.markdown import MOST_BYTES, code, plain, render
from gonogo.report.terminal import render as as_text
from gonogo.report.verdict import next_step, reason

READER = MarkdownIt("commonmark").enable(["table", "strikethrough"])
OURS = {"<details>", "<summary>", "</summary>", "</details>"}

PAGE = """\
## gonogo verify: NO-GO

**2 root causes explain 6 of 7 failed findings and the only undetermined one**

this machine, 3 nodes in network namespaces · plan vision · standard · run k7f3 · 42 s

### 1. `network.port_blocked` (established)

Port 29500 is dropped between all 3 nodes: 6 of 6 directions.

- `node1 → node0: no answer on port 29500 after 3 s, dropped` in `agents/node1.jsonl:57`
- explains NET001 ×6
- leads to `job.rank_died`: Rank 3 gave up.

```sh
nsenter --net=/proc/$(pgrep -f gonogo:node0)/ns/net nft list ruleset  # long as it is: one line
```

### 2. `train.diverged` (hypothesis)

Rank 3 computes wrong numbers.

- but: `its parameters agree`
- to be sure: Run gonogo verify --only train there.

### Not explained by a root cause

- **fail** `TRN002` `rank/3`: The loss of rank 3 is nan.
- **warn** `NOD004` `node/node2`: node2 has 64 MiB of /dev/shm.

### Measured

- all\\_reduce, 3 ranks: alpha 2.3 ms · busbw 1.25 GB/s at 64 MiB
- link: throughput 5.5 Gbit/s (1.5 to 9.5 over 2)
- train: loss inf

**Proven:** 1 of 3 nodes

<details><summary>Not proven: 2 items</summary>

- Training completes (TRN001): No rank trained.
- 12 checks: not asked for

</details>

"""


def test_the_page_of_a_no_go() -> None:
    page = render(REPORT)
    assert page.startswith(PAGE)
    assert page.removeprefix(PAGE).startswith("Next: mend 1, then: `gonogo verify -f 'my plan.yaml' --nodes 3 --only ")


def test_a_go_says_what_it_proves() -> None:
    page = render(GO)
    assert page.startswith("## gonogo verify: GO, this machine only\n\n**3 of 3 nodes, level standard, ")
    assert "**Proven:** 3 of 3 nodes · All ranks agree" in page and "Not proven" not in page


def test_diagnose_has_its_own_words() -> None:
    told = Coverage((Claim("9 files were read"), Claim("10:00 rank 3: died")), (Claim("collect next", "dmesg -T"),))
    page = render(dataclasses.replace(REPORT, verdict=Verdict.FAULT, coverage=told))
    assert page.startswith("## gonogo diagnose: fault\n\n**2 root causes for ")
    assert "Timeline: 1 first move" in page and "10:00 rank 3: died" in page and "- collect next: dmesg -T" in page
    assert "9 files" not in page.partition("Timeline")[2] and "Proven" not in page


HOSTILE = (
    "# heading", "- item", "1. item", "1) item", "> quote", "===", "---", "* * *", "```", "~~~", "    indented",
    "[text](https://evil.example)", "![image](https://evil.example/x.png)", "<script>alert(1)</script>", "<!--", "-->",
    "</details>", "&lt;b&gt;", "`a` `` b", "**bold** __bold__ *it* _it_ ~~gone~~", "a | b | c", "\\", "\\`", "`",
    "line one\nline two\n\n# line three", "\x1b[31mred\x07", "\u202eright to left", "[ref]: https://evil.example",
    "<https://evil.example>", "]]>", "| a |\n|---|\n| b |", "<a href='x'", "&#60;img src=x&#62;", "=", "+ plus",
    "``````",
)  # fmt: skip


def with_foreign(text: str) -> Report:
    """The text wherever something of a cluster, a log or a user can stand."""
    evidence = (Evidence(text, text, 3), Evidence(text))
    finding = Finding(Status.FAIL, node(text), text, text, text, text, evidence=evidence, check="NET001")
    other = Finding(Status.UNKNOWN, CLUSTER, text, check="TRN001")
    diagnosis = dataclasses.replace(
        DIAGNOSES[0], summary=text, evidence=evidence, contradicts=evidence, commands=(text, f"echo {text}"),
        next_observation=text, consequences=(dataclasses.replace(DIAGNOSES[1], summary=text),), explains=(),
    )  # fmt: skip
    return dataclasses.replace(
        REPORT,
        run=dataclasses.replace(REPORT.run, id=text),
        target=dataclasses.replace(REPORT.target, summary=text, name=text),
        plan={"name": text},
        coverage=Coverage((Claim(text),), (Claim(text, text, (text,)),)),
        findings=(finding, other),
        diagnoses=(diagnosis,),
        figures=(Figure(text or "x", 1.0, text, node(text), {"op": text}, check="LNK002"),),
    )


def shape(page: str) -> list[tuple[str, str]]:
    """What a reader of Markdown makes of it, but for the text in it."""
    plain_text = ("text", "text_special", "softbreak", "code_inline")  # an address of the web is code
    return [(t.type, t.tag) for t in flat(READER.parse(page)) if t.type not in plain_text]


def flat(tokens: list[Token]) -> Iterator[Token]:
    for token in tokens:
        yield token
        yield from flat(token.children or [])


def check_harmless(report: Report, like: Report) -> None:
    """The same structure as with a harmless word in the same places, and no HTML but ours."""
    page = render(report)
    tokens = list(flat(READER.parse(page)))
    assert shape(page) == shape(render(like))
    html = "".join(t.content for t in tokens if t.type in ("html_block", "html_inline"))
    for tag in OURS:
        html = html.replace(tag, "")
    assert "<" not in html
    assert not [t for t in tokens if t.type in ("link_open", "image", "table_open", "strong_open") and t.level > 2]


@pytest.mark.parametrize("verdict", [Verdict.NO_GO, Verdict.FAULT])
@pytest.mark.parametrize("text", HOSTILE)
def test_foreign_text_has_no_markup_of_its_own(text: str, verdict: Verdict) -> None:
    report, like = with_foreign(text), with_foreign("word")
    check_harmless(dataclasses.replace(report, verdict=verdict), dataclasses.replace(like, verdict=verdict))


@given(st.text("ab1 .#*_`~[]()<>!&\\|-+=:/@\n\t", min_size=1, max_size=30).filter(lambda t: t.strip()))
def test_no_text_at_all_has(text: str) -> None:
    check_harmless(with_foreign(text), with_foreign("word"))


@given(st.text("ab #*_`~[]()<>!&$\\|-+=@:/.", max_size=30))
def test_text_is_shown_as_it_is(text: str) -> None:
    """A reader sees the very characters, but for spaces around and those without width."""
    (paragraph,) = [t for t in READER.parse(f"x {plain(text)}") if t.type == "inline"]
    assert "".join(t.content for t in flat(paragraph.children)).replace("\u200b", "") == f"x {text.strip()}".rstrip()
    shown = [t.content for t in flat(READER.parse(code(text))) if t.type == "code_inline"]
    assert shown == ([text.strip()] if text.strip() else [])


@pytest.mark.parametrize(
    ("text", "shown"),
    [("@team look", "@&#8203;team"), ("see #12", "#&#8203;12"), ("GH-12", "GH-&#8203;12"),
     ("see https://evil.example/@x, or", "see `https://evil.example/@x`, or"),
     ("www.evil.example", "`www.evil.example`"), ("$x$ $$y$$", "\\$x\\$ \\$\\$y\\$\\$")],
)  # fmt: skip
def test_nobody_is_mentioned_and_nothing_is_linked(text: str, shown: str) -> None:
    assert shown in plain(text)


def test_a_command_is_whole_or_not_there() -> None:
    long = "x" * 5000
    page = render(dataclasses.replace(REPORT, diagnoses=(dataclasses.replace(DIAGNOSES[0], commands=("ls", long)),)))
    assert "\nls\n" in page and "xxxx" not in page and "And 1 command in the report as JSON." in page


def test_a_command_with_a_fence_in_it_stays_in_its_block() -> None:
    command = "echo '```' && echo '````'"
    page = render(dataclasses.replace(REPORT, diagnoses=(dataclasses.replace(DIAGNOSES[0], commands=(command,)),)))
    assert [t.content for t in READER.parse(page) if t.type == "fence"] == [f"{command}\n"]


@pytest.mark.parametrize("character", ["x", "`", "&", "é", "<"])
def test_it_fits_a_comment_whatever_there_is(character: str) -> None:
    text = character * 3000
    evidence = (Evidence(text, text, 1),) * 50
    diagnosis = Diagnosis(
        "network.port_blocked", DIAGNOSES[0].certainty, text, (CLUSTER,), evidence, contradicts=evidence,
        commands=(character * 1900,) * 50, next_observation=text, consequences=DIAGNOSES * 20,
    )  # fmt: skip
    findings = tuple(Finding(Status.FAIL, node(text), text, check=f"NET{n:03}") for n in range(500))
    claims = tuple(Claim(text, text, ("NET001",)) for _ in range(500))
    page = render(
        dataclasses.replace(
            REPORT, diagnoses=(diagnosis,) * 40, findings=findings, coverage=Coverage(claims, claims),
        )
    )  # fmt: skip
    assert len(page.encode()) <= MOST_BYTES
    assert page.count("<details>") == page.count("</details>") == 1 and "\nNext: " in page
    assert "And 3" in page  # it says how much more there is


def test_a_traceback_is_not_in_it() -> None:
    assert any(f.traceback == "secret" for f in FINDINGS)
    assert "secret" not in render(REPORT)


def test_documents_of_no_run_have_neither_a_run_nor_a_time() -> None:
    run = dataclasses.replace(REPORT.run, id="", started=0.0, ended=0.0)
    report = dataclasses.replace(REPORT, run=run)
    assert "plan vision · standard\n" in render(report)
    assert as_text(report).splitlines()[0].endswith("plan vision · standard")


def test_kinds_of_lines_are_counted_in_good_english() -> None:
    one = dataclasses.replace(REPORT, verdict=Verdict.FAULT, findings=FINDINGS[:1])
    assert reason(one) == "2 root causes for 1 kind of lines that reports a failure"
    assert reason(dataclasses.replace(one, findings=())) == "2 root causes"


def test_a_choice_of_checks_that_leaves_it_undecided_is_widened() -> None:
    run = dataclasses.replace(REPORT.run, flags=(("--nodes", "2"), ("--only", "storage")))
    report = dataclasses.replace(REPORT, verdict=Verdict.UNDECIDED, run=run, diagnoses=())
    assert next_step(report) == "gonogo verify --nodes 2"
    whole = dataclasses.replace(report, run=dataclasses.replace(run, flags=()))
    assert next_step(whole).startswith("gonogo explain ")
