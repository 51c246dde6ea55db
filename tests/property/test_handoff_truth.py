"""What a hand-over says of the writes agrees with what really happened, whatever the tools did."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from breakfall.recovery.handoff import build
from breakfall.recovery.policy import BALANCED, CAUTIOUS, EAGER, GIVE_UP, Policy
from breakfall.runtime.drive import drive
from breakfall.runtime.flow import call_flow
from breakfall.runtime.state import TaskState
from breakfall.runtime.wants import Attempt, Done, Question, Reply, Sleep, Want
from breakfall.seeds import address
from breakfall.vocab import (
    Applied,
    Call,
    Effect,
    Failed,
    Handoff,
    Idempotency,
    IdempotencyKind,
    Ok,
    Outcome,
    Path,
    Reader,
    Settlement,
    Step,
    Tool,
    Uncertainty,
    Verification,
    VerificationStatus,
)

LOST = [
    Failed(message="no answer", exception="ReadTimeout"),
    Failed(message="broke", status=500),
    Failed(message="cut", status=200, exception="JSONDecodeError", body="{"),
]
REFUSED = [Failed(message="slow down", status=429), Failed(message="who", status=401), Failed(message="no", status=404)]
NOT_SENT = Failed(message="not sent", exception="ConnectError")


def judge(value: object, arguments: object, sent_s: float) -> Settlement:
    return Settlement(applied=Applied.YES if value else Applied.NO, value=value)


def tools(idempotency: Idempotency, reader: bool) -> dict[str, Tool]:
    look = Reader(tool="look", arguments=lambda a, c: {"x": a["x"]}, judge=judge) if reader else None
    plain = {"description": "", "parameters": {}}
    return {
        "put": Tool(
            name="put",
            effect=Effect.WRITE,
            fault_domain="a",
            paths=(Path(tool="put2", arguments=lambda a, c: {"x": a["x"]}),),
            idempotency=idempotency,
            reader=look,
            **plain,
        ),
        "put2": Tool(name="put2", effect=Effect.WRITE, fault_domain="b", reader=look, **plain),
        "look": Tool(name="look", effect=Effect.READ, fault_domain="c", **plain),
    }


class Shop:
    """Applies writes, or not, and tells the truth, or nothing; a look-up that answers is right."""

    def __init__(self, writes: list[tuple[Outcome, bool]], looks: list[Outcome | None], state: TaskState) -> None:
        self.writes, self.looks, self.state = list(writes), list(looks), state
        self.applied: set[int] = set()
        self.by_call: dict[str, int] = {}
        self.steps: list[Step] = []
        self.now_s = 0.0

    def __call__(self, want: Want) -> Reply:
        if isinstance(want, Sleep):
            self.now_s += want.seconds
            return self.now_s
        if not isinstance(want, Attempt):
            return "" if isinstance(want, Question) else None
        outcome = self.answer(want.call)
        self.state.calls_left -= 1
        self.now_s += 1.0
        self.steps.append(
            Step(
                episode="e",
                n=len(self.steps),
                call=want.call.id,
                tool=want.call.tool,
                arguments=want.call.arguments,
                purpose=want.purpose,
                key=want.call.key,
                at_s=self.now_s - 1.0,
                expected_outcome="",
                observed_outcome=outcome,
                verification=Verification(status=VerificationStatus.NOT_DONE),
                uncertainty_signal=Uncertainty.MISSING,
            )
        )
        return Done(outcome, self.now_s - 1.0, self.now_s)

    def answer(self, call: Call) -> Outcome:
        x = call.arguments["x"]
        if call.tool == "look":
            told = self.looks.pop(0) if self.looks else None
            return told if told is not None else Ok(value=x in self.applied)
        outcome, applied = self.writes.pop(0) if self.writes else (Ok(value="done"), True)
        self.by_call[call.id] = x
        if isinstance(outcome, Ok) or (applied and outcome in LOST):
            self.applied.add(x)
        return outcome


WRITES = st.lists(
    st.tuples(st.sampled_from([Ok(value="done"), *LOST, *LOST, *REFUSED, NOT_SENT]), st.booleans()), max_size=14
)
LOOKS = st.lists(st.sampled_from([None, *LOST, REFUSED[1]]), max_size=20)
IDEMPOTENCY = st.sampled_from([Idempotency(), Idempotency(kind=IdempotencyKind.KEY, parameter="key")])
POLICIES = st.sampled_from([GIVE_UP, CAUTIOUS, BALANCED, EAGER])


@given(WRITES, LOOKS, IDEMPOTENCY, st.booleans(), POLICIES, st.integers(5, 60))
def test_true_to_the_effects(
    writes: list[tuple[Outcome, bool]],
    looks: list[Outcome | None],
    idempotency: Idempotency,
    reader: bool,
    policy: Policy,
    calls: int,
) -> None:
    """What is listed as done happened, and what happened is listed as done or unknown: three writes, any faults."""
    kinds = tools(idempotency, reader)
    state = TaskState(tools=kinds, policy=policy, place=address(1), calls_left=calls, deadline_s=3600.0)
    shop = Shop(writes, looks, state)
    for x in (1, 2, 3):
        drive(call_flow(Call(id=f"c{x}", tool="put", arguments={"x": x}), state, shop.now_s), shop)
    packed: Handoff = build("", "", shop.steps, kinds, state.settled)
    done = {shop.by_call[fact.call] for fact in packed.done}
    unknown = {shop.by_call[fact.call] for fact in packed.unknown}
    assert done <= shop.applied
    assert shop.applied <= done | unknown
    assert not done & unknown
