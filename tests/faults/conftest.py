import json
import subprocess
import sys
from pathlib import Path

import pytest

from gonogo.launch.spec import spec_for
from gonogo.plan import Plan

HERE = Path(__file__).parent
NODES = ("node0", "node1", "node2")


@pytest.fixture(scope="session")
def look():
    """Calls the launcher with a fault, and a probe as agent."""
    return _look


def _look(scenario, steps=("node", "ports"), until=NODES):
    """The records of three probes in a fabric with that fault, until these nodes have done or died."""
    spec = spec_for(Plan(), run="r", names=NODES, addresses=NODES, level="quick", steps=steps)
    order = json.dumps({"spec": json.loads(spec.to_json()), "fabric": {}})
    records, waiting = [], {*until}
    launcher = [sys.executable, str(HERE / "launcher.py"), scenario, "--probe"]
    with subprocess.Popen(launcher, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        process.stdin.write(order + "\n")
        process.stdin.flush()
        for line in process.stdout:
            records.append(record := json.loads(line))
            waiting -= {record["node"] if record["kind"] == "done" else record.get("of")}
            if not waiting:
                break
        process.stdin.close()
    assert process.returncode == 0
    return records
