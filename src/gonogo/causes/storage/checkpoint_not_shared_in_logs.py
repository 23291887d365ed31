"""Ranks save to a disk that the others don't see.

## What is wrong
Each pod has its own directory under the same name. One rank writes the checkpoint, the others look for it and find
none.

## Fix
A shared volume (FSx for Lustre, EFS) at the checkpoints' path, on all pods.

## Source
https://docs.aws.amazon.com/eks/latest/userguide/fsx-csi.html
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from gonogo.causes.proof import diagnosis
from gonogo.causes.storage.files import missing_files, shared_mounts
from gonogo.facts.events import Events
from gonogo.facts.objects import Object, Objects, Path, pod_specs
from gonogo.kernel import cause
from gonogo.model import Diagnosis, Repair

_FOLDER = re.compile(r"/[\w./=-]+/")


@cause("storage.checkpoint_not_shared", refines=("pod.user_code_error", "job.rank_stalled"), also=True)
def checkpoint_not_shared_in_logs(events: Events, objects: Objects) -> Iterator[Diagnosis]:
    """Fires where one rank saved a file and another doesn't find it, unless the path is on a file system of both."""
    lost, saved = missing_files(events)
    own, alone = _own_disks(objects, lost), lost and not shared_mounts(events, lost)
    absent, found = _on_some_only(events)
    if alone and not saved and (there := _elsewhere(events, lost)):
        text = f"{lost.first.who} does not find a checkpoint that {there.first.who} has at {there.first.get('path')}."
        yield _not_shared(text, lost, there, own)
    elif absent:
        text = f"{absent.first.who} finds no checkpoint at {absent.first.get('path')}, from which {found.first.who} "
        yield _not_shared(f"{text}goes on.", absent, found, _own_disks(objects, absent))
    elif alone and (saved or own):
        text = f"{lost.first.who} does not find a file that another rank saved: {lost.first.get('message')[:120]}."
        yield _not_shared(text, lost, saved, own)


def _not_shared(summary: str, without: Events, having: Events, own: Sequence[tuple[Object, Path]]) -> Diagnosis:
    """Some do not find what others have; `own` are volumes of one pod alone."""
    return diagnosis(
        "storage.checkpoint_not_shared",
        summary,
        without,
        having,
        [o.cite(path) for o, path in own],
        [o.cite((*path, "emptyDir")) for o, path in own if o.get((*path, "emptyDir")) is not None],
        repair=Repair.CHANGE_STORAGE,
        commands=("stat -f CHECKPOINTS  # in two pods: another file system id is another disk",),
    )


def _elsewhere(events: Events, lost: Events) -> Events:
    """Checkpoints that other ranks found in the folder that these did not."""
    folders = {m[0] for e in lost if (m := _FOLDER.search(e.get("message") or e.text))}
    return Events(
        tuple(
            e
            for e in events.of("train.checkpoint_loaded")
            if e.writer not in lost.writers and any(e.get("path").startswith(f.rstrip("/")) for f in folders)
        )
    )


def _on_some_only(events: Events) -> tuple[Events, Events]:
    """Ranks that found no checkpoint below a path, and others that went on from one there."""
    there = events.of("train.checkpoint_loaded")
    absent = [
        e
        for e in events.of("train.checkpoint_absent")
        if any(e.file != x.file and e.get("path").startswith(x.get("path").rstrip("/.")) for x in there)
    ]
    paths = [e.get("path") for e in absent]
    found = [x for x in there if any(p.startswith(x.get("path").rstrip("/.")) for p in paths)]
    return Events(tuple(absent)), Events(tuple(found))


def _own_disks(objects: Objects, told: Events) -> list[tuple[Object, Path]]:
    """Volumes of a pod or node alone that hold the paths that lines speak of."""
    return [
        (o, (*s, "volumes", i))
        for o, s in pod_specs(objects)
        for i, v in enumerate(o.items((*s, "volumes")))
        if ("emptyDir" in v or "hostPath" in v) and v.get("name") in _mounted(o, s, told)
    ]


def _mounted(one: Object, spec: Path, lost: Events) -> set[str]:
    """Names of volumes that hold one of the paths that were not found."""
    return {
        str(m.get("name"))
        for c in one.items((*spec, "containers"))
        for m in c.get("volumeMounts") or []
        if any(str(m.get("mountPath", "?")).rstrip("/") + "/" in e.text for e in lost)
    }
