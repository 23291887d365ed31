"""The import law: who may see whom."""

import ast
import sys
from pathlib import Path

import gonogo

SOURCE = Path(gonogo.__file__).parent
LAYERS = {
    # package -> what of ours it may import, besides itself
    "model": set(),
    "kernel": {"model"},
    "links": set(),
    "agent": {"links"},
    "facts": {"model", "kernel", "documents", "links", "plan", "data", "errors"},
    "checks": {"model", "kernel", "documents", "facts", "links", "plan", "data"},
    "causes": {"model", "kernel", "documents", "facts", "links", "plan", "data"},
    "report": {"model"},
}
SEES_CLIENTS = {"collect", "launch", "clients", "cli", "target"}
"""`target` and `cli` are wiring: they hand clients to collectors."""


def modules():
    for path in SOURCE.rglob("*.py"):
        yield path, path.relative_to(SOURCE).with_suffix("").parts


def imported(path):
    """(the module's dotted name, at the top level of the file) of all absolute imports, wherever they stand."""
    tree = ast.parse(path.read_text(), str(path))
    top = set(map(id, tree.body))
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, id(node) in top) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are absolute"
            yield node.module, id(node) in top
            if node.module == "gonogo":
                yield from ((f"gonogo.{alias.name}", id(node) in top) for alias in node.names)


def ours(path):
    for name, _ in imported(path):
        head, _, rest = name.partition(".")
        if head == "gonogo" and rest:
            yield rest.partition(".")[0]


def test_each_package_sees_only_what_is_below_it():
    broken = []
    for path, parts in modules():
        if (allowed := LAYERS.get(parts[0])) is not None:
            broken += [f"{'/'.join(parts)} imports {name}" for name in ours(path) if name not in allowed | {parts[0]}]
    assert not broken


def test_the_law_bites(tmp_path):
    """A check that imports a client would be seen."""
    bad = tmp_path / "bad.py"
    bad.write_text("def f():\n    from gonogo.clients import kube\n")
    assert set(ours(bad)) - LAYERS["checks"] == {"clients"}


def test_only_collect_and_launch_see_clients():
    seen = {
        "/".join(parts) for path, parts in modules() if "clients" in set(ours(path)) and parts[0] not in SEES_CLIENTS
    }
    assert not seen


def test_agents_import_only_themselves_and_the_standard_library():
    """Frameworks come into children alone, in the modules that only children import."""
    children = {("agent", name) for name in ("collectives", "train", "storage", "operations", "model")}
    frameworks = {"torch", "tensorflow", "horovod", "numpy", "mpi4py"}
    foreign = []
    for path, parts in modules():
        if parts[0] not in ("agent", "links"):
            continue
        for name, at_top in imported(path):
            head = name.partition(".")[0]
            lazily = head in frameworks and (not at_top or parts in children)
            if head != "gonogo" and head not in sys.stdlib_module_names and not lazily:
                foreign.append(f"{'/'.join(parts)} imports {name}")
    assert not foreign


def test_agents_parse_under_python_3_10():
    for path, parts in modules():
        if parts[0] in ("agent", "links") or parts == ("__init__",):
            ast.parse(path.read_text(), str(path), feature_version=(3, 10))


def test_agents_name_nothing_that_came_after_python_3_10():
    """What a grammar can't tell: names of the standard library that 3.10 lacks."""
    late = {"StrEnum", "tomllib", "TaskGroup", "assert_never", "Self", "batched", "timeout", "ExceptionGroup", "UTC"}
    found = []
    for path, parts in modules():
        if parts[0] not in ("agent", "links"):
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                named = f"{node.value.id}.{node.attr}" in {f"asyncio.{n}" for n in late} | {
                    "enum.StrEnum",
                    "datetime.UTC",
                }
                if named:
                    found.append(f"{'/'.join(parts)}:{node.lineno} {node.value.id}.{node.attr}")
            if isinstance(node, ast.ImportFrom) and node.module in (
                "enum",
                "typing",
                "asyncio",
                "datetime",
                "itertools",
            ):
                found += [f"{'/'.join(parts)} {a.name}" for a in node.names if a.name in late]
    assert not found


def test_no_package_has_a_cycle_at_the_top_level():
    """model, kernel, documents, facts, checks and causes form a line."""
    order = ["model", "errors", "kernel", "documents", "facts", "checks"]
    for path, parts in modules():
        if parts[0] in order:
            below = set(order[: order.index(parts[0]) + 1])
            assert set(ours(path)) & set(order) <= below | {"errors"}, parts
