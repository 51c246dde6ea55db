"""The boundary to real tools: what a call raised or returned becomes an `Outcome`.

Everything is read by attribute and by class name, so that no client library is a dependency. `failed_from` says what
was there, `recovery.classify` what it means.
"""

from __future__ import annotations

import dis
import errno
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from breakfall.recovery import bodies
from breakfall.recovery.exceptions import CRASHES, UNDERLYING, meaning, qualified, vague
from breakfall.recovery.expectations import Expectation, breach
from breakfall.recovery.retry_after import retry_after_s
from breakfall.vocab import Applied, Failed, FaultKind, Ok, Outcome
from breakfall.vocab.schema import ArgumentSchema
from breakfall.vocab.tool import Arguments

_DEEPEST = 16
"""Exceptions that are looked at in one chain."""
_CAUSES = ("__cause__", "orig", "reason", "os_error", "last_exception")
_SECRET = frozenset({"set-cookie", "authorization", "proxy-authorization", "cookie"})
"""Headers that are not kept."""


def failed_from(error: BaseException, *, now_s: float | None = None) -> Failed:
    """Turn what a tool raised into a failure, not yet classified.

    What the tool's own code raises on purpose, as ``raise ValueError("no such order")``, is its refusal and comes back
    as `native`. Cancellation is for whoever cancelled: raise it again.

    Args:
        error: What was raised.
        now_s: The time since 1970, for a Retry-After date from a server that does not send its own.
    """
    chain = list(_chain(error))
    named, telling = _named(chain)
    answer = _answer(chain, named)
    if answer is not None and (named is None or vague(named)):
        named, telling = None, answer.error
    name = named or qualified(type(telling).__module__, type(telling).__name__)
    message = _message(error, telling)
    unread = next((doc for each in chain if isinstance(doc := getattr(each, "doc", None), str)), None)
    if answer is None:
        return Failed(message=message, exception=name, body=unread, native=named is None and _refuses(error))
    return Failed(
        message=message,
        exception=name,
        status=answer.status,
        body=unread if answer.body is None else answer.body,
        headers=answer.headers,
        retry_after_s=retry_after_s(answer.headers, status=answer.status, now_s=now_s),
    )


def _chain(error: BaseException) -> Iterator[BaseException]:
    """List the exception, what it was raised from, and what it wraps, outermost first and each once."""
    waiting = [error]
    seen: set[int] = set()
    while waiting and len(seen) < _DEEPEST:
        error = waiting.pop(0)
        if id(error) in seen:
            continue
        seen.add(id(error))
        yield error
        if isinstance(error, BaseExceptionGroup):
            waiting += error.exceptions
        inner = [getattr(error, name, None) for name in _CAUSES]
        inner += error.args[:1]
        kwargs = getattr(error, "kwargs", None)
        if isinstance(kwargs, dict):
            inner.append(kwargs.get("error"))
        if not error.__suppress_context__ or _known(error) is not None:  # a library's `from None` hides its own steps
            inner.append(error.__context__)
        waiting += [found for found in inner if isinstance(found, BaseException)]


def _named(chain: Sequence[BaseException]) -> tuple[str | None, BaseException]:
    """Return the known name that tells most and whose it is; None and the outermost exception where none is known.

    The outermost definite exception counts, unless one that it was raised from shows that an earlier try of the same
    call was lost on its way: then a write is in doubt, whatever came of the later try.
    """
    best: tuple[str, BaseException] | None = None
    wrapper: tuple[str, BaseException] | None = None
    for error in chain:
        name = _known(error)
        if name is None:
            continue
        if vague(name):
            wrapper = wrapper or (name, error)
        elif best is None:
            best = name, error
        elif _doubtful(name) and not _doubtful(best[0]) and _is_client(name):
            return name, error
    return best or wrapper or (None, chain[0])


def _doubtful(name: str) -> bool:
    found = meaning(name)
    return found is not None and found.in_doubt


def _known(error: BaseException) -> str | None:
    """Return the name under which an exception or one of its bases is known."""
    code = _code(error)
    for base in type(error).__mro__:
        name = qualified(base.__module__, base.__name__)
        if name in CRASHES:
            return None
        if code is not None and meaning(f"{name}[{code}]") is not None:
            return f"{name}[{code}]"
        if meaning(name) is not None:
            return name
    return None


def _code(error: BaseException) -> str | None:
    """Return the code that an operating system's, TLS or database error carries."""
    for attribute in ("sqlite_errorname", "sqlstate", "pgcode"):
        code = getattr(error, attribute, None)
        if isinstance(code, str) and code:
            return code
    package = type(error).__module__.partition(".")[0]
    if package == "ssl":
        return getattr(error, "reason", None)
    first = error.args[0] if error.args else None
    if package in ("pymysql", "MySQLdb", "mysql", "aiomysql", "asyncmy") and isinstance(first, int):
        return str(first)
    if package == "pyodbc" and isinstance(first, str) and len(first) == 5:
        return first
    if type(error) is OSError and error.errno is not None:
        return errno.errorcode.get(error.errno)
    return None


class _Answer(Struct, frozen=True):
    """What a server answered, as far as an exception shows it."""

    status: int | None
    body: str | None
    headers: dict[str, str]
    error: BaseException


def _answer(chain: Sequence[BaseException], named: str | None) -> _Answer | None:
    """Return the answer that the first exception with one shows.

    One whose cause is a lost connection shows none: the answer is not this request's, or was made up by the client.
    """
    for at, error in enumerate(chain):
        found = _shown(error)
        if found is not None:
            return None if any(_overrides(deeper, named) for deeper in chain[at + 1 :]) else found
    return None


def _overrides(error: BaseException, named: str | None) -> bool:
    """Whether an exception beneath one with a status shows that the status is not the answer to the whole call."""
    name = _known(error)
    if name is None or name != named:
        return False
    if any(base.__name__ == "HttpProcessingError" for base in type(error).__mro__):
        return True  # aiohttp gives an answer that is no HTTP the status 400
    found = meaning(name)
    lost = found is not None and found.in_doubt and found.kind is not FaultKind.MALFORMED_RESPONSE
    return lost and _is_client(name) and not vague(name)


def _is_client(name: str) -> bool:
    """Whether an exception is a client library's own, not one that the library was built on."""
    package, dot, _ = name.partition(".")
    return bool(dot) and package not in UNDERLYING


def _shown(error: BaseException) -> _Answer | None:
    """Read the answer from one exception: a response, its own attributes, or a JSON-RPC error."""
    response = getattr(error, "response", None)
    if isinstance(response, Mapping):  # botocore
        meta = response.get("ResponseMetadata") or {}
        body = {name: part for name, part in response.items() if name != "ResponseMetadata"}
        return _Answer(_status(meta.get("HTTPStatusCode")), _text(body), _headers(meta.get("HTTPHeaders")), error)
    for source in (response, error):
        status = _status_of(source)
        if status is not None:
            body_text = _body(source)
            return _Answer(status, _body(error) if body_text is None else body_text, _headers_of(source, error), error)
    rpc = getattr(error, "error", None)
    code, message = getattr(rpc, "code", None), getattr(rpc, "message", None)
    if isinstance(code, int) and isinstance(message, str):
        whole = {"code": code, "message": message, "data": getattr(rpc, "data", None)}
        return _Answer(None, _text(whole), {}, error)
    return None


def _status_of(source: Any) -> int | None:
    """Return the HTTP status of a response or an exception."""
    for name in ("status_code", "status", "http_status"):
        status = _status(getattr(source, name, None))
        if status is not None:
            return status
    if isinstance(source, BaseException) and _known(source) is None:
        return _status(getattr(source, "code", None))
    return None


def _status(value: Any) -> int | None:
    """Take a number for an HTTP status only if it can be one."""
    return int(value) if isinstance(value, int) and 100 <= value <= 599 else None


def _headers_of(source: Any, error: BaseException) -> dict[str, str]:
    return _headers(getattr(source, "headers", None)) or _headers(getattr(error, "headers", None))


def _headers(headers: Any) -> dict[str, str]:
    """Copy headers, without those that hold secrets."""
    try:
        items = headers.items()
    except AttributeError:
        return {}
    return {str(name): str(value) for name, value in items if str(name).lower() not in _SECRET}


def _body(source: Any) -> str | None:
    """Return a body that is already there; nothing is read from the network for it."""
    if getattr(source, "_content", b"") is False:  # requests has not read it
        return None
    for name in ("content", "body", "http_body", "detail"):
        try:
            found = getattr(source, name, None)
        except RuntimeError:  # httpx has not read it
            return None
        text = _text(found)
        if text is not None:
            return text
    return None


def _text(value: Any) -> str | None:
    """Show a body as text; JSON values as JSON."""
    if isinstance(value, str):
        return value
    if isinstance(value, bytes | bytearray):
        return bytes(value).decode("utf-8", "replace")
    if isinstance(value, dict | list) and value:
        try:
            return msgspec.json.encode(value).decode()
        except (TypeError, ValueError):
            return str(value)
    return None


def _message(error: BaseException, telling: BaseException) -> str:
    """Say what was raised, and what the exception that tells most says beside it."""
    text, cause = str(error), str(telling)
    said = f"{type(error).__name__}: {text}" if text else type(error).__name__
    return said if not cause or cause in said else f"{said} ({cause})"


_RAISE = dis.opmap["RAISE_VARARGS"]


def _refuses(error: BaseException) -> bool:
    """Whether a builtin exception is the tool's refusal, rather than a failure of its code.

    It is one if the call never reached the tool's body, or if a `raise` outside the standard library made it:
    ``int("x")`` after a write was sent is a failure, ``raise ValueError`` is a decision. A plain `Exception` or
    `RuntimeError` may be either; its text must tell.
    """
    last = error.__traceback__
    if last is None or type(error).__name__ not in CRASHES or type(error) in (Exception, RuntimeError):
        return False
    deeper = last.tb_next
    if deeper is None:
        return isinstance(error, TypeError)
    while deeper is not None:
        last, deeper = deeper, deeper.tb_next
    module = str(last.tb_frame.f_globals.get("__name__", "")).partition(".")[0]
    made_by = last.tb_frame.f_code.co_code[last.tb_lasti]
    return made_by == _RAISE and module not in sys.stdlib_module_names


def outcome_of(
    value: Any,
    *,
    schema: ArgumentSchema | None,
    expect: Sequence[Expectation],
    arguments: Arguments,
    now_s: float,
    writes: bool,
) -> Outcome:
    """Turn what a tool returned into an outcome: a value, unless it says error or cannot be right.

    Args:
        value: What came back.
        schema: The tool's output schema, None where unknown.
        expect: What must hold of the answer.
        arguments: What the tool was asked.
        now_s: The time since 1970, for freshness.
        writes: Whether the call may have changed something: then an answer that cannot be right leaves it in doubt.
    """
    shown = _as_json(value)
    read = bodies.parsed(shown) if isinstance(shown, str) else shown
    error = bodies.error_in(read)
    if error is not None and schema is not None:
        error = bodies.error_in(read, frozenset(schema.schema.get("properties", ())))
    if error is not None:
        texts = bodies.said(read).texts
        return Failed(message=texts[0] if texts else error, body=_text(shown))
    if schema is None and not expect:
        return Ok(value=value)
    shown = _payload(shown)
    doubt = Applied.UNKNOWN if writes else Applied.NO
    if schema is not None:
        failed = _not_as_declared(shown, schema, doubt)
        if failed is not None:
            return failed
    found = breach(shown, arguments, expect, now_s) if expect else None
    if found is None:
        return Ok(value=value)
    message = f"expected that {found.expectation.name}; {found.why}"
    return Failed(message=message, kind=found.expectation.kind, body=_text(shown), applied=doubt)


def _payload(shown: Any) -> Any:
    """Unwrap an MCP tool result: what its output schema describes is its structured content."""
    if isinstance(shown, dict) and shown.get("isError") is False and shown.get("structuredContent") is not None:
        return shown["structuredContent"]
    return shown


def _not_as_declared(shown: Any, schema: ArgumentSchema, doubt: Applied) -> Failed | None:
    """Say how an answer differs from the output schema, or None; missing fields alone are PARTIAL_DATA."""
    try:
        problems = _problems(shown, schema)
    except (TypeError, ValueError) as error:
        problems = [f"it holds what is no JSON value: {error}"]
    if not problems:
        return None
    if isinstance(shown, str) and bodies.is_page(shown):
        problems = ["it is an HTML page where JSON was declared"]
    missing = all(problem.endswith("is a required property") for problem in problems)
    return Failed(
        message=f"the answer is not as declared: {'; '.join(problems)}",
        kind=FaultKind.PARTIAL_DATA if missing else FaultKind.MALFORMED_RESPONSE,
        body=_text(shown),
        applied=doubt,
    )


def _problems(shown: Any, schema: ArgumentSchema) -> list[str]:
    """Validate a value; one that seems wrong is made plain first, since a date in it is a text in JSON."""
    try:
        if schema.is_valid(shown):
            return []
    except ValueError:  # it holds what the validator does not know
        pass
    return schema.problems(msgspec.to_builtins(shown, enc_hook=_model))


_PLAIN = frozenset({dict, list, str, int, float, bool, type(None)})


def _as_json(value: Any) -> Any:
    """Show a value as JSON would: records, models and tuples become objects and lists."""
    if type(value) in _PLAIN:
        return value
    try:
        return msgspec.to_builtins(value, enc_hook=_model)
    except (TypeError, ValueError):
        return value


def _model(value: Any) -> Any:
    """Show a pydantic model."""
    dump = getattr(value, "model_dump", None)
    if dump is None:
        raise TypeError(f"it holds a {type(value).__name__}, which is no JSON value")
    return dump(mode="json", by_alias=True)
