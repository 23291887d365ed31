"""The logs of a job's containers: their ends, and of those that run what they gain afterwards."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field

from gonogo.clients.kube import Cluster, KubeError
from gonogo.clients.kubeconfig import CredentialsError
from gonogo.collect.kube_again import Readings, Seen
from gonogo.collect.kube_family import Container
from gonogo.documents.bundle import Bundle

LOG_LINES = (10_000, 1_000, 100)  # from the end of each log: the first of these that fits into its share
LOG_BYTES, LEAST_LOG_BYTES, ALL_LOGS_BYTES = 8 << 20, 256 << 10, 512 << 20
_AT_ONCE = 6


@dataclass(slots=True)
class JobLogs:
    """Logs into a bundle, one document each; `lose` hears of those that can't be had: (error, document)."""

    cluster: Cluster
    bundle: Bundle
    since_seconds: int
    lose: Callable[[Exception, str], None]
    count: int = 0
    cut: list[str] = field(default_factory=list)  # those that were not read whole, in words
    readings: Readings = field(default_factory=Readings)

    def read(self, containers: Iterable[Container]) -> None:
        """The end of each one's log, of this run and the one before; those that failed first."""
        wanted = sorted(containers, key=lambda c: not c.failed)
        share = max(LEAST_LOG_BYTES, min(LOG_BYTES, ALL_LOGS_BYTES // max(1, len(wanted))))
        self._each([lambda c=c, p=p: self._first(c, p, share) for c in wanted for p in c.runs])  # type: ignore[misc]

    def read_on(self) -> None:
        """What each log gained; one that can't be read any more stays as it was."""
        self._each([lambda n=n, s=s: self._more(n, s) for n, s in self.readings.logs.items()])  # type: ignore[misc]

    def _each(self, tasks: Sequence[Callable[[], None]]) -> None:
        """Several at a time; Ctrl-C gives up those that are left."""
        pool = ThreadPoolExecutor(_AT_ONCE, "logs")
        try:
            pending: list[Future[None]] = [pool.submit(task) for task in tasks]
            for future in pending:
                future.result()
        except KeyboardInterrupt:
            self.cluster.stopped.set()
            raise
        finally:
            pool.shutdown(wait=True, cancel_futures=True)

    def _first(self, container: Container, previous: bool, most_bytes: int) -> None:
        name = f"logs/{container.pod}.{container.name}{'.previous' if previous else ''}.log"
        try:
            lines, cut = self._tail(container, previous, most_bytes)
        except (KubeError, CredentialsError) as error:
            if not previous or getattr(error, "code", 0) not in (400, 404):  # nodes don't keep old logs for ever
                self.lose(error, name)
            return
        self._keep(name, container, lines)
        self.count += 1
        if not previous:
            self.readings.logs[name] = Seen.of(container, lines)
        if cut:
            self.cut.append(f"{name}, its last {len(lines)} lines")

    def _tail(self, container: Container, previous: bool, most_bytes: int) -> tuple[deque[bytes], bool]:
        """The last lines of a log that fit, and whether there were more; fewer are asked for where they are long."""
        for tail in LOG_LINES:
            lines: deque[bytes] = deque()
            size = 0
            for line in self.cluster.logs(
                container.pod, self.cluster.namespace, container=container.name, previous=previous, tail=tail,
                since_seconds=self.since_seconds, most_bytes=most_bytes, timestamps=True,
            ):  # fmt: skip
                lines.append(line)
                size += len(line) + 1
            if size < most_bytes:
                return lines, len(lines) >= tail
        return lines, True

    def _more(self, name: str, seen: Seen) -> None:
        try:
            lines = list(
                self.cluster.logs(
                    seen.container.pod, self.cluster.namespace, container=seen.container.name, since=seen.since,
                    most_bytes=LOG_BYTES, timestamps=True,
                )
            )  # fmt: skip
        except (KubeError, CredentialsError):
            return
        seen.gained = 0
        self._keep(name, seen.container, [line for line in lines if seen.take(line)])

    def _keep(self, name: str, container: Container, lines: Iterable[bytes]) -> None:
        head = f"[pod/{container.pod}/{container.name}] ".encode()
        for line in lines:
            self.bundle.append(name, head + _short_time(line))


def _short_time(line: bytes) -> bytes:
    """The line's time to the millisecond: of one length in every line, and short."""
    stamp, space, rest = line.partition(b" ")
    if not space or len(stamp) < 20 or stamp[10:11] != b"T" or not stamp.endswith(b"Z"):
        return line
    return stamp[:-1].partition(b".")[0] + b"." + (stamp[20:23] if stamp[19:20] == b"." else b"000") + b"Z " + rest
