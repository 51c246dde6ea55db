"""Look up what journalled writes did, with the readers that their tools name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from breakfall.errors import UsageError
from breakfall.runtime.declare import Declared
from breakfall.runtime.journal import Entry, Send
from breakfall.vocab import Applied, Settlement
from breakfall.vocab.tool import Judge


class Lookups:
    """Asks the readers of declared tools.

    Args:
        tools: The tools by name.
        agreeing: How many readings must say "not applied" before it is believed.
    """

    def __init__(self, tools: Mapping[str, Declared[Any, Any]], agreeing: int) -> None:
        self._tools = tools
        self._agreeing = agreeing

    def look_up(self, entry: Entry, send: Send) -> Settlement | None:
        """Look up what one send did; None where its tool has no reader.

        Raises:
            UsageError: The reader is async.
        """
        del entry
        found = self._reader(send)
        if found is None:
            return None
        reader, judge, arguments = found
        if reader.is_async:
            raise UsageError(f"the reader {reader.spec.name!r} is async: await `areconcile` instead of `reconcile`")
        return _agreed([judge(reader.run(arguments), send.arguments, send.at_s) for _ in range(self._agreeing)])

    async def alook_up(self, entry: Entry, send: Send) -> Settlement | None:
        """Do what `look_up` does, with readers of either colour."""
        del entry
        found = self._reader(send)
        if found is None:
            return None
        reader, judge, arguments = found
        said = []
        for _ in range(self._agreeing):
            value = reader.run(arguments)
            said.append(judge(await value if reader.is_async else value, send.arguments, send.at_s))
        return _agreed(said)

    def _reader(self, send: Send) -> tuple[Declared[Any, Any], Judge, dict[str, Any]] | None:
        declared = self._tools.get(send.tool)
        reader = declared.spec.reader if declared is not None else None
        arguments = reader.arguments(send.arguments, {}) if reader is not None else None
        if reader is None or arguments is None:
            return None
        return self._tools[reader.tool], reader.judge, arguments


def _agreed(said: list[Settlement]) -> Settlement:
    """Believe "applied" from one reading, "not applied" only from all."""
    for wanted in (Applied.YES, Applied.UNKNOWN):
        for one in said:
            if one.applied is wanted:
                return one
    return said[0]
