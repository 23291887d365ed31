"""Builds the agent's archive: one file that any Python from 3.10 on runs, the same bytes from the same sources."""

from __future__ import annotations

import hashlib
import io
import zipfile
from pathlib import Path

import gonogo

NAME = "gonogo-agent.pyz"
PARTS = ("__init__.py", "agent", "links")
_EPOCH = (1980, 1, 1, 0, 0, 0)  # of zip files: sources of another date must not change the hash
_MAIN = b"import sys\nfrom gonogo.agent.main import main\nsys.exit(main())\n"


def build() -> bytes:
    """The archive's bytes; well below the 1 MiB that a ConfigMap holds."""
    root = Path(gonogo.__file__).parent
    sources = sorted(path for part in PARTS for path in [root / part, *(root / part).rglob("*.py")] if path.is_file())
    files = {f"gonogo/{path.relative_to(root).as_posix()}": path.read_bytes() for path in sources}
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in [("__main__.py", _MAIN), *files.items()]:
            entry = zipfile.ZipInfo(name, _EPOCH)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, content)
    return data.getvalue()


def write(path: Path) -> str:
    """Write the archive to a file; returns its SHA-256, as hexadecimal digits."""
    data = build()
    path.write_bytes(data)
    return hashlib.sha256(data).hexdigest()
