"""The validator says what is wrong with a call, where, and for all problems at once."""

import pytest

from breakfall.vocab.schema import ArgumentSchema

SCHEMA = {
    "type": "object",
    "properties": {"amount": {"type": "number", "minimum": 0}, "to": {"type": "string"}, "items": {"type": "array"}},
    "required": ["amount", "to"],
    "additionalProperties": False,
}


def test_a_right_call_has_no_problem() -> None:
    """A valid call is valid, and has no problems to tell."""
    schema = ArgumentSchema(SCHEMA)
    assert schema.is_valid({"amount": 1, "to": "x"})
    assert schema.problems({"amount": 1, "to": "x"}) == []


def test_every_problem_is_told_with_its_place() -> None:
    """Several problems of one call are all told."""
    problems = ArgumentSchema(SCHEMA).problems({"amount": -3, "extra": 1})
    assert len(problems) == 3
    assert any(line.startswith("amount: ") for line in problems)
    assert any("to" in line and "required" in line for line in problems)
    assert any("extra" in line for line in problems)


def test_a_broken_schema_is_refused() -> None:
    """A schema that is none is an error at once, not at the first call."""
    with pytest.raises(ValueError, match="not a JSON Schema"):
        ArgumentSchema({"type": "objekt"})


def test_remote_references_are_not_followed() -> None:
    """A schema that points elsewhere is refused; nothing is fetched."""
    with pytest.raises(ValueError, match="not a JSON Schema"):
        ArgumentSchema({"$ref": "http://127.0.0.1:9/schema.json"})
