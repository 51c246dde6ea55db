"""JSON Pointers (RFC 6901) into results, with one addition: ``[field=value]`` selects an item of a list."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, TypeAlias

Selector: TypeAlias = tuple[str, str]
Part: TypeAlias = str | Selector
Pointer: TypeAlias = tuple[Part, ...]


@lru_cache(maxsize=65536)
def parse(text: str) -> Pointer:
    """Parse a pointer such as ``/items/0/sku`` or ``/orders/[order_id=O17]/status``; "" is the whole value.

    Raises:
        ValueError: The text is neither empty nor starts with a slash.
    """
    if not text:
        return ()
    if text[0] != "/":
        raise ValueError(f"pointer {text!r} must be empty or start with '/'")
    parts: list[Part] = []
    for raw in text[1:].split("/"):
        part = raw.replace("~1", "/").replace("~0", "~")
        if part.startswith("[") and part.endswith("]") and "=" in part:
            name, _, value = part[1:-1].partition("=")
            parts.append((name, value))
        else:
            parts.append(part)
    return tuple(parts)


def escape(part: str) -> str:
    """Escape one part of a pointer."""
    return part.replace("~", "~0").replace("/", "~1")


def _key(container: Any, part: Part) -> Any:
    """Return the key or index in `container` that `part` names."""
    if isinstance(container, dict) and isinstance(part, str) and part in container:
        return part
    if isinstance(container, list):
        if isinstance(part, tuple):
            name, value = part
            for index, item in enumerate(container):
                if isinstance(item, dict) and name in item and str(item[name]) == value:
                    return index
        elif part.isdigit() and int(part) < len(container):
            return int(part)
    raise LookupError(f"nothing at {part!r} in {type(container).__name__}")


def get(value: Any, pointer: Pointer) -> Any:
    """Return what `pointer` names.

    Raises:
        LookupError: There is nothing there.
    """
    for part in pointer:
        if type(value) is dict and part in value:  # the common case, without a call
            value = value[part]
        else:
            value = value[_key(value, part)]
    return value


def concrete(value: Any, pointer: Pointer) -> str:
    """Return the plain JSON Pointer that `pointer` comes to in `value`, selectors turned into positions.

    Raises:
        LookupError: There is nothing there.
    """
    out = []
    for part in pointer:
        key = _key(value, part)
        out.append("/" + escape(str(key)))
        value = value[key]
    return "".join(out)


def replaced(value: Any, pointer: Pointer, new: Any) -> Any:
    """Return `value` with `new` at `pointer`; only what lies on the way is copied."""
    if not pointer:
        return new
    key = _key(value, pointer[0])
    copy = value.copy()
    copy[key] = replaced(value[key], pointer[1:], new)
    return copy


def removed(value: Any, pointer: Pointer) -> Any:
    """Return `value` without what `pointer` names; only what lies on the way is copied."""
    key = _key(value, pointer[0])
    copy = value.copy()
    if len(pointer) == 1:
        del copy[key]
    else:
        copy[key] = removed(value[key], pointer[1:])
    return copy


def overlap(a: str, b: str) -> bool:
    """Whether one plain pointer names a part of what the other names."""
    return a == b or not a or not b or a.startswith(b + "/") or b.startswith(a + "/")
