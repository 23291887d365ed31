"""Events: what the documents say happened, to whom and when, folded so that a gigabyte of repeats stays small."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from gonogo.documents.blocks import Block
from gonogo.documents.redact import redact
from gonogo.facts.lines import UNKNOWN_YEAR, When, Who, unwrap, when, who
from gonogo.facts.mentions import may_mention
from gonogo.facts.news import GOOD_NEWS
from gonogo.facts.signatures import Catalogue, Role, Signature, catalogue
from gonogo.facts.tracebacks import Raised, raised
from gonogo.model import CLUSTER, Evidence, Subject

TEXT_CHARACTERS = 500  # of a line, what evidence shows
KEPT_PER_FILE = 200  # events of one signature in one file; the rest is counted
STALE_HITS = 2_000  # repeats in a row, after which a signature of a file is only counted
KEPT_IN_ALL = 100_000
EACH_LINE = frozenset(
    (*GOOD_NEWS, "tf.task", "env.rank", "stack.of_rank", "stack.main_thread", "stack.frame")
)  # kept though another line says the same


@dataclass(frozen=True, slots=True)
class Event:
    """One line of one kind, with what it says."""

    signature: str
    role: Role
    file: str
    line: int
    text: str
    who: Who
    when: When | None
    captures: Mapping[str, str | int | float]

    def __getitem__(self, name: str) -> str | int | float:
        return self.captures[name]

    def get(self, name: str, default: str = "") -> str:
        """A capture as text."""
        return str(self.captures.get(name, default))

    @property
    def evidence(self) -> Evidence:
        """This line."""
        return Evidence(redact(self.text.encode()).decode(errors="replace"), self.file, self.line)

    @property
    def writer(self) -> tuple[str, str]:
        """The pod, host or rank of a line, in one file or many; the file, where the line names nobody."""
        rank = "" if self.who.rank is None else str(self.who.rank)
        return self.who.pod or self.who.host or (self.file if not rank else ""), rank

    @property
    def subject(self) -> Subject:
        """The rank, pod or file that the line is of."""
        if self.who.rank is not None:
            return Subject("rank", str(self.who.rank))
        if self.who.host or self.who.pod:
            return Subject("pod", self.who.pod) if self.who.pod else Subject("node", self.who.host)
        return Subject("file", self.file)


@dataclass(frozen=True, slots=True)
class Events:
    """All events, in the order of files and lines, and how often each signature was seen."""

    all: tuple[Event, ...] = ()
    counts: Mapping[str, int] = field(default_factory=dict)
    _by_signature: dict[str, list[int]] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __iter__(self) -> Iterator[Event]:
        return iter(self.all)

    def __bool__(self) -> bool:
        return bool(self.all)

    def __len__(self) -> int:
        return len(self.all)

    def of(self, *ids: str) -> Events:
        """Those of the given signatures; a final `*` stands for any end."""
        if not self._by_signature:
            for place, event in enumerate(self.all):
                self._by_signature.setdefault(event.signature, []).append(place)
        wanted = [
            s for s in self._by_signature if any(s == i or (i.endswith("*") and s.startswith(i[:-1])) for i in ids)
        ]
        places = sorted(p for s in wanted for p in self._by_signature[s])
        return Events(tuple(self.all[p] for p in places), {s: n for s, n in self.counts.items() if s in wanted})

    def where(self, **captures: str | float | re.Pattern[str]) -> Events:
        """Those whose captures have these values, or match these patterns."""

        def fits(event: Event) -> bool:
            for name, want in captures.items():
                value = event.captures.get(name)
                if value is None or not (want.search(str(value)) if isinstance(want, re.Pattern) else value == want):
                    return False
            return True

        return Events(tuple(e for e in self.all if fits(e)), self.counts)

    def role(self, *roles: Role) -> Events:
        """Those of the given roles."""
        return Events(tuple(e for e in self.all if e.role in roles), self.counts)

    def outside(self, events: Events) -> Events:
        """Those on lines that the other events do not stand on."""
        lines = {(e.file, e.line) for e in events}
        return Events(tuple(e for e in self.all if (e.file, e.line) not in lines), self.counts)

    @property
    def first(self) -> Event:
        """The earliest by clock, or by place where no line has a time."""
        return self.timeline[0] if self.timeline else self.all[0]

    @property
    def timeline(self) -> tuple[Event, ...]:
        """Those with a wall-clock time, in its order."""
        timed = [e for e in self.all if e.when and e.when.clock == "wall"]
        return tuple(sorted(timed, key=lambda e: e.when.seconds if e.when else 0.0))

    def values(self, name: str) -> tuple[str, ...]:
        """The different values of a capture, in order."""
        return tuple(dict.fromkeys(str(e.captures[name]) for e in self.all if name in e.captures))

    @property
    def files(self) -> tuple[str, ...]:
        """The files that they are in."""
        return tuple(dict.fromkeys(e.file for e in self.all))

    @property
    def writers(self) -> tuple[tuple[str, str], ...]:
        """The different pods, hosts or ranks that wrote them."""
        return tuple(dict.fromkeys(e.writer for e in self.all))

    @property
    def subjects(self) -> tuple[Subject, ...]:
        """Who they are of; the cluster, if nobody is known."""
        return tuple(dict.fromkeys(e.subject for e in self.all)) or (CLUSTER,)


_STEP_WORDS = (b"loss", b"step", b"tep ", b"poch")
_STEP = re.compile(
    rb"(?i)\b(?:global[_ ])?(?:step|iter(?:ation)?|epoch)s?\b[\s:=#\[(\"]*\d+(?!.{0,80}(?:nan\b|error|timed? ?out"
    rb"|waiting))"
    rb".{0,80}?(?:loss|tokens|/s\b|/\d+|ok\b|done|time)|\bloss[\"']?[=: ]+\d"
)
_FINITE = re.compile(r"(?i)\bloss[\"']?[=: ]+\d")
_NAN = re.compile(r"(?i)\bnan\b")
_STEP_TRIES = 8
_STEP_SHOWN = 400  # bytes of its line


_BAR_BYTES = 1 << 14  # before a bar, where its step is looked for: an epoch before has the same numbers
_BAR = re.compile(rb"\|\s*(?P<step>\d+)/\d+ \[")


def _is_drawn_again(block: Block, start: int, line: bytes) -> bool:
    """Whether a progress bar is at a step that was told of before: it is drawn once more where a program ends."""
    if not (bar := _BAR.search(line)) or block.data.find(b"\n", start + len(line) + 1) >= 0:
        return False
    told = re.compile(rb"(?i)step\W{0,2}%b\b|\|\s*%b/\d+ \[" % (bar["step"], bar["step"]))
    return told.search(block.data, max(0, start - _BAR_BYTES), start) is not None


def last_step(block: Block, drawn_again: bool = True) -> tuple[int, str] | None:
    """The last line of a block that reports a step of training, and its start; looked for from the end."""
    data, best = block.data, -1
    for word in _STEP_WORDS:
        end = len(data)
        for _ in range(_STEP_TRIES):
            at = data.rfind(word, max(best, 0), end)
            if at < 0:
                break
            start = data.rfind(b"\n", 0, at) + 1
            stop = data.find(b"\n", at)
            if _STEP.search(data, start, stop if stop >= 0 else len(data)):
                best = max(best, start)
                break
            end = start
    if best < 0:
        return None
    stop = data.find(b"\n", best, best + _STEP_SHOWN)
    shown = data[best : stop if stop >= 0 else best + _STEP_SHOWN]
    if drawn_again and _is_drawn_again(block, best, shown):
        return last_step(Block(data[: max(best - 1, 0)], block.line), drawn_again=False)
    text = shown.decode("utf-8", "replace")
    return block.line + data.count(b"\n", 0, best), text


_PAIR = re.compile(r'"[\w./ -]{1,80}": ?"(?:[^"\\]|\\.)*"')


class Scan:
    """Takes in blocks of text, file by file, and makes Events. Memory is bounded whatever comes."""

    def __init__(self, signatures: Catalogue | None = None) -> None:
        self._catalogue = signatures or catalogue()
        self._kept: list[Event] = []
        self._counts: Counter[str] = Counter()
        self._file = ""
        self._seen: dict[int, set[tuple[object, ...]]] = {}
        self._stale: Counter[int] = Counter()
        self._progress: dict[str, int] = {}
        self._moments: dict[str, float] = {}
        self._finite: dict[str, int] = {}
        self._ignored: set[tuple[str, int]] = set()

    def open(self, file: str) -> None:
        """What comes next is from this file."""
        self._file = file
        self._seen.clear()
        self._stale.clear()

    def feed(self, block: Block) -> None:
        """Look for every signature in a block."""
        signatures, counts, stale = self._catalogue.signatures, self._counts, self._stale
        if (step := last_step(block)) is not None:
            self._progress[self._file], text = step
            if _FINITE.search(text) and not _NAN.search(text):
                self._finite[self._file] = step[0]
            if (moment := when(text, self._file)) and moment.clock == "wall" and moment.year != UNKNOWN_YEAR:
                self._moments[self._file] = moment.seconds
        for hit in self._catalogue.hits(block):
            places = [p for p in hit.signatures if stale[p] < STALE_HITS]
            for place in hit.signatures:
                if stale[place] >= STALE_HITS and place >= 0:
                    counts[signatures[place].id] += 1
            if not places:
                continue
            raw = block.data[hit.start : hit.end].decode("utf-8", "replace").rstrip("\r")
            text = unwrap(raw) if raw[:1] == "{" else raw
            for place in places:
                if place < 0:
                    if found := raised(block, hit):
                        if found.is_ignored:
                            if len(self._ignored) < KEPT_IN_ALL:
                                self._ignored.add((self._file, found.line))
                        else:
                            self._raised(found)
                elif (captures := signatures[place].captures(text)) is not None:
                    self._keep(place, signatures[place], hit.line, text, captures)
                elif text is not raw and (captures := signatures[place].captures(raw)) is not None:
                    self._keep(place, signatures[place], hit.line, raw, captures)

    def _raised(self, found: Raised) -> None:
        if self._is_new(-1, (found.type, found.message, found.frame)):
            self._counts["python.exception"] += 1
            captures = {"type": found.type, "message": found.message, "frame": found.frame, "user": found.user}
            self._add("python.exception", Role.CONTEXT, found.line, found.text, captures, head=found.head)

    def _keep(
        self, place: int, signature: Signature, line: int, text: str, captures: dict[str, str | int | float]
    ) -> None:
        self._counts[signature.id] += 1
        seen = self._seen.setdefault(place, set())
        if len(seen) >= KEPT_PER_FILE:
            self._stale[place] += 1
            return
        writer = who(text, self._file)
        each = (line,) if signature.id in EACH_LINE else ()  # of whatever object: its line may not name it
        if self._is_new(place, (writer, may_mention(text), *each, *captures.values())):
            self._add(signature.id, signature.role, line, text, captures, writer)

    def _is_new(self, place: int, key: tuple[object, ...]) -> bool:
        seen = self._seen.setdefault(place, set())
        if key in seen or len(seen) >= KEPT_PER_FILE or len(self._kept) >= KEPT_IN_ALL:
            self._stale[place] += 1
            return False
        self._stale[place] = 0
        seen.add(key)
        return True

    def _add(
        self,
        id: str,
        role: Role,
        line: int,
        text: str,
        captures: Mapping[str, str | int | float],
        by: Who | None = None,
        head: str = "",
    ) -> None:
        shown = text.strip()
        if len(shown) > TEXT_CHARACTERS and (value := self._value(id, shown)):
            shown = value
        elif len(shown) > TEXT_CHARACTERS:
            anchor = next((shown.find(a.decode()) for a in self._anchors(id) if a.decode() in shown), 0)
            start = max(0, anchor - TEXT_CHARACTERS // 3)
            shown = ("…" if start else "") + shown[start : start + TEXT_CHARACTERS] + "…"
        clock = when(text, self._file) or (when(head, self._file) if head else None)
        event = Event(id, role, self._file, line, shown, by or who(text, self._file), clock, captures)
        self._kept.append(event)

    def _value(self, id: str, line: str) -> str:
        """Of JSON on one long line, the key and the text in which the anchor stands."""
        if line[:1] not in "{[":
            return ""
        at = next((line.find(a.decode()) for a in self._anchors(id) if a.decode() in line), 0)
        found = next((m for m in _PAIR.finditer(line, max(0, at - 2_000)) if m.start() <= at < m.end()), None)
        return found[0][:TEXT_CHARACTERS] if found else ""

    def _anchors(self, id: str) -> Iterable[bytes]:
        signature = self._catalogue.by_id.get(id)
        return signature.anchors if signature else ()

    @property
    def progress(self) -> Mapping[str, int]:
        """File -> the line of its last step of training."""
        return self._progress

    @property
    def moments(self) -> Mapping[str, float]:
        """File -> when that line was written, in seconds since 1970, where it tells."""
        return self._moments

    @property
    def finite(self) -> Mapping[str, int]:
        """File -> the line of its last step, if that has a loss that is a number."""
        return self._finite

    def events(self) -> Events:
        """What was found so far."""
        kept = [e for e in self._kept if (e.file, e.line) not in self._ignored]
        return Events(tuple(_in_one_year(kept)), dict(self._counts))


def _in_one_year(events: Sequence[Event]) -> Iterator[Event]:
    """The events; those whose clock prints no year get the one that all others are of, so that their times compare."""
    years = {e.when.year for e in events if e.when and e.when.clock == "wall"} - {UNKNOWN_YEAR}
    year = years.pop() if len(years) == 1 else UNKNOWN_YEAR
    for e in events:
        dated = e.when.of_year(year) if e.when and e.when.year == UNKNOWN_YEAR != year else e.when
        yield e if dated is e.when else replace(e, when=dated)
