"""The agents' records out of pods' logs, followed while they are written and read again where a stream broke."""

from __future__ import annotations

import queue
import threading
from dataclasses import dataclass, field

from gonogo.clients.kube import Cluster, Forbidden, KubeError, NotFound, Unreachable


@dataclass(slots=True)
class Logs:
    """Lines of all pods in one queue, as (index, line)."""

    cluster: Cluster
    namespace: str
    lines: queue.SimpleQueue[tuple[int, bytes]] = field(default_factory=queue.SimpleQueue)
    refused: Forbidden | None = None
    trouble: str = ""  # the last reason for which a stream broke
    unheard: set[int] = field(default_factory=set)  # asked for while the API server did not answer, and not heard since
    _stopped: threading.Event = field(default_factory=threading.Event)

    def follow(self, index: int, pod: str) -> None:
        """Begin to follow one pod's log."""
        threading.Thread(target=self._follow, args=(index, pod), name=f"log:{pod}", daemon=True).start()

    def stop(self) -> None:
        """Streams end with their next line, or with the connection."""
        self._stopped.set()

    def _follow(self, index: int, pod: str) -> None:
        """From the first line each time: lines that were passed on are counted and passed over."""
        seen, quiet = 0, 0
        while not self._stopped.is_set() and quiet < 3:
            number = 0
            try:
                for line in self.cluster.logs(pod, self.namespace, follow=True):
                    number += 1
                    if number > seen:
                        self.lines.put((index, line))
                        self.unheard.discard(index)
                    if self._stopped.is_set():
                        return
                quiet += 1  # a whole log ends when its container has; a second look finds what came late
            except Forbidden as error:
                self.refused = error
                return
            except NotFound:
                return
            except KubeError as error:
                self.trouble = str(error)
                if not isinstance(error, Unreachable):
                    self.unheard.discard(index)  # it answers, and says that it can't have the log: the node may be lost
                elif not number:
                    self.unheard.add(index)
            if number > seen:
                seen, quiet = number, 0
            self._stopped.wait(0.5 + quiet)
