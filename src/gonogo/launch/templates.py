"""Where a job has several pod templates that differ, and a run can take only one: which, and what the others have."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from gonogo.launch.kinds import Dict, mapping, only_drives

_OWN = ("image", "env", "envFrom", "resources", "volumeMounts", "securityContext")
_MOST_NAMED = 3


def remark_on(item: Dict, taken: Dict) -> str:
    """`Of PyTorchJob llama the pod template of Worker is taken; that of Master differs in env and volumes.`, or ""."""
    found = list(_templates(mapping(item.get("spec")), ""))
    own = next((name for name, template in found if template == taken), "")
    others = [(name, parts) for name, t in found if name != own and (parts := _differing(taken, t))]
    if not own or not others:
        return ""
    what = f"{item.get('kind', 'job')} {mapping(item.get('metadata')).get('name') or ''}".strip()
    told = "; ".join(f"that of {name} differs in {', '.join(parts)}" for name, parts in others[:_MOST_NAMED])
    more = f"; and {len(others) - _MOST_NAMED} more differ" if len(others) > _MOST_NAMED else ""
    return f"Of {what} the pod template of {own} is taken; {told}{more}."


def _templates(value: object, name: str) -> Iterator[tuple[str, Dict]]:
    """Role or name -> pod template, for each below an object's spec, but for those whose pods hold no ranks."""
    if isinstance(value, list):
        for part in value:
            yield from _templates(part, str(mapping(part).get("name") or mapping(part).get("groupName") or name))
        return
    for key, part in mapping(value).items():
        is_template = str(key).lower().endswith("template") and "containers" in mapping(mapping(part).get("spec"))
        role = name if key == "template" else str(key).removesuffix("Template")
        if is_template and not only_drives(role):
            yield role, mapping(part)
        elif not is_template and isinstance(part, Mapping | list):
            yield from _templates(part, name if key in ("template", "spec", "workerGroupSpecs") else str(key))


def _differing(taken: Dict, other: Dict) -> list[str]:
    """The fields by which the other's pods differ, but for what a run replaces."""
    ours, theirs = mapping(taken.get("spec")), mapping(other.get("spec"))
    mine, yours = _first(ours), _first(theirs)
    found = [key for key in _OWN if mine.get(key) != yours.get(key)]
    skipped = ("containers", "initContainers", "restartPolicy", "hostname", "subdomain")
    return found + sorted(key for key in {*ours, *theirs} if key not in skipped and ours.get(key) != theirs.get(key))


def _first(spec: Dict) -> Dict:
    containers = spec.get("containers")
    return mapping(containers[0]) if isinstance(containers, list) and containers else {}
