"""Look with an HTTP GET: JSON that must show what the write was for."""

from __future__ import annotations

import ssl
from collections.abc import Mapping, Sequence
from http.client import HTTPException, HTTPMessage
from typing import IO, Any, Literal
from urllib.error import HTTPError
from urllib.parse import quote, urlsplit, urlunsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

import msgspec

from breakfall.errors import UsageError
from breakfall.recovery import bodies
from breakfall.runtime.verifiers import template
from breakfall.runtime.verifiers.claim import Claim, Look, Looking, Unfilled, Verifier
from breakfall.vocab import Failed, Predicate

_GONE = (404, 410)
_LARGEST = 20_000_000


def http_json(
    url: str,
    *,
    predicates: Sequence[Predicate] = (),
    headers: Mapping[str, str] | None = None,
    absent: bool = False,
    missing: Literal["not_applied", "unknown"] = "not_applied",
    timeout_s: float = 10.0,
) -> Verifier:
    """Make a verifier that GETs a URL.

    Redirects are not followed, so that credentials stay where they belong.

    Args:
        url: Where; gaps are quoted, and may not stand in the scheme or host.
        predicates: What must hold of the JSON that comes back.
        headers: Sent along, such as credentials; they are in no evidence.
        absent: The write was to remove it: 404 and 410 are what is wanted.
        missing: What 404 and 410 mean otherwise; "unknown" for services that answer so to who may not look.
        timeout_s: For each step of the exchange.

    Raises:
        UsageError: The URL cannot be used.
    """
    template.check(url, "url")
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or "{" in parts.netloc:
        raise UsageError(f"url is {url!r}, must begin with http:// or https:// and a host without gaps")

    def ask(claim: Claim) -> dict[str, Any]:
        return {"url": _shown(template.fill(url, claim, _quoted))}

    def look(claim: Claim, looking: Looking) -> Look:
        wanted = template.fill_predicates(predicates, claim)
        answer = _get(template.fill(url, claim, _quoted), headers or {}, timeout_s, looking)
        if isinstance(answer, Look):
            return answer
        status, body = answer
        if status in _GONE and (absent or missing == "not_applied"):
            failed = Failed(message=f"HTTP {status}", status=status, body=body)
            return looking.nothing(f"HTTP {status}: nothing is there", absent=absent, outcome=failed)
        if status != 200:
            return looking.cannot_tell(f"the look-up got HTTP {status}", status=status, body=body)
        try:
            value = msgspec.json.decode(body)
        except msgspec.DecodeError:
            return looking.cannot_tell("the look-up got no JSON", status=status, body=body)
        refused = bodies.error_in(value)
        if refused is not None:
            return looking.cannot_tell(f"the look-up got an error under HTTP 200: {refused}", status=status, body=body)
        return looking.there(value, wanted, absent=absent, status=status)

    return Verifier("http", ask, look)


class _NoRedirect(HTTPRedirectHandler):
    def redirect_request(
        self, req: Request, fp: IO[bytes], code: int, msg: str, headers: HTTPMessage, newurl: str
    ) -> None:
        """Follow nothing."""


def _quoted(value: str) -> str:
    """Quote a value for a URL; one that servers take for a step through folders is refused."""
    if value in ("", ".", ".."):
        raise Unfilled(f"{value!r} is no part of a URL")
    return quote(value, safe="")


def _get(url: str, headers: Mapping[str, str], timeout_s: float, looking: Looking) -> tuple[int, str] | Look:
    """GET; what `ValueError` says may quote a header, so it is not shown."""
    sent = {"Accept": "application/json", "User-Agent": "breakfall", **headers}
    try:
        request = Request(url, headers=sent)  # noqa: S310 - the scheme was checked
        with build_opener(_NoRedirect).open(request, timeout=timeout_s) as answer:
            data = answer.read(_LARGEST + 1)
            status: int = answer.status
    except HTTPError as error:
        with error:
            try:
                return error.code, error.read(_LARGEST).decode("utf-8", "replace")
            except (OSError, HTTPException) as cut:
                return looking.cannot_tell(f"the look-up broke off: {cut}", status=error.code, name=type(cut).__name__)
    except (OSError, HTTPException) as error:
        reason = getattr(error, "reason", error)
        said = "its certificate is not trusted" if isinstance(reason, ssl.SSLCertVerificationError) else str(reason)
        name = type(reason).__name__
        return looking.cannot_tell(f"the look-up got no answer: {name}: {said}", name=name)
    except ValueError as error:
        return looking.cannot_tell(
            "the look-up could not be sent: a header or the URL is invalid", name=str(type(error))
        )
    if len(data) > _LARGEST:
        return looking.cannot_tell(f"the look-up got more than {_LARGEST:,} bytes", status=status)
    return status, data.decode("utf-8", "replace")


def _shown(url: str) -> str:
    """Return a URL without user and password."""
    parts = urlsplit(url)
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))
