"""Any Python value has a JSON form that says all that JSON can say of it."""

from __future__ import annotations

import datetime
import decimal
import enum

import msgspec
import numpy as np
import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st

from breakfall.ledger.plain import plain

ANY = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters(codec=None, categories=None))
    | st.binary(max_size=4)
    | st.datetimes()
    | st.decimals()
    | st.complex_numbers(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.tuples(inner)
        | st.frozensets(st.text() | st.integers(), max_size=3)
        | st.dictionaries(
            st.text() | st.integers() | st.floats() | st.tuples(st.integers()) | st.none(), inner, max_size=3
        )
    ),
    max_leaves=8,
)


@given(ANY)
def test_every_value_can_be_written_and_comes_back(value):
    """Encoding never fails and loses nothing: no NaN turned null, no surrogate, no integer too long."""
    made = plain(value)
    assert msgspec.json.decode(msgspec.json.encode(made)) == made


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(JSON)
def test_json_stays_as_it_is(value):
    """A value in JSON form is its own JSON form."""
    assert plain(value) == value


class Colour(enum.Enum):
    RED = "red"


class Count(int):
    pass


class Model(pydantic.BaseModel):
    at: datetime.date


class Broken:
    def __repr__(self):
        raise RuntimeError("no")


class Refusing:
    """It has a `model_dump` of another kind."""

    def model_dump(self):
        raise RuntimeError("no")

    def __repr__(self):
        return "Refusing()"


class Shy(dict):
    """It does not tell what it holds."""

    def items(self):
        raise RuntimeError("no")


@pytest.mark.parametrize(
    ("value", "made"),
    [
        (Colour.RED, "red"),
        (Count(3), 3),
        (Model(at=datetime.date(2024, 5, 1)), {"at": "2024-05-01"}),
        (np.array([1.5, float("inf")]), [1.5, "inf"]),
        (np.float32(0.5), 0.5),
        (decimal.Decimal("1.10"), "1.10"),
        ({1: "a", None: "b", (1, 2): "c"}, {"1": "a", "null": "b", "[1,2]": "c"}),
        ({"b", "a"}, ["a", "b"]),
        ("\ud800", "\\ud800"),
        (Broken(), "<Broken>"),
        ([Refusing(), 1], ["Refusing()", 1]),
        (Shy(a=1), "{'a': 1}"),
        (2**64, "18446744073709551616"),
    ],
)
def test_forms(value, made):
    """What JSON cannot say becomes its text."""
    assert plain(value) == made
    assert type(plain(value)) is type(made)


def test_a_value_that_holds_itself_becomes_its_text():
    """A cycle does not end the program."""
    ring: list = [1]
    ring.append(ring)
    assert plain(ring) == "[1, [...]]"
