"""What the ledger flags: silent faults and false successes, by verification policy, and how often honest steps are.

    python benchmarks/flagged.py [--tasks 200] [--seeds 10] [--json]

Runs the plan agent under S1 in the store world with one policy after the other. A step is flagged when its severity is
ERROR: a look-up contradicted it. A false success is a write whose answer said done and that was never applied.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter

import anyio
from msgspec.structs import replace

from breakfall import catalog
from breakfall.agents.plan import PlanAgent
from breakfall.faults.profile import PROFILES
from breakfall.faults.scenario import Blockade
from breakfall.ledger.severity import Severity, severity
from breakfall.recovery.policy import BALANCED, Policy
from breakfall.runtime.episode import Setup, run_episode
from breakfall.runtime.spec import AgentSpec
from breakfall.vocab import FaultKind, Ok, Scenario, Step, Tool

POLICIES = {
    "never": BALANCED,
    "irreversible only": replace(BALANCED, confirm="irreversible"),
    "a quarter": replace(BALANCED, confirm="always", confirm_share=0.25),
    "always": replace(BALANCED, confirm="always"),
}


def kind_of(step: Step, tool: Tool | None) -> str | None:
    """Sort a step: which silent fault struck it, or honest; None for what is not claimed (failures, look-ups)."""
    if step.purpose or not isinstance(step.observed_outcome, Ok) or tool is None:
        return None
    injection = step.injection
    what = "write" if tool.writes else "read"
    if injection is None or injection.suppressed or not injection.kind.silent:
        return f"honest {what}"
    if tool.writes and injection.kind is FaultKind.FACTUAL_ERROR:
        return "write: false success"
    return f"{what}: {injection.kind.value}"


async def flagged(policy: Policy, tasks: int, seeds: int) -> dict[str, tuple[int, int]]:
    """Play and count; per sort of step how many were flagged, of how many."""
    world = catalog.world("store")
    condition = world.conditions[0]
    spec = AgentSpec(name="plan", make=lambda: PlanAgent(careful=True), policy=policy, built_in=True)
    seen: Counter[str] = Counter()
    hits: Counter[str] = Counter()
    tools = world.tools(condition)
    for task in world.tasks(world.splits[0], tasks):
        for seed in range(seeds):
            steps, _ = await run_episode(
                Setup(
                    world=world,
                    condition=condition,
                    task=task,
                    scenario=Scenario.S1,
                    seed=seed,
                    profile=PROFILES["paper"],
                    agent=spec,
                    blockade=Blockade(),
                )
            )
            for step in steps:
                sort = kind_of(step, tools.get(step.tool))
                if sort is not None:
                    seen[sort] += 1
                    hits[sort] += severity(step) is Severity.ERROR
    return {sort: (hits[sort], seen[sort]) for sort in sorted(seen)}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--tasks", type=int, default=200)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    result = {name: anyio.run(flagged, policy, asked.tasks, asked.seeds) for name, policy in POLICIES.items()}
    if asked.json:
        print(json.dumps(result))
        return
    sorts = sorted({sort for found in result.values() for sort in found})
    print(f"{'flagged as ERROR':<24}" + "".join(f"{name:>22}" for name in POLICIES))
    for sort in sorts:
        cells = (result[name].get(sort, (0, 0)) for name in POLICIES)
        shown = (f"{hits / seen:.1%} of {seen:,}" if seen else "-" for hits, seen in cells)
        print(f"{sort:<24}" + "".join(f"{text:>22}" for text in shown))


if __name__ == "__main__":
    main()
