"""The order service, its faulty network and its clients: real processes, real rows, real kills."""

from __future__ import annotations

from collections import Counter

import pytest

from breakfall.demos.orders.book import Endpoint, orders
from breakfall.demos.orders.clients import Said, Told
from breakfall.demos.orders.count import result
from breakfall.demos.orders.faults import Fault, fault_of
from breakfall.demos.orders.play import Report, play
from breakfall.errors import UsageError


@pytest.fixture(scope="module")
def report() -> Report:
    return play(count=240, kills=4, seed=1)


def test_breakfall_places_each_order_once(report: Report) -> None:
    """Each order that can be placed stands once or is handed over as unknown; lost answers are finished by look-up."""
    ours = next(one for one in report.results if one.client == "breakfall")
    assert (ours.more, ours.false, ours.kills) == (0, 0, 0)
    assert ours.once + ours.missing == report.can_be_placed
    assert ours.missing <= ours.said["unknown"]
    assert ours.said["not placed"] == 0
    assert ours.looked_up > 0
    assert report.holds


def test_killed_again_and_again_it_does_the_same(report: Report) -> None:
    """SIGKILL at random moments changes nothing of that: the restarted client finishes what the dead one began."""
    killed = report.results[-1]
    assert killed.client == "breakfall, killed"
    assert killed.kills > 0
    assert (killed.more, killed.false) == (0, 0)
    assert killed.once + killed.missing == report.can_be_placed
    assert killed.missing <= killed.said["unknown"]
    assert sum(killed.said.values()) == report.orders


@pytest.mark.parametrize("name", ["tenacity", "stamina"])
def test_blind_retries_place_orders_twice(report: Report, name: str) -> None:
    """The libraries finish what breakfall finishes, and place orders twice on the way."""
    theirs = next(one for one in report.results if one.client == name)
    assert theirs.more > 0
    assert theirs.extra_rows >= theirs.more


def test_bare_calls_lose_orders_and_say_so_falsely(report: Report) -> None:
    """Without retries orders are missing, and some that are called failed stand in the database."""
    bare = report.results[0]
    assert bare.client == "bare"
    assert bare.missing > 0
    assert bare.false > 0


def test_orders_and_faults_are_drawn_by_place() -> None:
    """The same seed gives the same orders and faults; every endpoint and every fault occurs."""
    assert orders(3, 50) == orders(3, 50) == orders(3, 80)[:50]
    assert {order.endpoint for order in orders(3, 200)} == set(Endpoint)
    met = Counter(fault_of(3, f"PO-{n}", method, 0) for n in range(500) for method in ("POST", "GET"))
    assert set(met) == set(Fault)
    assert fault_of(3, "PO-1", "POST", 4) is fault_of(3, "PO-1", "PUT", 4)


def test_rows_are_counted_against_words() -> None:
    """A client's words are held against the rows: placed and not there, or failed and there, is false."""
    wanted = [order for order in orders(0, 40) if order.can_be_placed][:5]
    a, b, c, d, e = (order.reference for order in wanted)
    told = {
        reference: Told(reference, said)
        for reference, said in {a: Said.PLACED, b: Said.PLACED, c: Said.NOT_PLACED, d: Said.UNKNOWN}.items()
    }
    fared = result("one", wanted, {a: 1, c: 1, d: 2, e: 1}, told)
    assert (fared.once, fared.more, fared.extra_rows, fared.missing) == (3, 1, 1, 1)
    assert (fared.false, fared.handed_over, fared.said["placed"]) == (2, 2, 2)


def test_unknown_clients_are_named() -> None:
    """A client that is not known is refused before anything starts."""
    with pytest.raises(UsageError, match="no client 'tenacityy'; did you mean 'tenacity'"):
        play(count=1, clients=["tenacityy"])
