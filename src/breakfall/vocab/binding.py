"""Bindings resolved: a plan's arguments from what the user stated and what earlier steps found."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct

from breakfall.vocab import pointer as pointers
from breakfall.vocab.task import Built, Condition, Found, Given


class Result(Struct, frozen=True):
    """What a step of the plan came to: the id of its call and the value that was shown."""

    call: str
    value: Any


class Unbound(LookupError):
    """A binding names something that is not there: a step that was passed over, or a field that is missing.

    `step` is the plan step whose result lacks it, None for a fact that nobody stated.
    """

    def __init__(self, message: str, step: str | None) -> None:
        super().__init__(message)
        self.step = step


class Resolver:
    """Resolves bindings against one task's facts and the results so far.

    Args:
        facts: What the user stated (`Task.facts`).
    """

    __slots__ = ("facts", "results")

    def __init__(self, facts: Mapping[str, Any]) -> None:
        self.facts = facts
        self.results: dict[str, Result] = {}

    def arguments(self, bound: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
        """Resolve arguments; the second value tells where found ones came from, by their place in the arguments.

        Places read like ``items/0/sku``; sources like ``<call id>#<JSON Pointer>``.

        Raises:
            Unbound: Something that a binding names is not there.
        """
        sources: dict[str, str] = {}
        return {name: self._value(value, name, sources) for name, value in bound.items()}, sources

    def holds(self, condition: Condition, read: dict[str, Any] | None = None) -> bool:
        """Whether a condition holds; one that names a step that was passed over does not.

        Args:
            condition: The condition.
            read: Takes in the found values that decided it, by where they came from.

        Raises:
            Unbound: A field that the condition compares is missing from a result.
        """
        left_sources: dict[str, str] = {}
        right_sources: dict[str, str] = {}
        try:
            left = self._value(condition.left, "", left_sources)
            right = self._value(condition.right, "", right_sources)
        except Unbound as error:
            if error.step is not None and error.step not in self.results:
                return False
            raise
        if read is not None:
            read |= dict.fromkeys(left_sources.values(), left) | dict.fromkeys(right_sources.values(), right)
        return _COMPARE[condition.is_](left, right)

    def _value(self, value: Any, where: str, sources: dict[str, str]) -> Any:
        kind = type(value)
        if kind is str or kind is int or kind is float or kind is bool or value is None:
            return value
        if kind is Found:
            return self._found(value, where, sources)
        if kind is Given:
            if value.name not in self.facts:
                raise Unbound(f"the user did not state {value.name!r}", None)
            return self.facts[value.name]
        if kind is dict:
            return {name: self._value(part, f"{where}/{name}", sources) for name, part in value.items()}
        if kind is list or kind is tuple:
            return [self._value(part, f"{where}/{index}", sources) for index, part in enumerate(value)]
        if kind is Built:
            parts = {name: self._value(part, f"{where}/{name}", sources) for name, part in value.parts.items()}
            return value.template.format(**parts)
        raise TypeError(f"{where or 'value'}: {kind.__name__} is neither a JSON value nor a binding")

    def _found(self, binding: Found, where: str, sources: dict[str, str]) -> Any:
        result = self.results.get(binding.step)
        if result is None:
            raise Unbound(f"step {binding.step!r} has no result", binding.step)
        text = binding.pointer
        if "{" in text:
            text = text.format(**self.facts)
        pointer = pointers.parse(text)
        try:
            value = pointers.get(result.value, pointer)
            sources[where] = f"{result.call}#{text if '[' not in text else pointers.concrete(result.value, pointer)}"
        except LookupError:
            raise Unbound(f"the result of step {binding.step!r} has nothing at {text!r}", binding.step) from None
        return value


def _ordered(compare: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    """Let values of types that have no order compare false: a corrupted read must not raise."""

    def holds(left: Any, right: Any) -> bool:
        try:
            return bool(compare(left, right))
        except TypeError:
            return False

    return holds


_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": _ordered(operator.lt),
    "<=": _ordered(operator.le),
    ">": _ordered(operator.gt),
    ">=": _ordered(operator.ge),
    "in": _ordered(lambda left, right: left in right),
    "not in": _ordered(lambda left, right: left not in right),
}
