"""The JSON schema of a report: what scripts can rely on. Published as docs/report.schema.json."""

from __future__ import annotations

from typing import Any

from gonogo.model import LEVELS, Certainty, Repair, Status, Verdict
from gonogo.report.json import API_VERSION, KIND

Schema = dict[str, Any]

_TEXT: Schema = {"type": "string"}
_TEXTS: Schema = {"type": "array", "items": _TEXT}
_SECONDS: Schema = {"type": "number", "minimum": 0}
_TIME: Schema = {"type": "string", "format": "date-time"}
_VALUE: Schema = {"type": ["string", "number", "boolean", "null"]}
_NUMBER: Schema = {"anyOf": [{"type": "number"}, {"enum": ["NaN", "Infinity", "-Infinity"]}]}
_SUBJECT: Schema = {
    "type": "string",
    "pattern": r"^(cluster|(node|gpu|link|rank|pod|aws|object|file)/.*)$",
    "description": "cluster, or kind/name; a link is link/from->to",
}


def _object(**properties: Schema) -> Schema:
    """All properties are always there, and no others are."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _array(items: Schema) -> Schema:
    return {"type": "array", "items": items}


def _enum(values: Any) -> Schema:
    return {"enum": [str(value) for value in values]}


def _ref(name: str) -> Schema:
    return {"$ref": f"#/$defs/{name}"}


_DEFINITIONS: Schema = {
    "evidence": _object(
        text=_TEXT,
        file={"type": "string", "description": "path inside the bundle, or empty"},
        line={"type": "integer", "minimum": 0, "description": "counted from 1; 0 is the whole file"},
    ),
    "finding": _object(
        status=_enum(Status),
        subject=_SUBJECT,
        message=_TEXT,
        measured=_VALUE,
        expected=_VALUE,
        unit=_TEXT,
        threshold_source={"type": "string", "description": "where the expectation came from"},
        evidence=_array(_ref("evidence")),
        check={"type": "string", "description": "id of the check, such as LNK001"},
    ),
    "key": _object(check=_TEXT, subject=_SUBJECT),
    "diagnosis": _object(
        cause={"type": "string", "pattern": r"^[a-z0-9_]+\.[a-z0-9_]+$"},
        certainty=_enum(Certainty),
        summary=_TEXT,
        subjects=_array(_SUBJECT),
        evidence=_array(_ref("evidence")),
        explains=_array(_ref("key")),
        contradicts=_array(_ref("evidence")),
        repair=_enum(Repair),
        commands=_TEXTS,
        next_observation=_TEXT,
        consequences=_array(_ref("diagnosis")),
    ),
    "figure": _object(
        name=_TEXT,
        value=_NUMBER,
        unit=_TEXT,
        subject=_SUBJECT,
        at={"type": "object", "additionalProperties": _VALUE, "description": "coordinates, such as op and bytes"},
        check=_TEXT,
    ),
    "claim": _object(text=_TEXT, reason=_TEXT, checks=_TEXTS),
}

SCHEMA: Schema = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "gonogo report",
    **_object(
        apiVersion={"const": API_VERSION},
        kind={"const": KIND},
        verdict=_enum(Verdict),
        run=_object(
            id=_TEXT,
            version=_TEXT,
            level=_enum(LEVELS),
            started=_TIME,
            ended=_TIME,
            bound_seconds={**_SECONDS, "description": "the upper bound that was stated before the start"},
            interrupted={"type": "boolean"},
            agent_sha256=_TEXT,
            flags={
                "type": ["array", "null"],
                "items": {"type": "array", "items": _TEXT, "minItems": 2, "maxItems": 2},
                "description": "flags that chose target, plan, level and checks, each with its value or an empty text; "
                "null where the run did not keep them",
            },
            timed_out={"type": "boolean", "description": "whether --timeout ended it before it was through"},
            uncut_seconds={**_SECONDS, "description": "the upper bound without --timeout"},
            bound_dollars={
                "type": "number",
                "minimum": 0,
                "description": "what the nodes cost for bound_seconds by list price; 0: nothing, or not known",
            },
        ),
        target=_object(
            kind={"enum": ["local", "kubernetes", "files"]},
            name=_TEXT,
            summary=_TEXT,
            cannot_prove=_TEXTS,
            untouched=_TEXTS,
            untried=_TEXTS,
        ),
        plan={"type": "object", "description": "what the plan says beyond defaults"},
        coverage=_object(proven=_array(_ref("claim")), not_proven=_array(_ref("claim"))),
        findings=_array(_ref("finding")),
        diagnoses=_array(_ref("diagnosis")),
        figures=_array(_ref("figure")),
        timings=_array(_object(step=_TEXT, seconds=_SECONDS)),
        titles={"type": "object", "additionalProperties": _TEXT, "description": "titles of checks and causes by id"},
    ),
    "$defs": _DEFINITIONS,
}
"""Draft 2020-12."""
