"""The report as JUnit XML: one suite an area, one case a finding; what could not be determined is an error."""

from __future__ import annotations

import io
from itertools import groupby

from junitparser import Error, Failure, JUnitXml, Skipped, TestCase, TestSuite

from gonogo.model import PREFIXES, Diagnosis, Finding, Report, Status
from gonogo.report.text import clean


def render(report: Report) -> str:
    """XML with a declaration; every character in it is one that XML allows."""
    xml = JUnitXml("gonogo verify")
    by_area = sorted(report.findings, key=_area)
    for area, findings in groupby(by_area, key=_area):
        suite = TestSuite(f"gonogo.{area}")
        suite.add_property("verdict", report.verdict.value)
        suite.add_property("run", clean(report.run.id))
        for finding in findings:
            suite.add_testcase(_case(report, finding))
        xml.add_testsuite(suite)
    xml.update_statistics()  # type: ignore[no-untyped-call]
    seconds = {timing.step: timing.seconds for timing in report.timings}
    for suite in xml:
        suite.time = seconds.get(_STEPS.get(suite.name.removeprefix("gonogo."), ""), 0.0)
    xml.time = round(max(0.0, report.run.ended - report.run.started), 3)
    out = io.BytesIO()
    xml.write(out)
    return out.getvalue().decode()


_STEPS = {
    "node": "node", "network": "ports", "job": "join", "link": "links", "collective": "collectives",
    "storage": "storage", "train": "train",
}  # fmt: skip
"""Area -> the step that it is told from: a suite took as long as that; a single finding takes no time of its own."""


def _area(finding: Finding) -> str:
    return PREFIXES.get(finding.check[:3], "run")


def _case(report: Report, finding: Finding) -> TestCase:
    title = report.titles.get(finding.check, finding.check)
    case = TestCase(clean(f"{finding.check} {finding.subject}: {title}"), f"gonogo.{_area(finding)}")
    message = clean(finding.message)
    match finding.status:
        case Status.FAIL:
            case.result = [Failure(message, "fail")]
            case.result[0].text = _causes(report, finding)
        case Status.UNKNOWN:
            case.result = [Error(message, "unknown")]
            case.result[0].text = _causes(report, finding)
        case Status.SKIP:
            case.result = [Skipped(message)]
        case _:
            case.system_out = f"{finding.status}: {message}"
    return case


def _causes(report: Report, finding: Finding) -> str:
    """The message again, for readers that show only the text, and the root causes that explain it."""
    lines = [clean(finding.message)]
    for diagnosis in report.diagnoses:
        if _explains(diagnosis, finding):
            lines += [clean(f"{diagnosis.cause}: {diagnosis.summary}"), *map(clean, diagnosis.commands)]
    lines += [clean(f"{e.file}:{e.line} {e.text}" if e.file else e.text) for e in finding.evidence]
    return "\n".join(lines)


def _explains(diagnosis: Diagnosis, finding: Finding) -> bool:
    return finding.key in diagnosis.explains or any(_explains(c, finding) for c in diagnosis.consequences)
