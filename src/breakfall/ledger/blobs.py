"""Large values of a step: they stand whole, compressed, beside the rows of their segment.

A segment's blobs lie in ``segments/<name>.blobs``, one record after the other: a line of JSON (digest, size, stored
bytes), then the compressed value. A record is written before the row that names it.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any, BinaryIO

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from breakfall.errors import StoreError
from breakfall.ledger.line import ENCODER
from breakfall.vocab import Blob, Failed, Ok, Step
from breakfall.vocab import pointer as pointers

LARGE_LINE = 32_768
"""A line longer than this gives its large values out."""
LARGE_VALUE = 8_192
"""Bytes of JSON from which a value counts as large."""
SUFFIX = ".blobs"
_LEVEL = 3

_ARGUMENT, _EXPECTED = "/arguments/", "/expected_outcome"
_VALUE, _BODY, _MESSAGE = "/observed_outcome/value", "/observed_outcome/body", "/observed_outcome/message"


class _Record(Struct, frozen=True):
    """The head of a stored value."""

    digest: str
    size_bytes: int
    stored_bytes: int


_RECORD = msgspec.json.Decoder(_Record)


def blob_path(segment: Path, name: str) -> Path:
    """Return where the blobs of a segment lie, given one of its files and its name."""
    return segment.parent / f"{name}{SUFFIX}"


def take_out(step: Step) -> tuple[Step, list[bytes]]:
    """Take the large values out of a step.

    Returns:
        The step with a `Blob` for each, and the JSON of each in the same order. A step that has none, or whose blobs
        someone else took out, comes back as it is.
    """
    if step.blobs:
        return step, []
    found = [(at, raw) for at, value in _places(step) if len(raw := ENCODER.encode(value)) >= LARGE_VALUE]
    if not found:
        return step, []
    blobs = tuple(Blob(at=at, digest=sha256(raw).hexdigest(), size_bytes=len(raw)) for at, raw in found)
    empty = {at: "" if at in (_MESSAGE, _EXPECTED) else None for at, _ in found}
    return replace(_with(step, empty), blobs=blobs), [raw for _, raw in found]


def put_back(step: Step, values: Sequence[bytes]) -> Step:
    """Put large values back into a step, given their JSON in the order of its blobs."""
    found = {blob.at: msgspec.json.decode(raw) for blob, raw in zip(step.blobs, values, strict=True)}
    return replace(_with(step, found), blobs=())


def pack(raw: bytes) -> bytes:
    """Return the record of a value's JSON."""
    stored = zlib.compress(raw, _LEVEL)
    head = _Record(sha256(raw).hexdigest(), len(raw), len(stored))
    return b"%b\n%b" % (ENCODER.encode(head), stored)


def read(stream: BinaryIO, name: str, at: int, digest: str) -> bytes:
    """Read the JSON of a value from its place in a blob file.

    Raises:
        StoreError: The value is not there, or is not the one that was written.
    """
    stream.seek(at)
    try:
        head = _RECORD.decode(stream.readline())
        raw = zlib.decompress(stream.read(head.stored_bytes))
    except (msgspec.MsgspecError, zlib.error) as error:
        raise StoreError(f"{name}: no value stands at byte {at} ({error}); restore the file") from None
    if sha256(raw).hexdigest() != digest:
        raise StoreError(f"{name}: the value at byte {at} is not the one that was written; restore the file")
    return raw


def _places(step: Step) -> Iterator[tuple[str, Any]]:
    """Yield what may be large, with its place in the line."""
    for name, value in step.arguments.items():
        if isinstance(value, str | list | dict):
            yield f"{_ARGUMENT}{pointers.escape(name)}", value
    if isinstance(step.expected_outcome, str):
        yield _EXPECTED, step.expected_outcome
    outcome = step.observed_outcome
    if isinstance(outcome, Ok):
        yield _VALUE, outcome.value
    else:
        yield _MESSAGE, outcome.message
        yield _BODY, outcome.body


def _with(step: Step, values: dict[str, Any]) -> Step:
    """Return the step with these values in their places."""
    arguments = {_unescaped(at): value for at, value in values.items() if at.startswith(_ARGUMENT)}
    if arguments:
        step = replace(step, arguments=step.arguments | arguments)
    if _EXPECTED in values:
        step = replace(step, expected_outcome=values[_EXPECTED])
    outcome = step.observed_outcome
    if isinstance(outcome, Ok) and _VALUE in values:
        outcome = replace(outcome, value=values[_VALUE])
    if isinstance(outcome, Failed):
        parts = {name: values[at] for name, at in (("message", _MESSAGE), ("body", _BODY)) if at in values}
        outcome = replace(outcome, **parts)
    return replace(step, observed_outcome=outcome)


def _unescaped(at: str) -> str:
    return at.removeprefix(_ARGUMENT).replace("~1", "/").replace("~0", "~")
