"""The Kubernetes API as gonogo uses it: plain JSON over lightkube's connection, and errors that name what to do.

Objects go in and come out as the API's own JSON, so that a document is what `kubectl get -o json` prints.
"""

from __future__ import annotations

import json
import random
import ssl
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import httpx2 as httpx
import msgspec
from lightkube.config import client_adapter

from gonogo.clients import kubeconfig
from gonogo.clients.kubeconfig import CredentialsError
from gonogo.documents.without_secrets import without_secrets

FIELD_MANAGER = "gonogo"
PAGE = 500
METADATA = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
"""Names, labels and the like of objects, without the rest of them."""
TRIES = 5
AGAIN = frozenset({429, 500, 502, 503, 504})  # what a second try may mend
Object = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Resource:
    """A kind of object, by what its URL is made of."""

    plural: str
    kind: str
    group: str = ""
    version: str = "v1"
    namespaced: bool = True

    @property
    def api_version(self) -> str:
        """What objects of this kind say in `apiVersion`."""
        return f"{self.group}/{self.version}" if self.group else self.version

    def path(self, namespace: str = "", name: str = "", sub: str = "") -> str:
        """The URL's path; without a namespace, all of them."""
        parts = [f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"]
        if self.namespaced and namespace:
            parts.append(f"namespaces/{namespace}")
        return "/".join([*parts, self.plural, *([name] if name else []), *([sub] if sub else [])])


NODES = Resource("nodes", "Node", namespaced=False)
NAMESPACES = Resource("namespaces", "Namespace", namespaced=False)
PODS = Resource("pods", "Pod")
SERVICES = Resource("services", "Service")
CONFIGMAPS = Resource("configmaps", "ConfigMap")
JOBS = Resource("jobs", "Job", "batch")
EVENTS = Resource("events", "Event")
CLAIMS = Resource("persistentvolumeclaims", "PersistentVolumeClaim")
QUOTAS = Resource("resourcequotas", "ResourceQuota")
ACCESS_REVIEWS = Resource("selfsubjectaccessreviews", "SelfSubjectAccessReview", "authorization.k8s.io", "v1", False)


class KubeError(Exception):
    """The API refused or failed; the text is one sentence."""

    def __init__(self, text: str, code: int = 0, reason: str = "", status: Mapping[str, Any] | None = None) -> None:
        super().__init__(text)
        self.code, self.reason, self.status = code, reason, dict(status or {})


class Unreachable(KubeError):
    """No answer: address, network, TLS or time."""


class Unauthorized(KubeError):
    """The credentials are missing, expired or unknown to the cluster."""


class Forbidden(KubeError):
    """RBAC, admission or a quota refuses; `verb` and `resource` are those of the request."""

    def __init__(self, text: str, verb: str, resource: str, **more: Any) -> None:
        super().__init__(text, **more)
        self.verb, self.resource = verb, resource


class NotFound(KubeError):
    """No such object, or no such kind."""


class Gone(KubeError):
    """The list or watch is too old to go on."""


class _ListMeta(msgspec.Struct, rename="camel"):
    resource_version: str = ""
    token: str = msgspec.field(name="continue", default="")


class _Page(msgspec.Struct):
    items: list[msgspec.Raw] | None = None
    metadata: _ListMeta = msgspec.field(default_factory=_ListMeta)


_page = msgspec.json.Decoder(_Page)


class Cluster:
    """One cluster as one user sees it. Thread-safe; every request has a deadline and transient failures are retried."""

    def __init__(self, http: httpx.Client, context: str, namespace: str, tries: int = TRIES) -> None:
        self._http = http
        self.tries = tries
        self.context = context
        self.namespace = namespace
        self.server = without_secrets(str(http.base_url).rstrip("/"))  # to be shown
        self.stopped = threading.Event()  # set: no retry waits any more

    @classmethod
    def connect(
        cls, context: str = "", namespace: str = "", config_file: str = "", seconds: float = 15.0, tries: int = TRIES
    ) -> Cluster:
        """By kubeconfig or the pod's own account; talks to nobody yet. Raises CredentialsError."""
        config, proxy = kubeconfig.load(context, config_file)
        try:
            http = client_adapter.Client(config, kubeconfig.parameters(config, proxy, seconds))
        except (OSError, ValueError, ssl.SSLError) as error:
            raise CredentialsError(
                f"The certificates of context {config.context_name} cannot be read: {error}."
            ) from None
        return cls(http, config.context_name, namespace or config.namespace, tries)

    def close(self) -> None:
        """Ends all connections; streams that others read end with Unreachable."""
        self.stopped.set()
        self._http.close()

    # reading

    def get(self, resource: Resource, name: str, namespace: str = "", sub: str = "") -> Object:
        """One object. Raises NotFound."""
        path = resource.path((namespace or self.namespace) if resource.namespaced else "", name, sub)
        return self._json("GET", path, "get", resource)

    def raw(self, path: str) -> Object:
        """A path of the API that is no object, such as /version."""
        return self._json("GET", path, "get", None)

    def pages(
        self, resource: Resource, namespace: str = "", labels: str = "", fields: str = "", limit: int = PAGE,
        metadata_only: bool = False,
    ) -> Iterator[tuple[list[bytes], str]]:  # fmt: skip
        """Objects as raw JSON, page by page, each with the list's resource version. No namespace: all."""
        token = ""
        accept = METADATA if metadata_only else ""
        while True:
            query = {"limit": str(limit), "continue": token, "labelSelector": labels, "fieldSelector": fields}
            params = {k: v for k, v in query.items() if v}
            try:
                response = self._send("GET", resource.path(namespace), "list", resource, params=params, accept=accept)
            except Gone as error:  # the token grew too old: the API offers another, on a newer state
                token, old = str(error.status.get("metadata", {}).get("continue") or ""), token
                if not token or token == old:
                    raise
                continue
            page = _page.decode(response.content)
            yield [bytes(item) for item in page.items or []], page.metadata.resource_version
            if not (token := page.metadata.token):
                return

    def objects(
        self, resource: Resource, namespace: str = "", labels: str = "", fields: str = ""
    ) -> tuple[list[Object], str]:
        """All objects of a small list, with the version to watch from."""
        found: list[Object] = []
        version = ""
        for page, at in self.pages(resource, namespace, labels, fields):
            found += [json.loads(item) for item in page]
            version = at
        return found, version

    def watch(
        self,
        resource: Resource,
        namespace: str,
        labels: str = "",
        fields: str = "",
        version: str = "",
        seconds: int = 60,
    ) -> Iterator[tuple[str, Object]]:
        """(ADDED | MODIFIED | DELETED | BOOKMARK, object) until `seconds` are over. Raises Gone: list again."""
        query = {"watch": "1", "allowWatchBookmarks": "true", "resourceVersion": version, "labelSelector": labels}
        query |= {"fieldSelector": fields, "timeoutSeconds": str(seconds)}
        params = {k: v for k, v in query.items() if v}
        for line in self._lines(resource.path(namespace), "watch", resource, params, seconds + 10.0):
            event = json.loads(line)
            if event["type"] == "ERROR":
                raise _error(event["object"], event["object"].get("code", 0), "watch", resource)
            yield event["type"], event["object"]

    def logs(
        self, pod: str, namespace: str, *, container: str = "", follow: bool = False, since: str = "",
        since_seconds: int = 0, previous: bool = False, tail: int = 0, most_bytes: int = 0, timestamps: bool = False,
    ) -> Iterator[bytes]:  # fmt: skip
        """Lines of a container, which a pod with one need not name; the stream ends with it, else with Unreachable.

        Of the last `tail` lines, those that begin within the first `most_bytes`.
        """
        query = {"container": container, "follow": "true" if follow else "", "sinceTime": since}
        query |= {"sinceSeconds": str(since_seconds or ""), "previous": "true" if previous else ""}
        query |= {"tailLines": str(tail or ""), "limitBytes": str(most_bytes or "")}
        query |= {"timestamps": "true" if timestamps else ""}
        params = {k: v for k, v in query.items() if v}
        path = PODS.path(namespace, pod, "log")
        yield from self._lines(path, "get", replace(PODS, plural="pods/log"), params, None if follow else 30.0)

    def served(self, group: str, plural: str) -> Resource | None:
        """A kind as this cluster serves it, in the version that it prefers; None where it doesn't."""
        try:
            about = self.raw(f"/apis/{group}")
            preferred = about.get("preferredVersion", {}).get("version", "")
            versions = [v["version"] for v in about.get("versions", [])]
            for version in sorted(versions, key=lambda v: v != preferred):
                for found in self.raw(f"/apis/{group}/{version}").get("resources", []):
                    if found["name"] == plural:
                        return Resource(plural, found["kind"], group, version, bool(found.get("namespaced", True)))
        except NotFound:
            pass
        return None

    def can(self, verb: str, group: str, resource: str, namespace: str = "") -> bool:
        """What RBAC says of this user; `resource` may have a subresource: pods/log."""
        plural, _, sub = resource.partition("/")
        asked = {"verb": verb, "group": group, "resource": plural, "subresource": sub, "namespace": namespace}
        body = {
            "apiVersion": ACCESS_REVIEWS.api_version,
            "kind": ACCESS_REVIEWS.kind,
            "spec": {"resourceAttributes": {k: v for k, v in asked.items() if v}},
        }
        answer = self._json("POST", ACCESS_REVIEWS.path(), "create", ACCESS_REVIEWS, body=body)
        return bool(answer.get("status", {}).get("allowed"))

    # writing

    def apply(self, resource: Resource, body: Object, *, dry_run: bool = False) -> Object:
        """Server-side apply, as field manager gonogo; safe to repeat."""
        meta = body["metadata"]
        path = resource.path(meta.get("namespace", "") or self.namespace, meta["name"])
        params = {"fieldManager": FIELD_MANAGER, "force": "true", "fieldValidation": "Strict"}
        params |= {"dryRun": "All"} if dry_run else {}
        kind = "application/apply-patch+yaml"  # JSON is YAML
        return self._json("PATCH", path, "patch", resource, params=params, body=body, kind=kind)

    def merge(self, resource: Resource, name: str, namespace: str, patch: Object, sub: str = "") -> Object:
        """A JSON merge patch of an object or of a part such as its status."""
        path = resource.path(namespace, name, sub)
        kind = "application/merge-patch+json"
        return self._json("PATCH", path, "patch", resource, body=patch, kind=kind)

    def create(self, resource: Resource, body: Object, *, dry_run: bool = False) -> tuple[Object, list[str]]:
        """The object as admitted, and the warnings of the API server."""
        path = resource.path(body["metadata"].get("namespace", "") or self.namespace)
        params = {"fieldManager": FIELD_MANAGER, "fieldValidation": "Strict"} | ({"dryRun": "All"} if dry_run else {})
        response = self._send("POST", path, "create", resource, params=params, body=body)
        warnings = [h.split('"', 1)[-1].rstrip('"') for h in response.headers.get_list("warning")]
        return json.loads(response.content), warnings

    def delete(self, resource: Resource, name: str, namespace: str, *, grace_seconds: int | None = None) -> bool:
        """With all that it owns, in the background; False if there was none."""
        body: Object = {"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Background"}
        if grace_seconds is not None:
            body["gracePeriodSeconds"] = grace_seconds
        try:
            self._send("DELETE", resource.path(namespace, name), "delete", resource, body=body)
        except NotFound:
            return False
        return True

    # the wire

    def _json(self, method: str, path: str, verb: str, resource: Resource | None, **more: Any) -> Object:
        answer = json.loads(self._send(method, path, verb, resource, **more).content)
        assert isinstance(answer, dict)
        return answer

    def _send(
        self, method: str, path: str, verb: str, resource: Resource | None, *,
        params: Mapping[str, str] | None = None, body: Object | None = None, kind: str = "application/json",
        accept: str = "",
    ) -> httpx.Response:  # fmt: skip
        content = json.dumps(body).encode() if body is not None else None
        headers = ({"Content-Type": kind} if content else {}) | ({"Accept": accept} if accept else {})
        return self._again(
            lambda: self._checked(
                self._http.request(method, path, params=params, content=content, headers=headers), verb, resource
            )
        )

    def _again(self, attempt: Callable[[], httpx.Response]) -> httpx.Response:
        """The API server may be restarting or ask us to slow down."""
        for n in range(1, self.tries + 1):
            try:
                return attempt()
            except (KubeError, httpx.HTTPError, RuntimeError) as error:
                failure = error if isinstance(error, KubeError) else _unreachable(error, self.server)
                transient = isinstance(failure, Unreachable) or failure.code in AGAIN
                if n == self.tries or not transient or _is_final(error):
                    raise failure from None
                details = failure.status.get("details", {}) if failure.status else {}
                pause = float(details.get("retryAfterSeconds") or 0) or min(4.0, 0.25 * 2**n)
            if self.stopped.wait(min(pause, 10.0) * random.uniform(0.7, 1.0)):
                raise failure from None
        raise AssertionError

    def _checked(self, response: httpx.Response, verb: str, resource: Resource | None) -> httpx.Response:
        if response.is_success:
            return response
        try:
            status = json.loads(response.read())
        except ValueError:
            status = {"message": response.text[:300]}
        raise _error(status if isinstance(status, dict) else {}, response.status_code, verb, resource)

    def _lines(
        self, path: str, verb: str, resource: Resource, params: Mapping[str, str], seconds: float | None
    ) -> Iterator[bytes]:
        timeout = httpx.Timeout(15.0, read=seconds)
        try:
            with self._http.stream("GET", path, params=params, timeout=timeout) as response:
                self._checked(response, verb, resource)
                rest = b""
                for chunk in response.iter_bytes():
                    *lines, rest = (rest + chunk).split(b"\n")
                    yield from lines
                if rest:
                    yield rest
        except (httpx.HTTPError, httpx.StreamError, RuntimeError) as error:
            raise _unreachable(error, self.server) from None


def _is_final(error: Exception) -> bool:
    """A wrong certificate or a name that doesn't exist stays wrong."""
    text = str(error)
    return (
        "CERTIFICATE_VERIFY_FAILED" in text or "Name or service not known" in text or "client has been closed" in text
    )


def _unreachable(error: Exception, server: str) -> Unreachable:
    if isinstance(error, httpx.ConnectTimeout):
        text = f"The API server {server} does not answer: the connection timed out (endpoint access, VPN, firewall)."
    elif isinstance(error, httpx.TimeoutException):
        text = f"The API server {server} did not answer in time."
    elif "CERTIFICATE_VERIFY_FAILED" in str(error):
        text = f"The API server {server} shows a certificate that this kubeconfig does not trust: {error}."
    else:
        text = f"The API server {server} cannot be reached: {str(error) or type(error).__name__}."
    return Unreachable(without_secrets(text))


def _error(status: Mapping[str, Any], code: int, verb: str, resource: Resource | None) -> KubeError:
    """What the API's Status object says, as the exception to catch."""
    message = str(status.get("message") or "no reason given").strip()
    reason = str(status.get("reason") or "")
    what = resource.plural + (f".{resource.group}" if resource.group else "") if resource else "this path"
    more: dict[str, Any] = {"code": code, "reason": reason, "status": status}
    match code:
        case 401:
            return Unauthorized("The API server does not accept these credentials: expired, or unknown to it.", **more)
        case 403:
            return Forbidden(f"Forbidden: {verb} {what}: {message}", verb, what, **more)
        case 404:
            return NotFound(f"Not found: {verb} {what}: {message}", **more)
        case 410:
            return Gone(message, **more)
    return KubeError(f"{verb} {what} failed ({code} {reason}): {message}", **more)
