"""Maps of paths: arguments taken from what else the caller knows, values picked out of longer answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from breakfall.vocab import Arguments
from breakfall.vocab.tool import MapArguments, MapValue


def from_context(*names: str, **renames: str) -> MapArguments:
    """Take arguments from the context; where one is missing, the path is not open.

    Args:
        names: Arguments of the same name as in the context.
        renames: Argument -> its name in the context.
    """
    sources = {name: name for name in names} | renames

    def arguments(original: Arguments, context: Arguments) -> dict[str, Any] | None:
        if any(source not in context for source in sources.values()):
            return None
        return {name: context[source] for name, source in sources.items()}

    return arguments


def given(*names: str, **fixed: Any) -> MapArguments:
    """Take the arguments of these names from the original call and add fixed ones."""
    return renamed(fixed, **{name: name for name in names})


def renamed(fixed: Mapping[str, Any] | None = None, /, **sources: str) -> MapArguments:
    """Take arguments from the original call: argument -> its name there; where one is missing, there is no way.

    Args:
        fixed: Further arguments.
        sources: Argument -> its name in the original call.
    """

    def arguments(original: Arguments, context: Arguments) -> dict[str, Any] | None:
        if any(source not in original for source in sources.values()):
            return None
        return {name: original[source] for name, source in sources.items()} | dict(fixed or {})

    return arguments


def item(name: str) -> MapValue:
    """Pick out of a list of records the one whose field equals the original argument of the same name."""

    def value(answer: Any, arguments: Arguments, context: Arguments) -> Any:
        for record in answer if isinstance(answer, list) else ():
            if isinstance(record, dict) and record.get(name) == arguments[name]:
                return record
        raise LookupError(f"no record has {name} {arguments[name]!r}")

    return value
