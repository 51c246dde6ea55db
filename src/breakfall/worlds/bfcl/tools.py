"""BFCL's tools as breakfall sees them: schemas made valid, effects, paths, readers, and the mirrors that we add."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from msgspec.structs import replace

from breakfall.vocab import ALTERNATIVES, Idempotency, IdempotencyKind, Path, Tool
from breakfall.worlds.bfcl import facts
from breakfall.worlds.bfcl.gold import Case
from breakfall.worlds.bfcl.package import Package
from breakfall.worlds.bfcl.paths import NATIVE_PATHS, known
from breakfall.worlds.bfcl.readers import READERS

_TYPES = {"dict": "object", "float": "number", "tuple": "array"}
_MIRROR = "_via_gateway"
_PURPOSE = "Tool description: "


def native(package: Package) -> dict[str, Tool]:
    """Build the tools of all classes."""
    return {doc["name"]: _tool(owner, doc) for owner, docs in package.docs.items() for doc in docs}


def mirrors(tools: Mapping[str, Tool]) -> dict[str, Tool]:
    """Build a mirror for each tool: the same request to the same state, through a gateway that fails on its own."""
    return {mirror.name: mirror for mirror in map(_mirror, tools.values())}


def mirrored(tool: str) -> str:
    """Return the tool that a name stands for: itself, or what it mirrors."""
    return tool.removesuffix(_MIRROR)


def purpose(tool: Tool) -> str:
    """Return what a tool is for: the last part of its description."""
    return tool.description.rsplit(_PURPOSE, 1)[-1].split(". ", 1)[0].rstrip(".")


def offered(
    case: Case, condition: str, turn: int, tools: Mapping[str, Tool], untold: frozenset[str]
) -> Mapping[str, Tool]:
    """Choose what a task offers in a turn: no excluded tool, no held-out one before its turn, no mirror of either.

    Args:
        case: The task's row.
        condition: `NATIVE` or `ALTERNATIVES`.
        turn: The user's turn.
        tools: All tools of the condition.
        untold: Writes whose reader does not hold in this task.
    """
    names = [name for name in case.owner if name not in case.excluded and case.held_out.get(name, 0) <= turn]
    if condition == ALTERNATIVES:
        names += [name + _MIRROR for name in names if name in case.needed]
    visible = frozenset(names)
    return MappingProxyType({name: _fitted(tools[name], visible, untold) for name in names})


def _fitted(tool: Tool, visible: frozenset[str], untold: frozenset[str]) -> Tool:
    paths = known(tool.paths, visible)
    reader = tool.reader
    if reader is not None and (reader.tool not in visible or mirrored(tool.name) in untold):
        reader = None
    if paths == tool.paths and reader is tool.reader:
        return tool
    return replace(tool, paths=paths, reader=reader)


def with_alternatives(tools: Mapping[str, Tool]) -> dict[str, Tool]:
    """Return the tools with their mirrors, which stand first among the paths: they suffice in every state."""
    through = {name: replace(tool, paths=(Path(tool=name + _MIRROR), *tool.paths)) for name, tool in tools.items()}
    return {**through, **mirrors(tools)}


def _tool(owner: str, doc: dict[str, Any]) -> Tool:
    name: str = doc["name"]
    kind = IdempotencyKind.NATURAL if name in facts.NATURAL else IdempotencyKind.NONE
    return Tool(
        name=name,
        description=doc["description"],
        parameters={**schema(doc["parameters"], {}), "additionalProperties": False},
        returns=schema(doc["response"], facts.IDS.get(owner, {})),
        effect=facts.effect(name),
        fault_domain=facts.DOMAINS[name],
        paths=NATIVE_PATHS.get(name, ()),
        reader=READERS.get(name),
        idempotency=Idempotency(kind=kind),
    )


def _mirror(tool: Tool) -> Tool:
    owner = tool.fault_domain.split("/", 1)[0]
    return replace(
        tool,
        name=tool.name + _MIRROR,
        description=f"The same request as {tool.name}, sent through the partner gateway. {purpose(tool)}.",
        fault_domain=f"Gateway/{owner}",
        paths=(Path(tool=tool.name),),
        mirror=True,
    )


def schema(doc: Mapping[str, Any], kinds: Mapping[str, str]) -> dict[str, Any]:
    """Turn one of the package's descriptions into JSON Schema.

    Args:
        doc: The description; its types are Python's.
        kinds: Field -> `x-kind`, for the fields that hold ids.
    """
    out = {name: part for name, part in doc.items() if name not in ("type", "properties", "items")}
    out["type"] = _TYPES.get(doc["type"], doc["type"])
    if "properties" in doc:
        out["properties"] = {name: _field(name, part, kinds) for name, part in doc["properties"].items()}
    if "items" in doc:
        out["items"] = schema(doc["items"], kinds)
    return out


def _field(name: str, part: Mapping[str, Any], kinds: Mapping[str, str]) -> dict[str, Any]:
    converted = schema(part, kinds)
    if name in kinds:
        leaf = converted["items"] if converted.get("type") == "array" and "items" in converted else converted
        leaf["x-kind"] = kinds[name]
    return converted
