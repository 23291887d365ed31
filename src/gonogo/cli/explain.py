"""`gonogo explain`."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from gonogo.cli.exits import Exit
from gonogo.cli.screen import Screen, out
from gonogo.errors import InputError, did_you_mean, shown
from gonogo.model import PREFIXES

if TYPE_CHECKING:
    from gonogo import pages


def explain(
    id: Annotated[
        str | None,
        Parameter(help="A check such as LNK001, a root cause, a signature, an area, or a line of a log in quotes."),
    ] = None,
    /,
    *,
    list_: Annotated[bool, Parameter("--list", help="List all checks, root causes and signatures.")] = False,
    schema: Annotated[
        Literal["plan", "report"] | None, Parameter("--schema", help="Print the JSON schema of a plan or a report.")
    ] = None,
    output: Annotated[
        Literal["table", "json", "name"], Parameter(["--output", "-o"], help="How the list is printed.")
    ] = "table",
) -> int:
    """Print the page of a check, a root cause or a signature."""
    from gonogo import pages, registry

    if sum((id is not None, list_, schema is not None)) != 1:
        raise InputError("explain: expected one of an id, --list and --schema. See: gonogo explain --help")
    if schema:
        out(json.dumps(_schema(schema), indent=2) + "\n")
        return Exit.GO
    if id and (page := next((p for p in pages.pages(registry.load_of(id)) if p.id == id), None)):
        _show(page.markdown)
        return Exit.GO
    known = registry.load()
    every = pages.pages(known) + pages.signatures(known)
    if list_:
        return _list(every, output)
    assert id is not None
    if page := next((p for p in every if id.lower() in (p.id.lower(), f"{p.kind}/{p.id}".lower())), None):
        _show(page.markdown)
        return Exit.GO
    area = PREFIXES.get(id.upper(), id.lower())
    if of_area := [page for page in every if page.area == area]:
        return _list(of_area, output)
    if said := _said_by(id, every):
        _show("\n".join(page.markdown for page in said))
        return Exit.GO
    hint = did_you_mean(id, [*(p.id for p in every), *(p.area for p in every)])
    raise InputError(
        f"explain: no check, root cause, signature or area is called {shown(id)}.{hint} See: gonogo explain --list"
    )


def _said_by(line: str, every: list[pages.Page]) -> list[pages.Page]:
    """The pages of the signatures that a log's line has."""
    from gonogo.facts.signatures import matching

    known = {page.id: page for page in every if page.kind == "signature"}
    return [known[id] for id in matching(line)]


def _schema(name: str) -> dict[str, object]:
    if name == "plan":
        from gonogo import plan

        return plan.schema()
    from gonogo.report.schema import SCHEMA

    return SCHEMA


def _show(markdown: str) -> None:
    """Drawn for a terminal, as it is for a pipe."""
    screen = Screen.of(sys.stdout)
    if not screen.terminal:
        out(markdown)
        return
    from rich.console import Console
    from rich.markdown import Markdown

    console = Console(width=min(screen.width, 100), no_color=not screen.color, emoji=False)
    console.print(Markdown(markdown, hyperlinks=False))


def _list(every: list[pages.Page], output: str) -> int:
    if output == "json":
        out(
            json.dumps([{"id": p.id, "kind": p.kind, "area": p.area, "title": p.title} for p in every], indent=2) + "\n"
        )
    elif output == "name":
        out("".join(f"{p.kind}/{p.id}\n" for p in every))
    else:
        width = max(len(p.id) for p in every)
        for kind, heading in (("check", "checks"), ("cause", "root causes"), ("signature", "signatures")):
            if of_kind := [p for p in every if p.kind == kind]:
                out(f"{heading}\n" + "".join(f"  {p.id:<{width}}  {p.title}\n" for p in of_kind))
    return Exit.GO
