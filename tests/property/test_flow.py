"""What holds for every call, whatever its tools answer."""

import asyncio

from hypothesis import given
from hypothesis import strategies as st

from breakfall.recovery.policy import BALANCED, GIVE_UP, RETRY, Policy
from breakfall.runtime.drive import adrive, drive
from breakfall.runtime.flow import call_flow
from breakfall.runtime.state import TaskState, operation_of
from breakfall.runtime.wants import Attempt, Done, Flow, Late, Reply, Sleep, Want
from breakfall.seeds import address
from breakfall.vocab import (
    Applied,
    Call,
    Effect,
    Failed,
    FaultKind,
    Idempotency,
    IdempotencyKind,
    Ok,
    Outcome,
    Path,
    Reader,
    Response,
    Settlement,
    Tool,
)

FAILURES: list[Failed] = [
    Failed(message="t", exception="ReadTimeout"),
    Failed(message="s", status=500),
    Failed(message="m", status=200, exception="JSONDecodeError", body="{"),
    Failed(message="r", status=429, retry_after_s=3.0),
    Failed(message="a", status=401),
    Failed(message="d", status=422, body="schema changed"),
]
AMBIGUOUS = {"t", "s", "m"}


def judge(value: object, arguments: object, sent_s: float) -> Settlement:
    return Settlement(applied=Applied(value))


def tools(idempotency: Idempotency, reader: bool) -> dict[str, Tool]:
    look = Reader(tool="look", arguments=lambda a, c: {}, judge=judge) if reader else None
    plain = {"description": "", "parameters": {}}
    common = {**plain, "reader": look}
    return {
        "put": Tool(
            name="put",
            effect=Effect.WRITE,
            fault_domain="a",
            paths=(Path(tool="put2"),),
            idempotency=idempotency,
            **common,
        ),
        "put2": Tool(name="put2", effect=Effect.WRITE, fault_domain="b", **common),
        "look": Tool(
            name="look",
            description="",
            parameters={},
            effect=Effect.READ,
            fault_domain="b",
            paths=(Path(tool="look2"),),
        ),
        "look2": Tool(name="look2", description="", parameters={}, effect=Effect.READ, fault_domain="c"),
    }


class Script:
    """Answers attempts from a list, then with success; keeps what was wanted."""

    def __init__(self, writes: list[Outcome], looks: list[Outcome]) -> None:
        self.writes, self.looks = list(writes), list(looks)
        self.seen: list[tuple[Want, Reply]] = []
        self.now_s = 0.0

    def __call__(self, want: Want) -> Reply:
        reply: Reply
        if isinstance(want, Sleep):
            self.now_s += want.seconds
            reply = self.now_s
        elif isinstance(want, Late):
            return None
        else:
            assert isinstance(want, Attempt)
            queue = self.looks if want.call.tool.startswith("look") else self.writes
            default: Outcome = Ok(value="no") if want.call.tool.startswith("look") else Ok(value="done")
            self.now_s += 1.0
            reply = Done(queue.pop(0) if queue else default, self.now_s - 1.0, self.now_s)
        self.seen.append((want, reply))
        return reply

    def told(self) -> list[object]:
        """What was wanted and how it went, in comparable form."""
        return [((w.call, w.strategy, w.purpose) if isinstance(w, Attempt) else w, r) for w, r in self.seen]

    def attempts(self) -> list[tuple[Attempt, Done]]:
        return [(w, r) for w, r in self.seen if isinstance(w, Attempt) and isinstance(r, Done)]


def task(policy: Policy, kinds: dict[str, Tool], calls: int = 50) -> TaskState:
    return TaskState(tools=kinds, policy=policy, place=address(1), calls_left=calls, deadline_s=3600.0)


IDEMPOTENCY = st.sampled_from(
    [
        Idempotency(),
        Idempotency(kind=IdempotencyKind.NATURAL),
        Idempotency(kind=IdempotencyKind.KEY, parameter="key", window_s=60.0),
    ]
)
WRITES = st.lists(st.one_of(st.sampled_from(FAILURES), st.just(Ok(value="done"))), max_size=12)
LOOKS = st.lists(
    st.one_of(st.sampled_from(FAILURES), st.sampled_from(["yes", "no", "unknown"]).map(lambda v: Ok(value=v))),
    max_size=25,
)
POLICIES = st.sampled_from([GIVE_UP, RETRY, BALANCED])
CALL = Call(id="c1", tool="put", arguments={"x": 1})


def run(
    policy: Policy, idempotency: Idempotency, reader: bool, writes: list[Outcome], looks: list[Outcome]
) -> tuple[Script, Outcome, TaskState]:
    script = Script(writes, looks)
    state = task(policy, tools(idempotency, reader))
    return script, drive(flow_of(state), script), state


def flow_of(state: TaskState) -> Flow:
    operation, call = operation_of(CALL, state.tools["put"], state)
    return call_flow(call, state, 0.0, operation=operation)


@given(POLICIES, IDEMPOTENCY, st.booleans(), WRITES, LOOKS)
def test_sync_is_async(
    policy: Policy, idempotency: Idempotency, reader: bool, writes: list[Outcome], looks: list[Outcome]
) -> None:
    """The two drivers make the same calls in the same order and come to the same outcome."""
    script, outcome, _ = run(policy, idempotency, reader, writes, looks)
    twin = Script(writes, looks)

    async def perform(want: Want) -> Reply:
        await asyncio.sleep(0)
        return twin(want)

    flow = flow_of(task(policy, tools(idempotency, reader)))
    assert asyncio.run(adrive(flow, perform)) == outcome
    assert twin.told() == script.told()


@given(IDEMPOTENCY, st.booleans(), WRITES, LOOKS)
def test_unknown_write_is_never_sent_again_unsettled(
    idempotency: Idempotency, reader: bool, writes: list[Outcome], looks: list[Outcome]
) -> None:
    """After a lost response no write goes out, on any path, before two answers in a row said "not applied" —
    unless the server itself keeps a repeat on the same path from happening twice.
    """
    script, outcome, _ = run(BALANCED, idempotency, reader, writes, looks)
    pending_on: str | None = None
    agreed = 0
    for want, reply in script.attempts():
        if want.call.tool.startswith("look"):
            if isinstance(reply.outcome, Failed):
                continue  # a look that failed says nothing, and is tried again
            agreed = agreed + 1 if reply.outcome.value == "no" else 0
            if agreed >= BALANCED.agreeing:
                pending_on = None
            continue
        protected = idempotency.kind is IdempotencyKind.KEY or (
            idempotency.kind is IdempotencyKind.NATURAL and not reader
        )
        same_path = want.call.tool == pending_on == "put"
        assert pending_on is None or (protected and same_path)
        agreed = 0
        if isinstance(reply.outcome, Failed) and reply.outcome.message in AMBIGUOUS:
            pending_on = want.call.tool
        elif isinstance(reply.outcome, Ok):
            pending_on = None
    if pending_on is not None and isinstance(outcome, Failed):
        assert outcome.ambiguous


@given(IDEMPOTENCY, WRITES, LOOKS)
def test_same_key_on_every_repeat(idempotency: Idempotency, writes: list[Outcome], looks: list[Outcome]) -> None:
    """A keyed write carries one key in all its attempts on its own path."""
    script, _, _ = run(BALANCED, idempotency, True, writes, looks)
    keys = {want.call.arguments.get("key") for want, _ in script.attempts() if want.call.tool == "put"}
    assert len(keys) == 1
    assert (keys != {None}) == (idempotency.kind is IdempotencyKind.KEY)


@given(IDEMPOTENCY, WRITES, LOOKS)
def test_write_is_looked_up_before_a_switch(
    idempotency: Idempotency, writes: list[Outcome], looks: list[Outcome]
) -> None:
    """Before the other path of a write is tried the first is looked up; a look that tells nothing is passed over
    only if every answer since the last one that told was a sure refusal.
    """
    script, _, _ = run(BALANCED, idempotency, True, writes, looks)
    attempts = script.attempts()
    for position, (want, _) in enumerate(attempts):
        if want.call.tool == "put2" and want.strategy is Response.SWITCH:
            before, reply = attempts[position - 1]
            assert before.call.tool.startswith("look")
            if reply.outcome == Ok(value="no"):
                continue
            for earlier, answer in reversed(attempts[:position]):
                if answer.outcome == Ok(value="no"):
                    break
                sure = isinstance(answer.outcome, Failed) and answer.outcome.message not in AMBIGUOUS
                assert sure or earlier.call.tool.startswith("look")


@given(WRITES, LOOKS)
def test_auth_error_is_not_repeated(writes: list[Outcome], looks: list[Outcome]) -> None:
    """A tool that never answered is not called again after a 401 or a drifted schema, in this call."""
    script, _, _ = run(BALANCED, Idempotency(), True, writes, looks)
    refused: set[str] = set()
    answered: set[str] = set()
    for want, reply in script.attempts():
        assert want.call.tool not in refused - answered
        if isinstance(reply.outcome, Ok):
            answered.add(want.call.tool)
        elif reply.outcome.message in ("a", "d"):
            refused.add(want.call.tool)


@given(POLICIES, WRITES, LOOKS)
def test_waits_as_told(policy: Policy, writes: list[Outcome], looks: list[Outcome]) -> None:
    """After a 429 the same tool is not called before Retry-After has passed."""
    script, _, _ = run(policy, Idempotency(), True, writes, looks)
    until: dict[str, float] = {}
    for want, reply in script.attempts():
        assert reply.sent_s >= until.get(want.call.tool, 0.0)
        if isinstance(reply.outcome, Failed) and reply.outcome.retry_after_s is not None:
            until[want.call.tool] = reply.now_s + reply.outcome.retry_after_s


@given(POLICIES, IDEMPOTENCY, WRITES, LOOKS)
def test_every_call_ends(policy: Policy, idempotency: Idempotency, writes: list[Outcome], looks: list[Outcome]) -> None:
    """The number of attempts is bounded by the policy, however the tools behave."""
    script, _, _ = run(policy, idempotency, True, writes, looks)
    sends = [want for want, _ in script.attempts() if not want.call.tool.startswith("look")]
    assert len(sends) <= 2 * policy.attempts


@given(st.sampled_from(FAILURES), st.integers(0, 2))
def test_budget_stops_the_call(failed: Failed, calls: int) -> None:
    """With no call left in the task nothing is tried again."""
    state = task(BALANCED, tools(Idempotency(), True), calls=0)
    script = Script([failed] * 5, [])
    outcome = drive(call_flow(CALL, state, 0.0), script)
    assert isinstance(outcome, Failed)
    assert len(script.attempts()) == 1


def test_kinds_are_covered() -> None:
    """The failures above are one of each observable kind, so the properties speak of all of them."""
    from breakfall.recovery.classify import classify

    assert {classify(failed, writes=True).kind for failed in FAILURES} == {k for k in FaultKind if not k.silent}
