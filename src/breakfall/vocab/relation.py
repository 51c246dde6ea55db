"""How a later step answers an earlier one: same path, another path of the same equivalence, or its reader."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from breakfall.vocab.fault import FaultKind, Response
from breakfall.vocab.step import Step
from breakfall.vocab.tool import MapArguments, Tool


def root(step: Step) -> str:
    """Return the tool that the step stands for: the original where it took another path."""
    return step.path_of or step.tool


def response(fault: Step, later: Step, tools: Mapping[str, Tool]) -> Response | None:
    """Return which response to the faulty step `later` is; None where it has to do with something else.

    A look-up that the runtime made belongs to the call it was made for. Other steps belong together when they share
    the call's id, or, for agents that send their own retries as new calls, when tool and arguments say so.
    """
    if bool(later.purpose) != bool(fault.purpose):
        asked = later.purpose and later.call == fault.call and _writes(fault, tools)
        return Response.VERIFY if asked else None
    if later.tool == fault.tool:
        return _again(fault, tools) if _same_call(fault, later, tools) else None
    if _is_path(fault, later, tools):
        return Response.VERIFY if _silent_read(fault, tools) else Response.SWITCH
    return Response.VERIFY if reads_back(fault, later, tools) else None


def reads_back(write: Step, later: Step, tools: Mapping[str, Tool]) -> bool:
    """Whether `later` reads what the write did: its reader, or a path of the reader, about the same thing."""
    tool = tools.get(write.tool)
    if tool is None or tool.reader is None:
        return False
    if later.purpose and later.call == write.call:
        return True
    reader = tools.get(tool.reader.tool)
    wanted = mapped(tool.reader.arguments, write)
    if later.tool == tool.reader.tool:
        return _agree(wanted, later.arguments)
    for path in reader.paths if reader else ():
        if path.tool == later.tool and wanted is not None:
            return _agree(_called(path.arguments, wanted, write.context), later.arguments)
    return False


def _writes(step: Step, tools: Mapping[str, Tool]) -> bool:
    tool = tools.get(step.tool)
    return tool is not None and tool.writes


def _silent_read(fault: Step, tools: Mapping[str, Tool]) -> bool:
    return fault.injection is not None and fault.injection.kind.silent and not _writes(fault, tools)


def _again(fault: Step, tools: Mapping[str, Tool]) -> Response:
    """Reading again what looked right is a check of it, not a retry."""
    return Response.VERIFY if _silent_read(fault, tools) else Response.RETRY


def _same_call(fault: Step, later: Step, tools: Mapping[str, Tool]) -> bool:
    if later.call == fault.call:
        return True
    if fault.injection is not None and fault.injection.kind is FaultKind.SCHEMA_DRIFT:
        return True  # the remedy is other arguments
    tool = tools.get(fault.tool)
    key = tool.idempotency.parameter if tool else None
    return _without(fault.arguments, key) == _without(later.arguments, key)


def _is_path(fault: Step, later: Step, tools: Mapping[str, Tool]) -> bool:
    """Whether `later` takes another path to what the faulty step was for."""
    if later.call == fault.call:
        return root(later) == root(fault)
    if later.path_of is not None and later.path_of != root(fault):
        return False
    origin = tools.get(root(fault))
    for path in origin.paths if origin else ():
        if path.tool == later.tool:
            return fault.path_of is not None or _agree(mapped(path.arguments, fault), later.arguments)
    return False


def mapped(mapping: MapArguments, step: Step, context: Mapping[str, Any] | None = None) -> dict[str, Any] | None:
    """Map a step's arguments, from what its caller knew besides them; None where that does not suffice.

    Args:
        mapping: The mapping of a path or a reader.
        step: Whose arguments are mapped.
        context: What the caller knew, if not what the step says.
    """
    return _called(mapping, step.arguments, step.context if context is None else context)


def _called(mapping: MapArguments, arguments: Mapping[str, Any], context: Mapping[str, Any]) -> dict[str, Any] | None:
    try:
        return mapping(arguments, context)
    except (LookupError, TypeError, ValueError, AttributeError):
        return None


def _agree(wanted: Mapping[str, Any] | None, got: Mapping[str, Any]) -> bool:
    """Whether a call has the arguments that the mapping gives; one that needs what is not known lets any pass."""
    return wanted is None or all(got.get(name) == value for name, value in wanted.items())


def _without(arguments: Mapping[str, Any], name: str | None) -> dict[str, Any]:
    return {key: value for key, value in arguments.items() if key != name}
