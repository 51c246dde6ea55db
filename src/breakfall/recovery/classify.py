"""Classify a failure: read its kind, and what it leaves open, from the evidence that a caller has."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from breakfall.vocab import Applied, Failed, FaultKind

_TIMEOUTS = frozenset(
    {
        "TimeoutError",
        "Timeout",
        "ReadTimeout",
        "WriteTimeout",
        "ReadTimeoutError",
        "APITimeoutError",
        "ServerTimeoutError",
    }
)
_NEVER_SENT = frozenset(
    {"ConnectTimeout", "ConnectTimeoutError", "PoolTimeout", "ConnectError", "ConnectionRefusedError", "gaierror"}
)
_LOST = frozenset(
    {"ReadError", "WriteError", "RemoteProtocolError", "ConnectionResetError", "BrokenPipeError", "ConnectionError",
     "ServerDisconnectedError", "ProtocolError", "APIConnectionError", "ClientOSError"}
)  # fmt: skip
_UNREADABLE = frozenset({"JSONDecodeError", "DecodeError", "ValidationError", "UnicodeDecodeError"})
_DRIFT_SIGNS = ("schema", "renamed", "no longer accept", "now required", "deprecated argument")
_UNKNOWN_AFTER = frozenset({FaultKind.TIMEOUT, FaultKind.SERVER_ERROR, FaultKind.MALFORMED_RESPONSE})


class Diagnosis(Struct, frozen=True):
    """What a failure is (`kind` None: the tool's own refusal), whether the request left, and the evidence."""

    kind: FaultKind | None
    evidence: str
    sent: bool = True


def diagnose(failed: Failed) -> Diagnosis:
    """Read the kind from exception class, status, headers and body, in that order of trust."""
    name = (failed.exception or "").rpartition(".")[2]
    if name in _NEVER_SENT:
        kind = FaultKind.TIMEOUT if "Timeout" in name else FaultKind.SERVER_ERROR
        return Diagnosis(kind, f"{name}: the request was never sent", sent=False)
    if name in _TIMEOUTS:
        return Diagnosis(FaultKind.TIMEOUT, name)
    if name in _LOST:
        return Diagnosis(FaultKind.SERVER_ERROR, f"{name}: the connection broke")
    if name in _UNREADABLE:
        return Diagnosis(FaultKind.MALFORMED_RESPONSE, f"{name}: the body cannot be read")
    if failed.status is not None:
        return _by_status(failed, failed.status)
    return Diagnosis(None, "the tool answered with an error of its own")


def _by_status(failed: Failed, status: int) -> Diagnosis:
    evidence = f"HTTP {status}"
    if status == 429:
        return Diagnosis(FaultKind.RATE_LIMIT, evidence)
    if status in (401, 407):
        return Diagnosis(FaultKind.AUTH_ERROR, evidence)
    if status == 403 and failed.body is not None:
        return Diagnosis(FaultKind.AUTH_ERROR, evidence)
    if status in (408, 504):
        return Diagnosis(FaultKind.TIMEOUT, evidence)
    if status >= 500:
        return Diagnosis(FaultKind.SERVER_ERROR, evidence)
    if status < 400:
        return Diagnosis(FaultKind.MALFORMED_RESPONSE, f"{evidence} with a body that cannot be read")
    if status in (400, 410, 422) and failed.body is not None:
        text = failed.body.lower()
        sign = next((sign for sign in _DRIFT_SIGNS if sign in text), None)
        if sign:
            return Diagnosis(FaultKind.SCHEMA_DRIFT, f"{evidence}, and the body says {sign!r}")
    return Diagnosis(None, f"{evidence}: the tool's own refusal")


def classify(failed: Failed, *, writes: bool) -> Failed:
    """Return the failure with its kind, or marked native, and with what its caller knows of the effect.

    Args:
        failed: The failure as it came off the wire.
        writes: Whether the call may have changed something; then a lost answer leaves `applied` unknown.
    """
    if failed.kind is not None or failed.native:
        return failed
    found = diagnose(failed)
    if found.kind is None:
        return replace(failed, native=True)
    unknown = writes and found.sent and found.kind in _UNKNOWN_AFTER
    return replace(failed, kind=found.kind, applied=Applied.UNKNOWN if unknown else Applied.NO)
