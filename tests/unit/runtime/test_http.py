"""The httpx transports: what may be repeated is, what may not is looked up or handed over, in both colours."""

from __future__ import annotations

import gzip
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest

from breakfall.errors import UsageError
from breakfall.runtime.clock import VirtualClock
from breakfall.runtime.http import (
    AsyncRecoveringTransport,
    LookUp,
    NotSent,
    RecoveringTransport,
    Recovery,
    Route,
    Sent,
    Source,
)
from breakfall.runtime.http.sending import KEPT_BYTES
from breakfall.runtime.wrap import Toolbox
from breakfall.vocab import Applied, Settlement

SHOP = "https://shop.test"
Reply = httpx.Response | Exception


class Shop:
    """Answers from a script, then by doing what it is asked; keeps every request."""

    def __init__(self, *script: Reply, applied: int = 0) -> None:
        self.script = list(script)
        self.applied = applied
        """How many of the script's first answers come after the work was done."""
        self.seen: list[httpx.Request] = []
        self.orders: list[str] = []
        self.keys: dict[str, str] = {}

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.seen.append(request)
        if request.method == "GET" and request.url.path == "/orders":
            return httpx.Response(200, json=self.orders)
        done = self.done(request)
        if not self.script:
            return done
        reply = self.script.pop(0)
        if self.applied:
            self.applied -= 1
        else:
            self.undo(request)
        if isinstance(reply, Exception):
            raise reply
        return reply

    def done(self, request: httpx.Request) -> httpx.Response:
        if request.method not in ("POST", "PATCH"):
            return httpx.Response(200, json={"path": request.url.path})
        key = request.headers.get("Idempotency-Key")
        if key is None or key not in self.keys:
            self.orders.append(request.content.decode())
            self.keys[key or ""] = f"O{len(self.orders)}"
        return httpx.Response(201, json={"id": self.keys[key or ""]})

    def undo(self, request: httpx.Request) -> None:
        if request.method in ("POST", "PATCH"):
            self.orders.pop()
            self.keys.pop(request.headers.get("Idempotency-Key", ""), None)

    @property
    def sent(self) -> list[str]:
        return [f"{request.method} {request.url.path}" for request in self.seen]


def reset() -> httpx.ReadError:
    return httpx.ReadError("connection reset by peer")


def orders_with(value: httpx.Response, sent: Sent, sent_s: float) -> Settlement:
    if len(value.json()) > 1:
        return Settlement(applied=Applied.UNKNOWN)
    return Settlement(applied=Applied.YES if value.json() else Applied.NO, value={"id": "found"})


LOOKED_UP = Route(
    "POST", f"{SHOP}/orders", look_up=LookUp(read=lambda sent: httpx.Request("GET", sent.url), judge=orders_with)
)
KEYED = Route("POST", f"{SHOP}/orders", add_key=True)


class Asking:
    """Sends requests through a transport of one colour."""

    def __init__(self, colour: str) -> None:
        self.colour = colour

    def __call__(
        self, shop: Callable[[httpx.Request], httpx.Response], box: Toolbox, *requests: dict[str, Any], **how: Any
    ) -> list[httpx.Response]:
        mock = httpx.MockTransport(shop)
        if self.colour == "sync":
            with httpx.Client(transport=RecoveringTransport(box, transport=mock, **how)) as client:
                return [client.request(**request) for request in requests]

        async def main() -> list[httpx.Response]:
            transport = AsyncRecoveringTransport(box, transport=mock, **how)
            async with httpx.AsyncClient(transport=transport) as client:
                return [await client.request(**request) for request in requests]

        return anyio.run(main)


@pytest.fixture(params=["sync", "async"])
def ask(request: pytest.FixtureRequest) -> Asking:
    return Asking(request.param)


def get(path: str = "/stock", **more: Any) -> dict[str, Any]:
    return {"method": "GET", "url": SHOP + path, **more}


def post(path: str = "/orders", **more: Any) -> dict[str, Any]:
    return {"method": "POST", "url": SHOP + path, **({"json": {"item": "hat"}} | more)}


def recovery(response: httpx.Response) -> Recovery:
    told = response.extensions["breakfall"]
    assert isinstance(told, Recovery)
    return told


def box(**how: Any) -> Toolbox:
    return Toolbox(clock=VirtualClock(), **how)


PASSING = [
    httpx.Response(500),
    httpx.Response(502, text="bad gateway"),
    httpx.Response(503, headers={"Retry-After": "1"}),
    httpx.Response(425),
    httpx.Response(429, headers={"Retry-After": "1"}),
    httpx.ConnectError("connection refused"),
    httpx.ConnectTimeout("timed out"),
    httpx.ReadTimeout("timed out"),
    httpx.RemoteProtocolError("server disconnected without sending a response"),
    reset(),
]


@pytest.mark.parametrize("failure", PASSING, ids=str)
@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "DELETE"])
def test_what_may_be_repeated_is(ask: Asking, method: str, failure: Reply) -> None:
    """Reads and naturally idempotent writes are sent again after whatever passes."""
    shop = Shop(failure)
    (response,) = ask(shop, box(), {"method": method, "url": f"{SHOP}/carts/7"})
    assert response.status_code == 200
    assert (len(shop.seen), recovery(response)) == (2, Recovery(source=Source.SERVER, attempts=2))


@pytest.mark.parametrize("never_sent", PASSING[3:7], ids=str)
def test_a_write_that_was_never_taken_is_repeated(ask: Asking, never_sent: Reply) -> None:
    """A POST that was refused before it was taken, or never left, is sent again although nothing protects it."""
    shop = Shop(never_sent)
    (response,) = ask(shop, box(), post())
    assert (response.status_code, response.json()) == (201, {"id": "O1"})
    assert len(shop.orders) == 1


@pytest.mark.parametrize("lost", [*PASSING[:2], *PASSING[7:]], ids=str)
def test_a_write_in_doubt_is_not_repeated(ask: Asking, lost: Reply) -> None:
    """A POST that may have happened is sent once; the caller gets what it would get without recovery, and the facts."""
    shop, toolbox = Shop(lost, applied=1), box()
    if isinstance(lost, httpx.Response):
        (response,) = ask(shop, toolbox, post())
        stopped = recovery(response).stopped
        assert response.status_code == lost.status_code
        assert stopped is not None
        handoff = stopped.handoff
    else:
        with pytest.raises(type(lost)) as raised:
            ask(shop, toolbox, post())
        handoff = raised.value.handoff  # type: ignore[attr-defined]
        assert "nobody knows" in raised.value.__notes__[0]
    assert [fact.arguments["body"] for fact in handoff.unknown] == [{"item": "hat"}]
    assert shop.sent == ["POST /orders"]


def test_an_equal_request_continues_what_nobody_knows() -> None:
    """A caller that tries again by itself does not send a write twice that may have happened; another one goes out."""
    shop, toolbox = Shop(reset(), applied=1), box()
    mock = httpx.MockTransport(shop)
    with httpx.Client(transport=RecoveringTransport(toolbox, transport=mock)) as client:
        with pytest.raises(httpx.ReadError):
            client.request(**post())
        with pytest.raises(NotSent, match="nobody knows") as again:
            client.request(**post())
        assert again.value.handoff.goal == f"POST {SHOP}/orders"
        assert client.request(**post(json={"item": "scarf"})).status_code == 201
    assert shop.orders == ['{"item":"hat"}', '{"item":"scarf"}']


def test_the_callers_key_is_honoured(ask: Asking) -> None:
    """A POST with the caller's Idempotency-Key is repeated with it, and the server sees one operation."""
    shop = Shop(reset(), httpx.Response(503), applied=1)
    (response,) = ask(shop, box(), post(headers={"Idempotency-Key": "mine"}))
    assert response.json() == {"id": "O1"}
    assert [request.headers["Idempotency-Key"] for request in shop.seen] == ["mine"] * 3
    assert len(shop.orders) == 1


def test_a_key_is_made_from_the_operation(ask: Asking) -> None:
    """With `add_key` every attempt carries one key, the same after a restart of the task, another for another body."""
    keys = []
    for body in ({"item": "hat"}, {"item": "hat"}, {"item": "scarf"}):
        shop, toolbox = Shop(httpx.ReadTimeout("timed out"), applied=1), box()
        with toolbox.task("buy", run="ticket-7"):
            ask(shop, toolbox, post(json=body), routes=[KEYED])
        seen = {request.headers["Idempotency-Key"] for request in shop.seen}
        assert (len(shop.seen), len(seen), len(shop.orders)) == (2, 1, 1)
        keys += seen
    assert keys[0] == keys[1] != keys[2]


@pytest.mark.parametrize("applied", [1, 0])
def test_a_lost_answer_is_looked_up(ask: Asking, applied: int) -> None:
    """A route's look-up settles a lost answer: found, its value is the response; not found, the write goes out."""
    shop = Shop(reset(), applied=applied)
    (response,) = ask(shop, box(), post(), routes=[LOOKED_UP])
    assert len(shop.orders) == 1
    if applied:
        assert response.json() == {"id": "found"}
        assert recovery(response) == Recovery(source=Source.LOOK_UP, attempts=1)
        assert shop.sent == ["POST /orders", "GET /orders"]
    else:
        assert (response.json(), recovery(response).attempts) == ({"id": "O1"}, 2)
    looks = [request for request in shop.seen if request.method == "GET"]
    assert all(request.headers["Cache-Control"] == "no-cache" for request in looks)


def test_a_look_up_may_be_a_function(ask: Asking) -> None:
    """A route may look up with a function of one's own, for the async transport an async one, and give a response."""
    shop = Shop(reset(), applied=1)

    def counted(sent: Sent) -> int:
        assert (sent.method, sent.url, sent.body) == ("POST", f"{SHOP}/orders", {"item": "hat"})
        return len(shop.orders)

    async def acounted(sent: Sent) -> int:
        return counted(sent)

    def judge(value: int, sent: Sent, sent_s: float) -> Settlement:
        return Settlement(applied=Applied.YES if value else Applied.NO, value=httpx.Response(201, text=f"{value}"))

    look_up = LookUp(read=counted if ask.colour == "sync" else acounted, judge=judge)
    (response,) = ask(shop, box(), post(), routes=[Route("POST", f"{SHOP}/orders", look_up=look_up)])
    assert (response.status_code, response.text, shop.sent) == (201, "1", ["POST /orders"])


def test_a_look_up_that_fails_tells_nothing(ask: Asking) -> None:
    """When the look-up fails too, nothing is sent again, and the caller gets the write's own error."""
    shop = Shop(reset(), applied=1)

    def down(request: httpx.Request) -> httpx.Response:
        return httpx.Response(500) if request.method == "GET" else shop(request)

    with pytest.raises(httpx.ReadError, match="reset by peer"):
        ask(down, box(), post(), routes=[LOOKED_UP])
    assert shop.sent == ["POST /orders"]


@pytest.mark.parametrize("wait", ["7", "Mon, 30 Nov 2026 10:00:07 GMT"], ids=["seconds", "date"])
def test_retry_after_is_waited_for(ask: Asking, wait: str) -> None:
    """A 429 with Retry-After, in seconds or as a date, is tried again when it says so and not before."""
    headers = {"Retry-After": wait, "Date": "Mon, 30 Nov 2026 10:00:00 GMT"}
    clock = VirtualClock()
    (response,) = ask(Shop(httpx.Response(429, headers=headers)), Toolbox(clock=clock), get())
    assert response.status_code == 200
    assert 7.0 <= clock.now() < 8.0


def test_a_409_is_the_servers_own_word_unless_it_asks_to_come_back(ask: Asking) -> None:
    """A conflict is returned as it is; one with Retry-After is tried again after the wait."""
    shop = Shop(httpx.Response(409, json={"message": "sold out"}))
    (response,) = ask(shop, box(), post())
    assert (response.status_code, len(shop.seen)) == (409, 1)
    shop = Shop(httpx.Response(409, headers={"Retry-After": "2"}, json={"message": "locked"}))
    (response,) = ask(shop, box(), post())
    assert (response.status_code, len(shop.orders)) == (201, 1)


@pytest.mark.parametrize("status", [400, 404, 410, 422])
def test_refusals_come_back_as_they_are(ask: Asking, status: int) -> None:
    """What the server refuses is one call, and its answer reaches the caller untouched."""
    shop = Shop(httpx.Response(status, json={"message": "no such item"}, headers={"X-Own": "1"}))
    (response,) = ask(shop, box(), post())
    assert (response.status_code, response.json(), response.headers["X-Own"]) == (
        status,
        {"message": "no such item"},
        "1",
    )
    assert recovery(response) == Recovery(source=Source.SERVER, attempts=1)


@pytest.mark.parametrize("status", [401, 403])
def test_refused_credentials_are_sent_once_until_they_change(ask: Asking, status: int) -> None:
    """A 401 or 403 is one call and comes back; the same again is not sent, with other credentials it is."""
    shop = Shop(httpx.Response(status), httpx.Response(status))
    old, new = ({"Authorization": f"Bearer {name}"} for name in ("old", "new"))
    first, second = ask(shop, box(), get(headers=old), get(headers=new))
    assert (first.status_code, second.status_code) == (status, status)
    assert len(shop.seen) == 2
    stopped = recovery(first).stopped
    assert stopped is not None
    assert stopped.outcome.status == status


def test_authentication_in_steps_works(ask: Asking) -> None:
    """The auth flows of httpx, which answer a 401 with another request, work through the transport."""
    challenge = {"WWW-Authenticate": 'Digest realm="shop", nonce="abc", qop="auth", algorithm=MD5'}
    shop = Shop(httpx.Response(401, headers=challenge))
    (response,) = ask(shop, box(), get(auth=httpx.DigestAuth("user", "secret")))
    assert response.status_code == 200


def test_a_deleted_thing_that_is_gone_is_deleted(ask: Asking) -> None:
    """A 404 for the repeat of a DELETE whose answer was lost counts as done, and still is what the server said."""
    shop = Shop(reset(), httpx.Response(404))
    (response,) = ask(shop, box(), {"method": "DELETE", "url": f"{SHOP}/orders/1"})
    assert (response.status_code, recovery(response).stopped) == (404, None)


def test_the_last_response_comes_back_when_it_is_given_up() -> None:
    """A backend that stays down: the last response is returned with the reason, and the next request is not sent."""
    shop = Shop(*[httpx.Response(503, text=f"down {n}") for n in range(9)])
    mock, toolbox = httpx.MockTransport(shop), box()
    with httpx.Client(transport=RecoveringTransport(toolbox, transport=mock)) as client:
        response = client.get(f"{SHOP}/stock")
        assert (response.status_code, response.text) == (503, "down 2")
        stopped = recovery(response).stopped
        assert stopped is not None
        assert stopped.handoff.tried == ("GET shop.test/stock: server_error × 3",)
        with pytest.raises(NotSent, match="known to be shut"):
            client.get(f"{SHOP}/stock")
    assert len(shop.seen) == 3


def test_a_streamed_body_is_sent_once(ask: Asking) -> None:
    """A body that comes from a generator cannot be sent again: one attempt, even for a PUT."""

    def parts() -> Iterator[bytes]:
        yield b"part"

    async def aparts() -> AsyncIterator[bytes]:
        yield b"part"

    shop = Shop(httpx.Response(503))
    content = parts() if ask.colour == "sync" else aparts()
    (response,) = ask(shop, box(), {"method": "PUT", "url": f"{SHOP}/files/1", "content": content})
    assert (response.status_code, len(shop.seen)) == (503, 1)


def test_equal_writes_of_a_task(ask: Asking) -> None:
    """In a task an equal write is answered with what the first came to, unless the caller means it."""
    shop, toolbox = Shop(), box()
    meant = post(extensions={"breakfall": {"again": True}})
    with toolbox.task("buy a hat"):
        first, second, third = ask(shop, toolbox, post(), post(), meant)
    assert [r.json()["id"] for r in (first, second, third)] == ["O1", "O1", "O2"]
    assert recovery(second) == Recovery(source=Source.RECORDED, attempts=0)


def test_equal_writes_outside_a_task(ask: Asking) -> None:
    """Outside a task equal writes that succeed are all sent, as existing code expects."""
    shop = Shop()
    ask(shop, box(), post(), post())
    assert len(shop.orders) == 2


def test_after_a_restart(ask: Asking, tmp_path: Path) -> None:
    """A task that comes back by its name gets the recorded answer, with its status, headers and body."""
    shop = Shop()
    for _ in range(2):
        with Toolbox(journal=tmp_path / "w.db") as toolbox, toolbox.task("buy", run="ticket-7"):
            (response,) = ask(shop, toolbox, post(), routes=[LOOKED_UP])
        assert (response.status_code, response.json()) == (201, {"id": "O1"})
        assert response.headers["content-type"] == "application/json"
    assert recovery(response).source is Source.RECORDED
    assert len(shop.orders) == 1


def test_reconciled_at_the_next_start(tmp_path: Path) -> None:
    """A write whose look-up failed is looked up by the next process, by its route, before anything is sent."""
    shop = Shop(reset(), applied=1)
    down = [True]

    def server(request: httpx.Request) -> httpx.Response:
        return httpx.Response(500) if request.method == "GET" and down[0] else shop(request)

    for start in range(2):
        with Toolbox(journal=tmp_path / "w.db", clock=VirtualClock()) as toolbox:
            transport = RecoveringTransport(toolbox, routes=[LOOKED_UP], transport=httpx.MockTransport(server))
            with httpx.Client(transport=transport) as client:
                if start == 0:
                    with toolbox.task("buy", run="t"), pytest.raises(httpx.ReadError):
                        client.request(**post())
                    down[0] = False
                else:
                    assert len(toolbox.reconcile().succeeded) == 1
                    with toolbox.task("buy", run="t"):
                        assert client.request(**post()).json() == {"id": "found"}
    assert len(shop.orders) == 1


def test_one_key_names_one_operation(ask: Asking) -> None:
    """A key that comes with another body is refused, naming both."""
    toolbox, first = box(), post(headers={"Idempotency-Key": "k"})
    with toolbox.task("buy"), pytest.raises(UsageError, match=r"'k'.*hat.*scarf"):
        ask(Shop(), toolbox, first, {**first, "json": {"item": "scarf"}})


def test_errors_under_a_200(ask: Asking) -> None:
    """An error in the body of a 200 is one: a limit is waited for, a refusal comes back as the server said it."""
    limited = httpx.Response(200, json={"error": {"code": "rate_limited", "message": "slow down"}})
    shop = Shop(limited, httpx.Response(200, json={"error": {"code": "unknown_item", "message": "no such item"}}))
    first, second = ask(shop, box(), post(), post())
    assert (first.json()["error"]["code"], second.status_code) == ("unknown_item", 201)
    assert len(shop.seen) == 3


def test_bodies_arrive_as_they_were_sent(ask: Asking) -> None:
    """A compressed body is decoded once, raw bytes stay, and an event stream or a huge body is handed on."""
    texts = {
        "/zip": httpx.Response(200, headers={"Content-Encoding": "gzip"}, content=gzip.compress(b"x" * 999)),
        "/raw": httpx.Response(200, content=b"\xff\x00"),
        "/events": httpx.Response(200, headers={"Content-Type": "text/event-stream"}, content=b"data: 1\n\n"),
        "/huge": httpx.Response(200, content=b"y" * (KEPT_BYTES + 5)),
    }

    def server(request: httpx.Request) -> httpx.Response:
        return texts[request.url.path]

    got = ask(server, box(), *[get(path) for path in texts])
    assert [len(response.content) for response in got] == [999, 2, 9, KEPT_BYTES + 5]
    assert got[0].text == "x" * 999


def test_a_body_that_breaks_off_is_read_again(ask: Asking) -> None:
    """A read whose body breaks off in the middle is made again: the break is seen inside the attempt."""

    class Broken(httpx.SyncByteStream, httpx.AsyncByteStream):
        def __iter__(self) -> Iterator[bytes]:
            yield b"{"
            raise httpx.ReadError("connection reset by peer")

        async def __aiter__(self) -> AsyncIterator[bytes]:
            yield b"{"
            raise httpx.ReadError("connection reset by peer")

    replies = [httpx.Response(200, stream=Broken()), httpx.Response(200, json={"stock": 3})]
    (response,) = ask(lambda request: replies.pop(0), box(), get())
    assert response.json() == {"stock": 3}


def test_one_toolbox_for_two_clients() -> None:
    """Two clients over one toolbox share what is known of a server, and each sends through its own transport."""
    shops, toolbox = (Shop(), Shop()), box()
    for shop in shops:
        with httpx.Client(
            transport=RecoveringTransport(toolbox, transport=httpx.MockTransport(shop), routes=[LOOKED_UP])
        ) as client:
            assert client.request(**post()).status_code == 201
    assert [len(shop.orders) for shop in shops] == [1, 1]


def test_endpoints_are_told_apart_without_their_ids() -> None:
    """Requests that no route knows are named by method, server and path, ids left out; secrets stay out of it."""
    toolbox = box()
    with httpx.Client(transport=RecoveringTransport(toolbox, transport=httpx.MockTransport(Shop()))) as client:
        for number in range(3):
            client.get(f"https://user:secret@shop.test:8443/orders/{number}/lines?page=1")
        client.put(f"{SHOP}/carts/7", headers={"Idempotency-Key": "k"})
    assert sorted(toolbox.tools) == ["GET shop.test:8443/orders/{}/lines", "PUT shop.test/carts/{} with a key"]


def test_bad_routes_are_named() -> None:
    """A route without a host is refused, and a write that nobody could look up is pointed out where it stands."""
    with pytest.raises(UsageError, match=r"route '/orders' must be a whole URL"):
        Route("POST", "/orders")
    with pytest.warns(UserWarning, match="POST shop.test/orders writes, and has neither a look-up nor a key") as caught:
        Route("POST", f"{SHOP}/orders")
    assert caught[0].filename == __file__
    Route("POST", f"{SHOP}/search", effect="read")
