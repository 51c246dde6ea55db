"""What every journal does, in SQLite and in PostgreSQL."""

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

import anyio
import pytest

from breakfall.errors import RunError, StoreError, UsageError
from breakfall.runtime.journal import (
    Fresh,
    InFlightElsewhere,
    Journal,
    KeyReused,
    NeedsPerson,
    Operation,
    Replayed,
    Send,
    State,
    Unsettled,
    open_journal,
)
from breakfall.vocab import Applied, Failed, Ok, Settlement

LOST = Failed(message="no answer", applied=Applied.UNKNOWN)
YES = Settlement(applied=Applied.YES, value="found")
NO = Settlement(applied=Applied.NO, evidence="not there")


def order(key="k", tool="order", run="r", **arguments):
    return Operation(key=key, run=run, tool=tool, arguments=arguments), Send(tool=tool, arguments=arguments)


def begun(journal, key="k", **arguments):
    answer = journal.begin(*order(key, **arguments))
    assert isinstance(answer, Fresh)
    return answer.claim


class Time:
    """A clock for everybody, set by hand."""

    def __init__(self):
        self.s = 0.0

    def __call__(self):
        return self.s


@pytest.fixture
def now():
    return Time()


@pytest.fixture
def opened(where, now):
    """Open the same journal any number of times, as several processes do; closing one leaves what a kill leaves."""
    journals = []

    def open_it(**options):
        journals.append(open_journal(where, now=now, **options))
        return journals[-1]

    yield open_it
    for journal in journals:
        journal.close()


def test_what_was_stored_is_there_for_everybody(opened, now):
    """An entry reads back whole through another opening: operation, send, owner, value, times."""
    one, other = opened(), opened()
    now.s = 5.0
    claim = begun(one, text="한국어 \x00 \U0001f600", n=10**30, deep={"a": [None, True, 1.5]})
    entry = other.get("k")
    assert entry.operation.arguments == {
        "text": "한국어 \x00 \U0001f600",
        "n": 10**30,
        "deep": {"a": [None, True, 1.5]},
    }
    assert (entry.state, entry.created_s, entry.sends[0].at_s) == (State.IN_FLIGHT, 5.0, 5.0)
    assert entry.owner.pid > 0
    now.s = 6.0
    assert one.finish(claim, Ok(value=["paid", 10.0])) == other.get("k")
    assert (other.get("k").value, other.get("k").updated_s) == (["paid", 10.0], 6.0)
    assert other.get("nobody") is None


def test_a_finished_write_is_replayed(opened):
    """Whoever begins it again gets the value and may not send."""
    one, other = opened(), opened()
    one.finish(begun(one), Ok(value=7))
    for journal in (one, other):
        answer = journal.begin(*order())
        assert isinstance(answer, Replayed)
        assert answer.value == 7


def test_a_living_owner_is_left_alone(opened):
    """While its owner lives, neither beginning nor reconciling takes an entry away."""
    one, other = opened(), opened()
    begun(one)
    for journal in (one, other):
        assert isinstance(journal.begin(*order()), InFlightElsewhere)
        journal.reconcile(lambda entry, send: pytest.fail("looked up what is being run"))


def test_what_the_dead_left_is_taken_by_one(opened, now):
    """After its owner's end exactly one caller gets the unsettled write; the next waits for that one."""
    one, two, three = opened(), opened(), opened()
    begun(one)
    one.close()
    answer = two.begin(*order())
    assert isinstance(answer, Unsettled)
    assert isinstance(three.begin(*order()), InFlightElsewhere)
    assert two.settle(answer.claim, NO).state is State.NOT_APPLIED
    assert isinstance(three.begin(*order()), Fresh)


def test_closing_leaves_what_is_held_to_the_next(opened):
    """What a closed journal held is free; closing twice is allowed."""
    one, other = opened(), opened()
    begun(one)
    assert other.held(other.get("k"))
    one.close()
    one.close()
    assert not other.held(other.get("k"))
    assert isinstance(other.begin(*order()), Unsettled)


def test_a_key_with_other_arguments_is_an_error(opened):
    """The second operation is refused and the first one's entry is as it was."""
    one = opened()
    begun(one, n=1)
    before = one.get("k")
    with pytest.raises(KeyReused, match=r"order\(\{\"n\":1\}\).*order\(\{\"n\":2\}\)"):
        one.begin(*order(n=2))
    assert one.get("k") == before


def test_arguments_that_are_no_json_are_refused(opened):
    """What JSON would silently change is refused before anything is stored."""
    one = opened()
    for bad in (float("nan"), object(), "\ud800"):
        with pytest.raises(UsageError, match="arguments of order are no JSON"):
            one.begin(*order(n=bad))
    assert one.entries() == []


@pytest.mark.parametrize("value", [float("nan"), object(), "\ud800"])
def test_a_success_is_stored_even_if_its_value_cannot_be(opened, value):
    """The write took effect, so it is never run again; the entry says why a replay gives no value."""
    one = opened()
    entry = one.finish(begun(one), Ok(value=value))
    assert (entry.state, entry.value) == (State.SUCCEEDED, None)
    assert "its value is no JSON" in one.get("k").error


def test_a_switch_is_stored_before_it_is_sent(opened):
    """The second path's send is durable, and what the dead left is looked up on that path, with its arguments."""
    one, other = opened(), opened()
    claim = begun(one, id=1)
    again = Send(tool="order2", arguments={"ref": 1})
    with pytest.raises(RunError, match="look it up first"):
        one.dispatch(claim, again)
    one.dispatch(claim, again, NO)
    one.close()
    asked = []

    def look_up(entry, send):
        asked.append((send.tool, send.arguments, send.n))
        return YES

    assert other.reconcile(look_up).succeeded == ("k",)
    assert asked == [("order2", {"ref": 1}, 2)]


def test_reconciling_sorts_what_was_left(opened):
    """Each look-up's answer decides; a reader that raises leaves it unknown; without a reader a person is needed."""
    one, other = opened(), opened()
    for key in ("yes", "no", "doubt", "broken", "none"):
        begun(one, key)
    one.close()
    said = {"yes": YES, "no": NO, "doubt": Settlement(applied=Applied.UNKNOWN, evidence="stale"), "none": None}

    def look_up(entry, send):
        return said[entry.key]

    summary = other.reconcile(look_up)
    assert (summary.succeeded, summary.not_applied, summary.needs_person) == (("yes",), ("no",), ("none",))
    assert set(summary.unknown) == {"doubt", "broken"}
    assert other.get("broken").error == "the look-up does not tell: the look-up failed: KeyError: 'broken'"
    assert isinstance(other.begin(*order("yes")), Replayed)
    assert isinstance(other.begin(*order("no")), Fresh)
    assert isinstance(other.begin(*order("none")), NeedsPerson)


def test_reconciling_with_awaited_readers_is_the_same(opened):
    """The async reconciliation comes to what the sync one does, and passes a failing reader over."""
    one, other = opened(), opened()
    for key in ("yes", "broken"):
        begun(one, key)
    one.close()

    async def look_up(entry, send):
        await anyio.sleep(0)
        return {"yes": YES}[entry.key]

    summary = anyio.run(other.reconcile_async, look_up)
    assert (summary.succeeded, summary.unknown) == (("yes",), ("broken",))


def test_a_reconciliation_that_is_cut_off_holds_nothing(opened):
    """An interrupt in the middle of a look-up leaves the entry to the next one, and is not swallowed."""
    one, other, third = opened(), opened(), opened()
    begun(one)
    one.close()

    def interrupted(entry, send):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        other.reconcile(interrupted)
    assert third.get("k").owner is None
    assert third.reconcile(lambda entry, send: YES).succeeded == ("k",)


def test_a_late_contradiction_is_recorded(opened):
    """A call that was given up answers after a look-up ruled it out: a person is called, nothing is overwritten."""
    one, other = opened(), opened()
    claim = begun(one)
    one.finish(claim, LOST)
    other.reconcile(lambda entry, send: NO)
    assert one.finish(claim, Ok(value=7)).state is State.NEEDS_PERSON
    assert "contradiction" in other.get("k").notes[-1].text


def test_waiting_gives_both_the_result(opened):
    """Who waits gets the value as soon as the other one has it."""
    one, other = opened(), opened()
    claim = begun(one)
    done = threading.Timer(0.05, one.finish, (claim, Ok(value=7)))
    done.start()
    assert other.wait(*order(), 30.0).value == 7
    done.join()


def test_waiting_async_leaves_the_loop_free(opened):
    """The one that is waited for may run on the same event loop."""
    one, other = opened(), opened()

    async def both():
        claim = begun(one)
        async with anyio.create_task_group() as group:

            async def finish():
                await anyio.sleep(0.02)
                one.finish(claim, Ok(value=7))

            group.start_soon(finish)
            return await other.wait_async(*order(), 30.0)

    assert anyio.run(both).value == 7


def test_waiting_ends_with_the_timeout_or_the_owner(opened):
    """After the timeout the write is still in flight; when its owner dies, who waits takes over."""
    one, other = opened(), opened()
    begun(one)
    assert isinstance(other.wait(*order(), 0.01), InFlightElsewhere)
    death = threading.Timer(0.05, one.close)
    death.start()
    assert isinstance(other.wait(*order(), 30.0), Unsettled)
    death.join()


def test_threads_that_share_a_journal_run_it_once(opened):
    """Of many threads with one operation one runs it, and all get its value."""
    one, ran = opened(), []

    def run(n):
        answer = one.wait(*order(), 30.0)
        if isinstance(answer, Fresh):
            ran.append(n)
            one.finish(answer.claim, Ok(value=n))
            return n
        return answer.value

    with ThreadPoolExecutor(8) as pool:
        values = set(pool.map(run, range(32)))
    assert values == set(ran)
    assert len(ran) == 1


def test_listing_and_finding(opened, now):
    """Entries are listed by state, run and tool, the oldest change first, and found by the start of their key."""
    one = opened()
    for s, key in enumerate(("b%1", "a_2", "a_3")):
        now.s = float(s)
        begun(one, key)
    now.s = 9.0
    one.finish(one.begin(*order("z", tool="refund", run="r2")).claim, Ok(value=1))
    assert [entry.key for entry in one.entries()] == ["b%1", "a_2", "a_3", "z"]
    assert [entry.key for entry in one.entries((State.SUCCEEDED, State.UNKNOWN))] == ["z"]
    assert [entry.key for entry in one.entries(tool="order", run="r")] == ["b%1", "a_2", "a_3"]
    assert one.entries(run="r3") == []
    assert one.find("b%").key == "b%1"
    assert one.find("z").key == "z"
    with pytest.raises(UsageError, match="2 keys start with 'a_' "):
        one.find("a_")
    with pytest.raises(UsageError, match="no entry's key starts with '_'"):
        one.find("_")


def test_a_key_that_starts_another_is_found(opened):
    """A whole key is found although a longer one starts with it."""
    one = opened()
    begun(one, "a")
    begun(one, "ab")
    assert one.find("a").key == "a"


def test_resolving_by_hand(opened):
    """A person settles what needs one, by name and note; what lives, what is not there and nobody are refused."""
    one, other = opened(), opened()
    begun(one)
    with pytest.raises(UsageError, match="wait until it is done"):
        other.resolve("k", State.SUCCEEDED, by="Kim", note="")
    with pytest.raises(UsageError, match="no entry 'x'"):
        other.resolve("x", State.SUCCEEDED, by="Kim", note="")
    with pytest.raises(UsageError, match="gives their name"):
        other.resolve("k", State.SUCCEEDED, by=" ", note="")
    one.close()
    entry = other.resolve("k", State.SUCCEEDED, by="Kim", note="seen in the shop", value={"id": 1})
    assert other.get("k") == entry
    assert other.begin(*order()).value == {"id": 1}


def test_pruning_keeps_what_is_not_settled(opened, now):
    """Only settled entries older than the time are dropped; a result for a dropped one is an error."""
    one = opened()
    claim = begun(one, "done")
    one.finish(claim, Ok(value=1))
    one.finish(begun(one, "refused"), Failed(message="no"))
    one.finish(begun(one, "lost"), LOST)
    begun(one, "out")
    now.s = 10.0
    one.finish(begun(one, "new"), Ok(value=1))
    assert one.prune(0.0) == 0
    assert one.prune(10.0) == 2
    assert {entry.key for entry in one.entries()} == {"lost", "out", "new"}
    with pytest.raises(StoreError, match="a result came for operation done, which is no longer in the journal"):
        one.finish(claim, Ok(value=1))


def test_values_keep_their_form(opened):
    """What is replayed is JSON: dates are texts, tuples are lists, 10.0 stays 10.0."""
    one, other = opened(), opened()
    one.finish(begun(one), Ok(value={"at": datetime(2026, 1, 2, tzinfo=UTC), "n": 10.0, "pair": (1, 2)}))
    value = other.begin(*order()).value
    assert value == {"at": "2026-01-02T00:00:00Z", "n": 10.0, "pair": [1, 2]}
    assert isinstance(value["n"], float)


def test_a_large_value_is_stored_whole(opened):
    """Five megabytes come back as they were."""
    one, other = opened(), opened()
    value = "x" * 5_000_000
    one.finish(begun(one), Ok(value=value))
    assert other.get("k").value == value


def test_the_context_manager_closes(where):
    """Leaving the block lets go of what is held; a closed journal says that it is closed."""
    with open_journal(where) as journal:
        assert isinstance(journal, Journal)
        begun(journal)
    with pytest.raises(UsageError, match="this journal was closed; open it again"):
        journal.begin(*order())
    with open_journal(where) as journal:
        assert not journal.held(journal.get("k"))
