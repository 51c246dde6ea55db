"""A τ² session: the package's own environment over a forked database."""

from __future__ import annotations

import json
from typing import Any

from breakfall.worlds.gold.fork import Pristine, copied, fork_of, jsonable
from breakfall.worlds.gold.session import Ran, parsed

_SMALL = 20
"""Tables of up to so many records are copied whole when an episode opens."""

_KITS = ("tools", "user_tools")


class Tau2Session:
    """The package's tools over a private state.

    Args:
        environment: The package's environment; it belongs to the session. What its databases hold now is what
            they are compared with later.
    """

    def __init__(self, environment: Any) -> None:
        self.environment = environment
        kits = {name: kit for name in _KITS if (kit := getattr(environment, name)) is not None}
        self._kits = kits
        self._owner = {tool: name for name, kit in kits.items() for tool in kit.tools}
        self._pristine = {name: Pristine(kit.db) for name, kit in kits.items()}
        self._dated = any('"format": "date' in json.dumps(type(kit.db).model_json_schema()) for kit in kits.values())

    def fork(self) -> Tau2Session:
        """Return a session of its own in this one's present state."""
        new = object.__new__(Tau2Session)
        new.environment = object.__new__(type(self.environment))
        vars(new.environment).update(vars(self.environment))
        new._kits = {name: _forked(kit) for name, kit in self._kits.items()}
        vars(new.environment).update(new._kits)
        new._owner, new._pristine, new._dated = self._owner, self._pristine, self._dated
        return new

    def run(self, tool: str, arguments: dict[str, Any]) -> Ran:
        """Call a tool, the user's too; the package then lets the user's device follow the line."""
        try:
            result = getattr(self._kits[self._owner[tool]], tool)(**arguments)
            self.environment.sync_tools()
        except Exception as error:
            return Ran(error=str(error) or type(error).__name__, exception=type(error).__name__, text=f"Error: {error}")
        if type(result) is str:
            return Ran(parsed(result), text=result)
        text = self.environment.to_json_str(result) if self._dated or type(result) is dict else None
        return Ran(jsonable(result), text=text)

    def changes(self) -> dict[str, bytes]:
        """Return every record that differs from the initial state, as ``kit/table/key``."""
        found = {}
        for name, kit in self._kits.items():
            changed = self._pristine[name].changes(kit.db)
            found.update({f"{name}/{place}": form for place, form in changed.items()})
        return found

    def requestor(self, tool: str) -> str:
        """Return who calls a tool in τ²: the assistant or the user."""
        return "user" if self._owner[tool] == "user_tools" else "assistant"


def text_of(ran: Ran) -> str:
    """Return an answer as τ² writes it into a tool message."""
    return json.dumps(ran.value) if ran.text is None else ran.text


def _forked(kit: Any) -> Any:
    memo: dict[int, Any] = {}
    new = object.__new__(type(kit))
    fields = vars(new)
    for name, value in vars(kit).items():
        fields[name] = fork_of(value, _SMALL, memo) if name == "db" else copied(value, memo)
    return new
