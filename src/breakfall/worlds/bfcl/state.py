"""Instances of BFCL's classes: private copies, what changed in them, and what a call of a method came to."""

from __future__ import annotations

import decimal
import importlib
import json
import math
import random
import re
from datetime import datetime
from inspect import signature
from typing import Any

from msgspec import Struct

from breakfall.worlds.bfcl.package import MATH, Package

_ATOMS = frozenset({str, int, float, bool, type(None), datetime})
_PLAIN = frozenset({str, int, bool, type(None)})
_NO_STATE = frozenset({"_random", "_api_description", "_flight_cost_lookup", "long_context"})


class Ran(Struct, frozen=True):
    """What a method came to: its value as JSON, BFCL's text of it, and what it refused with."""

    value: Any
    text: str
    error: str | None = None
    exception: str | None = None


def load(package: Package, name: str, config: dict[str, Any], long_context: bool) -> Any:
    """Build one class's instance in a task's initial state; it shares nothing with the package's module state."""
    instance = package.apis[name]()
    if name != MATH:
        instance._load_scenario(copied(config, {}), long_context=long_context)
    return clone(instance)


def clone(instance: Any) -> Any:
    """Copy an instance whole, its generator included."""
    memo: dict[int, Any] = {}
    new = object.__new__(type(instance))
    new.__dict__.update({name: copied(value, memo) for name, value in vars(instance).items()})
    return new


def copied(value: Any, memo: dict[int, Any]) -> Any:
    """Copy a value of an instance's state; what it holds twice stays one thing (files that folders share)."""
    kind = type(value)
    if kind in _ATOMS:
        return value
    known = memo.get(id(value))
    if known is not None:
        return known
    new: Any
    if kind is dict:
        new = memo[id(value)] = {}
        for key, item in value.items():
            new[key] = item if type(item) in _ATOMS else copied(item, memo)
    elif kind is list:
        new = memo[id(value)] = []
        new.extend([item if type(item) in _ATOMS else copied(item, memo) for item in value])
    elif kind is random.Random:
        new = memo[id(value)] = random.Random.__new__(random.Random)
        new.setstate(value.getstate())
    elif kind is set or kind is tuple:
        new = kind(value)
    else:
        new = memo[id(value)] = object.__new__(kind)
        for key, item in vars(value).items():
            new.__dict__[key] = copied(item, memo)
    return new


def frozen(instance: Any) -> Any:
    """Return what an instance holds in a form that can be compared later; texts are shared, not copied."""
    parts: dict[str, Any] = {}
    for name, value in vars(instance).items():
        if name == "_current_dir":
            parts[name] = folder_of(instance)
        elif name not in _NO_STATE:
            parts[name] = value if type(value) in _ATOMS else _frozen(value, ())
    return parts


def _frozen(value: Any, above: tuple[int, ...]) -> Any:
    kind = type(value)
    if kind is dict:
        return [(key, item if type(item) in _ATOMS else _frozen(item, above)) for key, item in value.items()]
    if kind is list:
        return [item if type(item) in _ATOMS else _frozen(item, above) for item in value]
    if kind is set or kind is tuple:
        return kind(value)
    if id(value) in above:  # a folder that was copied into itself
        return "…"
    inside = (*above, id(value))
    return [
        item if type(item) in _ATOMS else _frozen(item, inside)
        for name, item in vars(value).items()
        if name != "parent" and name != "_last_modified"
    ]


def folder_of(instance: Any) -> str:
    """Return the folder that a file system stands in; "" for the other classes."""
    folder = vars(instance).get("_current_dir")
    names: list[str] = []
    while folder is not None and len(names) < 100:
        names.append(folder.name)
        folder = folder.parent
    return "/".join(reversed(names))


def run(instance: Any, method: str, arguments: dict[str, Any]) -> Ran:
    """Call a method by name with parsed arguments; whatever it does becomes a value.

    Lists that the package gives as defaults are passed afresh, because its methods store and change them.
    """
    function = getattr(instance, method)
    given = copied(arguments, {})
    for name, default in _shared_defaults(function):
        given.setdefault(name, list(default))
    try:
        if type(instance).__name__ == MATH:
            with decimal.localcontext(), importlib.import_module("mpmath").workdps(15):  # its methods set both
                return _ran(function(**given))
        return _ran(function(**given))
    except Exception as error:
        message = str(error)
        return Ran(
            None,
            f"Error during execution: {message}",
            _settled(message) or type(error).__name__,
            type(error).__name__,
        )


def _ran(result: Any) -> Ran:
    value = jsonable(result)
    return Ran(value, text_of(result), _refusal(value))


def text_of(result: Any) -> str:
    """Write a result as BFCL's executor does for its response checker."""
    if isinstance(result, str):
        return result
    if isinstance(result, dict):
        try:
            return json.dumps(result)
        except (TypeError, ValueError):
            return str(result)
    return str(result)


def jsonable(value: Any) -> Any:
    """Return a private copy of a result as JSON: decimals become floats, what JSON cannot hold becomes text."""
    kind = type(value)
    if kind in _PLAIN:
        return value
    if kind is float:
        return value if math.isfinite(value) else str(value)
    if kind is dict:
        return {
            key if type(key) is str else str(key): item if type(item) in _PLAIN else jsonable(item)
            for key, item in value.items()
        }
    if kind is list or kind is tuple:
        return [
            item if type(item) in _PLAIN or (type(item) is float and math.isfinite(item)) else jsonable(item)
            for item in value
        ]
    if kind is set:
        return sorted(jsonable(item) for item in value)
    if hasattr(value, "__float__"):
        return jsonable(float(value))
    return str(value)


def _refusal(value: Any) -> str | None:
    """Return the message of a value that stands for an error, in each form that the classes use."""
    if type(value) is list and len(value) == 1:
        (value,) = value
        if type(value) is str and value.startswith("Error:"):
            return value.removeprefix("Error:").strip()
    if type(value) is dict and "error" in value:
        return _settled(str(value["error"]))
    return None


_SET = re.compile(r"\{('[^{}]*')\}|(?<=Invalid fields for update: )(.*)")


def _settled(message: str) -> str:
    """Sort the sets that some messages spell out: their order would differ from process to process."""

    def ordered(match: re.Match[str]) -> str:
        inner = match[1] or match[2]
        parts = ", ".join(sorted(inner.split(", ")))
        return "{" + parts + "}" if match[1] else parts

    return _SET.sub(ordered, message)


_DEFAULTS: dict[Any, tuple[tuple[str, list[Any]], ...]] = {}


def _shared_defaults(function: Any) -> tuple[tuple[str, list[Any]], ...]:
    """List the parameters whose default is a list that every call would share."""
    key = function.__func__
    if key not in _DEFAULTS:
        _DEFAULTS[key] = tuple(
            (name, parameter.default)
            for name, parameter in signature(function).parameters.items()
            if isinstance(parameter.default, list)
        )
    return _DEFAULTS[key]
