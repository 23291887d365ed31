"""Which objects a selector, an affinity or a taint means, by Kubernetes' own rules."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

HARD = ("NoSchedule", "NoExecute")
_SET = re.compile(r"(?P<key>[^\s!=(),]+)\s+(?P<op>in|notin)\s*\((?P<values>[^()]*)\)")


@dataclass(frozen=True, slots=True)
class Taint:
    """What keeps pods off a node."""

    key: str
    value: str
    effect: str

    def __str__(self) -> str:
        return f"{self.key}={self.value}:{self.effect}" if self.value else f"{self.key}:{self.effect}"


def matches(expressions: Iterable[Mapping[str, Any]], labels: Mapping[str, str]) -> bool:
    """All of the expressions, `{key, operator, values}`, as in selectors and affinities."""
    return all(_holds(e, labels) for e in expressions)


def selects(selector: Mapping[str, Any] | None, labels: Mapping[str, str]) -> bool:
    """A `{matchLabels, matchExpressions}`; empty selects everything, absent nothing."""
    if selector is None:
        return False
    equal = selector.get("matchLabels") or {}
    return all(labels.get(k) == v for k, v in equal.items()) and matches(selector.get("matchExpressions") or [], labels)


def parse_selector(text: str) -> list[dict[str, Any]]:
    """kubectl's `-l`: `a=b,c!=d,e in (x,y),f,!g`, as expressions. Raises ValueError."""
    found: list[dict[str, Any]] = []
    rest = text.strip()
    while rest:
        if match := _SET.match(rest):
            values = [v.strip() for v in match["values"].split(",")]
            found.append(
                {"key": match["key"], "operator": {"in": "In", "notin": "NotIn"}[match["op"]], "values": values}
            )
            part, rest = match[0], rest[match.end() :]
        else:
            part, comma, rest = rest.partition(",")
            found.append(_simple(part.strip(), text))
            rest = comma + rest
        rest = rest.strip()
        if rest and not rest.startswith(","):
            raise ValueError(f"{text!r} is no label selector")
        rest = rest[1:].strip()
    return found


def affinity_admits(spec: Mapping[str, Any], labels: Mapping[str, str], name: str) -> bool:
    """Whether a pod spec's nodeSelector and required node affinity allow a node."""
    chosen = spec.get("nodeSelector") or {}
    if any(labels.get(k) != v for k, v in chosen.items()):
        return False
    node = ((spec.get("affinity") or {}).get("nodeAffinity") or {}).get(
        "requiredDuringSchedulingIgnoredDuringExecution"
    )
    if not node:
        return True
    return any(
        (term.get("matchExpressions") or term.get("matchFields"))
        and matches(term.get("matchExpressions") or [], labels)
        and matches(term.get("matchFields") or [], {"metadata.name": name})
        for term in node.get("nodeSelectorTerms") or []
    )


def tolerates(tolerations: Sequence[Mapping[str, Any]], taint: Taint) -> bool:
    """Whether one of the tolerations is for this taint."""
    return any(
        (not t.get("effect") or t["effect"] == taint.effect)
        and (
            (t.get("operator", "Equal") == "Exists" and t.get("key", "") in ("", taint.key))
            or (
                t.get("operator", "Equal") == "Equal"
                and t.get("key") == taint.key
                and t.get("value", "") == taint.value
            )
        )
        for t in tolerations
    )


def untolerated(tolerations: Sequence[Mapping[str, Any]], taints: Iterable[Taint]) -> list[Taint]:
    """The taints that keep a pod with these tolerations off."""
    return [t for t in taints if t.effect in HARD and not tolerates(tolerations, t)]


def _simple(part: str, text: str) -> dict[str, Any]:
    for sign, operator in (("!=", "NotIn"), ("==", "In"), ("=", "In")):
        key, found, value = part.partition(sign)
        if found and key.strip():
            return {"key": key.strip(), "operator": operator, "values": [value.strip()]}
    if not re.fullmatch(r"!?[\w./-]+", part):
        raise ValueError(f"{text!r} is no label selector")
    return {"key": part.lstrip("!"), "operator": "DoesNotExist" if part.startswith("!") else "Exists"}


def _holds(expression: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    key, values = str(expression.get("key", "")), [str(v) for v in expression.get("values") or []]
    have = labels.get(key)
    match expression.get("operator"):
        case "In":
            return have in values
        case "NotIn":
            return have not in values
        case "Exists":
            return have is not None
        case "DoesNotExist":
            return have is None
        case "Gt" | "Lt" as operator:
            try:
                return int(have or "") > int(values[0]) if operator == "Gt" else int(have or "") < int(values[0])
            except (ValueError, IndexError):
                return False
    return False
