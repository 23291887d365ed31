"""`gonogo permissions`."""

from __future__ import annotations

from typing import Annotated, Literal

from cyclopts import Parameter

from gonogo.cli import flags
from gonogo.cli.exits import Exit
from gonogo.cli.screen import out
from gonogo.errors import InputError


def permissions(
    *,
    level: flags.LevelFlag = None,
    for_: Annotated[
        Literal["verify", "diagnose"],
        Parameter("--for", group=flags.CHOICE, help="What is to be done; diagnose only reads, and has no levels."),
    ] = "verify",
    namespace: Annotated[
        str,
        Parameter(
            ["--namespace", "-n"], group=flags.TARGET, converter=flags.namespace, help="Where the pods will run."
        ),
    ] = "default",
    user: Annotated[
        str | None,
        Parameter("--user", group=flags.TARGET, help="Bind this user. [default: a service account gonogo is made]"),
    ] = None,
    output: Annotated[
        Literal["table", "yaml"], Parameter(["--output", "-o"], group=flags.OUTPUT, help="What goes to stdout.")
    ] = "table",
) -> int:
    """Print the least RBAC roles that a level, or a diagnosis, needs; as YAML they can be applied."""
    from gonogo.collect.kube_access import DIAGNOSE, PLACES, manifests, needs

    if for_ == "diagnose" and level is not None:
        raise InputError("--level can't be used with --for diagnose: it only reads.")
    chosen = level or "standard"
    wanted = DIAGNOSE if for_ == "diagnose" else needs(chosen)
    if output == "yaml":
        import yaml

        name = "diagnose" if for_ == "diagnose" else chosen
        out(yaml.safe_dump_all(manifests(wanted, name, namespace, user or ""), sort_keys=False, width=120))
        return Exit.GO
    places = {**PLACES, "cluster": "cluster", "namespace": namespace}
    rows = [
        (", ".join(n.verbs), n.resource + (f".{n.group}" if n.group else ""), places[n.where], n.level, n.why)
        for n in wanted
    ]
    heads = ("VERBS", "RESOURCE", "WHERE", "LEVEL", "WITHOUT IT, NOT PROVEN")
    widths = [max(len(row[i]) for row in (heads, *rows)) for i in range(len(heads) - 1)]
    for row in (heads, *rows):
        out("  ".join([*(text.ljust(width) for text, width in zip(row, widths, strict=False)), row[-1]]) + "\n")
    return Exit.GO
