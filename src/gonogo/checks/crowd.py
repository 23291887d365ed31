"""What a check says of thousands of nodes: each that is not well by itself, the others together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gonogo.kernel import Lost
from gonogo.model import CLUSTER, Finding, Status

MOST = 128
"""As many subjects as a person would look through one by one."""


def crowd(findings: Iterable[Finding | Lost]) -> Iterator[Finding]:
    """All findings as they are up to MOST; beyond, one for all that are ok and one for all that are skipped."""
    told = [f for f in findings if isinstance(f, Finding)]
    alike = {status: [f for f in told if f.status is status] for status in (Status.OK, Status.SKIP)}
    many = {status for status, found in alike.items() if len(found) > MOST}
    yield from (f for f in told if f.status not in many)
    for status in many:
        first, count = alike[status][0], len(alike[status])
        text = f"{count} of {len(told)} {first.subject.kind}s alike; the first: {first.message}"
        yield Finding(status, CLUSTER, text, first.measured, first.expected, first.unit, first.threshold_source,
                      first.evidence)  # fmt: skip
