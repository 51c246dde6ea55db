"""A world made of cases with gold calls: tasks, tools in both conditions, episodes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import Any, Protocol

from msgspec.structs import replace

from breakfall.errors import UsageError, unknown_name
from breakfall.vocab import ALTERNATIVES, NATIVE, Clock, Environment, Task, Tool
from breakfall.worlds.gold.case import Case
from breakfall.worlds.gold.domain import Domain
from breakfall.worlds.gold.environment import GoldEnvironment
from breakfall.worlds.gold.plan import task_of, untold
from breakfall.worlds.gold.tools import Doc, fitted, native, purpose, with_alternatives

_WHERE = "breakfall bench --help"


class Source(Protocol):
    """Where a world's tasks, tools and data come from."""

    @property
    def name(self) -> str:
        """The world's name."""
        ...

    @property
    def domain(self) -> Domain:
        """The facts of its domain."""
        ...

    @property
    def splits(self) -> tuple[str, ...]:
        """The names of its splits, the default first."""
        ...

    def docs(self) -> Sequence[Doc]:
        """Describe its tools."""
        ...

    def cases(self, split: str) -> Sequence[Case]:
        """Load a split."""
        ...

    def tables(self) -> Mapping[str, Any]:
        """Return the tables of the database as it was loaded."""
        ...

    def data_hash(self) -> str:
        """Hash the version, data and sources that results depend on."""
        ...


class GoldWorld:
    """The tasks of a source as a `World`."""

    conditions = (NATIVE, ALTERNATIVES)

    def __init__(self, source: Source) -> None:
        self._source = source
        self.name = source.name
        self.splits = source.splits
        self._mirrors = {mirror.name: mirror for mirror in source.domain.mirrors}
        self._loaded: dict[str, Sequence[Case]] = {}
        self._cases: dict[str, Case] = {}
        self._tasks: dict[str, Task] = {}
        self._offered: dict[tuple[str, str], Mapping[str, Tool]] = {}
        self._ids: dict[str, Sequence[str]] = {}

    def tasks(self, split: str, limit: int | None) -> Sequence[Task]:
        """Return the first tasks of a split, in the benchmark's order."""
        tasks = [self._task(case) for case in self._split(split)[:limit]]
        return [task if task.split == split else replace(task, split=split) for task in tasks]

    def tools(self, condition: str) -> Mapping[str, Tool]:
        """Return all tools of a condition by name; a task may lack some of their readers."""
        if condition not in self.conditions:
            raise unknown_name("condition", condition, self.conditions, _WHERE)
        return self._alternatives if condition == ALTERNATIVES else self._native

    def open(self, task: Task, condition: str, clock: Clock) -> Environment:
        """Open a private fork of the task's initial state; these tools read no clock."""
        case = self._case(task)
        key = (task.id, condition)
        if key not in self._offered:
            self._offered[key] = fitted(self.tools(condition), untold(case, self._task(case)))
        mirrors = self._mirrors if condition == ALTERNATIVES else {}
        return GoldEnvironment(case, self._offered[key], mirrors, self._ids_of)

    def data_hash(self) -> str:
        """Return a hash of the version, data and sources."""
        return self._source.data_hash()

    @cached_property
    def _native(self) -> Mapping[str, Tool]:
        return MappingProxyType(native(self._source.domain, self._source.docs()))

    @cached_property
    def _alternatives(self) -> Mapping[str, Tool]:
        return MappingProxyType(with_alternatives(self._source.domain, self._native))

    @cached_property
    def _purposes(self) -> dict[str, str]:
        return {name: purpose(tool) for name, tool in self._native.items()}

    def _ids_of(self, kind: str) -> Sequence[str]:
        if kind not in self._ids:
            listing: Callable[[Any], Any] | None = self._source.domain.ids.get(kind)
            self._ids[kind] = tuple(map(str, listing(self._source.tables()))) if listing else ()
        return self._ids[kind]

    def _split(self, split: str) -> Sequence[Case]:
        if split not in self.splits:
            raise unknown_name("split", split, self.splits, _WHERE)
        if split not in self._loaded:
            self._loaded[split] = [self._cases.setdefault(case.id, case) for case in self._source.cases(split)]
        return self._loaded[split]

    def _case(self, task: Task) -> Case:
        for split in (task.split, *self.splits):
            if task.id in self._cases:
                break
            if split in self.splits:
                self._split(split)
        if task.id not in self._cases:
            raise UsageError(f"no task {task.id!r} in the world {self.name!r}; splits: {', '.join(self.splits)}")
        return self._cases[task.id]

    def _task(self, case: Case) -> Task:
        if case.id not in self._tasks:
            self._tasks[case.id] = task_of(case, self.name, self._purposes)
        return self._tasks[case.id]
