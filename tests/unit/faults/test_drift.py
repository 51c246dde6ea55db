from __future__ import annotations

from msgspec.structs import replace
from tests.unit.faults.shop import arguments, tools

from breakfall.faults.drift import Drift, drift
from breakfall.seeds import stream

SEEDS = range(80)
ORDER = tools()["get_order"]


def drawn(tool, given):
    return [drift(tool, given, stream(seed)) for seed in SEEDS]


def test_only_what_is_there_is_renamed():
    """A renamed argument is one that the call has and the tool requires; its new name is free."""
    refund = tools()["refund"]
    changes = drawn(refund, {"order_id": "O1", "amount": 2.0})
    assert {change.old for change in changes} == {"order_id", None}
    assert {change.new for change in changes if change.old} == {"orderId", "order_ref", "target_order_id"}


def test_optional_arguments_may_be_renamed():
    """Where the tool requires none, an optional one that the call has is renamed."""
    tool = replace(ORDER, parameters={"properties": {"limit": {"type": "integer"}}})
    assert {change.old for change in drawn(tool, {"limit": 3})} == {"limit", None}
    assert {change.old for change in drawn(tool, {})} == {None}


def test_new_names_are_free():
    """No new name is one that the tool or the call already uses."""
    names = ("order_id", "orderId", "order_ref", "target_order_id", "region", "channel", "api_version", "locale")
    tool = replace(ORDER, parameters=arguments(*names))
    for change in drawn(tool, {"order_id": "O1"}):
        assert change.new not in names
    taken = dict.fromkeys((*names, "region_2"), "x")
    assert {change.new for change in drawn(replace(ORDER, parameters={}), taken)} == {"region_3"}


def test_translation():
    """Arguments in the new form become those of the real tool; those in the old form do not pass."""
    renamed = Drift(new="order_ref", old="order_id")
    assert renamed.translated({"order_ref": "O1", "amount": 2}) == {"order_id": "O1", "amount": 2}
    assert renamed.translated({"order_ref": "O1", "order_id": "O2"}) == {"order_id": "O1"}
    assert renamed.translated({"order_id": "O1"}) is None
    required = Drift(new="region", values=("eu",))
    assert required.translated({"order_id": "O1", "region": "eu"}) == {"order_id": "O1"}
    assert required.translated({"region": "eu"}) == {}
    assert required.translated({}) is None
