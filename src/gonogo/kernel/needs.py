"""Which steps a run takes: what the chosen checks require, and what can be parsed of that."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from graphlib import CycleError, TopologicalSorter

from gonogo.kernel.facts import Control
from gonogo.kernel.steps import Check, Registry, RegistryError, Step


def needed(registry: Registry, checks: Iterable[Check], given: Mapping[type, object]) -> list[Step]:
    """The chosen checks and every maker that they require, dependencies first."""
    graph: dict[Step, set[Step]] = {}
    todo = [c.step for c in checks]
    while todo:
        step = todo.pop()
        if step in graph:
            continue
        graph[step] = set()
        for parameter, fact in step.needs.items():
            if fact in given or fact is Control or parameter in step.optional:
                continue
            if fact not in registry.makers:
                raise RegistryError(f"{step.name} needs {fact.__name__}, which nothing makes")
            graph[step].add(registry.makers[fact])
        todo.extend(graph[step])
    for step in _at_hand(registry, graph, given):
        graph[step] = {registry.makers[fact] for fact in required(step) if fact in registry.makers} & graph.keys()
    try:
        return list(TopologicalSorter(graph).static_order())
    except CycleError as error:
        names = " -> ".join(step.name for step in error.args[1])
        raise RegistryError(f"these steps need each other: {names}") from None


def required(step: Step) -> list[type]:
    """The facts without which it can't be called."""
    return [fact for parameter, fact in step.needs.items() if parameter not in step.optional]


def _at_hand(registry: Registry, steps: Iterable[Step], given: Mapping[type, object]) -> list[Step]:
    """Parsers of what the run has anyway, for what its checks can use and causes ask for: they cost no I/O.

    In an order in which each comes after those that it needs. What parsers can use is left out: it could go in circles.
    """
    there = {fact for step in steps for fact in required(step)} | set(given)
    found: dict[Step, None] = {}

    def is_had(fact: type, above: frozenset[type] = frozenset()) -> bool:
        if fact in there:
            return True
        step = registry.makers.get(fact)
        if step is None or step.kind != "parser" or fact in above:
            return False
        if not all(is_had(need, above | {fact}) for need in required(step)):
            return False
        found[step] = None
        there.update(step.makes)
        return True

    checks = [step for step in steps if step.kind == "check"]
    for step in (*checks, *(cause.step for cause in registry.every_cause)):
        for fact in step.needs.values():
            is_had(fact)
    return list(found)
