"""Finding all parsers, checks and causes: the product's own modules, then those of third parties."""

from __future__ import annotations

import importlib
import pkgutil
from importlib.metadata import entry_points
from pathlib import Path

from gonogo.errors import InputError
from gonogo.kernel import REGISTRY, Registry, RegistryError

PACKAGES = ("gonogo.facts", "gonogo.checks", "gonogo.causes")
ENTRY_POINTS = "gonogo.checks"


def load() -> Registry:
    """The registry with everything in it; modules are imported once, so a second call costs nothing.

    Raises InputError, naming it, for a plug-in that can't be loaded.
    """
    return _loaded(*PACKAGES)


def load_causes_of(fact_module: str) -> Registry:
    """The registry with those causes alone whose modules name this module of facts: a third of the time of `load`."""
    return _loaded("gonogo.causes", naming=fact_module)


def load_of(id: str) -> Registry:
    """The registry with all that a check or cause of this id is made of, if there is one: a fifth of that time."""
    return _loaded("gonogo.checks", "gonogo.causes", naming=f'"{id}"')


def _loaded(*packages: str, naming: str = "") -> Registry:
    for name in packages:
        package = importlib.import_module(name)
        for module in pkgutil.walk_packages(package.__path__, f"{name}."):
            path = Path(module.module_finder.path, f"{module.name.rpartition('.')[2]}.py")  # type: ignore[union-attr]
            if not naming or (not module.ispkg and naming in path.read_text(encoding="utf-8")):
                importlib.import_module(module.name)
    return _completed()


def _completed() -> Registry:
    """With third parties' modules; a cause that only other facts tell stands for itself."""
    for entry in entry_points(group=ENTRY_POINTS):
        try:
            entry.load()
        except (ImportError, AttributeError, RegistryError) as error:
            raise InputError(f"plug-in {entry.name} ({entry.value}) can't be loaded: {error}.") from error
    for cause in REGISTRY.also:
        REGISTRY.causes.setdefault(cause.id, cause)
    return REGISTRY
