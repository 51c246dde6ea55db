"""Look with a function of one's own: another tool that reads what the write did."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from breakfall.errors import UsageError
from breakfall.runtime.verifiers import template
from breakfall.runtime.verifiers.claim import Claim, Look, Looking, Verifier
from breakfall.vocab import Ok, Predicate


def function(
    call: Callable[..., Any] | str,
    *,
    arguments: Mapping[str, Any] | None = None,
    predicates: Sequence[Predicate] = (),
    absent: bool = False,
) -> Verifier:
    """Make a verifier that calls a function; where it returns None there is nothing.

    Args:
        call: The function, or where it is: ``package.module:name``.
        arguments: What it is called with, by name, with gaps; the arguments of the write, if left out.
        predicates: What must hold of what it returns.
        absent: The write was to remove it.

    Raises:
        UsageError: There is no such function.
    """
    found = imported(call) if isinstance(call, str) else call
    name = call if isinstance(call, str) else getattr(call, "__name__", repr(call))

    def ask(claim: Claim) -> dict[str, Any]:
        return dict(claim.arguments) if arguments is None else template.fill_value(dict(arguments), claim)

    def look(claim: Claim, looking: Looking) -> Look:
        wanted = template.fill_predicates(predicates, claim)
        try:
            value = found(**looking.asked)
        except Exception as error:  # it is somebody's own code: a look that fails tells nothing
            return looking.cannot_tell(f"{name} raised {type(error).__name__}: {error}", name=type(error).__name__)
        if value is None:
            return looking.nothing(f"{name} finds nothing", absent=absent, outcome=Ok(value=None))
        return looking.there(value, wanted, absent=absent)

    return Verifier(name, ask, look)


def imported(where: str) -> Callable[..., Any]:
    """Import a function by name.

    Raises:
        UsageError: There is none.
    """
    module, colon, name = where.partition(":")
    if not (module and colon and name):
        raise UsageError(f"{where!r} names no function; write 'package.module:name'")
    try:
        found = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise UsageError(f"{where!r} cannot be imported: {error}") from None
    if not callable(found):
        raise UsageError(f"{where!r} is {type(found).__name__}, which cannot be called")
    return found  # type: ignore[no-any-return]
