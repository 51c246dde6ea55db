"""Run one stored episode again and compare it with what is stored, byte for byte."""

from __future__ import annotations

import asyncio
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from breakfall import catalog
from breakfall.bench import manifest as manifests
from breakfall.bench.lanes import Lanes
from breakfall.bench.manifest import Manifest
from breakfall.bench.matrix import Unit, expand
from breakfall.bench.process import Job, Terms
from breakfall.bench.stage import Played, Stage
from breakfall.errors import StoreError, UsageError
from breakfall.ledger import index
from breakfall.ledger.line import encode_episode
from breakfall.ledger.read import read_all
from breakfall.vocab import EpisodeEnd, EpisodeKey, NotApplicable, Step, Task


class Repeat(Struct, frozen=True, kw_only=True):
    """What a second run of an episode came to."""

    episode: str
    same: bool
    steps: int
    """Of the stored episode."""
    difference: str = ""
    """Where the two first differ."""
    notes: tuple[str, ...] = ()
    """What has changed since the run: data, code."""


def repro(folder: Path, name: str) -> Repeat:
    """Run an episode of a run folder again from its `run.json`.

    Args:
        folder: The run folder.
        name: The episode's name, or a part of it that no other has.

    Raises:
        UsageError: There is no such episode, or its world or agent cannot be loaded.
        StoreError: The folder is damaged.
    """
    manifest = manifests.read(folder)
    with index.opened(folder) as opened:
        steps, end = index.load(folder, index.find(opened, name))
    played = _played(manifest, unit_of(manifest, end.key), end.key)
    if isinstance(played, str):
        difference = f"this time there is no episode to compare: {played}"
    else:
        same = _bytes(played) == encode_episode(steps, end)
        difference = "" if same else _first_difference(steps, end, played)
    return Repeat(
        episode=end.episode,
        same=not difference,
        steps=end.steps,
        difference=difference,
        notes=tuple(manifests.differences(manifest, _here(manifest))),
    )


def _played(manifest: Manifest, unit: Unit, key: EpisodeKey) -> Played | str:
    """Play one episode, someone else's code in a process of its own; or say how that process died."""
    terms = Terms(folder=Path(), profile=manifest.profile, limits=manifest.spec.limits, memory=manifest.memory)
    one = replace(unit, scenarios=(key.scenario,), seeds=(key.seed,), agents=(key.agent,))
    if not one.foreign:
        return asyncio.run(Stage(terms.profile, terms.limits, terms.memory).play(one, key))
    with TemporaryDirectory() as folder:
        lanes = Lanes(replace(terms, folder=Path(folder)), 1)
        lanes.run([Job(unit=one, done=frozenset())], lambda _: None)
        if key.id in lanes.lost:
            return lanes.lost[key.id]
        (item,) = read_all(Path(folder))
    return item if isinstance(item, NotApplicable) else (item.steps, item.end)


def _here(manifest: Manifest) -> Manifest:
    """Describe the same run with the data and code of here and now."""
    return manifests.describe(manifest.spec, manifest.profile, manifest.memory)


def unit_of(manifest: Manifest, key: EpisodeKey) -> Unit:
    """Return the work unit that an episode of a run belongs to.

    Raises:
        UsageError: A world or an agent of the run cannot be loaded.
        StoreError: The run's spec has no such episode.
    """
    for unit in expand(manifest.spec):
        if (unit.world, unit.condition, unit.task) == (key.world, key.condition, key.task) and key.seed in unit.seeds:
            return unit
    raise StoreError(f"episode {key.id} is not one of the run that run.json describes; restore the folder")


def task_of(folder: Path, key: EpisodeKey) -> Task | None:
    """Return the task of an episode; None where its world cannot be loaded here or no longer has it."""
    try:
        unit = unit_of(manifests.read(folder), key)
        tasks = catalog.world(unit.source).tasks(unit.split, unit.limit)
    except (UsageError, StoreError):
        return None
    return next(task for task in tasks if task.id == key.task)


def _bytes(played: Played) -> bytes:
    return b"" if isinstance(played, NotApplicable) else encode_episode(*played)


def _first_difference(steps: list[Step], end: EpisodeEnd, played: Played) -> str:
    if isinstance(played, NotApplicable):
        return f"the scenario no longer applies: {played.reason}"
    stored = [*msgspec.to_builtins(steps), msgspec.to_builtins(end)]
    again = [*msgspec.to_builtins(played[0]), msgspec.to_builtins(played[1])]
    for n, (before, now) in enumerate(zip(stored, again, strict=False)):
        if place := _differs(before, now, ""):
            return f"{f'step {n}' if n < len(steps) else 'end'}: {place}"
    return f"{len(steps)} steps were stored, {len(played[0])} now"


def _differs(before: Any, now: Any, where: str) -> str:
    """Return the first place at which two JSON values differ, with both; empty if they are equal."""
    if isinstance(before, dict) and isinstance(now, dict):
        for name in before | now:
            if place := _differs(before.get(name), now.get(name), f"{where}/{name}"):
                return place
        return ""
    if isinstance(before, list) and isinstance(now, list) and len(before) == len(now):
        for n, pair in enumerate(zip(before, now, strict=True)):
            if place := _differs(*pair, f"{where}/{n}"):
                return place
        return ""
    return "" if before == now else f"{where} was {_shown(before)}, is now {_shown(now)}"


def _shown(value: Any) -> str:
    text = msgspec.json.encode(value).decode()
    return text if len(text) <= 120 else f"{text[:120]}… ({len(text)} characters)"
