"""Makes src/gonogo/data/demo, the bundle that `gonogo demo` judges: a small EKS cluster whose two halves can't talk.

The agents' records are those of a real run on this machine's fabric, with all TCP between two halves of four nodes
dropped; names, addresses and the kernel's version are then replaced by those of a cluster that does not exist. The
answers of Kubernetes and AWS that go with them are written here, in the form in which kubectl and the AWS CLI print.

    python scripts/make_demo.py                 records anew (root, or a kernel that lets users make namespaces)
    python scripts/make_demo.py --from BUNDLE   takes a bundle that was recorded with the scenario halves-dropped
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).parent.parent
sys.path[:0] = [str(PROJECT / "tests" / "lib"), str(PROJECT / "scripts")]

from demo_objects import AT, CONTEXT, KERNEL, NAMESPACE, NODES, SERVER, aws, kubernetes  # noqa: E402

DEMO = PROJECT / "src" / "gonogo" / "data" / "demo"
Dict = dict[str, Any]


@dataclass(frozen=True)
class Renaming:
    """From a node of the fabric to a node of the cluster, in any value of a record."""

    run: str

    def record(self, data: Dict) -> Dict:
        made: Dict = self.value(data)
        if "hostname" in made or "host" in made:
            for key in {"hostname", "host"} & made.keys():
                made[key] = self.pod(data[key])
        if made["kind"] == "info":
            made["versions"]["kernel"] = KERNEL
        if made["kind"] == "resolve":
            made["name"] = f"{self.pod(data['name'])}.gonogo-{self.run}.{NAMESPACE}.svc"
        if made["kind"] == "built":
            made |= {"made_of": "pods"}
            made["nodes"] = [
                {"name": n.name, "address": n.pod_address, "pod": self.pod(f"node{i}"), "index": i}
                for i, n in enumerate(NODES)
            ]
            made.pop("mtu", None)
        return made

    def pod(self, name: str) -> str:
        return f"gonogo-{self.run}-{name.removeprefix('node')}"

    def value(self, value: Any) -> Any:
        if isinstance(value, str):
            return self._text(value)
        if isinstance(value, list):
            return [self.value(item) for item in value]
        if isinstance(value, dict):
            return {self._text(key): self.value(item) for key, item in value.items()}
        return value

    def _text(self, text: str) -> str:
        text = re.sub(r"\b10\.77\.0\.([1-4])(?!\d)", lambda m: NODES[int(m[1]) - 1].pod_address, text)
        text = re.sub(r"\bnode([0-3])\b", lambda m: NODES[int(m[1])].name, text)
        return text.replace(str(PROJECT), "/opt/gonogo").replace(sys.base_prefix, "/usr/local")


def agents(recorded: Path, run: str) -> Iterator[tuple[str, bytes]]:
    """The records of all agents under their new names."""
    renaming = Renaming(run)
    for path in sorted((recorded / "agents").glob("*.jsonl")):
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        made = [json.dumps(renaming.record(line), separators=(",", ":")) for line in lines]
        yield f"agents/{renaming.value(path.stem)}.jsonl", "\n".join([*made, ""]).encode()


def run_json(old: Dict) -> Dict:
    """What the recorded run says of itself, as of a run in the cluster."""
    target = {
        "kind": "kubernetes",
        "name": CONTEXT,
        "summary": f"{CONTEXT}, {SERVER}, namespace {NAMESPACE}",
        "cannot_prove": [],
        "untouched": [],
    }
    kept = {key: old[key] for key in ("apiVersion", "kind", "plan", "steps", "checks", "skipped", "python")}
    flags = [["--context", CONTEXT], ["-n", NAMESPACE], ["--level", "quick"], ["--no-gpu", ""]]
    run = old["run"] | {"ended": AT + old["run"]["ended"] - old["run"]["started"], "started": AT, "flags": flags}
    return kept | {"target": target, "planes": ["agents", "aws", "kubernetes"], "run": run}


def shifted(data: bytes, by: float) -> bytes:
    """The same records at another time: `t`, and what clocks said."""

    def move(match: re.Match[str]) -> str:
        return f"{match[1]}{float(match[2]) + by:.6f}"

    return re.sub(r'("(?:t|clock)":)(\d+\.\d+)', move, data.decode()).encode()


def files(recorded: Path) -> dict[str, bytes]:
    """All files of the demo, by name."""
    old = json.loads((recorded / "run.json").read_text())
    run = old["run"]["id"]
    found = {name: shifted(data, AT - old["run"]["started"]) for name, data in agents(recorded, run)}
    found["run.json"] = json.dumps(run_json(old), indent=2).encode() + b"\n"
    return found | kubernetes(run) | aws()


def recorded_anew(then: Callable[[Path], dict[str, bytes]]) -> dict[str, bytes]:
    import faulty

    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder, "bundle")
        checks = tuple(id for id in faulty.every_check().checks if not id.startswith("STO0"))  # nodes share no storage
        faulty.run("halves-dropped", root, nodes=len(NODES), level="quick", only=checks)
        return then(root)


def main() -> None:
    parser = argparse.ArgumentParser(description="Make the bundle that gonogo demo judges.")
    parser.add_argument("--from", dest="bundle", type=Path, metavar="BUNDLE")
    given = parser.parse_args()
    made = files(given.bundle) if given.bundle else recorded_anew(files)
    shutil.rmtree(DEMO, ignore_errors=True)
    for name, data in made.items():
        (DEMO / name).parent.mkdir(parents=True, exist_ok=True)
        (DEMO / name).write_bytes(data)
    print(f"{len(made)} files, {sum(map(len, made.values()))} bytes below {DEMO.relative_to(PROJECT)}")


if __name__ == "__main__":
    main()
