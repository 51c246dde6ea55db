"""The tool-call validator: is this call right, and if not, what is wrong, where, and what would be right?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jsonschema_rs


class ArgumentSchema:
    """The compiled JSON Schema of one tool's arguments (no remote references are followed).

    Raises:
        ValueError: The schema itself is broken; the message says where.
    """

    __slots__ = ("_validator", "is_valid", "schema")

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self.schema = dict(schema)
        try:
            self._validator = jsonschema_rs.validator_for(self.schema, validate_formats=True, offline=True)
        except (jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError, ValueError) as error:
            raise ValueError(f"not a JSON Schema: {str(error).splitlines()[0]}") from None
        self.is_valid = self._validator.is_valid

    def problems(self, arguments: Any) -> list[str]:
        """Return one line per problem, such as ``amount: -3 is less than the minimum of 0``; empty if right."""
        lines = []
        for error in self._validator.iter_errors(arguments):
            where = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in error.instance_path)
            lines.append(f"{where.lstrip('.') or 'arguments'}: {error.message}")
        return lines
