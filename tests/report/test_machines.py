"""What programs read: JSON by its published schema, YAML, JUnit, names."""

from __future__ import annotations

import dataclasses
import json
import re
from xml.etree import ElementTree

import jsonschema
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from junitparser import JUnitXml
from reports import GO, REPORT

from gonogo.model import Evidence, Finding, Report, Status, Timing, node
from gonogo.report import json as as_json
from gonogo.report import junit, lists
from gonogo.report.schema import SCHEMA

VALIDATOR = jsonschema.Draft202012Validator(SCHEMA, format_checker=jsonschema.FormatChecker())


@pytest.mark.parametrize("report", [REPORT, GO])
def test_json_keeps_to_the_schema(report: Report) -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    VALIDATOR.validate(json.loads(as_json.render(report)))


PLACES: list[tuple[str | int, ...]] = [
    ("verdict",),
    ("run", "level"),
    ("findings", 0, "status"),
    ("findings", 0, "subject"),
    ("diagnoses", 0, "repair"),
]


@pytest.mark.parametrize("path", PLACES)
def test_the_schema_refuses_what_is_not_told_there(path: tuple[str | int, ...]) -> None:
    data = json.loads(as_json.render(REPORT))
    parent = data
    for part in path[:-1]:
        parent = parent[part]
    parent[path[-1]] = "else"
    assert not VALIDATOR.is_valid(data)


def test_every_field_of_the_model_is_in_the_schema() -> None:
    data = as_json.as_data(REPORT)
    assert set(data) == set(SCHEMA["properties"])
    for name in ("findings", "diagnoses", "figures"):
        definition = SCHEMA["$defs"][SCHEMA["properties"][name]["items"]["$ref"].rpartition("/")[2]]
        assert set(data[name][0]) == set(definition["properties"])


def test_values_are_what_scripts_expect() -> None:
    data = json.loads(as_json.render(REPORT))
    assert data["apiVersion"] == "gonogo/v1"
    assert data["run"]["started"].endswith("+00:00")
    assert data["findings"][4]["measured"] == "NaN"
    assert data["figures"][-1]["value"] == "Infinity"
    assert data["diagnoses"][0]["explains"][0] == {"check": "NET001", "subject": "link/node0->node1"}
    assert "secret" not in json.dumps(data)  # tracebacks stay in the bundle


def test_yaml_is_the_same_data() -> None:
    assert yaml.safe_load(lists.yaml_text(REPORT)) == json.loads(as_json.render(REPORT))


def test_names_are_causes_then_checks_that_are_not_well() -> None:
    assert lists.names(REPORT).split() == [
        "cause/network.port_blocked", "cause/train.diverged", "check/TRN001", "check/NOD004", "check/TRN002",
        "check/NET001",
    ]  # fmt: skip
    assert lists.names(GO) == ""


def test_junit_counts_fails_unknowns_and_skips() -> None:
    xml = JUnitXml.fromstring(junit.render(REPORT))
    assert (xml.tests, xml.failures, xml.errors, xml.skipped) == (11, 7, 1, 1)
    assert {suite.name for suite in xml} == {f"gonogo.{a}" for a in ("network", "train", "node", "collective")}
    cases = {case.name: case for suite in xml for case in suite}
    failed = cases["NET001 link/node0->node1: All nodes reach each other on the rendezvous port"]
    assert failed.result[0].message == "node0 does not reach node1 on port 29500."
    assert "network.port_blocked: Port 29500 is dropped" in failed.result[0].text
    assert "nft list ruleset" in failed.result[0].text


def test_junit_times_are_those_of_steps_and_none_is_made_up() -> None:
    timed = dataclasses.replace(REPORT, timings=(Timing("ports", 2.5), Timing("train", 7.0)))
    xml = JUnitXml.fromstring(junit.render(timed))
    assert {suite.name: suite.time for suite in xml if suite.time} == {"gonogo.network": 2.5, "gonogo.train": 7.0}
    assert {case.time for suite in xml for case in suite} == {None}


_INVALID = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@given(st.text(st.characters(codec=None), max_size=40))
def test_junit_is_xml_whatever_it_holds(text: str) -> None:
    finding = Finding(Status.FAIL, node(text), text, evidence=(Evidence(text, text, 1),), check="NET001")
    written = junit.render(dataclasses.replace(REPORT, findings=(finding,), titles={"NET001": text}))
    assert not _INVALID.search(written)
    ElementTree.fromstring(written)
    json.loads(as_json.render(dataclasses.replace(REPORT, findings=(finding,))))
