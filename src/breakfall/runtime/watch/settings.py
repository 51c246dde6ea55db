"""What a watchdog is told: its rules' limits, verifiers, the wording of answers, and where alerts go."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct, field

from breakfall.errors import UsageError
from breakfall.ledger.watch_answer import Wording
from breakfall.recovery.wording import Language
from breakfall.runtime import verifiers
from breakfall.runtime.deliver import File, Target, Webhook
from breakfall.runtime.verifiers import Registered
from breakfall.runtime.verifiers.load import convert, secret, toml

_SHORTEST_SECRET = 6


class _WatchTable(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``[watch]``."""

    every_s: float = 1.0
    grace_s: float = 5.0
    looks: int = 3
    agreeing: int = 2
    loop: int = 8
    stall_s: float = 0.0


class _AlertsTable(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``[alerts]``."""

    file: str = ""
    webhook: str = ""
    undelivered: str = "undelivered.jsonl"
    per_minute: int = 10
    again_s: float = 3600.0
    language: Language = "en"


class _AnswerTable(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``[[answers]]``."""

    tool: str
    pattern: str


class _File(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    watch: _WatchTable = _WatchTable()
    alerts: _AlertsTable = _AlertsTable()
    heartbeat: dict[str, float] = {}
    tools: Any = {}
    answers: tuple[_AnswerTable, ...] = ()


class AlertSettings(Struct, frozen=True, kw_only=True):
    """Where alerts go, and how many."""

    targets: tuple[Target, ...] = ()
    undelivered: Path = Path("undelivered.jsonl")
    """Keeps what a target did not take."""
    per_minute: int = 10
    again_s: float = 3600.0
    """For so long an equal finding alerts nobody again."""
    language: Language = "en"


class Settings(Struct, frozen=True, kw_only=True):
    """Everything that a watchdog is told."""

    every_s: float = 1.0
    """How often it looks for new lines."""
    grace_s: float = 5.0
    """How long after a step its evidence may come to be read."""
    looks: int = 3
    """How often it looks where it cannot tell."""
    agreeing: int = 2
    """How many looks must say that a write is not there."""
    loop: int = 8
    """From how many equal rounds on an agent is in a loop; 0 for never."""
    stall_s: float = 0.0
    """After how long an episode that was not ended is stalled; 0 for never."""
    heartbeat: dict[str, float] = field(default_factory=dict)
    """Agent -> how long it may write nothing, in seconds."""
    tools: dict[str, Registered] = field(default_factory=dict)
    wordings: tuple[Wording, ...] = ()
    alerts: AlertSettings = AlertSettings()
    secrets: tuple[str, ...] = ()
    """Values that came from the environment; they are taken out of everything that is written."""


def load(path: Path, environment: Mapping[str, str] = os.environ) -> Settings:
    """Read a watchdog's file.

    Args:
        path: The file; paths in it are relative to its folder.
        environment: Where ``${NAME}`` is looked up.

    Raises:
        UsageError: The file cannot be read, or something in it is wrong; the message has the place and what would be
            right.
    """
    source, folder = str(path), path.parent
    table: _File = convert(toml(path), _File, source)
    used = _Used(environment)
    watch = table.watch
    for name, low in (("every_s", 0.01), ("grace_s", 0.0), ("looks", 1), ("agreeing", 1), ("loop", 0), ("stall_s", 0)):
        _at_least(f"{source}: watch.{name}", getattr(watch, name), low)
    if watch.loop == 1:
        raise UsageError(f"{source}: watch.loop is 1, must be at least 2, or 0 for never")
    for agent, every_s in table.heartbeat.items():
        _at_least(f"{source}: heartbeat.{agent}", every_s, 1.0)
    return Settings(
        every_s=watch.every_s,
        grace_s=watch.grace_s,
        looks=watch.looks,
        agreeing=watch.agreeing,
        loop=watch.loop,
        stall_s=watch.stall_s,
        heartbeat=table.heartbeat,
        tools=verifiers.read(table.tools, source, folder, used),
        wordings=tuple(_wording(one, f"{source}: answers[{place}]") for place, one in enumerate(table.answers)),
        alerts=_alerts(table.alerts, source, folder, used),
        secrets=tuple(sorted(used.values_given, key=len, reverse=True)),
    )


class _Used(Mapping[str, str]):
    """An environment that remembers which values were taken from it."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = environment
        self.values_given: set[str] = set()

    def __getitem__(self, name: str) -> str:
        value = self._environment[name]
        if len(value) >= _SHORTEST_SECRET:
            self.values_given.add(value)
        return value

    def __contains__(self, name: object) -> bool:
        return name in self._environment

    def __iter__(self) -> Iterator[str]:
        return iter(self._environment)

    def __len__(self) -> int:
        return len(self._environment)


def _at_least(where: str, value: float, low: float) -> None:
    if not value >= low:
        raise UsageError(f"{where} is {value:g}, must be at least {low:g}")


def _wording(table: _AnswerTable, where: str) -> Wording:
    try:
        return Wording(tool=table.tool, pattern=re.compile(table.pattern))
    except re.error as error:
        raise UsageError(f"{where}.pattern is {table.pattern!r}, which is no pattern: {error}") from None


def _alerts(table: _AlertsTable, source: str, folder: Path, environment: Mapping[str, str]) -> AlertSettings:
    _at_least(f"{source}: alerts.per_minute", table.per_minute, 1)
    _at_least(f"{source}: alerts.again_s", table.again_s, 0)
    targets: list[Target] = []
    if table.file:
        targets.append(File(folder / table.file))
    if table.webhook:
        targets.append(Webhook(url=secret(table.webhook, f"{source}: alerts.webhook", environment)))
    return AlertSettings(
        targets=tuple(targets),
        undelivered=folder / table.undelivered,
        per_minute=table.per_minute,
        again_s=table.again_s,
        language=table.language,
    )
