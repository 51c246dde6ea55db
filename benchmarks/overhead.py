"""What recovery adds to a healthy call, beside tenacity and stamina, in one run.

    python benchmarks/overhead.py [--json]

The bare call is an async (or sync) function that returns a small dict. Each figure is the median over rounds of the
mean of many calls, less the bare call's; the spread is the middle half of the rounds.
"""

from __future__ import annotations

import asyncio
import json
import statistics
import sys
import time
from collections.abc import Awaitable, Callable

import stamina
import tenacity

from breakfall.recovery.policy import BALANCED
from breakfall.runtime.drive import adrive, drive
from breakfall.runtime.flow import call_flow
from breakfall.runtime.state import TaskState
from breakfall.runtime.wants import Done, Reply, Want
from breakfall.seeds import address
from breakfall.vocab import Call, Effect, Ok, Outcome, Tool

CALLS, ROUNDS = 2_000, 15
VALUE = {"order_id": "O1", "status": "shipped"}
TOOL = Tool(name="get", description="", parameters={}, effect=Effect.READ, fault_domain="a")


def bare(order_id: str) -> dict[str, str]:
    """Stand for the tool."""
    return VALUE


async def abare(order_id: str) -> dict[str, str]:
    """Stand for the async tool."""
    return VALUE


def task() -> TaskState:
    """Make a task with budget for the whole run."""
    return TaskState(tools={"get": TOOL}, policy=BALANCED, place=address(1), calls_left=10**9, deadline_s=1e9)


def perform(want: Want) -> Reply:
    """Do what the flow wants with the sync tool."""
    return Done(Ok(value=bare("O1")), 0.0, 0.0)


async def aperform(want: Want) -> Reply:
    """Do what the flow wants with the async tool."""
    return Done(Ok(value=await abare("O1")), 0.0, 0.0)


STATE = task()


def ours(order_id: str) -> Outcome:
    """Call through the flow, sync."""
    return drive(call_flow(Call(id="c1", tool="get", arguments={"order_id": order_id}), STATE, 0.0), perform)


async def aours(order_id: str) -> Outcome:
    """Call through the flow, async."""
    call = Call(id="c1", tool="get", arguments={"order_id": order_id})
    return await adrive(call_flow(call, STATE, 0.0), aperform)


by_tenacity = tenacity.retry(stop=tenacity.stop_after_attempt(3), wait=tenacity.wait_exponential())
by_stamina = stamina.retry(on=Exception, attempts=3)
SYNC: dict[str, Callable[[str], object]] = {
    "bare": bare,
    "breakfall": ours,
    "tenacity": by_tenacity(bare),
    "stamina": by_stamina(bare),
}
ASYNC: dict[str, Callable[[str], Awaitable[object]]] = {
    "bare": abare,
    "breakfall": aours,
    "tenacity": by_tenacity(abare),
    "stamina": by_stamina(abare),
}


def sync_round(call: Callable[[str], object]) -> float:
    """Time one round; µs a call."""
    start = time.perf_counter()
    for _ in range(CALLS):
        call("O1")
    return (time.perf_counter() - start) / CALLS * 1e6


async def async_round(call: Callable[[str], Awaitable[object]]) -> float:
    """Time one round; µs a call."""
    start = time.perf_counter()
    for _ in range(CALLS):
        await call("O1")
    return (time.perf_counter() - start) / CALLS * 1e6


def measure() -> dict[str, dict[str, dict[str, float]]]:
    """Interleave the rounds of all contestants, so that a busy machine slows them alike."""
    times: dict[str, dict[str, list[float]]] = {kind: {name: [] for name in SYNC} for kind in ("sync", "async")}

    async def rounds() -> None:
        for _ in range(ROUNDS):
            for name in SYNC:
                times["sync"][name].append(sync_round(SYNC[name]))
                times["async"][name].append(await async_round(ASYNC[name]))

    asyncio.run(rounds())
    return {
        kind: {
            name: {
                "added_us": round(statistics.median(spent) - statistics.median(by_name["bare"]), 2),
                "spread_us": round(statistics.quantiles(spent)[2] - statistics.quantiles(spent)[0], 2),
            }
            for name, spent in by_name.items()
        }
        for kind, by_name in times.items()
    }


def main() -> None:
    """Measure and print."""
    result = measure()
    if "--json" in sys.argv:
        print(json.dumps(result))
        return
    print(f"µs that one healthy call costs over the bare call ({ROUNDS} rounds of {CALLS} calls)")
    for kind, by_name in result.items():
        for name, figures in by_name.items():
            if name != "bare":
                print(f"  {kind:<6} {name:<10} {figures['added_us']:>7.2f}  ± {figures['spread_us']:.2f}")


if __name__ == "__main__":
    main()
