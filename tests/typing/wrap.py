"""Checked by mypy and never run: a guarded function keeps the signature and the colour of the function."""

from typing import assert_type

from breakfall import Toolbox, tool


@tool("read")
def status(order_id: str, *, deep: bool = False) -> dict[str, int]:
    """Stand for a sync read."""
    return {order_id: int(deep)}


@tool("read")
async def parcel(order_id: str) -> list[str]:
    """Stand for an async read."""
    return [order_id]


box = Toolbox(status, parcel)
assert_type(box[status]("O1", deep=True), dict[str, int])
assert_type(status("O1"), dict[str, int])
box[status](17)  # type: ignore[arg-type]
box[status]("O1", depth=1)  # type: ignore[call-arg]


async def awaited() -> None:
    """Await the guarded read."""
    assert_type(await box[parcel]("O1"), list[str])
    await box[parcel]()  # type: ignore[call-arg]
