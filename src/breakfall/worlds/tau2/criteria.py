"""How τ² judges a task: its database, its assertions, its actions, and what the user had to be told."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from breakfall.vocab import Answer
from breakfall.worlds.gold.case import Ended, Finding
from breakfall.worlds.gold.criteria import differences, unsaid
from breakfall.worlds.tau2.package import imported
from breakfall.worlds.tau2.session import Tau2Session


class Tau2Criteria:
    """The criteria of one of the package's tasks, on the live state and the calls that really ran.

    Args:
        criteria: The task's `evaluation_criteria`, or None.
    """

    def __init__(self, criteria: Any) -> None:
        self._criteria = criteria
        self._basis = {part.value for part in criteria.reward_basis} if criteria else set()

    def find(self, ended: Ended) -> Finding:
        """Judge a finished episode."""
        if self._criteria is None:
            return Finding()
        return Finding(
            state=(*self._database(ended), *self._assertions(ended), *self._actions(ended)),
            answer=tuple(self._unsaid(ended.answer)),
            notes=tuple(self._unscored()),
        )

    def _database(self, ended: Ended) -> Iterator[str]:
        criteria = self._criteria
        if "DB" in self._basis and (criteria.actions is not None or criteria.env_assertions is not None):
            yield from differences(ended.session.changes(), ended.gold)

    def _assertions(self, ended: Ended) -> Iterator[str]:
        if "ENV_ASSERTION" not in self._basis or not self._criteria.env_assertions:
            return
        session = ended.session.fork()  # an assertion lets the user's device follow the line
        assert isinstance(session, Tau2Session)
        for assertion in self._criteria.env_assertions:
            try:
                met = session.environment.run_env_assertion(assertion, raise_assertion_error=False)
            except ValueError as error:
                yield f"{assertion.func_name}: {error}"
                continue
            if not met:
                yield f"{assertion.func_name} does not hold"

    def _actions(self, ended: Ended) -> Iterator[str]:
        if "ACTION" not in self._basis:
            return
        call = imported("tau2.data_model.message").ToolCall
        made = [call(name=each.tool, arguments=each.arguments) for each in ended.executed]
        for action in self._criteria.actions or ():
            if not any(action.compare_with_tool_call(each) for each in made):
                yield f"no call ran that matches {action.name}"

    def _unsaid(self, answer: Answer) -> Iterator[str]:
        if "COMMUNICATE" in self._basis:
            yield from unsaid(answer, self._criteria.communicate_info or ())

    def _unscored(self) -> Iterator[str]:
        if self._criteria.nl_assertions:
            weight = "they count for its reward" if "NL_ASSERTION" in self._basis else "its reward leaves them out"
            yield f"not scored: {len(self._criteria.nl_assertions)} assertions in natural language ({weight})"
