"""`gonogo collect`."""

from __future__ import annotations

import shlex
import tarfile
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from gonogo.cli import flags
from gonogo.cli.exits import Exit
from gonogo.cli.kube import Where
from gonogo.cli.screen import note, out
from gonogo.errors import InputError
from gonogo.launch.leftovers import tag
from gonogo.report.text import count

HERE = Where()
ALL = flags.Asked()
_PACKED = (".tar.gz", ".tgz")


def collect(
    destination: Annotated[
        Path,
        Parameter(help="A new folder, or a file that ends in .tar.gz. Before it, job/NAME or another that diagnose "
                  "knows: then that job of a cluster is kept."),
    ],
    after: Annotated[Path | None, Parameter(show=False)] = None,
    /,
    *,
    asked: flags.Asked = ALL,
    where: Where = HERE,
) -> int:  # fmt: skip
    """Keep what verify would look at, redacted, and give no verdict. Of a cluster, level read unless told otherwise.

    Exits with 0 when documents are kept, and with 3 when none came or they could not be written.
    """
    what, destination = (None, destination) if after is None else (str(destination), after)
    if what is not None:
        _only_a_job(what, asked, where)
    packed = destination.name.endswith(_PACKED)
    if packed and (destination.exists() or not destination.parent.is_dir()):
        raise InputError(f"{destination}: expected a new file in a folder that is there.")
    flags.can_write(destination if packed else None)
    with tempfile.TemporaryDirectory(prefix=f"{tag()}-") as scratch:
        root = Path(scratch) / "bundle" if packed else destination
        kept, interrupted = _of_a_job(what, where, root) if what is not None else _of_a_run(asked, where, root)
        if packed and not _pack(root, destination):
            return Exit.UNDECIDED
    out(f"{destination}\n")
    if interrupted:
        return Exit.INTERRUPTED
    judge = "diagnose" if what is not None else "verify --from"
    note(f"{count(kept, 'document')} kept; judge with: gonogo {judge} {shlex.quote(str(destination))}")
    return Exit.GO if kept else Exit.UNDECIDED


def _of_a_run(asked: flags.Asked, where: Where, root: Path) -> tuple[int, bool]:
    """How many documents a run left in a new folder, and whether it was interrupted."""
    from gonogo.cli.verify import run_here

    if where.chosen and not asked.level:
        asked = replace(asked, level="read")  # of a cluster, only what is there already
    report = run_here(asked, where, root, tell_bundle=False)
    return sum(1 for _ in (root / "kubernetes").glob("*.json")) + len(report.timings), report.run.interrupted


def _of_a_job(what: str, where: Where, root: Path) -> tuple[int, bool]:
    """The same of a job in a cluster. Raises InputError where there is no such job; no folder is left then."""
    from gonogo.collect.kube_job import Place, read_job
    from gonogo.collect.kube_kinds import reference
    from gonogo.documents.bundle import Bundle

    wanted = reference(what)
    bundle = Bundle.create(root)
    try:
        place = Place(where.context or "", where.namespace or "", where.kubeconfig or "")
        reading = read_job(wanted, place, bundle, say=note)
    except InputError:
        bundle.discard()
        raise
    for reason in (*reading.lost.values(), *reading.notes):
        note(reason)
    return sum(1 for path in root.rglob("*") if path.is_file()), reading.interrupted


def _only_a_job(what: str, asked: flags.Asked, where: Where) -> None:
    """Raises InputError for what a job that is there already takes no account of."""
    if where != Where(context=where.context, namespace=where.namespace, kubeconfig=where.kubeconfig) or asked != ALL:
        raise InputError(f"{what} is read as it is: expected --context, --namespace and --kubeconfig alone.")
    if not where.chosen:
        raise InputError(f"{what} is of a cluster: it needs --context, --namespace or --kubeconfig.")


def _pack(root: Path, destination: Path) -> bool:
    """All files of the bundle below one folder, owned by nobody in particular; False, and no file, where that fails."""

    def anonymous(info: tarfile.TarInfo) -> tarfile.TarInfo:
        info.uid = info.gid = 0
        info.uname = info.gname = ""
        return info

    name = destination.name
    for ending in _PACKED:
        name = name.removesuffix(ending)
    try:
        with tarfile.open(destination, "x:gz") as archive:
            archive.add(root, arcname=name or "bundle", filter=anonymous)
    except OSError as error:
        note(f"{destination}: can't be written: {error.strerror}.")
        if not isinstance(error, FileExistsError):  # that one isn't ours
            destination.unlink(missing_ok=True)
        return False
    return True
