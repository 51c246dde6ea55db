"""Learn a memory from run folders and production ledgers; what was learned before is passed over."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from breakfall import catalog
from breakfall.bench import manifest as manifests
from breakfall.errors import UsageError
from breakfall.ledger.read import Stored, read_all
from breakfall.ledger.source import FolderSource, decode
from breakfall.memory import store
from breakfall.memory.beliefs import Memory
from breakfall.memory.learn import Learner, episodes
from breakfall.vocab import Step, Tool


class Lesson(Struct, frozen=True, kw_only=True):
    """What learning came to."""

    memory: Memory
    learned: int
    """Episodes that were new."""
    known: int
    """Episodes of run folders that had been learned before; a ledger is read on from where it was left."""


def learn(
    folders: Sequence[Path], memory: Memory | None = None, *, half_life: float | None = None, world: str | None = None
) -> Lesson:
    """Learn from folders in the order in which they are given.

    A run folder knows its worlds. The steps of a ledger teach what their call ids tell; fault domains and whether a
    path gave what it should take the declarations of a world.

    Args:
        folders: Run folders and ledgers.
        memory: What was learned before.
        half_life: After so many further episodes an episode counts half; None: all count the same.
        world: Whose tools the ledgers' steps are about; None: tools that nobody declares.

    Raises:
        UsageError: A folder holds neither a run nor a ledger, or a world cannot be loaded.
        StoreError: A folder is damaged.
    """
    before = memory if memory is not None else Memory()
    learner = Learner(before, half_life=half_life)
    declared = {} if world is None else _tools(world)
    learned = known = 0
    for folder in folders:
        if (folder / manifests.NAME).exists():
            new, old = _learn_run(folder, learner, before.learned)
        else:
            new, old = _learn_ledger(folder, learner, before.learned, declared), 0
        learned += new
        known += old
    return Lesson(memory=learner.memory(), learned=learned, known=known)


def learn_into(
    path: Path, folders: Sequence[Path], *, half_life: float | None = None, world: str | None = None
) -> Lesson:
    """Learn from folders into a memory's file, which is made if it is not there; see `learn`.

    Raises:
        UsageError: A folder holds neither a run nor a ledger, or a world cannot be loaded.
        StoreError: A folder or the memory is damaged, or the memory cannot be written.
    """
    with store.held(path):
        before = store.read(path) if path.exists() else None
        lesson = learn(folders, before, half_life=half_life, world=world)
        store.write(path, lesson.memory)
    return lesson


def _learn_run(folder: Path, learner: Learner, before: Mapping[str, int]) -> tuple[int, int]:
    """Learn the episodes of a run; return how many were new and how many were known."""
    run = manifests.read(folder)
    sources = {catalog.world(source).name: source for source in run.spec.worlds}
    tools: dict[tuple[str, str], Mapping[str, Tool]] = {}
    learned = known = 0
    for item in read_all(folder):
        if not isinstance(item, Stored):
            continue
        segment = f"{manifests.digest(run)}/{item.segment.name.partition('.')[0]}"
        end = item.offset + item.length
        if end <= before.get(segment, 0):
            known += 1
            continue
        key = item.end.key
        place = (key.world, key.condition)
        if place not in tools:
            tools[place] = catalog.world(sources[key.world]).tools(key.condition)
            learner.know(tools[place])
        learner.episode(item.steps, tools[place])
        learner.read(segment, end)
        learned += 1
    return learned, known


def _learn_ledger(folder: Path, learner: Learner, before: Mapping[str, int], tools: Mapping[str, Tool]) -> int:
    """Learn the steps of a ledger, from where it was left; return how many episodes they belong to."""
    source = FolderSource(folder)
    if not source.segments():
        raise UsageError(
            f"{folder}: neither a run (no {manifests.NAME}) nor a ledger (no segments/*.jsonl); "
            "give a folder that `breakfall bench --out` or a LedgerWriter wrote"
        )
    learner.know(tools)
    learned = 0
    for steps in episodes(_steps(source, learner, before)):
        learner.episode(sorted(steps, key=lambda step: step.n), tools)
        learned += 1
    return learned


def _steps(source: FolderSource, learner: Learner, before: Mapping[str, int]) -> Iterator[Step]:
    for segment in source.segments():
        end = before.get(segment, 0)
        for raw in source.lines(segment, end):
            line = decode(source, segment, raw.line)
            if isinstance(line, Step):
                yield line
            end = raw.next
        learner.read(segment, end)


def _tools(world: str) -> dict[str, Tool]:
    """Return the tools of all conditions of a world; where two declare one, the one with more paths."""
    found: dict[str, Tool] = {}
    loaded = catalog.world(world)
    for condition in loaded.conditions:
        for name, tool in loaded.tools(condition).items():
            if name not in found or len(tool.paths) > len(found[name].paths):
                found[name] = tool
    return found
