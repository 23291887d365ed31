"""A bundle read back, so that it can be judged again: whole, cut off, or written by another version."""

from __future__ import annotations

import heapq
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from gonogo.documents import aws, kube_files
from gonogo.documents.bundle import RUN
from gonogo.documents.foreign import json_value
from gonogo.documents.records import CUT, LOGS, Record, StepLog, step_log
from gonogo.documents.sources import Notes, sources
from gonogo.errors import InputError, shown
from gonogo.kernel import Lost
from gonogo.model import Status

VERSION = 1
MOST_FILE_BYTES = 256 << 20
MOST_BYTES = 1 << 30
MOST_LINE_BYTES = 16 << 20

Logs = dict[type[StepLog], StepLog | Lost]


@dataclass(frozen=True, slots=True)
class Replay:
    """What a bundle holds. `run` is its run.json, {} where that is missing; `notes` say what could not be read."""

    logs: Mapping[type, object]
    run: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def read(path: Path) -> Replay:
    """Read a bundle's folder or archive. Raises InputError if it is none."""
    files, notes = _files(path)
    ours = any(name == RUN or name.startswith("agents/") for name in files)
    run = _run(files, notes) if ours else {}
    lost = run.get("lost")
    objects = kube_files.documents(files, lost if isinstance(lost, dict) else {}) | aws.documents(files)
    if not ours and not objects:
        known = f"{RUN} and agents/*.jsonl, or objects of Kubernetes or AWS"
        if notes and not path.is_dir():
            raise InputError(f"{path}: holds no bundle that can be read: {notes[0]}")
        hint = f"For logs of a job: gonogo diagnose {shlex.quote(str(path))}"
        if path.name == "agents":
            hint = f"The bundle may be {path.parent}."
        elif notes:
            hint = notes[0]
        raise InputError(f"{path}: holds no bundle: expected {known}. {hint}")
    if ours:
        return Replay({**logs(files, run, notes), **objects}, run, tuple(notes))
    nothing = Lost("The files hold no agents' records.", Status.SKIP)
    return Replay({**dict.fromkeys(LOGS.values(), nothing), **objects}, run, tuple(notes))


def logs(files: Mapping[str, bytes], run: Mapping[str, Any] | None = None, notes: list[str] | None = None) -> Logs:
    """The document of every step, or why there is none. Names are as in a bundle: agents/<node>.jsonl.

    `notes` is given a sentence for each file of which something could not be read.
    """
    run, notes = run or {}, [] if notes is None else notes
    by_file = [
        list(_records(name, data, notes))
        for name, data in sorted(files.items())
        if name.startswith("agents/") and name.endswith(".jsonl")
    ]
    records = list(heapq.merge(*by_file, key=_time))  # of one file always in its own order
    nodes = _nodes(records)
    over = {str(r.get("of")): r for r in records if r.get("step") == "fabric" and r.kind == "over"}
    lost = run.get("lost")
    too_late = lost if isinstance(lost, dict) else {}  # a step may be over in the moment in which its run gives up
    told = {step for step, kind in LOGS.items() if step in over and kind.__name__ not in too_late}
    return {
        kind: _told(step, nodes, records, over[step]) if step in told else _untold(step, nodes, records, run)
        for step, kind in LOGS.items()
    }


def _told(step: str, nodes: Sequence[str], records: Iterable[Record], over: Record) -> StepLog:
    """As it was when the step was over: later lines were not known then."""
    lines, ended = over.get("lines"), over.get("ended")
    lines = lines if isinstance(lines, dict) else {}
    known = [r for r in records if r.line <= _whole(lines.get(r.file))]
    return step_log(step, nodes, known, {n: str(ended.get(n, "")) if isinstance(ended, dict) else "" for n in nodes})


def _untold(step: str, nodes: Sequence[str], records: Sequence[Record], run: Mapping[str, Any]) -> StepLog | Lost:
    """A step of which the bundle doesn't say how it ended: the run was cut short, or never came to it."""
    lost = run.get("lost")
    entry = lost.get(LOGS[step].__name__) if isinstance(lost, dict) else None
    if isinstance(entry, dict):
        status = Status.SKIP if entry.get("status") == Status.SKIP else Status.UNKNOWN
        return Lost(str(entry.get("reason", "It was lost.")), status)
    if any(r.get("step") == step for r in records):
        return step_log(step, nodes, records, {node: _end(node, records) for node in nodes})
    steps = run.get("steps")
    if isinstance(steps, list) and step not in steps:
        return Lost(f"Step {step} was not asked for in that run.", Status.SKIP)
    return Lost(f"The bundle holds no records of step {step}.")


def _end(node: str, records: Iterable[Record]) -> str:
    """How a node's agent ended, as far as records say so."""
    last: Record | None = None
    for record in records:
        if record.node == "fabric" and record.kind == "exit" and record.get("of") == node and record.get("signal"):
            return f"killed by signal {record['signal']}"
        if record.node == node:
            last = record
    if last is None:
        return f"{CUT} before the first"
    return "" if last.kind == "finish" else f"{CUT} at line {last.line} of {last.file}"


def _nodes(records: Sequence[Record]) -> tuple[str, ...]:
    """The expected nodes in index order: as built, else those that wrote or were spoken of, in natural order."""
    for record in records:
        built = record.get("nodes") if record.get("step") == "fabric" and record.kind == "built" else None
        if isinstance(built, list):
            return tuple(str(n["name"]) for n in built if isinstance(n, dict) and "name" in n)
    names = {r.node for r in records} | {peer for r in records if isinstance(peer := r.get("peer"), str)}
    names -= {"fabric", ""}
    return tuple(sorted(names, key=lambda n: [int(p) if p.isdigit() else p for p in re.split(r"([0-9]+)", n)]))


def _files(path: Path) -> tuple[dict[str, bytes], list[str]]:
    """Documents by their names in the bundle; one folder around them all is passed over."""
    found: dict[str, bytes] = {}
    notes, read = Notes(), 0
    try:
        for source in sources(path, None, notes):  # type: ignore[arg-type]
            if PurePosixPath(source.name).is_absolute() or ".." in PurePosixPath(source.name).parts:
                raise InputError(f"{path}: holds the path {shown(source.name)}, which leads out of it.")
            if source.name.endswith((".json", ".jsonl", ".yaml", ".yml")):
                found[source.name] = source.stream.read(MOST_FILE_BYTES + 1)
                read += len(found[source.name])
                if len(found[source.name]) > MOST_FILE_BYTES or read > MOST_BYTES:
                    raise InputError(f"{path}: is too large: {source.name} goes beyond what is read.")
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: can't be read: {getattr(error, 'strerror', None) or error}.") from None
    folders = {name.partition("/")[0] for name in found if "/" in name}
    if RUN not in found and len(folders) == 1 and "agents" not in folders:
        found = {name.partition("/")[2]: data for name, data in found.items() if "/" in name}
    if notes.corrupt:
        raise InputError(f"{path}: is damaged, so that nothing in it can be trusted: {notes.corrupt}.")
    return found, list(notes.sentences())


def _run(files: Mapping[str, bytes], notes: list[str]) -> Mapping[str, Any]:
    if RUN not in files:
        notes.append(f"{RUN} is missing: level, plan and chosen checks of that run are not known.")
        return {}
    data = _json(files[RUN])
    if not isinstance(data, dict):
        notes.append(f"{RUN} is damaged: level, plan and chosen checks of that run are not known.")
        return {}
    return data


def _records(name: str, data: bytes, notes: list[str]) -> Iterator[Record]:
    """The records of one file, up to where some are lost: what they said is not known; what is none is counted."""
    damaged, foreign, last, following = 0, set(), 0, 0
    for number, line in enumerate(data.split(b"\n"), 1):
        if not line.strip():
            continue
        last = number
        value = _json(line) if len(line) <= MOST_LINE_BYTES else None
        if not isinstance(value, dict) or not all(isinstance(value.get(k), str) for k in ("node", "step", "kind")):
            damaged += 1
        elif value.get("v") != VERSION:
            foreign.add(str(value.get("v"))[:20])
        elif value.get("seq", following) != following and value["node"] != "fabric":
            notes.append(f"{name} lacks records before line {number}, so that what follows was not read.")
            break
        else:
            following += 1
            yield Record(value, name, number)
    if damaged == 1 and not data.endswith(b"\n"):
        notes.append(f"{name} is cut off in line {last}.")
    elif damaged:
        notes.append(f"{name} has {damaged} damaged lines of {last}.")
    if foreign:
        notes.append(
            f"{name} has records of version {', '.join(sorted(foreign))}; this gonogo reads version {VERSION}."
        )


def _json(data: bytes) -> Any:
    try:
        return json_value(data)
    except ValueError:
        return None


def _time(record: Record) -> float:
    t = record.get("t")
    return float(t) if isinstance(t, int | float) and abs(t) < 1e12 else 0.0


def _whole(value: object) -> int:
    return value if isinstance(value, int) else 0
