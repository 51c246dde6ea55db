"""Agents with a memory: NAME+MODE is the agent NAME with the run's memory in a mode."""

from __future__ import annotations

from msgspec.structs import replace

from breakfall import catalog
from breakfall.errors import UsageError, unknown_name
from breakfall.memory.beliefs import Memory
from breakfall.memory.choose import Mode, belief
from breakfall.recovery.policy import Policy
from breakfall.runtime.spec import AgentSpec

_MARK = "+"
_ATTEMPTS = 2
"""What "retry before giving up" comes to at least."""


def parted(name: str) -> tuple[str, Mode | None]:
    """Part NAME+MODE; a name without a mode is an agent as it is.

    Raises:
        UsageError: There is no such mode.
    """
    agent, mark, mode = name.rpartition(_MARK)
    if not mark:
        return name, None
    if mode not in set(Mode):
        raise unknown_name("mode of memory", mode, [known.value for known in Mode], f"agent {name!r}")
    return agent, Mode(mode)


def named(agent: str, mode: Mode) -> str:
    """Name an agent with a mode."""
    return f"{agent}{_MARK}{mode}"


def check(name: str, *, has_memory: bool) -> None:
    """Make sure that there is such an agent, and a memory for its mode.

    Raises:
        UsageError: There is not.
    """
    agent, mode = parted(name)
    catalog.agent(agent)
    if mode is not None and mode.numbered and not has_memory:
        raise UsageError(
            f"agent {name!r} reads a memory and none is given; use --set memory=FILE, or {named(agent, Mode.STATIC)}"
        )


def agent(name: str, memory: Memory | None) -> AgentSpec:
    """Load an agent with what its mode lets it know.

    OFF is the agent as it is. STATIC lets its toolbox keep the constraints and take declared paths. The modes with
    numbers believe the memory as well. Only the toolbox changes: an agent of one's own keeps what it does by itself.

    Raises:
        UsageError: There is no such agent or mode.
    """
    base, mode = parted(name)
    spec = catalog.agent(base)
    if mode is None:
        return spec
    if not mode.structured:
        return replace(spec, name=name)
    numbers = None if memory is None else belief(memory, mode)
    return replace(spec, name=name, policy=constrained(spec.policy), belief=numbers)


def constrained(policy: Policy) -> Policy:
    """Return the policy that keeps the constraints of `breakfall.memory.constraints`, whatever it did before."""
    return replace(
        policy,
        name=f"{policy.name}, constrained",
        attempts=max(policy.attempts, _ATTEMPTS),  # retry before giving up
        blind=False,
        verify=True,  # verify before the irreversible
        switch=True,  # every path before handing over
    )
