"""The pages of checks, root causes and signatures: one text for `explain`, for docs/ and for reports."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from types import CodeType, FunctionType
from typing import Any, Literal

from gonogo.facts.signatures import Role, Signature, catalogue
from gonogo.kernel import Cause, Check, Registry, page

ROLES = {
    Role.INITIATING: "It says what went wrong.",
    Role.CASCADE: "Something went wrong before it, here or elsewhere.",
    Role.TEARDOWN: "A job ends with it, for whatever reason.",
    Role.HARMLESS: "It looks bad and isn't.",
    Role.CONTEXT: "It tells a plain fact about the run.",
}


@dataclass(frozen=True, slots=True)
class Page:
    """One page; `body` is Markdown with sections of the second level."""

    id: str
    kind: Literal["check", "cause", "signature"]
    area: str
    title: str
    body: str

    @property
    def markdown(self) -> str:
        """The page under its title."""
        return f"# {self.id}: {self.title}\n\n{self.body}\n"


def pages(registry: Registry) -> list[Page]:
    """All pages, checks first, by id."""
    return [_page(c, "check") for _, c in sorted(registry.checks.items())] + [
        _page(c, "cause") for _, c in sorted(registry.causes.items())
    ]


def signatures(registry: Registry) -> list[Page]:
    """Those of the lines that `diagnose` knows, by id, with the causes that look for them."""
    words = [(c.id, set(_words(c.step.call, set()))) for c in registry.every_cause]
    every = sorted(catalogue().signatures, key=lambda s: s.id)
    return [_of_signature(s, sorted({id for id, known in words if _is_among(s.id, known)})) for s in every]


def book(title: str, every: Sequence[Page]) -> str:
    """All pages in one Markdown text, with a table of contents."""
    contents = "".join(f"| [{p.id}](#{_anchor(p)}) | {p.area} | {p.title} |\n" for p in every)
    chapters = "\n".join(f"## {p.id}: {p.title}\n\n{p.body.replace('## ', '### ')}\n" for p in every)
    return (
        f"# {title}\n\nPrinted by `make docs` from the code.\n\n| id | area | |\n|---|---|---|\n{contents}\n{chapters}"
    )


def _page(step: Check | Cause, kind: Literal["check", "cause"]) -> Page:
    title, body = page(step.step.call)
    return Page(step.id, kind, step.area, title, body)


def _of_signature(signature: Signature, causes: Sequence[str]) -> Page:
    anchors = "".join(f"- `{a.decode()}`\n" for a in signature.anchors)
    users = "".join(f"- {id}\n" for id in causes) or "None by itself: it tells when, where or in what order.\n"
    body = (
        f"## Lines with\n{anchors}\n## Role\n{signature.role}: {ROLES[signature.role]}\n\n"
        f"## Root causes that look for it\n{users}\n## Source\n{signature.source}"
    )
    return Page(signature.id, "signature", signature.id.partition(".")[0], signature.meaning.rstrip("."), body)


def _is_among(id: str, words: set[str]) -> bool:
    return id in words or any(w.endswith(".*") and id.startswith(w[:-1]) for w in words)


def _words(call: Any, seen: set[object]) -> Iterator[str]:
    """All texts that a function, and what it calls of our causes and facts, is written with."""
    if call in seen or not isinstance(call, FunctionType):
        return
    seen.add(call)
    codes = [call.__code__]
    for code in codes:
        codes += [c for c in code.co_consts if isinstance(c, CodeType)]
        for value in (*code.co_consts, *(call.__globals__.get(name) for name in code.co_names)):
            if isinstance(value, FunctionType) and value.__module__.startswith(("gonogo.causes", "gonogo.facts")):
                yield from _words(value, seen)
            else:
                yield from _texts(value)


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, tuple | list | set | frozenset | dict):
        for item in value:
            yield from _texts(item)


def _anchor(page: Page) -> str:
    """As GitHub makes them from headings."""
    heading = f"{page.id}: {page.title}".lower()
    return "".join(c for c in heading if c.isalnum() or c in " -_").replace(" ", "-")
