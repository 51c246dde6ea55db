"""The two drivers of a flow: the only sync and async twins in the program."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from breakfall.runtime.wants import Flow, Reply, Want
from breakfall.vocab import Outcome


def drive(flow: Flow, perform: Callable[[Want], Reply]) -> Outcome:
    """Run a flow to its end, doing what it wants with `perform`."""
    try:
        want = next(flow)
        while True:
            want = flow.send(perform(want))
    except StopIteration as stop:
        outcome: Outcome = stop.value
        return outcome
    finally:
        flow.close()


async def adrive(flow: Flow, perform: Callable[[Want], Awaitable[Reply]]) -> Outcome:
    """Run a flow to its end, awaiting `perform` for what it wants."""
    try:
        want = next(flow)
        while True:
            want = flow.send(await perform(want))
    except StopIteration as stop:
        outcome: Outcome = stop.value
        return outcome
    finally:
        flow.close()
