"""`gonogo cleanup`."""

from __future__ import annotations

import time
from typing import Annotated

from cyclopts import Parameter

from gonogo.cli.exits import Exit
from gonogo.cli.kube import GROUP, Context
from gonogo.cli.screen import note, out
from gonogo.errors import InputError
from gonogo.report.text import count

HERE = Context()


def cleanup(
    *,
    where: Context = HERE,
    everything: Annotated[
        bool, Parameter("--all", group=GROUP, help="Also runs whose pods still go, which may be somebody else's.")
    ] = False,
    bundles: Annotated[
        bool,
        Parameter("--bundles", help="Also old bundles below $XDG_STATE_HOME/gonogo, but for the latest 20 and those "
                  "of the last hour."),
    ] = False,
) -> int:  # fmt: skip
    """Remove what a killed run may have left: on this machine, or with --context in the namespace of a cluster.

    Runs that are still going are left alone, and so are bundles, unless asked for: each new run keeps the latest 20 of
    those that were given no name. Prints what was removed, one a line.
    """
    if where.chosen:
        if bundles:
            raise InputError("--bundles is for this machine; it can't be used with flags that choose a cluster.")
        left, old = _in_cluster(where, everything), []
    else:
        if everything:
            raise InputError("--all is for a cluster: it needs --context, --namespace or --kubeconfig.")
        from gonogo.documents.bundle import prune
        from gonogo.launch.leftovers import remove_dead

        left, old = remove_dead(), [str(path) for path in prune(time.time())] if bundles else []
    out("".join(f"{name}\n" for name in [*left, *old]))
    removed = [f"{count(len(found), one)} removed" for found, one in ((left, "leftover"), (old, "old bundle")) if found]
    note(f"{', '.join(removed)}." if removed else "Nothing was left over.")
    return Exit.GO


def _in_cluster(where: Context, everything: bool) -> list[str]:
    from gonogo.clients.kube import Cluster, KubeError
    from gonogo.clients.kubeconfig import CredentialsError
    from gonogo.launch.pods import remove

    try:
        cluster = Cluster.connect(where.context or "", where.namespace or "", where.kubeconfig or "")
        return remove(cluster, cluster.namespace, everything)
    except (CredentialsError, KubeError) as error:
        raise InputError(str(error)) from None
