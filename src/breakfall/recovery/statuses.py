"""What HTTP statuses say: what is plain from the number, and what the body must tell."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from breakfall.recovery import bodies, signs
from breakfall.recovery.diagnosis import Diagnosis
from breakfall.vocab import Failed, FaultKind

_SCANNED = 20_000
"""How much of a body's text is searched for wording."""


_URL = re.compile(r"https?://\S+")
"""What an address says is the caller's own."""


def _plain() -> dict[int, Diagnosis]:
    groups = (
        (FaultKind.AUTH_ERROR, "the credentials are refused", True, False, (401, 407, 419, 440, 498, 511)),
        (FaultKind.TIMEOUT, "no answer came in time", True, True, (408, 499, 504, 524, 598, 599)),
        (FaultKind.RATE_LIMIT, "too many calls", True, False, (429, 529)),
        (FaultKind.SERVER_ERROR, "the server did not process it, and it may be sent again", True, False, (421, 425)),
        (FaultKind.SCHEMA_DRIFT, "the interface has changed", True, False, (301, 308, 405, 426, 501, 505)),
        (FaultKind.SERVER_ERROR, "the gateway did not reach the server", False, False, (521, 523, 525, 526, 530)),
    )
    return {
        status: Diagnosis(kind, f"HTTP {status}: {says}", sent, in_doubt)
        for kind, says, sent, in_doubt, statuses in groups
        for status in statuses
    }


PLAIN = _plain()
"""Statuses whose number says it all."""


def by_status(failed: Failed, status: int) -> Diagnosis:
    """Read a failure that has an HTTP status."""
    found = PLAIN.get(status)
    if found is not None:
        return found
    if status >= 500:
        return _server_error(failed, status)
    if status >= 400:
        return _refusal(failed, status)
    if status >= 300:
        return _redirect(failed, status)
    return by_text(failed, f"HTTP {status}") or Diagnosis(
        FaultKind.MALFORMED_RESPONSE, f"HTTP {status} with a body that cannot be read", in_doubt=True
    )


def _server_error(failed: Failed, status: int) -> Diagnosis:
    """Read a 5xx: a write is in doubt, unless the server refused it because it was busy."""
    if status == 503 and failed.body:
        found = signs.RATE.search(failed.body[:_SCANNED].lower()) or _throttled(failed.body)
        if found:
            return Diagnosis(FaultKind.RATE_LIMIT, "HTTP 503, and the body says that there are too many calls")
    return Diagnosis(FaultKind.SERVER_ERROR, f"HTTP {status}: the server failed", in_doubt=True)


def _throttled(body: str) -> bool:
    codes = bodies.said(bodies.parsed(body)).codes
    found = [signs.by_code(code) for code in codes if isinstance(code, str)]
    return any(code is not None and code.kind is FaultKind.RATE_LIMIT for code in found)


def _redirect(failed: Failed, status: int) -> Diagnosis:
    """Read a 3xx that nobody followed."""
    location = header(failed.headers, "location").lower()
    if re.search(r"log-?in|sign-?in|\bsso\b|/auth", location):
        return Diagnosis(FaultKind.AUTH_ERROR, f"HTTP {status} leads to a login page")
    return Diagnosis(FaultKind.MALFORMED_RESPONSE, f"HTTP {status} leads elsewhere and was not followed", in_doubt=True)


def _refusal(failed: Failed, status: int) -> Diagnosis:
    """Read a 4xx: codes first, then headers, then wording; without a sign it is the tool's own refusal."""
    evidence = f"HTTP {status}"
    body = failed.body
    said = bodies.said(bodies.parsed(body)) if body else bodies.NOTHING
    for code in said.codes:
        found = _coded(failed, code)
        if found is not None and found.kind not in (None, FaultKind.SERVER_ERROR if found.in_doubt else None):
            return Diagnosis(found.kind, f"{evidence}, and {found.evidence}", in_doubt=found.in_doubt)
    text = (_URL.sub("", failed.message) if body is None else body)[:_SCANNED].lower()
    if status == 403:
        return _forbidden(failed, said, text)
    if status == 409 and signs.IDEMPOTENCY.search(text) and signs.IN_PROGRESS.search(text):
        return Diagnosis(FaultKind.SERVER_ERROR, f"{evidence}: the same request is still at work", in_doubt=True)
    if status in (409, 423) and failed.retry_after_s is not None:
        return Diagnosis(FaultKind.SERVER_ERROR, f"{evidence}, and the server asks to come back")
    if header(failed.headers, "sunset") or (status == 410 and header(failed.headers, "deprecation")):
        return Diagnosis(FaultKind.SCHEMA_DRIFT, f"{evidence}, and the headers say that the interface is retired")
    found = signs.by_refusal(text)
    if found is not None:
        return Diagnosis(found.kind, f"{evidence}, and {found.evidence}")
    return Diagnosis(None, f"{evidence}: the tool's own refusal")


def _forbidden(failed: Failed, said: bodies.Said, text: str) -> Diagnosis:
    """Read a 403: credentials, too many calls, or a reason of the tool's own."""
    if signs.RATE.search(text) or header(failed.headers, "x-ratelimit-remaining") == "0":
        return Diagnosis(FaultKind.RATE_LIMIT, "HTTP 403, and the server says that there are too many calls")
    if header(failed.headers, "www-authenticate"):
        return Diagnosis(FaultKind.AUTH_ERROR, "HTTP 403 with WWW-Authenticate")
    word = signs.AUTH.search(text) or signs.FORBIDDEN.search(text)
    if word is not None:
        return Diagnosis(FaultKind.AUTH_ERROR, f"HTTP 403, and the body says {word[0]!r}")
    reasons = [*said.texts, *(code for code in said.codes if isinstance(code, str))]
    if not reasons and failed.body and not failed.body.lstrip().startswith(("<", "{", "[")):
        reasons = [failed.body]
    if any(not _GENERIC.fullmatch(reason.strip().lower()) for reason in reasons):
        return Diagnosis(None, "HTTP 403: the tool's own refusal, with its reason")
    return Diagnosis(FaultKind.AUTH_ERROR, "HTTP 403 without a reason of the tool's own")


_GENERIC = re.compile(
    r"(?:http |error |status )?(?:403)?[ :,-]*(?:forbidden|access (?:is )?denied|error|failed?|denied)?[.!]?"
)
"""What a 403 says that gives no reason."""


def by_text(failed: Failed, evidence: str) -> Diagnosis | None:
    """Read a body that says error under a status that does not; None: it does not say error."""
    value = bodies.parsed(failed.body) if failed.body else None
    shown = bodies.error_in(value)
    return None if shown is None else of_error(failed, value, f"{evidence}, but {shown}")


def of_error(failed: Failed, value: Any, evidence: str) -> Diagnosis:
    """Read a JSON value that is an error, by its codes and then by its wording."""
    said = bodies.said(value)
    text = " ".join(said.texts or (failed.message,))[:_SCANNED].lower()
    for code in said.codes:
        found = _coded(failed, code)
        if found is None:
            continue
        if found.kind is None or (found.kind is FaultKind.SERVER_ERROR and found.in_doubt):
            found = _sharper(code, text) or found
        return Diagnosis(found.kind, f"{evidence}; {found.evidence}", found.sent, found.in_doubt)
    found = signs.by_wording(text)
    if found is not None:
        return Diagnosis(found.kind, f"{evidence}; {found.evidence}", found.sent, found.in_doubt)
    return Diagnosis(None, f"{evidence}: the tool's own refusal")


def _sharper(code: str | int, text: str) -> Diagnosis | None:
    """Let the wording say more than a code that says little, such as "internal error" or "invalid params"."""
    told = signs.by_wording(text)
    if told is None or (code == signs.INVALID_PARAMS and told.kind is not FaultKind.SCHEMA_DRIFT):
        return None
    return told if told.kind in (FaultKind.RATE_LIMIT, FaultKind.AUTH_ERROR, FaultKind.SCHEMA_DRIFT) else None


def _coded(failed: Failed, code: str | int) -> Diagnosis | None:
    """Read one code of an error body: a word, an HTTP status or a JSON-RPC code."""
    if isinstance(code, str) and not code.lstrip("-").isdecimal():
        return signs.by_code(code)
    number = int(code)
    if 400 <= number <= 599 and (failed.status is None or failed.status < 300):
        return by_status(failed, number)
    return signs.by_rpc(number)


def header(headers: Mapping[str, str], name: str) -> str:
    """Return a header whatever its case, or an empty text.

    Args:
        headers: The headers.
        name: The header's name in lower case.
    """
    if name in headers:
        return headers[name]
    return next((value for key, value in headers.items() if key.lower() == name), "")
