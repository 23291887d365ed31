"""What every check and cause owes: an id, a page, a test, and a proof that it was seen to pass and to fail."""

import re
from importlib.metadata import EntryPoint
from pathlib import Path

import judged
import pytest

from gonogo import registry
from gonogo.kernel import PREFIXES, REGISTRY, page
from gonogo.model import AREAS, Status

KNOWN = registry.load()
OF_AGENTS = judged.of_agents(KNOWN)
TESTS = Path(__file__).parent.parent
SECTIONS = ("## Why it matters", "## Usual causes", "## Fix", "## Source")


def file_of(step):
    return Path(step.call.__code__.co_filename)


@pytest.mark.parametrize("id", KNOWN.checks)
def test_an_id_is_three_letters_of_its_area_and_three_digits(id):
    step = KNOWN.checks[id].step
    assert re.fullmatch(r"[A-Z]{3}\d{3}", id)
    assert file_of(step).parent.name == PREFIXES[id[:3]]
    assert file_of(step).name.startswith(f"{id.lower()}_")


@pytest.mark.parametrize("id", KNOWN.checks)
def test_a_check_has_a_whole_page(id):
    title, body = page(KNOWN.checks[id].step.call)
    assert title and len(title) < 100
    places = [body.find(section) for section in SECTIONS]
    assert places == sorted(places) and places[0] == 0, f"{id}: expected {', '.join(SECTIONS)}, in this order"
    parts = re.split("|".join(SECTIONS), body)[1:]
    assert all(part.strip() for part in parts), f"{id}: an empty section"
    assert re.search(r"https://\S+", parts[-1]), f"{id}: its source is no URL"


@pytest.mark.parametrize("id", KNOWN.causes)
def test_a_cause_has_a_page_and_lies_in_its_area(id):
    cause = KNOWN.causes[id]
    title, body = page(cause.step.call)
    assert cause.area in AREAS and file_of(cause.step).parent.name == cause.area
    assert title and "## Fix" in body
    assert all(general in KNOWN.causes for general in cause.refines)


def test_no_two_checks_share_a_title():
    titles = [check.title for check in KNOWN.checks.values()]
    assert len(titles) == len(set(titles))


def test_every_check_of_agents_has_a_test_file_and_every_test_file_a_check():
    checks = {f"{check.area}/test_{file_of(check.step).name}" for id, check in KNOWN.checks.items() if id in OF_AGENTS}
    tests = {
        f"{p.parent.name}/{p.name}"
        for p in (TESTS / "checks").glob("*/test_*.py")
        if re.search(r"_\w{3}0\d\d_", p.name)
    }
    assert checks == tests


def test_modules_of_checks_register_one_check_each():
    files = [file_of(check.step) for check in KNOWN.checks.values()]
    assert len(files) == len(set(files))


@pytest.mark.parametrize("id", OF_AGENTS)
def test_a_check_was_seen_well_on_a_recorded_bundle(id):
    harmless = [s for bundle in judged.HEALTHY for s in {f.status for f in judged.recorded(bundle).of(id)}]
    assert Status.OK in harmless or set(harmless) == {Status.SKIP}


@pytest.mark.parametrize("bundle", judged.HEALTHY)
def test_a_healthy_bundle_has_no_bad_finding_and_no_cause_fires(bundle):
    found = judged.recorded(bundle)
    assert [f for f in found.findings if f.status not in (Status.OK, Status.SKIP)] == []
    assert found.raw == ()


@pytest.mark.parametrize("bundle", judged.FAULTY)
def test_every_failed_finding_of_a_recorded_fault_is_explained(bundle):
    found = judged.recorded(bundle)
    explained = {key for d in found.diagnoses for key in d.explains}
    assert [f for f in found.findings if f.status is Status.FAIL and f.key not in explained] == []


@pytest.mark.parametrize("bundle", [*judged.HEALTHY, *judged.FAULTY])
def test_findings_are_sentences_and_cite_lines_that_exist(bundle):
    found = judged.recorded(bundle)
    for finding in found.findings:
        assert finding.message == finding.message.strip() and finding.message.endswith("."), finding
    cited = [e for f in found.findings for e in f.evidence] + [e for d in found.raw for e in d.evidence]
    for evidence in cited:
        if evidence.file:
            lines = (judged.BUNDLES / bundle / evidence.file).read_text().splitlines()
            assert 0 < evidence.line <= len(lines), evidence


@pytest.mark.parametrize("bundle", judged.FAULTY)
def test_what_a_diagnosis_explains_is_not_green(bundle):
    found = judged.recorded(bundle)
    bad = {f.key for f in found.findings if f.status in (Status.FAIL, Status.UNKNOWN, Status.WARN)}
    for d in found.raw:
        assert set(d.explains) <= bad and d.evidence and d.subjects and d.commands and d.summary.endswith("."), d


def test_causes_say_nothing_without_facts():
    """Absence of data is no evidence: with everything lost, findings of unknown and no diagnosis."""
    found = judged.judged("healthy", judged.without())
    assert found.raw == ()
    assert {f.status for f in found.findings} <= {Status.UNKNOWN, Status.SKIP}


def test_a_third_party_adds_a_check_by_an_entry_point(monkeypatch):
    module = "gonogo_third_party"
    loaded = []
    entry = EntryPoint(name="x", value=f"{module}:add", group="gonogo.checks")
    monkeypatch.setattr(EntryPoint, "load", lambda self: loaded.append(self.value))
    monkeypatch.setattr(registry, "entry_points", lambda group: [entry] if group == "gonogo.checks" else [])
    assert registry.load() is REGISTRY
    assert loaded == [f"{module}:add"]
