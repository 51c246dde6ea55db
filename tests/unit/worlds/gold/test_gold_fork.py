"""Copies on write: what a fork shows, what it copies, and how it differs from what it was made of."""

from __future__ import annotations

from datetime import date
from enum import Enum
from typing import Any

import pytest
from pydantic import BaseModel, ConfigDict, PrivateAttr

from breakfall.worlds.gold.fork import Forked, Pristine, copied, fork_of, frozen, jsonable


class Colour(Enum):
    RED = "red"


class Part(BaseModel):
    name: str
    price: float = 0.0


class Order(BaseModel):
    id: str
    parts: list[Part]
    paid: dict[str, float] = {}
    colour: Colour = Colour.RED
    on: date = date(2024, 1, 2)
    _note: str = PrivateAttr("private")


class Shop(BaseModel):
    model_config = ConfigDict(extra="allow")
    orders: dict[str, Order]
    open: bool = True


def order(key: str) -> Order:
    return Order(id=key, parts=[Part(name="bolt", price=1.0)])


@pytest.fixture
def shop() -> Shop:
    return Shop(orders={key: order(key) for key in ("a", "b", "c")})


class TestForked:
    def test_shows_the_base(self) -> None:
        """Before anything is asked for, every way to look shows the base."""
        base = {"a": [1], "b": [2]}
        fork = Forked(base)
        assert (list(fork), len(fork), "a" in fork, "z" in fork) == (["a", "b"], 2, True, False)
        assert (list(fork.keys()), list(fork.values()), list(fork.items())) == (["a", "b"], [[1], [2]], [*base.items()])
        assert fork.get("z") is None
        assert fork.get("z", 3) == 3
        assert fork.own() == {}

    def test_a_record_asked_for_is_its_own(self) -> None:
        """A record that is changed after it was asked for changes in the fork alone, everywhere the fork shows it."""
        base = {"a": [1], "b": [2]}
        fork = Forked(base)
        fork["a"].append(9)
        got = fork.get("b")
        got.append(8)
        assert base == {"a": [1], "b": [2]}
        assert list(fork.values()) == [[1, 9], [2, 8]]
        assert dict(fork.items()) == {"a": [1, 9], "b": [2, 8]}

    def test_records_can_be_added(self) -> None:
        """What is added stands behind the base's, in its own order."""
        fork = Forked({"b": [2]})
        fork["a"] = [1]
        assert (list(fork), len(fork), list(fork.values())) == (["b", "a"], 2, [[2], [1]])
        with pytest.raises(KeyError, match="z"):
            fork["z"]

    def test_a_fork_of_a_fork(self) -> None:
        """A second fork starts from the first one's state and shares nothing with it."""
        first = Forked({"a": [1], "b": [2]})
        first["a"].append(9)
        second = first.forked({})
        second["a"].append(7)
        second["b"].append(7)
        assert (first["a"], first.own()) == ([1, 9], {"a": [1, 9]})
        assert second.own() == {"a": [1, 9, 7], "b": [2, 7]}

    @pytest.mark.parametrize("method", ["pop", "popitem", "clear", "update", "setdefault"])
    def test_what_it_cannot_do_it_refuses(self, method: str) -> None:
        """Removing and replacing in bulk would miss the base: it says so instead."""
        with pytest.raises(TypeError, match="cannot be removed or replaced in bulk"):
            getattr(Forked({"a": 1}), method)("a")
        with pytest.raises(TypeError, match="cannot be removed"):
            del Forked({"a": 1})["a"]


class TestCopied:
    def test_shares_nothing_that_can_change(self, shop: Shop) -> None:
        """A copy equals what it is of, private parts too, and changing it changes nothing else."""
        new = copied(shop, {})
        assert new == shop
        assert new.orders["a"]._note == "private"
        assert new.orders["a"].model_fields_set == {"id", "parts"}
        new.orders["a"].parts[0].price = 5.0
        new.orders["a"].paid["x"] = 1.0
        assert shop.orders["a"] == order("a")

    def test_what_stands_twice_stays_one_thing(self) -> None:
        """Two names of one record are two names of one copy."""
        part = Part(name="nut")
        first, second = copied([part, part], {})
        assert first is second is not part

    @pytest.mark.parametrize("value", [1, "x", None, Colour.RED, date(2024, 1, 1), (1, [2]), {1, 2}])
    def test_other_values(self, value: Any) -> None:
        """Whatever else a database holds is copied too."""
        assert copied(value, {}) == value


class TestForms:
    def test_one_form_whatever_the_order(self) -> None:
        """Field order does not matter, 1 and 1.0 are told apart, records look like dicts."""
        assert frozen({"a": 1, "b": 2}) == frozen({"b": 2, "a": 1})
        assert frozen(1) != frozen(1.0)
        assert frozen(Part(name="x", price=2.0)) == frozen({"name": "x", "price": 2.0})

    def test_results_become_json(self, shop: Shop) -> None:
        """Records, enums and dates become JSON values that share nothing with the state."""
        value = jsonable([shop.orders["a"]])
        assert value[0] == {
            "id": "a",
            "parts": [{"name": "bolt", "price": 1.0}],
            "paid": {},
            "colour": "red",
            "on": "2024-01-02",
        }
        value[0]["parts"].append(1)
        assert shop.orders["a"] == order("a")

    def test_what_has_no_form_says_so(self) -> None:
        """An object that is no data is no answer."""
        with pytest.raises(NotImplementedError, match="a object has no JSON form"):
            jsonable([object()])


class TestChanges:
    @pytest.mark.parametrize("small", [0, 10])
    def test_changes_are_named(self, shop: Shop, small: int) -> None:
        """Only what differs is a change: not what was read, nor what was changed back; a large table by its records."""
        pristine = Pristine(shop)
        live = fork_of(shop, small, {})
        assert type(live) is Shop
        live.orders["a"].paid["x"] = 1.0
        live.orders["b"].paid["x"] = 1.0
        del live.orders["b"].paid["x"]
        live.orders["c"]
        live.open = False
        found = pristine.changes(live)
        assert set(found) == ({"orders/a", "open"} if small == 0 else {"orders", "open"})
        live.orders["d"] = order("d")
        assert set(pristine.changes(live)) == ({"orders/a", "orders/d", "open"} if small == 0 else {"orders", "open"})
        assert pristine.changes(fork_of(live, small, {})) == pristine.changes(live)
        assert not pristine.changes(fork_of(shop, small, {}))

    def test_dicts_are_databases_too(self) -> None:
        """Tables in a plain dict fork the same way."""
        tables = {"users": {"a": {"n": 1}, "b": {"n": 2}}, "list": [1]}
        pristine, live = Pristine(tables), fork_of(tables, 0, {})
        live["users"]["a"]["n"] = 9
        live["list"].append(2)
        assert pristine.changes(live) == {"users/a": b'{"n":9}', "list": b"[1,2]"}
        assert tables == {"users": {"a": {"n": 1}, "b": {"n": 2}}, "list": [1]}
