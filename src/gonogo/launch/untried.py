"""What the job does and a run of gonogo doesn't, in words for `not proven`: wherever the run takes place."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from gonogo.facts.kube_quantity import ACCELERATORS, EFA, quantities
from gonogo.launch.like import Pattern
from gonogo.plan import Plan

_NCCL = re.compile(r"\bnccl\b|\bNCCL_", re.IGNORECASE)
_OWN_SHARE = "gonogo starts one rank on each node"


def untried(plan: Plan, pattern: Pattern | None = None, has_ranks: bool = False) -> tuple[str, ...]:
    """Whole sentences without their period; the plan's word goes before the job's.

    `has_ranks`: the run starts as many ranks a node as either says, or says itself how many it starts instead.
    """
    return (*(() if has_ranks else _ranks(plan, pattern)), *_backend(plan, pattern), *_template(pattern))


def _ranks(plan: Plan, pattern: Pattern | None) -> Iterator[str]:
    by_plan = "ranks_per_node" in plan.job.model_fields_set
    ranks = plan.job.ranks_per_node if by_plan or not pattern else pattern.ranks
    if ranks > 1:
        who = "the plan" if by_plan else "the job"
        yield f"{ranks} ranks a node, as {who} has them: {_OWN_SHARE}, so what ranks of one node share is untried"


def _backend(plan: Plan, pattern: Pattern | None) -> Iterator[str]:
    """NCCL where the job uses it and gloo ran; EFA where there is one."""
    limits = _limits(pattern)
    asked = [f"{limits[r]:g} {r} a pod" for r in ACCELERATORS if limits.get(r)]
    asked += [f"{plan.nodes.gpus} GPUs a node"] if plan.nodes.gpus and not asked else []
    told = {*plan.job.environment, *_environment(pattern)}
    says_nccl = any(name.startswith("NCCL_") for name in told) or bool(_NCCL.search(_command(pattern)))
    asked += ["NCCL in its command or variables"] if says_nccl else []
    if plan.job.backend == "gloo" and asked:
        yield f"NCCL, for which the job has {', '.join(asked)}: gonogo's ranks use gloo (plan: job.backend)"
    efa = bool(plan.nodes.efa or limits.get(EFA) or plan.fabric.kind == "efa")
    efa = efa or {**_environment(pattern), **plan.job.environment}.get("FI_PROVIDER") == "efa"
    if efa and plan.job.backend == "gloo":
        yield "EFA, which the job is to use: gloo speaks TCP, so no byte went over an EFA adapter"
    elif efa:
        yield "EFA, which the job is to use: no check sees whether NCCL's bytes went over it or over TCP"


def _template(pattern: Pattern | None) -> Iterator[str]:
    if pattern and pattern.remark:
        yield pattern.remark.rstrip(".")


def _container(pattern: Pattern | None) -> list[Mapping[str, Any]]:
    found = pattern.template["spec"].get("containers") or [] if pattern else []
    return [c for c in found if isinstance(c, Mapping)]


def _limits(pattern: Pattern | None) -> dict[str, float]:
    found: dict[str, float] = {}
    for container in _container(pattern):
        resources = container.get("resources")
        limits = resources.get("limits") if isinstance(resources, Mapping) else None
        found |= quantities(limits) if isinstance(limits, Mapping) else {}
    return found


def _environment(pattern: Pattern | None) -> dict[str, str]:
    entries = [e for c in _container(pattern) for e in c.get("env") or [] if isinstance(e, Mapping)]
    return {str(e["name"]): str(e.get("value", "")) for e in entries if "name" in e}


def _command(pattern: Pattern | None) -> str:
    return " ".join(str(word) for c in _container(pattern) for word in (*_words(c, "command"), *_words(c, "args")))


def _words(container: Mapping[str, Any], key: str) -> list[Any]:
    found = container.get(key)
    return found if isinstance(found, list) else []
