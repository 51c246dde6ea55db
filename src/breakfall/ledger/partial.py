"""Answers that say themselves that only a part was done, or is shown."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_MARKS = frozenset({
    "incompleteresults", "incomplete", "partial", "ispartial", "partialsuccess", "partialresult", "partialresults",
    "partialfailure", "truncated", "istruncated",
})  # fmt: skip
"""Fields that say, when true, that something is missing."""
_DONE = frozenset({
    "succeeded", "successful", "successes", "successcount", "succeededcount", "numsucceeded", "processed", "created",
    "inserted", "updated", "deleted", "sent", "delivered", "applied", "accepted", "imported",
})  # fmt: skip
_UNDONE = frozenset({
    "failed", "failures", "failedcount", "failurecount", "numfailed", "rejected", "unprocessed", "errored",
    "undelivered", "bounced", "unprocesseditems", "unprocessedkeys", "failedentries", "failedrecordcount",
    "failedentrycount",
})  # fmt: skip
_COUNTED = frozenset({
    "succeeded", "successcount", "succeededcount", "numsucceeded", "processed", "created", "inserted", "sent",
    "delivered", "accepted", "imported",
})  # fmt: skip
"""Of `_DONE`, those that count everything that was asked for: an update may find some as they should be."""
_ALONE = frozenset({"unprocessed", "unprocesseditems", "unprocessedkeys", "failedentries", "failedrecordcount",
                    "failedentrycount"})  # fmt: skip
"""Of `_UNDONE`, those that need nothing done beside them to be read so."""
_ITEMS = 10_000


def partial_read(value: Any, status: int | None = None) -> str | None:
    """Return what shows that an answer is incomplete, or None.

    Args:
        value: The answer.
        status: HTTP status, where it is known.
    """
    if status == 206:
        return "it is HTTP 206: partial content"
    if not isinstance(value, dict):
        return None
    marked = next((name for name, part in value.items() if part is True and _plain(name) in _MARKS), None)
    if marked is not None:
        return f"the answer says that it is incomplete: `{marked}` is true"
    if isinstance(value.get("errors"), list) and value["errors"] and value.get("data") is not None:
        return "the answer has errors beside its data"
    return None


def partial_write(value: Any, arguments: Mapping[str, Any]) -> str | None:
    """Return what shows that a write did only a part of what it was to do, or None.

    Args:
        value: What it answered.
        arguments: What it was called with.
    """
    found = partial_read(value)
    if found is not None or not isinstance(value, dict | list):
        return found
    if isinstance(value, list):
        return _failed_items("the answer", value)
    named = {_plain(name): name for name in value}
    undone = next((name for plain, name in named.items() if plain in _UNDONE and _some(value[name])), None)
    if undone is not None and (_plain(undone) in _ALONE or not _DONE.isdisjoint(named)):
        return f"the answer has {_count(value[undone])} under `{undone}`"
    for name, part in value.items():
        found = _failed_items(f"`{name}`", part) if isinstance(part, list) else None
        if found is not None:
            return found
    return _fewer(value, named, arguments)


def _fewer(value: Mapping[str, Any], named: Mapping[str, str], arguments: Mapping[str, Any]) -> str | None:
    """Find a count of what was done that is below the length of the one list that was asked for."""
    lists = [part for part in arguments.values() if isinstance(part, list)]
    done = [name for plain, name in named.items() if plain in _COUNTED and type(value[name]) is int]
    if len(lists) == 1 and len(done) == 1 and 0 <= value[done[0]] < len(lists[0]):
        return f"`{done[0]}` is {value[done[0]]} of {len(lists[0])}"
    return None


def _failed_items(where: str, items: list[Any]) -> str | None:
    """Find items of a batch that failed while others did not."""
    shown = [item for item in items[:_ITEMS] if isinstance(item, dict)]
    failed = sum(map(_failed, shown))
    return f"{failed} of {len(items)} items of {where} failed" if failed else None


def _failed(item: Mapping[str, Any]) -> bool:
    status = item.get("status", item.get("statusCode", item.get("code")))
    if type(status) is int and 400 <= status <= 599:
        return True
    if item.get("ok") is False or item.get("success") is False:
        return True
    return bool(item.get("error")) and isinstance(item.get("error"), str | dict)


def _some(value: Any) -> bool:
    return bool(value) and isinstance(value, int | list | dict) and not isinstance(value, bool)


def _count(value: Any) -> str:
    return str(value if isinstance(value, int) else len(value))


def _plain(name: str) -> str:
    return name.replace("_", "").replace("-", "").casefold()
