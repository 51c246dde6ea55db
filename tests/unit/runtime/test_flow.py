"""Single calls through the flow: replays, storms, what an earlier process left open, and late answers."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from msgspec.structs import replace

from breakfall.errors import UsageError
from breakfall.recovery.budget import RetryBudget
from breakfall.recovery.policy import BALANCED
from breakfall.runtime.drive import drive
from breakfall.runtime.flow import call_flow
from breakfall.runtime.state import TaskState, operation_of
from breakfall.runtime.wants import Attempt, Done, Late, Reply, Sleep, Want
from breakfall.seeds import address
from breakfall.vocab import (
    Applied,
    Call,
    Effect,
    Failed,
    Idempotency,
    IdempotencyKind,
    Ok,
    Outcome,
    Reader,
    Settlement,
    Tool,
)

READER = Reader(
    tool="look", arguments=lambda a, c: {}, judge=lambda v, a, s: Settlement(applied=Applied(v["seen"]), value=v)
)
TOOLS = {
    "put": Tool(name="put", description="", parameters={}, effect=Effect.WRITE, fault_domain="a", reader=READER),
    "pay": Tool(
        name="pay",
        description="",
        parameters={},
        effect=Effect.WRITE,
        fault_domain="a",
        reader=READER,
        idempotency=Idempotency(kind=IdempotencyKind.KEY, parameter="key"),
    ),
    "look": Tool(name="look", description="", parameters={}, effect=Effect.READ, fault_domain="b"),
}


def state(**changes: object) -> TaskState:
    return TaskState(tools=TOOLS, policy=BALANCED, place=address(1), calls_left=100, deadline_s=1e6, **changes)


class World:
    """Answers each tool with a function of its arguments; keeps what was sent."""

    def __init__(self, answers: dict[str, Callable[[dict[str, object]], Outcome]], late: Done | None = None) -> None:
        self.answers, self.late = answers, late
        self.sent: list[tuple[str, dict[str, object]]] = []
        self.now_s = 0.0

    def __call__(self, want: Want) -> Reply:
        if isinstance(want, Sleep):
            self.now_s += want.seconds
            return self.now_s
        if isinstance(want, Late):
            return self.late
        assert isinstance(want, Attempt)
        self.sent.append((want.call.tool, want.call.arguments))
        self.now_s += 1.0
        return Done(self.answers[want.call.tool](want.call.arguments), self.now_s - 1.0, self.now_s)

    def call(self, task: TaskState, tool: str, arguments: dict[str, object], **how: object) -> Outcome:
        call = Call(id=f"c{len(self.sent)}", tool=tool, arguments=arguments)
        again = bool(how.pop("again", False))
        operation = None
        if TOOLS[tool].writes:
            operation, call = operation_of(call, TOOLS[tool], task, again=again)
        return drive(call_flow(call, task, self.now_s, operation=operation, **how), self)


def counted() -> World:
    return World(
        {"put": lambda a: Ok(value=a["x"]), "pay": lambda a: Ok(value=a["key"]), "look": lambda a: Ok(value=0)}
    )


def test_a_repeated_write_is_replayed() -> None:
    """An equal write in the same turn does not run, and its answer says so; key order does not make it another."""
    world, task = counted(), state()
    first = world.call(task, "put", {"x": 1, "y": 2})
    second = world.call(task, "put", {"y": 2, "x": 1})
    assert first == Ok(value=1)
    assert second == Ok(value=1, replayed=True)
    assert len(world.sent) == 1


def test_a_wanted_repeat_runs() -> None:
    """It runs when the caller says so, when another write came between, and in the user's next turn."""
    for between in ("again", "write", "turn"):
        world, task = counted(), state()
        world.call(task, "put", {"x": 1})
        if between == "write":
            world.call(task, "put", {"x": 2})
        if between == "turn":
            task.turn += 1
        sent = len(world.sent)
        outcome = world.call(task, "put", {"x": 1}, again=between == "again")
        assert outcome == Ok(value=1)
        assert len(world.sent) == sent + 1


def test_a_read_between_does_not_make_it_new() -> None:
    """Reading in between changes nothing, so the repeat is still a replay."""
    world, task = counted(), state()
    world.call(task, "put", {"x": 1})
    world.call(task, "look", {})
    assert world.call(task, "put", {"x": 1}) == Ok(value=1, replayed=True)


def test_key_names_the_operation() -> None:
    """Equal arguments in a new plan carry the same key; a wanted repeat and another run carry another."""
    keys = []
    for task in (state(), state(), state()):
        world = counted()
        world.call(task, "pay", {"x": 1})
        keys.append(world.sent[0][1]["key"])
    assert len(set(keys)) == 1
    world, task = counted(), state()
    world.call(task, "pay", {"x": 1})
    world.call(task, "pay", {"x": 1}, again=True)
    other = TaskState(tools=TOOLS, policy=BALANCED, place=address(2), calls_left=9, deadline_s=1e6)
    world.call(other, "pay", {"x": 1})
    assert len({str(arguments["key"]) for _, arguments in world.sent}) == 3


def test_own_key_is_kept() -> None:
    """A key that the caller brings is sent as it is."""
    world = counted()
    world.call(state(), "pay", {"x": 1, "key": "mine"})
    assert world.sent[0][1]["key"] == "mine"


def test_own_key_with_other_arguments_is_an_error() -> None:
    """One key names one operation: given to another it is refused, and both are named."""
    world, task = counted(), state()
    world.call(task, "pay", {"x": 1, "key": "mine"})
    with pytest.raises(UsageError, match=r"'mine' was used for \{'x': 1\} and is now given to \{'x': 2\}"):
        world.call(task, "pay", {"x": 2, "key": "mine"})
    assert world.call(task, "pay", {"x": 1, "key": "mine"}) == Ok(value="mine", replayed=True)


def test_storm_guard_is_not_fooled_by_words() -> None:
    """The same failing call re-worded fifty times reaches the tool as often as the limit allows, and no more."""
    world = World({"put": lambda a: Failed(message="bad request", status=422)})
    task = state()
    outcomes = [world.call(task, "put", {"x": n}) for n in range(50)]
    assert len(world.sent) == BALANCED.storm
    assert isinstance(outcomes[-1], Failed)
    assert "however it is called" in outcomes[-1].message
    assert outcomes[-1].native


def test_a_value_ends_the_storm() -> None:
    """Once the tool answers, its failures are forgotten."""
    answers = iter([Failed(message="no", status=422)] * 11 + [Ok(value=1)] + [Failed(message="no", status=422)] * 11)
    world = World({"put": lambda a: next(answers)})
    task = state()
    for n in range(23):
        world.call(task, "put", {"x": n})
    assert len(world.sent) == 23


def test_what_an_earlier_process_left_open_is_looked_up_first() -> None:
    """An inherited write is looked up before anything is sent; if it was applied nothing is sent at all."""
    world = World({"put": lambda a: Ok(value="sent"), "look": lambda a: Ok(value={"seen": "yes"})})
    assert world.call(state(), "put", {"x": 1}, unsettled_since_s=0.0) == Ok(value={"seen": "yes"})
    assert [tool for tool, _ in world.sent] == ["look"]
    world = World({"put": lambda a: Ok(value="sent"), "look": lambda a: Ok(value={"seen": "no"})})
    assert world.call(state(), "put", {"x": 1}, unsettled_since_s=0.0) == Ok(value="sent")
    assert [tool for tool, _ in world.sent] == ["look"] * BALANCED.agreeing + ["put"]


def test_a_late_answer_settles() -> None:
    """An answer that came after the time-out is taken; nothing is looked up or sent again."""
    late = Done(Ok(value="late"), 0.0, 5.0)
    world = World({"put": lambda a: Failed(message="", exception="ReadTimeout")}, late)
    assert world.call(state(), "put", {"x": 1}) == Ok(value="late")
    assert [tool for tool, _ in world.sent] == ["put"]


def test_a_refusal_after_a_lost_answer_is_looked_up() -> None:
    """When the repeat of a keyed write is refused, the refusal may mean "already done": the reader decides."""
    answers = iter([Failed(message="", exception="ReadTimeout"), Failed(message="already paid", status=409)])
    world = World({"pay": lambda a: next(answers), "look": lambda a: Ok(value={"seen": "yes"})})
    assert world.call(state(), "pay", {"x": 1}) == Ok(value={"seen": "yes"})


def test_no_retry_without_budget() -> None:
    """With the shared budget used up a failing read is not tried again."""
    world = World({"look": lambda a: Failed(message="", status=500)})
    world.call(state(retries=RetryBudget(share=0.0, burst=0.0, floor_per_s=0.0)), "look", {})
    assert len(world.sent) == 1


def test_a_new_plan_does_not_send_again_what_is_open() -> None:
    """A call that ended without knowing keeps its operation open: an equal call looks it up before it sends."""
    said = ["unknown"]
    world = World(
        {
            "put": lambda a: Failed(message="", exception="ReadTimeout"),
            "look": lambda a: Ok(value={"seen": said[0]}),
        }
    )
    task = state()
    for _ in range(3):
        outcome = world.call(task, "put", {"x": 1})
        assert isinstance(outcome, Failed)
        assert outcome.ambiguous
    assert [tool for tool, _ in world.sent].count("put") == 1
    said[0] = "yes"
    assert world.call(task, "put", {"x": 1}) == Ok(value={"seen": "yes"})
    assert [tool for tool, _ in world.sent].count("put") == 1
    assert all(task.settled.values())
    assert len(task.settled) == 4


def test_what_is_open_and_was_not_applied_is_sent() -> None:
    """Once the look-ups say "not applied", the equal call goes out."""
    answers = iter([Failed(message="", exception="ReadTimeout"), Ok(value="sent")])
    said = ["unknown"]
    world = World({"put": lambda a: next(answers), "look": lambda a: Ok(value={"seen": said[0]})})
    task = state()
    world.call(task, "put", {"x": 1})
    said[0] = "no"
    assert world.call(task, "put", {"x": 1}) == Ok(value="sent")
    assert [tool for tool, _ in world.sent].count("put") == 2


def confirming(**changes: object) -> TaskState:
    return replace(state(**changes), policy=replace(BALANCED, confirm="always"))


def test_a_false_success_is_found_out() -> None:
    """A write that says done and is not: its reader is asked, it is sent again, and then it stands once."""
    stands: list[object] = []

    def put(arguments: dict[str, object]) -> Outcome:
        if world.sent.count(("put", {"x": 1})) > 1:
            stands.append(arguments["x"])
        return Ok(value="done")

    world = World({"put": put, "look": lambda a: Ok(value={"seen": "yes" if stands else "no"})})
    task = confirming()
    assert world.call(task, "put", {"x": 1}) == Ok(value="done")
    assert stands == [1]
    assert task.confirmed == {("c0", "put", 1): False, ("c0", "put", 2): True}


def test_a_true_success_costs_one_look() -> None:
    """A write that is borne out is believed after one reading; the answer stays its own."""
    world = World({"put": lambda a: Ok(value="done"), "look": lambda a: Ok(value={"seen": "yes"})})
    task = confirming()
    assert world.call(task, "put", {"x": 1}) == Ok(value="done")
    assert [tool for tool, _ in world.sent] == ["put", "look"]


def test_a_look_that_tells_nothing_leaves_the_answer() -> None:
    """When the reader does not tell, the answer is passed on, and nobody is said to have verified it."""
    world = World({"put": lambda a: Ok(value="done"), "look": lambda a: Ok(value={"seen": "unknown"})})
    task = confirming()
    assert world.call(task, "put", {"x": 1}) == Ok(value="done")
    assert task.confirmed == {}


def test_only_what_the_policy_wants_is_looked_up() -> None:
    """Reversible writes are left alone where only irreversible ones are wanted."""
    world = World({"put": lambda a: Ok(value="done"), "look": lambda a: Ok(value={"seen": "yes"})})
    task = replace(state(), policy=replace(BALANCED, confirm="irreversible"))
    world.call(task, "put", {"x": 1})
    assert [tool for tool, _ in world.sent] == ["put"]
