"""What a bench needs to know of an agent: how to make it, and how its calls recover."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from breakfall.recovery.policy import Policy
from breakfall.vocab import Agent, Belief


class AgentSpec(Struct, frozen=True, kw_only=True):
    """An agent and the recovery policy of its toolbox.

    An agent of one's own gets `recovery.policy.GIVE_UP`: each of its calls is one attempt, and recovering is its task.
    """

    name: str
    make: Callable[[], Agent]
    policy: Policy
    belief: Belief | None = None
    """What memory says of the tools."""
    told_scenario: bool = False
    """The oracle: it is told which tools the scenario shuts."""
    built_in: bool = False
    """It is known to end and not to change what it is handed."""
