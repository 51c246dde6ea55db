"""Where a τ-bench world comes from: the package's tasks as cases over one database that is loaded once."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

from breakfall.worlds.gold.case import Case
from breakfall.worlds.gold.criteria import DatabaseCriteria
from breakfall.worlds.gold.domain import Domain, GoldCall
from breakfall.worlds.gold.session import Ran, parsed
from breakfall.worlds.gold.tables import TableSession
from breakfall.worlds.gold.tools import Doc
from breakfall.worlds.tau_data.package import Package


class DataSource:
    """One domain of the package.

    Args:
        package: The installed package.
        domain: What breakfall says of the domain's tools.
        refusal: What an answer begins with that is a refusal.
    """

    def __init__(self, package: Package, domain: Domain, refusal: re.Pattern[str]) -> None:
        self.package = package
        self.domain = domain
        self.name = f"tau-{package.domain}"
        self._refusal = refusal

    @property
    def splits(self) -> tuple[str, ...]:
        """The domain's splits, `test` first."""
        return self.package.splits

    def docs(self) -> Sequence[Doc]:
        """Describe the domain's tools."""
        return self.package.docs()

    def cases(self, split: str) -> Sequence[Case]:
        """Load a split; its tasks have no names, so they get their place in it."""
        return [self._case(task, split, f"{split}-{nth}") for nth, task in enumerate(self.package.tasks(split))]

    def tables(self) -> Mapping[str, Any]:
        """Return the tables of the database as it was loaded."""
        return self._data

    def data_hash(self) -> str:
        """Hash the package's version and the domain's data and sources."""
        return self.package.data_hash()

    @cached_property
    def _data(self) -> dict[str, Any]:
        return self.package.load()

    @cached_property
    def _base(self) -> TableSession:
        tools = {name: tool.invoke for name, tool in self.package.tools.items()}
        return TableSession(tools, self._data, self._answer)

    def _answer(self, text: Any) -> Ran:
        """Tell a refusal from an answer: both are texts."""
        if type(text) is not str:  # a tool that fell off its end
            return Ran(text)
        if self._refusal.match(text):
            return Ran(error=text.removeprefix("Error: "), text=text)
        return Ran(parsed(text), text=text)

    def _case(self, task: Any, split: str, name: str) -> Case:
        calls = [  # a gold call of a tool that does not exist does nothing in the package either
            GoldCall(tool=action.name, arguments=action.kwargs)
            for action in task.actions
            if action.name in self.package.tools
        ]
        return Case(
            id=name,
            split=split,
            template=self.package.domain,
            instruction=task.instruction,
            calls=calls,
            said=task.outputs,
            initial=self._base,
            criteria=DatabaseCriteria(task.outputs),
            domain=self.domain,
        )
