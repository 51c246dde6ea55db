"""A small world for the faults to strike: orders and payments with a real state and an effect log."""

from __future__ import annotations

from collections.abc import Coroutine, Sequence
from copy import deepcopy
from typing import Any, TypeVar

from breakfall.faults.inject import Injector
from breakfall.faults.profile import Profile
from breakfall.faults.scenario import Blockade
from breakfall.vocab import (
    Answer,
    Applied,
    AppliedEffect,
    Effect,
    Failed,
    FaultKind,
    Injection,
    Ok,
    Outcome,
    Reader,
    Settlement,
    Step,
    Tool,
    Verdict,
)

T = TypeVar("T")
STATUSES = ["pending", "paid", "shipped", "delivered", "cancelled"]
ORDER = {
    "type": "object",
    "properties": {
        "order_id": {"type": "string", "x-kind": "id:order"},
        "customer_id": {"type": "string", "x-kind": "id:customer"},
        "email": {"type": "string", "format": "email"},
        "status": {"type": "string", "enum": STATUSES},
        "total": {"type": "number", "minimum": 0, "x-kind": "money"},
        "tax": {"type": "string", "pattern": r"^\d+\.\d{2}$", "x-kind": "money"},
        "shipping_cents": {"type": "integer", "minimum": 0, "x-kind": "money"},
        "placed_on": {"type": "string", "format": "date", "x-kind": "date"},
        "changed_at": {"type": "string", "format": "date-time"},
        "items": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "sku": {"type": "string", "x-kind": "id:sku"},
                    "quantity": {"type": "integer", "minimum": 1, "x-kind": "quantity"},
                    "gift": {"type": "boolean"},
                },
                "required": ["sku", "quantity"],
            },
        },
        "note": {"type": ["string", "null"], "x-kind": "text"},
        "as_of": {"type": "string", "format": "date-time", "x-kind": "as_of"},
    },
    "required": ["order_id", "status", "total"],
}
REFUND = {
    "type": "object",
    "properties": {
        "order_id": {"type": "string", "x-kind": "id:order"},
        "refunded": {"type": "number", "x-kind": "money"},
        "status": {"type": "string", "enum": ["none", "partly refunded", "refunded"]},
    },
}


def order(name: str = "O1001") -> dict[str, Any]:
    """Build one order."""
    return {
        "order_id": name,
        "customer_id": "C7",
        "email": "kim@example.org",
        "status": "shipped",
        "total": 41.5,
        "tax": "7.89",
        "shipping_cents": 499,
        "placed_on": "2025-03-14",
        "changed_at": "2025-03-15T09:30:00Z",
        "items": [{"sku": "SKU-1", "quantity": 2, "gift": False}, {"sku": "SKU-2", "quantity": 1, "gift": True}],
        "note": "leave it at the door",
        "as_of": "2025-03-20T12:00:00Z",
    }


def arguments(*names: str) -> dict[str, Any]:
    """Build the schema of string arguments that are all required."""
    return {"type": "object", "properties": {name: {"type": "string"} for name in names}, "required": list(names)}


def tools() -> dict[str, Tool]:
    """Build the shop's tools: two reads, a write with a reader and one without."""
    reader = Reader(
        tool="get_refund",
        arguments=lambda arguments, context: {"order_id": arguments["order_id"]},
        judge=lambda value, arguments, at_s: Settlement(applied=Applied.YES),
    )
    refund_arguments = arguments("order_id")
    refund_arguments["properties"]["amount"] = {"type": "number"}
    made = [
        Tool(
            name="get_order",
            description="Read an order.",
            parameters=arguments("order_id"),
            returns=ORDER,
            effect=Effect.READ,
            fault_domain="orders",
        ),
        Tool(
            name="get_refund",
            description="Read what was refunded.",
            parameters=arguments("order_id"),
            returns=REFUND,
            effect=Effect.READ,
            fault_domain="payments",
        ),
        Tool(
            name="refund",
            description="Refund a part of an order.",
            parameters=refund_arguments,
            returns=REFUND,
            effect=Effect.IRREVERSIBLE,
            fault_domain="payments",
            reader=reader,
        ),
        Tool(
            name="ping",
            description="Tell that the shop is up.",
            parameters={"type": "object"},
            effect=Effect.WRITE,
            fault_domain="orders",
        ),
    ]
    return {tool.name: tool for tool in made}


class Shop:
    """An environment with one dictionary as its state."""

    def __init__(self, *, remembers: bool = True) -> None:
        self.tools = tools()
        self.orders = {name: order(name) for name in ("O1001", "O1002", "O1003")}
        self.refunds: dict[str, float] = {}
        self.effects: list[AppliedEffect] = []
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self._before: dict[str, float] | None = None
        self._remembers = remembers

    async def call(self, tool: str, arguments: dict[str, Any]) -> Outcome:
        """Run a tool on the state."""
        self.calls.append((tool, arguments))
        before = dict(self.refunds)
        outcome = self._run(tool, arguments)
        if isinstance(outcome, Ok) and self.tools[tool].writes:
            self._before = before
            self.effects.append(AppliedEffect(name=tool, target=str(arguments.get("order_id"))))
        return outcome

    async def pretend(self, tool: str, arguments: dict[str, Any]) -> Outcome:
        """Run a tool on a copy of the state."""
        kept = dict(self.refunds)
        outcome = self._run(tool, arguments)
        self.refunds = kept
        return outcome

    def earlier(self, tool: str, arguments: dict[str, Any]) -> Any | None:
        """Answer from the state before the last change."""
        if not self._remembers or tool not in ("get_refund", "refund"):
            return None
        state = self.refunds if tool == "refund" else self._before
        return None if state is None else self._refund_record(arguments["order_id"], state)

    def ids(self, kind: str) -> Sequence[str]:
        """List the ids of a kind."""
        return {"order": list(self.orders), "customer": ["C7", "C8"], "sku": ["SKU-1", "SKU-2", "SKU-3"]}.get(kind, [])

    def next_turn(self) -> None:
        """Do nothing: the shop has no turns."""

    def check(self, answer: Answer, steps: Sequence[Step]) -> Verdict:
        """Judge nothing: the shop has no tasks."""
        return Verdict(passed=True, state_ok=True, answer_ok=True)

    def _run(self, tool: str, arguments: dict[str, Any]) -> Outcome:
        if tool not in self.tools:
            return Failed(message=f"no tool {tool}")
        unknown = set(arguments) - {"order_id", "amount"}
        if unknown:
            return Failed(message=f"unknown arguments {sorted(unknown)}")
        if tool == "ping":
            return Ok(value={"up": True})
        name = arguments["order_id"]
        if name not in self.orders:
            return Failed(message=f"no order {name}")
        if tool == "get_order":
            return Ok(value=self.orders[name])
        if tool == "refund":
            self.refunds[name] = self.refunds.get(name, 0.0) + arguments.get("amount", 1.0)
        return Ok(value=self._refund_record(name, self.refunds))

    @staticmethod
    def _refund_record(name: str, state: dict[str, float]) -> dict[str, Any]:
        refunded = state.get(name, 0.0)
        return {"order_id": name, "refunded": refunded, "status": "partly refunded" if refunded else "none"}


def only(kind: FaultKind, rate: float = 1.0, **more: Any) -> Profile:
    """Build a profile of one kind without caps."""
    return Profile(name=kind.value, kinds={kind: rate}, **{"max_total": 10**9, "max_in_row": 10**9, **more})


def injector(
    shop: Shop, profile: Profile, blockade: Blockade | None = None, *, seed: int = 1, task: str = "t1"
) -> Injector:
    """Stand an injector before a shop."""
    return Injector(shop, profile, blockade or Blockade(), seed=seed, world="shop", task=task)


def now(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine that never waits."""
    try:
        coroutine.send(None)
    except StopIteration as done:
        return done.value
    raise AssertionError("it waited")


def strike(
    kind: FaultKind, tool: str, shop: Shop | None = None, *, seed: int = 1, amount: float | None = None
) -> tuple[Outcome, Injection, Shop]:
    """Call a tool once under one kind of fault."""
    shop = shop or Shop()
    arguments: dict[str, Any] = {} if tool == "ping" else {"order_id": "O1001"}
    if amount is not None:
        arguments["amount"] = amount
    before = deepcopy(shop.orders)
    outcome, injection = now(injector(shop, only(kind), seed=seed).call(tool, arguments))
    assert injection is not None
    assert shop.orders == before, "the state's own objects were changed"
    return outcome, injection, shop
