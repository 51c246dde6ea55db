"""The store as a world: a retail back office that a support agent works in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from hashlib import blake2b
from types import MappingProxyType
from typing import Any

import msgspec

from breakfall.errors import UsageError, unknown_name
from breakfall.vocab import ALTERNATIVES, NATIVE, Clock, Task, Text, Tool
from breakfall.worlds.store.base import base
from breakfall.worlds.store.cast import SPLITS
from breakfall.worlds.store.catalogue import entries, entries_of
from breakfall.worlds.store.environment import StoreEnvironment
from breakfall.worlds.store.policy import POLICY
from breakfall.worlds.store.tasks import NAME, SPLIT_SIZE, task

CONDITIONS = (ALTERNATIVES, NATIVE)
HASHED_TASKS = 64
"""How many tasks of each split go into the data hash: every template at least twice."""

_encode = msgspec.json.Encoder(order="sorted").encode


class StoreWorld:
    """The store world; its data is made once per process and shared by all episodes."""

    name = NAME
    conditions = CONDITIONS
    splits = SPLITS

    @property
    def policy(self) -> Text:
        """The rules that an agent has to keep, in words."""
        return POLICY

    def tasks(self, split: str, limit: int | None) -> Sequence[Task]:
        """Return the first `limit` tasks of a split, always the same ones; its standard size if None."""
        if split not in SPLITS:
            raise unknown_name("split", split, SPLITS, "breakfall bench --help")
        count = SPLIT_SIZE if limit is None else limit
        if count < 0:
            raise UsageError(f"{count} tasks asked for; the number of tasks must be 0 or more")
        return [task(split, number) for number in range(count)]

    def tools(self, condition: str) -> Mapping[str, Tool]:
        """Return the tools of a condition by name."""
        if condition not in CONDITIONS:
            raise unknown_name("condition", condition, CONDITIONS, "breakfall bench --help")
        return _tools(condition)

    def open(self, task: Task, condition: str, clock: Clock) -> StoreEnvironment:
        """Open a fresh, private environment for one episode."""
        tools = self.tools(condition)
        return StoreEnvironment(task, entries_of(condition), tools, clock)

    def data_hash(self) -> str:
        """Return a hash of all that results depend on: the data, the tools, the policy and the tasks."""
        return _data_hash()


@lru_cache(maxsize=len(CONDITIONS))
def _tools(condition: str) -> Mapping[str, Tool]:
    return MappingProxyType({name: entry.tool for name, entry in entries_of(condition).items()})


@lru_cache(maxsize=1)
def _data_hash() -> str:
    made = base()
    digest = blake2b(digest_size=16)
    for kind, records in made.records.items():
        digest.update(_encode([kind.__name__, records]))
    digest.update(_encode(made.lists))
    digest.update(_encode([_shape(entry.tool) for entry in entries().values()]))
    digest.update(_encode([POLICY, [task(split, n) for split in SPLITS for n in range(HASHED_TASKS)]]))
    return digest.hexdigest()


def _shape(tool: Tool) -> dict[str, Any]:
    """Return the parts of a tool that are data."""
    return {
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.parameters,
        "returns": tool.returns,
        "effect": tool.effect,
        "domain": tool.fault_domain,
        "paths": [[path.tool, path.granularity, path.missing] for path in tool.paths],
        "reader": tool.reader and tool.reader.tool,
        "idempotency": tool.idempotency,
        "mirror": tool.mirror,
    }
