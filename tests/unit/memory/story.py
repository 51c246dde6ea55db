"""Short stories of calls, and the tools that they are about."""

from __future__ import annotations

from typing import Any

from breakfall.vocab import (
    Effect,
    Failed,
    FaultKind,
    Ok,
    Outcome,
    Path,
    Response,
    Step,
    Tool,
    Uncertainty,
    Verification,
    VerificationStatus,
)

RECORD = {"type": "object", "required": ["id", "state"], "properties": {"seen_at": {"x-kind": "as_of"}}}
ONE = {"id": "O1"}


def _from_list(value: Any, arguments: Any, context: Any) -> Any:
    return next(item for item in value["items"] if item["id"] == arguments["id"])


def tool(name: str, domain: str, *paths: Path, effect: Effect = Effect.READ, returns: Any = RECORD) -> Tool:
    return Tool(
        name=name, description=name, parameters={}, returns=returns, effect=effect, fault_domain=domain, paths=paths
    )


TOOLS = {
    made.name: made
    for made in (
        tool("get", "orders", Path(tool="copy"), Path(tool="items", value=_from_list)),
        tool("peek", "orders"),
        tool("copy", "cache", Path(tool="get")),
        tool("items", "crm", returns={}),
        tool("pay", "bank", effect=Effect.WRITE),
    )
}


class Story:
    """One episode; each call adds steps."""

    def __init__(self, episode: str = "e1") -> None:
        self.episode = episode
        self.steps: list[Step] = []

    def ok(self, name: str, value: Any = None, call: str = "c1", **more: Any) -> Story:
        """Tell an answer."""
        return self._add(name, Ok(value={"id": "O1", "state": "open"} if value is None else value), call, **more)

    def fail(self, name: str, kind: FaultKind = FaultKind.TIMEOUT, call: str = "c1", **more: Any) -> Story:
        """Tell a failure, classified as the runtime stores it."""
        return self._add(name, Failed(message="it failed", kind=kind), call, **more)

    def refuse(self, name: str, call: str = "c1", **more: Any) -> Story:
        """Tell a refusal of the tool's own."""
        return self._add(name, Failed(message="no such record", native=True), call, **more)

    def _add(self, name: str, outcome: Outcome, call: str, **more: Any) -> Story:
        path_of = more.pop("path_of", None)
        self.steps.append(
            Step(
                episode=self.episode,
                n=len(self.steps),
                call=call,
                tool=name,
                arguments=more.pop("arguments", ONE),
                path_of=path_of,
                strategy=Response.SWITCH if path_of else None,
                at_s=0.0,
                expected_outcome=name,
                observed_outcome=outcome,
                verification=Verification(status=VerificationStatus.NOT_APPLICABLE),
                uncertainty_signal=Uncertainty.MISSING,
                **more,
            )
        )
        return self
