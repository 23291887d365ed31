"""Prints docs/ from the code: `python -m gonogo.docs docs`, which is what `make docs` runs."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from gonogo import plan, registry
from gonogo.pages import book, pages
from gonogo.report.schema import SCHEMA


def texts() -> dict[str, str]:
    """File name below docs/ -> its text."""
    every = pages(registry.load())
    return {
        "checks.md": book("Checks", [p for p in every if p.kind == "check"]),
        "causes.md": book("Root causes", [p for p in every if p.kind == "cause"]),
        "plan.schema.json": json.dumps(plan.schema(), indent=2) + "\n",
        "report.schema.json": json.dumps(SCHEMA, indent=2) + "\n",
    }


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    folder.mkdir(exist_ok=True)
    for name, text in texts().items():
        (folder / name).write_text(text, encoding="utf-8")
