"""Plans: what is right is read, what is wrong has a place and a word on how to go on."""

from __future__ import annotations

import io
import json
from pathlib import Path

import jsonschema
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from gonogo.errors import InputError
from gonogo.plan import Plan, load, parse, recorded, schema

FULL = b"""
apiVersion: gonogo/v1
kind: Plan
name: vision
nodes: {count: 8, instanceType: p5.48xlarge, selector: {pool: gpu}, gpus: 8, efa: 32}
image: registry.example/train:2.13
fabric: {kind: efa, mtu: 9001, interface: eth0}
job:
  kind: PyTorchJob
  backend: nccl
  ranksPerNode: 8
  rendezvousPort: 29400
  environment: {NCCL_DEBUG: INFO}
storage:
- {path: /data, claim: fsx-scratch, shared: true}
expect: {linkGbps: 350, allReduceBusbw: 440.5}
pod:
  tolerations: [{key: nvidia.com/gpu, operator: Exists}]
  resources: {limits: {nvidia.com/gpu: 8, memory: 1Ti}}
"""


def test_a_full_plan_is_read() -> None:
    plan = parse(FULL, "plan.yaml")
    assert plan.nodes.count == 8
    assert plan.job.environment == {"NCCL_DEBUG": "INFO"}
    assert plan.expect.link_gbps == 350
    assert plan.pod.resources["limits"]["nvidia.com/gpu"] == 8


@pytest.mark.parametrize("data", [b"", b"\n", b"# nothing yet\n", b"{}", b"apiVersion: gonogo/v1\nkind: Plan\n"])
def test_everything_is_optional(data: bytes) -> None:
    assert parse(data, "plan.yaml") == Plan()


WRONG = {
    b"nodes:\n  cuont: 4\n": 'p:2:3: unknown key "nodes.cuont". Did you mean "count"?',
    b"nodes: {instance_type: p5}": 'p:1:9: unknown key "nodes.instance_type". Did you mean "instanceType"?',
    b"storage:\n- path: /a\n  clam: x\n": 'p:3:3: unknown key "storage[0].clam". Did you mean "claim"?',
    b"zzz: 1": 'p:1:1: unknown key "zzz". Expected one of apiVersion, kind,',
    b"nodes: {count: '4'}": 'p:1:16: nodes.count: expected integer, found "4".',
    b"nodes: {count: 0}": "p:1:16: nodes.count: expected at least 1, found 0.",
    b'job: {environment: {A: "x\\0"}}': "p:1:24: job.environment.A: expected text without NUL",
    b'job: {environment: {"A=B": x}}': "job.environment.A=B: expected the name of a variable",
    b'job: {environment: {"": x}}': "job.environment.: expected the name of a variable",
    b'job: {environment: {"\\e[2J": x}}': "job.environment.\\x1b[2J: expected the name of a variable",
    b'nodes: {selector: {"\\e[2J": 1}}': "nodes.selector.\\x1b[2J: expected text, found 1.",
    b"nodes: [1]": "p:1:8: nodes: expected keys and values, found a list.",
    b"- a": "p:1:1: expected keys such as nodes and fabric, found a list.",
    b"job: {backend: ncl}": "p:1:16: job.backend: expected 'gloo' or 'nccl', found \"ncl\". Did you mean \"nccl\"?",
    b"job:\n  environment: {A: 1}": "p:2:20: job.environment.A: expected text, found 1. Put it in quotes.",
    b"storage:\n- claim: x\n": "p:2:3: storage[0].path is missing.",
    b"storage: [{path: fsx/data}]": "p:1:18: storage[0].path: expected an absolute path, such as /fsx, found",
    b"name: A": "p:1:7: name: expected at most 63 small letters",
    b"fabric: {interface: 'eth0; rm'}": "p:1:21: fabric.interface: expected the name of an interface",
    b"expect: {linkGbps: .nan}": "p:1:20: expect.linkGbps: expected number",
    b"pod: {resources: {limits: {x: []}}}": "p:1:31: pod.resources.limits.x: expected text, found a list.",
    b"apiVersion: gonogo/v2": "p:1:13: apiVersion: expected 'gonogo/v1', found \"gonogo/v2\".",
}


@pytest.mark.parametrize("data", WRONG)
def test_what_is_wrong_has_a_place(data: bytes) -> None:
    with pytest.raises(InputError) as error:
        parse(data, "p")
    assert WRONG[data] in str(error.value)
    assert "\n" not in str(error.value)


def test_all_that_is_wrong_is_told_a_line_each_in_order_up_to_ten() -> None:
    with pytest.raises(InputError) as error:
        parse(b"x: 1\nnodes: {count: 0}\nz: 3", "p")
    assert [line.partition(" ")[0] for line in str(error.value).splitlines()] == ["p:1:1:", "p:2:16:", "p:3:1:"]
    with pytest.raises(InputError) as error:
        parse("\n".join(f"x{n}: 1" for n in range(13)).encode(), "p")
    first, *_, last = str(error.value).splitlines()
    assert first.startswith("p:1:1: unknown") and last == "p: 3 more after these."
    assert len(str(error.value).splitlines()) == 11


def test_a_plan_comes_from_a_file_or_stdin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "plan.yaml").write_bytes(FULL)
    assert load(tmp_path / "plan.yaml").name == "vision"
    stdin = io.TextIOWrapper(io.BytesIO(b"nodes: {count: 0}"))
    monkeypatch.setattr("sys.stdin", stdin)
    with pytest.raises(InputError, match=r"^<stdin>:1:16: "):
        load(Path("-"))


def test_a_recorded_plan_is_the_same_plan() -> None:
    plan = parse(FULL, "p")
    assert recorded(json.loads(json.dumps(plan.model_dump(by_alias=True, exclude_defaults=True))), "b") == plan
    with pytest.raises(InputError, match=r"run\.json can't be read: nodes\.count"):
        recorded({"nodes": {"count": "many"}}, "b")


def test_the_schema_agrees_with_the_loader() -> None:
    validator = jsonschema.Draft202012Validator(schema())
    assert validator.is_valid(yaml.safe_load(FULL))
    for data in (b"nodes: {cuont: 4}", b"nodes: {count: 0}", b"job: {backend: ncl}", b"storage: [{claim: x}]"):
        assert not validator.is_valid(yaml.safe_load(data))


_WORDS = st.sampled_from(
    ["nodes", "count", "fabric", "kind", "job", "environment", "storage", "path", "pod", "resources", "x"]
)
_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_WORDS, inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(_WORDS, _VALUES, max_size=5))
def test_any_values_give_a_plan_or_a_line_for_each_mistake(value: dict[str, object]) -> None:
    try:
        assert isinstance(parse(yaml.safe_dump(value, allow_unicode=True).encode(errors="replace"), "p"), Plan)
    except InputError as error:
        lines = str(error).splitlines()
        assert lines and all(line.startswith("p:") and line.isprintable() for line in lines) and len(lines) <= 11


def test_a_jobs_manifest_is_told_from_a_plan_in_one_line() -> None:
    with pytest.raises(InputError) as error:
        parse(b"apiVersion: batch/v1\nkind: Job\nmetadata: {name: x}\nspec: {}\n", "p")
    assert str(error.value) == 'p:2:7: "Job" is no plan: a job\'s manifest goes to --like.'


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ([1], "expected keys and values, found a list."),
        (5, "expected keys and values, found 5."),
        ({"name": 5}, "name: expected text, found 5."),
        ({"bogus": 1}, "bogus: this key is not known."),
    ],
)
def test_what_no_plan_is_is_told_in_one_line(value: object, told: str) -> None:
    with pytest.raises(InputError) as error:
        recorded(value, "b")
    assert str(error.value) == f"b: the plan in run.json can't be read: {told}"
