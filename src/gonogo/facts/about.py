"""What a line is about: the object that it names, whether it reports a fault, and whether that can be overcome."""

from __future__ import annotations

import re

from gonogo.facts.events import Event
from gonogo.facts.news import OF_PODS, PLATFORM, STICKY
from gonogo.facts.signatures import Role
from gonogo.facts.strangers import DAEMONS

_PREFIX = re.compile(r"^(?:\[pod/[^\]]+\] ?)+")
_ROW = re.compile(r"(?:Normal|Warning)\s+[A-Z]\w+\s+[a-z.]+/\S")
_OBJECT = re.compile(
    r"\b(?:pod|job|node|workload|persistentvolumeclaim|pytorchjob|mpijob|jobset)s?(?:\.\w+)?(?:/| \\?\")"
    r"(?P<name>[a-z0-9][\w.-]*)|\bname[\"']?: ?[\"']?(?P<named>[a-z0-9][\w.-]*)"
)


def is_fault(event: Event) -> bool:
    """Whether a line says that something broke."""
    return event.role in (Role.INITIATING, Role.CASCADE) or event.signature == "python.exception"


def sticks(event: Event) -> bool:
    """Whether it stays a fault, however well the job goes on: it damages hardware or results, or NCCL crashed."""
    return event.signature.startswith(STICKY) or (event.signature == "nccl.test_failed" and "illegal" in event.text)


def damages(event: Event) -> bool:
    """Whether it stays a fault of a job that is whole: a node that was taken away was none of its own."""
    return sticks(event) and not event.signature.startswith("node.")


def whose(event: Event) -> str:
    """The object that a line is of: one that it names, or else the one in which it stands."""
    return event.who.pod or event.who.host or name_of(event)


def name_of(event: Event) -> str:
    """The object that its text names, "" for none."""
    found = _OBJECT.search(_PREFIX.sub("", event.text))
    return (found["name"] or found["named"]) if found else ""


def is_row(event: Event) -> bool:
    """Whether a line is a row of kubectl's table of events: of its own object, and of nothing else in the file."""
    return bool(_ROW.search(event.text))


def is_of_a_job(event: Event) -> bool:
    """Whether a line tells of a named pod, claim or workload, and not of a node or of what a platform runs on each."""
    name = name_of(event)
    return bool(
        name
        and event.signature.startswith(OF_PODS)
        and not DAEMONS.match(name)
        and not re.search(rf"\bnodes?(?:/| \\?\"){re.escape(name)}", event.text)
    )


def is_of_the_platform(event: Event) -> bool:
    """Whether a line is the cluster's, the node's or AWS's, and not a rank's own."""
    return event.signature.startswith(PLATFORM) or is_row(event)
