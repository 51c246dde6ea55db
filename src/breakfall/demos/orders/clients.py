"""The clients: the same calls bare, with tenacity, with stamina and with breakfall, and what each says of them."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from enum import StrEnum
from pathlib import Path
from typing import Any, Protocol

from msgspec import Struct
from msgspec.structs import replace

from breakfall.demos.orders.book import Endpoint, Order
from breakfall.demos.orders.faults import IN_TRANSIT_S
from breakfall.demos.orders.shop import Refused, Shop
from breakfall.errors import UsageError
from breakfall.recovery.policy import BALANCED
from breakfall.runtime.declare import Declared, key, look_up, natural, tool
from breakfall.runtime.stopped import CallStopped
from breakfall.runtime.wrap import Toolbox
from breakfall.vocab import Applied, Settlement

ATTEMPTS, BASE_S, CAP_S = 5, 0.05, 0.5
"""What every client that retries may do; small, because this network recovers in milliseconds."""
RETRYABLE = (429, 500, 502, 503, 504)


class Said(StrEnum):
    """What a client says became of an order."""

    PLACED = "placed"
    REFUSED = "refused"
    """The service does not take it."""
    NOT_PLACED = "not placed"
    """It failed, and nothing was ordered."""
    UNKNOWN = "unknown"
    """Nobody knows; a person must look."""


class Told(Struct, frozen=True):
    """What a client says of one order."""

    reference: str
    said: Said
    note: str = ""


class Client(Protocol):
    """Places orders one way."""

    def place(self, order: Order) -> Told:
        """Place an order and say what became of it."""
        ...


def client(name: str, port: int, folder: Path) -> AbstractContextManager[Client]:
    """Make a client by name.

    Args:
        name: "bare", "tenacity", "stamina" or "breakfall".
        port: Where the service seems to be.
        folder: Where it may keep what it needs after a restart.
    """
    shop = Shop(port)
    if name == "breakfall":
        return Guarded(shop, folder / "writes.db")
    return nullcontext(Unguarded(shop, _RETRIES[name]))


Retry = Callable[[Callable[[], int]], int]


def _bare(call: Callable[[], int]) -> int:
    return call()


def _by_tenacity(call: Callable[[], int]) -> int:
    import tenacity

    return tenacity.Retrying(
        stop=tenacity.stop_after_attempt(ATTEMPTS),
        wait=tenacity.wait_random_exponential(multiplier=BASE_S, max=CAP_S),
        retry=tenacity.retry_if_exception(_passes),
        reraise=True,
    )(call)


def _by_stamina(call: Callable[[], int]) -> int:
    import stamina
    from stamina.instrumentation import set_on_retry_hooks

    set_on_retry_hooks([])  # it would log every retry
    for attempt in stamina.retry_context(
        on=_passes, attempts=ATTEMPTS, wait_initial=BASE_S, wait_max=CAP_S, wait_jitter=BASE_S
    ):
        with attempt:
            return call()
    raise AssertionError("stamina raises the last error itself")


_RETRIES: dict[str, Retry] = {"bare": _bare, "tenacity": _by_tenacity, "stamina": _by_stamina}


def _passes(error: BaseException) -> bool:
    """Whether it is worth another try, as such predicates are usually written."""
    return error.status in RETRYABLE if isinstance(error, Refused) else True


class Unguarded:
    """Calls the service with whatever retries a library makes; a key is made once for each order."""

    def __init__(self, shop: Shop, retry: Retry) -> None:
        self._shop = shop
        self._retry = retry

    def place(self, order: Order) -> Told:
        """Place an order; an error that is left counts as failed, as it does in a log."""
        shop, wanted = self._shop, (order.reference, order.item, order.quantity)
        calls: dict[Endpoint, Callable[[], int]] = {
            Endpoint.PLAIN: lambda: shop.place(*wanted),
            Endpoint.KEYED: lambda: shop.place_with_key(*wanted, idempotency_key=f"key-{order.reference}"),
            Endpoint.NATURAL: lambda: shop.put(*wanted),
            Endpoint.PARTNER: lambda: shop.place_with_partner(*wanted),
        }
        try:
            self._retry(calls[order.endpoint])
        except Refused as refused:
            said = Said.REFUSED if refused.status not in RETRYABLE else Said.NOT_PLACED
            return Told(order.reference, said, str(refused))
        except Exception as error:
            return Told(order.reference, Said.NOT_PLACED, repr(error))
        return Told(order.reference, Said.PLACED)


class Guarded:
    """Calls the service through a breakfall toolbox; each order is a task with a name that outlives the process."""

    def __init__(self, shop: Shop, journal: Path) -> None:
        tools = _tools(shop)
        self._tools = {endpoint: tools[endpoint.value] for endpoint in Endpoint}
        policy = replace(BALANCED, attempts=ATTEMPTS, base_s=BASE_S, cap_s=CAP_S, cooldown_s=0.2)
        self._box = Toolbox(*tools.values(), policy=policy, journal=journal)

    def __enter__(self) -> Guarded:
        self._box.reconcile()
        return self

    def __exit__(self, *error: object) -> None:
        self._box.close()

    def place(self, order: Order) -> Told:
        """Place an order; what is left says whether it may have happened."""
        arguments = {"reference": order.reference, "item": order.item, "quantity": order.quantity}
        with self._box.task(f"order {order.quantity} {order.item}", run=order.reference):
            try:
                self._box.value_of(self._tools[order.endpoint], arguments)
            except Refused as refused:
                return Told(order.reference, Said.REFUSED, str(refused))
            except CallStopped as stopped:
                unknown = stopped.outcome.applied is Applied.UNKNOWN
                if unknown is not bool(stopped.handoff.unknown):
                    raise UsageError(f"{order.reference}: outcome and hand-over differ: {stopped.handoff}") from None
                return Told(order.reference, Said.UNKNOWN if unknown else Said.NOT_PLACED, str(stopped))
        return Told(order.reference, Said.PLACED)


def _tools(shop: Shop) -> dict[str, Declared[Any, Any]]:
    """Declare the shop's functions as tools."""

    def judge(value: Any, arguments: Any, sent_s: float) -> Settlement:
        if not value:
            return Settlement(applied=Applied.NO, evidence="no order has this reference")
        return Settlement(applied=Applied.YES, value=value[0]["id"])

    listed = tool("read", name="orders_with", fault_domain="orders")(shop.orders_with)
    reader = look_up(
        listed,
        judge=judge,
        arguments=lambda arguments, context: {"reference": arguments["reference"]},
        in_transit_s=IN_TRANSIT_S,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # that nobody can look a partner's order up is the point
        partner = tool("write", name="partner", fault_domain="partner")(shop.place_with_partner)
    return {
        "listed": listed,
        "plain": tool("write", name="plain", fault_domain="orders", reader=reader)(shop.place),
        "keyed": tool("write", name="keyed", fault_domain="orders", idempotency=key("idempotency_key", window_s=60.0))(
            _keyed(shop)
        ),
        "natural": tool("write", name="natural", fault_domain="orders", idempotency=natural())(shop.put),
        "partner": partner,
    }


def _keyed(shop: Shop) -> Callable[..., int]:
    def place_with_key(reference: str, item: str, quantity: int, idempotency_key: str | None = None) -> int:
        return shop.place_with_key(reference, item, quantity, idempotency_key or "")

    return place_with_key
