"""Agents with a memory."""

from __future__ import annotations

import pytest

from breakfall import catalog
from breakfall.bench import remember
from breakfall.bench.matrix import Spec, expand
from breakfall.errors import UsageError
from breakfall.memory.beliefs import Memory, Retries
from breakfall.memory.choose import Mode
from breakfall.vocab import FaultKind

MEMORY = Memory(retries={"get": {"timeout": Retries(recovered=7, stayed=1)}})


def test_an_agent_as_it_is() -> None:
    """A name without a mode is the catalog's agent, and `off` differs from it in nothing but its name."""
    plain = catalog.agent("retry")
    assert remember.agent("retry", MEMORY) is plain
    off = remember.agent("retry+off", MEMORY)
    assert (off.name, off.policy, off.belief) == ("retry+off", plain.policy, None)


@pytest.mark.parametrize("agent", ["give-up", "retry", "rules"])
@pytest.mark.parametrize("mode", [Mode.STATIC, Mode.POSTERIOR, Mode.SHUFFLED])
def test_the_constraints_are_kept(agent: str, mode: Mode) -> None:
    """With a memory every agent repeats before it gives up, verifies, and tries every path; its costs stay its own."""
    before = catalog.agent(agent).policy
    policy = remember.agent(remember.named(agent, mode), MEMORY).policy
    assert policy.attempts == max(2, before.attempts)
    assert (policy.blind, policy.verify, policy.switch) == (False, True, True)
    assert (policy.costs, policy.persistence) == (before.costs, before.persistence)


def test_numbers_are_believed() -> None:
    """Only the modes with numbers believe something."""
    assert remember.agent("rules+static", MEMORY).belief is None
    belief = remember.agent("rules+posterior", MEMORY).belief
    assert belief is not None
    assert belief.persistence("get", FaultKind.TIMEOUT) == pytest.approx(0.2)


def test_unknown_mode() -> None:
    """A mode that does not exist is named, with the nearest one that does."""
    with pytest.raises(UsageError, match=r"no mode of memory 'postrior'; did you mean 'posterior'\?"):
        remember.agent("rules+postrior", MEMORY)


def test_numbers_need_a_memory() -> None:
    """A mode with numbers is refused where no memory is given, before anything runs; `static` needs none."""
    with pytest.raises(UsageError, match="reads a memory and none is given; use --set memory=FILE, or rules\\+static"):
        expand(Spec(tasks="1", agents=("rules+posterior",)))
    assert expand(Spec(tasks="1", agents=("rules+static", "rules+off")))
    with pytest.raises(UsageError, match="no agent 'rule'"):
        expand(Spec(tasks="1", agents=("rule+off",)))
