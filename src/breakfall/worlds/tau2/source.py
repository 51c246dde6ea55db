"""Where a τ² world comes from: the package's tasks as cases over one database that is loaded once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

from breakfall.worlds.gold.case import Case
from breakfall.worlds.gold.domain import Domain, GoldCall
from breakfall.worlds.gold.fork import tables_of
from breakfall.worlds.gold.tools import Doc
from breakfall.worlds.tau2.criteria import Tau2Criteria
from breakfall.worlds.tau2.package import Package
from breakfall.worlds.tau2.session import Tau2Session


class Tau2Source:
    """One domain of the package.

    Args:
        package: The installed package.
        domain: What breakfall says of the domain's tools.
    """

    def __init__(self, package: Package, domain: Domain) -> None:
        self.package = package
        self.domain = domain
        self.name = f"tau2-{package.domain}"

    @property
    def splits(self) -> tuple[str, ...]:
        """The package's splits, its default one first."""
        return tuple(self.package.split_ids)

    def docs(self) -> Sequence[Doc]:
        """Describe the assistant's tools and the user's."""
        return self.package.docs(self._base.environment)

    def cases(self, split: str) -> Sequence[Case]:
        """Load a split."""
        ids = self.package.split_ids[split]
        return [self._case(task, split) for task in self.package.all_tasks if task.id in ids]

    def tables(self) -> Mapping[str, Any]:
        """Return the tables of the database as it was loaded."""
        return tables_of(self._base.environment.tools.db)

    def data_hash(self) -> str:
        """Hash the package's version, the domain's data and the sources."""
        return self.package.data_hash()

    @cached_property
    def _base(self) -> Tau2Session:
        return Tau2Session(self.package.environment())

    def _case(self, task: Any, split: str) -> Case:
        return case_of(task, split, self.domain, initial_state(self._base, task), self.package.domain)


def case_of(task: Any, split: str, domain: Domain, initial: Tau2Session, template: str) -> Case:
    """Make a case of one of the package's tasks.

    Args:
        task: The package's task.
        split: The split that it is taken from.
        domain: The domain's facts.
        initial: A session in the task's initial state.
        template: What kind of task it is.
    """
    criteria = task.evaluation_criteria
    actions = (criteria.actions if criteria else None) or ()
    return Case(
        id=task.id,
        split=split,
        template=template,
        instruction=str(task.user_scenario.instructions),
        calls=[GoldCall(tool=action.name, arguments=action.arguments) for action in actions],
        said=(criteria.communicate_info if criteria else None) or (),
        initial=initial,
        criteria=Tau2Criteria(criteria),
        domain=domain,
    )


def initial_state(base: Tau2Session, task: Any) -> Tau2Session:
    """Return a session in a task's initial state; the base itself where the task starts from there."""
    state = task.initial_state
    if state is None:
        return base
    session = base.fork()
    session.environment.set_state(
        initialization_data=state.initialization_data,
        initialization_actions=state.initialization_actions,
        message_history=state.message_history or [],
    )
    return Tau2Session(session.environment)
