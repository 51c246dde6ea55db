"""A τ-bench session: the package's tools over forked tables."""

from __future__ import annotations

import re
from typing import Any

from breakfall.worlds.gold.fork import Pristine, copied, fork_of
from breakfall.worlds.gold.session import Ran, parsed

_SMALL = 20
"""Tables of up to so many records are copied whole: telehealth's tools walk over them and write."""


class DataSession:
    """The package's tools over a private state.

    Args:
        tools: The tools by name.
        data: The loaded database; nobody may change it from then on.
        refusal: What an answer begins with that is a refusal.
    """

    def __init__(self, tools: dict[str, Any], data: dict[str, Any], refusal: re.Pattern[str]) -> None:
        self._tools = tools
        self._data = data
        self._refusal = refusal
        self._pristine = Pristine(data)

    def fork(self) -> DataSession:
        """Return a session of its own in this one's present state."""
        new = object.__new__(DataSession)
        new._tools, new._refusal, new._pristine = self._tools, self._refusal, self._pristine
        new._data = fork_of(self._data, _SMALL, {})
        return new

    def run(self, tool: str, arguments: dict[str, Any]) -> Ran:
        """Call a tool; its refusals are texts."""
        known = self._tools.get(tool)
        if known is None:
            return Ran(error=f"Unknown action {tool}")
        try:  # the tools put lists that they are given into the database
            text = known.invoke(data=self._data, **copied(arguments, {}))
        except Exception as error:
            return Ran(error=str(error) or type(error).__name__, exception=type(error).__name__)
        if type(text) is not str:  # a tool that fell off its end
            return Ran(text)
        if self._refusal.match(text):
            return Ran(error=text.removeprefix("Error: "), text=text)
        return Ran(parsed(text), text=text)

    def changes(self) -> dict[str, bytes]:
        """Return every record that differs from the loaded database, as ``table/key``."""
        return self._pristine.changes(self._data)
