"""A pod template as the API server would take it: what a run reads of it has the right type, and null is absent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from gonogo.errors import shown

Words = dict[str, str | int | float | bool]
Amounts = dict[str, str | int | float]
Some = dict[str, Any]


class TemplateError(ValueError):
    """What is wrong, in one sentence that begins with the place; what was found, and under which keys."""

    def __init__(self, text: str, found: object = None, path: tuple[str | int, ...] = ("",)) -> None:
        super().__init__(text)
        self.found, self.path = found, path


class _Part(BaseModel):
    """Whatever else there is stays as it is: the API server knows it better."""

    model_config = ConfigDict(extra="allow", strict=True)


class _Variable(_Part):
    name: str
    value: str | int | float | bool | None = None


class _Mount(_Part):
    name: str
    mountPath: str  # noqa: N815 as the API writes it


class _Resources(_Part):
    limits: Amounts = Field(default_factory=dict)
    requests: Amounts = Field(default_factory=dict)


class _Container(_Part):
    name: str = ""
    image: str = ""
    command: list[str] = Field(default_factory=list)
    env: list[_Variable] = Field(default_factory=list)
    envFrom: list[Some] = Field(default_factory=list)  # noqa: N815
    resources: _Resources = Field(default_factory=_Resources)
    volumeMounts: list[_Mount] = Field(default_factory=list)  # noqa: N815
    securityContext: Some = Field(default_factory=dict)  # noqa: N815
    readinessProbe: Some = Field(default_factory=dict)  # noqa: N815
    startupProbe: Some = Field(default_factory=dict)  # noqa: N815


class _Claim(_Part):
    claimName: str  # noqa: N815


class _Volume(_Part):
    name: str
    persistentVolumeClaim: _Claim | None = None  # noqa: N815
    emptyDir: Some | None = None  # noqa: N815


class _PodSpec(_Part):
    containers: list[_Container] = Field(min_length=1)
    initContainers: list[_Container] = Field(default_factory=list)  # noqa: N815
    volumes: list[_Volume] = Field(default_factory=list)
    tolerations: list[Some] = Field(default_factory=list)
    nodeSelector: Words = Field(default_factory=dict)  # noqa: N815
    affinity: dict[str, Some] = Field(default_factory=dict)
    imagePullSecrets: list[Some] = Field(default_factory=list)  # noqa: N815
    securityContext: Some = Field(default_factory=dict)  # noqa: N815
    priorityClassName: str = ""  # noqa: N815
    schedulerName: str = ""  # noqa: N815
    serviceAccountName: str = ""  # noqa: N815
    runtimeClassName: str = ""  # noqa: N815
    hostNetwork: bool = False  # noqa: N815
    hostIPC: bool = False  # noqa: N815


class _Metadata(_Part):
    labels: Words = Field(default_factory=dict)
    annotations: Words = Field(default_factory=dict)


class _Template(_Part):
    metadata: _Metadata = Field(default_factory=_Metadata)
    spec: _PodSpec


def checked(template: Mapping[str, Any]) -> dict[str, Any]:
    """The same without nulls. Raises TemplateError."""
    whole: dict[str, Any] = without_nulls(template)
    try:
        _Template.model_validate(whole)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        path = tuple(p for p in first["loc"] if p not in _TYPES)
        place, missing = ".".join(map(str, path)), first["type"] == "missing"
        wish = "is missing" if missing else f"is {shown(str(first['input']))}; expected {_wish(first['type'])}"
        text = f"{place} of the pod template {wish}."
        raise TemplateError(text, first["input"], path[:-1] if missing else path) from None
    return whole


def _wish(kind: str) -> str:
    return next((text for key, text in WISHES.items() if kind.startswith(key)), "another type")


_TYPES = ("str", "int", "float", "bool", "[key]")
"""What pydantic adds to a place where several types are right."""
WISHES = {
    "string": "text",
    "list": "a list",
    "too_short": "at least one",
    "dict": "a mapping",
    "model": "a mapping",
    "bool": "true or false",
}
"""By how pydantic's names of mistakes begin."""


def without_nulls(value: Any) -> Any:
    """The same with no null in it, and with keys that are text."""
    if isinstance(value, Mapping):
        return {str(key): without_nulls(v) for key, v in value.items() if v is not None}
    return [without_nulls(v) for v in value if v is not None] if isinstance(value, list) else value
