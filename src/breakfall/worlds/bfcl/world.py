"""The world of BFCL's multi-turn tasks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from types import MappingProxyType

from breakfall.errors import UsageError, unknown_name
from breakfall.vocab import ALTERNATIVES, NATIVE, Clock, Environment, Task, Tool
from breakfall.worlds.bfcl.environment import BfclEnvironment
from breakfall.worlds.bfcl.gold import Case
from breakfall.worlds.bfcl.package import SPLITS, Package
from breakfall.worlds.bfcl.plan import task_of, untold
from breakfall.worlds.bfcl.tools import native, offered, purpose, with_alternatives

_WHERE = "breakfall bench --help"


class BfclWorld:
    """BFCL multi-turn: its APIs as tools, its four categories as splits, its checkers as judge.

    Raises:
        UsageError: The package `bfcl-eval` is not installed.
    """

    name = "bfcl"
    conditions = (NATIVE, ALTERNATIVES)
    splits = SPLITS

    def __init__(self) -> None:
        self._package = Package()
        self._splits: dict[str, list[Case]] = {}
        self._cases: dict[str, Case] = {}
        self._tasks: dict[str, Task] = {}
        self._stages: dict[tuple[str, str], list[tuple[int, Mapping[str, Tool]]]] = {}

    def tasks(self, split: str, limit: int | None) -> Sequence[Task]:
        """Return the first tasks of a category, in the package's order."""
        return [self._task(case) for case in self._split(split)[:limit]]

    def tools(self, condition: str) -> Mapping[str, Tool]:
        """Return all tools of a condition by name; a task offers those of its classes."""
        if condition not in self.conditions:
            raise unknown_name("condition", condition, self.conditions, _WHERE)
        return self._alternatives if condition == ALTERNATIVES else self._native

    def open(self, task: Task, condition: str, clock: Clock) -> Environment:
        """Open private instances in the task's initial state; the package has no clock that could matter."""
        case = self._case(task.id)
        key = (task.id, condition)
        if key not in self._stages:
            tools = self.tools(condition)
            lacking = untold(case, self._task(case))
            turns = sorted({0, *case.held_out.values()})
            self._stages[key] = [(turn, offered(case, condition, turn, tools, lacking)) for turn in turns]
        return BfclEnvironment(self._package, case, self._stages[key])

    def data_hash(self) -> str:
        """Return a hash of the package's version, data and sources."""
        return self._package.data_hash()

    @cached_property
    def _native(self) -> Mapping[str, Tool]:
        return MappingProxyType(native(self._package))

    @cached_property
    def _alternatives(self) -> Mapping[str, Tool]:
        return MappingProxyType(with_alternatives(self._native))

    @cached_property
    def _purposes(self) -> dict[str, str]:
        return {name: purpose(tool) for name, tool in self._native.items()}

    def _split(self, split: str) -> list[Case]:
        if split not in SPLITS:
            raise unknown_name("split", split, SPLITS, _WHERE)
        if split not in self._splits:
            gold = {row["id"]: row["ground_truth"] for row in self._package.gold(split)}
            rows = self._package.rows(split)
            cases = [Case(self._package, split, row, gold[row["id"]]) for row in rows]
            self._splits[split] = cases
            self._cases |= {case.id: case for case in cases}
        return self._splits[split]

    def _case(self, task: str) -> Case:
        if task not in self._cases:
            split = next((split for split in SPLITS if task.removeprefix("multi_turn_").startswith(split)), None)
            if split is not None:
                self._split(split)
        if task not in self._cases:
            raise UsageError(f"no task {task!r} in the world 'bfcl'; tasks are named like 'multi_turn_base_0'")
        return self._cases[task]

    def _task(self, case: Case) -> Task:
        if case.id not in self._tasks:
            self._tasks[case.id] = task_of(case, self._purposes)
        return self._tasks[case.id]
