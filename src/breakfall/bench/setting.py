"""Settings of a run for which there is no flag: `--set key=value`, decoded strictly."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from breakfall.errors import UsageError, unknown_name
from breakfall.runtime.toolbox import Limits

_LIMIT = "limits."
_TYPES: dict[str, Any] = {
    "condition": Annotated[str, Meta(min_length=1)],
    "memory": Annotated[str, Meta(min_length=1)],
    "limits.calls": Annotated[int, Meta(ge=1, le=100_000)],
    "limits.seconds": Annotated[float, Meta(gt=0, le=1e9)],
    "limits.wall_s": Annotated[float, Meta(gt=0, le=86_400)],
}
"""What each key takes."""


def read(pairs: Iterable[str]) -> dict[str, Any]:
    """Read `key=value` texts into the fields of a `Spec` that they set.

    Raises:
        UsageError: A key does not exist, stands twice, or its value is not what it takes.
    """
    values: dict[str, Any] = {}
    for pair in pairs:
        key, equals, text = (part.strip() for part in pair.partition("="))
        if key not in _TYPES:
            raise unknown_name("setting", key, _TYPES, "--set KEY=VALUE")
        if key in values:
            raise UsageError(f"--set {key} is given twice; once is enough")
        try:
            values[key] = msgspec.convert(text if equals else "", _TYPES[key], strict=False)
        except msgspec.ValidationError as error:
            raise UsageError(f"--set {key} is {text!r}: {error}") from None
    fields: dict[str, Any] = {}
    if "condition" in values:
        fields["conditions"] = tuple(part.strip() for part in values["condition"].split(",") if part.strip())
    if "memory" in values:
        fields["memory"] = values["memory"]
    limits = {key.removeprefix(_LIMIT): value for key, value in values.items() if key.startswith(_LIMIT)}
    return {**fields, "limits": Limits(**limits)} if limits else fields


def written(conditions: tuple[str, ...], memory: str, limits: Limits) -> list[str]:
    """Return the words of a command line that `read` reads these fields from; what is as always is left out."""
    pairs = [f"condition={','.join(conditions)}"] if conditions else []
    pairs += [f"memory={memory}"] if memory else []
    usual = Limits()
    pairs += [
        f"{_LIMIT}{name}={getattr(limits, name)}"
        for name in Limits.__struct_fields__
        if getattr(limits, name) != getattr(usual, name)
    ]
    return [word for pair in pairs for word in ("--set", pair)]
