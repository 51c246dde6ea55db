"""The httpx transports on the real order service behind its faulty network, in both colours."""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest
from msgspec.structs import replace

from breakfall.demos.orders.book import Endpoint, Order, orders
from breakfall.demos.orders.count import rows_in
from breakfall.demos.orders.faults import IN_TRANSIT_S
from breakfall.demos.orders.play import network
from breakfall.demos.orders.shop import TIMEOUT_S
from breakfall.recovery.policy import BALANCED
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
from breakfall.runtime.wrap import Toolbox
from breakfall.vocab import Applied, Settlement

PATHS = {Endpoint.PLAIN: "/orders", Endpoint.KEYED: "/v2/orders"}
POLICY = replace(BALANCED, attempts=8, base_s=0.02, cap_s=0.2, cooldown_s=0.05)
COUNT = 150


def routes(base: str) -> list[Route]:
    def read(sent: Sent) -> httpx.Request:
        return httpx.Request("GET", f"{base}/orders", params={"reference": sent.body["reference"]})

    def judge(response: httpx.Response, sent: Sent, sent_s: float) -> Settlement:
        found = response.json()["orders"]
        return Settlement(applied=Applied.YES if found else Applied.NO, value=found[0] if found else None)

    look_up = LookUp(read=read, judge=judge, in_transit_s=IN_TRANSIT_S)
    return [Route("POST", f"{base}/orders", look_up=look_up), Route("POST", f"{base}/v2/orders", add_key=True)]


def request_of(order: Order, base: str) -> dict[str, Any]:
    body = {"reference": order.reference, "item": order.item, "quantity": order.quantity}
    if order.endpoint is Endpoint.NATURAL:
        return {"method": "PUT", "url": f"{base}/orders/{order.reference}", "json": body}
    return {"method": "POST", "url": base + PATHS[order.endpoint], "json": body}


def check(wanted: list[Order], responses: list[httpx.Response], database: Path) -> None:
    """Each order stands once, its caller holds its number, and some came by look-up."""
    assert rows_in(database) == Counter(order.reference for order in wanted)
    assert all(response.json()["id"] for response in responses)
    told = [response.extensions["breakfall"] for response in responses]
    assert all(isinstance(one, Recovery) and one.stopped is None for one in told)
    assert any(one.source is Source.LOOK_UP for one in told)
    assert any(one.attempts > 1 for one in told)


def wanted() -> list[Order]:
    return [one for one in orders(5, COUNT) if one.can_be_placed and one.endpoint is not Endpoint.PARTNER]


@pytest.mark.parametrize("colour", ["sync", "async"])
def test_each_request_places_its_order_once(tmp_path: Path, colour: str) -> None:
    """Plain, keyed and naturally idempotent requests: one row each. What was not sent is asked for again later."""
    placed: list[httpx.Response] = []
    later_s = 2 * POLICY.cooldown_s
    with network(tmp_path / "orders.db", 5) as port, Toolbox(policy=POLICY, journal=tmp_path / "w.db") as box:
        base = f"http://127.0.0.1:{port}"
        if colour == "sync":
            with httpx.Client(transport=RecoveringTransport(box, routes=routes(base)), timeout=TIMEOUT_S) as client:
                left = wanted()
                while left:
                    try:
                        placed.append(client.request(**request_of(left[0], base)))
                        left.pop(0)
                    except NotSent:
                        time.sleep(later_s)
        else:

            async def main() -> None:
                transport = AsyncRecoveringTransport(box, routes=routes(base))
                async with httpx.AsyncClient(transport=transport, timeout=TIMEOUT_S) as client:

                    async def place(order: Order) -> None:
                        while True:
                            try:
                                async with limit:
                                    placed.append(await client.request(**request_of(order, base)))
                            except NotSent:
                                await anyio.sleep(later_s)
                            else:
                                return

                    limit = anyio.CapacityLimiter(8)
                    async with anyio.create_task_group() as group:
                        for order in wanted():
                            group.start_soon(place, order)

            anyio.run(main)
    check(wanted(), placed, tmp_path / "orders.db")
