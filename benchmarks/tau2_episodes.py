"""Whole τ² episodes a second in one process, beside the package's own path on the same tasks in the same run.

    python benchmarks/tau2_episodes.py [--json]

Ours: the agent `rules` in CLEAN and S1, which exist for every task, in both conditions; recording and judging included.
The package's own: its environment, the gold calls, and its evaluators on what came of them. Needs the package: see
docs/tau2.md.
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
import time
from pathlib import Path

import anyio

from breakfall.bench.matrix import Spec, expand
from breakfall.bench.work import Worker
from breakfall.faults.profile import PROFILES
from breakfall.runtime.toolbox import Limits
from breakfall.vocab import ALTERNATIVES, NATIVE, Scenario
from breakfall.worlds.tau2.official import reward_of
from breakfall.worlds.tau2.package import Package, imported

DOMAINS = {"retail": 300, "airline": 170, "telecom": 0}
"""Domain -> the rate that we hold ourselves to, in episodes a second; 0: none was set."""

ROUNDS = 3
STOCK_TASKS = 8


def stock_s(package: Package) -> float:
    """Play and judge gold as the package does; return the seconds of an episode."""
    tasks = [task for task in package.all_tasks if task.id in package.split_ids["base"]][:STOCK_TASKS]
    kinds = imported("tau2.data_model.message")
    start = time.perf_counter()
    for task in tasks:
        environment = package.constructor()
        state = task.initial_state
        if state is not None:
            environment.set_state(state.initialization_data, state.initialization_actions, [])
        trajectory = []
        for action in task.evaluation_criteria.actions or ():
            call = kinds.ToolCall(
                id=action.action_id, name=action.name, arguments=action.arguments, requestor=action.requestor
            )
            speaker = kinds.UserMessage if action.requestor == "user" else kinds.AssistantMessage
            trajectory += [speaker(role=action.requestor, tool_calls=[call]), environment.get_response(call)]
        reward_of(package, task, trajectory)
    return (time.perf_counter() - start) / len(tasks)


async def ours_s(worker: Worker, spec: Spec) -> tuple[float, int]:
    """Play, judge and record all episodes; return the seconds and how many there were."""
    start, count = time.perf_counter(), 0
    for unit in expand(spec):
        count += unit.size
        await worker.run(unit, set())
    return time.perf_counter() - start, count


async def measure(domain: str) -> dict[str, float]:
    """Interleave the rounds and take medians; the first round, which loads and prepares, does not count."""
    package = Package(domain)
    spec = Spec(
        worlds=(f"tau2-{domain}",),
        conditions=(NATIVE, ALTERNATIVES),
        scenarios=(Scenario.CLEAN, Scenario.S1),
        agents=("rules",),
        tasks="base",
        seeds=4,
    )
    stock, rates = [], []
    with (
        tempfile.TemporaryDirectory() as folder,
        Worker(Path(folder), "bench", profile=PROFILES["paper"], limits=Limits(), go_on=lambda: True) as worker,
    ):
        for nth in range(ROUNDS + 1):
            spent, count = await ours_s(worker, spec)
            per_episode = stock_s(package)
            if nth:
                rates.append(count / spent)
                stock.append(per_episode)
    ours, theirs = statistics.median(rates), 1 / statistics.median(stock)
    return {
        "episodes_per_s": round(ours),
        "held_to": DOMAINS[domain],
        "package_per_s": round(theirs, 2),
        "times": round(ours / theirs),
    }


def main() -> None:
    """Measure and print."""
    result = {domain: anyio.run(measure, domain) for domain in DOMAINS}
    if "--json" in sys.argv:
        print(json.dumps(result))
        return
    print(f"{'':<10}{'episodes/s':>12}{'held to':>10}{'package/s':>12}{'times':>8}")
    for domain, figures in result.items():
        print(f"{domain:<10}{figures['episodes_per_s']:>12,}{figures['held_to']:>10}", end="")
        print(f"{figures['package_per_s']:>12}{figures['times']:>8,}")


if __name__ == "__main__":
    main()
