"""Classify a failure: read its kind, and what it leaves open, from the evidence that a caller has."""

from __future__ import annotations

import re

from msgspec.structs import replace

from breakfall.recovery import bodies, database, signs
from breakfall.recovery.diagnosis import Diagnosis
from breakfall.recovery.exceptions import CRASHES, EXCEPTIONS, meaning
from breakfall.recovery.statuses import by_status, by_text, of_error
from breakfall.vocab import Applied, Failed, FaultKind

_NATIVE = Diagnosis(None, "the tool answered with an error of its own")
_CUT = re.compile(r"[Ii]ncomplete|complete message body")
_TELLING = frozenset({"Exception", "RuntimeError"})
"""Builtins whose text is all they say."""
_SCANNED = 20_000


def diagnose(failed: Failed) -> Diagnosis:
    """Read the kind from exception class, status, headers, body and message, in that order of trust."""
    name = failed.exception
    if name:
        found = EXCEPTIONS.get(name) or meaning(name)
        if found is not None:
            return _by_exception(failed, name, found)
    if failed.status is not None:
        return by_status(failed, failed.status)
    return _by_words(failed) or _NATIVE


def _by_exception(failed: Failed, name: str, found: Diagnosis) -> Diagnosis:
    """Sharpen what an exception's class says by what else is there."""
    if found.kind is FaultKind.MALFORMED_RESPONSE:
        return _unreadable(failed, name, found)
    if found.kind is FaultKind.TIMEOUT:
        return found
    if name in _TELLING:
        if failed.status is not None:
            return by_status(failed, failed.status)
        return _by_words(failed) or found
    if name in CRASHES:
        return found
    last = name.rpartition(".")[2]
    if last in _DATABASE or last == "OperationalError[SQLITE_ERROR]":
        return database.by_wording(name, failed.message) or found
    if last in ("RemoteProtocolError", "ProtocolError") and _CUT.search(failed.message):
        return Diagnosis(FaultKind.MALFORMED_RESPONSE, f"{name}: the answer breaks off", in_doubt=True)
    return found


_DATABASE = frozenset({"OperationalError", "InterfaceError", "InternalError", "DatabaseError"})


def _unreadable(failed: Failed, name: str, found: Diagnosis) -> Diagnosis:
    """Read an answer that its reader could not: a refusal that is no JSON, a login page, the tool's own arguments."""
    if failed.status is not None and failed.status >= 400:
        return by_status(failed, failed.status)
    body = failed.body
    if body and bodies.is_page(body) and signs.LOGIN_PAGE.search(body[:_SCANNED].lower()):
        return Diagnosis(FaultKind.AUTH_ERROR, f"{name}: a login page came instead of the answer")
    if name == "pydantic.ValidationError" and signs.OWN_ARGUMENTS.search(failed.message.lower()):
        return Diagnosis(None, f"{name}: the tool refuses the arguments", sent=False)
    return found


def _by_words(failed: Failed) -> Diagnosis | None:
    """Read a failure that has neither a known exception nor a status."""
    value = bodies.parsed(failed.body) if failed.body else None
    if value is not None:
        if failed.exception:
            return of_error(failed, value, failed.exception)
        return by_text(failed, "the call came back") or _NATIVE
    text = (failed.body or failed.message)[:_SCANNED].lower()
    status = signs.status_in(text)
    return signs.by_wording(text) if status is None else by_status(failed, status)


def classify(failed: Failed, *, writes: bool) -> Failed:
    """Return the failure with its kind, or marked native, and with what its caller knows of the effect.

    Args:
        failed: The failure as it came off the wire.
        writes: Whether the call may have changed something; then a lost answer leaves `applied` unknown.
    """
    if failed.kind is not None or failed.native:
        return failed
    found = diagnose(failed)
    applied = Applied.UNKNOWN if writes and found.in_doubt else Applied.NO
    if found.kind is None:
        return replace(failed, native=True, applied=applied)
    return replace(failed, kind=found.kind, applied=applied)
