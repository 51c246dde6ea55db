"""The study of memory: learn on one part of a world's tasks, run every mode on the other, build the table."""

from __future__ import annotations

import shlex
import time
from hashlib import blake2b
from pathlib import Path

import msgspec
from msgspec import Struct

import breakfall
from breakfall import catalog
from breakfall.bench import manifest as manifests
from breakfall.bench import remember
from breakfall.bench.ablation import STUDIED, Ablation, ablate
from breakfall.bench.compare import Paired
from breakfall.bench.learn import learn
from breakfall.bench.matrix import Spec
from breakfall.bench.report import scores_of
from breakfall.bench.run import Progress, no_progress, run
from breakfall.errors import StoreError, UsageError
from breakfall.memory import store
from breakfall.memory.beliefs import Memory
from breakfall.memory.choose import Mode
from breakfall.memory.fallbacks import Standing, fallbacks, proposals
from breakfall.memory.render import render
from breakfall.vocab import Text, World

FORMAT = 1
"""A study's file gains fields and never loses one; anything else raises this number."""

NAME = "study.json"
MEMORY = "memory.json"
CONTEXT_TOKENS = 1000
"""The budget of the context whose size the table tells."""

TEACHERS = ("retry", "rules")
"""Who plays the episodes that are learned from: one that repeats everything, one that takes every path."""

_TRAIN_SPLITS = ("train",)
_HELD_OUT_SPLITS = ("held-out", "test")


class Plan(Struct, frozen=True, kw_only=True):
    """What a study runs. The same plan, code and data give the same table, byte for byte."""

    world: str = "store"
    agents: tuple[str, ...] = tuple(catalog.AGENTS)
    profile: str = "paper"
    train: int = 100
    """Tasks to learn from, or as many as there are."""
    train_seeds: int = 2
    tasks: int = 100
    """Held-out tasks, or as many as there are."""
    seeds: int = 5
    """Injection seeds of the held-out episodes."""

    def __post_init__(self) -> None:
        """Refuse what would learn or compare nothing."""
        for flag in ("train", "train_seeds", "tasks", "seeds"):
            if getattr(self, flag) < 1:
                raise UsageError(f"--{flag.replace('_', '-')} is {getattr(self, flag)}, must be at least 1")
        for agent in self.agents:
            if remember.parted(agent)[1] is not None:
                raise UsageError(f"agent {agent!r}: the study adds the modes itself; name it without one")

    @property
    def command(self) -> str:
        """The command that runs this again."""
        parts = ["breakfall", "study", "paper", "--world", self.world, "--agents", ",".join(self.agents)]
        parts += ["--profile", self.profile, "--train", str(self.train), "--train-seeds", str(self.train_seeds)]
        return shlex.join([*parts, "--tasks", str(self.tasks), "--seeds", str(self.seeds)])


class Published(Struct, frozen=True, kw_only=True):
    """A figure of the paper: of another agent, a language model, on another data set. Not ours, and not comparable."""

    what: str
    figures: tuple[float, ...]
    unit: str


PUBLISHED = (
    Published(what="base agent, without and with alternative paths", figures=(20.1, 31.9), unit="% success"),
    Published(what="with memory, without and with alternative paths", figures=(36.9, 43.6), unit="% success"),
    Published(what="static structure alone, of the whole gain", figures=(10.5, 14.6), unit="points"),
)
PUBLISHED_NOTE = "true against shuffled posterior: within seed variation"


class Learned(Struct, frozen=True, kw_only=True):
    """What the memory of a study holds."""

    episodes: float
    beliefs: int
    """Pairs of tool and kind of which something was seen."""
    paths: dict[Standing, int]
    proposed: tuple[str, ...]


class Study(Struct, frozen=True, kw_only=True):
    """The table and everything that it rests on."""

    format: int = FORMAT
    breakfall: str
    command: str
    plan: Plan
    world: str
    data: str
    """Hash of the world's data."""
    code: str
    """Hash of the code that decides how an episode goes."""
    train: str
    """The tasks that were learned from."""
    teachers: tuple[str, ...] = TEACHERS
    held_out: str
    conditions: tuple[str, ...]
    learned: Learned
    ablation: Ablation
    readings: list[Text]
    """What the table says, in sentences."""
    published: tuple[Published, ...] = PUBLISHED
    published_note: str = PUBLISHED_NOTE


class Result(Struct, frozen=True, kw_only=True):
    """A study, where it stands, and what it took."""

    study: Study
    folder: Path
    episodes: int
    ran: int
    wall_s: float


def study(plan: Plan, folder: Path | None = None, *, jobs: int = 1, progress: Progress = no_progress) -> Result:
    """Run a study into a folder, or go on with the same one that stands there.

    Args:
        plan: What to run.
        folder: Where; None: `runs/study-<world>-<digest>`, the same for the same plan, data and code.
        jobs: Worker processes.
        progress: Told how far the run is, of learning and of comparing one after the other.

    Raises:
        UsageError: Something that the plan names does not exist, or the folder holds another study.
        StoreError: The folder cannot be written or is damaged.
    """
    started_s = time.monotonic()
    world = catalog.world(plan.world)
    train, held_out = parts(world, plan.train, plan.tasks)
    teaching = _spec(plan, world, tasks=train, agents=TEACHERS, seeds=plan.train_seeds)
    described = manifests.describe(teaching)
    folder = folder or Path("runs") / f"study-{world.name}-{_digest(plan, described)}"
    taught = run(teaching, folder / "train", jobs=jobs, progress=progress)
    memory = learn([folder / "train"]).memory
    store.write(folder / MEMORY, memory)
    comparing = _spec(plan, world, tasks=held_out, agents=_agents(plan), seeds=plan.seeds, memory=str(folder / MEMORY))
    compared = run(comparing, folder / "held-out", jobs=jobs, progress=progress)
    tokens = {mode: render(memory, budget=CONTEXT_TOKENS, mode=mode).tokens for mode in Mode}
    table = ablate(scores_of(folder / "held-out"), tokens)
    found = Study(
        breakfall=breakfall.__version__,
        command=plan.command,
        plan=plan,
        world=world.name,
        data=world.data_hash(),
        code=described.code,
        train=train,
        held_out=held_out,
        conditions=world.conditions,
        learned=_learned(memory),
        ablation=table,
        readings=readings(table),
    )
    write(folder / NAME, found)
    return Result(
        study=found,
        folder=folder,
        episodes=taught.episodes + compared.episodes,
        ran=taught.ran + compared.ran,
        wall_s=time.monotonic() - started_s,
    )


def parts(world: World, train: int, held_out: int) -> tuple[str, str]:
    """Choose the tasks to learn from and the tasks to compare on; no task is in both.

    A world with a split for each gives them. Of any other world's first split every second task is learned from, and
    the tasks between are compared on: such a split often goes through its tools one after the other.

    Raises:
        UsageError: The world has fewer than two tasks.
    """
    taught = next((split for split in _TRAIN_SPLITS if split in world.splits), None)
    compared = next((split for split in _HELD_OUT_SPLITS if split in world.splits), None)
    if taught is not None and compared is not None:
        return _first(world, taught, train), _first(world, compared, held_out)
    split = world.splits[0]
    count = len(world.tasks(split, None))
    if count < 2:
        raise UsageError(f"world {world.name!r} has {count} tasks in split {split!r}; a study needs at least 2")
    return f"{split}:1-{min(2 * train - 1, count)}/2", f"{split}:2-{min(2 * held_out, count)}/2"


def encode(found: Study) -> bytes:
    """Encode a study as its file holds it."""
    return msgspec.json.format(msgspec.json.encode(found), indent=1) + b"\n"


def write(path: Path, found: Study) -> None:
    """Write a study, whole or not at all.

    Raises:
        StoreError: It cannot be written.
    """
    draft = path.with_name(path.name + ".tmp")
    try:
        draft.write_bytes(encode(found))
        draft.replace(path)
    except OSError as error:
        raise StoreError(f"{path}: cannot be written: {error.strerror}; make room or choose another folder") from None


def readings(table: Ablation) -> list[Text]:
    """Say what the table says: each agent's gain, the structure's part in it, and what the numbers are worth."""
    found = []
    for one in table.shares:
        gain, static, shuffled = one.gain, one.static, one.true_against_shuffled
        spread = 0.0 if one.seed_deviation is None else 100 * one.seed_deviation
        part = "" if one.static_share is None else f", {100 * one.static_share:.0f} %"
        within_en, within_ko = ("holds 0", "0을 포함") if one.within else ("does not hold 0", "0을 포함하지 않음")
        found.append(
            Text(
                en=f"{one.agent}, {one.condition}: memory gains {_interval(gain)} points, of which the static "
                f"structure {_points(static.difference)}{part}; true against shuffled {_interval(shuffled)}, "
                f"which {within_en}, beside a standard deviation of {spread:.1f} between seeds.",
                ko=f"{one.agent}, {one.condition}: 기억의 이득 {_interval(gain)}점, 그중 정적 구조 "
                f"{_points(static.difference)}점{part}; 참값과 뒤섞은 값의 차이 {_interval(shuffled)}점, 구간이 "
                f"{within_ko}, 시드 간 표준편차 {spread:.1f}점.",
            )
        )
    return found


def _interval(difference: Paired) -> str:
    return f"{_points(difference.difference)} [{_points(difference.low)}, {_points(difference.high)}]"


def _points(value: float) -> str:
    return f"{100 * value:+.1f}"


def _first(world: World, split: str, count: int) -> str:
    return f"{split}:{min(count, len(world.tasks(split, count)))}"


def _agents(plan: Plan) -> tuple[str, ...]:
    """Name every agent in every mode; one that is told the scenario believes the truth, so it runs once."""
    return tuple(
        remember.named(agent, mode)
        for agent in plan.agents
        for mode in ((Mode.OFF,) if catalog.agent(agent).told_scenario else tuple(Mode))
    )


def _spec(plan: Plan, world: World, *, tasks: str, agents: tuple[str, ...], seeds: int, memory: str = "") -> Spec:
    return Spec(
        worlds=(plan.world,),
        conditions=world.conditions,
        tasks=tasks,
        scenarios=STUDIED,
        agents=agents,
        profile=plan.profile,
        seeds=seeds,
        memory=memory,
    )


def _learned(memory: Memory) -> Learned:
    paths = fallbacks(memory)
    return Learned(
        episodes=memory.episodes,
        beliefs=sum(len(rows) for rows in memory.retries.values()),
        paths={standing: sum(path.standing is standing for path in paths) for standing in Standing},
        proposed=tuple(f"{pair.source} → {pair.target}" for pair in proposals(memory)),
    )


def _digest(plan: Plan, teaching: manifests.Manifest) -> str:
    fixed = msgspec.json.encode([plan, manifests.digest(teaching)])
    return blake2b(fixed, digest_size=4).hexdigest()
