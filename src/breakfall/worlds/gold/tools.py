"""Tools built from a benchmark's own descriptions and a domain's facts, and the mirrors that we add."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from breakfall.vocab import Effect, Idempotency, IdempotencyKind, Path, Tool
from breakfall.worlds.gold.domain import Domain, Mirror

_FORM = "_by_form"
_GATEWAY = "_via_gateway"


class Doc(Struct, frozen=True, kw_only=True):
    """A tool as the benchmark describes it."""

    name: str
    description: str
    parameters: dict[str, Any]
    returns: dict[str, Any] = {}


def native(domain: Domain, docs: Iterable[Doc]) -> dict[str, Tool]:
    """Build the benchmark's own tools."""
    return {doc.name: _tool(domain, doc) for doc in docs}


def with_alternatives(domain: Domain, tools: Mapping[str, Tool]) -> dict[str, Tool]:
    """Add the mirrors.

    A tool gets the paths through the domain's own mirrors, which need to know more than the call says; and one that
    takes the same request: a form for a write, a gateway for a read.
    """
    through, doubles = {}, {}
    for name, tool in tools.items():
        double = _double(tool)
        doubles[double.name] = double
        paths = (*tool.paths, *domain.mirror_paths.get(name, ()), Path(tool=double.name))
        through[name] = replace(tool, paths=paths)
    return {**through, **{mirror.name: _mirror(mirror) for mirror in domain.mirrors}, **doubles}


def mirrored(tool: str) -> str:
    """Return the tool that a name stands for: itself, or what it takes the same request for."""
    return tool.removesuffix(_FORM).removesuffix(_GATEWAY)


def purpose(tool: Tool) -> str:
    """Return what a tool is for: the first sentence of its description."""
    return " ".join(tool.description.split(". ", 1)[0].split()).rstrip(".")


def fitted(tools: Mapping[str, Tool], untold: frozenset[str]) -> Mapping[str, Tool]:
    """Take away the readers of writes that these would be wrong for."""
    return MappingProxyType(
        {name: replace(tool, reader=None) if mirrored(name) in untold else tool for name, tool in tools.items()}
    )


def _tool(domain: Domain, doc: Doc) -> Tool:
    kind = IdempotencyKind.NATURAL if doc.name in domain.natural else IdempotencyKind.NONE
    return Tool(
        name=doc.name,
        description=doc.description,
        parameters={**doc.parameters, "additionalProperties": False},
        returns=annotated(doc.returns, domain.kinds),
        effect=domain.effect(doc.name),
        fault_domain=domain.fault_domains[doc.name],
        paths=domain.paths.get(doc.name, ()),
        reader=domain.readers.get(doc.name),
        idempotency=Idempotency(kind=kind),
    )


def _double(tool: Tool) -> Tool:
    write = tool.effect is not Effect.READ
    way = "filed as a form with the back office" if write else "sent through the partner gateway"
    return replace(
        tool,
        name=tool.name + (_FORM if write else _GATEWAY),
        description=f"The same request as {tool.name}, {way}. {purpose(tool)}.",
        fault_domain=f"{'forms' if write else 'gateway'}/{tool.fault_domain}",
        paths=(Path(tool=tool.name),),
        mirror=True,
    )


def _mirror(mirror: Mirror) -> Tool:
    return Tool(
        name=mirror.name,
        description=mirror.description,
        parameters={
            "type": "object",
            "properties": mirror.parameters,
            "required": list(mirror.parameters),
            "additionalProperties": False,
        },
        effect=Effect.READ,
        fault_domain=mirror.fault_domain,
        mirror=True,
    )


def annotated(schema: Any, kinds: Mapping[str, str]) -> Any:
    """Mark the fields of a schema that hold an id, money or the like with `x-kind`, at every depth."""
    if isinstance(schema, list):
        return [annotated(part, kinds) for part in schema]
    if not isinstance(schema, dict):
        return schema
    out = {name: annotated(part, kinds) for name, part in schema.items()}
    fields = out.get("properties")
    for name, field in fields.items() if isinstance(fields, dict) else ():
        if name in kinds:
            leaf = next((field[part] for part in ("items", "additionalProperties") if part in field), field)
            leaf["x-kind"] = kinds[name]
    return out
