"""Learn a memory from run folders: what was learned before is passed over, so a growing run can be learned again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from breakfall import catalog
from breakfall.bench import manifest as manifests
from breakfall.ledger.read import Stored, read_all
from breakfall.memory import store
from breakfall.memory.beliefs import Memory
from breakfall.memory.learn import Learner
from breakfall.vocab import Tool


class Lesson(Struct, frozen=True, kw_only=True):
    """What learning came to."""

    memory: Memory
    learned: int
    """Episodes that were new."""
    known: int
    """Episodes that had been learned before."""


def learn(runs: Sequence[Path], memory: Memory | None = None, *, half_life: float | None = None) -> Lesson:
    """Learn from run folders in the order in which they are given.

    Args:
        runs: Run folders.
        memory: What was learned before.
        half_life: After so many further episodes an episode counts half; None: all count the same.

    Raises:
        UsageError: A folder holds no run, or its world cannot be loaded.
        StoreError: A folder is damaged.
    """
    before = memory if memory is not None else Memory()
    learner = Learner(before, half_life=half_life)
    counts = [0, 0]
    for folder in runs:
        _learn_run(folder, learner, before.learned, counts)
    return Lesson(memory=learner.memory(), learned=counts[0], known=counts[1])


def learn_into(path: Path, runs: Sequence[Path], *, half_life: float | None = None) -> Lesson:
    """Learn from run folders into a memory's file, which is made if it is not there.

    Raises:
        UsageError: A folder holds no run, or its world cannot be loaded.
        StoreError: A folder or the memory is damaged, or the memory cannot be written.
    """
    with store.held(path):
        lesson = learn(runs, store.read(path) if path.exists() else None, half_life=half_life)
        store.write(path, lesson.memory)
    return lesson


def _learn_run(folder: Path, learner: Learner, before: Mapping[str, int], counts: list[int]) -> None:
    run = manifests.read(folder)
    sources = {catalog.world(source).name: source for source in run.spec.worlds}
    tools: dict[tuple[str, str], Mapping[str, Tool]] = {}
    for item in read_all(folder):
        if not isinstance(item, Stored):
            continue
        segment = f"{manifests.digest(run)}/{item.segment.name.partition('.')[0]}"
        end = item.offset + item.length
        if end <= before.get(segment, 0):
            counts[1] += 1
            continue
        key = item.end.key
        place = (key.world, key.condition)
        if place not in tools:
            tools[place] = catalog.world(sources[key.world]).tools(key.condition)
            learner.know(tools[place])
        learner.episode(item.steps, tools[place])
        learner.read(segment, end)
        counts[0] += 1
