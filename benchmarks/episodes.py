"""Whole episodes a second on one core: the agent `rules` in the store world, all scenarios, recording included.

    python benchmarks/episodes.py [--json]

The episodes are recorded as a bench records them: each is on its way to disk before the next begins. Beside the rate
stands the same work without the recording, and a bare loop that calls as many of the world's tools without anything.
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
import time
from pathlib import Path

import anyio

from breakfall import catalog
from breakfall.bench.matrix import Spec, expand
from breakfall.bench.stage import Stage
from breakfall.bench.work import Worker
from breakfall.faults.profile import PROFILES
from breakfall.runtime.clock import VirtualClock
from breakfall.runtime.toolbox import Limits
from breakfall.vocab import NotApplicable

ROUNDS = 5
SPEC = Spec(agents=("rules",), tasks="100", seeds=5)


async def recorded(worker: Worker) -> float:
    """Play and record all episodes; return the seconds."""
    start = time.perf_counter()
    for unit in expand(SPEC):
        await worker.run(unit, set())
    return time.perf_counter() - start


async def unrecorded(stage: Stage) -> tuple[float, int, list[tuple[str, str, dict[str, object]]]]:
    """Play all episodes; return the seconds, how many there were, and the calls that they made."""
    calls, count = [], 0
    start = time.perf_counter()
    for unit in expand(SPEC):
        for key in unit.episodes():
            played = await stage.play(unit, key)
            if not isinstance(played, NotApplicable):
                count += 1
                calls += [(key.task, step.tool, step.arguments) for step in played[0] if step.executed]
    return time.perf_counter() - start, count, calls


async def bare(calls: list[tuple[str, str, dict[str, object]]]) -> float:
    """Make the calls that really ran, on one open environment per task; return the seconds."""
    world = catalog.world("store")
    opened = {
        task.id: world.open(task, world.conditions[0], VirtualClock()) for task in world.tasks(world.splits[0], 100)
    }
    start = time.perf_counter()
    for task, tool, arguments in calls:
        await opened[task].call(tool, arguments)
    return time.perf_counter() - start


async def measure() -> dict[str, float]:
    """Interleave the rounds and take medians; the first round, which prepares the tasks, does not count."""
    stage = Stage(PROFILES["paper"], Limits())
    with_record, without, loop = [], [], []
    count, calls = 0, []
    with (
        tempfile.TemporaryDirectory() as folder,
        Worker(Path(folder), "bench", profile=PROFILES["paper"], limits=Limits(), go_on=lambda: True) as worker,
    ):
        for nth in range(ROUNDS + 1):
            spent = await recorded(worker)
            plain, count, calls = await unrecorded(stage)
            bare_s = await bare(calls)
            if nth:
                with_record.append(spent)
                without.append(plain)
                loop.append(bare_s)
    quartiles = statistics.quantiles([count / spent for spent in with_record])
    return {
        "episodes": count,
        "executed_calls_per_episode": round(len(calls) / count, 2),
        "episodes_per_s": round(count / statistics.median(with_record)),
        "episodes_per_s_spread": round(quartiles[2] - quartiles[0]),
        "without_recording_per_s": round(count / statistics.median(without)),
        "times_the_bare_calls": round(statistics.median(with_record) / statistics.median(loop), 2),
    }


def main() -> None:
    """Measure and print."""
    result = anyio.run(measure)
    if "--json" in sys.argv:
        print(json.dumps(result))
        return
    for name, figure in result.items():
        print(f"{name.replace('_', ' '):<30} {figure:>10,}")


if __name__ == "__main__":
    main()
