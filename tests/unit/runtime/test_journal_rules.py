"""What becomes of an entry, step by step."""

import math
import pickle

import pytest

from breakfall.errors import RunError, UsageError
from breakfall.runtime.journal import (
    Claim,
    Entry,
    Fresh,
    InFlightElsewhere,
    KeyReused,
    NeedsPerson,
    Note,
    Operation,
    Owner,
    Replayed,
    Send,
    State,
    Unsettled,
    canonical,
    rules,
)
from breakfall.vocab import Applied, Failed, Idempotency, IdempotencyKind, Ok, Settlement

ME = Owner(id="a", host="h", pid=1)
OTHER = Owner(id="b", host="h", pid=2)
ORDER = Operation(key="k", run="r", tool="order", arguments={"sku": "A", "n": 1})
YES = Settlement(applied=Applied.YES, value="found")
NO = Settlement(applied=Applied.NO, evidence="not there")
DOUBT = Settlement(applied=Applied.UNKNOWN, evidence="stale")
LOST = Failed(message="no answer", applied=Applied.UNKNOWN)
KEYED = Idempotency(kind=IdempotencyKind.KEY, parameter="key", window_s=60.0)


def send(tool: str = "order", **fields: object) -> Send:
    return Send(tool=tool, arguments=ORDER.arguments, **fields)


def fresh(first: Send | None = None, entry: Entry | None = None) -> tuple[Entry, Claim]:
    after, begun = rules.begin(entry, False, ORDER, first or send(), ME, 0.0)
    assert isinstance(begun, Fresh)
    return after, begun.claim


def settled(entry: Entry, claim: Claim, said: Settlement | None, now_s: float = 1.0) -> Entry:
    return rules.settle(entry, claim, said, now_s, max_lookups=2)


def test_a_new_operation_is_stored_before_it_is_sent():
    """Beginning stores who sends what, when, under which hold."""
    entry, claim = fresh(send(key="k"))
    assert (entry.state, entry.owner, entry.attempts) == (State.IN_FLIGHT, ME, 1)
    assert entry.sends == (send(key="k", n=1, at_s=0.0),)
    assert claim == Claim(key="k", number=1, send=1)


@pytest.mark.parametrize(
    ("outcome", "state", "begun"),
    [
        (Ok(value=7), State.SUCCEEDED, Replayed),
        (Failed(message="it did, but said nothing", applied=Applied.YES), State.SUCCEEDED, Replayed),
        (Failed(message="refused"), State.NOT_APPLIED, Fresh),
        (LOST, State.UNKNOWN, Unsettled),
    ],
)
def test_how_a_call_ended_decides_what_the_next_caller_may_do(outcome, state, begun):
    """Success is replayed, a refusal may be sent again, doubt must be looked up."""
    entry = rules.finish(*fresh(), outcome, 1.0)
    assert (entry.state, entry.owner) == (state, None)
    assert isinstance(rules.begin(entry, False, ORDER, send(), OTHER, 2.0)[1], begun)


def test_a_replay_gives_the_recorded_value():
    """The second caller gets the first one's value."""
    entry = rules.finish(*fresh(), Ok(value={"id": 7}), 1.0)
    after, begun = rules.begin(entry, False, ORDER, send(), OTHER, 2.0)
    assert begun == Replayed(value={"id": 7}, entry=entry)
    assert after is entry


@pytest.mark.parametrize("state", [State.IN_FLIGHT, State.UNKNOWN])
def test_who_is_alive_keeps_hold(state):
    """An entry is taken over from the dead only, whether they sent it or looked it up."""
    entry, _ = fresh()
    if state is State.UNKNOWN:
        entry, begun = rules.begin(entry, False, ORDER, send(), OTHER, 1.0)
        assert begun == Unsettled(claim=Claim(key="k", number=2, send=1), entry=entry)
    assert rules.begin(entry, True, ORDER, send(), ME, 2.0) == (entry, InFlightElsewhere(entry=entry))
    assert rules.take(entry, True, ME, 2.0) is None
    assert isinstance(rules.begin(entry, False, ORDER, send(), ME, 2.0)[1], Unsettled)


def test_a_key_given_to_two_operations_names_both():
    """The error tells both calls, with arguments and runs, and survives pickling; equal arguments are no reuse."""
    entry, _ = fresh()
    other = Operation(key="k", run="r2", tool="order", arguments={"sku": "B", "n": 1}, epoch=3)
    with pytest.raises(KeyReused) as caught:
        rules.begin(entry, False, other, send(), ME, 1.0)
    assert str(pickle.loads(pickle.dumps(caught.value))) == (
        'idempotency key \'k\' belongs to order({"n":1,"sku":"A"}) of run r, epoch 0, and was given again to '
        'order({"n":1,"sku":"B"}) of run r2, epoch 3; one key names one operation: give the second a key of its own'
    )
    reworded = Operation(key="k", run="r2", tool="order", arguments={"n": 1.0, "sku": "A"})
    assert isinstance(rules.begin(entry, True, reworded, send(), ME, 1.0)[1], InFlightElsewhere)
    with pytest.raises(KeyReused, match="refund"):
        rules.begin(
            entry, False, Operation(key="k", run="r", tool="refund", arguments=ORDER.arguments), send(), ME, 1.0
        )


def test_equal_arguments_have_equal_bytes():
    """Order and the spelling of numbers do not matter; values that JSON cannot say are refused, not changed."""
    assert canonical({"b": [1.0, -0.0], "a": None}) == canonical({"a": None, "b": (1, 0)}) == b'{"a":null,"b":[1,0]}'
    assert canonical(1.5) == b"1.5"
    assert canonical(1e300) == b"1e300"
    assert canonical(True) != canonical(1)
    for bad in (math.nan, {"a": [math.inf]}):
        with pytest.raises(ValueError, match="no JSON value"):
            canonical(bad)


@pytest.mark.parametrize(
    ("said", "state"),
    [(YES, State.SUCCEEDED), (NO, State.NOT_APPLIED), (DOUBT, State.UNKNOWN), (None, State.NEEDS_PERSON)],
)
def test_a_look_up_settles(said, state):
    """A reader's yes and no settle; doubt leaves it open; without a reader a person is needed."""
    entry, _ = fresh()
    entry, begun = rules.begin(entry, False, ORDER, send(), OTHER, 1.0)
    after = settled(entry, begun.claim, said)
    assert (after.state, after.owner) == (state, None)
    assert after.value == ("found" if said is YES else None)


def test_look_ups_that_do_not_tell_end_with_a_person():
    """After the given number of look-ups in vain, a person is called, and told why."""
    entry, _ = fresh()
    for _ in range(2):
        entry, begun = rules.begin(entry, False, ORDER, send(), OTHER, 1.0)
        entry = settled(entry, begun.claim, DOUBT)
    assert entry.state is State.NEEDS_PERSON
    assert entry.error == "2 look-ups did not tell: stale"
    assert rules.begin(entry, False, ORDER, send(), ME, 1.0)[1] == NeedsPerson(entry=entry)


def test_not_applied_is_not_believed_while_the_request_may_be_on_its_way():
    """A "no" that comes before the request's time in transit is over counts neither as an answer nor as a try."""
    entry, _ = fresh(send(in_transit_s=10.0))
    entry, begun = rules.begin(entry, False, ORDER, send(), OTHER, 1.0)
    early = settled(entry, begun.claim, NO, 9.9)
    assert (early.state, early.lookups, early.owner) == (State.UNKNOWN, 0, None)
    assert settled(entry, begun.claim, NO, 10.0).state is State.NOT_APPLIED
    assert settled(entry, begun.claim, YES, 2.0).state is State.SUCCEEDED


def test_without_a_reader_a_key_that_is_honoured_needs_no_person_yet():
    """While the server recognises the key the write may be sent again; after the window a person is needed."""
    entry, _ = fresh(send(key="k", idempotency=KEYED))
    entry, begun = rules.begin(entry, False, ORDER, send(), OTHER, 1.0)
    assert settled(entry, begun.claim, None, 59.0).state is State.UNKNOWN
    assert settled(entry, begun.claim, None, 61.0).state is State.NEEDS_PERSON


def test_nothing_is_sent_again_while_a_send_is_in_doubt():
    """A second send needs a look-up that said no; then only the second is in doubt."""
    entry, claim = fresh()
    for known in (None, DOUBT, YES):
        with pytest.raises(RunError, match=r"order was sent for it 5\.000 s ago and may have taken effect; look it up"):
            rules.dispatch(entry, claim, send("order2"), known, 5.0)
    after, again = rules.dispatch(entry, claim, send("order2"), NO, 5.0)
    assert [(one.tool, one.n, one.at_s) for one in after.sends] == [("order2", 2, 5.0)]
    assert again == Claim(key="k", number=1, send=2)


@pytest.mark.parametrize(
    ("again", "now_s", "allowed"),
    [
        (send(key="k", in_transit_s=5.0), 55.0, True),
        (send(key="k", in_transit_s=5.0), 55.1, False),
        (send(key="k2"), 1.0, False),
        (send(), 1.0, False),
        (send("order2", key="k"), 1.0, False),
        (Send(tool="order", arguments={"sku": "B"}, key="k"), 1.0, False),
    ],
)
def test_only_the_same_send_is_honoured_within_its_window(again, now_s, allowed):
    """A repeat without a look-up needs the same tool, arguments and key, arriving within the server's window."""
    entry, claim = fresh(send(key="k", idempotency=KEYED))
    if not allowed:
        with pytest.raises(RunError):
            rules.dispatch(entry, claim, again, None, now_s)
        return
    after, _ = rules.dispatch(entry, claim, again, None, now_s)
    assert [one.n for one in after.sends] == [1, 2]


def test_a_natural_write_may_be_repeated():
    """A write that changes nothing the second time needs no look-up, but its arguments must be the same."""
    natural = Idempotency(kind=IdempotencyKind.NATURAL)
    entry, claim = fresh(send(idempotency=natural))
    assert len(rules.dispatch(entry, claim, send(), None, 1e9)[0].sends) == 2
    with pytest.raises(RunError):
        rules.dispatch(entry, claim, Send(tool="order", arguments={}), None, 1.0)


def test_whoever_lost_the_hold_may_not_send():
    """A claim that was taken over, or that sent again meanwhile, sends nothing; nor does one of a dropped entry."""
    entry, claim = fresh()
    taken, _ = rules.begin(entry, False, ORDER, send(), OTHER, 1.0)
    newer, _ = rules.dispatch(entry, claim, send(), NO, 1.0)
    for now in (taken, newer, None):
        with pytest.raises(RunError, match="out of date"):
            rules.dispatch(now, claim, send(), NO, 2.0)


def test_a_refusal_of_one_send_leaves_the_others_in_doubt():
    """After a keyed repeat, "not applied" for the second says nothing about the first."""
    entry, claim = fresh(send(key="k", idempotency=KEYED))
    entry, second = rules.dispatch(entry, claim, send(key="k", idempotency=KEYED), None, 1.0)
    entry = rules.finish(entry, second, Failed(message="refused"), 2.0)
    assert (entry.state, [one.n for one in entry.sends]) == (State.UNKNOWN, [1])
    late = rules.finish(entry, claim, Ok(value=7), 3.0)
    assert (late.state, late.value) == (State.SUCCEEDED, 7)


def test_a_late_answer_settles_an_open_entry():
    """What a call that was given up answers at last is not thrown away, even while another looks it up."""
    entry, claim = fresh()
    given_up = rules.finish(entry, claim, LOST, 1.0)
    taken, _ = rules.begin(given_up, False, ORDER, send(), OTHER, 2.0)
    for open_entry in (given_up, taken):
        assert rules.finish(open_entry, claim, Ok(value=7), 3.0).state is State.SUCCEEDED
        assert rules.finish(open_entry, claim, Failed(message="refused"), 3.0).state is State.NOT_APPLIED
        assert rules.finish(open_entry, claim, LOST, 3.0) == open_entry


def test_a_late_answer_of_an_earlier_send_releases_nothing():
    """While a second send is out, what the first one answers changes neither state nor hold."""
    entry, claim = fresh()
    entry, _ = rules.dispatch(entry, claim, send(), NO, 1.0)
    assert rules.finish(entry, claim, Failed(message="refused"), 2.0) == entry
    assert rules.finish(entry, claim, LOST, 2.0) == entry


def test_a_late_success_after_not_applied_calls_a_person():
    """A look-up said no and the call says yes: the entry is not overwritten, the contradiction is recorded."""
    entry, claim = fresh()
    entry, looker = rules.begin(entry, False, ORDER, send(), OTHER, 1.0)
    ruled_out = settled(entry, looker.claim, NO)
    after = rules.finish(ruled_out, claim, Ok(value=7), 5.0)
    assert after.state is State.NEEDS_PERSON
    assert after.notes == (
        Note(
            at_s=5.0,
            by="the call",
            text="contradiction: it was not_applied by a look-up, and now the call says that send 1 took effect (7)",
        ),
    )


def test_a_late_success_of_a_send_that_was_ruled_out_calls_a_person_even_after_another_success():
    """Two sends of one write took effect: the second one's success does not hide the first."""
    entry, claim = fresh()
    entry, second = rules.dispatch(entry, claim, send("order2"), NO, 1.0)
    for now in (entry, rules.finish(entry, second, Ok(value=8), 2.0)):
        assert rules.finish(now, claim, Ok(value=7), 3.0).state is State.NEEDS_PERSON
    done = rules.finish(entry, second, Ok(value=8), 2.0)
    assert rules.finish(done, claim, Failed(message="refused"), 3.0) == done


def test_a_late_no_after_success_calls_a_person():
    """The reader saw it and the call was refused, or the other way round: somebody is wrong."""
    entry, claim = fresh()
    entry, looker = rules.begin(entry, False, ORDER, send(), OTHER, 1.0)
    found = settled(entry, looker.claim, YES)
    assert rules.finish(found, claim, Failed(message="refused"), 5.0).state is State.NEEDS_PERSON
    answered = rules.finish(entry, claim, Ok(value=7), 2.0)
    assert settled(answered, looker.claim, NO).state is State.NEEDS_PERSON
    refused = rules.finish(entry, claim, Failed(message="refused"), 2.0)
    assert settled(refused, looker.claim, YES).state is State.NEEDS_PERSON
    assert settled(answered, looker.claim, DOUBT) == answered


def test_a_look_up_that_began_before_another_send_says_nothing_about_that_one():
    """Who looked up the first send and lost the hold meanwhile cannot rule the second one out."""
    entry, _ = fresh()
    entry, slow = rules.begin(entry, False, ORDER, send(), OTHER, 1.0)
    entry, quick = rules.begin(entry, False, ORDER, send(), ME, 2.0)
    entry, _ = fresh(entry=settled(entry, quick.claim, NO))
    assert settled(entry, slow.claim, NO) == entry


def test_answers_that_agree_change_nothing_but_a_missing_value():
    """The first value stays; a look-up that could not tell the value takes it from the call."""
    entry, claim = fresh()
    entry, looker = rules.begin(entry, False, ORDER, send(), OTHER, 1.0)
    found = settled(entry, looker.claim, YES)
    assert rules.finish(found, claim, Ok(value=7), 5.0) == found
    bare = settled(entry, looker.claim, Settlement(applied=Applied.YES))
    assert rules.finish(bare, claim, Ok(value=7), 5.0).value == 7


def test_what_a_person_has_is_only_added_to():
    """News about an entry that needs a person becomes a note; nothing settles it but the person."""
    entry, claim = fresh()
    entry, looker = rules.begin(entry, False, ORDER, send(), OTHER, 1.0)
    with_person = settled(entry, looker.claim, None)
    after = rules.finish(with_person, claim, Ok(value=7), 5.0)
    assert after.state is State.NEEDS_PERSON
    assert after.notes[-1] == Note(at_s=5.0, by="the call", text="says applied: yes (7)")


def test_a_person_settles():
    """A person's word is stored with name and reason; what they say was not applied may be begun again."""
    entry, _ = fresh()
    note = Note(at_s=9.0, by="Kim", text="the customer called")
    done = rules.resolve(entry, False, State.SUCCEEDED, note, {"id": 7})
    assert (done.state, done.value, done.settled_by) == (State.SUCCEEDED, {"id": 7}, "Kim")
    assert done.notes[-1].text == "in_flight -> succeeded: the customer called"
    again, _ = fresh(entry=rules.resolve(done, False, State.NOT_APPLIED, note, None))
    assert (again.state, again.value, again.attempts) == (State.IN_FLIGHT, None, 2)


def test_a_person_cannot_settle_what_runs_or_with_an_open_state():
    """Resolving what a living process holds, or to a state that settles nothing, is refused."""
    entry, _ = fresh()
    note = Note(at_s=9.0, by="Kim", text="")
    with pytest.raises(UsageError, match=r"order \(key k, run r\): in_flight, held by process 1 on h; wait until"):
        rules.resolve(entry, True, State.SUCCEEDED, note, None)
    with pytest.raises(UsageError, match="resolved to succeeded or not_applied, not unknown"):
        rules.resolve(entry, False, State.UNKNOWN, note, None)


@pytest.mark.parametrize(
    ("found", "applied"),
    [
        ([NO, NO], Applied.NO),
        ([NO, DOUBT], Applied.UNKNOWN),
        ([DOUBT, None], Applied.UNKNOWN),
        ([NO, None], None),
        ([None], None),
        ([], None),
    ],
)
def test_several_sends_were_not_applied_only_if_none_was(found, applied):
    """One doubt, or one send that no reader can see, keeps "not applied" from being said."""
    said = rules.combined(found)
    assert (said.applied if said else None) == applied
