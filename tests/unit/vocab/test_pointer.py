"""Pointers name places in results, and edits copy only what lies on the way."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from breakfall.vocab import pointer

VALUE = {"orders": [{"id": "O1", "sum": 5}, {"id": "O2", "sum": 7}], "a/b": {"~": 1}}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


def places(value: object, at: str = "") -> list[str]:
    found = [at]
    if isinstance(value, dict):
        for name, part in value.items():
            found += places(part, f"{at}/{pointer.escape(name)}")
    elif isinstance(value, list):
        for index, part in enumerate(value):
            found += places(part, f"{at}/{index}")
    return found


@pytest.mark.parametrize(
    ("text", "expected"),
    [("", VALUE), ("/orders/1/sum", 7), ("/orders/[id=O2]/sum", 7), ("/a~1b/~0", 1), ("/orders/[sum=5]/id", "O1")],
)
def test_get(text: str, expected: object) -> None:
    """A pointer finds its place, by key, position or selector."""
    assert pointer.get(VALUE, pointer.parse(text)) == expected


@pytest.mark.parametrize("text", ["/orders/9", "/none", "/orders/[id=O9]", "/orders/0/sum/deeper"])
def test_nothing_there(text: str) -> None:
    """What is not there is a LookupError, never another value."""
    with pytest.raises(LookupError):
        pointer.get(VALUE, pointer.parse(text))


def test_must_start_with_a_slash() -> None:
    """A text that is no pointer is refused with what would be right."""
    with pytest.raises(ValueError, match="must be empty or start with '/'"):
        pointer.parse("orders")


def test_selector_becomes_a_position() -> None:
    """`concrete` turns a selector into the plain pointer that it came to."""
    assert pointer.concrete(VALUE, pointer.parse("/orders/[id=O2]/sum")) == "/orders/1/sum"


@given(JSON, st.data())
def test_replace_changes_one_place(value: object, data: st.DataObject) -> None:
    """After `replaced` the place holds the new value and the original is untouched."""
    before = json.dumps(value)
    place = pointer.parse(data.draw(st.sampled_from(places(value))))
    changed = pointer.replaced(value, place, "new")
    assert pointer.get(changed, place) == "new"
    assert json.dumps(value) == before


@given(JSON.filter(lambda v: isinstance(v, dict) and v), st.data())
def test_remove_takes_one_place_away(value: dict[str, object], data: st.DataObject) -> None:
    """After `removed` a key is gone and the original is untouched."""
    before = json.dumps(value)
    name = data.draw(st.sampled_from(sorted(value)))
    changed = pointer.removed(value, pointer.parse("/" + pointer.escape(name)))
    assert name not in changed
    assert json.dumps(value) == before


def test_overlap() -> None:
    """Two places overlap when one holds the other."""
    assert pointer.overlap("/a/b", "/a")
    assert pointer.overlap("", "/a")
    assert not pointer.overlap("/ab", "/a")
    assert not pointer.overlap("/a/b", "/a/c")
