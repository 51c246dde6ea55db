"""Built-in worlds, agents and profiles by name, loaded when asked for."""

from __future__ import annotations

from breakfall.agents.plan import PlanAgent
from breakfall.recovery.policy import GIVE_UP, RETRY, RULES
from breakfall.runtime.spec import AgentSpec

# The built-in agents live here and not in agents/: agents and runtime may not import each other.
AGENTS: dict[str, AgentSpec] = {
    "give-up": AgentSpec(name="give-up", make=lambda: PlanAgent(careful=False), policy=GIVE_UP, built_in=True),
    "retry": AgentSpec(name="retry", make=lambda: PlanAgent(careful=False), policy=RETRY, built_in=True),
    "rules": AgentSpec(name="rules", make=lambda: PlanAgent(careful=True), policy=RULES, built_in=True),
    "oracle": AgentSpec(
        name="oracle", make=lambda: PlanAgent(careful=True), policy=RULES, told_scenario=True, built_in=True
    ),
}
