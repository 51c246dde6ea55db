"""Texts with gaps that a claim fills: ``{number}`` is an argument of the write, ``{/id}`` a part of its answer."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from breakfall.errors import UsageError
from breakfall.runtime.verifiers.claim import Claim, Unfilled
from breakfall.vocab import Predicate
from breakfall.vocab import pointer as pointers

_GAP = re.compile(r"\{(?P<name>/[^{}]*|[A-Za-z_][\w.\-]*)\}")


def check(text: str, where: str) -> None:
    """Refuse a brace that is no gap.

    Raises:
        UsageError: There is one.
    """
    if "{" in _GAP.sub("", text) or "}" in _GAP.sub("", text):
        raise UsageError(
            f"{where} is {text!r}; write {{name}} for an argument and {{/pointer}} for a part of the answer"
        )


def fill(text: str, claim: Claim, quote: Callable[[str], str] | None = None) -> str:
    """Fill a text.

    Args:
        text: The template.
        claim: What fills it.
        quote: Makes a value harmless where it goes.

    Raises:
        Unfilled: The claim lacks something, or has an object or a list where a text is wanted.
    """
    same = quote or (lambda value: value)
    return _GAP.sub(lambda found: same(_text(_named(found["name"], claim), found["name"])), text)


def fill_value(value: Any, claim: Claim) -> Any:
    """Fill a JSON value; a text that is one gap and nothing else becomes the value itself, with its type.

    Raises:
        Unfilled: The claim lacks something.
    """
    if isinstance(value, str):
        whole = _GAP.fullmatch(value)
        return fill(value, claim) if whole is None else _named(whole["name"], claim)
    if isinstance(value, dict):
        return {name: fill_value(part, claim) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [fill_value(part, claim) for part in value]
    return value


def fill_predicates(predicates: Sequence[Predicate], claim: Claim) -> list[Predicate]:
    """Fill predicates: the values that they compare with, and the places that they look at.

    Raises:
        Unfilled: The claim lacks something.
    """
    return [
        msgspec.structs.replace(one, at=fill(one.at, claim, pointers.escape), value=fill_value(one.value, claim))
        for one in predicates
    ]


def _named(name: str, claim: Claim) -> Any:
    if name.startswith("/"):
        try:
            return pointers.get(claim.value, pointers.parse(name))
        except LookupError:
            raise Unfilled(f"the answer of {claim.tool} has nothing at {name}") from None
    if name not in claim.arguments:
        raise Unfilled(f"{claim.tool} was called without {name!r}")
    return claim.arguments[name]


def _text(value: Any, name: str) -> str:
    if isinstance(value, dict | list) or value is None:
        raise Unfilled(f"{name!r} is {type(value).__name__}, which is no text")
    return str(value).lower() if isinstance(value, bool) else str(value)
