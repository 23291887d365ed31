"""Documents from the Kubernetes API: lists, page by page, several at a time; nothing is made here."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass

from gonogo.clients.kube import Cluster, Forbidden, KubeError, NotFound, Resource
from gonogo.collect import kube_access
from gonogo.collect.kube_project import projected
from gonogo.documents import kubernetes as k
from gonogo.documents.bundle import Bundle
from gonogo.documents.kubernetes import (
    AccessDocument,
    ClaimObjects,
    CrdObjects,
    CsiDriverObjects,
    CsiNodeObjects,
    DaemonSetObjects,
    EndpointSliceObjects,
    EventObjects,
    LimitRangeObjects,
    NamespaceObjects,
    NetworkPolicyObjects,
    NodeObjects,
    Objects,
    PodObjects,
    QuotaObjects,
    Scope,
    ServerDocument,
    ServiceObjects,
    StorageClassObjects,
    VolumeObjects,
)
from gonogo.kernel import Control, Lost, Progress
from gonogo.model import Level

_TICK_SECONDS = 0.25
_AT_ONCE = 6


@dataclass(frozen=True, slots=True)
class KubernetesTarget:
    """A cluster as one user sees it, and what of it this run is about."""

    cluster: Cluster
    scope: Scope
    level: Level
    run: str


@dataclass(frozen=True, slots=True)
class _List:
    """How one kind is listed."""

    document: type[Objects]
    group: str = ""
    where: str = "cluster"  # cluster (all namespaces), namespace (the run's), dns
    labels: str = ""

    @property
    def resource(self) -> Resource:
        namespaced = self.where != "cluster" or self.document in (PodObjects, DaemonSetObjects)
        return Resource(self.document.plural, self.document.kind, self.group, "v1", namespaced)


LISTS = (
    _List(NodeObjects),
    _List(PodObjects),
    _List(DaemonSetObjects, "apps"),
    _List(CrdObjects, "apiextensions.k8s.io"),
    _List(StorageClassObjects, "storage.k8s.io"),
    _List(CsiDriverObjects, "storage.k8s.io"),
    _List(CsiNodeObjects, "storage.k8s.io"),
    _List(VolumeObjects),
    _List(NamespaceObjects),
    _List(ClaimObjects, where="namespace"),
    _List(QuotaObjects, where="namespace"),
    _List(LimitRangeObjects, where="namespace"),
    _List(NetworkPolicyObjects, "networking.k8s.io", "namespace"),
    _List(EventObjects, where="namespace"),
    _List(ServiceObjects, where="namespace"),
    _List(EndpointSliceObjects, "discovery.k8s.io", "dns", "kubernetes.io/service-name=kube-dns"),
)


def read_cluster(target: KubernetesTarget, bundle: Bundle, control: Control) -> Iterator[
    ServerDocument | AccessDocument | NodeObjects | PodObjects | DaemonSetObjects | CrdObjects | StorageClassObjects
    | CsiDriverObjects | CsiNodeObjects | VolumeObjects | NamespaceObjects | ClaimObjects | QuotaObjects
    | LimitRangeObjects | NetworkPolicyObjects | ServiceObjects | EventObjects | EndpointSliceObjects | Lost
]:  # fmt: skip
    """Each wanted document as soon as it is whole; one that is refused is lost, with the verb that it takes."""
    bundle.write(Scope.file, k.answer_json(target.scope))
    tasks: dict[type, Callable[[], object]] = {
        ServerDocument: lambda: _server(target, bundle),
        AccessDocument: lambda: _access(target, bundle),
    }
    tasks |= {how.document: lambda how=how: _listed(how, target, bundle, control) for how in LISTS}  # type: ignore[misc]
    chosen = {document: task for document, task in tasks.items() if document in control.wanted}
    pool = ThreadPoolExecutor(_AT_ONCE, "kubernetes")
    pending: dict[Future[object], type] = {pool.submit(_guarded, kind, task): kind for kind, task in chosen.items()}
    try:
        while pending and not control.stopped.is_set():
            done, _ = wait(pending, _TICK_SECONDS, FIRST_COMPLETED)
            for future in done:
                pending.pop(future)
                yield future.result()  # type: ignore[misc]
            control.progress(Progress("read", len(chosen) - len(pending), len(chosen)))
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _guarded(document: type, task: Callable[[], object]) -> object:
    try:
        return task()
    except Forbidden as error:
        return Lost(f"{error} Allow it with the role that `gonogo permissions` prints.", fact=document)
    except KubeError as error:
        return Lost(str(error), fact=document)


def _server(target: KubernetesTarget, bundle: Bundle) -> ServerDocument:
    said = target.cluster.raw("/version")
    document = ServerDocument(str(said.get("gitVersion", "")), target.cluster.server)
    bundle.write(document.file, k.answer_json(document))
    return document


def _access(target: KubernetesTarget, bundle: Bundle) -> AccessDocument:
    document = kube_access.ask(target.cluster, target.level, target.scope.namespace)
    bundle.write(document.file, k.answer_json(document))
    return document


def _listed(how: _List, target: KubernetesTarget, bundle: Bundle, control: Control) -> Objects:
    namespace = {"cluster": "", "namespace": target.scope.namespace, "dns": kube_access.DNS_NAMESPACE}[how.where]
    try:
        return _keep(how, target.cluster, namespace, bundle, control)
    except Forbidden:
        if how.document is not PodObjects:
            raise
        return _keep(how, target.cluster, target.scope.namespace, bundle, control)
    except NotFound:
        return how.document(())  # an API that this cluster doesn't have


def _keep(how: _List, cluster: Cluster, namespace: str, bundle: Bundle, control: Control) -> Objects:
    """The list as a document in the bundle, one object a line; in memory only what was written."""
    document = how.document
    name = f"{k.FOLDER}{document.plural}.json"
    items: list[tuple[str, int, bytes]] = []
    held: bytes | None = None  # the last one has no comma

    def put(line: bytes, comma: bytes) -> None:
        written = bundle.append(name, line + comma)
        items.append((name, len(items) + 2, written.removesuffix(b",")))

    for page, _ in cluster.pages(how.resource, namespace, how.labels):
        if not items and held is None:
            bundle.append(name, document.head())
        for raw in page:
            if held is not None:
                put(held, b",")
            held = projected(document.kind, raw)
        if control.stopped.is_set():
            break
    if held is not None:
        put(held, b"")
    bundle.append(name, k.FOOT)
    return document(tuple(items), everywhere=not namespace or how.where != "cluster")
