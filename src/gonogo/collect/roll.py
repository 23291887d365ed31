"""Which agents live and which steps are over, told from their records as they come in: no I/O, no clock of its own."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence

from gonogo.agent.spec import STEPS, Spec
from gonogo.documents.records import LOGS, Record, StepLog, step_log

SILENT_SECONDS = 4.0
"""An agent writes at least one record a second; one that wrote none for so long, while others did, has stopped."""

GRACE_SECONDS = 5.0
"""What a step gets on top of its own deadline, which agents keep by themselves, before it is given up from here."""

_FILE = "agents/{}.jsonl"


class Roll:
    """Takes records in the order in which they come, and says which documents are ready.

    `now` is seconds of any steady clock, the same for all calls.
    """

    def __init__(self, spec: Spec) -> None:
        self.nodes = tuple(spec.peers)
        self.records: list[Record] = []
        self._spec = spec
        self._lines: dict[str, int] = {}
        self._heard: dict[str, tuple[float, float]] = {}  # node -> when, and time.time() then
        self._exits: dict[str, str] = {}
        self._at: dict[str, int] = dict.fromkeys(self.nodes, -1)  # node -> the last step that it ended, by position
        self._begun: dict[str, float] = {}  # step -> when the first node began it
        self._given_up: dict[str, str] = {}  # node -> why it isn't waited for
        self._published: set[str] = set()

    def take(self, data: Mapping[str, object], now: float) -> Record:
        """One record; it becomes the next line of its writer's file."""
        node = str(data.get("node", ""))
        file = _FILE.format(node)
        self._lines[file] = self._lines.get(file, 0) + 1
        record = Record(data, file, self._lines[file])
        self.records.append(record)
        if node in self._at:
            self._heard[node] = now, time.time()
        step = str(data.get("of", ""))
        match data.get("step"), data.get("kind"):
            case "agent", "begin" if step in STEPS:
                self._begun.setdefault(step, now)
                self._reached(node, STEPS.index(step) - 1)
            case "agent", "end" if step in STEPS:
                self._reached(node, STEPS.index(step))
            case "agent", "finish":
                self._reached(node, len(STEPS))
            case "fabric", "exit":
                self._exits[step] = _how(data.get("code"), data.get("signal"), data.get("reason"))
            case "fabric", "built":
                self._heard.update({node: (now, time.time()) for node in self.nodes})
        return record

    def _reached(self, node: str, position: int) -> None:
        if node in self._at:
            self._at[node] = max(self._at[node], position)

    def excuse(self, nodes: Collection[str], now: float) -> None:
        """These can't be heard, for a reason that is not theirs: until now they are silent for no time."""
        self._heard.update(dict.fromkeys(nodes, (now, time.time())))

    def lost(self, reason: str) -> None:
        """Nothing more will come from anybody, for this reason."""
        for node in self.nodes:
            self._exits.setdefault(node, reason)

    def ended(self, now: float) -> dict[str, str]:
        """By node: "" for an agent that is well, or why it isn't."""
        return {node: self._why(node, now) for node in self.nodes}

    def _why(self, node: str, now: float) -> str:
        if why := self._exits.get(node):
            return "" if why == _WELL and self._at[node] == len(STEPS) else why
        others = [n for n in self.nodes if n != node and n not in self._exits]
        # measured by the others' words, not by the clock: a machine that was suspended silences nobody in particular
        latest = max((self._heard[n][0] for n in others if n in self._heard), default=now)
        when, clock = self._heard.get(node, (latest, 0.0))
        if latest - when > SILENT_SECONDS:
            return f"stopped answering at {time.strftime('%H:%M:%S', time.localtime(clock))}"
        return self._given_up.get(node, "")

    def ready(self, now: float) -> Sequence[StepLog]:
        """Documents of the steps that are over on every node that lives, and were not told before."""
        logs = []
        for step in (s for s in LOGS if s in self._spec.steps and s not in self._published):
            if not self._is_over(step, now):
                break
            self._published.add(step)
            logs.append(step_log(step, self.nodes, self.records, self.ended(now)))
        return logs

    def _is_over(self, step: str, now: float) -> bool:
        ended = self.ended(now)
        behind = [n for n in self.nodes if self._at[n] < STEPS.index(step) and n not in self._exits and not ended[n]]
        if not behind:
            return bool(self._begun) or bool(self._exits)
        begun = self._begun.get(step)
        if begun is None or now < begun + self._spec.step_seconds[step] + GRACE_SECONDS:
            return False
        for node in behind:
            self._given_up[node] = "was cut off at the step's deadline"
        return True

    def mark(self, log: StepLog) -> dict[str, object]:
        """The fields of the `over` record that lets this document be made again from the bundle."""
        step = next(name for name, kind in LOGS.items() if kind is type(log))
        return {"of": step, "ended": dict(log.ended), "lines": dict(self._lines)}

    def done(self) -> bool:
        """Whether all documents were told."""
        return self._published >= {step for step in LOGS if step in self._spec.steps}

    def standing(self, now: float) -> tuple[str, int, int]:
        """For people who watch: the step, how many nodes are through with it, and how many there are."""
        step = next(
            (
                s
                for s in STEPS
                if s in self._spec.steps and any(self._at[n] < STEPS.index(s) for n in self._living(now))
            ),
            "",
        )
        through = sum(self._at[n] >= STEPS.index(step) for n in self.nodes) if step else len(self.nodes)
        return step, through, len(self.nodes)

    def _living(self, now: float) -> Collection[str]:
        return [node for node, why in self.ended(now).items() if not why and node not in self._exits]


_WELL = "ended with code 0"


def _how(code: object, signal: object, reason: object) -> str:
    if code is None and not signal and reason:
        return str(reason)  # it never ran
    return f"killed by signal {signal}" if signal else f"ended with code {code}"
