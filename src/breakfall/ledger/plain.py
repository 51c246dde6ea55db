"""Python values in JSON form, whole: what JSON cannot say becomes its text."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from typing import Any

import msgspec

_SAME = frozenset({bool, type(None)})
_INTEGERS = range(-(2**63), 2**64)
"""What the encoder takes; a longer integer becomes its digits."""


def plain(value: Any) -> Any:
    """Return a value in JSON form, sharing nothing with it that can change.

    Objects become what msgspec makes of them (data classes, dates, enumerations, …), what their ``model_dump`` or
    ``tolist`` returns, or their `repr`; sets become sorted lists. NaN and infinities become their names, because JSON
    would make them null.
    """
    try:
        return _plain(value)
    except Exception:  # it holds itself, or what it is asked for fails: recording must not break the call
        return _shown(value)


def _plain(value: Any) -> Any:
    kind = type(value)
    if kind in _SAME:
        return value
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, int | float):
        return _number(value)
    if kind is dict or isinstance(value, Mapping):
        return {_name(key): _plain(item) for key, item in value.items()}
    if kind is list or kind is tuple:
        return [_plain(item) for item in value]
    if isinstance(value, set | frozenset):
        return sorted((_plain(item) for item in value), key=msgspec.json.encode)
    return _object(value)


def _object(value: Any) -> Any:
    try:
        for method, arguments in (("model_dump", {"mode": "json"}), ("tolist", {})):
            dump = getattr(value, method, None)
            if callable(dump) and not isinstance(value, type):
                return _plain(dump(**arguments))
        built = msgspec.to_builtins(value, str_keys=True, enc_hook=_shown, order="deterministic")
    except Exception:
        return _shown(value)
    return built if isinstance(built, str) else _plain(built)


def _text(value: str) -> str:
    text = str.__str__(value)
    if text.isascii():
        return text
    return text.encode("utf-8", "backslashreplace").decode()  # a lone surrogate is no text


def _number(value: float) -> Any:
    if isinstance(value, int):
        whole = int(value)
        return whole if whole in _INTEGERS else str(whole)
    number = float(value)
    return number if isfinite(number) else str(number)


def _name(key: Any) -> str:
    """Return a key as JSON has keys: text."""
    if isinstance(key, str):
        return _text(key)
    made = _plain(key)
    return made if isinstance(made, str) else msgspec.json.encode(made).decode()


def _shown(value: Any) -> str:
    try:
        return _text(repr(value))
    except Exception:  # a broken `__repr__` is no reason to lose the step
        return f"<{type(value).__qualname__}>"
