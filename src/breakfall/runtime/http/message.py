"""HTTP messages as values: what a request asks for, and an answer that can be recorded and given again."""

from __future__ import annotations

import base64
from typing import Any
from uuid import uuid4

import httpx
import msgspec
from msgspec import Struct

KEY_HEADER = "Idempotency-Key"
_NOT_KEPT = frozenset({
    "connection", "content-encoding", "content-length", "keep-alive", "set-cookie", "trailer", "transfer-encoding",
    "www-authenticate",
})  # fmt: skip
"""Headers that hold secrets or describe how the body travelled."""
_STREAMED = ("text/event-stream", "multipart/x-mixed-replace", "application/x-ndjson", "application/jsonl")


class Answer(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An HTTP answer in a form that can be stored; `text` or `base64` is its body, neither if it was not kept."""

    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()
    text: str | None = None
    base64: str | None = None

    @property
    def content(self) -> bytes:
        """The body."""
        return base64.b64decode(self.base64) if self.base64 is not None else (self.text or "").encode()


def answer_of(response: httpx.Response, content: bytes | None) -> Answer:
    """Describe a response; `content` is its decoded body, None if it is not kept."""
    headers = tuple((name, value) for name, value in response.headers.multi_items() if name not in _NOT_KEPT)
    text, packed = None, None
    if content is not None:
        try:
            text = content.decode()
        except UnicodeDecodeError:
            packed = base64.b64encode(content).decode()
    return Answer(status=response.status_code, headers=headers, text=text, base64=packed)


def answer_with(value: Any) -> Answer:
    """Make an answer of what a look-up found: a response, an answer, or a value that becomes its JSON body."""
    if isinstance(value, Answer):
        return value
    if isinstance(value, httpx.Response):
        return answer_of(value, value.content)
    body = msgspec.json.encode(value).decode()
    return Answer(headers=(("content-type", "application/json"),), text=body)


def response_with(answer: Answer, request: httpx.Request | None = None) -> httpx.Response:
    """Build the response that an answer describes."""
    return httpx.Response(answer.status, headers=list(answer.headers), content=answer.content, request=request)


def is_streamed(response: httpx.Response) -> bool:
    """Whether the body arrives piece by piece on purpose, so that it must be handed on as it comes."""
    return str(response.headers.get("content-type", "")).startswith(_STREAMED)


def content_in(request: httpx.Request) -> bytes | None:
    """Return the request's body, or None if it is a stream that can be sent only once."""
    try:
        return request.content
    except httpx.RequestNotRead:
        return None


def arguments_of(request: httpx.Request) -> dict[str, Any]:
    """Name what a request asks for: two requests with equal arguments ask for the same."""
    url = request.url.copy_with(userinfo=b"", fragment=None)
    return {"method": request.method, "url": str(url), "body": _body(request)}


def _body(request: httpx.Request) -> Any:
    content = content_in(request)
    kind = request.headers.get("content-type", "")
    if content is None:
        named = KEY_HEADER in request.headers
        return {"stream": kind, **({} if named else {"id": uuid4().hex})}  # nobody can tell two streams apart
    if not content:
        return None
    if "json" in kind:
        try:
            return msgspec.json.decode(content)
        except msgspec.DecodeError:
            pass
    try:
        return content.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(content).decode()}
