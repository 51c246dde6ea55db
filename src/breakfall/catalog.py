"""Built-in worlds, agents and profiles by name, loaded when asked for."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any

from breakfall.agents.plan import PlanAgent
from breakfall.errors import BreakfallError, UsageError, unknown_name
from breakfall.faults.profile import PROFILES, Profile
from breakfall.faults.profile import load as load_profile
from breakfall.recovery.policy import BALANCED, GIVE_UP, RETRY
from breakfall.runtime.spec import AgentSpec
from breakfall.vocab import Agent, World

WORLDS: dict[str, str] = {
    "store": "breakfall.worlds.store:StoreWorld",
    "bfcl": "breakfall.worlds.bfcl:BfclWorld",
    "tau2-retail": "breakfall.worlds.tau2:retail",
    "tau2-airline": "breakfall.worlds.tau2:airline",
    "tau2-telecom": "breakfall.worlds.tau2:telecom",
    "tau2-mock": "breakfall.worlds.tau2:mock",
    "tau-retail": "breakfall.worlds.tau_data:retail",
    "tau-airline": "breakfall.worlds.tau_data:airline",
    "tau-telehealth": "breakfall.worlds.tau_data:telehealth",
}
"""Where each built-in world lives; third parties register a class in the entry point group `breakfall.worlds`."""

WORLDS_OF_FILES: dict[str, str] = {
    "retail-3i": "breakfall.worlds.threei:retail",
    "airline-3i": "breakfall.worlds.threei:airline",
    "mcp": "breakfall.worlds.mcp:mcp",
}
"""Worlds made from files of one's own, named as ``NAME=PATH``."""

# The built-in agents live here and not in agents/: agents and runtime may not import each other.
AGENTS: dict[str, AgentSpec] = {
    "give-up": AgentSpec(name="give-up", make=lambda: PlanAgent(careful=False), policy=GIVE_UP, built_in=True),
    "retry": AgentSpec(name="retry", make=lambda: PlanAgent(careful=False), policy=RETRY, built_in=True),
    "rules": AgentSpec(name="rules", make=lambda: PlanAgent(careful=True), policy=BALANCED, built_in=True),
    "oracle": AgentSpec(
        name="oracle", make=lambda: PlanAgent(careful=True), policy=BALANCED, told_scenario=True, built_in=True
    ),
}

_WORLD_PARTS = ("name", "conditions", "splits", "tasks", "tools", "open", "data_hash")
_WORLD_GROUP = "breakfall.worlds"
_AGENT_GROUP = "breakfall.agents"
_HELP = "breakfall bench --help"


@cache
def world(name: str) -> World:
    """Load a world, once per process: a built-in one, one that a package registered, or `package.module:object`.

    ``NAME=PATH`` hands the path to the class or function that makes the world, such as the folder of its tasks.

    Raises:
        UsageError: There is no such world, or it cannot be loaded; the message says what to install.
    """
    what = f"world {name!r}"
    maker, equals, path = name.partition("=")
    where = {**WORLDS, **WORLDS_OF_FILES}.get(maker, maker)
    if ":" not in where:
        others = _entry_points(_WORLD_GROUP)
        if maker not in others:
            raise unknown_name("world", maker, {*WORLDS, *WORLDS_OF_FILES, *others}, _HELP)
        where = others[maker].value
    loaded = _import(where, what)
    found = _made(loaded, what, *((path,) if equals else ())) if callable(loaded) else loaded
    with asking(what, "cannot be asked for its parts"):
        lacking = [part for part in _WORLD_PARTS if not hasattr(found, part)]
    if lacking:
        raise UsageError(
            f"{what} is a {type(found).__name__} without {', '.join(lacking)}; "
            f"a world has {', '.join(_WORLD_PARTS)} (breakfall.vocab.World)"
        )
    world: World = found
    return world


def trusted(world: str, agents: Iterable[str] = ()) -> bool:
    """Whether a world and agents are all built in; code of someone else's may do anything to its process."""
    maker = world.partition("=")[0]
    return (maker in WORLDS or maker in WORLDS_OF_FILES) and all(agent in AGENTS for agent in agents)


@cache
def agent(name: str) -> AgentSpec:
    """Load an agent: a built-in one, one that a package registered, or `package.module:object` of one's own.

    The object is an agent, or a class or function without arguments that makes one; it is made anew for each episode.

    Raises:
        UsageError: There is no such agent, or it cannot be loaded.
    """
    if name in AGENTS:
        return AGENTS[name]
    where = name
    if ":" not in name:
        others = _entry_points(_AGENT_GROUP)
        if name not in others:
            raise unknown_name("agent", name, {*AGENTS, *others}, f"{_HELP}; one of your own: package.module:object")
        where = others[name].value
    what = f"agent {name!r}"
    found = _import(where, what)
    if isinstance(found, AgentSpec):
        return found
    if not isinstance(found, type) and isinstance(found, Agent):
        return AgentSpec(name=name, make=lambda: found, policy=GIVE_UP)
    if not isinstance(_made(found, what), Agent):
        raise UsageError(f"{what} has no `run`; it must have `async def run(self, task, toolbox) -> Answer`")
    return AgentSpec(name=name, make=found, policy=GIVE_UP)


def profile(name: str) -> Profile:
    """Load a noise profile: a built-in one by its name, or a TOML file by its path.

    Raises:
        UsageError: There is neither, or the file is no profile.
    """
    if name in PROFILES:
        return PROFILES[name]
    if not name.endswith(".toml"):
        raise unknown_name("profile", name, PROFILES, f"{_HELP}; one of your own: FILE.toml")
    try:
        text = Path(name).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{name}: cannot read the profile: {error}") from None
    return load_profile(text, name)


def source_file(name: str) -> Path | None:
    """Return the file of an agent or world of someone else's that `agent` or `world` loaded; None for built-in ones."""
    name = name.partition("=")[0]
    if name in AGENTS or name in WORLDS or name in WORLDS_OF_FILES:
        return None
    others = {**_entry_points(_WORLD_GROUP), **_entry_points(_AGENT_GROUP)}
    where = others[name].value if name in others else name
    file = getattr(sys.modules.get(where.partition(":")[0]), "__file__", None)
    return Path(file) if file else None


def _entry_points(group: str) -> dict[str, EntryPoint]:
    return {point.name: point for point in entry_points(group=group)}


def _import(where: str, what: str) -> Any:
    """Import `package.module:object`; the current directory counts."""
    module, _, path = where.partition(":")
    if not module or not path:
        raise UsageError(f"{what}: {where!r} is not of the form package.module:object")
    here = str(Path.cwd())
    if here not in sys.path and "" not in sys.path:
        sys.path.append(here)
    with asking(what, f"cannot import {module}"):
        found = importlib.import_module(module)
    for part in path.split("."):
        try:
            found = getattr(found, part)
        except AttributeError:
            raise UsageError(f"{what}: module {module} has no {path!r}") from None
    return found


def _made(make: Any, what: str, *given: str) -> Any:
    """Make the object that a class or function stands for, which takes nothing but what is given."""
    if not callable(make):
        raise UsageError(f"{what} is a {type(make).__name__}, must be an object with `run`, a class or a function")
    with asking(what, "cannot be made"):
        return make(*given)


@contextmanager
def asking(what: str, failed: str) -> Iterator[None]:
    """Turn whatever code of someone else's raises into a `UsageError`, such as "agent 'x': cannot be made: …".

    Args:
        what: Whose code it is.
        failed: What it did not do.
    """
    try:
        yield
    except (BreakfallError, KeyboardInterrupt):
        raise
    except BaseException as error:  # a module that calls sys.exit() too
        raise UsageError(f"{what}: {failed}: {type(error).__name__}: {error}") from error
