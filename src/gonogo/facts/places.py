"""Whose a line of an object is: a row's own, or in a list of pods the pod's whose name stands last before it."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from gonogo.documents.positions import positions
from gonogo.facts.events import Event, Events
from gonogo.facts.lines import when
from gonogo.facts.objects import Object, Objects

MOST_LINES = 3_000  # of one object, above the line
_NAME = re.compile(r"(?:^|[\s{,-])\"?[Nn]ame\"?: *\"?([a-z0-9][a-z0-9.-]*)")


@dataclass(frozen=True, slots=True)
class _Names:
    """The lines of a file of objects, and the names of pods and nodes in it."""

    lines: Sequence[str]
    pods: frozenset[str]
    nodes: frozenset[str]
    owners: Sequence[tuple[str, str]]
    told: Sequence[tuple[int, tuple[str, str, str]]]  # of Event objects: line, then pod or node, and time


def placed(events: Events, objects: Objects) -> Events:
    """The same, those of objects with the pod or node that they are of instead of their file's name."""
    files = _files(objects)
    if not files:
        return events
    return Events(tuple(_of_its_object(e, files[e.file]) if e.file in files else e for e in events), events.counts)


def _files(objects: Objects) -> Mapping[str, _Names]:
    texts: dict[str, str] = {}
    names: dict[str, dict[str, set[str]]] = {}
    told: dict[str, list[tuple[int, tuple[str, str, str]]]] = {}
    for one in objects.of("Pod", "Node", "Event"):
        about = one.dict("involvedObject") or one.dict("regarding") if one.kind == "Event" else {}
        kind, name = (str(about.get("kind")), str(about.get("name", ""))) if about else (one.kind, one.name)
        if one.kind == "Event" and (line := _begins(one)):
            whom = (name if kind == "Pod" else "", name if kind == "Node" else "")
            told.setdefault(one.file.name, []).append((line, (*whom, _last_seen(one))))
        if name and kind in ("Pod", "Node"):
            texts[one.file.name] = one.file.text
            names.setdefault(one.file.name, {}).setdefault(kind, set()).add(name)
    made = {}
    for file, text in texts.items():
        lines = text.split("\n")
        pods, nodes = (frozenset(names[file].get(kind, ())) for kind in ("Pod", "Node"))
        made[file] = _Names(lines, pods, nodes, _owners(lines, pods, nodes), sorted(told.get(file, ())))
    return made


def _last_seen(event: Object) -> str:
    keys = ("lastTimestamp", "series.lastObservedTime", "eventTime", "firstTimestamp")
    return next((str(time) for key in keys if (time := event.get(key))), "")


def _begins(one: Object) -> int:
    """The line, from 1, on which an object of a JSON or YAML list begins; 0 where that can't be told."""
    known = positions(one.file.text)
    try:
        if one.parsed.form == "json":
            return known.line(known.in_json(one.parsed.start, one.path)) + 1
        if one.parsed.form == "yaml" and one.path[:1] == ("items",):
            return known.line(known.items(one.parsed.start, one.parsed.end)[int(one.path[1])]) + 1
    except (LookupError, ValueError, RecursionError):
        pass
    return 0


def _of_its_object(event: Event, names: _Names) -> Event:
    row = names.lines[event.line - 1].split(None, 4)[:4] if event.line <= len(names.lines) else []
    for word in row:  # of a table: the row's own
        if word in names.pods:
            return replace(event, who=replace(event.who, pod=word, host=""))
        if word in names.nodes:
            return replace(event, who=replace(event.who, pod="", host=word))
    if (at := bisect_right(names.told, event.line, key=lambda told: told[0])) and len(names.told) > 1:
        pod, node, time = names.told[at - 1][1]
        event = replace(event, when=when(time, event.file)) if time and not event.when else event
        return replace(event, who=replace(event.who, pod=pod, host=node)) if pod or node else event
    pod, node = names.owners[event.line - 1] if event.line <= len(names.owners) else ("", "")
    return replace(event, who=replace(event.who, pod=pod, host=node)) if pod or node else event


def _owners(lines: Sequence[str], pods: frozenset[str], nodes: frozenset[str]) -> list[tuple[str, str]]:
    """For each line the pod, or else the node, whose name was the last before it."""
    found: list[tuple[str, str]] = []
    last, at = ("", ""), 0
    for number, line in enumerate(lines):
        for name in _NAME.findall(line):
            if name in pods or name in nodes:
                last, at = ((name, "") if name in pods else ("", name)), number
        found.append(last if number - at <= MOST_LINES else ("", ""))
    return found
