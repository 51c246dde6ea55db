"""Episodes to store."""

from collections.abc import Callable
from typing import Any

import pytest

from breakfall.vocab import (
    Answer,
    Effect,
    Ending,
    EpisodeEnd,
    EpisodeKey,
    FaultKind,
    FaultSource,
    Injection,
    Ok,
    Scenario,
    Step,
    Uncertainty,
    Verdict,
    Verification,
    VerificationStatus,
)

Made = tuple[list[Step], EpisodeEnd]


@pytest.fixture
def episode() -> Callable[..., Made]:
    def make(seed: int, *, steps: int = 2, agent: str = "rules", passed: bool = True, value: Any = "paid") -> Made:
        key = EpisodeKey(
            world="store", condition="native", agent=agent, scenario=Scenario.S1, task="cancel-1", seed=seed
        )
        made = [
            Step(
                episode=key.id,
                n=n,
                call=f"c{n}",
                tool="get_order",
                arguments={"order_id": "O1"},
                at_s=float(n),
                expected_outcome="the order",
                observed_outcome=Ok(value={"status": value}),
                verification=Verification(status=VerificationStatus.NOT_DONE),
                uncertainty_signal=Uncertainty.MISSING,
                injection=Injection(kind=FaultKind.TIMEOUT, source=FaultSource.NOISE, nth=n, executed=False)
                if n == 0
                else None,
            )
            for n in range(steps)
        ]
        end = EpisodeEnd(
            episode=key.id,
            key=key,
            steps=steps,
            ending=Ending.ANSWERED,
            answer=Answer(text="done\nreally"),
            verdict=Verdict(passed=passed, state_ok=passed, answer_ok=passed),
        )
        return made, end

    return make


@pytest.fixture
def production() -> Callable[..., Step]:
    """Make a step as production writes it; fields may be given."""

    def make(n: int = 0, **fields: Any) -> Step:
        fixed: dict[str, Any] = {
            "episode": "run-1",
            "n": n,
            "call": f"c{n}",
            "tool": "get_order",
            "arguments": {"order_id": f"O{n}"},
            "at_s": float(n),
            "took_s": 0.5,
            "expected_outcome": f"the order O{n}",
            "observed_outcome": Ok(value={"status": "paid", "n": n}),
            "verification": Verification(status=VerificationStatus.NOT_APPLICABLE),
            "uncertainty_signal": Uncertainty.NONE,
            "effect": Effect.READ,
            "agent": "shop",
            "agent_version": "1.2",
            "unix_s": 1_700_000_000.0 + n,
        }
        return Step(**fixed | fields)

    return make
