"""Steps, read off the signatures of plain functions, and the registry of them."""

from __future__ import annotations

import inspect
import sys
import types
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar

from gonogo.kernel.facts import Lost
from gonogo.model import AREAS, PREFIXES

Kind = Literal["collector", "parser", "check", "cause"]
F = TypeVar("F", bound=Callable[..., Any])


class RegistryError(Exception):
    """The steps do not fit together: a programmer's error, found at start-up."""


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """A function of facts, with what it needs and makes read off its signature."""

    kind: Kind
    name: str
    call: Callable[..., Any]
    needs: Mapping[str, type]
    optional: frozenset[str]
    makes: tuple[type, ...]

    @classmethod
    def of(cls, kind: Kind, name: str, call: Callable[..., Any]) -> Step:
        hints = inspect.get_annotations(call, eval_str=True)
        try:
            made: Any = hints.pop("return")
            unknown = set(inspect.signature(call).parameters) - set(hints)
        except KeyError:
            raise RegistryError(f"{name}: no return annotation") from None
        if unknown:
            raise RegistryError(f"{name}: no annotation for {', '.join(sorted(unknown))}")
        needs, optional = {}, set()
        for parameter, hint in hints.items():
            alternatives = [a for a in _alternatives(hint) if a is not types.NoneType]
            if len(alternatives) != 1:
                raise RegistryError(f"{name}: {parameter} must be one type, or one type and None")
            needs[parameter] = alternatives[0]
            if types.NoneType in _alternatives(hint):
                optional.add(parameter)
        if typing.get_origin(made) is not None and issubclass(typing.get_origin(made), Iterator):
            (made,) = typing.get_args(made)
        return cls(kind, name, call, needs, frozenset(optional), tuple(t for t in _alternatives(made) if t is not Lost))


def _alternatives(hint: Any) -> tuple[type, ...]:
    union = isinstance(hint, types.UnionType) or typing.get_origin(hint) is typing.Union
    return typing.get_args(hint) if union else (hint,)


@dataclass(frozen=True, slots=True, eq=False)
class Check:
    """A check with its stable id; its page is the docstring of its module."""

    id: str
    step: Step

    @property
    def area(self) -> str:
        """The area that the id's prefix stands for."""
        return PREFIXES[self.id[:3]]

    @property
    def title(self) -> str:
        """The page's first line, without its period."""
        return page(self.step.call)[0]


@dataclass(frozen=True, slots=True, eq=False)
class Cause:
    """A cause with its dotted id; `refines` names the general causes that give way to it."""

    id: str
    step: Step
    refines: tuple[str, ...] = ()

    @property
    def area(self) -> str:
        """The part before the dot."""
        return self.id.partition(".")[0]

    @property
    def title(self) -> str:
        """The page's first line, without its period."""
        return page(self.step.call)[0]


def page(call: Callable[..., Any]) -> tuple[str, str]:
    """Title and Markdown body of a check or cause: the docstring of the module it is in."""
    module = sys.modules[call.__module__]
    title, _, body = (module.__doc__ or _docstring(module)).partition("\n")
    return title.strip().rstrip("."), body.strip()


def _docstring(module: types.ModuleType) -> str:
    """As it stands in the source, which has it where `python -OO` dropped it; "" without a source."""
    import ast

    try:
        return ast.get_docstring(ast.parse(inspect.getsource(module))) or ""
    except (OSError, TypeError):
        return ""


@dataclass(slots=True)
class Registry:
    """The steps that a run can draw on."""

    checks: dict[str, Check] = field(default_factory=dict)
    causes: dict[str, Cause] = field(default_factory=dict)
    makers: dict[type, Step] = field(default_factory=dict)  # collectors and parsers
    also: list[Cause] = field(default_factory=list)  # the same causes, told by other facts

    @property
    def every_cause(self) -> tuple[Cause, ...]:
        """All causes, each as often as facts of another kind tell it."""
        return tuple(dict.fromkeys((*self.causes.values(), *self.also)))

    def check(self, id: str) -> Callable[[F], F]:
        """Register a check."""

        def register(call: F) -> F:
            if id in self.checks:
                raise RegistryError(f"check {id} is registered twice")
            if len(id) != 6 or id[:3] not in PREFIXES or not id[3:].isdigit():
                raise RegistryError(f"check {id}: an id is one of {' '.join(PREFIXES)} and three digits")
            self.checks[id] = Check(id, Step.of("check", id, call))
            return call

        return register

    def cause(self, id: str, *, refines: Iterable[str] = (), also: bool = False) -> Callable[[F], F]:
        """Register a cause; with `also`, the same cause as told by other facts, such as logs instead of agents."""

        def register(call: F) -> F:
            stands_in = self.causes.get(id) in self.also  # until the cause itself is loaded
            if (id in self.causes and not also and not stands_in) or any(
                c.id == id and c.step.call is call for c in self.also
            ):
                raise RegistryError(f"cause {id} is registered twice")
            if id.partition(".")[0] not in AREAS or "." not in id:
                raise RegistryError(f"cause {id}: an id is area.name")
            made = Cause(id, Step.of("cause", id, call), tuple(refines))
            if also:
                self.also.append(made)
            else:
                self.causes[id] = made
            return call

        return register

    def collector(self, call: F) -> F:
        """Register a function that does I/O; it runs in a thread."""
        return self._maker("collector", call)

    def parser(self, call: F) -> F:
        """Register a pure function of facts or documents."""
        return self._maker("parser", call)

    def _maker(self, kind: Kind, call: F) -> F:
        step = Step.of(kind, call.__name__, call)
        for fact in step.makes:
            if fact in self.makers:
                raise RegistryError(f"{fact.__name__} is made by {self.makers[fact].name} and by {step.name}")
            self.makers[fact] = step
        return call

    def with_collectors(self, *calls: Callable[..., Any]) -> Registry:
        """A copy with the collectors of one target."""
        copy = Registry(dict(self.checks), dict(self.causes), dict(self.makers), list(self.also))
        for call in calls:
            copy.collector(call)
        return copy


REGISTRY = Registry()
"""What the product's own modules and plug-ins register with."""
check, cause, parser = REGISTRY.check, REGISTRY.cause, REGISTRY.parser
