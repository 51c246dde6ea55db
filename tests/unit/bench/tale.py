"""Tales: episodes told step by step in a small shop, to be scored."""

from __future__ import annotations

from typing import Any

from breakfall.bench.met import FaultMet
from breakfall.bench.score import EpisodeScore, score_episode
from breakfall.vocab import (
    Answer,
    Applied,
    AppliedEffect,
    Arguments,
    Corruption,
    Cost,
    Effect,
    Ending,
    EpisodeEnd,
    EpisodeKey,
    Fact,
    Failed,
    FaultKind,
    FaultSource,
    Granularity,
    Handoff,
    Idempotency,
    IdempotencyKind,
    Injection,
    Json,
    Ok,
    Path,
    Reader,
    Response,
    Scenario,
    Settlement,
    Step,
    Task,
    Tool,
    Uncertainty,
    Verdict,
    Verification,
    VerificationStatus,
)

NOTHING = Answer()
NO = Verdict(passed=False, state_ok=False, answer_ok=False)
YES = Verdict(passed=True, state_ok=True, answer_ok=True)
ORDER = {"order_id": "O1"}
REFUND = {"order_id": "O1", "amount": 5.0}


def _by_order(arguments: Arguments, context: Arguments) -> dict[str, Json]:
    return {"order_id": arguments["order_id"]}


def _by_customer(arguments: Arguments, context: Arguments) -> dict[str, Json]:
    return {"customer_id": context["customer_id"]}


def _judge(value: Json, arguments: Arguments, sent_s: float) -> Settlement:
    return Settlement(applied=Applied.YES if value["refunds"] else Applied.NO)


def _tool(name: str, effect: Effect, domain: str, **more: Any) -> Tool:
    return Tool(name=name, description=name, parameters={}, effect=effect, fault_domain=domain, **more)


_READER = Reader(tool="get_refunds", arguments=_by_order, judge=_judge)
_LOCAL = Path(tool="list_orders", arguments=_by_customer, granularity=Granularity.PARTIAL)

TOOLS = {
    tool.name: tool
    for tool in (
        _tool("get_order", Effect.READ, "orders", paths=(Path(tool="order_by_mail"), _LOCAL, Path(tool="order_cache"))),
        _tool("order_by_mail", Effect.READ, "crm"),
        _tool("order_cache", Effect.READ, "orders"),
        _tool("list_orders", Effect.READ, "crm"),
        _tool("get_refunds", Effect.READ, "payments"),
        _tool("refund", Effect.WRITE, "payments", reader=_READER, paths=(Path(tool="store_credit"),)),
        _tool("store_credit", Effect.WRITE, "credit", reader=_READER),
        _tool("set_note", Effect.WRITE, "orders", idempotency=Idempotency(kind=IdempotencyKind.NATURAL)),
        _tool("close", Effect.WRITE, "orders", reader=_READER, idempotency=Idempotency(kind=IdempotencyKind.NATURAL)),
        _tool("send_fax", Effect.WRITE, "desk"),
        _tool(
            "pay",
            Effect.WRITE,
            "payments",
            reader=_READER,
            idempotency=Idempotency(kind=IdempotencyKind.KEY, parameter="key"),
        ),
        _tool("transfer_to_human", Effect.WRITE, "desk"),
    )
}


class Tale:
    """One episode, told in order; each call of `ok` and `fail` adds a step and returns its number."""

    def __init__(self, scenario: Scenario = Scenario.S1, *, seed: int = 0, task: str = "t1", agent: str = "me") -> None:
        self.key = EpisodeKey(world="shop", condition="native", agent=agent, scenario=scenario, task=task, seed=seed)
        self.steps: list[Step] = []

    def ok(self, tool: str, arguments: dict[str, Any], value: Any, **more: Any) -> int:
        """Tell a call that was answered."""
        return self._add(tool, arguments, Ok(value=value), **more)

    def fail(
        self,
        tool: str,
        arguments: dict[str, Any],
        kind: FaultKind = FaultKind.SERVER_ERROR,
        *,
        source: FaultSource = FaultSource.NOISE,
        executed: bool = False,
        sticky: bool = False,
        **more: Any,
    ) -> int:
        """Tell a call that a fault struck; what a caller can see of it is what the wire shows."""
        status = {FaultKind.RATE_LIMIT: 429, FaultKind.AUTH_ERROR: 401}.get(kind, 500)
        injection = Injection(kind=kind, source=source, nth=0, executed=executed, sticky=sticky)
        timeout = kind is FaultKind.TIMEOUT
        outcome = Failed(
            message="no", status=None if timeout else status, exception="ReadTimeout" if timeout else "HTTPStatusError"
        )
        return self._add(tool, arguments, outcome, injection=injection, executed=executed, **more)

    def refused(self, tool: str, arguments: dict[str, Any], **more: Any) -> int:
        """Tell a call that the tool itself refused."""
        return self._add(tool, arguments, Failed(message="order_not_found", status=404, native=True), **more)

    def blocked(self, tool: str, arguments: dict[str, Any], kind: FaultKind = FaultKind.RATE_LIMIT, **more: Any) -> int:
        """Tell a call on a path that is shut."""
        return self.fail(tool, arguments, kind, source=FaultSource.BLOCKADE, **more)

    def lie(
        self,
        tool: str,
        arguments: dict[str, Any],
        value: Any,
        *corruptions: Corruption,
        kind: FaultKind = FaultKind.FACTUAL_ERROR,
        executed: bool = True,
        **more: Any,
    ) -> int:
        """Tell a call whose answer a silent fault made false."""
        injection = Injection(
            kind=kind, source=FaultSource.NOISE, nth=0, executed=executed, corruptions=corruptions, true_value=None
        )
        return self._add(tool, arguments, Ok(value=value), injection=injection, executed=executed, **more)

    def _add(self, tool: str, arguments: dict[str, Any], outcome: Ok | Failed, **more: Any) -> int:
        n = len(self.steps)
        effect = more.pop("effect", "")
        fixed = {"call": f"own{n}", "effects": (AppliedEffect(name=effect, target="order:O1"),) if effect else ()}
        self.steps.append(
            Step(
                episode=self.key.id,
                n=n,
                tool=tool,
                arguments=arguments,
                at_s=float(n),
                expected_outcome="",
                observed_outcome=outcome,
                verification=Verification(status=VerificationStatus.NOT_APPLICABLE),
                uncertainty_signal=Uncertainty.MISSING,
                **(fixed | more),
            )
        )
        return n

    def end(self, verdict: Verdict = NO, answer: Answer = NOTHING, ending: Ending | None = None) -> EpisodeEnd:
        """End the episode."""
        default = Ending.HANDED_OVER if answer.handoff is not None else Ending.ANSWERED
        return EpisodeEnd(
            episode=self.key.id,
            key=self.key,
            steps=len(self.steps),
            ending=ending or default,
            answer=answer,
            verdict=verdict,
            cost=Cost(tool_calls=len(self.steps), seconds=float(len(self.steps))),
        )

    def score(self, verdict: Verdict = NO, answer: Answer = NOTHING, **more: Any) -> EpisodeScore:
        """End the episode and score it."""
        task: Task | None = more.pop("task", None)
        return score_episode(self.end(verdict, answer, **more), self.steps, TOOLS, task)

    def met(self, verdict: Verdict = NO, answer: Answer = NOTHING, **more: Any) -> FaultMet:
        """End the episode and return the first fault that it met."""
        return self.score(verdict, answer, **more).faults[0]


def over(*done: Fact, unknown: tuple[Fact, ...] = ()) -> Answer:
    """Hand over."""
    return Answer(handoff=Handoff(goal="g", reason="r", done=done, unknown=unknown))


def fact(call: str, tool: str = "refund", arguments: dict[str, Any] | None = None) -> Fact:
    """State a write in a hand-over."""
    return Fact(call=call, tool=tool, arguments=REFUND if arguments is None else arguments)


def responses(met: FaultMet) -> tuple[Response, Response, Response]:
    """Return what was right, what came first, and what came last."""
    return met.truth, met.first, met.eventual
