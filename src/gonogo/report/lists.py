"""The report as YAML, and as bare names for shell loops."""

from __future__ import annotations

import yaml

from gonogo.model import Report, Status
from gonogo.report.json import as_data
from gonogo.report.text import clean


def yaml_text(report: Report) -> str:
    """The same data as in JSON."""
    return yaml.safe_dump(as_data(report), sort_keys=False, allow_unicode=True, width=120)


def names(report: Report) -> str:
    """One a line: `cause/<id>` for each root cause, then `check/<id>` for each check that isn't well."""
    causes = [f"cause/{d.cause}" for d in report.diagnoses]
    checks = [f"check/{f.check}" for f in report.findings if f.status.severity >= Status.WARN.severity]
    return "".join(f"{clean(name)}\n" for name in dict.fromkeys([*causes, *checks]))
