"""Why a file can't be the job that a run is to be like: one line with the place, and what to do about it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from gonogo.documents.yamlfile import LOADER
from gonogo.errors import InputError, did_you_mean, escaped, shown
from gonogo.launch.kinds import COUNTS, KINDS, Dict, mapping
from gonogo.launch.podtemplate import TemplateError, without_nulls

PLACEHOLDER = re.compile(r"\$\{?[A-Za-z_]\w*\}?|\{\{.*?\}\}|\{%.*?%\}|<[A-Za-z_][\w -]*>")
"""What a shell, Helm, Jinja or a reader was to fill in: ${NUM_NODES}, {{ .Values.image }}, <your image>."""
IMAGE = re.compile(
    r"(?:[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*(?::[0-9]+)?/)?"
    r"[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*(?:/[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*)*"
    r"(?::[\w][\w.-]{0,127})?(?:@[A-Za-z][\w.+-]*:[0-9a-fA-F]{32,})?"
)
"""https://github.com/distribution/reference: a registry, names in small letters, a tag, a digest."""
Place = tuple[int, int]
"""Line and column, counted from 1; 0 where they aren't known."""
_EXPANDED = frozenset(("command", "args", "env"))
"""Below these keys a shell in the pod may well fill in what is left to fill in."""
_TEMPLATE = re.compile(r"\{\{.*?(?:\}\}|$)|\{%.*?(?:%\}|$)|%\{.*?(?:\}|$)")
_RENDERS = {b"{%": "Jinja", b"%{": "Terraform", b"": "`helm template`"}
_WHOLE_LINE = re.compile(r"\s*\$\{?\w+\}?\s*")
_NEAR = 5
"""Lines between a template's part and where YAML breaks for it."""
_SCRIPT = re.compile(rb"\A\s*#!|^#SBATCH\s", re.MULTILINE)

HINTS = {
    "ClusterConfig": "the ClusterConfig is eksctl's description of a cluster, and no job",
    "Plan": "a plan is given with -f, and a job with --like",
    "CustomResourceDefinition": "the CustomResourceDefinition is of a kind; give a job of that kind",
}


def unreadable(error: Exception, data: bytes, path: Path) -> InputError:
    """Of a file that isn't YAML."""
    if _SCRIPT.search(data):
        return _script(data, path)
    mark = getattr(error, "problem_mark", None)
    lines = data.decode("utf-8", "replace").splitlines()[: mark.line + 1] if mark else []
    for number in range(len(lines), max(0, len(lines) - _NEAR), -1):
        if tag := _TEMPLATE.search(lines[number - 1]):
            who = next(tool for sign, tool in _RENDERS.items() if sign in data)
            told = f"is a template's, and no YAML yet: give what {who} makes of the file"
            return InputError(f"{path}:{number}:{tag.start() + 1}: {shown(tag[0])} {told}.")
    where = f":{mark.line + 1}:{mark.column + 1}" if mark else ""
    problem = str(getattr(error, "problem", None) or error).partition("\n")[0]
    return InputError(f"{path}{where}: not YAML: {problem}.{_odd(lines[-_NEAR:], path)}")


def _odd(lines: Sequence[str], path: Path) -> str:
    """What to do about the last of these lines, where YAML breaks, if that shows."""
    line = next(filter(_WHOLE_LINE.fullmatch, reversed(lines)), lines[-1] if lines else "")
    if name := PLACEHOLDER.search(line):
        return f" {shown(name[0])} still has to be filled in{_fill(name[0], path)}."
    return " YAML indents with spaces, and here is a tab." if line.lstrip(" ").startswith("\t") else ""


def _fill(name: str, path: Path) -> str:
    if name.startswith("$"):
        return ", such as by `envsubst`" if str(path) == "<stdin>" else f", such as by `envsubst < {path}`"
    return ", as by `helm template`" if name.startswith("{") else ""


def _script(data: bytes, path: Path) -> InputError:
    kind = "a script for Slurm" if b"#SBATCH" in data else "a script"
    return InputError(f"{path}: is {kind}; expected a Kubernetes manifest, with apiVersion and kind.")


def no_job(items: Sequence[Dict], data: bytes, path: Path) -> InputError:
    """Of a file in which no object makes the pods of a training."""
    kinds = list(dict.fromkeys(str(i["kind"]) for i in items if i.get("kind")))
    if path.name == "kustomization.yaml" or "Kustomization" in kinds:
        return InputError(f"{path}: is Kustomize's: give what `kubectl kustomize {path.parent}` prints.")
    if not kinds and path.name in ("values.yaml", "Chart.yaml"):
        return InputError(f"{path}: is part of a Helm chart: give what `helm template {path.parent}` prints.")
    if not kinds:
        if _SCRIPT.search(data):
            return _script(data, path)
        return InputError(f"{path}: holds no Kubernetes object; expected a manifest with apiVersion and kind.")
    kind, hint = next(((str(i["kind"]), hint) for i in items if (hint := _of_known(i))), (kinds[0], ""))
    if not hint and len(kinds) == 1:
        hint = HINTS.get(kind, "")
    if not hint:
        told = escaped(", ".join(kinds))
        hint = f"holds {told}, of which no pods are known; expected one of {', '.join(KINDS)}"
    near = did_you_mean(kind, KINDS, cutoff=0.85) if kind not in KINDS else ""
    return InputError(f"{path}{_at(place_of(data, kind, ('kind',)))}: {hint}.{near}")


def _of_known(item: Dict) -> str:
    """What a job lacks whose kind is known."""
    kind, spec = str(item.get("kind")), mapping(item.get("spec"))
    if kind == "TrainJob":
        ref = mapping(spec.get("runtimeRef"))
        runtime, name = str(ref.get("kind") or "ClusterTrainingRuntime"), str(ref.get("name") or "NAME")
        get = f"kubectl get {runtime.lower()} {name} -o yaml"
        return f"the TrainJob takes its pods from its runtime: add that {runtime} to the file, as `{get}` prints it"
    if kind == "RayJob" and spec.get("clusterSelector"):
        return "the RayJob runs on a RayCluster that is there: give that RayCluster's manifest"
    return f"the {kind} has no pod template with containers" if kind in KINDS else ""


def refuse_unfilled(namespace: str, template: Dict, items: Sequence[Dict], data: bytes, path: Path) -> None:
    """Refuse what was left for a shell or a reader to fill in, where it decides how the pods run."""
    left = {value for value in _deciding(namespace, template, items) if PLACEHOLDER.search(value)}
    if left:
        place, value = min((place_of(data, value), value) for value in left)
        fill = _fill(PLACEHOLDER.findall(value)[0], path)
        raise InputError(f"{path}{_at(place)}: {shown(value)} still has to be filled in{fill}.")
    for container in template["spec"]["containers"]:
        if not IMAGE.fullmatch(image := container.get("image", "a")):
            where = _at(place_of(data, image, ("image",)))
            raise InputError(f"{path}{where}: {shown(image)} can't be an image's name.")


def _deciding(namespace: str, template: Dict, items: Sequence[Dict]) -> Iterator[str]:
    """All texts that are no command, argument or environment, which a shell in the pod may well expand."""
    spec = template["spec"]
    containers = [
        {key: value for key, value in c.items() if key in ("image", "resources", "volumeMounts")}
        for c in spec["containers"]
    ]
    others = {key: value for key, value in spec.items() if key not in ("containers", "initContainers")}
    stack: list[Any] = [namespace, others, containers, [_counts(item) for item in items]]
    while stack:
        value = stack.pop()
        if isinstance(value, str):
            yield value
        elif isinstance(value, Mapping):
            stack += [*value.values()]
        elif isinstance(value, list):
            stack += value


def _counts(item: Dict) -> list[Any]:
    """All that says how many there are, anywhere in an object."""
    found, stack = [], [item.get("spec")]
    while stack:
        value = stack.pop()
        if isinstance(value, Mapping):
            found += [v for k, v in value.items() if k in COUNTS]
            stack += [v for k, v in value.items() if k != "template" or "spec" in mapping(v)]
        elif isinstance(value, list):
            stack += value
    return found


def place_of(data: bytes, value: object, path: tuple[str | int, ...] = ()) -> Place:
    """Where the first such value stands below keys that end so; without keys: the first such text that decides."""
    loader = LOADER(b"")
    for node, at in _nodes(data):
        if path and at[len(at) - len(path) :] != path:
            continue
        if not path and (_EXPANDED.intersection(at) or not isinstance(node, yaml.ScalarNode)):
            continue
        if without_nulls(loader.construct_document(node)) == value:
            assert node.start_mark is not None  # what is read from text has a place
            return node.start_mark.line + 1, node.start_mark.column + 1
    return 0, 0


def _nodes(data: bytes) -> Iterator[tuple[yaml.Node, tuple[str | int, ...]]]:
    """All values of a YAML text with their keys, in its order."""
    stack: list[tuple[yaml.Node, tuple[str | int, ...]]] = []
    stack += [(node, ()) for node in yaml.compose_all(data, LOADER)][::-1]
    while stack:
        node, at = stack.pop()
        yield node, at
        if isinstance(node, yaml.MappingNode):
            stack += [(v, (*at, str(k.value))) for k, v in node.value][::-1]
        elif isinstance(node, yaml.SequenceNode):
            stack += [(v, (*at, n)) for n, v in enumerate(node.value)][::-1]


def _at(place: Place) -> str:
    return f":{place[0]}:{place[1]}" if place[0] else ""


def of_template(error: TemplateError, data: bytes, path: Path) -> InputError:
    """Of a pod template that the API server would not take."""
    return InputError(f"{path}{_at(place_of(data, error.found, error.path))}: {error}")
