"""Where a tool works: the state, the time of the call, and the effect log it writes to."""

from __future__ import annotations

from typing import Any, TypeVar

from breakfall.vocab import AppliedEffect
from breakfall.worlds.store.records import Customer, Order
from breakfall.worlds.store.state import State

T = TypeVar("T")


class Refusal(Exception):
    """The store says no: an error of its own, such as an unknown order, which is no fault."""

    def __init__(self, status: int, code: str, text: str) -> None:
        super().__init__(text)
        self.status = status
        self.code = code
        self.text = text


class Desk:
    """What one call of a tool sees.

    Args:
        state: The state to work on.
        at: The time of the call as a timestamp.
        log: Where applied effects go.
        tool: The tool that is called.
    """

    __slots__ = ("at", "log", "state", "tool")

    def __init__(self, state: State, at: str, log: list[AppliedEffect], tool: str) -> None:
        self.state = state
        self.at = at
        self.log = log
        self.tool = tool

    def need(self, kind: type[T], key: str) -> T:
        """Return a record.

        Raises:
            Refusal: There is none with this key.
        """
        record = self.state.find(kind, key)
        if record is None:
            raise missing(kind.__name__, key)
        return record

    def applied(self, name: str, target: str, **details: Any) -> None:
        """Write to the effect log; `details` are what two ways to the same effect must agree on."""
        self.log.append(AppliedEffect(name=name, target=target, details=details, tool=self.tool))

    def order(self, arguments: dict[str, Any]) -> Order:
        """Return the order that `order_id` names."""
        return self.need(Order, arguments["order_id"])

    def customer(self, arguments: dict[str, Any]) -> Customer:
        """Return the customer that `customer_id` names."""
        return self.need(Customer, arguments["customer_id"])


def missing(what: str, key: str) -> Refusal:
    """Build the refusal for a key that no record has."""
    return Refusal(404, f"{what.lower()}_not_found", f"no {what.lower()} {key!r}; check the id or look it up again")


def cents(amount: float) -> int:
    """Return an amount of money in cents.

    Raises:
        Refusal: It has more than two decimals.
    """
    value = round(amount * 100)
    if abs(amount * 100 - value) > 1e-6:
        raise Refusal(422, "bad_amount", f"amount {amount!r} has more than two decimals; money has two")
    return value


def money(value: int) -> float:
    """Return cents as answers show them: a number with two decimals."""
    return value / 100
