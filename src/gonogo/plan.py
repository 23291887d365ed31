"""The plan: what the user says the cluster should be. Everything is optional; `Plan()` assumes nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel
from pydantic_core import ErrorDetails

from gonogo.documents import yamlfile
from gonogo.errors import InputError, did_you_mean, escaped, shown

_VARIABLE, _CONTENTS, _PATH = r"^[A-Za-z_][A-Za-z0-9_.-]*$", r"^[^\x00]*$", r"^/[^\x00]*$"
_INTERFACE, _NAME = r"^[A-Za-z0-9_.@-]{1,15}$", r"^([a-z0-9]([a-z0-9.-]{0,61}[a-z0-9])?)?$"
_WORDS = {
    _VARIABLE: "the name of a variable: letters, digits, _, . and -, no digit first",
    _CONTENTS: "text without NUL",
    _PATH: "an absolute path, such as /fsx",
    _INTERFACE: "the name of an interface, such as eth0",
    _NAME: "at most 63 small letters, digits, - and ., with a letter or digit first and last",
}
"""What each pattern means to people."""

Variable = Annotated[str, Field(pattern=_VARIABLE)]
"""The name of an environment variable, as Kubernetes and every shell take it."""
Contents = Annotated[str, Field(pattern=_CONTENTS)]
"""What an environment variable can hold."""


class _Part(BaseModel):
    """Names are snake_case here and camelCase in YAML; unknown ones are errors."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", alias_generator=to_camel, populate_by_name=True, use_attribute_docstrings=True
    )


class Nodes(_Part):
    """How many nodes there should be, and what each should have."""

    count: int | None = Field(None, ge=1, le=100_000)
    """Nodes that should take part; all that are found where it isn't given."""
    instance_type: str | None = None
    """EC2 instance type, such as p5.48xlarge."""
    selector: dict[str, str] = {}
    """Labels that choose the nodes."""
    gpus: int | None = Field(None, ge=0, le=72)
    """GPUs of one node."""
    efa: int | None = Field(None, ge=0, le=72)
    """EFA adapters of one node."""


class Fabric(_Part):
    """What connects the nodes."""

    kind: Literal["auto", "efa", "tcp"] = "auto"
    """What should carry the collectives' bytes."""
    mtu: int | None = Field(None, ge=576, le=65_535)
    """MTU of the nodes' interfaces, in bytes."""
    interface: str | None = Field(None, pattern=_INTERFACE)
    """The interface that ranks should use, such as eth0."""


class Job(_Part):
    """How training is started."""

    kind: Literal["Job", "JobSet", "PyTorchJob", "TrainJob", "MPIJob"] = "Job"
    """The kind of Kubernetes object that runs the user's training."""
    backend: Literal["gloo", "nccl"] = "gloo"
    """torch.distributed's backend."""
    ranks_per_node: int = Field(1, ge=1, le=128)
    """Training processes on one node."""
    rendezvous_port: int = Field(29500, ge=1, le=65_535)
    """Port of rank 0's store (MASTER_PORT)."""
    environment: dict[Variable, Contents] = {}
    """Variables of the training processes, such as NCCL_SOCKET_IFNAME."""


class Storage(_Part):
    """A file system that training reads or writes."""

    path: str = Field(pattern=_PATH)
    """Where it is mounted in the pods, or on this machine."""
    claim: str | None = None
    """Name of the PersistentVolumeClaim."""
    shared: bool = True
    """Whether all nodes should see the same files."""
    write_gbytes_per_second: float | None = Field(None, gt=0, lt=1e6)
    """What one node should write while all do, until it is durable, in GB/s."""


class Expect(_Part):
    """Numbers that the cluster should reach; they go before baselines and physics."""

    link_gbps: float | None = Field(None, gt=0, lt=1e6)
    """Throughput of a link between two nodes, in Gbit/s."""
    all_reduce_busbw: float | None = Field(None, gt=0, lt=1e6)
    """Bus bandwidth of a large all_reduce, in GB/s."""


class Pod(_Part):
    """What the pods need to be admitted and to start, as in the user's own pod template."""

    tolerations: list[dict[str, Any]] = []
    node_selector: dict[str, str] = {}
    volumes: list[dict[str, Any]] = []
    volume_mounts: list[dict[str, Any]] = []
    priority_class_name: str | None = None
    scheduler_name: str | None = None
    service_account_name: str | None = None
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    resources: dict[str, dict[str, str | int | float]] = {}


class Plan(_Part):
    """What the cluster should be."""

    api_version: Literal["gonogo/v1"] = "gonogo/v1"
    kind: Literal["Plan"] = "Plan"
    name: str = Field("", pattern=_NAME)
    """The cluster's name, for reports."""
    nodes: Nodes = Nodes()
    image: str | None = None
    """Container image of the training, with tag or digest."""
    fabric: Fabric = Fabric()
    job: Job = Job()
    storage: list[Storage] = []
    expect: Expect = Expect()
    pod: Pod = Pod()


_MOST_PROBLEMS = 10


def load(path: Path) -> Plan:
    """Read a plan from a file; `-` is standard input. Raises InputError with file:line:column."""
    return parse(yamlfile.read_file(path), yamlfile.name_of(path))


def parse(data: bytes, name: str) -> Plan:
    """A plan from the text of a file called `name`; an empty file is the empty plan.

    Raises InputError with a line for each problem, the first ones if there are many.
    """
    file = yamlfile.parse(data, name)
    value = {} if file.value is None else file.value
    if not isinstance(value, dict):
        raise file.error(file.values[()], f"expected keys such as nodes and fabric, found {_kind(value)}.")
    if value.get("kind", "Plan") != "Plan" and ("spec" in value or "metadata" in value):
        raise file.error(file.values["kind",], f"{_kind(value['kind'])} is no plan: a job's manifest goes to --like.")
    try:
        return Plan.model_validate(value, strict=True, by_alias=True, by_name=False)
    except ValidationError as error:
        problems = sorted((_problem(file, e) for e in error.errors(include_url=False)), key=lambda p: p[0])
        problems = list({place: (place, text) for place, text in reversed(problems)}.values())[::-1]  # one a place
        lines = [str(file.error(yamlfile.Mark(*place), text)) for place, text in problems[:_MOST_PROBLEMS]]
        if more := len(problems) - len(lines):
            lines.append(f"{name}: {more} more after these.")
        raise InputError("\n".join(lines)) from None


def recorded(value: object, name: str) -> Plan:
    """The plan that a bundle's run had. Raises InputError if this version can't read it."""
    try:
        return Plan.model_validate({} if value is None else value, by_alias=True, by_name=False)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = f"{_dotted(first['loc'])}: " if first["loc"] else ""
        told = "this key is not known" if first["type"] == "extra_forbidden" else _expectation(first)
        told += "" if first["type"] == "extra_forbidden" else f", found {_kind(first['input'])}"
        raise InputError(f"{name}: the plan in run.json can't be read: {where}{told}.") from None


def schema() -> dict[str, Any]:
    """JSON schema of a plan's YAML."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **Plan.model_json_schema(by_alias=True),
        "title": "gonogo plan",
    }


def _problem(file: yamlfile.YamlFile, error: ErrorDetails) -> tuple[tuple[int, int], str]:
    """Where it is and what is wrong with it."""
    path, found = error["loc"], error["input"]
    if error["type"] == "extra_forbidden":
        known = _keys_at(path[:-1])
        mark = file.keys[path]
        hint = did_you_mean(str(path[-1]), known) or f" Expected one of {', '.join(known)}."
        return (mark.line, mark.column), f"unknown key {shown(_dotted(path))}.{hint}"
    if error["type"] == "missing":
        mark = file.values[path[:-1]]
        return (mark.line, mark.column), f"{_dotted(path)} is missing."
    while path not in file.values:  # the branch of a union is part of the path and not of the file
        path = path[:-1]
    mark = file.values[path]
    return (mark.line, mark.column), f"{_dotted(path)}: {_expectation(error)}, found {_kind(found)}.{_hint(error)}"


def _dotted(path: tuple[str | int, ...]) -> str:
    return escaped("".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path).lstrip("."))


def _expectation(error: ErrorDetails) -> str:
    text = error["msg"].removeprefix("Input should be ").removeprefix("a valid ")
    text = text.replace("greater than or equal to", "at least").replace("less than or equal to", "at most")
    if error["type"] == "model_type":
        return "expected keys and values"
    if error["type"] == "string_pattern_mismatch":
        return f"expected {_WORDS[error['ctx']['pattern']]}"
    return "expected " + {"dictionary": "keys and values", "string": "text"}.get(text, text)


def _hint(error: ErrorDetails) -> str:
    found = error["input"]
    if error["type"] == "string_type" and isinstance(found, bool | int | float):
        return " Put it in quotes."
    if error["type"] == "literal_error" and isinstance(found, str):
        return did_you_mean(found, str(error["ctx"]["expected"]).replace("'", "").replace(" or ", ", ").split(", "))
    return ""


def _kind(value: object) -> str:
    match value:
        case None:
            return "nothing"
        case str():
            return shown(value)
        case dict():
            return "keys and values"
        case list():
            return "a list"
        case bool():
            return str(value).lower()
        case _:
            return str(value)


def _keys_at(path: tuple[str | int, ...]) -> list[str]:
    """The keys that the plan knows below a path."""
    model: type[BaseModel] = Plan
    for part in path:
        if isinstance(part, int):
            continue
        field = next(f for f in model.model_fields.values() if f.alias == part)
        model = next(t for t in (field.annotation, *get_args(field.annotation)) if _is_model(t))
    return [str(f.alias) for f in model.model_fields.values()]


def _is_model(hint: object) -> bool:
    return isinstance(hint, type) and issubclass(hint, BaseModel)
