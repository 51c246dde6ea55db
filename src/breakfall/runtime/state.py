"""What is known of a task while its calls are made: breakers, budgets, operations, what was settled."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import blake2b
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from breakfall.recovery.breaker import Breaker
from breakfall.recovery.budget import RetryBudget
from breakfall.recovery.policy import Policy
from breakfall.seeds import address, uniforms
from breakfall.vocab import Call, Failed, IdempotencyKind, Tool

_SHUT_AFTER = 3
"""Failures in a row after which a path counts as shut for the calls to come."""


class Operation(Struct, kw_only=True):
    """One logical write of a task: how often it was wanted on purpose, and what its last success came to."""

    epoch: int = 0
    value: Any = None
    write: int | None = None
    """Which of the task's successful writes its last success was; None before it succeeded."""
    turn: int = 0


class TaskState(Struct, kw_only=True):
    """What the flow knows of the task that its calls belong to; it lives as long as the task."""

    tools: Mapping[str, Tool]
    policy: Policy
    place: bytes
    """Where this task's randomness lives, and the name of its run in keys (`seeds.address`)."""
    calls_left: int
    deadline_s: float
    retries: RetryBudget | None = None
    """The budget of retries that this task shares with others."""
    breakers: dict[str, Breaker] = msgspec.field(default_factory=dict)
    settled: dict[str, bool] = msgspec.field(default_factory=dict)
    """Call id -> whether a look-up said that its write was applied."""
    stopped: str | None = None
    """The reason of the last `Stop`."""
    draws: int = 0
    turn: int = 0
    operations: dict[bytes, Operation] = msgspec.field(default_factory=dict)
    writes: int = 0
    """How many writes have succeeded."""
    storms: dict[tuple[str, str], int] = msgspec.field(default_factory=dict)
    """(tool, failure class) -> failures since the tool last answered with a value, whatever the arguments."""
    shut: frozenset[str] | None = None
    """For the oracle alone."""

    def breaker(self, tool: str) -> Breaker:
        """Return the breaker of a tool."""
        found = self.breakers.get(tool)
        if found is None:
            found = self.breakers[tool] = Breaker()
        return found

    def known_shut(self, tool: str, now_s: float) -> bool:
        """Whether the tool is known to be shut now."""
        breaker = self.breakers.get(tool)
        if breaker is None or not breaker.failures:
            return False
        return breaker.open(now_s, threshold=_SHUT_AFTER, cooldown_s=self.policy.cooldown_s)

    def failing_neighbours(self, tool: Tool) -> int:
        """Count the other tools of its fault domain that are failing now."""
        failing = [name for name, breaker in self.breakers.items() if breaker.failures and name != tool.name]
        return sum(self.tools[name].fault_domain == tool.fault_domain for name in failing)

    def jitter(self) -> float:
        """Draw the next uniform number of this task."""
        self.draws += 1
        return uniforms(self.place, self.draws)[0]

    def answered(self, tool: str) -> None:
        """Note a value: the tool's storm is over."""
        if self.storms:
            self.storms = {key: count for key, count in self.storms.items() if key[0] != tool}

    def refused(self, tool: str, failed: Failed) -> None:
        """Note a failure for the storm guard."""
        key = (tool, failed.failure_class)
        self.storms[key] = self.storms.get(key, 0) + 1

    def storm(self, tool: str) -> str | None:
        """Name the failure class that this tool has met too often, if there is one."""
        limit = self.policy.storm
        if limit is None or not self.storms:
            return None
        return next((kind for (name, kind), count in self.storms.items() if name == tool and count >= limit), None)


def operation_of(place: bytes, tool: Tool, arguments: Mapping[str, Any]) -> bytes:
    """Name a logical operation: run, tool, canonical arguments without the key that carries it."""
    parameter = tool.idempotency.parameter
    plain = {k: v for k, v in arguments.items() if k != parameter} if parameter in arguments else arguments
    canonical = msgspec.json.encode(plain, order="sorted", enc_hook=repr)
    return blake2b(address(tool.name) + place + canonical, digest_size=16).digest()


def keyed(call: Call, tool: Tool, name: bytes, epoch: int) -> Call:
    """Give a write the key of its operation, unless the caller brought one."""
    parameter = tool.idempotency.parameter
    if tool.idempotency.kind is not IdempotencyKind.KEY or parameter is None:
        return call
    if call.arguments.get(parameter) is not None:
        return replace(call, key=str(call.arguments[parameter]))
    key = blake2b(name + b"#%d" % epoch, digest_size=16).hexdigest()
    return replace(call, key=key, arguments={**call.arguments, parameter: key})
