"""Worlds from tables and functions: a database of plain dicts, and tools that are functions of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from hashlib import blake2b
from typing import Any

from msgspec import Struct, field

from breakfall.worlds.gold.case import Case
from breakfall.worlds.gold.criteria import DatabaseCriteria
from breakfall.worlds.gold.domain import Domain, GoldCall
from breakfall.worlds.gold.fork import Pristine, copied, fork_of, frozen, jsonable
from breakfall.worlds.gold.session import Ran
from breakfall.worlds.gold.tools import Doc

_SMALL = 20
"""Tables of up to so many records are copied whole, so that tools may walk over them and write."""


def as_json(value: Any) -> Ran:
    """Take what a tool returned as its value."""
    return Ran(jsonable(value))


class TableSession:
    """Functions over a private state of some tables.

    Args:
        tools: Functions by name. The first argument is the tables, the others are the call's by name; what a function
            raises is a refusal.
        tables: The loaded database; nobody may change it from then on.
        answer: What a returned value comes to.
    """

    def __init__(
        self,
        tools: Mapping[str, Callable[..., Any]],
        tables: dict[str, Any],
        answer: Callable[[Any], Ran] = as_json,
    ) -> None:
        self._tools = tools
        self._tables = tables
        self._answer = answer
        self._pristine = Pristine(tables)

    def fork(self) -> TableSession:
        """Return a session of its own in this one's present state."""
        new = object.__new__(TableSession)
        new._tools, new._answer, new._pristine = self._tools, self._answer, self._pristine
        new._tables = fork_of(self._tables, _SMALL, {})
        return new

    def run(self, tool: str, arguments: dict[str, Any]) -> Ran:
        """Call a tool with a copy of the arguments: it may put them into the tables."""
        try:
            return self._answer(self._tools[tool](self._tables, **copied(arguments, {})))
        except Exception as error:
            text = error.args[0] if isinstance(error, LookupError) and error.args else error
            return Ran(error=str(text) or type(error).__name__, exception=type(error).__name__)

    def changes(self) -> dict[str, bytes]:
        """Return every record that differs from the loaded tables, as ``table/key``."""
        return self._pristine.changes(self._tables)


class GoldTask(Struct, frozen=True, kw_only=True):
    """A task as whoever makes a world writes it."""

    id: str
    instruction: str
    calls: tuple[tuple[str, dict[str, Any]], ...]
    """The calls that solve it: (tool, arguments)."""
    said: tuple[str, ...] = ()
    """Texts that the answer must contain."""
    template: str = "task"


class TableSource(Struct, frozen=True, kw_only=True, dict=True):
    """Tables, functions and tasks as the source of a `GoldWorld`."""

    name: str
    domain: Domain
    described: tuple[Doc, ...]
    functions: dict[str, Callable[..., Any]]
    loaded: dict[str, Any]
    """The tables."""
    tasks: dict[str, tuple[GoldTask, ...]] = field(default_factory=dict)
    """Split -> its tasks; the first split is the default one."""

    @property
    def splits(self) -> tuple[str, ...]:
        """The splits, as written."""
        return tuple(self.tasks)

    def docs(self) -> Sequence[Doc]:
        """Describe the tools."""
        return self.described

    def cases(self, split: str) -> Sequence[Case]:
        """Make the cases of a split."""
        return [
            Case(
                id=task.id,
                split=split,
                template=task.template,
                instruction=task.instruction,
                calls=[GoldCall(tool=tool, arguments=arguments) for tool, arguments in task.calls],
                said=task.said,
                initial=self._base,
                criteria=DatabaseCriteria(task.said),
                domain=self.domain,
            )
            for task in self.tasks[split]
        ]

    def tables(self) -> Mapping[str, Any]:
        """Return the tables as they were loaded."""
        return self.loaded

    def data_hash(self) -> str:
        """Hash tables and tasks; the functions' file is hashed by the bench, as all code of one's own is."""
        return blake2b(frozen([self.loaded, self.tasks]), digest_size=16).hexdigest()

    @cached_property
    def _base(self) -> TableSession:
        return TableSession(self.functions, self.loaded)
