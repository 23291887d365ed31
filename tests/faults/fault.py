"""Scenarios by name. A fault strikes before the agents start, at a record, or inside the victim's agent.

The victim is the node that the fault is about: the last one, unless the name says otherwise (`node-frozen@node1`).
Two faults at once are `a+b`.
"""

from acts import cgroup  # beside this file: the launcher is run as a program

from gonogo.launch.switch import Scenario

SCENARIOS = {}


class Fault(Scenario):
    """One fault: what to do, to whom, and at which record; once."""

    def __init__(self, act, at, victim):
        self.act, self.at, self.victim = act, at, victim

    def _strike(self, fabric):
        victim = fabric.node(self.victim) if self.victim else fabric.nodes[-1]
        self.act(fabric, victim)

    def before(self, fabric):
        if self.at is None:
            self._strike(fabric)

    def on_record(self, fabric, record):
        victim = self.victim or fabric.nodes[-1].name
        if self.at is not None and self.at(record, victim):
            self.at = None
            self._strike(fabric)


class Inside(Scenario):
    """A fault of the agent's own process on the victim, before it runs."""

    def __init__(self, act, victim):
        self.act, self.victim = act, victim

    def agent(self, node, spec, index, out):
        if node.name == (self.victim or spec.peers[-1]):
            self.act(node, spec, index, out)
        return super().agent(node, spec, index, out)


class Confined(Inside):
    """A control group that holds the victim's agent and all that it starts, from its first moment on."""

    def __init__(self, controller, settings, victim):
        super().__init__(self._enter, victim)
        self._controller, self._settings = controller, settings

    def before(self, fabric):
        victim = fabric.node(self.victim) if self.victim else fabric.nodes[-1]
        self._folder = cgroup(fabric, victim, self._controller, **self._settings)

    def _enter(self, node, spec, index, out):
        (self._folder / "cgroup.procs").write_text("0")


class Alike(Scenario):
    """A control group of its own for each node's agent, all with the same settings."""

    def __init__(self, controller, settings):
        self._controller, self._settings = controller, settings

    def before(self, fabric):
        self._folders = {n.name: cgroup(fabric, n, self._controller, **self._settings) for n in fabric.nodes}

    def agent(self, node, spec, index, out):
        (self._folders[node.name] / "cgroup.procs").write_text("0")
        return super().agent(node, spec, index, out)


class Together(Scenario):
    """Several faults at once."""

    def __init__(self, parts):
        self.parts = parts

    def before(self, fabric):
        for part in self.parts:
            part.before(fabric)

    def on_record(self, fabric, record):
        for part in self.parts:
            part.on_record(fabric, record)

    def agent(self, node, spec, index, out):
        """Inside of one another: the last one runs the agent."""
        for part in self.parts:
            if isinstance(part, Inside) and node.name == (part.victim or spec.peers[-1]):
                part.act(node, spec, index, out)
        return super().agent(node, spec, index, out)


def named(text):
    """The scenario of that name; KeyError if there is none."""
    parts = []
    for name in text.split("+"):
        name, _, victim = name.partition("@")
        parts.append(SCENARIOS[name](victim))
    return parts[0] if len(parts) == 1 else Together(parts)


def fault(at=None):
    """Register a function of (fabric, victim); its name with dashes is the scenario's."""

    def register(act):
        SCENARIOS[act.__name__.replace("_", "-")] = lambda victim: Fault(act, at, victim)
        return act

    return register


def inside(act):
    """Register a function of (node, spec, index, out) that prepares the agent's own process on the victim."""
    SCENARIOS[act.__name__.replace("_", "-")] = lambda victim: Inside(act, victim)
    return act


def confined(name, controller, settings, says):
    """Register a control group of version 1 by its controller and settings; `says` what it does to the victim."""
    SCENARIOS[name.replace("_", "-")] = lambda victim: Confined(controller, settings, victim)


def alike(name, controller, settings, says):
    """Register one and the same control group for every node."""
    SCENARIOS[name.replace("_", "-")] = lambda victim: Alike(controller, settings)


def about_to_call(bytes_at_least=16 << 20):
    """The victim is about to call a collective of that size."""

    def matches(record, victim):
        return (record["step"], record["kind"], record["node"]) == ("collectives", "at", victim) and (
            record.get("bytes", 0) >= bytes_at_least
        )

    return matches


def begins(step):
    """The victim begins that step."""
    return lambda r, victim: (r["step"], r["kind"], r["node"], r.get("of")) == ("agent", "begin", victim, step)


def first(step, kind):
    """The victim writes its first record of that kind."""
    return lambda r, victim: (r["step"], r["kind"], r["node"]) == (step, kind, victim)
