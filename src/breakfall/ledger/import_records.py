"""Records of other programs' files, one by one, each with the place where it stands."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from breakfall.errors import UsageError
from breakfall.ledger import otel_names as otel
from breakfall.ledger.import_mapping import Shape

_LISTS = ("data", "runs", "observations")
"""Fields that hold the records of a page or a trace."""
_FAILED = (2, "STATUS_CODE_ERROR")


class Record(Struct, frozen=True):
    """One record and where it stands, such as ``traces.jsonl:17``."""

    data: Any
    where: str


def records(path: Path, shape: Shape) -> Iterator[Record]:
    """Yield the records of a file in their order.

    A file is one JSON document, or one a line; blank lines are passed over.

    Raises:
        UsageError: The file cannot be read, or something in it is no JSON or not of this shape.
    """
    for document, where in _documents(path):
        try:
            for data, place in _SPLIT[shape](document):
                at = f"{where} {place}".rstrip()
                if not isinstance(data, dict):
                    raise UsageError(f"{at}: a {type(data).__name__} stands where a record must")
                yield Record(data, at)
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise UsageError(f"{where}: not in the form of {shape.value}: {error}") from None


def _documents(path: Path) -> Iterator[tuple[Any, str]]:
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path}: cannot read the file: {error.strerror}") from None
    try:
        yield msgspec.json.decode(raw), str(path) if b"\n" in raw.strip() else f"{path}:1"
        return
    except (msgspec.MsgspecError, UnicodeDecodeError):
        lines = raw.splitlines()
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            yield msgspec.json.decode(line), f"{path}:{number}"
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise UsageError(f"{path}:{number}: not JSON: {error}") from None


def _plain_records(document: Any) -> Iterator[tuple[Any, str]]:
    if isinstance(document, list):
        yield from ((item, f"/{nth}") for nth, item in enumerate(document))
    else:
        yield document, ""


def _pages(document: Any, at: str = "") -> Iterator[tuple[Any, str]]:
    """Yield what lists, pages and traces hold; a document that is none of them is a record."""
    if isinstance(document, list):
        for nth, item in enumerate(document):
            yield from _pages(item, f"{at}/{nth}")
        return
    held = [name for name in _LISTS if isinstance(document, dict) and isinstance(document.get(name), list)]
    for name in held:
        for item, place in _pages(document[name], f"{at}/{name}"):
            yield (_of_trace(item, document) if name == "observations" else item), place
    if not held:
        yield document, at


def _of_trace(observation: Any, trace: dict[str, Any]) -> Any:
    """Give an observation what only its trace says."""
    if not isinstance(observation, dict):
        return observation
    return {"traceId": trace.get("id"), "sessionId": trace.get("sessionId"), **observation}


def _langsmith(document: Any) -> Iterator[tuple[Any, str]]:
    waiting = list(_pages(document))[::-1]
    while waiting:
        run, place = waiting.pop()
        yield run, place
        inside = run.get("child_runs") if isinstance(run, dict) else None
        if isinstance(inside, list):
            waiting += [(child, f"{place}/child_runs/{nth}") for nth, child in enumerate(inside)][::-1]


def _langfuse(document: Any) -> Iterator[tuple[Any, str]]:
    for observation, place in _pages(document):
        if isinstance(observation, dict) and observation.get("level") == "ERROR":
            yield {**observation, "error": observation.get("statusMessage") or "the level is ERROR"}, place
        else:
            yield observation, place


def _otlp(document: Any) -> Iterator[tuple[Any, str]]:
    """Yield spans with their attributes as plain objects."""
    if not isinstance(document, dict) or "resourceSpans" not in document:
        raise ValueError("there is no `resourceSpans`")
    for place, resource in _listed(document, "resourceSpans", ""):
        shared = _attributes(resource.get("resource", {}))
        for scope_place, scope in _listed(resource, "scopeSpans", place):
            for span_place, span in _listed(scope, "spans", scope_place):
                yield _span(span, shared), span_place


def _listed(holder: dict[str, Any], name: str, at: str) -> Iterator[tuple[str, dict[str, Any]]]:
    for nth, item in enumerate(holder.get(name) or []):
        place = f"{at}/{name}/{nth}"
        if not isinstance(item, dict):
            raise TypeError(f"a {type(item).__name__} stands at {place} where an object must")
        yield place, item


def _span(span: dict[str, Any], resource: dict[str, Any]) -> dict[str, Any]:
    events = [event for event in span.get("events") or [] if event.get("name") == otel.EXCEPTION_EVENT]
    exception = _attributes(events[-1]) if events else {}
    made = {**span, "attributes": _attributes(span), "resource": resource, "exception": exception}
    status = span.get("status") or {}
    if status.get("code") in _FAILED:
        made["error"] = (
            status.get("message") or exception.get(otel.EXCEPTION_MESSAGE) or "the status of the span is error"
        )
    return made


def _attributes(holder: dict[str, Any]) -> dict[str, Any]:
    return {entry["key"]: _value(entry.get("value") or {}) for entry in holder.get("attributes") or []}


def _value(wrapped: dict[str, Any]) -> Any:
    """Return the value that OTLP wraps in an object named after its type."""
    if "intValue" in wrapped:
        return int(wrapped["intValue"])  # 64-bit integers are texts in protobuf's JSON
    if "arrayValue" in wrapped:
        return [_value(item) for item in wrapped["arrayValue"].get("values") or []]
    if "kvlistValue" in wrapped:
        return {entry["key"]: _value(entry.get("value") or {}) for entry in wrapped["kvlistValue"].get("values") or []}
    return next(iter(wrapped.values()), None)


_SPLIT: dict[Shape, Callable[[Any], Iterator[tuple[Any, str]]]] = {
    Shape.JSON: _plain_records,
    Shape.OTLP: _otlp,
    Shape.LANGSMITH: _langsmith,
    Shape.LANGFUSE: _langfuse,
}
