"""The journal under arbitrary interleavings of owners, kills, late results, look-ups and people."""

import tempfile
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from msgspec import Struct
from msgspec.structs import replace

from breakfall.errors import RunError
from breakfall.runtime.journal import (
    Begun,
    Claim,
    Fresh,
    InFlightElsewhere,
    Journal,
    NeedsPerson,
    Operation,
    Replayed,
    Send,
    State,
    Unsettled,
    open_journal,
)
from breakfall.vocab import Applied, Failed, Idempotency, IdempotencyKind, Ok, Settlement

IN_TRANSIT_S = 10.0
WINDOW_S = 15.0
TOOLS = {
    "plain": Idempotency(),
    "keyed": Idempotency(kind=IdempotencyKind.KEY, parameter="key", window_s=WINDOW_S),
}
WORDINGS = ({"amount": 10, "to": "a"}, {"to": "a", "amount": 10.0})
"""The same arguments, as two plans may word them."""
LOST = Failed(message="no answer", applied=Applied.UNKNOWN)

OWNERS = st.integers(0, 1)
FATES = st.sampled_from([None, 0.0, 4.0, IN_TRANSIT_S])
"""After how many seconds the server applies a request; None: never."""


class Hold(Struct, frozen=True):
    """A claim, and in which life of which process it was given."""

    owner: int
    life: int
    claim: Claim


class Request(Struct, eq=False):
    """A request that really went out."""

    hold: Hold
    lands_at_s: float | None
    landed: bool = False


class Server:
    """Applies what arrives; the tool `keyed` recognises a repeat within its window."""

    def __init__(self, tool: str) -> None:
        self.tool = tool
        self.effects: list[float] = []
        self.requests: list[Request] = []

    def work(self, now_s: float) -> None:
        due = [(one.lands_at_s, one) for one in self.requests if one.lands_at_s is not None and not one.landed]
        for at_s, one in sorted(due, key=lambda pair: pair[0]):
            if at_s <= now_s:
                one.landed = True
                if self.tool == "plain" or not any(at_s - before_s <= WINDOW_S for before_s in self.effects):
                    self.effects.append(at_s)

    def answer(self, request: Request) -> Ok | Failed:
        """Say how a request ended, as far as it has ended."""
        if request.landed:
            return Ok(value="receipt")
        return Failed(message="refused", status=429) if request.lands_at_s is None else LOST

    def look_up(self) -> Settlement:
        if self.effects:
            return Settlement(applied=Applied.YES, value="receipt")
        return Settlement(applied=Applied.NO, evidence="not there")

    @property
    def may_still_land(self) -> bool:
        return any(one.lands_at_s is not None and not one.landed for one in self.requests)


class Writes(RuleBasedStateMachine):
    """Two processes run one write against a server that may lose, delay or apply what it gets."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None)
        self.now_s = 0.0
        self.server = Server("plain")
        self.lives = [0, 0]
        self.journals: list[Journal] = []
        for owner in range(2):
            self.start(owner)
        self.ready: list[Hold] = []
        """Who has leave to send and has not sent yet."""
        self.lookers: list[Hold] = []

    def start(self, owner: int) -> None:
        path = Path(self.folder.name) / "journal.sqlite"
        self.journals[owner : owner + 1] = [open_journal(path, now=lambda: self.now_s, max_lookups=3)]

    def send(self, wording: int) -> Send:
        tool = self.server.tool
        return Send(
            tool=tool,
            arguments=WORDINGS[wording],
            key="k" if tool == "keyed" else None,
            idempotency=TOOLS[tool],
            in_transit_s=IN_TRANSIT_S,
        )

    def alive(self, hold: Hold) -> bool:
        return hold.life == self.lives[hold.owner]

    def goes_out(self, hold: Hold, fate: float | None) -> None:
        self.ready.remove(hold)
        self.server.requests.append(Request(hold, None if fate is None else self.now_s + fate))
        self.server.work(self.now_s)

    @initialize(tool=st.sampled_from(sorted(TOOLS)))
    def choose_the_tool(self, tool: str) -> None:
        self.server.tool = tool

    @rule(owner=OWNERS, wording=st.integers(0, 1))
    def begin(self, owner: int, wording: int) -> None:
        operation = Operation(key="k", run="r", tool=self.server.tool, arguments=WORDINGS[wording])
        begun: Begun = self.journals[owner].begin(operation, self.send(wording))
        match begun:
            case Fresh(claim=claim):
                self.ready.append(Hold(owner, self.lives[owner], claim))
            case Unsettled(claim=claim):
                assert not self.ready, "a living process has leave to send"
                self.lookers.append(Hold(owner, self.lives[owner], claim))
            case Replayed(value=value):
                assert value == "receipt"
                assert self.server.effects
            case InFlightElsewhere(entry=entry):
                assert entry.owner is not None
            case NeedsPerson(entry=entry):
                assert entry.notes

    @precondition(lambda self: self.ready)
    @rule(data=st.data(), fate=FATES)
    def the_request_goes_out(self, data: st.DataObject, fate: float | None) -> None:
        self.goes_out(data.draw(st.sampled_from(self.ready)), fate)

    @precondition(lambda self: any(self.alive(one.hold) for one in self.server.requests))
    @rule(data=st.data(), lost=st.booleans())
    def an_answer_comes(self, data: st.DataObject, lost: bool) -> None:
        """Any request of a living process is answered: in time, late, or again."""
        one = data.draw(st.sampled_from([one for one in self.server.requests if self.alive(one.hold)]))
        self.journals[one.hold.owner].finish(one.hold.claim, LOST if lost else self.server.answer(one))

    @precondition(lambda self: any(self.alive(hold) for hold in self.holds()))
    @rule(data=st.data(), looks=st.booleans())
    def sends_again(self, data: st.DataObject, looks: bool) -> None:
        """A holder wants to send once more, after a look-up of its own that says "not applied", or without."""
        hold = data.draw(st.sampled_from([hold for hold in self.holds() if self.alive(hold)]))
        known = self.server.look_up() if looks and not self.server.may_still_land else None
        try:
            claim = self.journals[hold.owner].dispatch(hold.claim, self.send(1), known)
        except RunError:
            return
        assert self.server.tool == "keyed" or (known is not None and known.applied is Applied.NO)
        self.ready.append(replace(hold, claim=claim))

    def holds(self) -> list[Hold]:
        return [*self.lookers, *(one.hold for one in self.server.requests)]

    @precondition(lambda self: self.lookers)
    @rule(data=st.data(), says=st.sampled_from(["truth", "nothing", "no reader"]))
    def a_look_up_ends(self, data: st.DataObject, says: str) -> None:
        looker = data.draw(st.sampled_from(self.lookers))
        self.lookers.remove(looker)
        self.journals[looker.owner].settle(looker.claim, self.told(says))

    @rule(owner=OWNERS, says=st.sampled_from(["truth", "nothing"]))
    def reconcile(self, owner: int, says: str) -> None:
        self.journals[owner].reconcile(lambda entry, send: self.told(says))

    def told(self, says: str) -> Settlement | None:
        if says == "truth":
            return self.server.look_up()
        return Settlement(applied=Applied.UNKNOWN, evidence="stale") if says == "nothing" else None

    @rule(owner=OWNERS)
    def dies(self, owner: int) -> None:
        """A process ends, by itself or not, and starts again."""
        self.journals[owner].close()
        self.lives[owner] += 1
        self.ready = [hold for hold in self.ready if self.alive(hold)]
        self.lookers = [hold for hold in self.lookers if self.alive(hold)]
        self.start(owner)

    @precondition(lambda self: not self.ready)
    @rule(seconds=st.sampled_from([8.0, IN_TRANSIT_S]))
    def time_passes(self, seconds: float) -> None:
        """Nobody dawdles between leave and send."""
        self.now_s += seconds
        self.server.work(self.now_s)

    @rule(owner=OWNERS)
    def a_person_decides(self, owner: int) -> None:
        """A person looks at the server itself, once nothing can land any more."""
        entry = self.journals[owner].get("k")
        if entry is not None and entry.state is State.NEEDS_PERSON and not self.ready:
            self.time_passes(IN_TRANSIT_S)
            state = State.SUCCEEDED if self.server.effects else State.NOT_APPLIED
            self.journals[owner].resolve("k", state, by="Kim", note="looked", value="receipt")

    @invariant()
    def nothing_happens_twice(self) -> None:
        assert len(self.server.effects) <= 1

    @invariant()
    def at_most_one_send_is_in_doubt(self) -> None:
        entry = self.journals[0].get("k")
        assert entry is None or self.server.tool == "keyed" or len(entry.sends) <= 1

    @invariant()
    def what_the_journal_says_is_so(self) -> None:
        entry = self.journals[0].get("k")
        if entry is None:
            return
        if entry.state is State.SUCCEEDED:
            assert self.server.effects
        if entry.state is State.NOT_APPLIED:
            assert not self.server.effects
            assert not self.server.may_still_land
            assert not self.ready
        assert not any("contradiction" in note.text for note in entry.notes)

    def teardown(self) -> None:
        """After the last kill, one reconciliation with an honest reader settles it, unless a person was called for."""
        try:
            for owner in range(2):
                self.dies(owner)
            self.time_passes(IN_TRANSIT_S)
            self.reconcile(0, "truth")
            assert not self.journals[0].entries((State.IN_FLIGHT, State.UNKNOWN))
            self.nothing_happens_twice()
            self.what_the_journal_says_is_so()
        finally:
            for journal in self.journals:
                journal.close()
            self.folder.cleanup()


TestWrites = Writes.TestCase
TestWrites.__doc__ = "Whatever happens, a write takes effect at most once and a settled entry tells the truth."
TestWrites.settings = settings(max_examples=300, stateful_step_count=40, deadline=None)
