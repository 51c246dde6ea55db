"""Bindings take their values from the user's facts and from earlier results, and say from where."""

import pytest

from breakfall.vocab import Built, Condition, Found, Given
from breakfall.vocab.binding import Resolver, Result, Unbound


def resolver() -> Resolver:
    found = Resolver({"email": "a@b.c", "which": "O2"})
    found.results["orders"] = Result("c1", {"orders": [{"id": "O1", "sum": 5}, {"id": "O2", "sum": 7}]})
    return found


def test_values_and_sources() -> None:
    """Arguments are resolved at any depth, and each found one names its call and place."""
    arguments, sources = resolver().arguments(
        {
            "email": Given("email"),
            "plain": [1, "x"],
            "items": [{"id": Found("orders", "/orders/0/id")}],
            "sum": Found("orders", "/orders/[id={which}]/sum"),
            "text": Built("Order {id} of {who}", {"id": Found("orders", "/orders/1/id"), "who": Given("email")}),
        }
    )
    assert arguments == {
        "email": "a@b.c",
        "plain": [1, "x"],
        "items": [{"id": "O1"}],
        "sum": 7,
        "text": "Order O2 of a@b.c",
    }
    assert sources == {
        "items/0/id": "c1#/orders/0/id",
        "sum": "c1#/orders/1/sum",
        "text/id": "c1#/orders/1/id",
    }


@pytest.mark.parametrize(
    ("binding", "step"), [(Given("nothing"), None), (Found("later"), "later"), (Found("orders", "/none"), "orders")]
)
def test_unbound_names_the_step(binding: object, step: str | None) -> None:
    """What is not there is said, with the step whose result lacks it."""
    with pytest.raises(Unbound) as raised:
        resolver().arguments({"x": binding})
    assert raised.value.step == step


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        (Condition(left=Found("orders", "/orders/0/sum"), is_="<", right=6), True),
        (Condition(left=Found("orders", "/orders/0/sum"), is_=">=", right=6), False),
        (Condition(left=Given("which"), is_="in", right=["O1", "O2"]), True),
        (Condition(left=Found("orders", "/orders/0/id"), is_="<", right=6), False),
        (Condition(left=Found("skipped", "/x"), is_="==", right=1), False),
    ],
)
def test_conditions(condition: Condition, holds: bool) -> None:
    """A condition compares; types without an order and steps that were passed over do not hold."""
    assert resolver().holds(condition) is holds


def test_conditions_tell_what_they_read() -> None:
    """A condition that was decided names the found values that decided it; one that could not be decided names none."""
    read: dict[str, object] = {}
    resolver().holds(Condition(left=Found("orders", "/orders/[id={which}]/sum"), is_="<", right=Given("email")), read)
    resolver().holds(Condition(left=Found("orders", "/orders/0/id"), is_="==", right=Found("skipped", "/x")), read)
    assert read == {"c1#/orders/1/sum": 7}


def test_a_missing_field_is_not_a_false_condition() -> None:
    """A field that is missing from a result is reported, so that a careful agent can read again."""
    with pytest.raises(Unbound):
        resolver().holds(Condition(left=Found("orders", "/missing"), is_="==", right=1))
