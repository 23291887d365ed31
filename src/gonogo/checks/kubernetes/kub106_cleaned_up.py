"""Nothing that the run made is left.

## Why it matters
A forgotten pod keeps its GPUs, and somebody pays for them.

## Usual causes
- the connection to the API server was lost before the deletion
- the user may create, but not delete
- a node stopped answering, so its pod can't be confirmed as gone

## Fix
`gonogo cleanup` deletes what carries gonogo's label; the Job also ends and removes itself.

## Source
https://kubernetes.io/docs/concepts/workloads/controllers/ttlafterfinished/
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.documents.kubernetes import CleanupDocument
from gonogo.kernel import check
from gonogo.model import CLUSTER, Evidence, Finding, Status, Subject


@check("KUB106")
def cleaned_up(cleanup: CleanupDocument) -> Iterator[Finding]:
    """By a query for the run's label after the deletion, not by the deletion's answer."""
    for name in cleanup.left:
        why = cleanup.why.get(name, "")
        text = (
            f"{name} was made by the run and is still there after {cleanup.seconds:.1f} s{f': {why}' if why else ''}."
        )
        yield Finding(Status.WARN, Subject("object", name), text, evidence=(Evidence(text, cleanup.file),))
    if cleanup.error:
        text = f"Whether anything of the run is left is not known: {cleanup.error}"
        yield Finding(Status.UNKNOWN, CLUSTER, text, evidence=(Evidence(text, cleanup.file),))
    elif not cleanup.left:
        text = f"0 of {len(cleanup.made)} objects that the run made are left; asked after {cleanup.seconds:.1f} s."
        yield Finding(Status.OK, CLUSTER, text, 0, 0, "objects", evidence=(Evidence(text, cleanup.file),))
