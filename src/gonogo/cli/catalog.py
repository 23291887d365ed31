"""`gonogo catalog`."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from gonogo.cli import flags
from gonogo.cli.exits import Exit
from gonogo.cli.screen import out
from gonogo.errors import InputError, did_you_mean, shown

if TYPE_CHECKING:
    from gonogo.data.instances import InstanceType


def catalog(
    name: Annotated[str | None, Parameter(help="A type, or the beginning of some: p5.", metavar="TYPE")] = None,
    /,
    *,
    output: Annotated[
        Literal["table", "json", "name"], Parameter(["--output", "-o"], group=flags.OUTPUT, help="What goes to stdout.")
    ] = "table",
) -> int:  # fmt: skip
    """Print what is known of EC2 instance types with accelerators or EFA; one type with all its numbers and sources."""
    from gonogo.data.instances import catalog as rows

    known = rows()
    name = name.strip().lower() if name else None
    if name in known and output == "table":
        out("".join(f"{key:<16} {value if value not in ('', None) else '-'}\n" for key, value in _one(known[name])))
        return Exit.GO
    chosen = [row for row in known.values() if (row.type.startswith(name) if name else row.accelerators)]
    if name in known:
        chosen = [known[name]]
    if not chosen:
        near = did_you_mean(name or "", (type for type in known if type[:1] == (name or "")[:1]))
        raise InputError(
            f"{shown(name or '')} is no instance type of the catalog, which has those with accelerators or EFA.{near}"
        )
    if output == "json":
        out(json.dumps([asdict(row) for row in chosen], indent=2) + "\n")
    elif output == "name":
        out("".join(f"{row.type}\n" for row in chosen))
    else:
        out(_table(chosen))
    return Exit.GO


def _one(row: InstanceType) -> list[tuple[str, object]]:
    return [(key.replace("_", " "), value) for key, value in asdict(row).items()]


def _table(rows: list[InstanceType]) -> str:
    lines = [("TYPE", "ACCELERATORS", "MIB EACH", "VCPU", "GIB", "NVME GB", "GBPS", "EFA", "GEN", "GDR", "USD/H")]
    for row in rows:
        gdr = {True: "required", False: "no", None: "?"}[row.gdr_required] if row.efa else "-"
        lines.append((
            row.type, f"{row.accelerators} {row.accelerator}" if row.accelerators else "-",
            str(row.accelerator_mib or "-"), str(row.vcpus), f"{row.memory_mib / 1024:g}", str(row.nvme_gb or "-"),
            f"{row.network_gbps:g}", str(row.efa or "-"), row.efa_generation or "-", gdr,
            f"{row.usd_per_hour:.2f}" if row.usd_per_hour else "-",
        ))  # fmt: skip
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    return "".join("  ".join(t.ljust(w) for t, w in zip(line, widths, strict=True)).rstrip() + "\n" for line in lines)
