"""What a job's command says to its ranks: `mpirun -x NCCL_DEBUG=INFO`, `export FI_PROVIDER=efa`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from gonogo.launch.kinds import Dict, containers, listed, mapping, mappings

READ_BY_LIBRARIES = ("NCCL_", "GLOO_", "FI_", "OFI_", "TORCH_", "OMP_", "TP_")
"""How names of variables begin that communication depends on; others in a shell's text may hold anything."""
_TOLD = re.compile(
    r"(?:^|[\s;&(])(?:-x|export)\s+([A-Z]\w*)"
    r"(?:=(?:\"([^\"$`\\]*)\"|'([^'\n]*)'|([^\s\"';&|$`\\]*))(?=[\s;&|)]|$))?(?![\w=])"
)
"""mpirun's flag, or a shell's word, with a name and perhaps a value in which nothing is left to expand."""
_COMMENT = re.compile(r"(?m)(?:^|\s)#.*$")


def launchers(item: Dict) -> list[Dict]:
    """The pod templates of a job that start ranks in other pods."""
    roles = mapping(mapping(item.get("spec")).get("mpiReplicaSpecs"))
    return [mapping(mapping(part).get("template")) for role, part in roles.items() if str(role).lower() == "launcher"]


def texts(template: Dict) -> Iterator[tuple[str, dict[str, str]]]:
    """Each container's command as one text, and its variables."""
    for container in containers(template):
        words = [*listed(container.get("command")), *listed(container.get("args"))]
        own = {str(e.get("name")): str(e["value"]) for e in mappings(container.get("env")) if "value" in e}
        yield _COMMENT.sub("", " ".join(map(str, words))), own


def with_told(item: Dict, spec: dict[str, Any]) -> dict[str, Any]:
    """A pod's spec whose containers have the variables to which their commands, or the launcher's, give one value."""
    told = dict(_told(launchers(item)))
    found = []
    for container in spec["containers"]:
        names = {e.get("name") for e in container.get("env") or []}
        own = told | dict(_told([{"spec": {"containers": [container]}}]))
        more = [{"name": name, "value": value} for name, value in own.items() if name not in names]
        found.append({**container, "env": [*(container.get("env") or []), *more]} if more else container)
    return {**spec, "containers": found}


def _told(templates: list[Dict]) -> Iterator[tuple[str, str]]:
    values: dict[str, set[str]] = {}
    for template in templates:
        for text, own in texts(template):
            for name, *quoted in _TOLD.findall(text):
                if name.startswith(READ_BY_LIBRARIES) and (value := "".join(quoted) or own.get(name)):
                    values.setdefault(name, set()).add(value)
    return ((name, min(all_of)) for name, all_of in values.items() if len(all_of) == 1)
