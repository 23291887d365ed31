"""Which cluster and with what credentials: kubeconfig files, the pod's own service account, exec plug-ins."""

from __future__ import annotations

import difflib
import json
import os
import subprocess
import time
from collections.abc import Generator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import httpx2 as httpx
import yaml
from lightkube.config.client_adapter import ConnectionParams
from lightkube.config.kubeconfig import KubeConfig, SingleConfig
from lightkube.config.models import User, UserExec
from lightkube.core.exceptions import ConfigError

from gonogo.documents.without_secrets import without_secrets

EXEC_SECONDS = 30.0
EXEC_VERSIONS = tuple(f"client.authentication.k8s.io/{v}" for v in ("v1", "v1beta1", "v1alpha1"))
PATH_KEYS = ("certificate-authority", "client-certificate", "client-key", "tokenFile")
KINDS = ("clusters", "contexts", "users")
BYTES_MAX = 4 << 20


class CredentialsError(Exception):
    """There is no usable way to the cluster: nothing was asked of it. The text is one line."""


def files() -> list[Path]:
    """The kubeconfig files in kubectl's order: those of $KUBECONFIG, or ~/.kube/config."""
    named = [_below_home(p) for p in os.environ.get("KUBECONFIG", "").split(os.pathsep) if p]
    return named or [_below_home("~/.kube/config")]


IN_CLUSTER = "in-cluster"
"""Stands where a context's name stands, for the service account of the pod that this runs in."""


def load(context: str = "", kubeconfig: str = "") -> tuple[SingleConfig, str | None]:
    """The chosen context (or the current one, or the pod's own service account) and its proxy.

    Raises CredentialsError if there is none, or it is not whole.
    """
    paths = [_below_home(kubeconfig)] if kubeconfig else files()
    found = [p for p in paths if _exists(p)]
    if not found and kubeconfig:
        raise CredentialsError(f"{kubeconfig} does not exist: expected a kubeconfig.")
    if not found:
        return _in_cluster(context, paths)
    merged = _merge(found)
    try:
        config = KubeConfig.from_dict(merged)
        name = context or config.current_context
        if not name:
            hint = f"use --context, one of {_known(config)}." if config.contexts else "it holds no contexts."
            raise CredentialsError(f"{found[0]} names no current context: {hint}")
        if name not in config.contexts:
            near = difflib.get_close_matches(name, config.contexts, 1)
            hint = f"did you mean {near[0]!r}?" if near else f"there are {_known(config)}."
            raise CredentialsError(f"There is no context {name!r} in {', '.join(map(str, found))}: {hint}")
        single = config.get(name)
    except KeyError as error:
        raise CredentialsError(f"{found[0]}: the context or a part of it is missing: {error}.") from None
    except (ConfigError, ValueError, TypeError, AttributeError) as error:
        raise CredentialsError(f"{found[0]} is not a kubeconfig: {error}.") from None
    assert single is not None
    clusters = {c["name"]: c["cluster"] for c in merged["clusters"]}
    return single._replace(user=single.user or User()), clusters[single.context.cluster].get("proxy-url")


def parameters(config: SingleConfig, proxy: str | None, seconds: float) -> ConnectionParams:
    """Timeouts, proxy and credentials for the HTTP client."""
    return _Parameters(timeout=httpx.Timeout(seconds, connect=min(5.0, seconds)), proxy=proxy, trust_env=True)


def _below_home(path: str) -> Path:
    """With ~ replaced, unless the user has no home, as in a pod with a user id of its own."""
    try:
        return Path(path).expanduser()
    except RuntimeError:
        return Path(path)


def _exists(path: Path) -> bool:
    """Raises CredentialsError for what no path can be."""
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except (OSError, ValueError) as error:
        raise CredentialsError(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}.") from None
    return True


def _yaml(text: str | bytes) -> Any:
    return yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506 - both are safe loaders


def _first_line(error: Exception) -> str:
    return str(getattr(error, "problem", None) or error).partition("\n")[0]


def _known(config: KubeConfig) -> str:
    return ", ".join(sorted(config.contexts)) or "none"


def _in_cluster(context: str, paths: list[Path]) -> tuple[SingleConfig, str | None]:
    if context:
        raise CredentialsError(f"There is no context {context!r}: {', '.join(map(str, paths))} does not exist.")
    try:
        single = KubeConfig.from_service_account().get()
    except (ConfigError, KeyError):
        raise CredentialsError(
            f"No way to a cluster: {', '.join(map(str, paths))} does not exist, and this is not a pod."
        ) from None
    assert single is not None
    return single._replace(context_name=IN_CLUSTER), None


def _merge(paths: list[Path]) -> dict[str, Any]:
    """As kubectl does: the first file to name something wins. Relative paths are those of their file's folder."""
    merged: dict[str, Any] = {"clusters": {}, "contexts": {}, "users": {}}
    for path in paths:
        try:
            if not path.is_file():
                raise CredentialsError(f"{path} is not a kubeconfig: it is a folder or a device, not a file.")
            with path.open("rb") as file:
                raw = file.read(BYTES_MAX + 1)
            if len(raw) > BYTES_MAX:
                raise CredentialsError(f"{path} is not a kubeconfig: it has more than {BYTES_MAX >> 20} MiB.")
            data = _yaml(raw) or {}
        except OSError as error:
            raise CredentialsError(f"{path} cannot be read: {error.strerror}.") from None
        except RecursionError:
            raise CredentialsError(f"{path} is not a kubeconfig: it is nested too deeply.") from None
        except (yaml.YAMLError, UnicodeDecodeError) as error:
            mark = getattr(error, "problem_mark", None)
            where = f":{mark.line + 1}:{mark.column + 1}" if mark else ""
            raise CredentialsError(f"{path}{where}: not YAML: {_first_line(error)}.") from None
        if not isinstance(data, dict) or any(not isinstance(data.get(k) or [], list) for k in KINDS):
            raise CredentialsError(f"{path} is not a kubeconfig: expected lists of {', '.join(KINDS)}.")
        current = data.get("current-context") or None
        if not isinstance(current, str | None):
            raise CredentialsError(f"{path} is not a kubeconfig: expected a name as current-context.")
        merged["current-context"] = merged.get("current-context") or current
        for kind in KINDS:
            for entry in data.get(kind) or []:
                if not isinstance(entry, dict) or not isinstance(entry.get("name"), str):
                    raise CredentialsError(f"{path}: each of {kind} needs a name.")
                merged[kind].setdefault(entry["name"], _absolute(entry, path.parent))
    return {**merged, **{kind: list(merged[kind].values()) for kind in KINDS}}


def _absolute(entry: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    def fixed(value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        return {k: str(folder / v) if k in PATH_KEYS and isinstance(v, str) and v else v for k, v in value.items()}

    return {key: fixed(value) for key, value in entry.items()}


class _Parameters(ConnectionParams):
    def httpx_params(self, config: SingleConfig) -> dict[str, Any]:
        plugin = config.user.exec if config.user else None
        params: dict[str, Any] = super().httpx_params(config)
        params["limits"] = httpx.Limits(max_connections=None, max_keepalive_connections=32)  # one stream a pod's log
        if plugin:
            params["auth"] = ExecAuth(plugin)
        return params


class ExecAuth(httpx.Auth):
    """A token from a plug-in such as `aws eks get-token`, kept until it expires or is refused."""

    def __init__(self, plugin: UserExec) -> None:
        self._plugin = plugin
        self._token = ""
        self._expires = 0.0

    def sync_auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        for fresh in (False, True):
            if fresh or not self._token or time.time() > self._expires - 10:
                self._fetch()
            request.headers["Authorization"] = f"Bearer {self._token}"
            response = yield request
            if response.status_code != 401:
                return

    def _fetch(self) -> None:
        plugin = self._plugin
        if plugin.apiVersion not in EXEC_VERSIONS:
            raise CredentialsError(
                f"{plugin.command} speaks {plugin.apiVersion}, not one of {', '.join(EXEC_VERSIONS)}."
            )
        asked = {"apiVersion": plugin.apiVersion, "kind": "ExecCredential", "spec": {"interactive": False}}
        environment = {**os.environ, **{v.name: v.value for v in plugin.env or []}}
        try:
            done = subprocess.run(
                [plugin.command, *(plugin.args or [])],
                env={**environment, "KUBERNETES_EXEC_INFO": json.dumps(asked)},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=EXEC_SECONDS,
            )
        except FileNotFoundError:
            hint = f" {plugin.installHint.splitlines()[0]}" if plugin.installHint else ""
            raise CredentialsError(
                f"The kubeconfig needs the program {plugin.command}, which is not there.{hint}"
            ) from None
        except (OSError, subprocess.TimeoutExpired) as error:
            why = without_secrets(str(error))  # it quotes the arguments
            raise CredentialsError(f"{plugin.command}, which makes the credentials, failed: {why}.") from None
        if done.returncode:
            said = without_secrets(done.stderr.decode(errors="replace")).strip().splitlines()
            raise CredentialsError(
                f"{plugin.command} made no credentials (exit {done.returncode}): {''.join(said[-1:])}"
            )
        try:
            status = json.loads(done.stdout)["status"]
            self._token = str(status["token"])
            until = status.get("expirationTimestamp")
            self._expires = datetime.fromisoformat(until).timestamp() if until else float("inf")
        except (ValueError, KeyError, TypeError):
            raise CredentialsError(f"{plugin.command} printed no token that can be used here.") from None
