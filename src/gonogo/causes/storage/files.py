"""Files that one rank saved and another looked for."""

from __future__ import annotations

import re

from gonogo.facts.events import Events

_MISSING = re.compile(r"FileNotFoundError|No such file or directory")
_PATH = re.compile(r"(/[\w./=-]+)")
_WRITTEN = re.compile(r"(?i)saved|saving|renamed|wrote|written")


def missing_files(events: Events) -> tuple[Events, Events]:
    """Lines of ranks that did not find a file below an absolute path, and lines of others that wrote there."""
    raised = events.of("python.exception", "python.error_line")
    lost = [e for e in raised if _MISSING.search(e.text) and _path(e.text)]
    seen: dict[tuple[str, int], None] = {}
    lost = [e for e in lost if not ((e.file, e.line) in seen or seen.update({(e.file, e.line): None}))]
    paths = {_path(e.text) for e in lost}
    wrote = [
        e
        for e in events.of("train.checkpoint_saved")
        if any(p in e.text or _is_written_into(p, e.get("path")) for p in paths)
        and all((e.file, e.who.rank) != (x.file, x.who.rank) for x in lost)
    ]
    return Events(tuple(lost)), Events(tuple(wrote))


def _is_written_into(path: str, folder: str) -> bool:
    """Whether a file is right below a folder that was written to."""
    return bool(folder) and path.rpartition("/")[0] == folder.rstrip("/.")


def shared_mounts(events: Events, lost: Events) -> Events:
    """Mounts of shared file systems that hold a path that was not found."""
    paths = [_path(e.text) for e in lost]
    return Events(
        tuple(m for m in events.of("host.mount") if any(p.startswith(m.get("path").rstrip("/") + "/") for p in paths))
    )


def _path(text: str) -> str:
    tail = text.partition("directory")[2] or text
    found = _PATH.search(tail)
    return found[1] if found else ""
