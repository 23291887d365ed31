"""Who wrote a line and when, whatever tool put its prefix before it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import PurePosixPath

from gonogo.documents.foreign import json_value

UNKNOWN_YEAR = 2000  # for clocks that print none: times of one log compare, whatever the year

_ISO = re.compile(
    r"(?<!\d)(?P<y>\d{4})[-/](?P<m>\d\d)[-/](?P<d>\d\d)[T _](?P<H>\d\d):(?P<M>\d\d):(?P<S>\d\d)(?:[.,:](?P<f>\d{1,9}))?"
    r"(?P<zone>Z| ?[+-]\d\d:?\d\d(?!\d))?"
)
_GLOG = re.compile(r"(?<![A-Za-z])[IWEF](?P<m>\d{1,2})(?P<d>\d\d) (?P<H>\d\d):(?P<M>\d\d):(?P<S>\d\d)\.(?P<f>\d{1,9})")
_SYSLOG = re.compile(
    r"(?:^|[\[ ])(?P<b>Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) {1,2}(?P<d>\d{1,2})"
    r" (?P<H>\d\d):(?P<M>\d\d):(?P<S>\d\d)(?:\.(?P<f>\d{1,9}))?(?: (?P<y>\d{4}))?"
)
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_EPOCH = re.compile(r"(?:^\[?|\"t\":|\"ts\":)(?P<t>1[5-9]\d{8}(?:\.\d+)?)(?!\d)")
_BOOT = re.compile(r"^(?:<\d+>)?\[ *(?P<t>\d+\.\d{6})\]")

_RANK = re.compile(
    r"\[rank ?(\d+)\]|\[Rank (\d+)\]|(?:^|\] ?|[FPZ] )\[\d+,(\d+)\](?:<std|:)|\bRank:? (\d+)\b|\brank[ =:](\d+)\b"
    r"|\"rank\": ?(\d+)|RANK=(\d+)"
)
_NCCL = re.compile(r"(?:^|[\] >:|])(?P<host>[A-Za-z0-9][\w.-]*):\d+:\d+ \[(?P<gpu>\d+)\] ")
_POD = re.compile(r"^(?:[^\[]{1,60} )?(?:\[pod/[^/\]]+/[^\]]+\] ?)*\[pod/(?P<pod>[^/\]]+)/[^\]]+\]")
_MADE_NAME = r"[a-z][a-z\d]*(?:-[a-z\d]+)*-(?:\d{1,3}|[bcdfghjklmnpqrstvwxz2456789]{5})"
"""How pods of a set or a Job are called: with an index, or five letters, at the end."""
_STERN = re.compile(  # `pod container text`, `[pod/container] text`, `service-1  | text`
    rf"^(?:[+-] )?(?P<pod>{_MADE_NAME})(?: › | )[a-z][a-z\d-]* (?=\S)"
    rf"|^(?:\S{{10,40}} )?\[(?P<bracketed>{_MADE_NAME})/[a-z\d-]+\]"
    rf"|^(?P<service>[a-z][\w-]*-\d{{1,3}}) +\| "
)
_SYSLOG_HOST = re.compile(r"^[A-Z][a-z]{2} {1,2}\d{1,2} [\d:.]{8,15} (?P<host>[\w.-]+) ")
_ISO_HOST = re.compile(r"^\d{4}-\d\d-\d\dT[\d:.,+-]+Z? (?P<host>[A-Za-z][\w.-]+) [\w./-]+(?:\[\d+\])?: ")
_AGENT = re.compile(r'^\{"v":\d+,"run":"[^"]*","node":"(?P<host>[^"]+)"')
_OBJECTS = "kubernetes"  # the folder of a bundle
_LISTED = re.compile(  # an object on a line of its own, as bundles keep them
    r'^\{"apiVersion":"[^"]*","kind":"(?P<kind>\w+)","metadata":\{"name":"(?P<name>[^"]+)"'
)
_LISTED_EVENT = '{"apiVersion":"v1","kind":"Event",'
_ENDED = re.compile(r"finishedAt\"?: ?\"?(\d{4}-[\d:TZ.+-]+)")
_MADE = re.compile(r"(?:startedAt|creationTimestamp|lastHeartbeatTime)\"?: ?\"?\d{4}-")
_FILE_RANK = re.compile(r"rank[-_. ]?(\d+)", re.IGNORECASE)
_GENERIC = re.compile(r"(?:log|logs|stdout|stderr|output|current|previous|events?|dmesg|\d+)", re.IGNORECASE)

_TEXT_KEYS = ("log", "message", "msg", "MESSAGE")
_TIME_KEYS = ("time", "timestamp", "@timestamp", "ts", "__REALTIME_TIMESTAMP")


@dataclass(frozen=True, slots=True)
class Who:
    """The writer of a line, as far as the line and the name of its file tell."""

    rank: int | None = None
    host: str = ""  # a node's or a pod's name, whichever the tool prints
    gpu: int | None = None
    pod: str = ""
    file: str = ""

    def __str__(self) -> str:
        place = self.pod or self.host
        if self.rank is None:
            return place or self.file
        return f"rank {self.rank} on {place}" if place else f"rank {self.rank}"


@dataclass(frozen=True, slots=True)
class When:
    """Seconds since 1970, or since boot; only times of one clock compare."""

    seconds: float
    clock: str = "wall"  # or "boot:<file>"

    def __str__(self) -> str:
        if self.clock != "wall":
            return f"{self.seconds:.3f} s after boot"
        moment = datetime.fromtimestamp(self.seconds, UTC)
        return moment.strftime("%H:%M:%S" if moment.year == UNKNOWN_YEAR else "%Y-%m-%d %H:%M:%S")

    @property
    def year(self) -> int:
        """The year of a wall clock; 0 of one that counts from boot."""
        return datetime.fromtimestamp(self.seconds, UTC).year if self.clock == "wall" else 0

    def of_year(self, year: int) -> When:
        """The same moment of another year."""
        moment = datetime.fromtimestamp(self.seconds, UTC)
        try:
            return When(moment.replace(year=year).timestamp(), self.clock)
        except ValueError:  # the 29th of February
            return self


def unwrap(text: str) -> str:
    """The message in a JSON log line (Docker, Fluent Bit, zap, journald), with its time before it; else the text.

    An Event object that stands on one line reads as a line of the pod's or node's log.
    """
    if text.startswith(_LISTED_EVENT):
        return _event(text)
    if not text.startswith("{") or not text.rstrip().endswith("}"):
        return text
    try:
        record = json_value(text)
    except ValueError:
        return text
    body = next((record[k] for k in _TEXT_KEYS if isinstance(record.get(k), str)), None)
    if body is None:
        return text
    kubernetes = record.get("kubernetes")
    pod = kubernetes.get("pod_name") if isinstance(kubernetes, dict) else None
    time = next((str(record[k]) for k in _TIME_KEYS if k in record), "")
    rest = " ".join(f"{k}={v}" for k, v in record.items() if k not in (*_TEXT_KEYS, *_TIME_KEYS, "kubernetes"))
    return f"{f'[pod/{pod}/c] ' if pod else ''}{time} {body.rstrip()} {rest}".strip()


def _event(text: str) -> str:
    try:
        event = json_value(text.rstrip(", "))
        about = event["involvedObject"]
        kind, name = str(about["kind"]), str(about["name"])
    except (ValueError, KeyError, TypeError):
        return text
    time = event.get("firstTimestamp") or event.get("eventTime") or event.get("lastTimestamp") or ""
    message = " ".join(str(event.get("message") or "").split())
    body = f"{event.get('reason')}: {message}"
    if kind == "Pod":
        return f"[pod/{name}/event] {time} {body}"
    return f"{time} {name} {body}" if kind == "Node" else f"{time} {kind.lower()}/{name} {body}"


def who(text: str, file: str) -> Who:
    """Rank, host, GPU and pod of a line."""
    if found := _LISTED.match(text):
        node, listed = (found["name"] if found["kind"] == kind else "" for kind in ("Node", "Pod"))
        return Who(None, node, None, listed, file)
    head = text[:400]
    rank_match = _RANK.search(head)
    nccl = _NCCL.search(head)
    pod = _POD.search(head)
    stern = None if pod else _STERN.search(head)
    host = nccl or _SYSLOG_HOST.search(head) or _ISO_HOST.search(head) or _AGENT.search(head)
    rank = next((int(g) for g in rank_match.groups() if g), None) if rank_match else file_rank(file)
    return Who(
        rank,
        host["host"] if host else "",
        int(nccl["gpu"]) if nccl else None,
        pod["pod"] if pod else next(filter(None, stern.groups())) if stern else ("" if host else file_place(file)),
        file,
    )


@lru_cache(maxsize=1024)
def file_rank(file: str) -> int | None:
    """The rank that a file's name tells: `logs/rank3.log`."""
    found = _FILE_RANK.search(PurePosixPath(file).name)
    return int(found[1]) if found else None


@lru_cache(maxsize=1024)
def file_place(file: str) -> str:
    """The pod or node that a file's name tells: `logs/train-worker-1.log`, or its folder's `train-worker-1/0.log`."""
    path = PurePosixPath(file)
    if path.parent.name == _OBJECTS and path.suffix == ".json":
        return ""  # lists of objects: their names are kinds
    stem = path.name.split(".")[0]
    if _GENERIC.fullmatch(stem) and path.parent.name:
        stem = path.parent.name
    return stem


def when(text: str, file: str) -> When | None:
    """The time at or near the start of a line."""
    if _LISTED.match(text):
        return None  # an object's times are of its making, not of what is wrong with it
    if ended := _ENDED.search(text):
        return when(ended[1], file)
    if _MADE.search(text[:300]):
        return None
    head = text[:300]
    if boot := _BOOT.search(head):
        return When(float(boot["t"]), f"boot:{file}")
    for pattern in (_ISO, _GLOG, _SYSLOG):
        if found := pattern.search(head):
            return _moment(found.groupdict())
    if epoch := _EPOCH.search(head):
        return When(float(epoch["t"]))
    return None


def _moment(parts: dict[str, str | None]) -> When | None:
    month = _MONTHS.index(parts["b"]) + 1 if parts.get("b") else int(parts["m"] or 0)
    try:
        moment = datetime(
            int(parts.get("y") or UNKNOWN_YEAR), month, int(parts["d"] or 0),
            int(parts["H"] or 0), int(parts["M"] or 0), int(parts["S"] or 0), tzinfo=UTC,
        )  # fmt: skip
    except ValueError:
        return None
    seconds = moment.timestamp() + float(f"0.{parts['f']}" if parts.get("f") else 0)
    zone = (parts.get("zone") or "").strip()
    if zone and zone != "Z":
        offset = int(zone[1:3]) * 3600 + int(zone[-2:]) * 60
        seconds -= offset if zone[0] == "+" else -offset
    return When(seconds)
