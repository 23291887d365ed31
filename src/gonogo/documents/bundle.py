"""A bundle: a plain folder of redacted documents, from which a run can be judged again at any time.

run.json            which run: id, versions, target, plan, level, checks chosen, facts lost
agents/<node>.jsonl the records of one agent; agents/fabric.jsonl those of the launcher
report.json         what was said about it then
tracebacks.txt      where a step crashed, if one did
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from gonogo.documents.redact import line_redactor, redact
from gonogo.errors import InputError

RUN = "run.json"
REPORT = "report.json"
TRACEBACKS = "tracebacks.txt"
KEPT = 20
"""How many bundles of the default folder stay."""
KEPT_IN_TEMPORARY = 3
"""How many stay of those in the temporary folder, where they are if the default folder can't be written."""
_WRITTEN_SECONDS = 3600.0
"""For so long after its last file came, a bundle may belong to a run that still goes."""
_NAME = re.compile(r"\d{8}-\d{6}-[0-9a-f]{6}")
_FALLBACK = re.compile(r"gonogo-bundle-[0-9a-f]{6}-\w{8}")


class BundleError(InputError):
    """A bundle that can't be written or read; the text is one line for the user."""


class Bundle:
    """Writes documents below one folder, redacted; safe to use from several threads.

    Lines are on disk when `append` returns, so that what was written survives the death of this process.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self._lock = threading.Lock()
        self._files: dict[str, int] = {}
        self._redactors: dict[str, Callable[[bytes], bytes]] = {}

    @classmethod
    def create(cls, root: Path) -> Bundle:
        """A new bundle in a folder that is empty or not there yet. Raises BundleError."""
        try:
            root.mkdir(parents=True, exist_ok=True, mode=0o700)
            if any(root.iterdir()):
                raise BundleError(f"{root}: the folder isn't empty; name a new one for the bundle.")
        except OSError as error:
            raise BundleError(f"{root}: can't be used for the bundle: {error.strerror}.") from None
        return cls(root)

    def discard(self) -> None:
        """Leave no empty folder, if nothing was written."""
        with contextlib.suppress(OSError):
            self.root.rmdir()

    def append(self, name: str, line: bytes) -> bytes:
        """Redact one line, append it, and return it as written, without its newline. Raises BundleError."""
        with self._lock, self._told(name):
            if name not in self._files:
                self._files[name] = os.open(self._path(name), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
                self._redactors[name] = line_redactor()
            clean = self._redactors[name](line.rstrip(b"\r\n"))
            view = memoryview(clean + b"\n")
            while view:
                view = view[os.write(self._files[name], view) :]
        return clean

    def write(self, name: str, data: bytes) -> bytes:
        """Redact a whole document, write it, and return it as written. Raises BundleError.

        An old one of that name is replaced whole, or stays.
        """
        clean = redact(data)
        with self._lock, self._told(name):
            path = self._path(name)
            partial = path.with_name(f".{path.name}.partial")
            try:
                with os.fdopen(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as out:
                    out.write(clean)
                partial.replace(path)
            except OSError:
                partial.unlink(missing_ok=True)
                raise
        return clean

    def write_json(self, name: str, data: Mapping[str, Any]) -> None:
        """`write`, for what is made of JSON's types."""
        self.write(name, json.dumps(data, indent=2, default=str).encode() + b"\n")

    def close(self) -> None:
        """Close the files that lines were appended to."""
        with self._lock:
            for descriptor in self._files.values():
                os.close(descriptor)
            self._files.clear()

    @contextlib.contextmanager
    def _told(self, name: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise BundleError(f"{self.root / name}: can't be written: {error.strerror}.") from error

    def _path(self, name: str) -> Path:
        parts = PurePosixPath(name).parts
        if not parts or PurePosixPath(name).is_absolute() or ".." in parts or "\0" in name:
            raise BundleError(f"{name!r} is no name for a document in a bundle.")
        path = self.root.joinpath(*parts)
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        return path


def default_root(run: str, now: float) -> Path:
    """Where the bundle of a run goes if nobody says: below $XDG_STATE_HOME, else the temporary folder."""
    name = f"{time.strftime('%Y%m%d-%H%M%S', time.localtime(now))}-{run}"
    if state := _state():
        with contextlib.suppress(OSError):
            state.mkdir(parents=True, exist_ok=True, mode=0o700)
            if os.access(state, os.W_OK):
                return state / name
    return Path(tempfile.mkdtemp(prefix=f"gonogo-bundle-{run}-"))


def prune(now: float, keep: int = KEPT) -> list[Path]:
    """Remove the oldest bundles that nobody named, but for the latest ones and those that a run may still write."""
    kept, temporary = _ours(_state(), _NAME), _ours(Path(tempfile.gettempdir()), _FALLBACK)
    old = kept[: max(0, len(kept) - keep)] + temporary[: max(0, len(temporary) - min(keep, KEPT_IN_TEMPORARY))]
    removed = []
    for path in old:
        with contextlib.suppress(OSError):
            if now - path.stat().st_mtime > _WRITTEN_SECONDS:
                shutil.rmtree(path)
                removed.append(path)
    return removed


def _ours(folder: Path | None, name: re.Pattern[str]) -> list[Path]:
    """The folders of that name which this user made, oldest first; a link is none, whatever it leads to."""
    found: list[tuple[float, Path]] = []
    try:
        for entry in os.scandir(folder) if folder else ():
            if name.fullmatch(entry.name) and entry.is_dir(follow_symlinks=False):
                status = entry.stat(follow_symlinks=False)
                if status.st_uid == os.geteuid():
                    found.append((status.st_mtime, Path(entry.path)))
    except OSError:
        return []
    return [path for _, path in sorted(found)]


def _state() -> Path | None:
    """None for a user without a home."""
    if told := os.environ.get("XDG_STATE_HOME"):
        return Path(told) / "gonogo"
    try:
        return Path.home() / ".local" / "state" / "gonogo"
    except RuntimeError:
        return None
