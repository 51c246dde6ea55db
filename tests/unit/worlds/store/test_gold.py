"""The gold run refuses a plan that a tool refuses."""

import pytest
from msgspec.structs import replace

from breakfall.errors import RunError
from breakfall.worlds.store.gold import expectations


def test_a_plan_that_is_refused_is_an_error(world):
    """A plan whose call a tool refuses is named with its task and step."""
    task = next(task for task in world.tasks("train", 60) if task.template == "stock_check")
    with pytest.raises(RunError, match=r"step stock: get_stock refused .*variant_not_found"):
        expectations(replace(task, facts={"sku": "nothing"}), None, ())


def test_the_data_hash_names_the_data(world):
    """The data hash is 128 bits in hexadecimal and the same each time."""
    assert world.data_hash() == type(world)().data_hash()
    assert len(bytes.fromhex(world.data_hash())) == 16
