"""What becomes of an entry: pure functions from an entry and news about it to the entry after."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from breakfall.errors import RunError, UsageError
from breakfall.runtime.journal.entry import (
    OPEN,
    SETTLED,
    Begun,
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
)
from breakfall.vocab import Applied, IdempotencyKind, Json, Ok, Outcome, Settlement

THE_CALL = "the call"
A_LOOK_UP = "a look-up"


def begin(
    entry: Entry | None, held: bool, operation: Operation, send: Send, me: Owner, now_s: float
) -> tuple[Entry, Begun]:
    """Take hold of an operation, or learn why not.

    Args:
        entry: What is stored, if anything.
        held: Whether the entry's owner lives.
        operation: The operation.
        send: What would be sent first.
        me: Who asks.
        now_s: The time.

    Raises:
        KeyReused: The key belongs to another operation.
    """
    if entry is None:
        entry = Entry(operation=operation, state=State.NOT_APPLIED, claim=0, created_s=now_s, updated_s=now_s)
    else:
        _check_same(entry.operation, operation)
    match entry.state:
        case State.SUCCEEDED:
            return entry, Replayed(value=entry.value, entry=entry)
        case State.NEEDS_PERSON:
            return entry, NeedsPerson(entry=entry)
        case State.NOT_APPLIED:
            n = entry.attempts + 1
            after = replace(
                entry,
                state=State.IN_FLIGHT,
                claim=entry.claim + 1,
                owner=me,
                sends=(replace(send, n=n, at_s=now_s),),
                attempts=n,
                lookups=0,
                settled_by="",
                updated_s=now_s,
            )
            return after, Fresh(claim=Claim(key=operation.key, number=after.claim, send=n))
        case State.IN_FLIGHT | State.UNKNOWN:
            taken = take(entry, held, me, now_s)
            return taken if taken is not None else (entry, InFlightElsewhere(entry=entry))


def take(entry: Entry | None, held: bool, me: Owner, now_s: float) -> tuple[Entry, Unsettled] | None:
    """Take hold of an entry whose owner died or gave up; None where there is nothing to take."""
    if entry is None or entry.state not in OPEN or held:
        return None
    after = replace(entry, state=State.UNKNOWN, claim=entry.claim + 1, owner=me, updated_s=now_s)
    return after, Unsettled(claim=Claim(key=entry.key, number=after.claim, send=entry.attempts), entry=after)


def dispatch(
    entry: Entry | None, claim: Claim, send: Send, known: Settlement | None, now_s: float
) -> tuple[Entry, Claim]:
    """Note that the holder sends the write again, on whichever path.

    Args:
        entry: What is stored.
        claim: The caller's hold.
        send: What is about to be sent.
        known: What is known of the sends before: "not applied", or None if nobody knows.
        now_s: The time.

    Raises:
        RunError: The claim is out of date, or an earlier send may have taken effect and this one could do it twice.
    """
    if entry is None or not _holds(entry, claim):
        found = "it is no longer in the journal" if entry is None else f"{entry}, after {entry.attempts} send(s)"
        raise RunError(f"operation {claim.key} may not be sent by this claim, which is out of date: {found}")
    ruled_out = known is not None and known.applied is Applied.NO
    if not ruled_out:
        for earlier in entry.sends:
            if not honoured(earlier, send, now_s):
                raise RunError(
                    f"{send.tool} may not be sent for operation {claim.key}: {earlier.tool} was sent for it "
                    f"{now_s - earlier.at_s:.3f} s ago and may have taken effect; look it up first"
                )
    n = entry.attempts + 1
    sends = (*(() if ruled_out else entry.sends), replace(send, n=n, at_s=now_s))
    after = replace(entry, state=State.IN_FLIGHT, sends=sends, attempts=n, updated_s=now_s)
    return after, replace(claim, send=n)


def honoured(earlier: Send, again: Send, now_s: float) -> bool:
    """Whether the server itself keeps `again` from doing what `earlier` may have done."""
    if earlier.tool != again.tool or canonical(earlier.arguments) != canonical(again.arguments):
        return False
    promise = earlier.idempotency
    if promise.kind is IdempotencyKind.NATURAL:
        return True
    if promise.kind is not IdempotencyKind.KEY or earlier.key is None or earlier.key != again.key:
        return False
    return promise.window_s is None or now_s + again.in_transit_s <= earlier.at_s + promise.window_s


class News(Struct, frozen=True, kw_only=True):
    """What somebody says of some of an entry's sends."""

    by: str
    sends: range
    """The numbers of the sends that it speaks of."""
    applied: Applied
    value: Json = None
    text: str = ""


def learn(entry: Entry, news: News, now_s: float) -> Entry:
    """Take in a definite "applied" or "not applied"; what contradicts a settled entry goes to a person."""
    if entry.state is State.NEEDS_PERSON:
        return _noted(entry, news.by, f"says applied: {news.applied.value} ({_said(news)})", now_s)
    meant = [send for send in entry.sends if send.n in news.sends]
    if news.applied is Applied.YES:
        if not meant:
            return _contradicted(entry, news, now_s)
        if entry.state is State.SUCCEEDED:
            return entry if entry.value is not None else replace(entry, value=news.value)
        return replace(
            entry,
            state=State.SUCCEEDED,
            owner=None,
            value=news.value,
            error=news.text,
            settled_by=news.by,
            updated_s=now_s,
        )
    if not meant:
        return entry
    left = tuple(send for send in entry.sends if send.n not in news.sends)
    if entry.state is State.SUCCEEDED:
        return entry if left else _contradicted(entry, news, now_s)
    if left:
        return replace(entry, sends=left, updated_s=now_s)
    return replace(
        entry,
        state=State.NOT_APPLIED,
        owner=None,
        sends=(),
        error=news.text,
        settled_by=news.by,
        updated_s=now_s,
    )


def finish(entry: Entry, claim: Claim, outcome: Outcome, now_s: float) -> Entry:
    """Take in how the call ended, however late it comes."""
    holds = _holds(entry, claim)
    text = "" if isinstance(outcome, Ok) else outcome.message
    applied = Applied.YES if isinstance(outcome, Ok) else outcome.applied
    after = entry
    if applied is not Applied.UNKNOWN:
        value = outcome.value if isinstance(outcome, Ok) else None
        only = range(claim.send, claim.send + 1)
        after = learn(entry, News(by=THE_CALL, sends=only, applied=applied, value=value, text=text), now_s)
    if holds and after.state in OPEN:
        after = replace(after, state=State.UNKNOWN, owner=None, error=text, updated_s=now_s)
    return after


def settle(entry: Entry, claim: Claim, settlement: Settlement | None, now_s: float, *, max_lookups: int) -> Entry:
    """Take in what the look-up of every send said; None: there is no reader that could tell."""
    holds = _holds(entry, claim)
    looked_up = range(1, claim.send + 1)
    meant = [send for send in entry.sends if send.n in looked_up]
    if settlement is not None and settlement.applied is not Applied.UNKNOWN:
        early = settlement.applied is Applied.NO and any(now_s < send.at_s + send.in_transit_s for send in meant)
        if early:
            return _released(entry, "not applied yet, but it may still be on its way", now_s) if holds else entry
        found = settlement.applied is Applied.YES  # a reader sees the effect, not which send had it
        news = News(
            by=A_LOOK_UP,
            sends=range(1, entry.attempts + 1) if found else looked_up,
            applied=settlement.applied,
            value=settlement.value,
            text="" if found else settlement.evidence,
        )
        return learn(entry, news, now_s)
    if not holds:
        return entry
    if settlement is None:
        if all(honoured(send, send, now_s) for send in meant):
            return _released(entry, "no reader can tell, but it may be sent again with the same key", now_s)
        return _to_person(entry, A_LOOK_UP, "no reader can tell whether it took effect", now_s)
    tried = replace(entry, lookups=entry.lookups + 1)
    if tried.lookups >= max_lookups:
        return _to_person(tried, A_LOOK_UP, f"{tried.lookups} look-ups did not tell: {settlement.evidence}", now_s)
    return _released(tried, f"the look-up does not tell: {settlement.evidence}", now_s)


def resolve(entry: Entry, held: bool, state: State, note: Note, value: Json) -> Entry:
    """Settle an entry by a person's word.

    Raises:
        UsageError: The entry is being run, or the state is no settled one.
    """
    if state not in SETTLED:
        known = " or ".join(one.value for one in SETTLED)
        raise UsageError(f"an entry is resolved to {known}, not {state.value}")
    if held and entry.state in OPEN:
        raise UsageError(f"{entry}; wait until it is done, or end that process, and resolve it then")
    return replace(
        entry,
        state=state,
        claim=entry.claim + 1,
        owner=None,
        sends=entry.sends if state is State.SUCCEEDED else (),
        value=value if state is State.SUCCEEDED else None,
        settled_by=note.by,
        updated_s=note.at_s,
        notes=(*entry.notes, replace(note, text=f"{entry.state.value} -> {state.value}: {note.text}")),
    )


def combined(found: list[Settlement | None]) -> Settlement | None:
    """Say what look-ups of several sends, none of them found applied, come to: not applied only if all say so."""
    told = [one for one in found if one is not None]
    doubts = [one for one in told if one.applied is Applied.UNKNOWN]
    if doubts:
        return doubts[0]
    return told[0] if told and len(told) == len(found) else None


def _check_same(stored: Operation, asked: Operation) -> None:
    if stored.tool == asked.tool and canonical(stored.arguments) == canonical(asked.arguments):
        return
    one, other = (
        f"{op.tool}({canonical(op.arguments).decode()}) of run {op.run or '-'}, epoch {op.epoch}"
        for op in (stored, asked)
    )
    raise KeyReused(
        f"idempotency key {stored.key!r} belongs to {one}, and was given again to {other}; one key names one "
        "operation: give the second a key of its own"
    )


def _holds(entry: Entry, claim: Claim) -> bool:
    """Whether a claim is the last word: nobody took the entry over, and its holder sent nothing since."""
    current = entry.claim == claim.number and entry.attempts == claim.send
    return current and entry.owner is not None and entry.state in OPEN


def _released(entry: Entry, error: str, now_s: float) -> Entry:
    return replace(entry, state=State.UNKNOWN, owner=None, error=error, updated_s=now_s)


def _noted(entry: Entry, by: str, text: str, now_s: float) -> Entry:
    return replace(entry, notes=(*entry.notes, Note(at_s=now_s, by=by, text=text)), updated_s=now_s)


def _to_person(entry: Entry, by: str, why: str, now_s: float) -> Entry:
    return replace(_noted(entry, by, why, now_s), state=State.NEEDS_PERSON, owner=None, error=why)


def _contradicted(entry: Entry, news: News, now_s: float) -> Entry:
    before = entry.state.value + (f" by {entry.settled_by}" if entry.settled_by else "")
    which = f"send {news.sends.start}" if len(news.sends) == 1 else "it"
    what = "took effect" if news.applied is Applied.YES else "did not take effect"
    why = f"contradiction: it was {before}, and now {news.by} says that {which} {what}"
    return _to_person(entry, news.by, f"{why} ({_said(news)})", now_s)


def _said(news: News) -> str:
    return news.text or canonical(news.value).decode()
